//! Every way in which a request can be refused for a business reason. Refusals are answers, not failures: they carry
//! what the caller needs to go on, and leave nothing behind.

use jiff::civil::Date;

use crate::calendar::WallTime;
use crate::command::Stop;
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

    // One vertical's own.
    Calendar(CalendarRejection),
}

/// What a house with rooms by the hour says no to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CalendarRejection {
    RoomNotFound,
    SlotNotFound {
        date: Date,
        time: WallTime,
    },
    SlotNotAvailable {
        date: Date,
        time: WallTime,
    },
    LockNotFound,
    /// Unknown, out of time or processed; in that case with what came of it.
    SlotNotLocked {
        reservation: Option<u64>,
    },
    RoomReservationNotFound,
    RoomReservationAlreadyCancelled,
}

/// What is wrong with a field of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    Missing,
    WrongType,
    Malformed,
    OutOfRange {
        min: i64,
        max: i64,
    },
    Blank,
    TooLong {
        max: usize,
    },
    ControlCharacter,
    NotADate,
    UnknownTimeZone,
    UnknownCurrency,
    UnknownValue,
    NotUuidOrUlid,
    EmptyRange,
    InThePast,
    TooFarAhead {
        days_max: u32,
    },
    TooManyNights {
        max: u32,
    },
    TooManyItems {
        max: usize,
    },
    TooManyDays {
        max: u32,
    },
    NotATime,
    UnknownCountry,
    Duplicate,
    /// It was free to choose until slots were made.
    CannotChange,
}

impl Rejection {
    pub fn invalid(field: &'static str, fault: Fault) -> Self {
        Self::InvalidInput { field, fault }
    }
}

macro_rules! of_vertical {
    ($($vertical:ident($rejection:ident)),+ $(,)?) => { $(
        impl From<$rejection> for Rejection {
            fn from(rejection: $rejection) -> Self {
                Self::$vertical(rejection)
            }
        }

        impl From<$rejection> for Stop {
            fn from(rejection: $rejection) -> Self {
                Self::Rejected(rejection.into())
            }
        }
    )+ };
}
of_vertical!(Calendar(CalendarRejection));
