//! Deliveries of a webhook: their log, and the retry of failed ones.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::list::List;
use holdfast_api::params::{DeliveryPath, DeliveryQuery, IdempotencyHeader, ListParams, WebhookPath};
use holdfast_api::webhook::DeliveryView;
use holdfast_core::Fault;
use holdfast_core::schema::webhook;
use holdfast_core::webhook::delivery::RetryDelivery;
use holdfast_core::webhook::{Delivery, DeliveryId, DeliveryStatus, subscription};
use http::StatusCode;

use super::subscriptions::webhook_id;
use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, page, parse_id};

/// Lists the deliveries of a webhook, sent and pending. Admins only.
#[utoipa::path(get, path = "/v1/webhooks/{id}/deliveries", tag = "webhooks",
    params(WebhookPath, DeliveryQuery, ListParams),
    responses((status = 200, body = List<DeliveryView>), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`WEBHOOK_NOT_FOUND`")))]
pub async fn list(
    State(app): State<App>,
    caller: Caller,
    Path(WebhookPath { id }): Path<WebhookPath>,
    params: Params,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let id = webhook_id(&id)?;
    let query: DeliveryQuery = params.read()?;
    let status = query
        .status
        .map(|text| DeliveryStatus::parse(&text).ok_or_else(|| Problem::invalid("status", &Fault::UnknownValue)));
    let (status, page) = (status.transpose()?, page(&params, DeliveryId::new)?);
    app.query(|rows, _| subscription::find(rows, id)).await?;
    let found = app.list::<Delivery>(page.list(|after, limit| webhook::deliveries(id, status, after, limit))).await?;
    Ok(axum::Json(List::new(found, &page, |it| it.id.get(), |it| DeliveryView::new(it, app.installation())))
        .into_response())
}

/// Retries a failed delivery, from the start of the retry schedule. Admins only.
#[utoipa::path(post, path = "/v1/webhooks/{id}/deliveries/{deliveryId}/retry", tag = "webhooks",
    params(DeliveryPath, IdempotencyHeader),
    responses((status = 200, body = DeliveryView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`WEBHOOK_NOT_FOUND` or `WEBHOOK_DELIVERY_NOT_FOUND`"),
        (status = 409, description = "`WEBHOOK_DELIVERY_NOT_FAILED` or `WEBHOOK_DISABLED`")))]
pub async fn retry(
    State(app): State<App>,
    caller: Caller,
    Path(DeliveryPath { id, delivery_id }): Path<DeliveryPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let delivery = parse_id("deliveryId", &delivery_id, DeliveryId::new)?;
    let command = RetryDelivery { webhook: webhook_id(&id)?, id: delivery };
    let installation = app.installation().to_owned();
    let show = move |it: &Delivery| Reply::json(StatusCode::OK, &DeliveryView::new(it, &installation));
    let response = app.run(&caller, &request, command, show).await?;
    app.webhooks().delivery_worker.notify_one();
    Ok(response)
}
