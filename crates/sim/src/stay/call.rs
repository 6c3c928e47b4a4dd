//! Commands and replies of stays. All commands are one type, so that a history is a list of plain values for the
//! engine, the pure core and the model.

use std::fmt;
use std::sync::Arc;

use holdfast_core::command::Attempt;
use holdfast_core::hold::{ExtendHold, Hold, NewEnd};
use holdfast_core::id::HoldId;
use holdfast_core::idempotency::{self, IdempotencyRecordId};
use holdfast_core::stay::place::{PlaceStayHold, PlaceStayHolds};
use holdfast_core::stay::reservation::CancelStayReservation;
use holdfast_core::stay::room_type::{ChangeRoomType, CreateRoomType, SetNightsClosed};
use holdfast_core::stay::{CancelStayHold, ConfirmStayHold, RoomType, StayDates, StayReservation};
use holdfast_core::{Command, Context, Decision, Rejection, Timestamp, WorkingSet};
use holdfast_engine::{Answer, Batch, Once, Pending, Refused};
use parking_lot::Mutex;

/// A request, optionally under an idempotency key.
#[derive(Clone, Debug)]
pub struct Call {
    pub request: Request,
    pub key: Option<Key>,
}

#[derive(Clone, Debug)]
pub enum Request {
    CreateRoomType(CreateRoomType),
    ChangeRoomType(ChangeRoomType),
    SetNightsClosed(SetNightsClosed),
    Place(PlaceStayHold),
    PlaceMany(PlaceStayHolds),
    Confirm(ConfirmStayHold),
    Cancel(CancelStayHold),
    Extend(ExtendHold),
    CancelReservation(CancelStayReservation),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub id: IdempotencyRecordId,
    /// Identity of the request body: repeated requests have the same number, different requests different ones.
    pub request: u64,
}

/// Reply to a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Done(Outcome),
    /// First response under the same key.
    Replayed(Vec<u8>),
    Rejected(Rejection),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    RoomType(RoomType),
    Nights(StayDates),
    Hold(Hold),
    Holds(Vec<Result<Hold, Rejection>>),
    Released,
    Extended(Hold),
    Reservation(StayReservation),
}

/// Result of a call after its batch.
#[derive(Clone, Debug, PartialEq)]
pub enum CallResult {
    Reply(Reply),
    /// The store failed before a reply.
    NoReply(String),
    /// A result that no caller may get.
    Unexpected(Refused),
}

/// Takes the result after the batch has run.
pub type PendingResult = Box<dyn FnOnce() -> CallResult>;

impl Call {
    pub fn without_key(request: Request) -> Self {
        Self { request, key: None }
    }

    /// Adds the command to a batch of the engine.
    pub fn submit(&self, batch: &mut Batch) -> PendingResult {
        let key = self.key.as_ref();
        match &self.request {
            Request::CreateRoomType(command) => submit(batch, command, key, Outcome::RoomType),
            Request::ChangeRoomType(command) => submit(batch, command, key, Outcome::RoomType),
            Request::SetNightsClosed(command) => submit(batch, command, key, Outcome::Nights),
            Request::Place(command) => submit(batch, command, key, Outcome::Hold),
            Request::PlaceMany(command) => submit(batch, command, key, Outcome::Holds),
            Request::Confirm(command) => submit(batch, command, key, Outcome::Reservation),
            Request::Cancel(command) => submit(batch, command, key, |()| Outcome::Released),
            Request::Extend(command) => submit(batch, command, key, Outcome::extended),
            Request::CancelReservation(command) => submit(batch, command, key, Outcome::Reservation),
        }
    }

