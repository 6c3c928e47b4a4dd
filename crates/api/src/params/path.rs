//! Parameters of paths.

use serde::{Deserialize, Serialize};

#[cfg(feature = "openapi")]
use crate::ids::{
    BookingId, ClaimId, CourseId, DeliveryId, EventId, HoldId, LockId, OrderId, OutboxEventId, ProductId,
    ProductOptionId, ReservationId, RoomId, RoomReservationId, RoomTypeId, SeatReservationId, StockSaleId, TeeSlotId,
    UserId, WebhookId,
};

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct RoomTypePath {
    #[cfg_attr(feature = "openapi", param(value_type = RoomTypeId))]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct HoldPath {
    #[cfg_attr(feature = "openapi", param(value_type = HoldId))]
    pub hold_id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct ReservationPath {
    #[cfg_attr(feature = "openapi", param(value_type = ReservationId))]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct UserPath {
    #[cfg_attr(feature = "openapi", param(value_type = UserId))]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct ProductPath {
    #[cfg_attr(feature = "openapi", param(value_type = ProductId))]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct ProductOptionPath {
    #[cfg_attr(feature = "openapi", param(value_type = ProductOptionId))]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct CouponPath {
    pub code: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct OrderPath {
    #[cfg_attr(feature = "openapi", param(value_type = OrderId))]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct RoomPath {
    #[cfg_attr(feature = "openapi", param(value_type = RoomId))]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct ClaimPath {
    #[cfg_attr(feature = "openapi", param(value_type = ClaimId))]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct StockSalePath {
    #[cfg_attr(feature = "openapi", param(value_type = StockSaleId))]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct LockPath {
    #[cfg_attr(feature = "openapi", param(value_type = LockId))]
    pub lock_id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct RoomReservationPath {
    #[cfg_attr(feature = "openapi", param(value_type = RoomReservationId))]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct EventPath {
    #[cfg_attr(feature = "openapi", param(value_type = EventId))]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct SeatHoldPath {
    #[cfg_attr(feature = "openapi", param(value_type = HoldId))]
    pub hold_id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct SeatReservationPath {
    #[cfg_attr(feature = "openapi", param(value_type = SeatReservationId))]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct CoursePath {
    #[cfg_attr(feature = "openapi", param(value_type = CourseId))]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct TeeSlotPath {
    #[cfg_attr(feature = "openapi", param(value_type = TeeSlotId))]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct BookingPath {
    #[cfg_attr(feature = "openapi", param(value_type = BookingId))]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct OutboxEventPath {
    #[cfg_attr(feature = "openapi", param(value_type = OutboxEventId))]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct WebhookPath {
    #[cfg_attr(feature = "openapi", param(value_type = WebhookId))]
    pub id: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::IntoParams), into_params(parameter_in = Path))]
pub struct DeliveryPath {
    #[cfg_attr(feature = "openapi", param(value_type = WebhookId))]
    pub id: String,
    #[cfg_attr(feature = "openapi", param(value_type = DeliveryId))]
    pub delivery_id: String,
}
