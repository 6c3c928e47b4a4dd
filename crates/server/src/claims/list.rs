//! Lists of claims, newest first.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use holdfast_api::claim::{ClaimStatusView, ClaimView, LineItemView};
use holdfast_api::list::List;
use holdfast_api::params::{ClaimQuery, ListParams, UserHeader};
use holdfast_api::parse::{LIST_LIMIT_MAX, list_limit};
use holdfast_core::claim::list::{claims, live_of};
use holdfast_core::hold::{Hold, Origin};
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::schema::Order;
use holdfast_core::{Fault, Timestamp};
use uuid::Uuid;

use super::claim::listed_user;
use crate::app::App;
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::Params;

/// Maximum number of claims that a page examines.
const EXAMINED_MAX: usize = 10_000;

/// Lists claims, newest first. In a cluster with Redis, lists without `userId` show confirmed claims only.
#[utoipa::path(get, path = "/v1/claims", tag = "claims",
    params(ClaimQuery, ListParams, UserHeader), responses((status = 200, body = List<ClaimView>)))]
pub async fn list(State(app): State<App>, caller: Caller, params: Params) -> Result<Response, Problem> {
    let (query, page): (ClaimQuery, ListParams) = (params.read()?, params.read()?);
    let order = match page.order.as_deref() {
        None | Some("desc") => Order::Descending,
        Some("asc") => Order::Ascending,
        Some(_) => return Err(Problem::invalid("order", &Fault::UnknownValue)),
    };
    let filter = Filter {
        user: listed_user(&caller, &params)?,
        reference: query.reference,
        status: query.status.as_deref().map(parse_status).transpose()?,
        line_type: query.line_type.map(check_type).transpose()?,
    };
    let after =
        page.cursor.filter(|cursor| !cursor.is_empty()).map(|cursor| parse_cursor(&cursor, order)).transpose()?;
    let limit = list_limit(page.limit.as_deref())?;
    Ok(axum::Json(Pages { app: &app, filter, order, limit }.page(after).await?).into_response())
}

struct Filter {
    user: Option<UserId>,
    reference: Option<String>,
    status: Option<ClaimStatusView>,
    line_type: Option<String>,
}

struct Pages<'a> {
    app: &'a App,
    filter: Filter,
    order: Order,
    limit: usize,
}

impl Pages<'_> {
    async fn page(&self, mut after: Option<HoldId>) -> Result<List<ClaimView>, Problem> {
        let (live, now) = self.live(after).await?;
        let mut live = live.into_iter().peekable();
        let (mut items, mut examined) = (Vec::new(), 0);
        // A filter may leave little of a page.
        let read = self.limit.max(LIST_LIMIT_MAX);
        loop {
            let list = claims(self.filter.user.as_ref(), self.filter.reference.as_deref(), after, read + 1, self.order);
            let stored = self.app.list::<Hold>(list).await?;
            let is_last = stored.len() <= read;
            let bound = stored.last().map(|hold| hold.id).filter(|_| !is_last);
            let mut merged: Vec<Hold> = stored;
            // Live claims up to the last stored one belong to this page.
            while let Some(hold) = live.next_if(|hold| bound.is_none_or(|bound| !self.is_after(hold.id, bound))) {
                if merged.iter().all(|stored| stored.id != hold.id) {
                    merged.push(hold);
                }
            }
            merged.sort_by_key(|hold| hold.id);
            if self.order == Order::Descending {
                merged.reverse();
            }
            examined += merged.len();
            for hold in merged {
                if items.len() == self.limit {
                    let next_cursor = after.map(|id| cursor(id, self.order));
                    return Ok(List { items, next_cursor });
                }
                after = Some(hold.id);
                if self.includes(&hold, now) {
                    items.push(ClaimView::new(&hold, now));
                }
            }
            if is_last {
                return Ok(List { items, next_cursor: None });
            }
            if examined >= EXAMINED_MAX {
                return Ok(List { items, next_cursor: after.map(|id| cursor(id, self.order)) });
            }
        }
    }

    /// Returns the live claims of the user after an id, and the time.
    async fn live(&self, after: Option<HoldId>) -> Result<(Vec<Hold>, Timestamp), Problem> {
        let user = self.filter.user.clone();
        let (mut live, now) = self
            .app
            .query(|rows, at| {
                let live = user.as_ref().map_or_else(|| Ok(Vec::new()), |user| live_of(rows, at, user))?;
                Ok((live, at.now))
            })
            .await?;
        if self.order == Order::Ascending {
            live.reverse();
        }
        live.retain(|hold| after.is_none_or(|after| self.is_after(hold.id, after)));
        Ok((live, now))
    }

    fn is_after(&self, id: HoldId, other: HoldId) -> bool {
        if self.order == Order::Descending { id < other } else { id > other }
    }

    fn includes(&self, hold: &Hold, now: Timestamp) -> bool {
        let view = || ClaimView::new(hold, now);
        hold.origin != Origin::System
            && self.filter.user.as_ref().is_none_or(|user| hold.owner == *user)
            && self.filter.reference.as_deref().is_none_or(|text| hold.reference().is_some_and(|own| **own == *text))
            && self.filter.status.is_none_or(|status| view().status == status)
            && self
                .filter
                .line_type
                .as_deref()
                .is_none_or(|text| hold.lines.iter().any(|line| type_name(&LineItemView::new(&line.item)) == text))
    }
}

fn type_name(item: &LineItemView) -> &'static str {
    match item {
        LineItemView::Stay { .. } => "stay",
        LineItemView::Stock { .. } => "stock",
        LineItemView::Seat { .. } => "seat",
        LineItemView::Slot { .. } => "slot",
    }
}

fn check_type(text: String) -> Result<String, Problem> {
    if ["stay", "stock", "seat", "slot"].contains(&&*text) {
        Ok(text)
    } else {
        Err(Problem::invalid("type", &Fault::UnknownValue))
    }
}

fn parse_status(text: &str) -> Result<ClaimStatusView, Problem> {
    serde_json::from_value(text.into()).map_err(|_| Problem::invalid("status", &Fault::UnknownValue))
}

/// Cursor that continues after this claim, in this order.
fn cursor(id: HoldId, order: Order) -> String {
    let mut bytes = id.0.into_bytes().to_vec();
    bytes.push(if order == Order::Descending { b'd' } else { b'a' });
    URL_SAFE_NO_PAD.encode(bytes)
}

fn parse_cursor(text: &str, order: Order) -> Result<HoldId, Problem> {
    let parsed = URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| {
        let id = HoldId(Uuid::from_slice(bytes.get(..16)?).ok()?);
        (cursor(id, order) == text).then_some(id)
    });
    parsed.ok_or_else(|| Problem::invalid("cursor", &Fault::Malformed))
}
