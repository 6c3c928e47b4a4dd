//! All routes.

use std::future::{Ready, ready};

use axum::Router;
use axum::routing::get;
use http::HeaderMap;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::calendar::{blocks, generation, hours, locks, reservations as room_reservations, rooms, slots};
use crate::problem::Problem;
use crate::shop::{cart, coupons, orders, products, reservations as order_reservations, users};
use crate::stays::{holds, reservations, room_types};
use crate::tee::{bookings, courses, outbox};
use crate::tickets::{events, holds as seat_holds, queue, queue_stream, reservations as seat_reservations, seats};
use crate::{claims, docs, event_stream, ops, webhooks};

/// Returns the routes of the API and their `OpenAPI` document.
pub fn router(app: App) -> (Router, utoipa::openapi::OpenApi) {
    router_with_pages(app, |_, _| Router::new())
}

/// Returns the same, with the routes of pages. `pages` builds these from the app and from the API's routes for callers who
/// are already authenticated.
pub fn router_with_pages(app: App, pages: impl FnOnce(App, Router) -> Router) -> (Router, utoipa::openapi::OpenApi) {
    let (routes, mut openapi) = OpenApiRouter::with_openapi(docs::Document::openapi())
        .routes(routes!(room_types::create, room_types::list))
        .routes(routes!(room_types::get, room_types::change))
        .routes(routes!(room_types::close_nights))
        .routes(routes!(room_types::open_nights))
        .routes(routes!(room_types::get_availability))
        .routes(routes!(holds::place))
        .routes(routes!(holds::place_batch))
        .routes(routes!(holds::get, holds::cancel))
        .routes(routes!(holds::confirm))
        .routes(routes!(reservations::list))
        .routes(routes!(reservations::get))
        .routes(routes!(reservations::cancel))
        .merge(claims::routes())
        .routes(routes!(users::create))
        .routes(routes!(users::get))
        .routes(routes!(users::add_balance))
        .routes(routes!(products::create, products::list))
        .routes(routes!(products::get))
        .routes(routes!(products::get_option, products::change_option))
        .routes(routes!(cart::put))
        .routes(routes!(cart::get))
        .routes(routes!(coupons::create))
        .routes(routes!(coupons::issue))
        .routes(routes!(order_reservations::reserve, order_reservations::get, order_reservations::release))
        .routes(routes!(orders::pay))
        .routes(routes!(orders::list))
        .routes(routes!(orders::get))
        .routes(routes!(orders::cancel))
        .routes(routes!(rooms::create, rooms::list))
        .routes(routes!(rooms::get, rooms::change))
        .routes(routes!(hours::put, hours::get))
        .routes(routes!(hours::put_holidays, hours::get_holidays))
        .routes(routes!(generation::generate))
        .routes(routes!(generation::list))
        .routes(routes!(slots::list))
        .routes(routes!(slots::check_availability))
        .routes(routes!(slots::get_stats))
        .routes(routes!(blocks::block))
        .routes(routes!(blocks::unblock))
        .routes(routes!(blocks::reprice))
        .routes(routes!(locks::place))
        .routes(routes!(locks::get, locks::release))
        .routes(routes!(locks::confirm))
        .routes(routes!(room_reservations::list))
        .routes(routes!(room_reservations::get))
        .routes(routes!(room_reservations::cancel))
        .routes(routes!(events::create, events::list))
        .routes(routes!(events::get, events::change))
        .routes(routes!(queue::join, queue::poll, queue::leave))
        .routes(routes!(queue::enter))
        .routes(routes!(queue::pause))
        .routes(routes!(queue::resume))
        .routes(routes!(queue::stats))
        .routes(routes!(queue_stream::listen))
        .routes(routes!(seats::list))
        .routes(routes!(seats::hold))
        .routes(routes!(seats::best))
        .routes(routes!(seats::reserve))
        .routes(routes!(seat_holds::get, seat_holds::cancel))
        .routes(routes!(seat_holds::confirm))
        .routes(routes!(seat_reservations::list))
        .routes(routes!(seat_reservations::get))
        .routes(routes!(seat_reservations::cancel))
        .routes(routes!(courses::create, courses::list))
        .routes(routes!(courses::create_slots, courses::slots))
        .routes(routes!(courses::get_slot))
        .routes(routes!(courses::close))
        .routes(routes!(courses::reopen))
        .routes(routes!(bookings::create, bookings::list))
        .routes(routes!(bookings::get))
        .routes(routes!(bookings::cancel))
        .routes(routes!(bookings::quote))
        .routes(routes!(bookings::complete))
        .routes(routes!(bookings::no_show))
        .routes(routes!(bookings::notifications))
        .routes(routes!(outbox::list))
        .routes(routes!(outbox::retry))
        .merge(webhooks::routes())
        .routes(routes!(event_stream::listen))
        .routes(routes!(ops::healthz))
        .routes(routes!(ops::readyz))
        .routes(routes!(ops::metrics))
        .split_for_parts();
    docs::add_names(&mut openapi);
    docs::add_problems(&mut openapi);
    let reference = docs::Pages::new(&openapi);
    let api = routes.with_state(app.clone());
    let routes = api
        .clone()
        .route("/openapi.json", get(docs::openapi_json).with_state(reference.clone()))
        .route("/docs", get(docs::docs_page).with_state(reference))
        .merge(pages(app.clone(), for_pages(api)))
        .fallback(refusing(app.clone(), Problem::not_found))
        .method_not_allowed_fallback(refusing(app, Problem::method_not_allowed));
    (routes, openapi)
}

/// Returns the same routes for pages, whose callers are already authenticated.
fn for_pages(api: Router) -> Router {
    api.fallback(|| async { Problem::not_found() })
        .method_not_allowed_fallback(|| async { Problem::method_not_allowed() })
}

/// Answers unmatched requests with `problem`; with auth on, only if the caller is authenticated.
fn refusing(app: App, problem: fn() -> Problem) -> impl Fn(HeaderMap) -> Ready<Problem> + Clone + Send + Sync {
    move |headers| {
        ready(match app.auth().caller(&headers) {
            Err(stranger) if !app.auth().is_off() => stranger,
            _ => problem(),
        })
    }
}
