//! Tee times: handlers, and the jobs of the services behind them. [`holdfast_events::inbox`] receives their messages.

pub mod bookings;
pub mod courses;
mod deadlines;
pub mod outbox;

use std::sync::Arc;

use holdfast_events::inbox::nats_consumer;
use holdfast_events::inbox::services::Services;
use holdfast_events::relay::{self, Bus, NatsBus, RelaySettings, dead_letters};

use crate::app::App;
use crate::config::TeeConfig;
use crate::forwarding;
use crate::roles::Role;

/// Starts the services and jobs of the roles of this process. Without NATS, the bus is a function call.
pub fn start(app: &App, config: &TeeConfig) {
    let events = app.events();
    let services = Arc::new(Services::new(events.clone(), config.lock_retries_max as u32));
    let bus: Arc<dyn Bus> = match app.bus() {
        Some(connection) => {
            for service in app.roles().iter().filter_map(Role::service) {
                tokio::spawn(nats_consumer::consume(events.clone(), connection.clone(), services.clone(), service));
            }
            if app.roles().imports_bookings() {
                tokio::spawn(nats_consumer::import(events.clone(), connection.clone(), Role::Api.as_str()));
            }
            forwarding::start(app, connection);
            Arc::new(NatsBus::new(connection.clone(), app.stream().source().to_owned()))
        }
        None => services,
    };
    let settings = RelaySettings { poll: config.outbox_poll, batch: config.outbox_batch };
    tokio::spawn(relay::run(events.clone(), bus, settings));
    tokio::spawn(dead_letters::sweep(events.clone(), config.sweep_every));
    if app.roles().has(Role::Booking) {
        tokio::spawn(deadlines::sweep(app.clone(), config.sweep_every));
    }
}
