//! Identifiers as named schemas: numbers below 2^53, UUIDs, and users, who may also be texts.

use std::fmt;
use std::sync::Arc;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
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
    /// Id of a sale of stock to a claim.
    StockSaleId
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
    /// Id of a claim, which is that of the hold.
    ClaimId
}

/// Id of a user, in the form in which it is given: an integer is a JSON number, a text a JSON string. Cheap to clone.
///
/// Any number and any text can be represented; the server rejects those that are no users.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UserId {
    Number(u64),
    Text(Arc<str>),
}

impl From<u64> for UserId {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for UserId {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<&Self> for UserId {
    fn from(user: &Self) -> Self {
        user.clone()
    }
}

impl fmt::Display for UserId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

impl Serialize for UserId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_u64(*number),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for UserId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FormVisitor)
    }
}

struct FormVisitor;

impl Visitor<'_> for FormVisitor {
    type Value = UserId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer or a string")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<UserId, E> {
        Ok(number.into())
    }

    /// Some formats represent every integer as a signed one.
    fn visit_i64<E: Error>(self, number: i64) -> Result<UserId, E> {
        let unsigned = u64::try_from(number).map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))?;
        Ok(unsigned.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<UserId, E> {
        Ok(text.into())
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for UserId {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, OneOfBuilder, SchemaFormat, Type};
        let integer = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
            .minimum(Some(1))
            .maximum(Some(9_007_199_254_740_991_u64));
        let text = ObjectBuilder::new()
            .schema_type(Type::String)
            .min_length(Some(1))
            .max_length(Some(128))
            .pattern(Some("^[!-~]+$"));
        OneOfBuilder::new()
            .item(integer)
            .item(text)
            .description(Some(
                "Id of a user: an integer, or a text of visible ASCII characters that does not read as a decimal number. \
                 Digits beyond 2^53 − 1 are a text. Answers show the form that was given.",
            ))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for UserId {}

#[cfg(feature = "core")]
mod convert {
    use holdfast_core::Fault;
    use holdfast_core::id::{ID_MAX, UserId as User};

    use super::UserId;
    use crate::InvalidField;

    impl From<&User> for UserId {
        fn from(user: &User) -> Self {
            match (user.text(), user.number()) {
                (Some(text), _) => Self::Text(text.clone()),
                (None, number) => Self::Number(number.unwrap_or_default()),
            }
        }
    }

    impl UserId {
        /// Converts a user in a JSON body.
        pub fn user(&self, field: &'static str) -> Result<User, InvalidField> {
            let (user, fault) = match self {
                Self::Number(number) => (User::new(*number), Fault::OutOfRange { min: 1, max: ID_MAX as i64 }),
                Self::Text(text) => (User::parse_string(text), Fault::NotAUser),
            };
            user.ok_or_else(|| InvalidField::new(field, fault))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::UserId;

    #[test]
    fn user_keeps_its_form() {
        for (json, user) in [("42", UserId::from(42)), ("\"auth0|5f\"", "auth0|5f".into()), ("\"42\"", "42".into())] {
            assert_eq!(serde_json::from_str::<UserId>(json).unwrap(), user);
            assert_eq!(serde_json::to_string(&user).unwrap(), json);
        }
        assert_eq!(serde_json::from_value::<UserId>(serde_json::json!(42)).unwrap(), UserId::from(42));
        for json in ["-1", "1.5", "1e3", "true", "null", "[1]", "{}", "18446744073709551616"] {
            assert!(serde_json::from_str::<UserId>(json).is_err(), "{json}");
        }
    }
}
