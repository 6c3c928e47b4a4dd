//! Reads the outbox, and makes deliveries of what somebody wants. One server at a time does so, on a lease; how far it has come
//! is written down in the commit of the deliveries. While there are no webhooks it looks at next to nothing, and seldom.

use std::time::Duration;

use holdfast_core::Rejection;
use holdfast_core::relay::Partition;
use holdfast_core::webhook::offer::{Candidate, Mark, Offer};
use holdfast_core::webhook::{EventName, OFFERED_MAX, Webhook, subscription};
use holdfast_engine::store::OutboxRecord;
use holdfast_engine::{Answer, Refused};

use crate::app::App;
use crate::problem::Problem;
use crate::wire::event::is_public;

/// After a failure nothing is tried for so long.
const AGAIN_AFTER: Duration = Duration::from_millis(500);
/// How many events nobody wants are passed over before that is written down.
const PASSED_OVER_MAX: u64 = 10_000;

/// Runs until the app stops.
pub async fn run(app: App, poll: Duration) {
    let (mut committed, mut leases_changed) = (app.stream().committed(), app.leases().changed());
    let mut feed = Feed { app, term: None, read_up_to: 0, marked: 0, found: Found::Nobody, is_due: true };
    loop {
        feed.found = match feed.step().await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(
                    error = error.detail(crate::problem::Language::English),
                    "[Webhook] cannot read the outbox"
                );
                tokio::time::sleep(AGAIN_AFTER).await;
                Found::Nobody
            }
        };
        if feed.found == Found::More && !feed.app.is_stopping() {
            continue;
        }
        tokio::select! {
            () = feed.app.stopped() => {
                feed.release().await;
                return;
            }
            _ = committed.changed(), if feed.found != Found::Nobody => {}
            _ = leases_changed.changed() => {}
            // Now there is somebody to tell: be there when the next event is committed.
            () = feed.app.webhooks().feed.notified() => feed.found = Found::All,
            () = tokio::time::sleep(poll) => feed.is_due = true,
        }
    }
}

/// Makes deliveries of events that came another way than through this store's outbox. An event that was offered before makes
/// none. At most [`OFFERED_MAX`] at once. Their names must not be plain numbers, which are those of this outbox. Says how many
/// were made.
pub async fn offer(app: &App, events: Vec<Candidate>) -> Result<usize, Refused> {
    make(app, events, None).await
}

/// An event of the outbox, as webhooks are told of it; `None` if it is not for them.
pub fn candidate(record: &OutboxRecord) -> Option<Candidate> {
    is_public(&record.event_type).then(|| Candidate {
        name: EventName(record.id.to_string().into()),
        event_type: (&*record.event_type).into(),
        at: record.at,
        data: (&*record.data).into(),
        number: Some(record.id),
    })
}

async fn make(app: &App, events: Vec<Candidate>, mark: Option<Mark>) -> Result<usize, Refused> {
    let made = match app.engine().run(Offer { events, mark }, None).await? {
        Answer::Fresh(made) => made,
        Answer::Kept(_) | Answer::Replayed(_) => unreachable!("nothing is kept without a key"),
    };
    if made > 0 {
        app.webhooks().courier.notify_one();
    }
    Ok(made)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Nobody wants to be told of anything, or somebody else sees to it.
    Nobody,
    All,
    More,
}

struct Feed {
    app: App,
    /// The term of the lease on the outbox, if this server has it.
    term: Option<u64>,
    read_up_to: u64,
    /// How much of that is written down.
    marked: u64,
    /// What was found last.
    found: Found,
    /// The store is to be asked itself: it may have committed what nobody was sure of in time to tell.
    is_due: bool,
}

impl Feed {
    async fn step(&mut self) -> Result<Found, Problem> {
        // In this order: whoever subscribed before the last of these events was committed is seen.
        let last = if self.is_due {
            self.app.store().outbox_last().await?
        } else {
            self.app.stream().last_committed(self.app.store()).await?
        };
        self.is_due = false;
        if last <= self.read_up_to {
            return Ok(if self.found == Found::Nobody { Found::Nobody } else { Found::All });
        }
        let webhooks = self.app.query(|rows, _| subscription::active(rows)).await?;
        let Some(begin) = webhooks.iter().map(|webhook| webhook.told_after).min() else {
            self.pass_over(last).await?;
            return Ok(Found::Nobody);
        };
        if !self.has_lease().await? {
            return Ok(Found::Nobody);
        }
        self.read_up_to = self.read_up_to.max(begin);
        self.read(&webhooks).await
    }

    /// Nobody wants to be told of these. If somebody ever did, that is written down: the outbox keeps what was not handed on.
    async fn pass_over(&mut self, last: u64) -> Result<(), Problem> {
        let has_begun = self.app.query(|rows, _| Ok(rows.relay.relays.get(&Partition::WEBHOOKS)?.is_some())).await?;
        if has_begun && self.has_lease().await? {
            self.hand_on(Vec::new(), last).await?;
        }
        self.read_up_to = last;
        Ok(())
    }

    /// Whether this server has the lease on the outbox, for which it asks from now on.
    async fn has_lease(&mut self) -> Result<bool, Problem> {
        self.app.leases().want(&self.app, &[Partition::WEBHOOKS]).await?;
        let lease = self.app.leases().lease(Partition::WEBHOOKS);
        let term = lease.map(|lease| lease.term);
        if let Some(lease) = lease.filter(|_| term != self.term) {
            self.marked = lease.relay.sent_up_to;
            self.read_up_to = self.read_up_to.max(lease.relay.sent_up_to);
        }
        self.term = term;
        Ok(term.is_some())
    }

    /// Gives the lease back, if this server has it.
    async fn release(&self) {
        let held = self.app.leases().lease(Partition::WEBHOOKS).map(|_| (Partition::WEBHOOKS, self.marked));
        if let Some(held) = held
            && let Err(error) = self.app.leases().release(&self.app, vec![held]).await
        {
            tracing::warn!(%error, "[Webhook] the lease could not be given back; it ends by time");
        }
    }

    async fn read(&mut self, webhooks: &[Webhook]) -> Result<Found, Problem> {
        let page = self.app.stream().outbox_after(self.app.store(), self.read_up_to, OFFERED_MAX).await?;
        let Some(up_to) = page.last().map(|record| record.id) else { return Ok(Found::All) };
        let is_full = page.len() == OFFERED_MAX;
        let mut events: Vec<Candidate> = page.iter().filter_map(|record| candidate(record)).collect();
        events.retain(|event| webhooks.iter().any(|webhook| event.is_for(webhook)));
        if !events.is_empty() || up_to > self.marked + PASSED_OVER_MAX {
            self.hand_on(events, up_to).await?;
        }
        self.read_up_to = up_to;
        Ok(if is_full { Found::More } else { Found::All })
    }
    /// Makes deliveries, and writes down how far the outbox was read.
    async fn hand_on(&mut self, events: Vec<Candidate>, up_to: u64) -> Result<(), Problem> {
        let made = make(&self.app, events, Some(Mark { server: self.app.leases().server(), up_to })).await;
        if let Err(error) = made {
            // How far another server has come shows when it is leased again.
            self.term = None;
            if error == Refused::Rejected(Rejection::LeaseLost) {
                self.app.leases().lost(Partition::WEBHOOKS);
            }
            return Err(error.into());
        }
        self.marked = up_to;
        Ok(())
    }
}
