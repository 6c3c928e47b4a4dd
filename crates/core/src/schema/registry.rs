//! All declared tables, without rows.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::schema::TableAccess;
use crate::schema::spec::{TableSpec, TableTier};
use crate::working_set::Tables;

/// Returns all declared tables, in the order of their declaration.
pub fn tables() -> Vec<(TableTier, &'static dyn TableAccess)> {
    static EMPTY: LazyLock<Tables> = LazyLock::new(Tables::default);
    let mut tables = Vec::new();
    EMPTY.visit(&mut |tier, table| tables.push((tier, table)));
    tables
}

/// Returns the durable tables, in the order of their declaration.
pub fn durable() -> impl Iterator<Item = &'static dyn TableAccess> {
    tables().into_iter().filter(|(tier, _)| *tier == TableTier::Durable).map(|(_, table)| table)
}

/// Returns the declarations of all SQL tables, each once.
pub fn stored() -> impl Iterator<Item = &'static TableSpec> {
    let mut known = HashSet::new();
    let specs = tables().into_iter().map(|(_, table)| table.spec()).filter(|spec| spec.is_stored());
    specs.filter(move |spec| known.insert(spec.table))
}
