//! Behaviour of hotel customers: all want the same room, each for one of the same few nights.

use std::sync::Arc;
use std::time::Instant;

use holdfast_client::{Error, Hold, NewHold, Night};
use rand::RngExt as _;

use super::TIME_LIMIT_MAX;
use super::customer::{Customer, POLL_INTERVAL, WAIT_MAX};
use super::fixture::ContendedRoom;
use super::progress::PhaseSignal;

const RELEASE_PERCENT: u64 = 15;

/// Runs one customer from the first look to a reservation, or to giving up.
pub(super) async fn attend(mut customer: Customer, room: Arc<ContendedRoom>) -> Result<(), Error> {
    customer.progress.wait(TIME_LIMIT_MAX, PhaseSignal::Open).await;
    let began = Instant::now();
    while began.elapsed() < WAIT_MAX && customer.progress.signal() != PhaseSignal::Stop {
        let ContendedRoom { id, from, to, .. } = *room;
        let nights = customer.call(async |server| server.availability(id, from, to).await).await?.nights;
        if nights.iter().all(|night| night.closed || night.reserved_count >= night.total_quantity) {
            return Ok(());
        }
        customer.think().await;
        let Some(hold) = hold(&mut customer, &room, &nights).await? else {
            customer.progress.wait(POLL_INTERVAL, PhaseSignal::Stop).await;
            continue;
        };
        customer.think().await;
        if customer.progress.signal() == PhaseSignal::Stop || customer.is_in_percentage(RELEASE_PERCENT) {
            customer.call(async |server| server.cancel_hold(hold.hold_id).await).await?;
            customer.progress.with(|measured| measured.counts.let_go += 1);
            return Ok(());
        }
        if pay(&customer, &hold).await? {
            return Ok(());
        }
    }
    Ok(())
}

/// Returns `None` if another customer was first, or no room is available at the moment.
async fn hold(customer: &mut Customer, room: &ContendedRoom, nights: &[Night]) -> Result<Option<Hold>, Error> {
    let free: Vec<&Night> = nights.iter().filter(|night| night.available > 0).collect();
    let Some(night) = free.get(customer.random_below(free.len() as u64) as usize) else { return Ok(None) };
    let (check_in, check_out) = (night.date, night.date.saturating_add(jiff::Span::new().days(1)));
    // A key of its own keeps the customer's hold apart from others.
    let key = uuid::Builder::from_random_bytes(customer.random.random()).into_uuid();
    let new = NewHold::new(room.id, check_in, check_out, key);
    match customer.call(async |server| server.place_hold(&new).await).await {
        Ok(hold) => Ok(Some(hold)),
        Err(error) if error.code() == Some("ROOM_NOT_AVAILABLE") => {
            customer.progress.with(|measured| measured.counts.lost_races += 1);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns false if the hold had expired.
async fn pay(customer: &Customer, hold: &Hold) -> Result<bool, Error> {
    let paid = customer.call(async |server| server.confirm_hold(hold.hold_id).await).await;
    let reservation = match paid {
        Ok(reservation) => reservation.reservation_id,
        Err(error) if error.code() == Some("RESERVATION_HOLD_EXPIRED") => return Ok(false),
        Err(error) => error.made_before().ok_or(error)?,
    };
    customer.progress.with(|measured| {
        measured.counts.nights_sold += 1;
        measured.stays.push(reservation);
    });
    Ok(true)
}
