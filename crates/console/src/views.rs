//! Content of each page of the console, read from the API. A page consists of parts, and subscribers receive only those that
//! changed. Data that changes often and data that rarely does are in different parts.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::try_join_all;
use holdfast_core::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, ToSpan as _};
use serde_json::{Value, json};

use super::api_reader::{ApiReader, ErrorResponse};
use holdfast_server::request::decimal;

/// Interval of recomputation while there are holds, because no event reports their expiry.
const HELD_AGAIN: Duration = Duration::from_secs(2);
/// Number of newest reservations, orders, bookings and events shown.
const NEWEST: usize = 20;
const DELIVERIES: usize = 15;
const DEAD_MAX: usize = 100;
/// Maximum length of a parameter: longer than any value that a page can choose.
const PARAM_CHARS_MAX: usize = 40;

/// A page and its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    section: &'static str,
    /// Known parameters only, so that subscribers of the same content share the view.
    params: Vec<(&'static str, String)>,
}

/// Content of a page at one moment.
#[derive(Debug)]
pub struct Snapshot {
    pub parts: BTreeMap<String, Value>,
    /// Time after which the view is recomputed even without changes.
    pub look_again: Option<Duration>,
}

/// Sections, their parameters, and the indexes of `activity::Changes` that they depend on.
const KNOWN: [(&str, &[&str], &[usize]); 8] = [
    ("stays", &["month"], &[0]),
    ("shop", &[], &[1]),
    ("tee", &["course", "date"], &[2]),
    ("tickets", &["event"], &[3]),
    ("rooms", &["room", "from"], &[4]),
    ("bookings", &["status"], &[2]),
    ("outbox", &[], &[0, 1, 2, 3, 4, 5]),
    ("webhooks", &[], &[0, 1, 2, 3, 4, 5]),
];

impl View {
    pub fn read(section: &str, params: &BTreeMap<String, String>) -> Option<Self> {
        let (section, known, _) = KNOWN.iter().find(|(name, ..)| *name == section)?;
        let chosen = known.iter().filter_map(|name| {
            let value = params.get(*name).filter(|value| !value.is_empty() && value.len() <= PARAM_CHARS_MAX)?;
            let is_plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
            is_plain.then(|| (*name, value.clone()))
        });
        Some(Self { section, params: chosen.collect() })
    }

