//! Messages between the three services, also published to webhooks and streams. A message is written in the commit of
//! its cause and delivered at least once. Its id is deterministic, so that consumers can deduplicate.

use std::sync::Arc;

use super::booking::{Booking, BookingAction, BookingId};
use super::course::CourseId;
use super::slot::TeeSlotId;
use super::string_enum::string_enum;
use crate::id::UserId;
use crate::money::Currency;
use crate::time::Timestamp;

string_enum! {
    /// Subject of a message.
    pub enum Subject {
        SlotReserve = "slot.reserve",
        SlotReserved = "slot.reserved",
        SlotReserveFailed = "slot.reserve.failed",
        SlotRelease = "slot.release",
        SlotReleased = "slot.released",
        SlotChanged = "slot.changed",
        SlotClosed = "slot.closed",
        BookingCreated = "booking.created",
        BookingConfirmed = "booking.confirmed",
        BookingFailed = "booking.failed",
        BookingCancelled = "booking.cancelled",
        BookingCompleted = "booking.completed",
        BookingNoShow = "booking.no_show",
    }
}

string_enum! {
    /// Service that consumes messages.
    pub enum Service {
        Course = "course",
        Booking = "booking",
        Notify = "notify",
    }
}

string_enum! {
    /// Reason why a booking did not get its places.
    pub enum FailureReason {
        SlotFull = "SLOT_FULL",
        SlotClosed = "SLOT_CLOSED",
        SlotNotFound = "SLOT_NOT_FOUND",
        /// Released before the request arrived.
        SlotReleased = "SLOT_RELEASED",
        /// A reason of the course service that this version does not know.
        SlotRefused = "SLOT_REFUSED",
        /// No reply before the deadline.
        SagaTimeout = "SAGA_TIMEOUT",
    }
}

/// Number of places of a slot for a booking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allotment {
    pub booking: BookingId,
    pub slot: TeeSlotId,
    pub players: u32,
}

/// State of a slot for other services.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotSnapshot {
    pub slot: TeeSlotId,
    pub course: CourseId,
    pub tee_off: Timestamp,
    pub max_players: u32,
    pub price: i64,
    pub currency: Currency,
    pub closed: bool,
    pub version: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    SlotReserve(Allotment),
    /// `version` is the slot's version after the reservation; `None` from a course service without versions.
    SlotReserved {
        places: Allotment,
        version: Option<u64>,
    },
    SlotReserveFailed {
        places: Allotment,
        reason: FailureReason,
        /// Unknown reason, as worded by the course service.
        words: Option<Arc<str>>,
    },
    SlotRelease(Allotment),
    SlotReleased(Allotment),
    SlotChanged(SlotSnapshot),
    /// Bookings based on an older version of the slot are to be cancelled.
    SlotClosed {
        slot: TeeSlotId,
        version: u64,
    },
    /// A transition of a booking, and the booking after it.
    Booking {
        action: BookingAction,
        booking: Box<Booking>,
    },
    /// A transition of a booking, with only the fields that its consumers need.
    PublishedBooking {
        action: BookingAction,
        booking: BookingId,
        slot: TeeSlotId,
        user: UserId,
    },
}

/// Identifier of a message; messages with the same id are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    pub subject: Subject,
    /// Number of the booking or slot.
    pub of: u64,
    /// Slot version, for subjects that occur repeatedly; 0 for others.
    pub version: u64,
}

/// Key of messages that must be delivered in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OrderingKey {
    Booking(BookingId),
    Slot(TeeSlotId),
}

impl Message {
    pub fn subject(&self) -> Subject {
        match self {
            Self::SlotReserve(_) => Subject::SlotReserve,
            Self::SlotReserved { .. } => Subject::SlotReserved,
            Self::SlotReserveFailed { .. } => Subject::SlotReserveFailed,
            Self::SlotRelease(_) => Subject::SlotRelease,
            Self::SlotReleased(_) => Subject::SlotReleased,
            Self::SlotChanged(_) => Subject::SlotChanged,
            Self::SlotClosed { .. } => Subject::SlotClosed,
            Self::Booking { action, .. } | Self::PublishedBooking { action, .. } => action.subject(),
        }
    }

