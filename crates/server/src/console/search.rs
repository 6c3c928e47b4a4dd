//! The whole story of anything that has an id: a hold, an order, a booking, a reservation. It is asked of the API, thing by
//! thing, and put in order of time, together with what the outbox told about it.

use askama::Template;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::response::Response;
use holdfast_core::Timestamp;
use holdfast_core::tee::BookingNumber;
use holdfast_engine::StoreError;
use holdfast_engine::store::OutboxRecord;
use http::{HeaderMap, Method};
use http_body_util::{BodyExt as _, Limited};
use serde::Deserialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::Console;
use super::page::Shell;
use super::session::Session;
use super::texts::{Texts, fill};

const ANSWER_BYTES_MAX: usize = 4 << 20;
/// How many events are looked through for each moment something happened, and for how many moments.
const READ_AT_ONCE: usize = 500;
const MOMENTS_MAX: usize = 8;
/// How much earlier than the thing says its event may be, where several servers tell the time.
const SLACK_MILLIS: i64 = 20;

#[derive(Deserialize)]
pub struct Asked {
    #[serde(default)]
    q: String,
}

/// Where things with an id are found.
struct Place {
    /// Texts begin with it.
    name: &'static str,
    path: &'static str,
    /// What its id is called in events, and how their types begin.
    key: &'static str,
    family: &'static str,
    /// The other half of the story: the hold of a record, the record of a hold.
    other: Option<(&'static str, &'static str)>,
    /// How an operator ends it, and from which state.
    end: Option<(&'static str, &'static str, &'static str)>,
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
    /// In which its money is.
    currency: String,
    facts: Vec<Fact>,
    steps: Vec<Step>,
    end: Option<End>,
}

/// A member of a thing. Moments and money are written by the page, as its reader is used to.
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

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    at: String,
    what: String,
    more: String,
}

struct End {
    method: &'static str,
    path: String,
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
    let shell = shell.at("search", session);
    let q: String = asked.q.trim().chars().take(64).collect();
    let stories = Search { console: &console, session, t: shell.t, headers: &headers }.all(&q).await;
    if headers.contains_key("hx-request") {
        shell.page(&Found { shell, q, stories })
    } else {
        shell.page(&Page { shell, q, stories })
    }
}

