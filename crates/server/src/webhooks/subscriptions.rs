//! Webhook subscriptions. All operations are for admins only.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::list::List;
use holdfast_api::params::{IdempotencyHeader, ListParams, WebhookPath};
use holdfast_api::webhook::{NewSecretBody, NewWebhookBody, WebhookView};
use holdfast_core::webhook::subscription::{self, CreateWebhook, DeleteWebhook, EnableWebhook, RotateSecret};
use holdfast_core::webhook::{EventTypes, Webhook, WebhookId};
use holdfast_core::{Fault, Timestamp};
use holdfast_events::webhooks::signature::{SECRET_BYTES_MAX, SECRET_BYTES_MIN, SigningSecret};
use holdfast_events::webhooks::target::Target;
use holdfast_events::wire::event::{DURABLE_TYPES, EPHEMERAL_TYPES};
use http::StatusCode;

use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, page, parse_id};

/// Subscribes a URL to events. The secret is shown in this answer only. Admins only.
#[utoipa::path(post, path = "/v1/webhooks", tag = "webhooks", request_body = NewWebhookBody,
    params(IdempotencyHeader),
    responses((status = 201, body = WebhookView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 403, description = "`FORBIDDEN`"), (status = 409, description = "`WEBHOOK_LIMIT_REACHED`")))]
pub async fn create(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let body: NewWebhookBody = request.json()?;
    let target = Target::parse(&body.url).map_err(|fault| Problem::invalid("url", &fault))?;
    let types = EventTypes::new(body.types, &DURABLE_TYPES, &EPHEMERAL_TYPES)?;
    let secret = secret(&app, body.secret.as_deref())?;
    if target.is_known_to_be_refused(app.webhook_addresses()).await {
        return Err(Problem::invalid("url", &Fault::PrivateAddress));
    }
    let outbox_last = app.store().outbox_last().await?;
    let command = CreateWebhook { url: body.url, types, secret: secret.clone(), outbox_last };
    let show = |webhook: &Webhook| Reply::json(StatusCode::CREATED, &WebhookView::new(webhook));
    let (reply, created) = app.run_with_outcome(&caller, &request, command, show).await?;
    app.webhooks().fan_out.notify_one();
    app.webhooks().holds.notify_one();
    Ok(match created {
        Some(webhook) => reply.with_json(&WebhookView::new(&webhook).with_secret(secret)).into_response(),
        None => reply.into_response(),
    })
}

/// Lists all webhooks, without their secrets. Admins only.
#[utoipa::path(get, path = "/v1/webhooks", tag = "webhooks",
    params(ListParams),
    responses((status = 200, body = List<WebhookView>), (status = 403, description = "`FORBIDDEN`")))]
pub async fn list(State(app): State<App>, caller: Caller, params: Params) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let page = page(&params, WebhookId::new)?;
    let webhooks = app.list::<Webhook>(page.of::<Webhook>()).await?;
    Ok(axum::Json(List::new(webhooks, &page, |it| it.id.get(), WebhookView::new)).into_response())
}

/// Returns a webhook, without its secret. Admins only.
#[utoipa::path(get, path = "/v1/webhooks/{id}", tag = "webhooks",
    params(WebhookPath),
    responses((status = 200, body = WebhookView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`WEBHOOK_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(WebhookPath { id }): Path<WebhookPath>,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let id = webhook_id(&id)?;
    let webhook = app.query(|rows, _| subscription::find(rows, id)).await?;
    Ok(axum::Json(WebhookView::new(&webhook)).into_response())
}

/// Deletes a webhook. Its pending deliveries are dropped. Admins only.
#[utoipa::path(delete, path = "/v1/webhooks/{id}", tag = "webhooks",
    params(WebhookPath, IdempotencyHeader),
    responses((status = 204), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`WEBHOOK_NOT_FOUND`")))]
pub async fn delete(
    State(app): State<App>,
    caller: Caller,
    Path(WebhookPath { id }): Path<WebhookPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let command = DeleteWebhook { id: webhook_id(&id)? };
    app.run(&caller, &request, command, |()| Reply::no_content()).await
}

/// Enables a webhook whose receiver answered 410. Events since then are not sent. Admins only.
#[utoipa::path(post, path = "/v1/webhooks/{id}/enable", tag = "webhooks",
    params(WebhookPath, IdempotencyHeader),
    responses((status = 200, body = WebhookView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`WEBHOOK_NOT_FOUND`")))]
pub async fn enable(
    State(app): State<App>,
    caller: Caller,
    Path(WebhookPath { id }): Path<WebhookPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let command = EnableWebhook { id: webhook_id(&id)? };
    app.run(&caller, &request, command, |webhook| Reply::json(StatusCode::OK, &WebhookView::new(webhook))).await
}

/// Rotates the secret. The previous secret also signs for 24 hours, so that the receiver can switch without refusing
/// deliveries. The new secret is shown in this answer only. Admins only.
#[utoipa::path(post, path = "/v1/webhooks/{id}/rotate-secret", tag = "webhooks", request_body = NewSecretBody,
    params(WebhookPath, IdempotencyHeader),
    responses((status = 200, body = WebhookView), (status = 400, description = "`INVALID_INPUT`"),
        (status = 403, description = "`FORBIDDEN`"), (status = 404, description = "`WEBHOOK_NOT_FOUND`")))]
pub async fn rotate(
    State(app): State<App>,
    caller: Caller,
    Path(WebhookPath { id }): Path<WebhookPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let body: NewSecretBody = request.json_or_default()?;
    let secret = secret(&app, body.secret.as_deref())?;
    let command = RotateSecret { id: webhook_id(&id)?, secret: secret.clone() };
    let show =
        |(webhook, now): &(Webhook, Timestamp)| Reply::json(StatusCode::OK, &WebhookView::rotated(webhook, *now));
    let (reply, rotated) = app.run_with_outcome(&caller, &request, command, show).await?;
    Ok(match rotated {
        Some((webhook, now)) => {
            reply.with_json(&WebhookView::rotated(&webhook, now).with_secret(secret)).into_response()
        }
        None => reply.into_response(),
    })
}

/// Returns the chosen secret or a generated one, in text form.
fn secret(app: &App, chosen: Option<&str>) -> Result<String, Problem> {
    let secret = match chosen {
        Some(text) => SigningSecret::parse(text),
        None => SigningSecret::new(&app.ids().secret()),
    };
    let not_one = Fault::NotASecret { min: SECRET_BYTES_MIN, max: SECRET_BYTES_MAX };
    Ok(secret.ok_or_else(|| Problem::invalid("secret", &not_one))?.reveal())
}

/// Parses the webhook id of a path.
pub(super) fn webhook_id(text: &str) -> Result<WebhookId, Problem> {
    parse_id("id", text, WebhookId::new)
}
