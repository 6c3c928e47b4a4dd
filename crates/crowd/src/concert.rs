//! At the concert: stand in line, come in, choose, hold, pay. Some leave the line, some leave without buying, some hold
//! seats and give them back.
//!
//! Nobody here vanishes without a word: that is allowed, and the server frees what they had in time, but it would make a
//! sale of half a minute last as long as a hold.

use std::time::{Duration, Instant};

use holdfast_client::{Error, QueueStatus, SeatHold, SeatStatus};

use crate::board::{Bell, Count};
use crate::fairness::Standing;
use crate::notes::{Admission, Call};
use crate::person::Person;

/// Of a hundred people, so many change their minds in line, once inside, and with seats in their hands.
const LEAVE_LINE_PERCENT: u64 = 8;
const LEAVE_INSIDE_PERCENT: u64 = 6;
const LET_GO_PERCENT: u64 = 12;
/// Half of them point at seats of the plan, the others take the best there are.
const POINT_PERCENT: u64 = 50;
const SEATS_MAX: u64 = 4;
/// All that is left is held by others: how long to wait for somebody to let go, and how often to look.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Whatever the server says, nobody asks more often than this, or less.
const POLL_LEAST: Duration = Duration::from_millis(50);
const POLL_MOST: Duration = Duration::from_secs(5);

/// From the end of the line to the way out.
pub(crate) async fn attend(mut person: Person, event: u64) -> Result<(), Error> {
    let place = person.ask(Call::Join, async |server| server.join_queue(event).await).await?;
    person.board.add(Count::Joined, 1);
    let index = person.notes(|notes| {
        notes.line.push(Standing { place: place.rank, came_in_at: None, left_at: None });
        notes.line.len() - 1
    });
    if !wait_in_line(&mut person, event, Duration::from_millis(place.poll_after_ms)).await? {
        leave_line(&person, event, index).await?;
        return Ok(());
    }
    match person.ask(Call::Enter, async |server| server.enter_queue(event).await).await {
        Ok(_) => {}
        // The event was paused or its hall made smaller in this very moment; this is a demo, they go home.
        Err(error) if matches!(error.code(), Some("NOT_YOUR_TURN" | "NOT_IN_QUEUE")) => {
            leave_line(&person, event, index).await?;
            return Ok(());
        }
        Err(error) => return Err(error),
    }
    person.board.add(Count::CameIn, 1);
    let at_seconds = person.board.elapsed().as_secs_f64();
    person.notes(|notes| {
        notes.line[index].came_in_at = Some(at_seconds);
        notes.admissions.push(Admission { at_seconds, place: place.rank });
    });
    let bought = buy(&mut person, event).await;
    person.board.add(Count::WentOut, 1);
    if !bought? {
        person.ask(Call::Release, async |server| server.leave_queue(event).await).await?;
    }
    Ok(())
}

/// Asks as often as told, until it is one's turn. False for those who do not get that far.
async fn wait_in_line(person: &mut Person, event: u64, first_poll: Duration) -> Result<bool, Error> {
    let leaves_after = person.dice.percent(LEAVE_LINE_PERCENT).then(|| 1 + person.dice.below(4));
    let (mut polls_since_opening, mut poll_after) = (0, first_poll);
    loop {
        person.board.wait(poll_after.clamp(POLL_LEAST, POLL_MOST), &[Bell::SoldOut, Bell::Stop]).await;
        let bell = person.board.bell();
        if matches!(bell, Bell::SoldOut | Bell::Stop) {
            return Ok(false);
        }
        // Nobody leaves before the doors open, so that ranks tell places until then.
        polls_since_opening += u64::from(bell == Bell::Open);
        if leaves_after.is_some_and(|polls| polls_since_opening >= polls) {
            return Ok(false);
        }
        let place = person.ask(Call::Poll, async |server| server.poll_queue(event).await).await?;
        if place.status != QueueStatus::Waiting {
            return Ok(true);
        }
        poll_after = Duration::from_millis(place.poll_after_ms);
    }
}

