//! Lists and their pages.

#[cfg(feature = "core")]
mod page;

use serde::{Deserialize, Serialize};

#[cfg(feature = "core")]
pub use self::page::Page;

/// Page of a list.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct List<T> {
    pub items: Vec<T>,
    /// Pass as `cursor` to get the next page; `null` at the end.
    pub next_cursor: Option<String>,
}
