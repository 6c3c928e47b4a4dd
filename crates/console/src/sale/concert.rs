//! Behaviour of concert customers: queue, enter, choose, hold, pay. Some leave the queue, some leave without buying,
//! some release their holds.
//!
//! No customer vanishes silently. The server would free its units in time, but a sale of half a minute would then last
//! as long as a hold.

use std::time::{Duration, Instant};

use holdfast_client::{Error, QueueStatus, SeatHold, SeatStatus};

use super::customer::{Customer, POLL_INTERVAL, WAIT_MAX};
use super::progress::PhaseSignal;
use super::verification::QueueRecord;

/// Percentage of customers who leave in the queue, once inside, and with seats held.
const LEAVE_QUEUE_PERCENT: u64 = 8;
const LEAVE_INSIDE_PERCENT: u64 = 6;
const RELEASE_PERCENT: u64 = 12;
/// Percentage of customers that choose seats of the plan; the rest ask for the best available.
const CHOOSE_PERCENT: u64 = 50;
const SEATS_MAX: u64 = 4;
/// Bounds of the poll interval, which override the server's request.
const POLL_INTERVAL_MIN: Duration = Duration::from_millis(50);
const POLL_INTERVAL_MAX: Duration = Duration::from_secs(5);

/// Runs one customer from joining the queue to leaving.
pub(super) async fn attend(mut customer: Customer, event: u64) -> Result<(), Error> {
    let place = customer.call(async |server| server.join_queue(event).await).await?;
    let index = customer.progress.with(|measured| {
        measured.counts.joined += 1;
        measured.counts.waiting += 1;
        measured.queue.push(QueueRecord { place: place.rank, entered_at: None, left_at: None });
        measured.queue.len() - 1
    });
    let is_admitted = wait_in_queue(&mut customer, event, Duration::from_millis(place.poll_after_ms)).await?
        && match customer.call(async |server| server.enter_queue(event).await).await {
            Ok(_) => true,
            // The event was paused or its limit lowered at this moment.
            Err(error) if matches!(error.code(), Some("NOT_YOUR_TURN" | "NOT_IN_QUEUE")) => false,
            Err(error) => return Err(error),
        };
    let at_seconds = customer.progress.elapsed_seconds();
    if !is_admitted {
        let by_choice = !customer.progress.is_over();
        customer.progress.with(|measured| {
            measured.queue[index].left_at = Some(at_seconds);
            measured.counts.waiting -= 1;
            measured.counts.gave_up += u64::from(by_choice);
        });
        return customer.call(async |server| server.leave_queue(event).await).await;
    }
    customer.progress.with(|measured| {
        measured.queue[index].entered_at = Some(at_seconds);
        measured.counts.waiting -= 1;
        measured.counts.inside += 1;
    });
    let bought = buy(&mut customer, event).await;
    customer.progress.with(|measured| measured.counts.inside -= 1);
    if !bought? {
        customer.call(async |server| server.leave_queue(event).await).await?;
    }
    Ok(())
}

/// Polls at the interval the server asks for until it is the customer's turn. False if the customer leaves before.
async fn wait_in_queue(customer: &mut Customer, event: u64, first_poll: Duration) -> Result<bool, Error> {
    let leaves_after = customer.is_in_percentage(LEAVE_QUEUE_PERCENT).then(|| 1 + customer.random_below(4));
    let (mut polls_since_opening, mut poll_after) = (0, first_poll);
    loop {
        let interval = poll_after.clamp(POLL_INTERVAL_MIN, POLL_INTERVAL_MAX);
        customer.progress.wait(interval, PhaseSignal::SoldOut).await;
        // No customer leaves before sales open, so that until then ranks equal places.
        polls_since_opening += u64::from(customer.progress.signal() == PhaseSignal::Open);
        if customer.progress.is_over() || leaves_after.is_some_and(|polls| polls_since_opening >= polls) {
            return Ok(false);
        }
        let place = customer.call(async |server| server.poll_queue(event).await).await?;
        if place.status != QueueStatus::Waiting {
            return Ok(true);
        }
        poll_after = Duration::from_millis(place.poll_after_ms);
    }
}

/// Returns whether the customer bought seats; buying also gives the entry back.
async fn buy(customer: &mut Customer, event: u64) -> Result<bool, Error> {
    customer.think().await;
    if customer.is_in_percentage(LEAVE_INSIDE_PERCENT) {
        customer.progress.with(|measured| measured.counts.gave_up += 1);
        return Ok(false);
    }
    let mut count = 1 + customer.random_below(SEATS_MAX);
    let began = Instant::now();
    while began.elapsed() < WAIT_MAX && !customer.progress.is_over() {
        let Some(hold) = hold_seats(customer, event, count).await? else {
            // There may be fewer seats than the customer wants.
            count = 1;
            customer.progress.wait(POLL_INTERVAL, PhaseSignal::SoldOut).await;
            continue;
        };
        customer.think().await;
        if customer.progress.signal() == PhaseSignal::Stop || customer.is_in_percentage(RELEASE_PERCENT) {
            customer.call(async |server| server.cancel_seat_hold(hold.hold_id).await).await?;
            customer.progress.with(|measured| measured.counts.let_go += 1);
            return Ok(false);
        }
        if pay(customer, &hold).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns `None` if too few seats are available at the moment, or another customer was first.
async fn hold_seats(customer: &mut Customer, event: u64, count: u64) -> Result<Option<SeatHold>, Error> {
    let answer = if customer.is_in_percentage(CHOOSE_PERCENT) {
        let plan = customer.call(async |server| server.seats(event).await).await?;
        let free: Vec<u64> = plan.iter().filter(|it| it.status == SeatStatus::Available).map(|it| it.id).collect();
        if free.is_empty() {
            return Ok(None);
        }
        // Other customers act while this one looks at the plan.
        customer.think().await;
        let first = customer.random_below(free.len() as u64) as usize;
        let chosen: Vec<u64> = free.into_iter().skip(first).take(count as usize).collect();
        customer.call(async |server| server.hold_seats(event, &chosen).await).await
    } else {
        customer.call(async |server| server.hold_best(event, count as u32, None).await).await
    };
    match answer {
        Ok(hold) => Ok(Some(hold)),
        Err(error) => match error.code() {
            Some("SEAT_ALREADY_RESERVED" | "SEAT_HELD_BY_ANOTHER") => {
                customer.progress.with(|measured| measured.counts.lost_races += 1);
                Ok(None)
            }
            Some("SOLD_OUT" | "NOT_ENOUGH_SEATS") => Ok(None),
            _ => Err(error),
        },
    }
}

/// Returns false if the hold had expired.
async fn pay(customer: &Customer, hold: &SeatHold) -> Result<bool, Error> {
    let paid = customer.call(async |server| server.confirm_seat_hold(hold.hold_id).await).await;
    let reservation = match paid {
        Ok(reservation) => reservation.reservation_id,
        Err(error) if error.code() == Some("SEAT_HOLD_EXPIRED") => return Ok(false),
        // Paid, but the response was lost: the retry is told of the reservation.
        Err(error) => error.made_before().ok_or(error)?,
    };
    let at_seconds = customer.progress.elapsed_seconds();
    customer.progress.with(|measured| {
        measured.counts.seats_sold += hold.seats.len() as u64;
        measured.seat_sales.push((at_seconds, measured.counts.seats_sold));
        measured.seat_reservations.push(reservation);
    });
    Ok(true)
}
