//! Every way in which a request can be refused for a business reason. Refusals are answers, not failures: they carry
//! what the caller needs to go on, and leave nothing behind.

use jiff::civil::Date;

use crate::time::Timestamp;

/// A refusal. What each one is called on the wire stands in the server's `problem.rs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    // Any vertical.
    InvalidInput { field: &'static str, fault: Fault },
    Forbidden,
    IdempotencyKeyReused,
    TooManyHolds { max: u32 },
    HoldsSuspended { until: Timestamp },

    // Stays.
    RoomTypeNotFound,
    RoomsInUse { date: Date, in_use: u32 },
    RoomNotAvailable { date: Date },
    StayHoldNotFound,
    StayHoldExpired,
    StayHoldAlreadyProcessed { reservation: Option<u64> },
    StayHoldKeyConflict,
    StayReservationNotFound,
    StayReservationAlreadyCancelled,
    StayReservationNotCancellable,

    // Tickets.
    EventNotFound,
    SeatNotFound { seat: u64 },
    SalesNotOpen { opens_at: Timestamp },
    SoldOut,
    SeatAlreadyReserved { seat: u64 },
    SeatHeldByAnother { seat: u64 },
    NotEnoughSeats { available: u32 },
    SeatLimitReached { max: u32 },
    SeatHoldNotFound,
    SeatHoldExpired,
    SeatHoldAlreadyProcessed { reservation: Option<u64> },
    SeatReservationNotFound,
    SeatReservationAlreadyCancelled,
}

/// What is wrong with a field of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    Missing,
    WrongType,
    Malformed,
    OutOfRange { min: i64, max: i64 },
    Blank,
    TooLong { max: usize },
    ControlCharacter,
    NotADate,
    UnknownTimeZone,
    UnknownCurrency,
    UnknownValue,
    NotUuidOrUlid,
    EmptyRange,
    InThePast,
    TooFarAhead { days_max: u32 },
    TooManyNights { max: u32 },
    TooManyItems { max: usize },
    Duplicate,
}

impl Rejection {
    pub fn invalid(field: &'static str, fault: Fault) -> Self {
        Self::InvalidInput { field, fault }
    }
}
