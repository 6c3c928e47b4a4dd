//! Forwarding of requests to services in other processes. The process that serves HTTP sends a request over NATS as it came.
//! The process that runs the service responds with the same routes and handlers, of which there is only one copy.
//!
//! The responding process authenticates the caller by the same token. Access to NATS without a token grants no identity.

mod requester;
mod responder;

use holdfast_events::nats::Connection;
use http::Uri;

use crate::app::App;
use crate::roles::Role;

pub use requester::{are_slots_known, forward};

/// Returns the subject of requests to a service.
fn subject(role: Role) -> String {
    format!("holdfast.{}.http", role.as_str())
}

/// Subject of the query whether the booking service has learned of slots.
const KNOWN_SLOTS: &str = "holdfast.booking.know";
/// Subject of bookings by NATS clients.
const BOOKING_CREATE: &str = "booking.create";

/// Headers that a forwarded request has in addition to its own.
const METHOD: &str = "Holdfast-Method";
const TARGET: &str = "Holdfast-Target";
const AUTH: &str = "Holdfast-Auth";
/// Set only while auth is off, if a page of the console calls as an operator.
const CALLER: &str = "Holdfast-Caller";
const OPERATOR: &str = "operator";
/// Header of the reply with the HTTP status.
const STATUS: &str = "Holdfast-Status";

/// Returns the service of a request if it runs in another process.
pub fn needed(app: &App, uri: &Uri) -> Option<Role> {
    app.bus()?;
    role_of(uri).filter(|role| !app.roles().has(*role))
}

/// Returns the service that serves a path.
fn role_of(uri: &Uri) -> Option<Role> {
    let mut words = uri.path().split('/').skip(1);
    match (words.next()?, words.next()) {
        ("bookings", _) => Some(Role::Booking),
        ("v1", Some("courses" | "slots")) => Some(Role::Course),
        ("v1", Some("notifications")) => Some(Role::Notify),
        // Each service has its own outbox; without a name, that of bookings is meant.
        ("v1", Some("admin")) if words.next() == Some("outbox") => {
            let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
            let named = query.into_iter().find(|(name, _)| name == "service");
            named.map_or(Some(Role::Booking), |(_, service)| Role::parse(&service))
        }
        _ => None,
    }
}

/// Starts the responders for requests of other processes.
pub fn start(app: &App, connection: &Connection) {
    for role in app.roles().iter().filter(|role| role.service().is_some()) {
        tokio::spawn(responder::requests(app.clone(), connection.clone(), role));
    }
    if app.roles().has(Role::Booking) {
        tokio::spawn(responder::bookings(app.clone(), connection.clone()));
        tokio::spawn(responder::known_slots(app.clone(), connection.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tee_time_paths_belong_to_services() {
        for (path, role) in [
            ("/bookings", Some(Role::Booking)),
            ("/bookings/7/cancel?userId=1", Some(Role::Booking)),
            ("/v1/courses/1/slots", Some(Role::Course)),
            ("/v1/slots/1", Some(Role::Course)),
            ("/v1/notifications?userId=1", Some(Role::Notify)),
            ("/v1/webhooks/1", None),
            ("/v1/admin/outbox?status=FAILED", Some(Role::Booking)),
            ("/v1/admin/outbox/7/retry", Some(Role::Booking)),
            ("/v1/admin/outbox?service=api", Some(Role::Api)),
            ("/v1/admin/outbox?service=king", None),
            ("/v1/admin/outbox?status=FAILED&service=booking", Some(Role::Booking)),
            ("/v1/admin/outbox/7/retry?service=course", Some(Role::Course)),
            ("/v1/holds", None),
            ("/bookingsx", None),
            ("/", None),
        ] {
            assert_eq!(role_of(&path.parse().unwrap()), role, "{path}");
        }
    }
}
