//! Search by id for a hold, order, booking, reservation, customer, event or delivery, with its history. The history is
//! assembled from the API's responses and from events of the outbox, in order of time.

use askama::Template;
use axum::extract::{Query, State};
use axum::response::Response;
use holdfast_core::Timestamp;
use holdfast_core::id::{USER_CHARS_MAX, UserId};
use holdfast_core::tee::BookingNumber;
use holdfast_engine::StoreError;
use holdfast_engine::store::OutboxRecord;
use http::HeaderMap;
use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::api_reader::ApiReader;
use super::page::Shell;
use super::session::Session;
use super::texts::{Texts, fill};
use super::{Console, trace};

/// Number of events read from each moment at which the record changed.
const READ_AT_ONCE: usize = 500;
/// Maximum number of moments at which events are read.
const MOMENTS_MAX: usize = 8;
/// Tolerated clock skew in milliseconds between servers: an event may be this much older than the record's own time.
const SLACK_MILLIS: i64 = 20;

#[derive(Deserialize)]
pub struct Asked {
    #[serde(default)]
    q: String,
}

/// Source of records with an id.
struct Place {
    /// Prefix of its texts.
    name: &'static str,
    path: &'static str,
    /// Member with the id in events.
    key: &'static str,
    /// Prefix of the types of its events.
    family: &'static str,
    /// Member with the id of the counterpart, and its path: the hold of a record, the record of a hold.
    other: Option<(&'static str, &'static str)>,
    /// Action of an operator that ends it: required status, method and suffix of the path.
    end: Option<(&'static str, &'static str, &'static str)>,
}

/// Kind of record that the API has no path for.
#[derive(Clone, Copy)]
enum Beside {
    ShopReservation,
    Customer,
    OutboxEvent,
    Delivery,
}

impl Beside {
    const ALL: [Self; 4] = [Self::ShopReservation, Self::Customer, Self::OutboxEvent, Self::Delivery];

    /// Returns the prefix of its texts.
    fn name(self) -> &'static str {
        match self {
            Self::ShopReservation => "shop_reservation",
            Self::Customer => "customer",
            Self::OutboxEvent => "outbox_event",
            Self::Delivery => "delivery",
        }
    }
}

const HOLDS: [Place; 3] = [
    Place {
        name: "stay_hold",
        path: "/v1/holds/",
        key: "holdId",
        family: "stay.",
        other: Some(("reservationId", "/v1/reservations/")),
        end: Some(("HELD", "DELETE", "")),
    },
    Place {
        name: "seat_hold",
        path: "/v1/seat-holds/",
        key: "holdId",
        family: "seat.",
        other: Some(("reservationId", "/v1/seat-reservations/")),
        end: Some(("HELD", "DELETE", "")),
    },
    Place {
        name: "room_lock",
        path: "/v1/locks/",
        key: "lockId",
        family: "room.",
        other: Some(("reservationId", "/v1/room-reservations/")),
        end: Some(("LOCKED", "DELETE", "")),
    },
];
const BOOKING: Place = Place {
    name: "booking",
    path: "/bookings/",
    key: "bookingId",
    family: "",
    other: None,
    end: Some(("CONFIRMED", "POST", "/cancel")),
};
const RECORDS: [Place; 4] = [
    Place {
        name: "stay_reservation",
        path: "/v1/reservations/",
        key: "reservationId",
        family: "stay.",
        other: Some(("holdId", "/v1/holds/")),
        end: Some(("CONFIRMED", "POST", "/cancel")),
    },
    Place {
        name: "order",
        path: "/api/orders/",
        key: "orderId",
        family: "order.",
        other: None,
        end: Some(("PAID", "POST", "/cancel")),
    },
    Place {
        name: "seat_reservation",
        path: "/v1/seat-reservations/",
        key: "reservationId",
        family: "seat.",
        other: Some(("holdId", "/v1/seat-holds/")),
        end: Some(("RESERVED", "POST", "/cancel")),
    },
    Place {
        name: "room_reservation",
        path: "/v1/room-reservations/",
        key: "reservationId",
        family: "room.",
        other: Some(("lockId", "/v1/locks/")),
        end: Some(("RESERVED", "POST", "/cancel")),
    },
];

struct Story {
    kind: &'static str,
    id: String,
    status: String,
    tone: &'static str,
    /// Currency of its money.
    currency: String,
    facts: Vec<Fact>,
    steps: Vec<Step>,
    end: Option<End>,
}

