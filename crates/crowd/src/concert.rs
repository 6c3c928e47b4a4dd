//! Behaviour of concert customers: queue, enter, choose, hold, pay. Some leave the queue, some leave without buying,
//! some release their holds.
//!
//! No customer vanishes silently. The server would free its units in time, but a sale of half a minute would then last
//! as long as a hold.

use std::time::{Duration, Instant};

use holdfast_client::{Error, QueueStatus, SeatHold, SeatStatus};

use crate::board::{Count, PhaseSignal};
use crate::fairness::QueueRecord;
use crate::notes::{Admission, Call};
use crate::person::Customer;

/// Percentage of customers who leave in the queue, once inside, and with seats held.
const LEAVE_QUEUE_PERCENT: u64 = 8;
const LEAVE_INSIDE_PERCENT: u64 = 6;
const RELEASE_PERCENT: u64 = 12;
/// Percentage of customers that choose seats of the plan; the rest ask for the best available.
const CHOOSE_PERCENT: u64 = 50;
const SEATS_MAX: u64 = 4;
/// Time to wait for a release while all remaining seats are held, and the interval of looking.
const WAIT_MAX: Duration = Duration::from_secs(10);
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// Bounds of the poll interval, which override the server's request.
const POLL_INTERVAL_MIN: Duration = Duration::from_millis(50);
const POLL_INTERVAL_MAX: Duration = Duration::from_secs(5);

/// Runs one customer from joining the queue to leaving.
pub(crate) async fn attend(mut customer: Customer, event: u64) -> Result<(), Error> {
    let place = customer.call(Call::Join, async |server| server.join_queue(event).await).await?;
    customer.board.add(Count::Joined, 1);
    let index = customer.notes(|notes| {
        notes.line.push(QueueRecord { place: place.rank, came_in_at: None, left_at: None });
        notes.line.len() - 1
    });
    if !wait_in_queue(&mut customer, event, Duration::from_millis(place.poll_after_ms)).await? {
        leave_queue(&customer, event, index).await?;
        return Ok(());
    }
    match customer.call(Call::Enter, async |server| server.enter_queue(event).await).await {
        Ok(_) => {}
        // The event was paused or its limit lowered at this moment: the customer leaves.
        Err(error) if matches!(error.code(), Some("NOT_YOUR_TURN" | "NOT_IN_QUEUE")) => {
            leave_queue(&customer, event, index).await?;
            return Ok(());
        }
        Err(error) => return Err(error),
    }
    customer.board.add(Count::Entered, 1);
    let at_seconds = customer.board.elapsed().as_secs_f64();
    customer.notes(|notes| {
        notes.line[index].came_in_at = Some(at_seconds);
        notes.admissions.push(Admission { at_seconds, place: place.rank });
    });
    let bought = buy(&mut customer, event).await;
    customer.board.add(Count::LeftInside, 1);
    if !bought? {
        customer.call(Call::Release, async |server| server.leave_queue(event).await).await?;
    }
    Ok(())
}

/// Polls at the interval the server asks for until it is the customer's turn. False if the customer leaves before.
async fn wait_in_queue(customer: &mut Customer, event: u64, first_poll: Duration) -> Result<bool, Error> {
    let leaves_after = customer.random.percent(LEAVE_QUEUE_PERCENT).then(|| 1 + customer.random.below(4));
    let (mut polls_since_opening, mut poll_after) = (0, first_poll);
    loop {
        customer
            .board
            .wait(poll_after.clamp(POLL_INTERVAL_MIN, POLL_INTERVAL_MAX), &[PhaseSignal::SoldOut, PhaseSignal::Stop])
            .await;
        let signal = customer.board.signal();
        if matches!(signal, PhaseSignal::SoldOut | PhaseSignal::Stop) {
            return Ok(false);
        }
        // No customer leaves before sales open, so that until then ranks equal places.
        polls_since_opening += u64::from(signal == PhaseSignal::Open);
        if leaves_after.is_some_and(|polls| polls_since_opening >= polls) {
            return Ok(false);
        }
        let place = customer.call(Call::Poll, async |server| server.poll_queue(event).await).await?;
        if place.status != QueueStatus::Waiting {
            return Ok(true);
        }
        poll_after = Duration::from_millis(place.poll_after_ms);
    }
}