async fn leave_line(person: &Person, event: u64, index: usize) -> Result<(), Error> {
    let at_seconds = person.board.elapsed().as_secs_f64();
    person.notes(|notes| notes.line[index].left_at = Some(at_seconds));
    person.board.add(Count::LeftLine, 1);
    person.board.add(Count::GaveUp, u64::from(!matches!(person.board.bell(), Bell::SoldOut | Bell::Stop)));
    person.ask(Call::Release, async |server| server.leave_queue(event).await).await
}

/// Whether something was bought, which also gives the entry back.
async fn buy(person: &mut Person, event: u64) -> Result<bool, Error> {
    person.think().await;
    if person.dice.percent(LEAVE_INSIDE_PERCENT) {
        person.board.add(Count::GaveUp, 1);
        return Ok(false);
    }
    let wanted = 1 + person.dice.below(SEATS_MAX);
    let began = Instant::now();
    while began.elapsed() < PATIENCE && !person.is_sent_home() {
        let Some(hold) = hold_seats(person, event, wanted).await? else { return Ok(false) };
        let Some(hold) = hold else {
            person.board.wait(LOOK_EVERY, &[Bell::SoldOut, Bell::Stop]).await;
            continue;
        };
        person.think().await;
        if person.is_sent_home() || person.dice.percent(LET_GO_PERCENT) {
            person.ask(Call::Release, async |server| server.cancel_seat_hold(hold.hold_id).await).await?;
            person.board.add(Count::LetGo, 1);
            return Ok(false);
        }
        if pay(person, &hold).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `None` if all is sold; `Some(None)` if there is nothing to be had at the moment.
async fn hold_seats(person: &mut Person, event: u64, wanted: u64) -> Result<Option<Option<SeatHold>>, Error> {
    let answer = if person.dice.percent(POINT_PERCENT) {
        let plan = person.ask(Call::Look, async |server| server.seats(event).await).await?;
        let free: Vec<u64> = plan.iter().filter(|it| it.status == SeatStatus::Available).map(|it| it.id).collect();
        if free.is_empty() {
            let is_sold_out = plan.iter().all(|seat| seat.status == SeatStatus::Reserved);
            return Ok((!is_sold_out).then_some(None));
        }
        // While they look at the plan, so do others.
        person.think().await;
        let first = person.dice.below(free.len() as u64) as usize;
        let chosen: Vec<u64> = free.into_iter().skip(first).take(wanted as usize).collect();
        person.ask(Call::Hold, async |server| server.hold_seats(event, &chosen).await).await
    } else {
        person.ask(Call::Hold, async |server| server.hold_best(event, wanted as u32, None).await).await
    };
    let refusal = match answer {
        Ok(hold) => return Ok(Some(Some(hold))),
        Err(error) => error,
    };
    match refusal.code() {
        Some("SOLD_OUT") => Ok(None),
        Some("SEAT_ALREADY_RESERVED" | "SEAT_HELD_BY_ANOTHER") => {
            person.board.add(Count::LostRace, 1);
            Ok(Some(None))
        }
        Some("NOT_ENOUGH_SEATS") => match person.ask(Call::Hold, async |it| it.hold_best(event, 1, None).await).await {
            Ok(hold) => Ok(Some(Some(hold))),
            Err(error) if error.code() == Some("SOLD_OUT") => Ok(None),
            Err(error) if error.code() == Some("NOT_ENOUGH_SEATS") => Ok(Some(None)),
            Err(error) => Err(error),
        },
        _ => Err(refusal),
    }
}

/// False if the hold had run out of time.
async fn pay(person: &Person, hold: &SeatHold) -> Result<bool, Error> {
    let paid = person.ask(Call::Pay, async |server| server.confirm_seat_hold(hold.hold_id).await).await;
    let reservation = match paid {
        Ok(reservation) => reservation.reservation_id,
        Err(error) if error.code() == Some("SEAT_HOLD_EXPIRED") => return Ok(false),
        // Paid, and the answer was lost on the way: the second time it is told again.
        Err(error) => error.made_before().ok_or(error)?,
    };
    let seats = hold.seats.len() as u64;
    person.board.add(Count::SeatsSold, seats);
    let at = person.board.elapsed().as_secs_f64();
    person.notes(|notes| {
        let sold = notes.seats_sold.last().map_or(0, |(_, sold)| *sold) + seats;
        notes.seats_sold.push((at, sold));
        notes.seat_reservations.push(reservation);
    });
    Ok(true)
}