/// Member of a record. The page formats times and money for its reader.
struct Fact {
    label: String,
    value: String,
    kind: Option<&'static str>,
}

impl Fact {
    fn is_money(&self) -> bool {
        self.kind == Some("money")
    }
}

#[derive(PartialEq, Eq)]
struct Step {
    at: String,
    /// Order of steps at one moment: the creation, other members of the record, then events.
    order: u64,
    what: String,
    more: String,
}

impl Step {
    const MADE: u64 = 0;
    const SAID: u64 = 1;
    /// First order of events; the number of the event is added.
    const TOLD: u64 = 2;

    fn key(&self) -> (Option<jiff::Timestamp>, u64) {
        (self.at.parse().ok(), self.order)
    }
}

/// Action that an operator can take.
struct End {
    method: &'static str,
    path: String,
    label: &'static str,
    tone: &'static str,
    will: String,
}

#[derive(Template)]
#[template(path = "search.html")]
struct Page {
    shell: Shell,
    q: String,
    stories: Vec<Story>,
}

#[derive(Template)]
#[template(path = "stories.html")]
struct Found {
    shell: Shell,
    q: String,
    stories: Vec<Story>,
}

pub async fn page(
    State(console): State<Console>,
    shell: Shell,
    session: Session,
    Query(asked): Query<Asked>,
    headers: HeaderMap,
) -> Response {
    let shell = shell.at("search", &session);
    let q: String = asked.q.trim().chars().take(USER_CHARS_MAX).collect();
    let api = ApiReader { console: &console, caller: &session.caller, headers: &headers };
    let stories = Search { api, t: shell.t }.all(&q).await;
    if headers.contains_key("hx-request") {
        shell.page(&Found { shell, q, stories })
    } else {
        shell.page(&Page { shell, q, stories })
    }
}

struct Search<'a> {
    api: ApiReader<'a>,
    t: &'static Texts,
}

