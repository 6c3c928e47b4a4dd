//! Schema of core's rows in SQL tables, declared once for all stores.
//!
//! A [`Record`] declares the table and columns of a row, and converts the row to and from column values. Stores derive
//! their statements from it. Types, locks and round trips are specific to each database, and belong to its store.
//!
//! | module | contents |
//! | --- | --- |
//! | [`codec`] | binary encoding of values |
//! | [`value`] | column values, and the conversion of core's types |
//! | [`table`] | tables and columns |
//! | [`record`] | [`Record`]: a row as column values |
//! | [`visit`] | all tables, in a fixed order |
//! | [`list`] | pages of long lists |
//! | [`sequence`] | names of number sequences |
//! | `hold` | columns that all holds share |
//! | [`stay`], [`shop`], [`calendar`], [`ticket`], [`tee`] | one per vertical |
//! | [`relay`], [`webhook`] | positions of the outbox relay; webhooks and deliveries |
//!
//! This module makes no decisions and does no I/O.

pub mod calendar;
pub mod codec;
mod hold;
pub mod list;
pub mod record;
pub mod relay;
pub mod sequence;
pub mod shop;
pub mod stay;
pub mod table;
pub mod tee;
pub mod ticket;
pub mod value;
pub mod visit;
pub mod webhook;

pub use list::{Filter, List, Listed, Order};
pub use record::Record;
pub use table::{ChildRows, Column, TableSchema, Type};
pub use value::{FromValue, ToValue, Value, ValueReader, Values};
