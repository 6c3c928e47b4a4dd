//! Fixture of a sale: an event with a waiting room and seats left, and the scarcest room type in a week without
//! bookings.

use std::borrow::Cow;

use holdfast_client::{Client, Event, EventChange, Method, NewEvent, NewSeat, RoomType};
use jiff::civil::Date;
use jiff::{Span, Timestamp};

use super::Error;

/// The week starts no sooner, so that guests of the demo keep the next days.
const DAYS_AHEAD_MIN: i64 = 14;
const DAYS_SEARCHED: i64 = 180;
const NIGHTS: usize = 7;

/// Room type that all hotel customers want.
pub(super) struct ContendedRoom {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) from: Date,
    /// Day after the last night.
    pub(super) to: Date,
    pub(super) unsold: u64,
}

/// Verifies that the server runs a demo, so that no real seats are bought: only a demo has this route.
pub(super) async fn verify_demo(server: &Client, url: &str) -> Result<(), Error> {
    let response = server.request(Method::GET, "/demo/sale").send().await.map_err(holdfast_client::Error::Transport)?;
    if response.status().is_success() { Ok(()) } else { Err(Error::NoDemo(url.to_owned())) }
}

/// Returns an event that has seats left; if all are sold out, creates another one with the same plan.
pub(super) async fn concert(server: &Client) -> Result<Event, Error> {
    let events = server.events(&[("limit", "500".to_owned())]).await?.items;
    if let Some(event) = events.iter().find(|event| event.queue_enabled && event.remaining_seats > 0) {
        return Ok(event.clone());
    }
    create_next_event(server, events.last().ok_or(Error::NothingToSell("concert"))?).await
}

async fn create_next_event(server: &Client, of: &Event) -> Result<Event, Error> {
    let plan = server.seats(of.id).await?;
    let seats = plan.into_iter().map(|seat| NewSeat {
        label: seat.label.into_owned(),
        section: seat.section.map(Cow::into_owned),
        price: seat.price,
    });
    let name = of.name.split(" · ").next().unwrap_or_default();
    let new = NewEvent {
        name: format!("{name} · 앙코르 {}", of.id + 1),
        currency: Some(of.currency.clone()),
        max_concurrent: Some(of.max_concurrent),
        max_seats_per_user: Some(of.max_seats_per_user),
        seats: seats.collect(),
        ..NewEvent::default()
    };
    Ok(server.create_event(&new).await?)
}

/// Sets when sales open. Before, users may queue but not enter.
pub(super) async fn set_opening(server: &Client, event: u64, at: Option<Timestamp>) -> Result<(), Error> {
    let change = EventChange { sales_open_at: Some(at), ..EventChange::default() };
    server.change_event(event, &change).await?;
    Ok(())
}

/// Returns the room type with the fewest rooms, in the first week without bookings.
pub(super) async fn contended_room(server: &Client, now: Timestamp) -> Result<ContendedRoom, Error> {
    let rooms: Vec<RoomType> = server.room_types(None).await?.items;
    let rarest = rooms.into_iter().filter(|room| room.total_quantity > 0).min_by_key(|room| room.total_quantity);
    let room = rarest.ok_or(Error::NothingToSell("hotel room"))?;
    let zone = jiff::tz::TimeZone::get(&room.time_zone).unwrap_or(jiff::tz::TimeZone::UTC);
    let first = zone.to_datetime(now).date().saturating_add(Span::new().days(DAYS_AHEAD_MIN));
    let last = first.saturating_add(Span::new().days(DAYS_SEARCHED));
    let nights = server.availability(room.id, first, last).await?.nights;
    let week = nights
        .windows(NIGHTS)
        .find(|week| week.iter().all(|night| night.available == night.total_quantity))
        .ok_or(Error::NothingToSell("week in which its rarest room is free"))?;
    let to = week[NIGHTS - 1].date.saturating_add(Span::new().days(1));
    let unsold = week.iter().map(|night| u64::from(night.total_quantity)).sum();
    Ok(ContendedRoom { id: room.id, name: room.name, from: week[0].date, to, unsold })
}
