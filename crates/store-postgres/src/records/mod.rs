//! Records in PostgreSQL: statements derived from the schemas of tables.
//!
//! | module | contents |
//! | --- | --- |
//! | `sql` | the statements of each table |
//! | `load` | rows by key and by range |
//! | `write` | changes of a batch |
//! | `seen` | read set, for servers that share the database |
//! | `kept` | cache of immutable rows, for the same servers |
//! | `lists` | lists, audit, live holds, garbage collection |

mod kept;
mod lists;
mod load;
mod seen;
mod sql;
mod write;

pub(crate) use kept::Kept;
#[cfg(test)]
pub(crate) use lists::list_sql;
pub(crate) use lists::{audit_durable, audit_holds, list, remember_holds, tidy_holds};
pub(crate) use load::{Asked, Of, ask_confirmed, confirmed, wants_durable};
pub(crate) use seen::Seen;
pub(crate) use sql::{DROP_CLEARED_MONTH, locks, reads, tidies, writes};
pub(crate) use write::{has_durable_changes, write_durable, write_holds};

use holdfast_records::{Cells, Record, Value};

/// Cells of a key, without borrowing it.
fn owned_key<R: Record>(key: &R::Key) -> Vec<Value<'static>> {
    let mut cells = Cells::default();
    R::put_key(key, &mut cells);
    cells.0.into_iter().map(Value::into_owned).collect()
}
