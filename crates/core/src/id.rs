//! Names of things. Numbers are positive and below 2^53, so that every JSON reader can hold them.

use uuid::Uuid;

use crate::time::Timestamp;

/// The largest number an id may be.
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
    /// A person who holds and buys.
    UserId
);

/// The name of a hold. It is a UUID of version 7: it begins with the time at which it was made, and
/// stores rely on that to keep holds in order of age.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HoldId(pub Uuid);

impl HoldId {
    pub fn new(made_at: Timestamp, random: [u8; 10]) -> Self {
        Self(uuid::Builder::from_unix_timestamp_millis(made_at.as_millis() as u64, &random).into_uuid())
    }

    /// When it was made.
    pub fn made_at(self) -> Timestamp {
        Timestamp::from_millis((self.0.as_u128() >> 80) as i64)
    }

    /// No hold made at that moment or later has a smaller id.
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

/// The most numbers of one sequence that a command may draw for each unit of its weight: one for each line of the largest
/// cart, which nobody knows when the weight is asked for.
pub const NUMBERS_PER_WEIGHT_MAX: usize = 100;

/// Numbers a store has set aside for this working set: `next..=last`. Drawing one is a write like any other, so a
/// refused command uses up none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdRange {
    pub next: u64,
    pub last: u64,
}