    pub fn follows(&self) -> &'static [usize] {
        KNOWN.iter().find(|(name, ..)| *name == self.section).map_or(&[], |(.., parts)| parts)
    }

    /// Whether it shows the publishing of changes, which happens after them.
    pub fn is_of_what_is_on_its_way(&self) -> bool {
        ["outbox", "webhooks"].contains(&self.section)
    }

    fn chosen(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

pub async fn compute(api: ApiReader<'_>, view: &View) -> Result<Snapshot, ErrorResponse> {
    match view.section {
        "stays" => stays(api, view).await,
        "shop" => shop(api).await,
        "tee" => tee(api, view).await,
        "tickets" => tickets(api, view).await,
        "rooms" => rooms(api, view).await,
        "bookings" => bookings(api, view).await,
        "outbox" => outbox(api).await,
        _ => webhooks(api).await,
    }
}

impl Snapshot {
    fn of<const N: usize>(parts: [(&str, Value); N]) -> Self {
        Self { parts: parts.into_iter().map(|(name, part)| (name.to_owned(), part)).collect(), look_again: None }
    }

    #[must_use]
    fn again_if(self, is_so: bool) -> Self {
        Self { look_again: is_so.then_some(HELD_AGAIN), ..self }
    }
}

async fn stays(api: ApiReader<'_>, view: &View) -> Result<Snapshot, ErrorResponse> {
    let first = view.chosen("month").and_then(|month| format!("{month}-01").parse::<Date>().ok());
    let first = match first {
        Some(first) => first,
        None => today(api, &Value::Null).await.first_of_month(),
    };
    let until = first.saturating_add(Span::new().months(1));
    let (types, reservations) = (api.all("/v1/room-types").await?, api.latest("/v1/reservations", NEWEST).await?);
    let nights = types.iter().map(|kind| async move {
        let path = format!("/v1/room-types/{}/availability?checkIn={first}&checkOut={until}", kind["id"]);
        let mut response = api.get(&path).await?;
        Ok::<_, ErrorResponse>((format!("nights:{}", kind["id"]), response["nights"].take()))
    });
    let nights = try_join_all(nights).await?;
    let is_held = nights.iter().any(|(_, nights)| any(nights, |night| night["holdCount"] != 0));
    let month = first.strftime("%Y-%m").to_string();
    let mut picture =
        Snapshot::of([("month", month.into()), ("types", types.into()), ("reservations", reservations.into())]);
    picture.parts.extend(nights);
    Ok(picture.again_if(is_held))
}

async fn shop(api: ApiReader<'_>) -> Result<Snapshot, ErrorResponse> {
    let (products, orders) = (api.all("/api/products").await?, api.latest("/api/orders", NEWEST).await?);
    let is_held = products.iter().any(|product| any(&product["options"], |option| option["reservedQuantity"] != 0));
    Ok(Snapshot::of([("products", products.into()), ("orders", orders.into())]).again_if(is_held))
}

async fn tee(api: ApiReader<'_>, view: &View) -> Result<Snapshot, ErrorResponse> {
    let courses = api.all("/v1/courses").await?;
    let Some(course) = chosen(&courses, view.chosen("course")) else {
        return Ok(Snapshot::of([("courses", courses.into())]));
    };
    let date = match view.chosen("date").and_then(|date| date.parse().ok()) {
        Some(date) => date,
        None => today(api, &course["timeZone"]).await.saturating_add(1.day()),
    };
    let slots = api.get(&format!("/v1/courses/{}/slots?date={date}", course["id"])).await?;
    let chosen = json!({ "course": course["id"], "date": date.to_string() });
    Ok(Snapshot::of([("chosen", chosen), ("courses", courses.into()), ("slots", slots)]))
}

async fn tickets(api: ApiReader<'_>, view: &View) -> Result<Snapshot, ErrorResponse> {
    let events = api.all("/v1/events").await?;
    let Some(event) = chosen(&events, view.chosen("event")) else {
        return Ok(Snapshot::of([("events", events.into())]));
    };
    let id = &event["id"];
    let mut seats = api.get(&format!("/v1/events/{id}/seats")).await?;
    let queue = match event["queueEnabled"].as_bool() {
        Some(true) => api.get(&format!("/v1/events/{id}/queue/stats")).await?,
        _ => Value::Null,
    };
    let reservations = api.latest(&format!("/v1/seat-reservations?eventId={id}"), NEWEST).await?;
    // Of thousands of seats only a few change, so that one letter each is sent.
    let statuses: String = seats.as_array_mut().into_iter().flatten().filter_map(take_status).collect();
    let is_held = statuses.contains('H');
    let is_busy = ["waiting", "ready", "entered"].iter().any(|count| queue[*count].as_u64().unwrap_or(0) > 0);
    // Removed because it repeats the seats and would change this part with each of them.
    let mut listed = events.clone();
    for event in &mut listed {
        event.as_object_mut().map(|event| event.remove("remainingSeats"));
    }
    let picture = Snapshot::of([
        ("chosen", id.clone()),
        ("events", listed.into()),
        ("seats", seats),
        ("statuses", statuses.into()),
        ("queue", queue),
        ("reservations", reservations.into()),
    ]);
    Ok(picture.again_if(is_held || is_busy))
}

fn take_status(seat: &mut Value) -> Option<char> {
    seat.as_object_mut()?.remove("status")?.as_str()?.chars().next()
}

async fn rooms(api: ApiReader<'_>, view: &View) -> Result<Snapshot, ErrorResponse> {
    let rooms = api.all("/v1/rooms").await?;
    let Some(room) = chosen(&rooms, view.chosen("room")) else {
        return Ok(Snapshot::of([("rooms", rooms.into())]));
    };
    let day = match view.chosen("from").and_then(|from| from.parse::<Date>().ok()) {
        Some(from) => from,
        None => today(api, &room["timeZone"]).await,
    };
    let monday = day.saturating_sub(i64::from(day.weekday().to_monday_zero_offset()).days());
    let sunday = monday.saturating_add(6.days());
    let id = &room["id"];
    let slots = api.get(&format!("/v1/rooms/{id}/slots?from={monday}&to={sunday}")).await?;
    let stats = api.get(&format!("/v1/rooms/{id}/stats?from={monday}&to={sunday}")).await?;
    let reservations = api.latest(&format!("/v1/room-reservations?roomId={id}"), NEWEST).await?;
    let is_locked = any(&slots, |slot| slot["status"] == "LOCKED");
    let chosen = json!({ "room": id, "from": monday.to_string() });
    let picture = Snapshot::of([
        ("chosen", chosen),
        ("rooms", rooms.into()),
        ("slots", slots),
        ("stats", stats),
        ("reservations", reservations.into()),
    ]);
    Ok(picture.again_if(is_locked))
}

async fn bookings(api: ApiReader<'_>, view: &View) -> Result<Snapshot, ErrorResponse> {
    let filter = view.chosen("status").map(|status| format!("?status={status}")).unwrap_or_default();
    let bookings = api.latest(&format!("/bookings{filter}"), 2 * NEWEST).await?;
    let is_pending = bookings.iter().any(|booking| booking["status"] == "PENDING");
    Ok(Snapshot::of([("bookings", bookings.into())]).again_if(is_pending))
}

async fn outbox(api: ApiReader<'_>) -> Result<Snapshot, ErrorResponse> {
    let mut dead = api.get(&format!("/v1/admin/outbox?status=FAILED&limit={DEAD_MAX}")).await?;
    let recent = api.latest("/v1/admin/outbox", NEWEST).await?;
    let is_pending = recent.iter().any(|event| event["status"] == "PENDING" || event["status"] == "PROCESSING");
    let has_more = !dead["nextCursor"].is_null();
    let parts = [("dead", dead["items"].take()), ("hasMoreDead", has_more.into()), ("recent", recent.into())];
    Ok(Snapshot::of(parts).again_if(is_pending))
}

async fn webhooks(api: ApiReader<'_>) -> Result<Snapshot, ErrorResponse> {
    let webhooks = api.all("/v1/webhooks").await?;
    let mut deliveries = BTreeMap::new();
    for webhook in &webhooks {
        let path = format!("/v1/webhooks/{}/deliveries", webhook["id"]);
        deliveries.insert(format!("deliveries:{}", webhook["id"]), Value::from(api.latest(&path, DELIVERIES).await?));
    }
    let is_pending = deliveries.values().any(|list| any(list, |delivery| delivery["status"] == "PENDING"));
    let mut picture = Snapshot::of([("webhooks", webhooks.into())]);
    picture.parts.extend(deliveries);
    Ok(picture.again_if(is_pending))
}

/// Returns the chosen record, or the first.
fn chosen(things: &[Value], id: Option<&str>) -> Option<Value> {
    let wanted = id.and_then(decimal);
    things.iter().find(|thing| wanted.is_some() && thing["id"].as_u64() == wanted).or(things.first()).cloned()
}

fn any(list: &Value, is_so: impl FnMut(&Value) -> bool) -> bool {
    list.as_array().is_some_and(|list| list.iter().any(is_so))
}

/// Returns the present day in a time zone, by the store's clock.
async fn today(api: ApiReader<'_>, zone: &Value) -> Date {
    let now = api.console.app.query(|_, at| Ok(at.now)).await.unwrap_or(Timestamp::from_millis(0));
    let zone = zone.as_str().and_then(|zone| TimeZone::get(zone).ok()).unwrap_or(TimeZone::UTC);
    now.to_jiff().to_zoned(zone).date()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(section: &str, params: &[(&str, &str)]) -> Option<View> {
        let params = params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        View::read(section, &params)
    }

    #[test]
    fn unknown_parameters_do_not_split_a_view() {
        let month = read("stays", &[("month", "2026-11")]);
        assert!(month.is_some() && month != read("stays", &[]) && month != read("stays", &[("month", "2026-12")]));
        assert_eq!(month, read("stays", &[("month", "2026-11"), ("nonsense", "1")]));
        assert_eq!(read("stays", &[("month", "2026/11?x=1")]), read("stays", &[]));
        assert_eq!(read("nonsense", &[]), None);
    }
}
