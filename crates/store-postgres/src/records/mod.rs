//! Records in PostgreSQL: statements derived from the schemas of tables.
//!
//! | module | contents |
//! | --- | --- |
//! | `sql` | the statements of each table |
//! | `load` | rows by key and by range |
//! | `write` | changes of a batch |
//! | `versions` | read set, for servers that share the database |
//! | `kept` | cache of immutable rows, for the same servers |
//! | `lists` | lists, audit, live holds, garbage collection |

mod lists;
mod load;
mod row_cache;
mod sql;
mod versions;
mod write;

#[cfg(test)]
pub(crate) use lists::list_sql;
pub(crate) use lists::{audit_durable, index_holds, list};
pub(crate) use load::{Of, PendingLoad, ask_confirmed, confirmed, requests_durable};
pub(crate) use row_cache::RowCache;
pub(crate) use sql::{DROP_CLEARED_MONTH, PURGE_HOLDS, locks, reads, writes};
pub(crate) use versions::RowVersions;
pub(crate) use write::{has_durable_changes, write_durable, write_holds};

use holdfast_core::schema::{Record, Value, Values};

/// Values of a key, without borrowing it.
fn owned_key<R: Record>(key: &R::Key) -> Vec<Value<'static>> {
    let mut values = Values::default();
    R::put_key(key, &mut values);
    values.0.into_iter().map(Value::into_owned).collect()
}
