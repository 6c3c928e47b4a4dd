//! Verification of the results from the server's data, and of the order of admission. The simulator's own counts prove
//! nothing.

use std::collections::{HashMap, HashSet};

use holdfast_client::{Client, Event, List, Reservation, ReservationStatus, SeatReservationStatus, SeatStatus};
use jiff::civil::Date;
use serde::Serialize;

use super::Error;
use super::fixture::ContendedRoom;

/// Maximum number of pages of 500 items; a demo has far fewer.
const PAGES_MAX: usize = 400;

/// Course of one customer in the queue.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueRecord {
    /// Place, from 0, in order of acceptance.
    pub place: u64,
    /// Time of entering, in seconds; `None` if the customer left or stayed in the queue to the end.
    pub entered_at: Option<f64>,
    pub left_at: Option<f64>,
}

/// Fairness of admission. The waiting room makes users ready by their place, up to the limit of users inside. Users who are
/// ready at the same time may enter in any order, so that a customer may overtake as many others as may be inside, less one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fairness {
    /// Maximum number of customers with an earlier place that any customer overtook.
    pub overtaken_max: u64,
    /// Customers overtaken beyond the fair maximum. Anything but 0 is an error.
    pub error: u64,
}

impl Fairness {
    /// Compares the order of entering with the places in the queue; `inside_max` users may be inside at once.
    pub fn of(queue: &[QueueRecord], inside_max: u32) -> Self {
        let overtaken = |one: &QueueRecord| -> u64 {
            let Some(at) = one.entered_at else { return 0 };
            let is_later = |time: Option<f64>| time.is_none_or(|time| time > at);
            let was_there = |it: &&QueueRecord| it.place < one.place && is_later(it.entered_at) && is_later(it.left_at);
            queue.iter().filter(was_there).count() as u64
        };
        let overtaken_max = queue.iter().map(overtaken).max().unwrap_or_default();
        Self { overtaken_max, error: overtaken_max.saturating_sub(u64::from(inside_max.saturating_sub(1))) }
    }
}

/// Result for the concert's seats.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConcertSold {
    pub name: String,
    pub max_concurrent: u32,
    pub capacity: u64,
    pub sold: u64,
    /// Seats with two reservations, and reserved seats with none.
    pub oversold: u64,
    /// Reservations answered to a customer but unknown to the server.
    pub lost: u64,
}

/// Result for the nights of the popular room.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomSold {
    pub room_type_id: u64,
    pub name: String,
    pub from: Date,
    pub to: Date,
    pub capacity: u64,
    pub sold: u64,
    /// Nights sold beyond capacity, and nights whose count differs from their reservations.
    pub oversold: u64,
    pub lost: u64,
    /// Rooms sold per night.
    pub nights: Vec<(Date, u64)>,
}

pub(super) async fn concert(server: &Client, event: &Event, confirmed_ids: &[u64]) -> Result<ConcertSold, Error> {
    let plan = server.seats(event.id).await?;
    let sold = plan.iter().filter(|seat| seat.status == SeatStatus::Reserved).count() as u64;
    let all = all_pages(|query| async move { server.seat_reservations(&query).await }).await?;
    let mut owners: HashMap<u64, u64> = HashMap::new();
    let live = all.iter().filter(|it| it.event_id == event.id && it.status == SeatReservationStatus::Reserved);
    for seat in live.flat_map(|reservation| &reservation.seats) {
        *owners.entry(seat.id).or_default() += 1;
    }
    Ok(ConcertSold {
        name: event.name.clone(),
        max_concurrent: event.max_concurrent,
        capacity: plan.len() as u64,
        sold,
        oversold: owners.values().map(|count| count - 1).sum::<u64>() + sold.abs_diff(owners.len() as u64),
        lost: missing(confirmed_ids, all.iter().map(|reservation| reservation.reservation_id)),
    })
}

pub(super) async fn room(server: &Client, room: &ContendedRoom, confirmed_ids: &[u64]) -> Result<RoomSold, Error> {
    let availability = server.availability(room.id, room.from, room.to).await?;
    let all = all_pages(|mut query| async move {
        query.push(("roomTypeId", room.id.to_string()));
        server.reservations(&query).await
    })
    .await?;
    let live: Vec<_> = all.iter().filter(|it| it.status == ReservationStatus::Confirmed).collect();
    let oversold = availability.nights.iter().map(|night| {
        let is_guest = |it: &&&Reservation| it.check_in <= night.date && night.date < it.check_out;
        let (guests, counted) = (live.iter().filter(is_guest).count() as u64, u64::from(night.reserved_count));
        guests.saturating_sub(u64::from(night.total_quantity)).max(guests.abs_diff(counted))
    });
    let nights: Vec<_> = availability.nights.iter().map(|it| (it.date, u64::from(it.reserved_count))).collect();
    Ok(RoomSold {
        room_type_id: room.id,
        name: room.name.clone(),
        from: room.from,
        to: room.to,
        capacity: room.unsold,
        sold: nights.iter().map(|(_, sold)| sold).sum(),
        oversold: oversold.sum(),
        lost: missing(confirmed_ids, all.iter().map(|reservation| reservation.reservation_id)),
        nights,
    })
}

/// Returns how many ids the server does not know.
fn missing(ids: &[u64], known: impl Iterator<Item = u64>) -> u64 {
    let known: HashSet<u64> = known.collect();
    ids.iter().filter(|id| !known.contains(id)).count() as u64
}

async fn all_pages<T, F>(read: impl Fn(Vec<(&'static str, String)>) -> F) -> Result<Vec<T>, Error>
where
    F: Future<Output = Result<List<T>, holdfast_client::Error>>,
{
    let (mut all, mut query) = (Vec::new(), vec![("limit", "500".to_owned())]);
    for _ in 0..PAGES_MAX {
        let page = read(query.clone()).await?;
        all.extend(page.items);
        let Some(cursor) = page.next_cursor else { break };
        query.truncate(1);
        query.push(("cursor", cursor));
    }
    Ok(all)
}
