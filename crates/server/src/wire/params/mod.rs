//! Parameters of paths, queries and headers. They are text here; the server parses and validates them.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Page of a list.
#[derive(Clone, Debug, Default, Deserialize, Serialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ListParams {
    /// Maximum number of entries; more than 500 counts as 500.
    #[param(value_type = Option<u64>, minimum = 1, default = 50)]
    pub limit: Option<String>,
    /// Order by creation.
    #[param(value_type = Option<ListOrder>, default = "asc")]
    pub order: Option<String>,
    /// `nextCursor` of the previous page, in the same order.
    pub cursor: Option<String>,
}

/// Order of a list by creation.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ListOrder {
    Asc,
    Desc,
}