    /// Decides the call without an engine, including the engine's handling of idempotency keys.
    pub fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Reply> {
        if let Some(key) = &self.key
            && let Some(response) = idempotency::find(rows, at, &key.id, &key.fingerprint())?
        {
            return Ok(Reply::Replayed(response));
        }
        let outcome = match &self.request {
            Request::CreateRoomType(command) => Outcome::RoomType(command.decide(rows, at)?),
            Request::ChangeRoomType(command) => Outcome::RoomType(command.decide(rows, at)?),
            Request::SetNightsClosed(command) => Outcome::Nights(command.decide(rows, at)?),
            Request::Place(command) => Outcome::Hold(command.decide(rows, at)?),
            Request::PlaceMany(command) => Outcome::Holds(command.decide(rows, at)?),
            Request::Confirm(command) => Outcome::Reservation(command.decide(rows, at)?),
            Request::Cancel(command) => {
                command.decide(rows, at)?;
                Outcome::Released
            }
            Request::Extend(command) => Outcome::extended(command.decide(rows, at)?),
            Request::CancelReservation(command) => Outcome::Reservation(command.decide(rows, at)?),
        };
        if let Some(key) = &self.key {
            idempotency::keep(rows, at, key.id.clone(), key.fingerprint(), outcome.render());
        }
        Ok(Reply::Done(outcome))
    }

    /// Returns the holds that this call places.
    pub fn places(&self) -> &[PlaceStayHold] {
        match &self.request {
            Request::Place(place) => std::slice::from_ref(place),
            Request::PlaceMany(PlaceStayHolds(places)) => places,
            _ => &[],
        }
    }
}

impl Key {
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut fingerprint = [0; 32];
        fingerprint[..8].copy_from_slice(&self.request.to_be_bytes());
        fingerprint
    }
}

impl Outcome {
    /// The number of attempts to confirm a hold depends on the store.
    fn extended(hold: Hold) -> Self {
        Self::Extended(Hold { attempt: Attempt::default(), ..hold })
    }

    /// Response as recorded under an idempotency key.
    pub fn render(&self) -> Vec<u8> {
        format!("{self:?}").into_bytes()
    }

    /// Returns the holds that were placed.
    pub fn holds(&self) -> Vec<&Hold> {
        match self {
            Self::Hold(hold) => vec![hold],
            Self::Holds(lines) => lines.iter().filter_map(|line| line.as_ref().ok()).collect(),
            _ => Vec::new(),
        }
    }
}

fn submit<C>(batch: &mut Batch, command: &C, key: Option<&Key>, to_outcome: fn(C::Outcome) -> Outcome) -> PendingResult
where
    C: Command + Clone,
    C::Outcome: Clone,
{
    // A recorded response is returned as bytes; the outcome behind it is kept here.
    let rendered = Arc::new(Mutex::new(None));
    let once = key.map(|key| {
        let rendered = rendered.clone();
        let render = move |outcome: &C::Outcome| {
            let outcome = to_outcome(outcome.clone());
            let response = outcome.render();
            *rendered.lock() = Some(outcome);
            Some(response)
        };
        Once { id: key.id.clone(), fingerprint: key.fingerprint(), render: Box::new(render) }
    });
    let mut pending: Pending<C::Outcome> = batch.add(command.clone(), once);
    Box::new(move || match pending.try_recv() {
        Ok(Ok(Answer::Fresh(outcome))) => CallResult::Reply(Reply::Done(to_outcome(outcome))),
        Ok(Ok(Answer::Recorded(response))) => {
            let outcome = rendered.lock().take();
            let outcome = outcome.filter(|outcome| outcome.render() == response);
            CallResult::Reply(outcome.map_or(Reply::Replayed(response), Reply::Done))
        }
        Ok(Ok(Answer::Replayed(response))) => CallResult::Reply(Reply::Replayed(response)),
        Ok(Err(Refused::Rejected(rejection))) => CallResult::Reply(Reply::Rejected(rejection)),
        Ok(Err(error @ (Refused::StoreUnavailable(_) | Refused::OutcomeUnknown))) => {
            CallResult::NoReply(error.to_string())
        }
        Ok(Err(error)) => CallResult::Unexpected(error),
        Err(_) => CallResult::Unexpected(Refused::Internal),
    })
}

