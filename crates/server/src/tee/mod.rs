//! Tee times: handlers, the services behind them, and the messages between the services.

pub mod bookings;
pub mod courses;
pub mod log;
pub mod nats;
pub mod outbox;
pub mod services;

use std::sync::Arc;

use crate::app::App;
use crate::config::TeeConfig;
use crate::relay::{self, Bus, RelaySettings};
use crate::roles::Role;
use crate::{dead_letters, forward};
use nats::NatsBus;
use services::Services;

/// Starts the services and jobs of the roles of this process. Without NATS, the bus is a function call.
pub fn start(app: &App, config: &TeeConfig) {
    let services = Arc::new(Services::new(app.clone(), config.lock_retries_max as u32));
    let bus: Arc<dyn Bus> = match app.bus() {
        Some(connection) => {
            for service in app.roles().iter().filter_map(Role::service) {
                tokio::spawn(nats::consume(app.clone(), connection.clone(), services.clone(), service));
            }
            if app.roles().imports_bookings() {
                tokio::spawn(nats::import(app.clone(), connection.clone()));
            }
            forward::start(app, connection);
            Arc::new(NatsBus::new(connection.clone(), app.stream().source().to_owned()))
        }
        None => services,
    };
    let settings = RelaySettings { poll: config.outbox_poll, batch: config.outbox_batch };
    tokio::spawn(relay::run(app.clone(), bus, settings));
    tokio::spawn(dead_letters::sweep(app.clone(), config.sweep_every));
    if app.roles().has(Role::Booking) {
        tokio::spawn(services::sweep(app.clone(), config.sweep_every));
    }
}
