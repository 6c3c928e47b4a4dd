//! Replays of the outbox for clients of `/v1/stream` that reconnect.
//!
//! Replays read the outbox in pages and share them: a page is read and encoded once, and every client gets the same
//! bytes. At most [`CONCURRENT_MAX`] replays read at the same time, and each pauses after a page, so that replays do
//! not starve other callers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use holdfast_core::time::Span;
use holdfast_engine::store::OutboxRecord;
use holdfast_engine::{Refused, Store};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::Context;
use crate::stream::PublishedEvent;
use crate::wire::event::is_public;

/// Events per page. Pages end at multiples of it, so that replays from different events share later pages.
const PAGE: u64 = 500;
/// Maximum number of cached pages.
const PAGES_KEPT_MAX: usize = 8;
/// Maximum number of replays that read a page at the same time; further replays wait in order of arrival.
const CONCURRENT_MAX: usize = 2;
/// Pause of a replay that needs further pages. It keeps its permit meanwhile: at most 100 pages per second in all.
const PAUSE: Duration = Duration::from_millis(20);
/// Number of events searched for one that is not imported, because only its time is that of its commit.
const PROBE: usize = 20;

/// The replays of a server.
#[derive(Debug)]
pub(crate) struct Replays {
    /// Age beyond which events are not replayed.
    keep: Span,
    turns: Semaphore,
    pages: Mutex<VecDeque<Arc<Page>>>,
}

/// Events that are no longer replayed: purged, or older than the retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// Number of the last of them.
    pub(crate) until: u64,
    /// Time at which the gap was found.
    pub(crate) at: Timestamp,
}

/// Consecutive durable events, encoded.
#[derive(Debug)]
pub(crate) struct Page {
    /// Number before the first event.
    after: u64,
    /// Number of the last event. Every event in between is in this page, purged, or not public.
    pub(crate) up_to: u64,
    entries: Vec<Entry>,
    bytes: Bytes,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    event_type: String,
    owner: Option<UserId>,
    /// Offset of the end of its bytes in the page.
    end: usize,
}

impl Replays {
    pub(crate) fn new(keep: Duration) -> Self {
        let keep = Span::from_millis(keep.as_millis() as i64);
        Self { keep, turns: Semaphore::new(CONCURRENT_MAX), pages: Mutex::default() }
    }

    /// Returns the events after `seen` that are no longer replayed; `None` if there are none. `until` is committed.
    pub(crate) async fn gap(&self, context: &Context, seen: u64, until: u64) -> Result<Option<Gap>, Refused> {
        let _turn = self.turns.acquire().await.expect("the semaphore is never closed");
        let now = context.engine().query(|_, at| Ok(at.now)).await?;
        let kept_since = now - self.keep;
        let first = context.store().outbox_after(seen, PROBE).await?;
        if first.first().is_some_and(|next| next.id == seen + 1) && !is_old(&first, kept_since) {
            return Ok(None);
        }
        Ok(Some(Gap { until: last_old(context.store(), seen, until, kept_since).await?, at: now }))
    }

    /// Returns the events after `seen`, to the end of their page or to `until`, which is committed.
    pub(crate) async fn page(&self, context: &Context, seen: u64, until: u64) -> Result<Arc<Page>, Refused> {
        let turn = self.turns.acquire().await.expect("the semaphore is never closed");
        let end = (seen / PAGE + 1) * PAGE;
        if let Some(page) = self.kept(seen, until.min(end)) {
            drop(turn);
            if page.up_to < until {
                tokio::time::sleep(PAUSE).await;
            }
            return Ok(page);
        }
        // A task of its own, on the runtime for work: the page is cached even if this client disconnects.
        let reading = context.clone();
        let read = context.spawn(async move { Page::read(&reading, seen, end, until).await });
        let page = read.await.map_err(|_| Refused::Internal)??;
        self.keep(page.clone());
        if page.up_to < until {
            // Bounds the rate of reads of the store, so the turn is kept.
            tokio::time::sleep(PAUSE).await;
        }
        Ok(page)
    }

    fn kept(&self, seen: u64, up_to: u64) -> Option<Arc<Page>> {
        let pages = self.pages.lock();
        pages.iter().find(|page| page.after <= seen && seen < page.up_to && up_to <= page.up_to).cloned()
    }

    fn keep(&self, page: Arc<Page>) {
        let mut pages = self.pages.lock();
        pages.retain(|other| other.after < page.after || other.up_to > page.up_to);
        if pages.len() == PAGES_KEPT_MAX {
            pages.pop_front();
        }
        pages.push_back(page);
    }
}

impl Page {
    async fn read(context: &Context, after: u64, end: u64, until: u64) -> Result<Arc<Self>, Refused> {
        let records = context.store().outbox_after(after, (end - after) as usize).await?;
        Ok(Arc::new(Self::new(after, end, until, &records, context.stream().source())))
    }