struct Search<'a> {
    console: &'a Console,
    session: Session,
    t: &'static Texts,
    headers: &'a HeaderMap,
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
        } else if !q.is_empty() && q.bytes().all(|byte| byte.is_ascii_digit()) {
            for place in RECORDS.iter().chain([&BOOKING]) {
                stories.extend(self.story(place, q).await);
            }
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
        let told = self.told(place, id, &steps).await;
        steps.extend(told);
        steps.sort();
        steps.dedup();
        let status = thing.get("status").map(plain).unwrap_or_default();
        let kind = self.t.get(&format!("search_{}", place.name)).unwrap_or(place.name);
        let end = place.end.filter(|(from, ..)| *from == status).map(|(_, method, verb)| End {
            method,
            path: format!("{}{id}{verb}", place.path),
            will: fill(self.t.get(&format!("will_end_{}", place.name)).unwrap_or(self.t.will_end), &[("id", id)]),
        });
        let tone = tone(&status);
        let status = self.t.get(&format!("status_{status}")).map_or(status, str::to_owned);
        let currency = thing.get("currency").map(plain).unwrap_or_default();
        Some(Story { kind, id: id.to_owned(), tone, currency, facts: self.facts(&thing), steps, end, status })
    }

    /// What the API answers, without its wrapping; nothing, if there is no such thing.
    async fn get(&self, path: &str) -> Option<Map<String, Value>> {
        let uri = path.parse().ok()?;
        let answer = self.console.call(self.session.caller, Method::GET, uri, self.headers, Body::empty()).await;
        if !answer.status().is_success() {
            return None;
        }
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await.ok()?.to_bytes();
        let mut thing: Map<String, Value> = serde_json::from_slice(&body).ok()?;
        match thing.remove("data") {
            Some(Value::Object(data)) => Some(data),
            _ => Some(thing),
        }
    }

    fn facts(&self, thing: &Map<String, Value>) -> Vec<Fact> {
        let elsewhere = ["status", "history", "currency"];
        let shown = thing.iter().filter(|(key, value)| !elsewhere.contains(&key.as_str()) && !value.is_null());
        let facts = shown.map(|(key, value)| {
            let label = self.t.get(&format!("field_{key}")).unwrap_or(key).to_owned();
            let is_money = value.is_i64() && ["rice", "mount", "balanceAfter"].iter().any(|end| key.ends_with(end));
            let is_moment = key == "teeOff" || (key.ends_with("At") && value.is_string());
            let kind = if is_money { Some("money") } else { is_moment.then_some("moment") };
            Fact { label, value: plain(value), kind }
        });
        facts.collect()
    }

    /// What a thing itself says about when something happened to it.
    fn steps(&self, thing: &Map<String, Value>) -> Vec<Step> {
        let mut steps = Vec::new();
        let is_expired = thing.get("status").is_some_and(|status| status == "EXPIRED");
        let is_held = thing.get("status").is_some_and(|status| status == "HELD" || status == "LOCKED");
        let has_history = thing.contains_key("history");
        for (key, value) in thing.iter().filter(|_| !has_history) {
            let what = match key.as_str() {
                "createdAt" => self.t.step_created,
                "confirmedAt" | "reservedAt" => self.t.step_confirmed,
                "cancelledAt" => self.t.step_cancelled,
                "expiredAt" | "expiresAt" if is_expired => self.t.step_expired,
                "expiredAt" | "expiresAt" if is_held => self.t.step_will_expire,
                _ => continue,
            };
            steps.push(Step { at: plain(value), what: what.to_owned(), more: String::new() });
        }
        for entry in thing.get("history").and_then(Value::as_array).into_iter().flatten() {
            let action = plain(&entry["action"]);
            let what = self.t.get(&format!("status_{action}")).unwrap_or(&action).to_owned();
            let more = [&entry["by"], &entry["reason"]].into_iter().filter(|it| !it.is_null()).map(plain);
            steps.push(Step { at: plain(&entry["at"]), what, more: more.collect::<Vec<_>>().join(" · ") });
        }
        steps
    }

    /// What the outbox told about it: at each of the moments something happened, events are looked through.
    async fn told(&self, place: &Place, id: &str, steps: &[Step]) -> Vec<Step> {
        let moments = steps.iter().filter_map(|step| step.at.parse::<jiff::Timestamp>().ok());
        let mut moments: Vec<i64> = moments.map(|at| at.as_millisecond() - SLACK_MILLIS).collect();
        moments.sort_unstable();
        moments.dedup();
        let mut told = Vec::new();
        for moment in moments.into_iter().take(MOMENTS_MAX) {
            // Without the outbox the story is shorter, and still true.
            let Ok(records) = self.outbox_from(Timestamp::from_millis(moment)).await else { break };
            for record in records.into_iter().filter(|record| record.event_type.starts_with(place.family)) {
                // Most are about others: looked at as text before they are read.
                if !record.data.contains(id) {
                    continue;
                }
                let data: Map<String, Value> = serde_json::from_str(&record.data).unwrap_or_default();
                if data.get(place.key).map(plain).is_some_and(|about| about == id) {
                    let at = record.at.to_jiff().to_string();
                    let more = fill(self.t.step_told, &[("n", &record.id.to_string())]);
                    told.push(Step { at, what: record.event_type, more });
                }
            }
        }
        told
    }

    /// Some events from a moment on. They are numbered in the order of time, so the first is found by halving.
    async fn outbox_from(&self, moment: Timestamp) -> Result<Vec<OutboxRecord>, StoreError> {
        let store = self.console.app.store();
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

/// A value as people read it.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        Value::Object(members) => {
            let telling =
                ["label", "date", "time", "productName", "optionCode", "quantity", "percent", "amount", "rule"];
            let parts = telling.iter().filter_map(|name| members.get(*name));
            parts.map(plain).collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

fn tone(status: &str) -> &'static str {
    match status {
        "CONFIRMED" | "PAID" | "RESERVED" | "COMPLETED" => "free",
        "HELD" | "LOCKED" | "PENDING" => "held",
        "FAILED" | "NO_SHOW" => "danger",
        _ => "",
    }
}
