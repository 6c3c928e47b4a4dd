//! Places many holds in one request. Several commands run one after another, so that a batch does not block other
//! callers.
//!
//! Under an idempotency key, each command records its part of the answer in the commit of its holds. A retry replays
//! the committed parts and runs the others, even after a crash in the middle: no line is placed twice. The first part
//! is recorded under the key itself, so that the key cannot be used for another request.

use std::sync::Arc;
use std::time::Duration;

use axum::response::{IntoResponse as _, Response};
use holdfast_api::stay::StayHoldView;
use holdfast_core::hold::Hold;
use holdfast_core::idempotency::{IdempotencyRecordId, KeepAnswer};
use holdfast_core::stay::place::{PlaceStayHold, PlaceStayHolds};
use holdfast_core::{Command, Rejection};
use holdfast_engine::{Answer, Once, Refused};
use http::{HeaderValue, StatusCode};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::holds::place_command;
use crate::app::{App, REPLAYED, Reply};
use crate::caller::Caller;
use crate::problem::{Language, Problem};
use crate::request::{Mutation, parse};

/// Time after which no further command starts.
const START_TIMEOUT: Duration = Duration::from_secs(3);
/// Time after which the request does not wait for a running command.
const RESPONSE_TIMEOUT: Duration = Duration::from_millis(4_700);
/// Approximate size of a line of the answer, in bytes.
const LINE_BYTES: usize = 350;
/// Status in the record of a part, followed by the number of its lines.
const PART: StatusCode = StatusCode::PARTIAL_CONTENT;

/// Runs the lines of a batch, in order.
pub(super) async fn place(
    app: &App,
    caller: Caller,
    request: &Mutation,
    lines: &[Box<RawValue>],
) -> Result<Response, Problem> {
    let receipt = request.receipt(&caller)?;
    if let Some((id, fingerprint)) = &receipt {
        app.check_record_quota(id, fingerprint).await?;
    }
    let _room = app.unread().reserve(lines.len() * LINE_BYTES)?;
    let batch = Batch { app, caller, request, lines, receipt, began: Instant::now() };
    batch.place().await
}

struct Batch<'a> {
    app: &'a App,
    caller: Caller,
    request: &'a Mutation,
    lines: &'a [Box<RawValue>],
    receipt: Option<(IdempotencyRecordId, [u8; 32])>,
    began: Instant,
}

/// Consecutive lines: the holds to place, and the problem of each invalid line.
struct Part {
    problems: Arc<[Option<Problem>]>,
    command: PlaceStayHolds,
}

/// The answer to consecutive lines.
struct PartAnswer {
    first: usize,
    count: usize,
    /// Elements of a JSON array.
    json: Vec<u8>,
    origin: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// Not recorded: no line succeeded, or there is no key.
    Fresh,
    Kept,
    Replayed,
}

