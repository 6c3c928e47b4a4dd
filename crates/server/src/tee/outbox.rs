//! The outbox for operators: pending events, dead letters, and their retry.

use std::collections::{HashMap, HashSet};

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::ids::OutboxEventId;
use holdfast_api::list::{List, Page};
use holdfast_api::params::{IdempotencyHeader, ListParams, OutboxEventPath, OutboxQuery, ServiceQuery};
use holdfast_core::Fault;
use holdfast_core::id::ID_MAX;
use holdfast_core::relay::{FailedPublication, FailedPublicationId, Partition, RetryEvent};
use holdfast_core::schema::{Order, relay};
use holdfast_engine::store::OutboxRecord;
use holdfast_events::inbox::services::address;
use http::StatusCode;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, page, parse_id};
use crate::roles::Role;

/// Maximum number of events scanned for one page.
const SCANNED_MAX: usize = 10_000;
/// Events per read of the outbox.
const READ_AT_ONCE: usize = 500;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OutboxEvent)]
pub struct OutboxView {
    #[schema(value_type = OutboxEventId)]
    id: u64,
    event_type: String,
    #[schema(value_type = Object)]
    payload: Box<RawValue>,
    /// `PENDING`, `SENT` or `FAILED`; `PROCESSING` while the server that answers is publishing it.
    #[schema(value_type = String)]
    status: OutboxStatus,
    retry_count: u32,
    #[serde(serialize_with = "holdfast_events::wire::time")]
    #[schema(value_type = String, format = DateTime)]
    created_at: holdfast_core::Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum OutboxStatus {
    Pending,
    Processing,
    Sent,
    Failed,
}

impl OutboxStatus {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "PENDING" => Self::Pending,
            "PROCESSING" => Self::Processing,
            "SENT" => Self::Sent,
            "FAILED" => Self::Failed,
            _ => return None,
        })
    }
}

/// Lists durable events with their publication status. Admins only.
#[utoipa::path(get, path = "/v1/admin/outbox", tag = "events",
    params(OutboxQuery, ListParams),
    responses((status = 200, body = List<OutboxView>), (status = 403, description = "`FORBIDDEN`")))]
pub async fn list(State(app): State<App>, caller: Caller, params: Params) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let OutboxQuery { status, service } = params.read()?;
    check_service(service.as_deref())?;
    let asked =
        status.map(|text| OutboxStatus::parse(&text).ok_or_else(|| Problem::invalid("status", &Fault::UnknownValue)));
    let (asked, page) = (asked.transpose()?, page(&params, |number| (number <= ID_MAX).then_some(number))?);
    let positions = positions(&app).await?;
    if asked == Some(OutboxStatus::Failed) {
        return dead_letters(&app, &page, &positions).await;
    }
    let (mut views, mut after, mut scanned) = (Vec::new(), page.after, 0);
    while views.len() <= page.limit && scanned < SCANNED_MAX {
        let records = match page.order {
            Order::Ascending => app.store().outbox_after(after.unwrap_or(0), READ_AT_ONCE).await?,
            Order::Descending => app.store().outbox_before(after.unwrap_or(ID_MAX + 1), READ_AT_ONCE).await?,
        };
        let is_last = records.len() < READ_AT_ONCE;
        scanned += records.len();
        after = records.last().map(|record| record.id).or(after);
        let failed_publications = failed_publications(&app, &records).await?;
        let shown = records.into_iter().map(|record| view(&app, record, &positions, &failed_publications));
        views.extend(shown.filter(|view| asked.is_none_or(|asked| asked == view.status)));
        if is_last {
            break;
        }
    }
    let numbers: Vec<u64> = views.iter().map(|view| view.id).collect();
    let mut list = List::new(numbers, &page, |number| *number, |number| *number);
    if list.next_cursor.is_none() && scanned >= SCANNED_MAX {
        list.next_cursor = after.map(|after| List::<u64>::cursor(after, page.order));
    }
    views.truncate(page.limit);
    Ok(axum::Json(List { items: views, next_cursor: list.next_cursor }).into_response())
}

