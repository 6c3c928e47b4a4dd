//! Schema of core's rows in SQL tables, declared once for all stores.
//!
//! A [`Record`] declares the table and columns of a row, and converts the row to and from column values. Stores derive
//! their statements from it. Types, locks and round trips are specific to each database, and belong to its store.
//!
//! | module | contents |
//! | --- | --- |
//! | [`cell`] | column values, and the conversion of core's types |
//! | [`layout`] | tables and columns |
//! | [`record`] | [`Record`]: a row as column values |
//! | [`walk`] | all tables, in a fixed order |
//! | [`list`] | pages of long lists |
//! | [`sequence`] | names of number sequences |
//! | `hold` | columns that all holds share |
//! | [`stay`], [`shop`], [`calendar`], [`ticket`], [`tee`] | one per vertical |
//! | [`relay`], [`webhook`] | positions of the outbox relay; webhooks and deliveries |
//!
//! This crate makes no decisions and does no I/O.

pub mod calendar;
pub mod cell;
mod hold;
pub mod layout;
pub mod list;
pub mod record;
pub mod relay;
pub mod sequence;
pub mod shop;
pub mod stay;
pub mod tee;
pub mod ticket;
pub mod walk;
pub mod webhook;

pub use cell::{Cells, FromCell, Taken, ToCell, Value};
pub use layout::{Column, Layout, Parts, Type};
pub use list::{Filter, List, Listed};
pub use record::Record;
