//! At the hotel: everybody wants the same room, for one to three of the same few nights.

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdfast_client::{Availability, Error, Hold, NewHold, Night};
use uuid::Uuid;

use crate::TIME_LIMIT_MAX;
use crate::board::{Bell, Count};
use crate::notes::Call;
use crate::person::Person;
use crate::stage::HotRoom;

const LET_GO_PERCENT: u64 = 15;
const NIGHTS_MAX: u64 = 3;
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// From the first look to the key, or to the next hotel.
pub(crate) async fn attend(mut person: Person, room: Arc<HotRoom>) -> Result<(), Error> {
    person.board.wait(TIME_LIMIT_MAX, &[Bell::Open, Bell::SoldOut, Bell::Stop]).await;
    let began = Instant::now();
    while began.elapsed() < PATIENCE && !person.is_sent_home() {
        let HotRoom { id, from, to, .. } = *room;
        let seen = person.ask(Call::Look, async |server| server.availability(id, from, to).await).await?;
        if seen.nights.iter().all(is_sold) {
            return Ok(());
        }
        person.think().await;
        let Some(hold) = hold(&mut person, &room, &seen).await? else {
            person.board.wait(LOOK_EVERY, &[Bell::Stop]).await;
            continue;
        };
        person.think().await;
        if person.is_sent_home() || person.dice.percent(LET_GO_PERCENT) {
            person.ask(Call::Release, async |server| server.cancel_hold(hold.hold_id).await).await?;
            person.board.add(Count::LetGo, 1);
            return Ok(());
        }
        if pay(&person, &hold).await? {
            return Ok(());
        }
    }
    Ok(())
}

fn is_sold(night: &Night) -> bool {
    night.closed || night.reserved_count >= night.total_quantity
}

/// `None` if another was quicker, or nothing is free at the moment.
async fn hold(person: &mut Person, room: &HotRoom, seen: &Availability) -> Result<Option<Hold>, Error> {
    let free: Vec<usize> = (0..seen.nights.len()).filter(|night| seen.nights[*night].available > 0).collect();
    let Some(first) = free.get(person.dice.below(free.len() as u64) as usize).copied() else { return Ok(None) };
    let wanted = 1 + person.dice.below(NIGHTS_MAX) as usize;
    let nights = (first..seen.nights.len()).take(wanted).take_while(|night| free.contains(night)).count();
    let check_in = seen.nights[first].date;
    let check_out = check_in.saturating_add(jiff::Span::new().days(nights as i64));
    // Any UUID will do; one's own, so that nobody else's hold is meant by it.
    let key = Uuid::from_u64_pair((person.dice.roll() & !0xf000) | 0x4000, person.dice.roll() >> 2 | 1 << 63);
    let new = NewHold::new(room.id, check_in, check_out, key);
    match person.ask(Call::Hold, async |server| server.place_hold(&new).await).await {
        Ok(hold) => Ok(Some(hold)),
        Err(error) if error.code() == Some("ROOM_NOT_AVAILABLE") => {
            person.board.add(Count::LostRace, 1);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// False if the hold had run out of time.
async fn pay(person: &Person, hold: &Hold) -> Result<bool, Error> {
    let paid = person.ask(Call::Pay, async |server| server.confirm_hold(hold.hold_id).await).await;
    let reservation = match paid {
        Ok(reservation) => reservation.reservation_id,
        Err(error) if error.code() == Some("RESERVATION_HOLD_EXPIRED") => return Ok(false),
        Err(error) => error.made_before().ok_or(error)?,
    };
    let nights = hold.check_in.duration_until(hold.check_out).as_hours() / 24;
    person.board.add(Count::NightsSold, nights.unsigned_abs());
    person.notes(|notes| notes.stays.push(reservation));
    Ok(true)
}
