//! How the rows of core look as rows of SQL tables: said once, for every store that keeps them.
//!
//! A [`Record`] says which table its rows lie in, which columns there are, and how a row becomes cells and comes back. From
//! that a store makes its statements. What is different in each database stays there: types, locks, round trips.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`cell`] | one value of a column, and core's own types as such |
//! | [`layout`] | tables and columns |
//! | [`record`] | [`Record`]: a row of core as cells |
//! | [`walk`] | all tables there are, in one order |
//! | [`list`] | parts of long lists |
//! | [`sequence`] | what sources of numbers are called |
//! | `hold` | what all holds have in common |
//! | [`stay`], [`shop`], [`calendar`], [`ticket`], [`tee`] | one for each vertical |
//! | [`relay`], [`webhook`] | handing events on, and telling others of them |
//!
//! Nothing is decided here, and nothing is read or written.

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
