//! Parameters of queries. A list also has [`ListParams`](super::ListParams).

use serde::{Deserialize, Serialize};

#[cfg(feature = "openapi")]
use crate::claim::ClaimStatusView;
#[cfg(feature = "openapi")]
use crate::ids::{EventId, RoomId, RoomTypeId, UserId};
#[cfg(feature = "openapi")]
use crate::stay::ReservationStatus;

/// User of a call.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct UserQuery {
    /// User for whom the call is made.
    #[cfg_attr(feature = "openapi", param(value_type = UserId, required = false))]
    pub user_id: Option<String>,
}

/// Filter of stay reservations.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct ReservationQuery {
    #[cfg_attr(feature = "openapi", param(value_type = UserId, required = false))]
    pub user_id: Option<String>,
    #[cfg_attr(feature = "openapi", param(value_type = RoomTypeId, required = false))]
    pub room_type_id: Option<String>,
    #[cfg_attr(feature = "openapi", param(value_type = ReservationStatus, required = false))]
    pub status: Option<String>,
}

/// Nights of a stay.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct AvailabilityQuery {
    #[cfg_attr(feature = "openapi", param(value_type = String, format = Date, required = true))]
    pub check_in: Option<String>,
    #[cfg_attr(feature = "openapi", param(value_type = String, format = Date, required = true))]
    pub check_out: Option<String>,
}

/// Filter of room reservations.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct RoomReservationQuery {
    #[cfg_attr(feature = "openapi", param(value_type = UserId, required = false))]
    pub user_id: Option<String>,
    #[cfg_attr(feature = "openapi", param(value_type = RoomId, required = false))]
    pub room_id: Option<String>,
}

/// Filter of claims.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct ClaimQuery {
    #[cfg_attr(feature = "openapi", param(value_type = UserId, required = false))]
    pub user_id: Option<String>,
    #[cfg_attr(feature = "openapi", param(value_type = String, required = false))]
    pub reference: Option<String>,
    #[cfg_attr(feature = "openapi", param(value_type = ClaimStatusView, required = false))]
    pub status: Option<String>,
    /// Type of a line: `stay`, `stock`, `seat` or `slot`.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "openapi", param(value_type = String, required = false))]
    pub line_type: Option<String>,
}

/// Slots of one date, or of a range of dates.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct SlotQuery {
    #[cfg_attr(feature = "openapi", param(value_type = String, format = Date, required = false))]
    pub date: Option<String>,
    #[cfg_attr(feature = "openapi", param(value_type = String, format = Date, required = false))]
    pub from: Option<String>,
    #[cfg_attr(feature = "openapi", param(value_type = String, format = Date, required = false))]
    pub to: Option<String>,
}

/// Range of dates, both included.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct DateRangeQuery {
    #[cfg_attr(feature = "openapi", param(value_type = String, format = Date, required = true))]
    pub from: Option<String>,
    #[cfg_attr(feature = "openapi", param(value_type = String, format = Date, required = true))]
    pub to: Option<String>,
}

/// One date.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct DateQuery {
    #[cfg_attr(feature = "openapi", param(value_type = String, format = Date, required = true))]
    pub date: Option<String>,
}

/// Country of holidays.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct HolidayQuery {
    /// ISO 3166; `KR` if left out.
    #[cfg_attr(feature = "openapi", param(value_type = String, required = false))]
    pub country: Option<String>,
}

/// Options of an order reservation.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct ReserveQuery {
    /// Whether to replace a live reservation of the user.
    #[cfg_attr(feature = "openapi", param(value_type = bool, required = false))]
    pub replace: Option<String>,
    #[cfg_attr(feature = "openapi", param(value_type = UserId, required = false))]
    pub user_id: Option<String>,
}

/// Filter of seat reservations.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct SeatReservationQuery {
    #[cfg_attr(feature = "openapi", param(value_type = UserId, required = false))]
    pub user_id: Option<String>,
    #[cfg_attr(feature = "openapi", param(value_type = EventId, required = false))]
    pub event_id: Option<String>,
}

/// Filter of bookings.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct BookingQuery {
    #[cfg_attr(feature = "openapi", param(value_type = UserId, required = false))]
    pub user_id: Option<String>,
    #[cfg_attr(feature = "openapi", param(value_type = String, required = false))]
    pub status: Option<String>,
}

/// Filter of the outbox.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct OutboxQuery {
    #[cfg_attr(feature = "openapi", param(value_type = String, required = false))]
    pub status: Option<String>,
    /// Service with the outbox, if services run apart: `booking` (the default), `course`, `notify` or `api`.
    #[cfg_attr(feature = "openapi", param(value_type = String, required = false))]
    pub service: Option<String>,
}

/// Service of an outbox.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct ServiceQuery {
    /// Service with the outbox, if services run apart: `booking` (the default), `course`, `notify` or `api`.
    #[cfg_attr(feature = "openapi", param(value_type = String, required = false))]
    pub service: Option<String>,
}

/// Filter of a webhook's deliveries.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct DeliveryQuery {
    /// `PENDING`, `DELIVERED` or `FAILED`.
    #[cfg_attr(feature = "openapi", param(value_type = String, required = false))]
    pub status: Option<String>,
}

/// Filter of the event stream.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Query))]
pub struct StreamQuery {
    /// Only these types; prefixes are allowed, separated by commas.
    #[cfg_attr(feature = "openapi", param(value_type = String, required = false))]
    pub types: Option<String>,
    /// Only this user's events.
    #[cfg_attr(feature = "openapi", param(value_type = UserId, required = false))]
    pub user_id: Option<String>,
}
