//! Bound on the bytes of large answers that clients have not read yet.
//!
//! The bytes of a large answer stay here and go to the connection in small frames, so that the connection buffers few of
//! them. When the bound is reached, the answers that have stalled longest are dropped, and their connections end. If that
//! is not enough, further large answers are rejected.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use http_body_util::BodyExt as _;
use hyper::body::{Frame, SizeHint};
use parking_lot::{Mutex, MutexGuard};

use crate::problem::Problem;

/// Minimum size of a counted answer; a smaller one fits into the buffers of a connection.
const LARGE_BYTES_MIN: usize = 64 << 10;
const FRAME_BYTES: usize = 16 << 10;
/// Time without progress after which an answer may be dropped to free memory.
const STALLED_AFTER: Duration = Duration::from_secs(1);

/// Large answers that are being sent. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct UnreadAnswers {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    bytes_max: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    bytes: usize,
    last_id: u64,
    answers: HashMap<u64, Answer>,
}

#[derive(Debug)]
struct Answer {
    data: Bytes,
    size: usize,
    /// Time of the last frame that the connection took; `None` for a reservation, whose answer does not exist yet.
    progressed_at: Option<Instant>,
}

/// Reservation of memory for an answer, made before work that cannot be undone.
#[derive(Debug)]
pub(crate) struct Room {
    id: u64,
    shared: Arc<Shared>,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.shared.remove(self.id);
    }
}

