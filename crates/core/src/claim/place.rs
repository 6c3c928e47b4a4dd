//! Placing claims: all lines, or each that is available.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{LINES_MAX, Metadata, UNITS_MAX, check_metadata, check_reference};
use crate::command::{Command, Context, Decision, Stop, writes};
use crate::event::Event;
use crate::hold::{self, Extras, Hold, Item, Line, LineRequest, LineState, Origin, Placement, owner, place};
use crate::id::{HoldId, ID_MAX, IdRange, Sequence, UserId};
use crate::money::{AMOUNT_MAX, Currency};
use crate::rejection::{ClaimRejection, Fault, Rejection};
use crate::ticket::{SeatChoice, SeatsRequest};
use crate::time::Span;
use crate::unit::Kind;
use crate::working_set::WorkingSet;

/// Maximum number of lines of a claim that ask for the best seats; each reads all seats of its event.
const BEST_LINES_MAX: usize = 10;

/// Places a claim.
#[derive(Clone, Debug)]
pub struct PlaceClaim {
    /// Random part of the claim's id; the rest is the time of the decision.
    pub random: [u8; 10],
    pub owner: UserId,
    pub lines: Vec<LineRequest>,
    /// TTL; by default the shortest of the lines' own defaults.
    pub ttl: Option<Span>,
    /// Whether the TTL may exceed the default.
    pub is_operator: bool,
    pub reference: Option<Arc<str>>,
    pub metadata: Metadata,
    pub mode: Mode,
}

/// Lines that a claim needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// All of them.
    All,
    /// At least one; those that are not available are left out.
    Each,
}

/// A new claim, and the lines that were left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedClaim {
    pub hold: Hold,
    pub refused: Vec<RefusedLine>,
}

/// A line that was not placed, by its position in the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedLine {
    pub index: u16,
    pub rejection: Rejection,
}

impl Command for PlaceClaim {
    type Outcome = PlacedClaim;
    const NAME: &'static str = "claim.place";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<PlacedClaim> {
        let expires_at = at.end_after(self.check_terms(at)?);
        let header = Placement {
            id: HoldId::new(at.now, self.random),
            owner: self.owner.clone(),
            origin: Origin::Claim,
            created_at: at.now,
            expires_at,
            currency: Currency::KRW,
            lines: [] as [(i64, Item); 0],
            extras: Extras {
                reference: self.reference.clone(),
                metadata: self.metadata.clone(),
                ..Extras::of_new_hold(&at.limits.hold)
            },
        };
        let mut hold = header.into_hold();
        let refused = claim_lines(rows, at, &mut hold, ("lines", &self.lines), self.mode)?;
        owner::add(rows, &hold, at.now)?;
        rows.holds.insert(hold.id, hold.clone());
        rows.emit(Event::HoldPlaced(hold.clone()));
        Ok(PlacedClaim { hold, refused })
    }

    fn weight(&self) -> usize {
        weight(&self.lines)
    }

    fn weight_in_steps(&self) -> usize {
        weight_in_steps(&self.lines)
    }

    fn user(&self) -> Option<&UserId> {
        Some(&self.owner)
    }
}

impl PlaceClaim {
    /// Returns the TTL, if all terms are valid.
    fn check_terms(&self, at: &Context<'_>) -> Result<Span, Rejection> {
        check_line_count(self.lines.len(), "lines")?;
        check_unit_count(LineRequest::different_units(&self.lines), "lines")?;
        if let Some(reference) = &self.reference {
            check_reference(reference)?;
        }
        check_metadata(&self.metadata)?;
        let default = self.lines.iter().map(|line| line.ttl(at.limits)).min().expect("a claim has lines");
        let max = if self.is_operator { at.limits.hold.ttl_max } else { default };
        match self.ttl {
            Some(ttl) if ttl < Span::from_secs(1) || ttl > max => {
                let fault = Fault::OutOfRange { min: 1, max: max.as_millis() / 1_000 };
                Err(Rejection::invalid("ttlSeconds", fault))
            }
            Some(ttl) => Ok(ttl),
            None => Ok(default),
        }
    }
}

/// Places many claims in one commit. They are independent: a rejected claim does not affect the others.
#[derive(Clone, Debug)]
pub struct PlaceClaims(pub Vec<PlaceClaim>);

impl Command for PlaceClaims {
    type Outcome = Vec<Result<PlacedClaim, Rejection>>;
    const NAME: &'static str = "claim.place_batch";
    type Writes = writes::Live;

    fn decide(&self, rows: &mut WorkingSet, at: &Context<'_>) -> Decision<Self::Outcome> {
        rows.attempt_each(&self.0, |rows, claim| claim.decide(rows, at))
    }

    fn weight(&self) -> usize {
        self.0.iter().map(Command::weight).sum::<usize>().max(1)
    }

    fn weight_in_steps(&self) -> usize {
        self.0.iter().map(Command::weight_in_steps).sum()
    }
}