impl Search<'_> {
    async fn all(&self, q: &str) -> Vec<Story> {
        let mut stories = Vec::new();
        if let Ok(id) = Uuid::try_parse(q) {
            for place in &HOLDS {
                stories.extend(self.story(place, &id.hyphenated().to_string()).await);
            }
        } else if let Some(number) = BookingNumber::parse(q) {
            stories.extend(self.story(&BOOKING, &number.0.to_string()).await);
        } else if let Some(number) = q.strip_prefix("msg_") {
            stories.extend(self.beside(Beside::Delivery, number).await);
        } else if !q.is_empty() && q.bytes().all(|byte| byte.is_ascii_digit()) {
            for place in RECORDS.iter().chain([&BOOKING]) {
                stories.extend(self.story(place, q).await);
            }
            for kind in Beside::ALL {
                stories.extend(self.beside(kind, q).await);
            }
        }
        // Any text may be a customer.
        if UserId::parse_text(q).is_some_and(|user| user.number().is_none()) {
            stories.extend(self.beside(Beside::Customer, q).await);
        }
        stories
    }

    async fn story(&self, place: &Place, id: &str) -> Option<Story> {
        let thing = self.get(&format!("{}{id}", place.path)).await?;
        let mut steps = self.steps(&thing);
        if let Some((key, path)) = place.other
            && let Some(other) = thing.get(key).map(plain)
            && let Some(other) = self.get(&format!("{path}{other}")).await
        {
            steps.extend(self.steps(&other));
        }
        let published = self.published(place.family, place.key, id, &steps).await;
        steps.extend(published);
        if place.name == BOOKING.name {
            steps.extend(self.notified(&thing, id).await);
        }
        let status = thing.get("status").map(plain).unwrap_or_default();
        let end = place.end.filter(|(from, ..)| *from == status).map(|(_, method, verb)| End {
            method,
            path: format!("{}{id}{verb}", place.path),
            label: self.t.search_end,
            tone: "danger",
            will: fill(self.t.get(&format!("will_end_{}", place.name)).unwrap_or(self.t.will_end), &[("id", id)]),
        });
        Some(self.written(place.name, id, &thing, steps, end))
    }

    /// Returns the history of a record that the API has no path for.
    async fn beside(&self, kind: Beside, id: &str) -> Option<Story> {
        let thing = match kind {
            Beside::ShopReservation => trace::shop_reservation(&self.api.console.app, id).await?,
            Beside::Customer => self.get(&format!("/api/users/{}", escaped(id))).await?,
            Beside::OutboxEvent => trace::outbox_event(self.api, id).await?,
            Beside::Delivery => trace::delivery(self.api, id).await?,
        };
        let mut steps = self.steps(&thing);
        if let (Beside::ShopReservation, Some(order)) = (kind, thing.get("orderId").map(plain)) {
            let published = self.published("order.", "orderId", &order, &steps).await;
            steps.extend(published);
        }
        let said = |key: &str| thing.get(key).map(plain).unwrap_or_default();
        let end = match (kind, said("status").as_str()) {
            (Beside::ShopReservation, "RESERVED") => Some(End {
                method: "DELETE",
                path: format!("/api/order/reserve?userId={}", escaped(&said("userId"))),
                label: self.t.search_end,
                tone: "danger",
                will: self.t.will_end_shop_reservation.to_owned(),
            }),
            (Beside::OutboxEvent, "FAILED") => Some(End {
                method: "POST",
                path: format!("/v1/admin/outbox/{id}/retry"),
                label: self.t.outbox_retry,
                tone: "",
                will: fill(self.t.outbox_will_retry, &[("id", id), ("type", &said("eventType"))]),
            }),
            (Beside::Delivery, "FAILED") => Some(End {
                method: "POST",
                path: format!("/v1/webhooks/{}/deliveries/{id}/retry", said("webhookId")),
                label: self.t.webhooks_retry,
                tone: "",
                will: fill(self.t.webhooks_will_retry, &[("type", &said("eventType"))]),
            }),
            _ => None,
        };
        Some(self.written(kind.name(), id, &thing, steps, end))
    }

    fn written(
        &self,
        name: &'static str,
        id: &str,
        thing: &Map<String, Value>,
        mut steps: Vec<Step>,
        end: Option<End>,
    ) -> Story {
        steps.sort_by_key(Step::key);
        steps.dedup();
        let status = thing.get("status").map(plain).unwrap_or_default();
        let kind = self.t.get(&format!("search_{name}")).unwrap_or(name);
        let tone = tone(&status);
        let status = self.t.get(&format!("status_{status}")).map_or(status, str::to_owned);
        let currency = thing.get("currency").map(plain).unwrap_or_default();
        Story { kind, id: id.to_owned(), tone, currency, facts: self.facts(thing), steps, end, status }
    }

    /// Returns a record of the API; `None` if there is none.
    async fn get(&self, path: &str) -> Option<Map<String, Value>> {
        match self.api.get(path).await {
            Ok(Value::Object(thing)) => Some(thing),
            _ => None,
        }
    }

    /// Returns the notifications of the customer about a booking.
    async fn notified(&self, booking: &Map<String, Value>, id: &str) -> Vec<Step> {
        let user = escaped(&booking.get("userId").map(plain).unwrap_or_default());
        let list = self.api.all(&format!("/v1/notifications?userId={user}")).await.unwrap_or_default();
        let own = list.iter().filter(|it| plain(&it["bookingId"]) == id);
        let step = |it: &Value| Step {
            at: plain(&it["createdAt"]),
            order: u64::MAX,
            what: fill(self.t.step_notified, &[("type", &plain(&it["type"]))]),
            more: String::new(),
        };
        own.map(step).collect()
    }

    fn facts(&self, thing: &Map<String, Value>) -> Vec<Fact> {
        let elsewhere = ["status", "history", "currency", "paidAt", "orderCancelledAt"];
        let shown = thing.iter().filter(|(key, value)| !elsewhere.contains(&key.as_str()) && !value.is_null());
        let facts = shown.map(|(key, value)| {
            let label = self.t.get(&format!("field_{key}")).unwrap_or(key).to_owned();
            let is_money =
                value.is_i64() && ["rice", "mount", "balance", "balanceAfter"].iter().any(|end| key.ends_with(end));
            let is_moment = key == "teeOff" || (key.ends_with("At") && value.is_string());
            let kind = if is_money { Some("money") } else { is_moment.then_some("moment") };
            Fact { label, value: plain(value), kind }
        });
        facts.collect()
    }

    /// Returns the steps that the record's own members contain.
    fn steps(&self, thing: &Map<String, Value>) -> Vec<Step> {
        let mut steps = Vec::new();
        let is_expired = thing.get("status").is_some_and(|status| status == "EXPIRED");
        let is_held =
            thing.get("status").is_some_and(|status| ["HELD", "LOCKED", "RESERVED"].iter().any(|held| status == held));
        let is_pending = thing.get("status").is_some_and(|status| status == "PENDING");
        let has_history = thing.contains_key("history");
        let order_id = thing.get("orderId").map(plain).unwrap_or_default();
        for (key, value) in thing.iter().filter(|_| !has_history) {
            let what = match key.as_str() {
                "createdAt" => self.t.step_created,
                "paidAt" => self.t.step_order_paid,
                "orderCancelledAt" => self.t.step_order_cancelled,
                "nextAttemptAt" if is_pending && !value.is_null() => self.t.step_next_try,
                "confirmedAt" | "reservedAt" => self.t.step_confirmed,
                "cancelledAt" => self.t.step_cancelled,
                "expiredAt" | "expiresAt" if is_expired => self.t.step_expired,
                "expiredAt" | "expiresAt" if is_held => self.t.step_will_expire,
                _ => continue,
            };
            let order = if key == "createdAt" { Step::MADE } else { Step::SAID };
            let what = fill(what, &[("id", &order_id)]);
            steps.push(Step { at: plain(value), order, what, more: String::new() });
        }
        for entry in thing.get("history").and_then(Value::as_array).into_iter().flatten() {
            let action = plain(&entry["action"]);
            let what = self.t.get(&format!("status_{action}")).unwrap_or(&action).to_owned();
            let more = [&entry["by"], &entry["reason"]].into_iter().filter(|it| !it.is_null()).map(plain);
            let order = if action == "CREATED" { Step::MADE } else { Step::SAID };
            steps.push(Step { at: plain(&entry["at"]), order, what, more: more.collect::<Vec<_>>().join(" · ") });
        }
        steps
    }

    /// Returns the record's events from the outbox, which is read from each moment of `steps` on.
    async fn published(&self, family: &str, key: &str, id: &str, steps: &[Step]) -> Vec<Step> {
        let moments = steps.iter().filter_map(|step| step.at.parse::<jiff::Timestamp>().ok());
        let mut moments: Vec<i64> = moments.map(|at| at.as_millisecond() - SLACK_MILLIS).collect();
        moments.sort_unstable();
        moments.dedup();
        let mut published = Vec::new();
        for moment in moments.into_iter().take(MOMENTS_MAX) {
            // Without the outbox the history is incomplete but still correct.
            let Ok(records) = self.outbox_from(Timestamp::from_millis(moment)).await else { break };
            for record in records.into_iter().filter(|record| record.event_type.starts_with(family)) {
                // Most events are about other records, so the text is searched before it is parsed.
                if !record.data.contains(id) {
                    continue;
                }
                let data: Map<String, Value> = serde_json::from_str(&record.data).unwrap_or_default();
                if data.get(key).map(plain).is_some_and(|about| about == id) {
                    let at = record.at.to_jiff().to_string();
                    let more = fill(self.t.step_told, &[("n", &record.id.to_string())]);
                    published.push(Step { at, order: Step::TOLD + record.id, what: record.event_type, more });
                }
            }
        }
        published
    }

    /// Returns up to [`READ_AT_ONCE`] events from a moment on. Events are in order of time: a binary search finds the first.
    async fn outbox_from(&self, moment: Timestamp) -> Result<Vec<OutboxRecord>, StoreError> {
        let store = self.api.console.app.store();
        let (mut before, mut end) = (0, store.outbox_last().await?);
        while before < end {
            let middle = before + (end - before) / 2;
            match store.outbox_after(middle, 1).await?.first() {
                Some(record) if record.at < moment => before = record.id,
                _ => end = middle,
            }
        }
        store.outbox_after(before, READ_AT_ONCE).await
    }
}

/// Percent-encodes a user for a path or a query.
fn escaped(user: &str) -> String {
    form_urlencoded::byte_serialize(user.as_bytes()).collect()
}

/// Formats a value for display.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(members) => {
            let said = |names: &[&str]| {
                let parts = names.iter().filter_map(|name| members.get(*name)).map(plain);
                parts.collect::<Vec<_>>().join(" ")
            };
            match members.get("quantity") {
                Some(quantity) => format!("{} × {quantity}", said(&["productName", "optionCode"])),
                None => said(&["label", "date", "time", "percent", "amount", "rule"]),
            }
        }
        other => other.to_string(),
    }
}

fn tone(status: &str) -> &'static str {
    match status {
        "CONFIRMED" | "PAID" | "RESERVED" | "COMPLETED" | "SENT" | "DELIVERED" => "free",
        "HELD" | "LOCKED" | "PENDING" | "PROCESSING" => "held",
        "FAILED" | "NO_SHOW" => "danger",
        _ => "",
    }
}
