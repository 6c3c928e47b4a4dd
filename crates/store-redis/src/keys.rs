//! Names of the store's own rows in Redis. Those of core's rows are declared with their tables. An optional common prefix
//! precedes all of them; in a Redis Cluster it must be a hash tag.

use holdfast_core::near_term::PartId;
use holdfast_core::schema::TableRow;

#[derive(Clone, Debug)]
pub(crate) struct Keys {
    pub prefix: String,
}

impl Keys {
    pub(crate) fn epoch(&self) -> String {
        format!("{}epoch", self.prefix)
    }

    /// Written to find out whether Redis takes writes; never read.
    pub(crate) fn probe(&self) -> String {
        format!("{}probe", self.prefix)
    }

    /// The latest time that something was written at, in microseconds.
    pub(crate) fn clock(&self) -> String {
        format!("{}clock", self.prefix)
    }

    /// Unfinished confirm attempts, by the second in which they began.
    pub(crate) fn unfinished(&self) -> String {
        format!("{}hold:confirming", self.prefix)
    }

    /// Cache version and invalidation intents of a part.
    pub(crate) fn cache_version(&self, part: PartId) -> String {
        format!("{}{part}", self.prefix)
    }

    /// A row, by the name that is declared with its table.
    pub(crate) fn row<K, V: TableRow<K>>(&self, key: &K) -> String {
        let mut name = self.prefix.clone();
        V::write_name(key, &mut name);
        name
    }
}
