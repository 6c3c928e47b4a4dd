//! Parameters of paths.

use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::wire::ids::{
    BookingId, CourseId, DeliveryId, EventId, HoldId, LockId, OrderId, OutboxEventId, ProductId, ProductOptionId,
    ReservationId, RoomId, RoomReservationId, RoomTypeId, SeatReservationId, TeeSlotId, UserId, WebhookId,
};

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct RoomTypePath {
    #[param(value_type = RoomTypeId)]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct HoldPath {
    #[param(value_type = HoldId)]
    pub hold_id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ReservationPath {
    #[param(value_type = ReservationId)]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct UserPath {
    #[param(value_type = UserId)]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ProductPath {
    #[param(value_type = ProductId)]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ProductOptionPath {
    #[param(value_type = ProductOptionId)]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct CouponPath {
    pub code: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct OrderPath {
    #[param(value_type = OrderId)]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct RoomPath {
    #[param(value_type = RoomId)]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct LockPath {
    #[param(value_type = LockId)]
    pub lock_id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct RoomReservationPath {
    #[param(value_type = RoomReservationId)]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct EventPath {
    #[param(value_type = EventId)]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct SeatHoldPath {
    #[param(value_type = HoldId)]
    pub hold_id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct SeatReservationPath {
    #[param(value_type = SeatReservationId)]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct CoursePath {
    #[param(value_type = CourseId)]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct TeeSlotPath {
    #[param(value_type = TeeSlotId)]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct BookingPath {
    #[param(value_type = BookingId)]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct OutboxEventPath {
    #[param(value_type = OutboxEventId)]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct WebhookPath {
    #[param(value_type = WebhookId)]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Path)]
pub struct DeliveryPath {
    #[param(value_type = WebhookId)]
    pub id: String,
    #[param(value_type = DeliveryId)]
    pub delivery_id: String,
}