/// Returns the id of the hold that is placed if the command is decided at `now`.
pub fn hold_id(place: &PlaceStayHold, now: Timestamp) -> HoldId {
    HoldId::new(now, place.random)
}

/// Returns the last digits of a hold's id, which distinguish the holds of a history.
fn short_id(id: HoldId) -> String {
    let text = id.to_string();
    format!("…{}", &text[text.len() - 4..])
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.request {
            Request::CreateRoomType(command) => write!(f, "create {:?}", command.0),
            Request::ChangeRoomType(ChangeRoomType { id, draft }) => {
                write!(f, "change room type {id} to {:?} at {:?}", draft.total_quantity, draft.base_price)
            }
            Request::SetNightsClosed(SetNightsClosed { room_type, from, to, closed }) => {
                write!(f, "{} {room_type} {from}..{to}", if *closed { "close" } else { "open" })
            }
            Request::Place(place) => write_place(f, place),
            Request::PlaceMany(PlaceStayHolds(places)) => {
                write!(f, "place {} at once:", places.len())?;
                places.iter().try_for_each(|place| {
                    write!(f, "\n      ")?;
                    write_place(f, place)
                })
            }
            Request::Confirm(ConfirmStayHold { id, actor, .. }) => write!(f, "confirm {} by {actor:?}", short_id(*id)),
            Request::Cancel(CancelStayHold { id, actor, .. }) => write!(f, "cancel {} by {actor:?}", short_id(*id)),
            Request::Extend(ExtendHold { id, actor, end, .. }) => {
                write!(f, "extend {} by {actor:?} ", short_id(*id))?;
                match end {
                    NewEnd::Later(span) => write!(f, "by {} ms", span.as_millis()),
                    NewEnd::At(end) => write!(f, "until {}", end.as_millis()),
                }
            }
            Request::CancelReservation(CancelStayReservation { id, actor }) => {
                write!(f, "cancel reservation {id} by {actor:?}")
            }
        }?;
        match &self.key {
            Some(key) => write!(f, " [{} of {}, request {}]", key.id.key, key.id.caller, key.request),
            None => Ok(()),
        }
    }
}

impl fmt::Display for CallResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reply(reply) => reply.fmt(f),
            Self::NoReply(error) => write!(f, "no reply: {error}"),
            Self::Unexpected(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(Outcome::RoomType(room_type)) => {
                write!(f, "{} of room type {} at {}", room_type.total_quantity, room_type.id, room_type.base_price)
            }
            Self::Done(Outcome::Nights(dates)) => write!(f, "nights {}..{}", dates.check_in, dates.check_out),
            Self::Done(Outcome::Hold(hold)) => write!(f, "held until {}", hold.expires_at.as_millis()),
            Self::Done(Outcome::Holds(lines)) => {
                let lines = lines.iter().map(|line| line.as_ref().map(|hold| hold.expires_at.as_millis()));
                f.debug_list().entries(lines).finish()
            }
            Self::Done(Outcome::Released) => write!(f, "released"),
            Self::Done(Outcome::Extended(hold)) => write!(f, "extended until {}", hold.expires_at.as_millis()),
            Self::Done(Outcome::Reservation(reservation)) => {
                write!(f, "reservation {} {:?}", reservation.id, reservation.state)
            }
            Self::Replayed(response) => write!(f, "replayed {}", String::from_utf8_lossy(response)),
            Self::Rejected(rejection) => write!(f, "rejected: {rejection:?}"),
        }
    }
}

fn write_place(f: &mut fmt::Formatter<'_>, place: &PlaceStayHold) -> fmt::Result {
    let PlaceStayHold { random, user, room_type, check_in, check_out, client_key, .. } = place;
    let (id, key) = (short_id(HoldId::new(Timestamp::default(), *random)), client_key.to_string());
    write!(f, "place {id} of {user}: {room_type} {check_in}..{check_out} key …{}", &key[key.len() - 2..])
}
