//! Verification of the results from the server's data. The simulator's own counts prove nothing.

use std::collections::{HashMap, HashSet};

use holdfast_client::{Client, List, ReservationStatus, SeatReservationStatus, SeatStatus};
use jiff::civil::Date;
use serde::Serialize;

use crate::Error;
use crate::stage::{Concert, ContendedRoom};

/// Maximum number of pages of 500 items; a demo has far fewer.
const PAGES_MAX: usize = 400;

/// Result for the concert's seats.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConcertSold {
    pub event_id: u64,
    pub name: String,
    pub max_concurrent: u32,
    pub capacity: u64,
    /// Reserved seats of the seat plan.
    pub sold: u64,
    pub sold_before: u64,
    /// Held seats of users outside the simulation.
    pub held: u64,
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
    /// Nights sold beyond capacity.
    pub oversold: u64,
    pub lost: u64,
    /// Rooms sold per night.
    pub nights: Vec<u64>,
}

pub(crate) async fn concert(server: &Client, concert: &Concert, confirmed_ids: &[u64]) -> Result<ConcertSold, Error> {
    let event = &concert.event;
    let plan = server.seats(event.id).await?;
    let with = |status| plan.iter().filter(|seat| seat.status == status).count() as u64;
    let (sold, held, capacity) = (with(SeatStatus::Reserved), with(SeatStatus::Held), plan.len() as u64);
    let all = all_pages(|query| async move { server.seat_reservations(&query).await }).await?;
    let mut owners: HashMap<u64, u64> = HashMap::new();
    let live = all.iter().filter(|it| it.event_id == event.id && it.status == SeatReservationStatus::Reserved);
    for seat in live.flat_map(|reservation| &reservation.seats) {
        *owners.entry(seat.id).or_default() += 1;
    }
    let twice: u64 = owners.values().map(|owners| owners - 1).sum();
    let known: HashSet<u64> = all.iter().map(|reservation| reservation.reservation_id).collect();
    Ok(ConcertSold {
        event_id: event.id,
        name: event.name.clone(),
        max_concurrent: event.max_concurrent,
        capacity,
        sold,
        sold_before: capacity.saturating_sub(concert.unsold),
        held,
        oversold: twice + sold.abs_diff(owners.len() as u64),
        lost: confirmed_ids.iter().filter(|number| !known.contains(number)).count() as u64,
    })
}

pub(crate) async fn room(server: &Client, room: &ContendedRoom, confirmed_ids: &[u64]) -> Result<RoomSold, Error> {
    let availability = server.availability(room.id, room.from, room.to).await?;
    let all = all_pages(|mut query| async move {
        query.push(("roomTypeId", room.id.to_string()));
        server.reservations(&query).await
    })
    .await?;
    let live: Vec<_> = all.iter().filter(|it| it.status == ReservationStatus::Confirmed).collect();
    let guests = |date: Date| live.iter().filter(|it| it.check_in <= date && date < it.check_out).count() as u64;
    let mut oversold = 0;
    for night in &availability.nights {
        let (guests, counted) = (guests(night.date), u64::from(night.reserved_count));
        oversold += guests.saturating_sub(u64::from(night.total_quantity)).max(guests.abs_diff(counted));
    }
    let nights: Vec<u64> = availability.nights.iter().map(|night| u64::from(night.reserved_count)).collect();
    let known: HashSet<u64> = all.iter().map(|reservation| reservation.reservation_id).collect();
    Ok(RoomSold {
        room_type_id: room.id,
        name: room.name.clone(),
        from: room.from,
        to: room.to,
        capacity: room.unsold,
        sold: nights.iter().sum(),
        oversold,
        lost: confirmed_ids.iter().filter(|number| !known.contains(number)).count() as u64,
        nights,
    })
}

async fn all_pages<T, F>(read: impl Fn(Vec<(&'static str, String)>) -> F) -> Result<Vec<T>, Error>
where
    F: Future<Output = Result<List<T>, holdfast_client::Error>>,
{
    let (mut all, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let limit = ("limit", "500".to_owned());
        let page = read([Some(limit), cursor.map(|cursor| ("cursor", cursor))].into_iter().flatten().collect()).await?;
        all.extend(page.items);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(all)
}