/// Outcome of a line in a dry run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineAvailability {
    pub index: u16,
    /// Price and item, or why the line cannot be placed.
    pub claimed: Result<(i64, Item), Rejection>,
}

/// Dry run of a claim: evaluates each line after those before it, and discards all writes. The limit of live holds does
/// not apply.
pub fn availability(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    owner: &UserId,
    requests: &[LineRequest],
) -> Decision<Vec<LineAvailability>> {
    check_line_count(requests.len(), "lines")?;
    check_unit_count(LineRequest::different_units(requests), "lines")?;
    check_best_count(requests, "lines")?;
    let mut hold = Placement {
        id: HoldId::new(at.now, [0; 10]),
        owner: owner.clone(),
        origin: Origin::Claim,
        created_at: at.now,
        expires_at: at.end_after(Span::from_secs(1)),
        currency: Currency::KRW,
        lines: [] as [(i64, Item); 0],
        extras: Extras::default(),
    }
    .into_hold();
    // No number is drawn: these are discarded too.
    rows.ids.fill(Sequence::InventoryReservation, Some(IdRange { next: 1, last: ID_MAX }));
    let mut outcome = None;
    let dry_run = rows.attempt(|rows| {
        request_rows(rows, &hold, requests);
        let (checked, refused) = check_lines(rows, at, &mut hold, ("lines", requests))?;
        let (lines, more_refused) = claim_checked(rows, at, &hold, requests, &checked)?;
        outcome = Some((lines, refused, more_refused));
        // Discards the counts of the lines.
        Err::<(), Stop>(Stop::Retry)
    });
    let Some((lines, refused, more_refused)) = outcome else {
        return dry_run.map(|()| Vec::new());
    };
    let claimed =
        lines.into_iter().map(|line| LineAvailability { index: line.index, claimed: Ok((line.price, line.item)) });
    let refused = refused.into_iter().chain(more_refused);
    let refused = refused.map(|RefusedLine { index, rejection }| LineAvailability { index, claimed: Err(rejection) });
    let mut all: Vec<_> = claimed.chain(refused).collect();
    all.sort_by_key(|line| line.index);
    Ok(all)
}

