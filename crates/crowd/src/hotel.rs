//! Behaviour of hotel customers: all want the same room, for one to three of the same few nights.

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdfast_client::{Availability, Error, Hold, NewHold, Night};
use uuid::Uuid;

use crate::TIME_LIMIT_MAX;
use crate::board::{Count, PhaseSignal};
use crate::notes::Call;
use crate::person::Customer;
use crate::stage::ContendedRoom;

const RELEASE_PERCENT: u64 = 15;
const NIGHTS_MAX: u64 = 3;
const WAIT_MAX: Duration = Duration::from_secs(10);
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// Runs one customer from the first look to a reservation, or to giving up.
pub(crate) async fn attend(mut customer: Customer, room: Arc<ContendedRoom>) -> Result<(), Error> {
    customer.board.wait(TIME_LIMIT_MAX, &[PhaseSignal::Open, PhaseSignal::SoldOut, PhaseSignal::Stop]).await;
    let began = Instant::now();
    while began.elapsed() < WAIT_MAX && !customer.is_stopping() {
        let ContendedRoom { id, from, to, .. } = *room;
        let availability = customer.call(Call::Look, async |server| server.availability(id, from, to).await).await?;
        if availability.nights.iter().all(is_sold) {
            return Ok(());
        }
        customer.think().await;
        let Some(hold) = hold(&mut customer, &room, &availability).await? else {
            customer.board.wait(LOOK_INTERVAL, &[PhaseSignal::Stop]).await;
            continue;
        };
        customer.think().await;
        if customer.is_stopping() || customer.random.percent(RELEASE_PERCENT) {
            customer.call(Call::Release, async |server| server.cancel_hold(hold.hold_id).await).await?;
            customer.board.add(Count::Released, 1);
            return Ok(());
        }
        if pay(&customer, &hold).await? {
            return Ok(());
        }
    }
    Ok(())
}

fn is_sold(night: &Night) -> bool {
    night.closed || night.reserved_count >= night.total_quantity
}

/// Returns `None` if another customer was first, or no room is available at the moment.
async fn hold(
    customer: &mut Customer,
    room: &ContendedRoom,
    availability: &Availability,
) -> Result<Option<Hold>, Error> {
    let free: Vec<usize> =
        (0..availability.nights.len()).filter(|night| availability.nights[*night].available > 0).collect();
    let Some(first) = free.get(customer.random.below(free.len() as u64) as usize).copied() else { return Ok(None) };
    let nights_wanted = 1 + customer.random.below(NIGHTS_MAX) as usize;
    let nights =
        (first..availability.nights.len()).take(nights_wanted).take_while(|night| free.contains(night)).count();
    let check_in = availability.nights[first].date;
    let check_out = check_in.saturating_add(jiff::Span::new().days(nights as i64));
    // A key of its own keeps the customer's hold apart from others.
    let key = Uuid::from_u64_pair((customer.random.next() & !0xf000) | 0x4000, customer.random.next() >> 2 | 1 << 63);
    let new = NewHold::new(room.id, check_in, check_out, key);
    match customer.call(Call::Hold, async |server| server.place_hold(&new).await).await {
        Ok(hold) => Ok(Some(hold)),
        Err(error) if error.code() == Some("ROOM_NOT_AVAILABLE") => {
            customer.board.add(Count::LostRace, 1);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns false if the hold had expired.
async fn pay(customer: &Customer, hold: &Hold) -> Result<bool, Error> {
    let paid = customer.call(Call::Pay, async |server| server.confirm_hold(hold.hold_id).await).await;
    let reservation = match paid {
        Ok(reservation) => reservation.reservation_id,
        Err(error) if error.code() == Some("RESERVATION_HOLD_EXPIRED") => return Ok(false),
        Err(error) => error.made_before().ok_or(error)?,
    };
    let nights = hold.check_in.duration_until(hold.check_out).as_hours() / 24;
    customer.board.add(Count::NightsSold, nights.unsigned_abs());
    customer.notes(|notes| notes.stays.push(reservation));
    Ok(true)
}
