//! Identifiers. Numbers are positive and below 2^53, so that every JSON parser represents them exactly.

use uuid::Uuid;

use crate::time::Timestamp;

/// Largest number of an id.
pub const ID_MAX: u64 = (1 << 53) - 1;

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            /// `None` unless `1 <= number < 2^53`.
            pub fn new(number: u64) -> Option<Self> {
                (1..=$crate::id::ID_MAX).contains(&number).then_some(Self(number))
            }

            pub fn get(self) -> u64 {
                self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}
pub(crate) use number_id;

number_id!(
    /// A customer account.
    UserId
);

/// Identifier of a hold: a UUID of version 7. It begins with the time of creation, so ids sort by age and stores find
/// live holds by range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HoldId(pub Uuid);

impl HoldId {
    pub fn new(made_at: Timestamp, random: [u8; 10]) -> Self {
        Self(uuid::Builder::from_unix_timestamp_millis(made_at.as_millis() as u64, &random).into_uuid())
    }

    /// Returns the time of creation.
    pub fn made_at(self) -> Timestamp {
        Timestamp::from_millis((self.0.as_u128() >> 80) as i64)
    }

    /// Returns the smallest id of a hold created at `moment` or later.
    pub fn earliest_at(moment: Timestamp) -> Self {
        Self::new(moment, [0; 10])
    }
}

impl std::fmt::Display for HoldId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

/// A source of numbers; one per kind of numbered record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sequence {
    RoomType,
    StayReservation,
    User,
    Product,
    ProductOption,
    InventoryReservation,
    Order,
    Room,
    RoomReservation,
    Generation,
    TicketEvent,
    SeatReservation,
    Course,
    TeeSlot,
    Booking,
    Notification,
    Webhook,
    WebhookDelivery,
}

/// Most numbers that a command may draw from one sequence per unit of its weight: one per line of the largest cart,
/// whose size is unknown when the weight is computed.
pub const NUMBERS_PER_WEIGHT_MAX: usize = 100;

impl Sequence {
    /// Returns the most numbers that a command draws per unit of its weight: most commands draw one, some as many as a
    /// cart has lines.
    pub fn numbers_per_weight_max(self) -> usize {
        match self {
            Self::InventoryReservation | Self::ProductOption | Self::WebhookDelivery => NUMBERS_PER_WEIGHT_MAX,
            Self::RoomType
            | Self::StayReservation
            | Self::User
            | Self::Product
            | Self::Order
            | Self::Room
            | Self::RoomReservation
            | Self::Generation
            | Self::TicketEvent
            | Self::SeatReservation
            | Self::Course
            | Self::TeeSlot
            | Self::Booking
            | Self::Notification
            | Self::Webhook => 1,
        }
    }
}

/// Numbers reserved for this working set: `next..=last`. Drawing one is a write like any other, so a rejected command
/// uses up none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdRange {
    pub next: u64,
    pub last: u64,
}
