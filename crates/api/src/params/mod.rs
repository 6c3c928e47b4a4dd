//! Parameters of paths, queries and headers. They are text here; the server parses and validates them.

mod header;
mod path;
mod query;

use serde::{Deserialize, Serialize};

pub use self::header::{IdempotencyHeader, IfMatchHeader, LastEventHeader, PreferHeader, UserHeader};
pub use self::path::{
    BookingPath, ClaimPath, CouponPath, CoursePath, DeliveryPath, EventPath, HoldPath, LockPath, OrderPath,
    OutboxEventPath, ProductOptionPath, ProductPath, ReservationPath, RoomPath, RoomReservationPath, RoomTypePath,
    SeatHoldPath, SeatReservationPath, StockSalePath, TeeSlotPath, UserPath, WebhookPath,
};
pub use self::query::{
    AvailabilityQuery, BookingQuery, ClaimQuery, DateQuery, DateRangeQuery, DeliveryQuery, HolidayQuery, OutboxQuery,
    ReservationQuery, ReserveQuery, RoomReservationQuery, SeatReservationQuery, ServiceQuery, SlotQuery, StreamQuery,
    UserQuery,
};

/// Page of a list.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct ListParams {
    /// Maximum number of entries; more than 500 counts as 500.
    #[cfg_attr(feature = "openapi", param(value_type = u64, required = false, minimum = 1, default = 50))]
    pub limit: Option<String>,
    /// Order by creation.
    #[cfg_attr(feature = "openapi", param(value_type = ListOrder, required = false))]
    pub order: Option<String>,
    /// `nextCursor` of the previous page, in the same order.
    #[cfg_attr(feature = "openapi", param(value_type = String, required = false))]
    pub cursor: Option<String>,
}

/// Order of a list by creation; `asc` by default.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ListOrder {
    Asc,
    Desc,
}
