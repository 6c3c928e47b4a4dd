//! Messages between the tee-time services, as JSON: in the outbox and on the bus. They may come from another process,
//! so they are validated like any input.

use std::sync::Arc;

use holdfast_api::ids;
use holdfast_api::tee::BookingView;
use holdfast_core::Timestamp;
use holdfast_core::id::ID_MAX;
use holdfast_core::money::{Currency, PRICE_MAX};
use holdfast_core::tee::{
    Allotment, BookingAction, BookingId, BookingPublished, CourseId, FailureReason, Message, OrderingKey,
    REASON_CHARS_MAX, SLOT_PLAYERS_MAX, SlotSnapshot, Subject, TeeSlotId,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlacesData {
    booking_id: u64,
    game_time_slot_id: u64,
    player_count: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    slot_version: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SlotData {
    game_time_slot_id: u64,
    course_id: u64,
    tee_off_ms: i64,
    max_players: u32,
    price: i64,
    currency: String,
    closed: bool,
    slot_version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClosedData {
    game_time_slot_id: u64,
    slot_version: u64,
}

/// Data of a booking event beside the booking.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BookingData {
    booking_id: u64,
    #[serde(flatten)]
    booking: BookingView,
}

/// Data of a booking event for subscribers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NoticeData {
    booking_id: u64,
    game_time_slot_id: u64,
    user_id: ids::UserId,
    created_at: Option<String>,
}

/// Parses the message of a subject; `None` if it is invalid.
pub fn parse(subject: Subject, data: &str) -> Option<Message> {
    let places = || serde_json::from_str::<PlacesData>(data).ok();
    Some(match subject {
        Subject::SlotReserve => Message::SlotReserve(places()?.places()?),
        Subject::SlotRelease => Message::SlotRelease(places()?.places()?),
        Subject::SlotReleased => Message::SlotReleased(places()?.places()?),
        Subject::SlotReserved => {
            let data = places()?;
            let version = match data.slot_version {
                Some(number) => Some(version(number)?),
                None => None,
            };
            Message::SlotReserved { places: data.places()?, version }
        }
        Subject::SlotReserveFailed => {
            let data = places()?;
            // A rejection with an unknown reason is a rejection all the same.
            let known = data.reason.as_deref().and_then(FailureReason::parse);
            let words = data.reason.as_deref().filter(|_| known.is_none()).map(in_few_words);
            let words = words.filter(|words| !words.is_empty()).map(Arc::from);
            let reason = known.unwrap_or(FailureReason::SlotRefused);
            Message::SlotReserveFailed { places: data.places()?, reason, words }
        }
        Subject::SlotChanged => Message::SlotChanged(serde_json::from_str::<SlotData>(data).ok()?.news()?),
        Subject::SlotClosed => {
            let data: ClosedData = serde_json::from_str(data).ok()?;
            Message::SlotClosed { slot: TeeSlotId::new(data.game_time_slot_id)?, version: version(data.slot_version)? }
        }
        Subject::BookingCreated
        | Subject::BookingConfirmed
        | Subject::BookingFailed
        | Subject::BookingCancelled
        | Subject::BookingCompleted
        | Subject::BookingNoShow => serde_json::from_str::<NoticeData>(data).ok()?.message(subject)?,
    })
}

/// Returns a number that every store can hold.
fn version(number: u64) -> Option<u64> {
    Some(number).filter(|number| *number <= ID_MAX)
}

fn moment(millis: i64) -> Option<Timestamp> {
    jiff::Timestamp::from_millisecond(millis).ok().map(|_| Timestamp::from_millis(millis))
}

/// Truncates foreign text to the length of known reasons, without control characters.
fn in_few_words(text: &str) -> String {
    let kept: String = text.chars().filter(|char| !char.is_control()).take(REASON_CHARS_MAX).collect();
    kept.trim().to_owned()
}

/// Parses a booking event for subscribers of another service; `None` if it is of another kind.
pub fn parse_told(subject: Subject, data: &str, at: Option<Timestamp>) -> Option<BookingPublished> {
    let notice: NoticeData = serde_json::from_str(data).ok()?;
    let created_at = notice.created_at.and_then(|text| text.parse::<jiff::Timestamp>().ok());
    Some(BookingPublished {
        action: action(subject)?,
        booking: BookingId::new(notice.booking_id)?,
        user: notice.user_id.user("userId").ok()?,
        created_at: created_at.map(|at| Timestamp::from_millis(at.as_millisecond())),
        at,
        data: data.into(),
    })
}

fn action(subject: Subject) -> Option<BookingAction> {
    BookingAction::ALL.iter().copied().find(|action| action.subject() == subject)
}

/// Returns the id of the booking or slot that a message is about: its ordering key.
pub fn key_of(message: &Message) -> u64 {
    match message.ordering_key() {
        OrderingKey::Booking(booking) => booking.get(),
        OrderingKey::Slot(slot) => slot.get(),
    }
}

/// Serializes the data of a message.
pub fn data_of(message: &Message) -> String {
    let json = match message {
        Message::SlotReserve(places) | Message::SlotRelease(places) | Message::SlotReleased(places) => {
            serde_json::to_string(&PlacesData::new(places, None, None))
        }
        Message::SlotReserved { places, version } => serde_json::to_string(&PlacesData::new(places, *version, None)),
        Message::SlotReserveFailed { places, reason, .. } => {
            serde_json::to_string(&PlacesData::new(places, None, Some(*reason)))
        }
        Message::SlotChanged(news) => serde_json::to_string(&SlotData {
            game_time_slot_id: news.slot.get(),
            course_id: news.course.get(),
            tee_off_ms: news.tee_off.as_millis(),
            max_players: news.max_players,
            price: news.price,
            currency: news.currency.as_str().to_owned(),
            closed: news.closed,
            slot_version: news.version,
        }),
        Message::SlotClosed { slot, version } => {
            serde_json::to_string(&ClosedData { game_time_slot_id: slot.get(), slot_version: *version })
        }
        Message::Booking { booking, .. } => {
            serde_json::to_string(&BookingData { booking_id: booking.id.get(), booking: BookingView::new(booking) })
        }
        Message::PublishedBooking { .. } => unreachable!("received events are not published again"),
    };
    json.expect("wire types can be written as JSON")
}

impl PlacesData {
    fn new(places: &Allotment, slot_version: Option<u64>, reason: Option<FailureReason>) -> Self {
        Self {
            booking_id: places.booking.get(),
            game_time_slot_id: places.slot.get(),
            player_count: places.players,
            slot_version,
            reason: reason.map(|reason| reason.as_str().to_owned()),
        }
    }

    fn places(&self) -> Option<Allotment> {
        Some(Allotment {
            booking: BookingId::new(self.booking_id)?,
            slot: TeeSlotId::new(self.game_time_slot_id)?,
            // Clamped to more than any slot has.
            players: self.player_count.min(SLOT_PLAYERS_MAX + 1),
        })
    }
}

impl SlotData {
    fn news(&self) -> Option<SlotSnapshot> {
        Some(SlotSnapshot {
            slot: TeeSlotId::new(self.game_time_slot_id)?,
            course: CourseId::new(self.course_id)?,
            tee_off: moment(self.tee_off_ms)?,
            max_players: Some(self.max_players).filter(|max| (1..=SLOT_PLAYERS_MAX).contains(max))?,
            price: Some(self.price).filter(|price| (0..=PRICE_MAX).contains(price))?,
            currency: Currency::parse(&self.currency)?,
            closed: self.closed,
            version: version(self.slot_version)?,
        })
    }
}

impl NoticeData {
    fn message(&self, subject: Subject) -> Option<Message> {
        Some(Message::PublishedBooking {
            action: action(subject)?,
            booking: BookingId::new(self.booking_id)?,
            slot: TeeSlotId::new(self.game_time_slot_id)?,
            user: self.user_id.user("userId").ok()?,
        })
    }
}
