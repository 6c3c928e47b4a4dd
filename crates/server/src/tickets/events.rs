//! Events that are on sale.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::list::List;
use holdfast_api::params::{EventPath, IdempotencyHeader, ListParams};
use holdfast_api::ticket::{EventChangeBody, EventView, NewEventBody};
use holdfast_core::ticket::event::{self, ChangeEvent, CreateEvent, EventDraft};
use holdfast_core::ticket::plan::SeatDraft;
use holdfast_core::ticket::{EventId, TicketEvent};
use holdfast_core::{Decision, Timestamp};
use http::StatusCode;

use super::event_id;
use super::queue_gate::settings_changed;
use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, page, parse_time};

/// Creates an event with all its seats. Admins only.
#[utoipa::path(post, path = "/v1/events", tag = "tickets", request_body = NewEventBody,
    params(IdempotencyHeader),
    responses((status = 201, body = EventView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 413, description = "`PAYLOAD_TOO_LARGE`")))]
pub async fn create(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let body: NewEventBody = request.json()?;
    let time = |field, text: Option<String>| text.map(|text| parse_time(field, &text)).transpose();
    let draft = EventDraft {
        name: Some(body.name),
        starts_at: Some(time("startsAt", body.starts_at)?),
        sales_open_at: Some(time("salesOpenAt", body.sales_open_at)?),
        max_concurrent: body.max_concurrent,
        queue_enabled: body.queue_enabled,
        max_seats_per_user: body.max_seats_per_user,
    };
    let seats = body.seats.into_iter();
    let seats = seats.map(|seat| SeatDraft { label: seat.label, section: seat.section, price: seat.price });
    let command = CreateEvent { draft, currency: body.currency, seats: seats.collect() };
    app.run(&caller, &request, command, |event| Reply::json(StatusCode::CREATED, &EventView::created(event))).await
}

/// Lists all events.
#[utoipa::path(get, path = "/v1/events", tag = "tickets",
    params(ListParams),
    responses((status = 200, body = List<EventView>)))]
pub async fn list(State(app): State<App>, _caller: Caller, params: Params) -> Result<Response, Problem> {
    let page = page(&params, EventId::new)?;
    let events = app.list::<TicketEvent>(page.of::<TicketEvent>()).await?;
    let list = List::new(events, &page, |it| it.id.get(), |it| it.id);
    let ids = list.items;
    let views = app.query(|rows, at| {
        // The rows of all events are requested before the first missing one ends this pass.
        let views: Vec<_> = ids.iter().map(|id| event::view(rows, at, *id)).collect();
        views.into_iter().collect::<Decision<Vec<_>>>()
    });
    let items = views.await?.iter().map(EventView::new).collect();
    Ok(Reply::json(StatusCode::OK, &List { items, next_cursor: list.next_cursor }).into_response())
}

/// Returns an event, with its number of free seats.
#[utoipa::path(get, path = "/v1/events/{id}", tag = "tickets",
    params(EventPath),
    responses((status = 200, body = EventView), (status = 404, description = "`EVENT_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    _caller: Caller,
    Path(EventPath { id }): Path<EventPath>,
) -> Result<Response, Problem> {
    let id = event_id(&id)?;
    let event = app.query(|rows, at| event::view(rows, at, id)).await?;
    Ok(Reply::json(StatusCode::OK, &EventView::new(&event)).into_response())
}

/// Changes the settings of an event. Holds and reservations stay valid. Admins only.
#[utoipa::path(patch, path = "/v1/events/{id}", tag = "tickets", request_body = EventChangeBody,
    params(EventPath, IdempotencyHeader),
    responses((status = 200, body = EventView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 404, description = "`EVENT_NOT_FOUND`")))]
pub async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(EventPath { id }): Path<EventPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let id = event_id(&id)?;
    let body: EventChangeBody = request.json()?;
    let draft = EventDraft {
        name: body.name,
        starts_at: changed_time("startsAt", body.starts_at)?,
        sales_open_at: changed_time("salesOpenAt", body.sales_open_at)?,
        max_concurrent: body.max_concurrent,
        queue_enabled: body.queue_enabled,
        max_seats_per_user: body.max_seats_per_user,
    };
    let command = ChangeEvent { id, draft };
    let show = |event: &event::EventView| Reply::json(StatusCode::OK, &EventView::new(event));
    let response = app.run(&caller, &request, command, show).await?;
    settings_changed(&app, id).await;
    Ok(response)
}

fn changed_time(field: &'static str, change: Option<Option<String>>) -> Result<Option<Option<Timestamp>>, Problem> {
    let Some(text) = change else { return Ok(None) };
    text.map(|text| parse_time(field, &text)).transpose().map(Some)
}