impl Batch<'_> {
    async fn place(self) -> Result<Response, Problem> {
        let mut answers: Vec<PartAnswer> = Vec::new();
        let mut next = 0;
        while next < self.lines.len() || answers.is_empty() {
            let is_late = !answers.is_empty() && self.began.elapsed() > START_TIMEOUT;
            let placed = if is_late { Err(Refused::LockTimeout) } else { self.place_part(next).await };
            match placed {
                Ok(answer) => {
                    next = answer.first + answer.count;
                    answers.push(answer);
                }
                Err(refused) if answers.iter().any(|answer| answer.origin != Origin::Fresh) => {
                    return Err(Problem::batch_unfinished(&refused));
                }
                Err(refused) if answers.is_empty() || self.receipt.is_some() => return Err(refused.into()),
                Err(refused) => {
                    answers.push(self.refuse_rest(next, &refused.into()));
                    break;
                }
            }
        }
        if answers.iter().any(|answer| answer.origin != Origin::Fresh) {
            for answer in answers.iter_mut().filter(|answer| answer.origin == Origin::Fresh) {
                // All parts are carried out, so the client gets their answers. A retry runs this part again.
                if let Err(error) = self.keep(answer).await {
                    tracing::warn!(%error, "cannot keep the idempotency record of a refused part; a retry runs it again");
                }
            }
        }
        let is_replayed = answers.iter().all(|answer| answer.origin == Origin::Replayed);
        let parts: Vec<_> = answers.iter().filter(|answer| answer.count > 0).map(|answer| &*answer.json).collect();
        let body = [b"{\"results\":[", &*parts.join(&b","[..]), b"]}"].concat();
        let mut response = Reply::written(StatusCode::OK, body).into_response();
        if is_replayed {
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        }
        Ok(response)
    }

    /// Runs the lines from `first` on that fit into one command.
    async fn place_part(&self, first: usize) -> Result<PartAnswer, Refused> {
        let Part { problems, command } = self.parse_part(first);
        let (count, language) = (problems.len(), self.request.language);
        let once = self.receipt.as_ref().map(|(id, fingerprint)| {
            let problems = problems.clone();
            Once {
                id: part_id(id, first),
                fingerprint: *fingerprint,
                render: Box::new(move |results: &Vec<Result<Hold, Rejection>>| {
                    results.iter().any(Result::is_ok).then(|| record(count, &write_lines(&problems, results, language)))
                }),
            }
        });
        let answer = self.in_time(self.app.engine().run_for(self.caller.flow(), command, once)).await?;
        self.app.stream().activity().changed(PlaceStayHolds::NAME);
        match answer {
            Answer::Fresh(results) => {
                let json = write_lines(&problems, &results, language);
                Ok(PartAnswer { first, count, json, origin: Origin::Fresh })
            }
            recorded => self.recorded(first, recorded),
        }
    }

    /// Parses lines until their command has the maximum weight. An invalid line is not passed to the engine; its
    /// problem keeps its position in the answer.
    fn parse_part(&self, first: usize) -> Part {
        let weight_max = self.app.engine().part_weight();
        let (mut weight, mut commands, mut problems) = (0, Vec::new(), Vec::new());
        for line in &self.lines[first..] {
            match self.parse_line(line) {
                Ok(command) => {
                    weight += command.weight();
                    commands.push(command);
                    problems.push(None);
                }
                Err(problem) => {
                    weight += 1;
                    problems.push(Some(problem));
                }
            }
            if weight >= weight_max {
                break;
            }
        }
        Part { problems: problems.into(), command: PlaceStayHolds(commands) }
    }

    fn parse_line(&self, line: &RawValue) -> Result<PlaceStayHold, Problem> {
        let line = parse(line.get().as_bytes())?;
        place_command(self.app, &self.caller, self.request, &line)
    }

    /// Records a part in which no line succeeded, because another part succeeded: a retry must return the same answer.
    async fn keep(&self, answer: &mut PartAnswer) -> Result<(), Refused> {
        let Some((id, fingerprint)) = &self.receipt else { return Ok(()) };
        let record = record(answer.count, &answer.json);
        let once = Once {
            id: part_id(id, answer.first),
            fingerprint: *fingerprint,
            render: Box::new(move |()| Some(record.clone())),
        };
        let kept = self.in_time(self.app.engine().run_for(self.caller.flow(), KeepAnswer, Some(once))).await?;
        *answer = self.recorded(answer.first, kept)?;
        Ok(())
    }

    fn recorded<T>(&self, first: usize, answer: Answer<T>) -> Result<PartAnswer, Refused> {
        let (bytes, origin) = match answer {
            Answer::Fresh(_) => return Err(Refused::Internal),
            Answer::Recorded(bytes) => (bytes, Origin::Kept),
            Answer::Replayed(bytes) => (bytes, Origin::Replayed),
        };
        if let (Origin::Kept, Some((id, _))) = (origin, &self.receipt) {
            self.app.count_record(id, bytes.len());
        }
        let (count, json) = read_record(&bytes, self.lines.len()).ok_or(Refused::Internal)?;
        Ok(PartAnswer { first, count, json: json.to_vec(), origin })
    }

    /// Answers the lines from `first` on with a problem, without running them.
    fn refuse_rest(&self, first: usize, problem: &Problem) -> PartAnswer {
        let line = serde_json::to_vec(&problem.to_json(self.request.language)).expect("a problem serializes to JSON");
        let count = self.lines.len() - first;
        PartAnswer { first, count, json: vec![line; count].join(&b','), origin: Origin::Fresh }
    }

    async fn in_time<T>(&self, work: impl Future<Output = Result<T, Refused>>) -> Result<T, Refused> {
        tokio::time::timeout_at(self.began + RESPONSE_TIMEOUT, work).await.unwrap_or(Err(Refused::OutcomeUnknown))
    }
}

/// Returns the key of the part that begins with line `first`. Keys of callers contain no line feed.
fn part_id(id: &IdempotencyRecordId, first: usize) -> IdempotencyRecordId {
    let key = if first == 0 { id.key.clone() } else { format!("{}\n{first}", id.key) };
    IdempotencyRecordId { caller: id.caller.clone(), key }
}

fn record(count: usize, json: &[u8]) -> Vec<u8> {
    [&PART.as_u16().to_le_bytes()[..], &(count as u32).to_le_bytes(), json].concat()
}

/// Returns the number of lines and their JSON. An older version recorded the whole answer, of `line_count` lines.
fn read_record(bytes: &[u8], line_count: usize) -> Option<(usize, &[u8])> {
    let (status, rest) = bytes.split_first_chunk()?;
    if u16::from_le_bytes(*status) == PART.as_u16() {
        let (count, json) = rest.split_first_chunk()?;
        return Some((u32::from_le_bytes(*count) as usize, json));
    }
    Some((line_count, rest.strip_prefix(b"{\"results\":[")?.strip_suffix(b"]}")?))
}

fn write_lines(problems: &[Option<Problem>], results: &[Result<Hold, Rejection>], language: Language) -> Vec<u8> {
    let mut results = results.iter();
    let mut json = Vec::with_capacity(problems.len() * LINE_BYTES);
    for (index, problem) in problems.iter().enumerate() {
        if index > 0 {
            json.push(b',');
        }
        let written = match problem {
            Some(problem) => serde_json::to_writer(&mut json, &problem.to_json(language)),
            None => match results.next().expect("one result per valid line") {
                Ok(hold) => serde_json::to_writer(&mut json, &StayHoldView::placed(hold)),
                Err(rejection) => serde_json::to_writer(&mut json, &Problem::from(rejection).to_json(language)),
            },
        };
        written.expect("wire types serialize to JSON");
    }
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_batches_are_parsed() {
        assert_eq!(read_record(&record(3, b"1,2,3"), 9), Some((3, &b"1,2,3"[..])));
        let whole = [&200_u16.to_le_bytes()[..], b"{\"results\":[1,2]}"].concat();
        assert_eq!(read_record(&whole, 2), Some((2, &b"1,2"[..])));
        assert_eq!(read_record(b"", 2), None);
    }

    #[test]
    fn batch_parts_have_distinct_keys() {
        let id = IdempotencyRecordId { caller: "user:1".into(), key: "k".into() };
        assert_eq!(part_id(&id, 0), id);
        assert_ne!(part_id(&id, 512).key, "k512");
    }
}
