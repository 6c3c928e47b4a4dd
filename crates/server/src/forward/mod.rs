//! How the process that serves HTTP reaches services that run in others. A request is sent over NATS as it came, and the process
//! that runs the service answers it with the very same routes and handlers: there is no second copy of any.
//!
//! Who calls is found out where the answer is made, from the same token: whoever can reach NATS and has none is nobody there,
//! either.

mod answer;
mod ask;

use holdfast_bus::Connection;
use http::Uri;

use crate::app::App;
use crate::roles::Role;

pub use ask::{ask, know};

/// Where requests for a service are sent.
fn subject(role: Role) -> String {
    format!("holdfast.{}.http", role.as_str())
}

/// Where the booking service is asked whether it has heard of slots.
const KNOW: &str = "holdfast.booking.know";
/// Where programs that speak NATS book.
const BOOKING_CREATE: &str = "booking.create";

/// What a forwarded request says beside its own headers.
const METHOD: &str = "Holdfast-Method";
const TARGET: &str = "Holdfast-Target";
const AUTH: &str = "Holdfast-Auth";
/// Only while auth is off: a page of the console asks, as an operator.
const CALLER: &str = "Holdfast-Caller";
const OPERATOR: &str = "operator";
/// What its answer says.
const STATUS: &str = "Holdfast-Status";

/// The service that a request is for, if it is not in this process.
pub fn needed(app: &App, uri: &Uri) -> Option<Role> {
    app.bus()?;
    role_of(uri).filter(|role| !app.roles().has(*role))
}

/// The service that answers a path.
fn role_of(uri: &Uri) -> Option<Role> {
    let mut words = uri.path().split('/').skip(1);
    match (words.next()?, words.next()) {
        ("bookings", _) => Some(Role::Booking),
        ("v1", Some("courses" | "slots")) => Some(Role::Course),
        ("v1", Some("notifications")) => Some(Role::Notify),
        // Each service has an outbox of its own; who names none asks for that of bookings.
        ("v1", Some("admin")) if words.next() == Some("outbox") => {
            let query = form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
            let named = query.into_iter().find(|(name, _)| name == "service");
            named.map_or(Some(Role::Booking), |(_, service)| Role::parse(&service))
        }
        _ => None,
    }
}

/// Answers what other processes ask the services of this one.
pub fn start(app: &App, connection: &Connection) {
    for role in app.roles().iter().filter(|role| role.service().is_some()) {
        tokio::spawn(answer::requests(app.clone(), connection.clone(), role));
    }
    if app.roles().has(Role::Booking) {
        tokio::spawn(answer::bookings(app.clone(), connection.clone()));
        tokio::spawn(answer::known(app.clone(), connection.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_of_tee_times_belongs_to_a_service() {
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