    pub fn id(&self) -> MessageId {
        let (of, version) = match self {
            Self::SlotChanged(news) => (news.slot.get(), news.version),
            Self::SlotClosed { slot, version } => (slot.get(), *version),
            Self::SlotReserve(places)
            | Self::SlotReserved { places, .. }
            | Self::SlotReserveFailed { places, .. }
            | Self::SlotRelease(places)
            | Self::SlotReleased(places) => (places.booking.get(), 0),
            Self::Booking { booking, .. } => (booking.id.get(), 0),
            Self::PublishedBooking { booking, .. } => (booking.get(), 0),
        };
        MessageId { subject: self.subject(), of, version }
    }

    pub fn ordering_key(&self) -> OrderingKey {
        match self {
            Self::SlotChanged(SlotSnapshot { slot, .. }) | Self::SlotClosed { slot, .. } => OrderingKey::Slot(*slot),
            Self::SlotReserve(places)
            | Self::SlotReserved { places, .. }
            | Self::SlotReserveFailed { places, .. }
            | Self::SlotRelease(places)
            | Self::SlotReleased(places) => OrderingKey::Booking(places.booking),
            Self::Booking { booking, .. } => OrderingKey::Booking(booking.id),
            Self::PublishedBooking { booking, .. } => OrderingKey::Booking(*booking),
        }
    }

    /// Returns the slot that the message concerns.
    pub fn slot(&self) -> TeeSlotId {
        match self {
            Self::SlotChanged(SlotSnapshot { slot, .. })
            | Self::SlotClosed { slot, .. }
            | Self::PublishedBooking { slot, .. } => *slot,
            Self::SlotReserve(places)
            | Self::SlotReserved { places, .. }
            | Self::SlotReserveFailed { places, .. }
            | Self::SlotRelease(places)
            | Self::SlotReleased(places) => places.slot,
            Self::Booking { booking, .. } => booking.slot,
        }
    }

    /// Returns the owner of the booking; `None` for messages between services.
    pub fn owner(&self) -> Option<&UserId> {
        match self {
            Self::Booking { booking, .. } => Some(&booking.user),
            Self::PublishedBooking { user, .. } => Some(user),
            _ => None,
        }
    }
}

impl Subject {
    /// Returns the service that consumes it; `None` if it is only published.
    pub fn consumer(self) -> Option<Service> {
        match self {
            Self::SlotReserve | Self::SlotRelease => Some(Service::Course),
            Self::SlotReserved
            | Self::SlotReserveFailed
            | Self::SlotReleased
            | Self::SlotChanged
            | Self::SlotClosed => Some(Service::Booking),
            Self::BookingConfirmed
            | Self::BookingFailed
            | Self::BookingCancelled
            | Self::BookingCompleted
            | Self::BookingNoShow => Some(Service::Notify),
            Self::BookingCreated => None,
        }
    }

    /// Returns the service whose stream carries it. Messages without consumer are in the stream of the notify service.
    pub fn stream(self) -> Service {
        self.consumer().unwrap_or(Service::Notify)
    }

    /// Returns the service that publishes it.
    pub fn producer(self) -> Service {
        match self {
            Self::SlotReserved
            | Self::SlotReserveFailed
            | Self::SlotReleased
            | Self::SlotChanged
            | Self::SlotClosed => Service::Course,
            Self::SlotReserve
            | Self::SlotRelease
            | Self::BookingCreated
            | Self::BookingConfirmed
            | Self::BookingFailed
            | Self::BookingCancelled
            | Self::BookingCompleted
            | Self::BookingNoShow => Service::Booking,
        }
    }

    /// Whether its loss could not be repaired by a missing reply or a timeout.
    pub fn is_always_retried(self) -> bool {
        matches!(self, Self::SlotRelease | Self::SlotChanged | Self::SlotClosed)
    }

    /// Whether it is also published to users, not only to services.
    pub fn is_public(self) -> bool {
        matches!(
            self,
            Self::BookingCreated
                | Self::BookingConfirmed
                | Self::BookingFailed
                | Self::BookingCancelled
                | Self::BookingCompleted
                | Self::BookingNoShow
        )
    }
}

impl MessageId {
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let subject = Subject::parse(parts.next()?)?;
        let of = parts.next()?.parse().ok()?;
        let version = parts.next().map_or(Some(0), |version| version.parse().ok())?;
        let id = Self { subject, of, version };
        // Only the canonical spelling is accepted.
        (id.to_string() == text).then_some(id)
    }
}

/// Formats as `slot.reserve:15` or `slot.changed:848:3`.
impl std::fmt::Display for MessageId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.subject, self.of)?;
        if self.version > 0 { write!(f, ":{}", self.version) } else { Ok(()) }
    }
}
