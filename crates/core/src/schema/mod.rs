//! Schema: each table is declared once, for all stores.
//!
//! A declaration in [`tables!`](crate::tables) names the table, its columns, its tier and its policies. Core derives from
//! it how a row becomes values, and values a row. A store sees tables as [`TableAccess`]: a [`TableSpec`] and values. Types,
//! locks and round trips are specific to each database, and belong to its store.
//!
//! | module | contents |
//! | --- | --- |
//! | [`declare`] | macros that declare tables |
//! | [`stay`], [`shop`], [`calendar`], [`ticket`], [`tee`], [`relay`], [`webhook`] | the declared tables, and their lists |
//! | [`spec`], [`mod@column`] | the declaration of a table, and its columns, as a store sees them |
//! | [`value`] | column values, and the conversion of core's types |
//! | [`row`] | rows as values |
//! | [`access`] | requests, loaded rows and changes of a table as values |
//! | [`codec`] | binary encoding of values |
//! | [`list`] | pages of long lists |
//! | [`sequence`] | names of number sequences |
//! | [`hold`] | holds and their lines |
//! | [`mod@unit`] | keys and columns of the rows that all types of lines share |
//! | [`registry`] | all tables, without rows |
//!
//! This module makes no decisions and does no I/O.

pub mod access;
pub mod calendar;
pub mod codec;
pub mod column;
pub mod declare;
pub mod hold;
pub mod list;
pub mod registry;
pub mod relay;
pub mod row;
pub mod sequence;
pub mod shop;
pub mod spec;
pub mod stay;
pub mod tee;
#[cfg(test)]
mod tests;
pub mod ticket;
pub mod unit;
pub mod value;
pub mod webhook;

pub use access::{ChangeKind, Damaged, KeySink, LiveChange, RowChange, RowSink, TableAccess};
pub use column::{Column, ColumnType, Columns, Type};
pub use list::{Filter, List, Listed, Order};
pub use row::{ChildRow, Record, StoredRow, TableRow};
pub use spec::{ChildRows, Purge, Retention, TableSpec, TableTier};
pub use value::{FromValue, ToValue, Value, ValueReader, Values};
