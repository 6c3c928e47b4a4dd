//! Records in PostgreSQL: statements made from the layouts of tables.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `sql` | the statements of each table |
//! | `load` | rows by key and by range |
//! | `write` | what a batch changed |
//! | `seen` | versions of what was read, for servers that share the database |
//! | `kept` | rows that never change, for the same servers |
//! | `lists` | lists, audit, live holds, tidying |

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

/// The cells of a key, borrowed from nobody.
fn owned_key<R: Record>(key: &R::Key) -> Vec<Value<'static>> {
    let mut cells = Cells::default();
    R::put_key(key, &mut cells);
    cells.0.into_iter().map(Value::into_owned).collect()
}