/// Lists dead letters. They have a table of their own, so the outbox is not scanned.
async fn dead_letters(app: &App, page: &Page<u64>, positions: &HashMap<Partition, u64>) -> Result<Response, Problem> {
    let failed = |after: Option<u64>, limit| {
        relay::failed_publications(Some(true), after.map(|event| FailedPublicationId { event }), limit)
    };
    let found: Vec<(FailedPublicationId, FailedPublication)> = app.list_with_keys(page.list(failed)).await?;
    let numbers = List::new(found.clone(), page, |(id, _)| id.event, |(id, _)| id.event);
    let failed_publications: HashMap<u64, FailedPublication> =
        found.into_iter().map(|(id, failed_publication)| (id.event, failed_publication)).collect();
    let mut items = Vec::new();
    for event in numbers.items {
        let record = app.store().outbox_after(event - 1, 1).await?.pop().filter(|record| record.id == event);
        items.extend(record.map(|record| view(app, record, positions, &failed_publications)));
    }
    Ok(axum::Json(List { items, next_cursor: numbers.next_cursor }).into_response())
}

/// Retries a dead letter. Admins only.
#[utoipa::path(post, path = "/v1/admin/outbox/{id}/retry", tag = "events",
    params(OutboxEventPath, ServiceQuery, IdempotencyHeader),
    responses((status = 200, body = OutboxView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`NOT_FOUND`")))]
pub async fn retry(
    State(app): State<App>,
    caller: Caller,
    Path(OutboxEventPath { id }): Path<OutboxEventPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    check_service(request.params.read::<ServiceQuery>()?.service.as_deref())?;
    let event: u64 = parse_id("id", &id, Some)?;
    let found = app.store().outbox_after(event.saturating_sub(1), 1).await?.pop().filter(|record| record.id == event);
    let record = found.ok_or_else(Problem::not_found)?;
    let positions = positions(&app).await?;
    let shown = app.clone();
    app.run(&caller, &request, RetryEvent { event }, move |failed_publication| {
        let failed_publications =
            failed_publication.iter().map(|failed_publication| (event, *failed_publication)).collect();
        Reply::json(StatusCode::OK, &view(&shown, record.clone(), &positions, &failed_publications))
    })
    .await
}

/// Checks that `service` is a known service. Requests for services in other processes are forwarded before this
/// handler.
fn check_service(service: Option<&str>) -> Result<(), Problem> {
    match service {
        Some(text) if Role::parse(text).is_none() => Err(Problem::invalid("service", &Fault::UnknownValue)),
        _ => Ok(()),
    }
}

/// Returns the committed position of each partition.
async fn positions(app: &App) -> Result<HashMap<Partition, u64>, Problem> {
    app.query(|rows, _| {
        Partition::all().for_each(|partition| rows.relay.relays.request(&partition));
        let position = |partition: Partition| {
            let relay = rows.relay.relays.get(&partition)?;
            Ok((partition, relay.map_or(0, |relay| relay.sent_up_to)))
        };
        Partition::all().map(position).collect()
    })
    .await
}

async fn failed_publications(app: &App, records: &[OutboxRecord]) -> Result<HashMap<u64, FailedPublication>, Problem> {
    let is_over_nats = app.bus().is_some();
    let ours = records.iter().filter(|record| address(record, is_over_nats).is_some());
    let events: HashSet<u64> = ours.map(|record| record.id).collect();
    app.query(|rows, _| {
        for event in &events {
            rows.relay.failed_publications.request(&FailedPublicationId { event: *event });
        }
        let mut found = HashMap::new();
        for event in &events {
            found.extend(
                rows.relay
                    .failed_publications
                    .get(&FailedPublicationId { event: *event })?
                    .map(|failed_publication| (*event, *failed_publication)),
            );
        }
        Ok(found)
    })
    .await
}

fn view(
    app: &App,
    record: OutboxRecord,
    positions: &HashMap<Partition, u64>,
    failed_publications: &HashMap<u64, FailedPublication>,
) -> OutboxView {
    let failed_publication = failed_publications.get(&record.id);
    let is_published = match address(&record, app.bus().is_some()) {
        Some(address) => positions.get(&Partition::of(address.key)).is_some_and(|position| record.id <= *position),
        // Without a destination on the bus: published by the commit itself.
        None => true,
    };
    let status = match failed_publication {
        Some(failed_publication) if failed_publication.failed => OutboxStatus::Failed,
        None if is_published => OutboxStatus::Sent,
        Some(_) | None if app.in_flight().contains(record.id) => OutboxStatus::Processing,
        Some(_) | None => OutboxStatus::Pending,
    };
    OutboxView {
        id: record.id,
        event_type: record.event_type,
        payload: RawValue::from_string(record.data).unwrap_or_default(),
        status,
        retry_count: failed_publication.map_or(0, |failed_publication| failed_publication.retries),
        created_at: record.at,
    }
}