impl UnreadAnswers {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { shared: Arc::new(Shared { bytes_max, state: Mutex::default() }) }
    }

    /// Reserves memory for an answer of about `size` bytes that must not be rejected later.
    pub(crate) fn reserve(&self, size: usize) -> Result<Option<Room>, Problem> {
        if size < LARGE_BYTES_MIN {
            return Ok(None);
        }
        let id = self.shared.add(Bytes::new(), size, None, false).ok_or_else(Problem::overloaded)?;
        Ok(Some(Room { id, shared: self.shared.clone() }))
    }

    /// Returns the response with its body counted. A large one is rejected if there is no memory left, unless `is_final`.
    pub(crate) fn hold(&self, response: Response, is_final: bool) -> Response {
        let size = hyper::body::Body::size_hint(response.body()).exact().unwrap_or(0) as usize;
        if size < LARGE_BYTES_MIN {
            return response;
        }
        let (parts, mut body) = response.into_parts();
        let first = match body.frame().now_or_never() {
            Some(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            _ => Bytes::new(),
        };
        if first.len() < size {
            // A streamed body, which is produced while it is read.
            let whole = futures_util::stream::iter([Ok(first)]).chain(body.into_data_stream());
            return Response::from_parts(parts, Body::from_stream(whole));
        }
        match self.shared.add(first, size, Some(Instant::now()), is_final) {
            Some(id) => {
                Response::from_parts(parts, Body::new(UnreadBytes { id, left: size, shared: self.shared.clone() }))
            }
            None => Problem::overloaded().into_response(),
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Adds an answer if it fits, if need be after dropping stalled ones. A single answer may have any size.
    fn add(&self, data: Bytes, size: usize, progressed_at: Option<Instant>, is_final: bool) -> Option<u64> {
        let mut state = self.state();
        let dropped = state.make_room(self.bytes_max.saturating_sub(size));
        let has_room = state.bytes + size <= self.bytes_max || state.answers.is_empty() || is_final;
        let id = has_room.then(|| {
            state.last_id += 1;
            let id = state.last_id;
            state.bytes += size;
            state.answers.insert(id, Answer { data, size, progressed_at });
            id
        });
        drop(state);
        metrics::counter!("holdfast_responses_dropped_total").increment(dropped.len() as u64);
        id
    }

    fn remove(&self, id: u64) -> Option<Answer> {
        self.state().remove(id)
    }

    /// Returns the next frame of an answer; `None` if it was dropped.
    fn next_frame(&self, id: u64) -> Option<Bytes> {
        let mut state = self.state();
        let answer = state.answers.get_mut(&id)?;
        answer.progressed_at = Some(Instant::now());
        let frame = answer.data.split_to(FRAME_BYTES.min(answer.data.len()));
        let is_last = answer.data.is_empty();
        // A copy, because a slice would keep the whole answer in memory.
        let frame = Bytes::copy_from_slice(&frame);
        let read = if is_last { state.remove(id) } else { None };
        drop(state);
        drop(read);
        Some(frame)
    }
}

impl State {
    fn remove(&mut self, id: u64) -> Option<Answer> {
        let answer = self.answers.remove(&id)?;
        self.bytes -= answer.size;
        Some(answer)
    }

    /// Drops stalled answers, the longest stalled first, until at most `bytes_max` are left or none is stalled.
    fn make_room(&mut self, bytes_max: usize) -> Vec<Answer> {
        if self.bytes <= bytes_max {
            return Vec::new();
        }
        let now = Instant::now();
        let stalled = |at: &Instant| now.saturating_duration_since(*at) >= STALLED_AFTER;
        let times = self.answers.iter().filter_map(|(id, answer)| Some((answer.progressed_at.filter(stalled)?, *id)));
        let mut times: Vec<_> = times.collect();
        times.sort_unstable();
        let mut dropped = Vec::new();
        for (_, id) in times {
            if self.bytes <= bytes_max {
                break;
            }
            dropped.extend(self.remove(id));
        }
        dropped
    }
}

/// A body whose bytes may be dropped before they are read.
struct UnreadBytes {
    id: u64,
    left: usize,
    shared: Arc<Shared>,
}

impl hyper::body::Body for UnreadBytes {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let Some(frame) = self.shared.next_frame(self.id) else {
            return Poll::Ready(Some(Err(io::Error::other("the answer was not read in time"))));
        };
        self.left -= frame.len();
        Poll::Ready(Some(Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left as u64)
    }
}

impl Drop for UnreadBytes {
    fn drop(&mut self) {
        self.shared.remove(self.id);
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use holdfast_api::error::ErrorCode;

    use super::*;

    fn answer(size: usize) -> Response {
        vec![b'x'; size].into_response()
    }

    #[tokio::test]
    async fn answers_are_read_whole_and_released() {
        let unread = UnreadAnswers::new(1 << 20);
        for size in [0, 10, LARGE_BYTES_MIN, LARGE_BYTES_MIN + 1, 1 << 20, 3 << 20] {
            let response = unread.hold(answer(size), false);
            assert_eq!(hyper::body::Body::size_hint(response.body()).exact(), Some(size as u64));
            assert_eq!(response.into_body().collect().await.unwrap().to_bytes().len(), size);
            assert_eq!(unread.shared.state().bytes, 0);
        }
    }

    #[tokio::test]
    async fn answers_beyond_the_bound_are_rejected() {
        let unread = UnreadAnswers::new(1 << 20);
        let first = unread.hold(answer(1 << 20), false);
        assert_eq!(
            unread.hold(answer(1 << 20), false).extensions().get::<Problem>().unwrap().code,
            ErrorCode::Overloaded
        );
        assert!(unread.reserve(1 << 19).is_err());
        assert_eq!(
            unread.hold(answer(1 << 20), true).status(),
            StatusCode::OK,
            "an answer after a commit is always accepted"
        );
        assert_eq!(unread.hold(answer(100), false).status(), StatusCode::OK, "small answers are not counted");
        drop(first);
        let room = unread.reserve(1 << 19).unwrap();
        assert!(unread.reserve(3 << 18).is_err());
        drop(room);
        assert!(unread.reserve(3 << 18).is_ok());
    }

    #[tokio::test]
    async fn stalled_answers_are_dropped_for_new_ones() {
        let unread = UnreadAnswers::new(1 << 20);
        let (old, young) = (unread.hold(answer(1 << 19), false), unread.hold(answer(1 << 19), false));
        let stalled_at = Instant::now().checked_sub(STALLED_AFTER).unwrap();
        unread.shared.state().answers.get_mut(&1).unwrap().progressed_at = Some(stalled_at);
        let new = unread.hold(answer(1 << 19), false);
        assert!(old.into_body().collect().await.is_err(), "its connection ends");
        for answer in [young, new] {
            assert_eq!(answer.into_body().collect().await.unwrap().to_bytes().len(), 1 << 19);
        }
    }
}
