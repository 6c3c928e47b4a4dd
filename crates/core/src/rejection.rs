//! Business rejections of requests. A rejection is a reply, not a failure: it carries the data that the caller needs to
//! continue, and leaves no changes.

use jiff::civil::Date;

use crate::calendar::LocalTime;
use crate::claim::place::RefusedLine;
use crate::command::Stop;
use crate::hold::LineRecord;
use crate::money::Currency;
use crate::shop::ProductOptionId;
use crate::tee::{BookingStatus, StartTime};
use crate::time::Timestamp;
use crate::webhook::DeliveryStatus;

/// A rejection of a command. The server's `problem` module maps each to its error code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    // Any vertical.
    InvalidInput { field: &'static str, fault: Fault },
    Forbidden,
    IdempotencyKeyReused,
    TooManyHolds { max: u32 },
    HoldsSuspended { until: Timestamp },
    LeaseLost,

    // Holds of any origin.
    Claim(ClaimRejection),

    // One vertical.
    Stay(StayRejection),
    Shop(ShopRejection),
    Calendar(CalendarRejection),
    Ticket(TicketRejection),
    Tee(TeeRejection),
    Webhook(WebhookRejection),
}

/// Rejections of holds, whichever endpoint placed them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimRejection {
    ClaimNotFound,
    /// Expired or replaced.
    ClaimExpired,
    /// Confirmed or cancelled, with the records of confirmed lines.
    ClaimAlreadyProcessed {
        records: Vec<LineRecord>,
    },
    /// The endpoint that placed the claim decides its lines.
    ClaimNotChangeable,
    /// A cart's reservation is confirmed by its payment only.
    PaymentRequired,
    /// The claim has changed since the caller read it.
    VersionMismatch {
        version: u32,
    },
    /// Lines that are not available; none was placed.
    NotAvailable {
        lines: Vec<RefusedLine>,
    },
    /// A line is malformed, or names an unknown object.
    InvalidLine {
        /// Name of the list of lines in the request.
        list: &'static str,
        line: u16,
        rejection: Box<Rejection>,
    },
    ExtensionLimit {
        max_until: Timestamp,
    },
}

/// Rejections of hotel stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StayRejection {
    RoomTypeNotFound,
    RoomsInUse { date: Date, in_use: u32 },
    RoomNotAvailable { date: Date, available: u32 },
    StayHoldNotFound,
    StayHoldExpired,
    StayHoldAlreadyProcessed { reservation: Option<u64> },
    StayHoldKeyConflict,
    StayReservationNotFound,
    StayReservationAlreadyCancelled,
    StayReservationNotCancellable,
}

/// Rejections of rooms by the hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CalendarRejection {
    RoomNotFound,
    SlotNotFound {
        date: Date,
        time: LocalTime,
    },
    SlotNotAvailable {
        date: Date,
        time: LocalTime,
    },
    LockNotFound,
    /// The lock is unknown, expired or processed; `reservation` is set if it was confirmed.
    SlotNotLocked {
        reservation: Option<u64>,
    },
    RoomReservationNotFound,
    RoomReservationAlreadyCancelled,
}

/// Rejections of shops. `in_use` is the quantity of reserved stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShopRejection {
    UserNotFound,
    UserAlreadyExists,
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
    StockSaleNotFound,
}

/// Rejections of ticket sales.
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

/// Rejections of tee times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TeeRejection {
    CourseNotFound,
    SlotNotFound,
    SlotExists {
        date: Date,
        start: StartTime,
    },
    BookingNotFound,
    /// `None`: the booking is still active, but its players have already started.
    BookingNotCancellable {
        ended_as: Option<BookingStatus>,
    },
    InvalidStateTransition {
        from: BookingStatus,
        to: BookingStatus,
    },
}

/// Rejections of webhook management.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookRejection {
    WebhookNotFound,
    TooManyWebhooks { max: usize },
    WebhookDisabled,
    WebhookDeliveryNotFound,
    WebhookDeliveryNotFailed { status: DeliveryStatus },
}

/// Fault of an input field.
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
    NotAUser,
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
    /// The field is fixed once slots are generated.
    CannotChange,
    /// Only `http` and `https` URLs without credentials are accepted.
    NotAWebAddress,
    /// The URL resolves to an address inside the server's network.
    PrivateAddress,
    /// Not `whsec_` followed by base64 of `min` to `max` bytes.
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
    Claim(ClaimRejection),
    Stay(StayRejection),
    Shop(ShopRejection),
    Calendar(CalendarRejection),
    Ticket(TicketRejection),
    Tee(TeeRejection),
    Webhook(WebhookRejection)
);
