//! Conversions from and to the types of the rules.

use holdfast_core::ticket::admission::QueueAdmission;
use uuid::Uuid;

use super::AdmissionView;

impl AdmissionView {
    pub fn new(admission: &QueueAdmission) -> Self {
        Self {
            event_id: admission.event.get(),
            user_id: (&admission.user).into(),
            entry_id: Uuid::from_bytes(admission.entry),
            entered_at: admission.entered_at.to_jiff(),
            expires_at: admission.expires_at.to_jiff(),
        }
    }
}
