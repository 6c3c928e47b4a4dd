//! Parameters of queries. A list also has [`ListParams`](super::ListParams).

use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::wire::ids::{EventId, RoomId, RoomTypeId, UserId};
use crate::wire::stay::ReservationStatus;

#[derive(Clone, Debug, Default, Deserialize, Serialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct UserQuery {
    /// User for whom the call is made.
    #[param(value_type = UserId, required = false)]
    pub user_id: Option<String>,
}

/// Filter of stays' reservations.
#[derive(Clone, Debug, Default, Deserialize, Serialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ReservationQuery {
    #[param(value_type = UserId, required = false)]
    pub user_id: Option<String>,
    #[param(value_type = RoomTypeId, required = false)]
    pub room_type_id: Option<String>,
    #[param(value_type = ReservationStatus, required = false)]
    pub status: Option<String>,
}

/// Nights of a stay.
#[derive(Clone, Debug, Default, Deserialize, Serialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct AvailabilityQuery {
    #[param(value_type = String, format = Date, required = true)]
    pub check_in: Option<String>,
    #[param(value_type = String, format = Date, required = true)]
    pub check_out: Option<String>,
}

/// Filter of room reservations.
#[derive(Clone, Debug, Default, Deserialize, Serialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct RoomReservationQuery {
    #[param(value_type = UserId, required = false)]
    pub user_id: Option<String>,
    #[param(value_type = RoomId, required = false)]
    pub room_id: Option<String>,
}

/// Slots of one date, or of a range of dates.
#[derive(Clone, Debug, Default, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SlotQuery {
    #[param(value_type = String, format = Date, required = false)]
    pub date: Option<String>,
    #[param(value_type = String, format = Date, required = false)]
    pub from: Option<String>,
    #[param(value_type = String, format = Date, required = false)]
    pub to: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DateRangeQuery {
    #[param(value_type = String, format = Date, required = true)]
    pub from: Option<String>,
    #[param(value_type = String, format = Date, required = true)]
    pub to: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DateQuery {
    #[param(value_type = String, format = Date, required = true)]
    pub date: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct HolidayQuery {
    /// ISO 3166; `KR` if left out.
    #[param(value_type = String, required = false)]
    pub country: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ReserveQuery {
    /// Whether a live reservation of the user is replaced.
    #[param(value_type = bool, required = false)]
    pub replace: Option<String>,
    #[param(value_type = UserId, required = false)]
    pub user_id: Option<String>,
}

/// Filter of seat reservations.
#[derive(Clone, Debug, Default, Deserialize, Serialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct SeatReservationQuery {
    #[param(value_type = UserId, required = false)]
    pub user_id: Option<String>,
    #[param(value_type = EventId, required = false)]
    pub event_id: Option<String>,
}

/// Filter of bookings.
#[derive(Clone, Debug, Default, Deserialize, Serialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct BookingQuery {
    #[param(value_type = UserId, required = false)]
    pub user_id: Option<String>,
    #[param(value_type = String, required = false)]
    pub status: Option<String>,
}

/// Filter of the outbox.
#[derive(Clone, Debug, Default, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct OutboxQuery {
    #[param(value_type = String, required = false)]
    pub status: Option<String>,
    /// Whose outbox, if services run apart: `booking` (the default), `course`, `notify` or `api`.
    #[param(value_type = String, required = false)]
    pub service: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ServiceQuery {
    /// Whose outbox, if services run apart: `booking` (the default), `course`, `notify` or `api`.
    #[param(value_type = String, required = false)]
    pub service: Option<String>,
}

/// Filter of a webhook's deliveries.
#[derive(Clone, Debug, Default, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeliveryQuery {
    /// `PENDING`, `DELIVERED` or `FAILED`.
    #[param(value_type = String, required = false)]
    pub status: Option<String>,
}

/// Filter of the event stream.
#[derive(Clone, Debug, Default, Deserialize, Serialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct StreamQuery {
    /// Only these types; prefixes are allowed, separated by commas.
    #[param(value_type = String, required = false)]
    pub types: Option<String>,
    /// Only this user's events.
    #[param(value_type = UserId, required = false)]
    pub user_id: Option<String>,
}
