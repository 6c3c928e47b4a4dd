//! Handlers of webhooks: subscriptions and deliveries. [`holdfast_events::webhooks`] sends the events.

pub mod deliveries;
pub mod subscriptions;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

/// Returns the routes of webhooks.
pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(subscriptions::create, subscriptions::list))
        .routes(routes!(subscriptions::get, subscriptions::delete))
        .routes(routes!(subscriptions::enable))
        .routes(routes!(subscriptions::rotate))
        .routes(routes!(deliveries::list))
        .routes(routes!(deliveries::retry))
}
