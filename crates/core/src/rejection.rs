//! Every way in which a request can be refused for a business reason. Refusals are answers, not failures: they carry
//! what the caller needs to go on, and leave nothing behind.

use jiff::civil::Date;

use crate::calendar::WallTime;
use crate::command::Stop;
use crate::money::Currency;
use crate::shop::ProductOptionId;
use crate::tee::{BookingStatus, StartTime};
use crate::time::Timestamp;
use crate::webhook::DeliveryStatus;

/// A refusal. What each one is called on the wire stands in the server's `problem` module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    // Any vertical.
    InvalidInput { field: &'static str, fault: Fault },
    Forbidden,
    IdempotencyKeyReused,
    TooManyHolds { max: u32 },
    HoldsSuspended { until: Timestamp },
    LeaseLost,

    // One vertical's own.
    Stay(StayRejection),
    Shop(ShopRejection),
    Calendar(CalendarRejection),
    Ticket(TicketRejection),
    Tee(TeeRejection),
    Webhook(WebhookRejection),
}

/// What a hotel says no to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StayRejection {
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

/// What a shop says no to. In use is what is reserved of the stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShopRejection {
    UserNotFound,
    ProductNotFound,
    ProductOptionNotFound,
    StockInUse { in_use: u32 },
    CartEmpty,
    ProductOptionInactive { option: ProductOptionId },
    DuplicateReservation,
    InsufficientAvailableStock { option: ProductOptionId, available: u32 },
    OrderReservationNotFound,
    OrderReservationExpired,
    CouponNotFound,
    CouponAlreadyExists,
    CouponAlreadyIssued,
    CouponSoldOut,
    CouponNotUsable,
    AmountChanged { amount: i64 },
    InsufficientBalance { balance: i64, needed: i64 },
    OrderNotFound,
    OrderAlreadyCancelled,
}

/// What a box office says no to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TicketRejection {
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

/// What a golf club says no to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeeRejection {
    CourseNotFound,
    SlotNotFound,
    SlotExists {
        date: Date,
        start: StartTime,
    },
    BookingNotFound,
    /// It has ended as this, or as nothing yet: then it is too late, players have teed off.
    BookingNotCancellable {
        ended_as: Option<BookingStatus>,
    },
    InvalidStateTransition {
        from: BookingStatus,
        to: BookingStatus,
    },
}

/// What those who send webhooks say no to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookRejection {
    WebhookNotFound,
    TooManyWebhooks { max: usize },
    WebhookDisabled,
    WebhookDeliveryNotFound,
    WebhookDeliveryNotFailed { status: DeliveryStatus },
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
    NotAMoment,
    UnknownTimeZone,
    UnknownCurrency,
    OtherCurrency {
        expected: Currency,
    },
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
    UnknownWeekday,
    UnknownCountry,
    Duplicate,
    /// It was free to choose until slots were made.
    CannotChange,
    /// Only `http` and `https` addresses, without a name and password in them.
    NotAWebAddress,
    /// An address that only this network can reach.
    PrivateAddress,
    /// Not `whsec_` and base64 of so many bytes.
    NotASecret {
        min: usize,
        max: usize,
    },
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
of_vertical!(
    Stay(StayRejection),
    Shop(ShopRejection),
    Calendar(CalendarRejection),
    Ticket(TicketRejection),
    Tee(TeeRejection),
    Webhook(WebhookRejection)
);
