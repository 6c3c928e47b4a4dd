//! Slot generation and its log.

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use holdfast_api::calendar::room::{GenerateBody, GeneratedView, GenerationView};
use holdfast_api::list::List;
use holdfast_api::params::{IdempotencyHeader, ListParams, RoomPath};
use holdfast_api::parse::parse_date;
use holdfast_core::calendar::generation::{GenerateSlots, check_anywhere};
use holdfast_core::calendar::{Generation, GenerationId, RoomId, room};
use holdfast_core::id::ID_MAX;
use holdfast_core::schema::calendar::generations;
use holdfast_engine::Refused;
use http::StatusCode;
use tokio::sync::watch;

use super::room_id;
use super::work::{self, Progress};
use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, id, page};

/// Generates the missing slots of one room or of all rooms. Idempotent. Admins only.
#[utoipa::path(post, path = "/v1/calendar/generate", tag = "calendar", request_body = GenerateBody,
    params(IdempotencyHeader),
    responses((status = 200, body = GeneratedView),
        (status = 202, body = GeneratedView, description = "Goes on in the background; this is how far it has come."),
        (status = 400, description = "`INVALID_INPUT`"), (status = 404, description = "`ROOM_NOT_FOUND`"),
        (status = 429, description = "`OVERLOADED`")))]
pub async fn generate(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let body: GenerateBody = if request.is_empty() { GenerateBody::default() } else { request.json()? };
    let room = body.room_id.map(|number| id("roomId", number, RoomId::new)).transpose()?;
    let until = body.until.map(|date| parse_date("until", &date)).transpose()?;
    let working = async {
        // Validated before the work starts: a caller that gets 202 receives no later error.
        match (room, until) {
            (Some(room), _) => app.query(|rows, at| GenerateSlots { room, until }.check(rows, at)).await?,
            (None, Some(until)) => app.query(|_, at| Ok(check_anywhere(until, at)?)).await?,
            (None, None) => {}
        }
        let Some(permit) = app.permit_generation().await else { return Err(Problem::overloaded()) };
        let progress = watch::Sender::new(Progress::default());
        let seen = progress.subscribe();
        let task = app.spawn({
            let app = app.clone();
            async move {
                let _permit = permit;
                let is_begun = || progress.borrow().created > 0;
                let ended =
                    work::generate_for(&app, room, until, &progress).await.map_err(|problem| match problem.status {
                        // Some slots are committed, so the answer must not say "nothing was changed".
                        StatusCode::SERVICE_UNAVAILABLE if is_begun() => Refused::OutcomeUnknown.into(),
                        _ => problem,
                    });
                if let Err(problem) = &ended {
                    tracing::warn!(
                        code = problem.code.as_str(),
                        "[Calendar] slot generation failed before it was complete"
                    );
                }
                ended
            }
        });
        let status = match tokio::time::timeout(app.generate_wait(), task).await {
            Ok(ended) => {
                ended.map_err(|_| Problem::internal())??;
                StatusCode::OK
            }
            Err(_) => StatusCode::ACCEPTED,
        };
        let progress = *seen.borrow();
        Ok(Reply::json(status, &progress.view()))
    };
    app.once(&caller, &request, working).await
}

/// Lists the generation log of a room.
#[utoipa::path(get, path = "/v1/rooms/{id}/generations", tag = "calendar",
    params(RoomPath, ListParams),
    responses((status = 200, body = List<GenerationView>), (status = 404, description = "`ROOM_NOT_FOUND`")))]
pub async fn list(
    State(app): State<App>,
    _caller: Caller,
    Path(RoomPath { id }): Path<RoomPath>,
    params: Params,
) -> Result<Response, Problem> {
    let room = room_id(&id)?;
    let page = page(&params, |number| (number <= ID_MAX).then_some(number))?;
    app.query(|rows, _| room::find(rows, room)).await?;
    let log: Vec<(GenerationId, Generation)> =
        app.list_with_keys::<Generation>(page.list(|after, limit| generations(room, page.order, after, limit))).await?;
    let list = List::new(log, &page, |(id, _)| id.number, |(_, entry)| GenerationView::new(entry));
    Ok(axum::Json(list).into_response())
}
