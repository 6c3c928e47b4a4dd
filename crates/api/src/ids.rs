//! Identifiers as named schemas. They are numbers below 2^53, or UUIDs.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! numbers {
    ($($(#[$doc:meta])+ $name:ident)+) => {
        $(
            $(#[$doc])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
            #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
            #[serde(transparent)]
            #[cfg_attr(
                feature = "openapi",
                schema(value_type = u64, minimum = 1, maximum = 9_007_199_254_740_991_u64)
            )]
            pub struct $name(pub u64);
        )+
    };
}

macro_rules! uuids {
    ($($(#[$doc:meta])+ $name:ident)+) => {
        $(
            $(#[$doc])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
            #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
            #[serde(transparent)]
            pub struct $name(pub Uuid);
        )+
    };
}

numbers! {
    /// Id of a user.
    UserId
    /// Id of a room type.
    RoomTypeId
    /// Id of a stay's reservation.
    ReservationId
    /// Id of a product.
    ProductId
    /// Id of a product's option.
    ProductOptionId
    /// Id of a line of a cart reservation.
    OrderReservationId
    /// Id of an order.
    OrderId
    /// Id of a room by the hour.
    RoomId
    /// Id of a reservation of a room by the hour.
    RoomReservationId
    /// Id of an event with seats.
    EventId
    /// Id of a seat.
    SeatId
    /// Id of a reservation of seats.
    SeatReservationId
    /// Id of a course.
    CourseId
    /// Id of a tee time slot.
    TeeSlotId
    /// Id of a booking.
    BookingId
    /// Id of a notification.
    NotificationId
    /// Id of a webhook.
    WebhookId
    /// Id of a delivery of a webhook.
    DeliveryId
    /// Number of a durable event in the outbox.
    OutboxEventId
}

uuids! {
    /// Id of a hold on rooms of a type or on seats.
    HoldId
    /// Id of a lock on slots of a room.
    LockId
}
