//! Subscription of one client to the event stream: past events from the outbox first, then those published meanwhile.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use holdfast_core::id::UserId;
use holdfast_core::webhook::EventTypes;
use holdfast_engine::Refused;
use serde_json::json;
use tokio::sync::broadcast;
use tokio::time::{Instant, sleep_until};

use super::replay::Gap;
use super::{PublishedEvent, Stream, encode_frame, encode_position};
use crate::Context;
use crate::wire::event::{cloud_event, is_public};

const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);
/// Type of the first event of a stream that resumes from before the retention.
const GAP: &str = "stream.gap";

/// Event stream of one client.
pub struct Subscription {
    context: Context,
    published: broadcast::Receiver<Arc<PublishedEvent>>,
    filter: Filter,
    /// Number of the last durable event that was sent or filtered out.
    seen: u64,
    /// Number of the last durable event to read from the outbox. Later ones come from the subscription, in order with
    /// the ephemeral ones.
    missed_until: u64,
    /// Whether the resume point was not compared with the retention yet.
    is_resuming: bool,
    /// Encoded events to send next.
    waiting: VecDeque<Bytes>,
    keep_alive_at: Instant,
    /// Resolves when the stream must end.
    over: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Events that a subscription returns.
#[derive(Debug)]
pub struct Filter {
    /// Owner of the events; `None` for those of all users.
    pub owner: Option<UserId>,
    pub types: EventTypes,
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription").field("filter", &self.filter).field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl Subscription {
    /// Subscribes to events after a durable one, or to new ones only. The stream ends when `over` resolves.
    pub async fn open(
        context: &Context,
        filter: Filter,
        resume_after: Option<u64>,
        over: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Self, Refused> {
        let stream = context.stream();
        if stream.is_cut_off() {
            return Err(Refused::StoreUnavailable("the outbox cannot be read".into()));
        }
        // Subscribed before the last number is read, so that no event is missed in between.
        let published = stream.subscribe();
        let last = stream.last_committed(context.store()).await?;
        // A client that is ahead of this store has read another one.
        let seen = resume_after.unwrap_or(u64::MAX).min(last);
        Ok(Self {
            context: context.clone(),
            published,
            filter,
            seen,
            missed_until: last,
            is_resuming: seen < last,
            waiting: VecDeque::from([encode_position(seen)]),
            keep_alive_at: Instant::now(),
            over: Box::pin(over),
        })
    }

    /// Returns the next bytes for this client; `None` when the stream ends or the store is unavailable.
    pub async fn next(&mut self) -> Option<Bytes> {
        let frame = self.next_frame().await?;
        self.keep_alive_at = Instant::now() + KEEP_ALIVE_EVERY;
        Some(frame)
    }

    async fn next_frame(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.waiting.pop_front() {
                return Some(frame);
            }
            if self.seen < self.missed_until {
                self.catch_up().await?;
                continue;
            }
            let published = tokio::select! {
                () = &mut self.over => return None,
                () = self.context.stream().cut_off() => return None,
                // A client whose filter lets little through resumes from here, not from its last event.
                () = sleep_until(self.keep_alive_at) => return Some(encode_position(self.seen)),
                published = self.published.recv() => published,
            };
            match published {
                Ok(published) if published.durable.is_some_and(|id| id <= self.seen) => {}
                // Gap: the outcome of an earlier commit was unknown, so its event was not published.
                Ok(published) if published.durable.is_some_and(|id| id > self.seen + 1) => {
                    self.missed_until = published.durable.unwrap_or_default();
                }
                Ok(published) => {
                    self.seen = published.durable.unwrap_or(self.seen);
                    if self.filter.passes(&published.event_type, published.owner.as_ref()) {
                        return Some(published.frame.clone());
                    }
                }
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    self.missed_until = self.context.stream().last_committed(self.context.store()).await.ok()?;
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// Reads the next page of the outbox. The resume point is compared with the retention first.
    async fn catch_up(&mut self) -> Option<()> {
        let (context, seen, until) = (self.context.clone(), self.seen, self.missed_until);
        let replays = &context.stream().replays;
        if std::mem::take(&mut self.is_resuming) {
            if let Some(gap) = self.unless_over(replays.gap(&context, seen, until)).await? {
                self.waiting.push_back(gap_event(context.stream(), seen, &gap));
                self.seen = gap.until;
            }
            return Some(());
        }
        let page = self.unless_over(replays.page(&context, seen, until)).await?;
        // Up to `until` only: later events come from the subscription.
        self.waiting = page.select(seen, until, |event_type, owner| self.filter.passes(event_type, owner));
        self.seen = page.up_to.min(until);
        Some(())
    }

    /// Returns the result of work on the store; `None` if it fails, or the stream ends meanwhile.
    async fn unless_over<T>(&mut self, work: impl Future<Output = Result<T, Refused>>) -> Option<T> {
        tokio::select! {
            () = &mut self.over => None,
            () = self.context.stream().cut_off() => None,
            done = work => done.ok(),
        }
    }
}

impl Filter {
    fn passes(&self, event_type: &str, owner: Option<&UserId>) -> bool {
        is_public(event_type)
            && self.owner.as_ref().is_none_or(|own| owner == Some(own))
            && self.types.include(event_type)
    }
}

/// Encodes the event that replaces those outside of the retention. A client that resumes after it resumes after these.
fn gap_event(stream: &Stream, after: u64, gap: &Gap) -> Bytes {
    let (id, data) =
        (format!("{}.gap", gap.until), json!({"after": after.to_string(), "until": gap.until.to_string()}));
    encode_frame(&id, GAP, &cloud_event(&stream.source, &id, GAP, gap.at, &data.to_string(), None))
}
