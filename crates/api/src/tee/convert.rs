//! Conversions from and to the types of the rules.

use holdfast_core::tee::booking::BookingView as CoreBooking;
use holdfast_core::tee::{self, Booking, By, Course, HistoryEntry, Notification, Refund, TeeSlot};

use super::{
    BookingAction, BookingStatus, BookingView, CourseView, FailureReason, HistoryView, NotificationView, RefundView,
    SlotView, TeeSlotStatus,
};

impl CourseView {
    pub fn new(course: &Course) -> Self {
        Self { id: course.id.get(), name: course.name.to_string(), time_zone: course.zone.name().to_owned() }
    }
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
            status: slot.status().into(),
            price: slot.price,
            currency: slot.currency.as_str().to_owned(),
            version: slot.version,
        }
    }
}

impl RefundView {
    pub fn new(refund: &Refund) -> Self {
        Self { percent: refund.percent, amount: refund.amount, rule: refund.rule.to_string() }
    }
}

impl HistoryView {
    fn new(entry: &HistoryEntry) -> Self {
        let by = match &entry.by {
            By::User(user) => user.to_string(),
            By::Admin => "admin".into(),
            By::System => "system".into(),
        };
        let reason = entry.reason.as_deref().map(str::to_owned);
        Self { action: entry.action.into(), at: entry.at.to_jiff(), by, reason }
    }
}

impl BookingView {
    pub fn new(booking: &Booking) -> Self {
        Self {
            id: booking.id.get(),
            booking_number: booking.number().to_string(),
            status: booking.status().into(),
            user_id: (&booking.user).into(),
            game_time_slot_id: booking.slot.get(),
            player_count: booking.players,
            unit_price: booking.unit_price,
            total_price: booking.total,
            currency: booking.currency.as_str().to_owned(),
            tee_off: booking.tee_off.to_jiff(),
            created_at: booking.created_at.to_jiff(),
            failure_reason: booking.failure_reason().map(FailureReason::from),
            refund: booking.refund().as_ref().map(RefundView::new),
            history: None,
        }
    }

    pub fn with_history(view: &CoreBooking) -> Self {
        Self { history: Some(view.history.iter().map(HistoryView::new).collect()), ..Self::new(&view.booking) }
    }

    /// Whether the booking changes no further by itself.
    pub fn is_settled(booking: &Booking) -> bool {
        booking.status() != tee::BookingStatus::Pending
    }
}

impl NotificationView {
    pub fn new(notification: &Notification) -> Self {
        Self {
            id: notification.id.get(),
            booking_id: notification.booking.get(),
            user_id: (&notification.user).into(),
            r#type: notification.kind.subject().as_str().into(),
            created_at: notification.created_at.to_jiff(),
        }
    }
}

impl From<tee::slot::SlotStatus> for TeeSlotStatus {
    fn from(value: tee::slot::SlotStatus) -> Self {
        match value {
            tee::slot::SlotStatus::Available => Self::Available,
            tee::slot::SlotStatus::FullyBooked => Self::FullyBooked,
            tee::slot::SlotStatus::Closed => Self::Closed,
        }
    }
}

impl From<tee::BookingStatus> for BookingStatus {
    fn from(value: tee::BookingStatus) -> Self {
        match value {
            tee::BookingStatus::Pending => Self::Pending,
            tee::BookingStatus::Confirmed => Self::Confirmed,
            tee::BookingStatus::Completed => Self::Completed,
            tee::BookingStatus::Cancelled => Self::Cancelled,
            tee::BookingStatus::NoShow => Self::NoShow,
            tee::BookingStatus::Failed => Self::Failed,
        }
    }
}

impl From<tee::BookingAction> for BookingAction {
    fn from(value: tee::BookingAction) -> Self {
        match value {
            tee::BookingAction::Created => Self::Created,
            tee::BookingAction::Confirmed => Self::Confirmed,
            tee::BookingAction::Failed => Self::Failed,
            tee::BookingAction::Cancelled => Self::Cancelled,
            tee::BookingAction::Completed => Self::Completed,
            tee::BookingAction::NoShow => Self::NoShow,
        }
    }
}

impl From<tee::FailureReason> for FailureReason {
    fn from(value: tee::FailureReason) -> Self {
        match value {
            tee::FailureReason::SlotFull => Self::SlotFull,
            tee::FailureReason::SlotClosed => Self::SlotClosed,
            tee::FailureReason::SlotNotFound => Self::SlotNotFound,
            tee::FailureReason::SlotReleased => Self::SlotReleased,
            tee::FailureReason::SlotRefused => Self::SlotRefused,
            tee::FailureReason::SagaTimeout => Self::SagaTimeout,
        }
    }
}