    fn new(after: u64, end: u64, until: u64, records: &[OutboxRecord], source: &str) -> Self {
        let records = || records.iter().take_while(|record| record.id <= end);
        // Numbers become visible in order, so no event before the last one read can appear later.
        let up_to = records().last().map_or(until, |last| until.max(last.id)).min(end);
        let (mut entries, mut bytes) = (Vec::new(), Vec::new());
        for record in records().filter(|record| is_public(&record.event_type)) {
            let published = PublishedEvent::of(record, source);
            bytes.extend_from_slice(&published.frame);
            entries.push(Entry {
                id: record.id,
                event_type: published.event_type,
                owner: record.owner.clone(),
                end: bytes.len(),
            });
        }
        Self { after, up_to, entries, bytes: bytes.into() }
    }

    /// Returns the encoded events after `seen`, up to `until`, that pass a filter of type and owner, in the fewest
    /// pieces.
    pub(crate) fn select(
        &self,
        seen: u64,
        until: u64,
        passes: impl Fn(&str, Option<&UserId>) -> bool,
    ) -> VecDeque<Bytes> {
        let mut pieces = VecDeque::new();
        let (mut begin, mut end) = (0, 0);
        for entry in &self.entries {
            let is_selected = seen < entry.id && entry.id <= until && passes(&entry.event_type, entry.owner.as_ref());
            if !is_selected {
                if begin < end {
                    pieces.push_back(self.bytes.slice(begin..end));
                }
                begin = entry.end;
            }
            end = entry.end;
        }
        if begin < end {
            pieces.push_back(self.bytes.slice(begin..end));
        }
        pieces
    }
}

/// Whether the first of these events was committed before a moment. The time of an imported event may be long before
/// its commit.
fn is_old(records: &[OutboxRecord], moment: Timestamp) -> bool {
    records.iter().find(|record| !record.imported).or(records.first()).is_some_and(|record| record.at < moment)
}

/// Finds the last event before a moment by binary search: the outbox is in order of time and has no index on it.
async fn last_old(store: &dyn Store, seen: u64, until: u64, moment: Timestamp) -> Result<u64, Refused> {
    let (mut low, mut high) = (seen, until);
    while low < high {
        let middle = low.midpoint(high);
        let records = store.outbox_after(middle, PROBE).await?;
        let Some(next) = records.first().filter(|next| next.id <= until) else { return Ok(until) };
        if is_old(&records, moment) {
            low = next.id;
        } else if next.id > middle + 1 {
            // The events before it are purged, so all of them are older.
            return Ok(next.id - 1);
        } else {
            high = middle;
        }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: u64, event_type: &str, owner: u64) -> OutboxRecord {
        let (event_type, at) = (event_type.into(), Timestamp::default());
        OutboxRecord { id, event_type, owner: UserId::new(owner), at, data: "{}".into(), trace: None, imported: false }
    }

    fn ids(pieces: &VecDeque<Bytes>) -> Vec<Vec<u64>> {
        let id = |line: &str| line.strip_prefix("id: ").map(|id| id.parse().unwrap());
        pieces.iter().map(|piece| std::str::from_utf8(piece).unwrap().lines().filter_map(id).collect()).collect()
    }

    #[test]
    fn page_selects_by_position_type_and_owner() {
        let records: Vec<_> = (11..=16).map(|id| record(id, "order.paid", id % 3)).collect();
        let page = Page::new(10, 500, 16, &records, "/holdfast");
        assert_eq!(ids(&page.select(10, 500, |_, _| true)), [[11, 12, 13, 14, 15, 16]], "in one piece");
        assert_eq!(ids(&page.select(13, 15, |_, _| true)), [[14, 15]]);
        assert_eq!(ids(&page.select(10, 500, |_, owner| owner.is_some())), [vec![11], vec![13, 14], vec![16]]);
        assert!(
            page.select(10, 500, |name, _| name == "order.cancelled").is_empty()
                && page.select(16, 500, |_, _| true).is_empty()
        );
        assert_eq!(page.up_to, 16);
    }

    #[test]
    fn page_leaves_out_messages_between_services() {
        let records = [record(1, "slot.reserve", 1), record(2, "order.paid", 1), record(501, "order.paid", 1)];
        let page = Page::new(0, 500, 700, &records, "/holdfast");
        assert_eq!(ids(&page.select(0, 500, |_, _| true)), [[2]]);
        assert_eq!(page.up_to, 500, "missing events were purged");
    }

    #[test]
    fn pages_are_shared_by_replays_within_them() {
        let replays = Replays::new(Duration::from_hours(24));
        let page = |after, until| Arc::new(Page::new(after, 500, until, &[], "/holdfast"));
        replays.keep(page(100, 300));
        assert!(
            replays.kept(99, 300).is_none() && replays.kept(300, 400).is_none() && replays.kept(200, 400).is_none()
        );
        assert!(replays.kept(100, 300).is_some() && replays.kept(299, 300).is_some());
        replays.keep(page(50, 400));
        assert_eq!(replays.pages.lock().len(), 1, "a larger page takes the place of one within it");
        for after in 1..=20 {
            replays.keep(Arc::new(Page::new(after * PAGE, (after + 1) * PAGE, u64::MAX, &[], "/holdfast")));
        }
        assert_eq!(replays.pages.lock().len(), PAGES_KEPT_MAX);
    }
}
