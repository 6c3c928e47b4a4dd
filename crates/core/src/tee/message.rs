//! What the three services tell each other, and others. A message is written down in the commit of its cause and delivered at
//! least once; its id is always the same for the same thing, so that whoever gets it twice can tell.

use std::sync::Arc;

use super::booking::{Booking, BookingAction, BookingId};
use super::course::CourseId;
use super::named::named;
use super::slot::TeeSlotId;
use crate::id::UserId;
use crate::money::Currency;
use crate::time::Timestamp;

named! {
    /// What a message is about.
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

named! {
    /// Who reads messages.
    pub enum Service {
        Course = "course",
        Booking = "booking",
        Notify = "notify",
    }
}

named! {
    /// Why a booking did not get its places.
    pub enum FailureReason {
        SlotFull = "SLOT_FULL",
        SlotClosed = "SLOT_CLOSED",
        SlotNotFound = "SLOT_NOT_FOUND",
        /// It was taken back before it was asked for.
        SlotReleased = "SLOT_RELEASED",
        /// The course service has a reason that we do not know.
        SlotRefused = "SLOT_REFUSED",
        /// No answer came in time.
        SagaTimeout = "SAGA_TIMEOUT",
    }
}

/// So many places of a slot, for a booking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    pub booking: BookingId,
    pub slot: TeeSlotId,
    pub players: u32,
}

/// What others have to know of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotNews {
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
    SlotReserve(Places),
    /// The slot's version, with these places counted; a course service that has no versions says none.
    SlotReserved {
        places: Places,
        version: Option<u64>,
    },
    SlotReserveFailed {
        places: Places,
        reason: FailureReason,
        /// A reason that we do not know, in the words of the course service.
        words: Option<Arc<str>>,
    },
    SlotRelease(Places),
    SlotReleased(Places),
    SlotChanged(SlotNews),
    /// Whatever rests on an older version of the slot is to be cancelled.
    SlotClosed {
        slot: TeeSlotId,
        version: u64,
    },
    /// What was done with a booking, and the booking after it.
    Booking {
        action: BookingAction,
        booking: Box<Booking>,
    },
    /// The same, as far as those who read it have to know.
    Told {
        action: BookingAction,
        booking: BookingId,
        slot: TeeSlotId,
        user: UserId,
    },
}

/// Tells messages apart: two with the same id say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId {
    pub subject: Subject,
    /// The number of the booking or the slot.
    pub of: u64,
    /// The slot's version, where a subject comes up more than once; else 0.
    pub version: u64,
}

/// What messages have in common that must be delivered in order.
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
            Self::Booking { action, .. } | Self::Told { action, .. } => action.subject(),
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
            Self::Told { booking, .. } => (booking.get(), 0),
        };
        MessageId { subject: self.subject(), of, version }
    }

    pub fn ordering_key(&self) -> OrderingKey {
        match self {
            Self::SlotChanged(SlotNews { slot, .. }) | Self::SlotClosed { slot, .. } => OrderingKey::Slot(*slot),
            Self::SlotReserve(places)
            | Self::SlotReserved { places, .. }
            | Self::SlotReserveFailed { places, .. }
            | Self::SlotRelease(places)
            | Self::SlotReleased(places) => OrderingKey::Booking(places.booking),
            Self::Booking { booking, .. } => OrderingKey::Booking(booking.id),
            Self::Told { booking, .. } => OrderingKey::Booking(*booking),
        }
    }

    /// The slot it is about.
    pub fn slot(&self) -> TeeSlotId {
        match self {
            Self::SlotChanged(SlotNews { slot, .. }) | Self::SlotClosed { slot, .. } | Self::Told { slot, .. } => *slot,
            Self::SlotReserve(places)
            | Self::SlotReserved { places, .. }
            | Self::SlotReserveFailed { places, .. }
            | Self::SlotRelease(places)
            | Self::SlotReleased(places) => places.slot,
            Self::Booking { booking, .. } => booking.slot,
        }
    }

    /// Whose message it is; nobody's, if it is between services.
    pub fn owner(&self) -> Option<UserId> {
        match self {
            Self::Booking { booking, .. } => Some(booking.user),
            Self::Told { user, .. } => Some(*user),
            _ => None,
        }
    }
}

impl Subject {
    /// Who acts on it; nobody, if it is only told.
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

    /// Whose stream carries it over a bus. What nobody acts on is carried for those who listen.
    pub fn stream(self) -> Service {
        self.consumer().unwrap_or(Service::Notify)
    }

    /// Who sends it.
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

    /// Whether nothing else would put things right if it were lost: no answer is missing, and no time runs out.
    pub fn is_never_given_up(self) -> bool {
        matches!(self, Self::SlotRelease | Self::SlotChanged | Self::SlotClosed)
    }

    /// Whether people listen to it too, not services alone.
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
        // Each id is written in one way.
        (id.to_string() == text).then_some(id)
    }
}

/// `slot.reserve:15`, `slot.changed:848:3`.
impl std::fmt::Display for MessageId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.subject, self.of)?;
        if self.version > 0 { write!(f, ":{}", self.version) } else { Ok(()) }
    }
}
