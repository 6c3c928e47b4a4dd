//! Holds of all kinds, by their types, and the tables without rows.

use std::sync::LazyLock;

use crate::hold::{Claim, Hold, Indexed};
use crate::id::HoldId;
use crate::table::Table;
use crate::working_set::Tables;

use crate::schema::TableAccess;
use crate::schema::row::Record;
use crate::schema::spec::TableSpec;

/// Visits tables of holds.
pub trait HoldVisitor<'a> {
    fn visit<C: Claim>(&mut self, table: &'a Table<HoldId, Hold<C>>)
    where
        Hold<C>: Record<Key = HoldId> + Indexed;
}

/// Visits tables of holds mutably.
pub trait HoldVisitorMut {
    fn visit<C: Claim>(&mut self, table: &mut Table<HoldId, Hold<C>>)
    where
        Hold<C>: Record<Key = HoldId> + Indexed;
}

/// Visits the holds of all kinds.
pub fn holds<'a>(tables: &'a Tables, visitor: &mut impl HoldVisitor<'a>) {
    visitor.visit(&tables.stay.holds);
    visitor.visit(&tables.shop.holds);
    visitor.visit(&tables.calendar.locks);
    visitor.visit(&tables.ticket.holds);
}

pub fn holds_mut(tables: &mut Tables, visitor: &mut impl HoldVisitorMut) {
    visitor.visit(&mut tables.stay.holds);
    visitor.visit(&mut tables.shop.holds);
    visitor.visit(&mut tables.calendar.locks);
    visitor.visit(&mut tables.ticket.holds);
}

/// Returns all declared tables, without rows, in the order of their declaration.
pub fn tables() -> Vec<&'static dyn TableAccess> {
    let mut tables = Vec::new();
    empty().visit(&mut |table| tables.push(table));
    tables
}

/// Returns the declarations of all tables with an SQL table, in the order of their declaration.
pub fn stored() -> impl Iterator<Item = &'static TableSpec> {
    tables().into_iter().map(TableAccess::spec).filter(|spec| spec.is_stored())
}

/// Returns tables without rows.
pub fn empty() -> &'static Tables {
    static EMPTY: LazyLock<Tables> = LazyLock::new(Tables::default);
    &EMPTY
}
