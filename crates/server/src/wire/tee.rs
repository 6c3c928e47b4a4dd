//! Tee times in JSON.

use crate::wire::ids::{BookingId, CourseId, NotificationId, TeeSlotId, UserId};
use holdfast_core::Timestamp;
use holdfast_core::tee::booking::BookingView as CoreBooking;
use holdfast_core::tee::{Booking, BookingStatus, By, Course, HistoryEntry, Notification, Refund, TeeSlot};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NewCourse)]
pub struct NewCourseBody {
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    /// IANA name; `Asia/Seoul` by default.
    #[schema(min_length = 1)]
    pub time_zone: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Course)]
pub struct CourseView {
    #[schema(value_type = CourseId)]
    id: u64,
    name: String,
    time_zone: String,
}

impl CourseView {
    pub fn new(course: &Course) -> Self {
        Self { id: course.id.get(), name: course.name.to_string(), time_zone: course.zone.name().to_owned() }
    }
}

#[derive(Deserialize, ToSchema)]
#[schema(as = NewTeeSlots)]
pub struct NewSlotsBody {
    #[schema(min_items = 1, max_items = 1_000)]
    pub slots: Vec<NewSlotBody>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NewTeeSlot)]
pub struct NewSlotBody {
    #[schema(format = Date)]
    pub date: String,
    /// `HH:MM` in the course's time zone.
    #[schema(pattern = "^([01][0-9]|2[0-3]):[0-5][0-9]$")]
    pub start_time: String,
    #[schema(minimum = 1, maximum = 1_000)]
    pub max_players: u32,
    /// Per player.
    #[schema(minimum = 0, maximum = 1_000_000_000_000_i64)]
    pub price: i64,
    #[schema(pattern = "^[A-Z]{3}$")]
    pub currency: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TeeSlot)]
pub struct SlotView {
    #[schema(value_type = TeeSlotId)]
    id: u64,
    #[schema(value_type = CourseId)]
    course_id: u64,
    #[schema(format = Date)]
    date: String,
    start_time: String,
    max_players: u32,
    booked_players: u32,
    available_players: u32,
    /// `AVAILABLE`, `FULLY_BOOKED` or `CLOSED`.
    status: &'static str,
    price: i64,
    currency: String,
    version: u64,
}

impl SlotView {
    pub fn new(slot: &TeeSlot) -> Self {
        Self {
            id: slot.id.get(),
            course_id: slot.course.get(),
            date: slot.date.to_string(),
            start_time: slot.start.to_string(),
            max_players: slot.max_players,
            booked_players: slot.booked,
            available_players: slot.free(),
            status: slot.status().as_str(),
            price: slot.price,
            currency: slot.currency.as_str().to_owned(),
            version: slot.version,
        }
    }
}

#[derive(Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
#[schema(as = SlotClosing)]
pub struct CloseBody {
    /// Also cancel all bookings, with a full refund.
    pub cancel_bookings: bool,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NewBooking)]
pub struct NewBookingBody {
    #[schema(min_length = 1, max_length = 255)]
    pub idempotency_key: String,
    #[schema(value_type = Option<UserId>)]
    pub user_id: Option<u64>,
    #[schema(value_type = TeeSlotId)]
    pub game_time_slot_id: u64,
    #[schema(minimum = 1, maximum = 1_000)]
    pub player_count: u32,
}

#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
#[schema(as = Cancellation)]
pub struct CancelBody {
    #[schema(max_length = 1_000)]
    pub reason: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Booking)]
pub struct BookingView {
    #[schema(value_type = BookingId)]
    id: u64,
    booking_number: String,
    #[schema(value_type = String)]
    status: &'static str,
    #[schema(value_type = UserId)]
    user_id: u64,
    #[schema(value_type = TeeSlotId)]
    game_time_slot_id: u64,
    player_count: u32,
    unit_price: i64,
    total_price: i64,
    currency: String,
    #[serde(serialize_with = "super::time")]
    #[schema(value_type = String, format = DateTime)]
    tee_off: Timestamp,
    #[serde(serialize_with = "super::time")]
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Reason for which the booking failed.
    #[schema(value_type = Option<String>)]
    failure_reason: Option<&'static str>,
    refund: Option<RefundView>,
    /// Actions on the booking, oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<Vec<HistoryView>>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Refund)]
pub struct RefundView {
    percent: u8,
    amount: i64,
    /// Rule that sets the amount: `AT_LEAST_7_DAYS`, `LAST_DAY`, `PENDING`, `ADMIN`, `SYSTEM`, `NO_SHOW`.
    rule: String,
}

#[derive(Serialize, ToSchema)]
#[schema(as = BookingHistoryEntry)]
pub struct HistoryView {
    #[schema(value_type = String)]
    action: &'static str,
    #[serde(serialize_with = "super::time")]
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// A user id, `admin` or `system`.
    by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl RefundView {
    pub fn new(refund: &Refund) -> Self {
        Self { percent: refund.percent, amount: refund.amount, rule: refund.rule.to_string() }
    }
}

impl HistoryView {
    fn new(entry: &HistoryEntry) -> Self {
        let by = match entry.by {
            By::User(user) => user.to_string(),
            By::Admin => "admin".into(),
            By::System => "system".into(),
        };
        let reason = entry.reason.as_deref().map(str::to_owned);
        Self { action: entry.action.as_str(), at: entry.at, by, reason }
    }
}

impl BookingView {
    pub fn new(booking: &Booking) -> Self {
        Self {
            id: booking.id.get(),
            booking_number: booking.number().to_string(),
            status: booking.status().as_str(),
            user_id: booking.user.get(),
            game_time_slot_id: booking.slot.get(),
            player_count: booking.players,
            unit_price: booking.unit_price,
            total_price: booking.total,
            currency: booking.currency.as_str().to_owned(),
            tee_off: booking.tee_off,
            created_at: booking.created_at,
            failure_reason: booking.failure_reason().map(holdfast_core::tee::FailureReason::as_str),
            refund: booking.refund().as_ref().map(RefundView::new),
            history: None,
        }
    }

    pub fn with_history(view: &CoreBooking) -> Self {
        Self { history: Some(view.history.iter().map(HistoryView::new).collect()), ..Self::new(&view.booking) }
    }

    /// Whether the booking changes no further by itself.
    pub fn is_settled(booking: &Booking) -> bool {
        booking.status() != BookingStatus::Pending
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Notification)]
pub struct NotificationView {
    #[schema(value_type = NotificationId)]
    id: u64,
    #[schema(value_type = BookingId)]
    booking_id: u64,
    #[schema(value_type = UserId)]
    user_id: u64,
    /// Type of the event: `booking.confirmed`, …
    r#type: &'static str,
    #[serde(serialize_with = "super::time")]
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl NotificationView {
    pub fn new(notification: &Notification) -> Self {
        Self {
            id: notification.id.get(),
            booking_id: notification.booking.get(),
            user_id: notification.user.get(),
            r#type: notification.kind.subject().as_str(),
            created_at: notification.created_at,
        }
    }
}