async fn leave_queue(customer: &Customer, event: u64, index: usize) -> Result<(), Error> {
    let at_seconds = customer.board.elapsed().as_secs_f64();
    customer.notes(|notes| notes.line[index].left_at = Some(at_seconds));
    customer.board.add(Count::LeftQueue, 1);
    customer.board.add(
        Count::LeftWithoutBuying,
        u64::from(!matches!(customer.board.signal(), PhaseSignal::SoldOut | PhaseSignal::Stop)),
    );
    customer.call(Call::Release, async |server| server.leave_queue(event).await).await
}

/// Returns whether the customer bought seats; buying also gives the entry back.
async fn buy(customer: &mut Customer, event: u64) -> Result<bool, Error> {
    customer.think().await;
    if customer.random.percent(LEAVE_INSIDE_PERCENT) {
        customer.board.add(Count::LeftWithoutBuying, 1);
        return Ok(false);
    }
    let count = 1 + customer.random.below(SEATS_MAX);
    let began = Instant::now();
    while began.elapsed() < WAIT_MAX && !customer.is_stopping() {
        let Some(hold) = hold_seats(customer, event, count).await? else { return Ok(false) };
        let Some(hold) = hold else {
            customer.board.wait(LOOK_INTERVAL, &[PhaseSignal::SoldOut, PhaseSignal::Stop]).await;
            continue;
        };
        customer.think().await;
        if customer.is_stopping() || customer.random.percent(RELEASE_PERCENT) {
            customer.call(Call::Release, async |server| server.cancel_seat_hold(hold.hold_id).await).await?;
            customer.board.add(Count::Released, 1);
            return Ok(false);
        }
        if pay(customer, &hold).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns `None` if all is sold, `Some(None)` if no seats are available at the moment.
async fn hold_seats(customer: &mut Customer, event: u64, count: u64) -> Result<Option<Option<SeatHold>>, Error> {
    let answer = if customer.random.percent(CHOOSE_PERCENT) {
        let plan = customer.call(Call::Look, async |server| server.seats(event).await).await?;
        let free: Vec<u64> = plan.iter().filter(|it| it.status == SeatStatus::Available).map(|it| it.id).collect();
        if free.is_empty() {
            let is_sold_out = plan.iter().all(|seat| seat.status == SeatStatus::Reserved);
            return Ok((!is_sold_out).then_some(None));
        }
        // Other customers act while this one looks at the plan.
        customer.think().await;
        let first = customer.random.below(free.len() as u64) as usize;
        let chosen: Vec<u64> = free.into_iter().skip(first).take(count as usize).collect();
        customer.call(Call::Hold, async |server| server.hold_seats(event, &chosen).await).await
    } else {
        customer.call(Call::Hold, async |server| server.hold_best(event, count as u32, None).await).await
    };
    let rejection = match answer {
        Ok(hold) => return Ok(Some(Some(hold))),
        Err(error) => error,
    };
    match rejection.code() {
        Some("SOLD_OUT") => Ok(None),
        Some("SEAT_ALREADY_RESERVED" | "SEAT_HELD_BY_ANOTHER") => {
            customer.board.add(Count::LostRace, 1);
            Ok(Some(None))
        }
        Some("NOT_ENOUGH_SEATS") => {
            match customer.call(Call::Hold, async |it| it.hold_best(event, 1, None).await).await {
                Ok(hold) => Ok(Some(Some(hold))),
                Err(error) if error.code() == Some("SOLD_OUT") => Ok(None),
                Err(error) if error.code() == Some("NOT_ENOUGH_SEATS") => Ok(Some(None)),
                Err(error) => Err(error),
            }
        }
        _ => Err(rejection),
    }
}

/// Returns false if the hold had expired.
async fn pay(customer: &Customer, hold: &SeatHold) -> Result<bool, Error> {
    let paid = customer.call(Call::Pay, async |server| server.confirm_seat_hold(hold.hold_id).await).await;
    let reservation = match paid {
        Ok(reservation) => reservation.reservation_id,
        Err(error) if error.code() == Some("SEAT_HOLD_EXPIRED") => return Ok(false),
        // Paid, but the response was lost: the retry is told of the reservation.
        Err(error) => error.made_before().ok_or(error)?,
    };
    let seats = hold.seats.len() as u64;
    customer.board.add(Count::SeatsSold, seats);
    let at = customer.board.elapsed().as_secs_f64();
    customer.notes(|notes| {
        let sold = notes.seats_sold.last().map_or(0, |(_, sold)| *sold) + seats;
        notes.seats_sold.push((at, sold));
        notes.seat_reservations.push(reservation);
    });
    Ok(true)
}