/// Claims lines for a hold that is not inserted yet, or is about to be changed, after those that it has: counts their
/// units, and appends them. `list` is the name of their list in the request. Returns the lines that were left out, which is none unless the mode allows it.
pub(super) fn claim_lines(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    hold: &mut Hold,
    (list, requests): (&'static str, &[LineRequest]),
    mode: Mode,
) -> Decision<Vec<RefusedLine>> {
    check_best_count(requests, list)?;
    request_rows(rows, hold, requests);
    hold::check_suspended(rows, at)?;
    let (checked, mut refused) = check_lines(rows, at, hold, (list, requests))?;
    if refused.is_empty() || mode == Mode::Each {
        let known: BTreeSet<Kind> = hold.kinds().collect();
        let kinds: BTreeSet<Kind> = checked.iter().map(|index| requests[usize::from(*index)].kind()).collect();
        for kind in kinds.difference(&known) {
            hold::check_hold_limit(rows, at, *kind, &hold.owner)?;
        }
    }
    let (lines, more_refused) = claim_checked(rows, at, hold, requests, &checked)?;
    refused.extend(more_refused);
    refused.sort_by_key(|line| line.index);
    if lines.is_empty() || (mode == Mode::All && !refused.is_empty()) {
        return Err(ClaimRejection::NotAvailable { lines: refused }.into());
    }
    let all: Arc<[Line]> = hold.lines.iter().cloned().chain(lines).collect();
    let total = all.iter().try_fold(0_i64, |sum, line| sum.checked_add(line.price));
    if total.is_none_or(|total| total > AMOUNT_MAX) {
        return Err(Rejection::invalid(list, Fault::OutOfRange { min: 0, max: AMOUNT_MAX }).into());
    }
    hold.lines = all;
    Ok(refused)
}

/// Requests the rows of all lines at once; line by line, each would need a load round.
fn request_rows(rows: &mut WorkingSet, hold: &Hold, requests: &[LineRequest]) {
    for request in requests {
        owner::request(rows, request.kind(), &hold.owner);
        request.request_rows(&hold.owner, rows);
    }
}

/// Checks the rules of all lines. Returns the indexes of those that keep them, and the refused ones. The first line
/// without predecessors decides the currency of the hold.
fn check_lines(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    hold: &mut Hold,
    (list, requests): (&'static str, &[LineRequest]),
) -> Decision<(Vec<u16>, Vec<RefusedLine>)> {
    let (mut checked, mut refused, mut needs_rows, mut must_retry) = (Vec::new(), Vec::new(), false, false);
    let mut currency = (!hold.lines.is_empty()).then_some(hold.currency);
    for (index, request) in requests.iter().enumerate() {
        match request.check(&hold.owner, &requests[..index], rows, at) {
            Ok(found) => {
                let expected = *currency.get_or_insert(found);
                if found != expected {
                    let rejection = Rejection::invalid("currency", Fault::OtherCurrency { expected });
                    return Err(at_line(list, index as u16, rejection).into());
                }
                checked.push(index as u16);
            }
            Err(Stop::NeedRows) => needs_rows = true,
            Err(Stop::Retry) => must_retry = true,
            Err(Stop::Rejected(rejection)) if is_refusal(&rejection) => {
                refused.push(RefusedLine { index: index as u16, rejection });
            }
            Err(Stop::Rejected(rejection)) => return Err(at_line(list, index as u16, rejection).into()),
        }
    }
    stop_if(needs_rows, must_retry)?;
    hold.currency = currency.unwrap_or(hold.currency);
    Ok((checked, refused))
}

/// Claims checked lines one after another, and counts their units. Returns the new lines, and the refused ones.
fn claim_checked(
    rows: &mut WorkingSet,
    at: &Context<'_>,
    hold: &Hold,
    requests: &[LineRequest],
    checked: &[u16],
) -> Decision<(Vec<Line>, Vec<RefusedLine>)> {
    let next_index = hold.lines.last().map_or(0, |line| line.index + 1);
    let (mut lines, mut refused, mut needs_rows, mut must_retry) = (Vec::new(), Vec::new(), false, false);
    for index in checked {
        let claimed = requests[usize::from(*index)].claim(rows, at).and_then(|(price, item)| {
            item.request_indexes(hold, rows);
            let line = Line { index: next_index + index, state: LineState::Held, price, item };
            place::insert_line(rows, hold, &line, at.now)?;
            Ok(line)
        });
        match claimed {
            Ok(line) => lines.push(line),
            Err(Stop::NeedRows) => needs_rows = true,
            Err(Stop::Retry) => must_retry = true,
            Err(Stop::Rejected(rejection)) => refused.push(RefusedLine { index: *index, rejection }),
        }
    }
    stop_if(needs_rows, must_retry)?;
    Ok((lines, refused))
}

fn stop_if(needs_rows: bool, must_retry: bool) -> Decision<()> {
    match (needs_rows, must_retry) {
        (true, _) => Err(Stop::NeedRows),
        (false, true) => Err(Stop::Retry),
        (false, false) => Ok(()),
    }
}

/// Whether the rejection says that the line is not available at present, and not that the request is malformed or names
/// an unknown object.
fn is_refusal(rejection: &Rejection) -> bool {
    use crate::rejection::{CalendarRejection, ShopRejection, StayRejection, TicketRejection};
    !matches!(
        rejection,
        Rejection::InvalidInput { .. }
            | Rejection::Forbidden
            | Rejection::HoldsSuspended { .. }
            | Rejection::Stay(StayRejection::RoomTypeNotFound)
            | Rejection::Shop(ShopRejection::ProductOptionNotFound)
            | Rejection::Calendar(CalendarRejection::RoomNotFound)
            | Rejection::Ticket(TicketRejection::EventNotFound | TicketRejection::SeatNotFound { .. })
    )
}

fn at_line(list: &'static str, line: u16, rejection: Rejection) -> ClaimRejection {
    ClaimRejection::InvalidLine { list, line, rejection: Box::new(rejection) }
}

pub(super) fn check_line_count(count: usize, field: &'static str) -> Result<(), Rejection> {
    match count {
        0 => Err(Rejection::invalid(field, Fault::Blank)),
        1..=LINES_MAX => Ok(()),
        _ => Err(Rejection::invalid(field, Fault::TooManyItems { max: LINES_MAX })),
    }
}

pub(super) fn check_unit_count(count: usize, field: &'static str) -> Result<(), Rejection> {
    if count <= UNITS_MAX { Ok(()) } else { Err(Rejection::invalid(field, Fault::TooManyItems { max: UNITS_MAX })) }
}

/// Returns the weight of a command with these lines: best seats read all seats of an event.
pub(super) fn weight(lines: &[LineRequest]) -> usize {
    let line = |line: &LineRequest| if is_best(line) { 256 } else { 1 + line.unit_count().min(UNITS_MAX) / 8 };
    lines.iter().take(LINES_MAX).map(line).sum::<usize>().max(1)
}

/// Returns the additional weight where held units cannot be listed: best seats read seats one by one.
pub(super) fn weight_in_steps(lines: &[LineRequest]) -> usize {
    lines.iter().take(LINES_MAX).filter(|line| is_best(line)).count() * 2_048
}

fn is_best(line: &LineRequest) -> bool {
    matches!(line, LineRequest::Seats(SeatsRequest { choice: SeatChoice::Best { .. }, .. }))
}

/// Rejects more requests for best seats than one command may evaluate.
fn check_best_count(lines: &[LineRequest], list: &'static str) -> Result<(), Rejection> {
    if lines.iter().filter(|line| is_best(line)).count() <= BEST_LINES_MAX {
        Ok(())
    } else {
        Err(Rejection::invalid(list, Fault::TooManyItems { max: BEST_LINES_MAX }))
    }
}
