//! Tables in PostgreSQL: statements derived from their declarations.
//!
//! | module | contents |
//! | --- | --- |
//! | `sql` | the statements of each table |
//! | `load` | rows by key and by range |
//! | `write` | changes of a batch |
//! | `versions` | read set, for servers that share the database |
//! | `row_cache` | cache of immutable rows, for the same servers |
//! | `lists` | lists, audit, live holds, garbage collection |

mod lists;
mod load;
mod row_cache;
mod sql;
mod versions;
mod write;

#[cfg(test)]
pub(crate) use lists::list_sql;
pub(crate) use lists::{audit, index_holds, list, purge};
pub(crate) use load::{Of, PendingLoad, ask_confirmed, confirmed, requests_durable};
pub(crate) use row_cache::RowCache;
pub(crate) use sql::{DROP_CLEARED_MONTH, PURGE_HOLDS, locks, purges, reads, writes};
pub(crate) use versions::RowVersions;
pub(crate) use write::{has_durable_changes, write};
