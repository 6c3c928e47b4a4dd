//! Delivery worker: attempts deliveries that are due. Concurrency is bounded in total and per webhook, and webhooks
//! take turns, so that a slow receiver with a long queue does not delay others. A delivery is claimed before an
//! attempt; if the server crashes, the claim expires and another server attempts it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use holdfast_api::webhook::message_id;
use holdfast_core::Timestamp;
use holdfast_core::id::ID_MAX;
use holdfast_core::schema::webhook;
use holdfast_core::time::Span;
use holdfast_core::webhook::attempt::{ClaimDeliveries, Claimed, Claims, JITTER_MAX, ReportAttempt, Tried};
use holdfast_core::webhook::delivery::ForgetDeliveries;
use holdfast_core::webhook::{AT_ONCE_MAX, Delivery, DeliveryId, DeliveryStatus, Due, DueId, WEBHOOKS_MAX, WebhookId};
use holdfast_engine::{Answer, Refused};
use tokio::task::JoinSet;

use super::WebhookSettings;
use super::sender::{DeliveryRequest, Sender};
use super::signature::SigningSecret;
use crate::Context;
use crate::wire::event::cloud_event;

/// Lease of a claim beyond the maximum time of an attempt.
const CLAIM_SLACK: Duration = Duration::from_secs(10);
/// Time that attempts in progress have to end when the server stops. Attempts cut off are repeated after their claim expires.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(3);
/// Pause after an error of the store.
const ERROR_PAUSE: Duration = Duration::from_millis(500);
/// Maximum number of tries to commit the outcome of an attempt.
const REPORTS_MAX: u32 = 5;
/// Interval of the purge of old deliveries, and of the count of pending ones.
const MAINTAIN_EVERY: Duration = Duration::from_secs(15);
/// Maximum value of the pending count, to bound its cost.
const COUNTED_MAX: usize = 10_000;

/// Runs until the server stops.
pub async fn run(context: Context, config: WebhookSettings) {
    let sender = Sender::new(config.allowed, config.connect_timeout, config.timeout);
    let (concurrency_max, per_webhook_max) = (config.concurrency_max, config.per_webhook_max);
    let lease = Span::from_millis((config.timeout + CLAIM_SLACK).as_millis() as i64);
    let mut delivery_worker = DeliveryWorker {
        context,
        sender: Arc::new(sender),
        concurrency_max,
        per_webhook_max,
        lease,
        attempts: JoinSet::new(),
        in_progress: HashMap::new(),
        last_turn: None,
    };
    let mut maintain = tokio::time::interval(MAINTAIN_EVERY);
    maintain.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let wait = match delivery_worker.step().await {
            Ok(wait) => wait.map_or(config.poll, |wait| wait.min(config.poll)),
            Err(error) => {
                tracing::warn!(
                    %error,
                    "[Webhook] due deliveries could not be read; trying again"
                );
                ERROR_PAUSE
            }
        };
        tokio::select! {
            () = delivery_worker.context.stopped() => break,
            Some(ended) = delivery_worker.attempts.join_next() => delivery_worker.ended(ended.ok()),
            () = delivery_worker.context.webhooks().delivery_worker.notified() => {}
            () = tokio::time::sleep(wait) => {}
            _ = maintain.tick() => delivery_worker.maintain(config.keep).await,
        }
        while let Some(ended) = delivery_worker.attempts.try_join_next() {
            delivery_worker.ended(ended.ok());
        }
    }
    let finishing = async { while delivery_worker.attempts.join_next().await.is_some() {} };
    tokio::time::timeout(SHUTDOWN_TIMEOUT, finishing).await.ok();
}

struct DeliveryWorker {
    context: Context,
    sender: Arc<Sender>,
    concurrency_max: usize,
    per_webhook_max: usize,
    lease: Span,
    attempts: JoinSet<WebhookId>,
    /// Number of attempts in progress per webhook.
    in_progress: HashMap<WebhookId, usize>,
    /// Webhook with the most recent turn.
    last_turn: Option<WebhookId>,
}

impl DeliveryWorker {
    /// Starts as many attempts as the bounds allow. Returns the wait until more are due, if known.
    async fn step(&mut self) -> Result<Option<Duration>, Refused> {
        let room = self.concurrency_max.saturating_sub(self.attempts.len());
        if room == 0 {
            return Ok(None);
        }
        let (due, next) = self.find(room).await?;
        if due.is_empty() {
            return Ok(next);
        }
        let claims = self.claim(due).await?;
        metrics::counter!("holdfast_webhook_deliveries_total", "outcome" => "dropped").increment(claims.dropped as u64);
        for claimed in claims.ready {
            let webhook = claimed.webhook.id;
            *self.in_progress.entry(webhook).or_default() += 1;
            let (context, sender) = (self.context.clone(), self.sender.clone());
            self.attempts.spawn(async move {
                attempt(&context, &sender, claimed, claims.now).await;
                webhook
            });
        }
        // A webhook may have more due deliveries than were read.
        Ok(Some(Duration::ZERO))
    }

    fn ended(&mut self, webhook: Option<WebhookId>) {
        let Some(webhook) = webhook else {
            // The task panicked, and its webhook is unknown. Counts restart at zero.
            self.in_progress.clear();
            return;
        };
        if let Some(count) = self.in_progress.get_mut(&webhook) {
            *count -= 1;
            if *count == 0 {
                self.in_progress.remove(&webhook);
            }
        }
    }

    /// Finds due deliveries, up to the bound of each webhook, starting after the webhook with the last turn. Also
    /// returns the wait until the next delivery is due.
    async fn find(&mut self, room: usize) -> Result<(Vec<DueId>, Option<Duration>), Refused> {
        let now = self.context.query(|_, at| Ok(at.now)).await?;
        let mut due = Vec::new();
        let mut next: Option<Timestamp> = None;
        let (mut after, mut is_second_round) = (self.last_turn.map(after_all_of), self.last_turn.is_none());
        // Twice the maximum, because deleted webhooks may be among them. Deliveries beyond the bound are found in the
        // next step.
        for _ in 0..2 * WEBHOOKS_MAX {
            let page = self.context.list_with_keys::<Due>(webhook::due(after.as_ref(), self.per_webhook_max)).await?;
            let Some((first, _)) = page.first() else {
                if is_second_round {
                    break;
                }
                (after, is_second_round) = (None, true);
                continue;
            };
            let webhook = first.webhook;
            if is_second_round && self.last_turn.is_some_and(|last_turn| webhook > last_turn) {
                break;
            }
            let of_webhook = page.iter().map(|(id, _)| *id).filter(|id| id.webhook == webhook);
            let in_progress = self.in_progress.get(&webhook).copied().unwrap_or(0);
            let free = self.per_webhook_max.saturating_sub(in_progress).min(room - due.len());
            for id in of_webhook {
                if id.at > now {
                    next = Some(next.map_or(id.at, |next| next.min(id.at)));
                }
            }
            due.extend(page.iter().map(|(id, _)| *id).filter(|id| id.webhook == webhook && id.at <= now).take(free));
            if due.len() == room {
                self.last_turn = Some(webhook);
                break;
            }
            after = Some(after_all_of(webhook));
        }
        Ok((due, next.map(|next| Duration::from_millis((next.as_millis() - now.as_millis()).unsigned_abs()))))
    }

    async fn claim(&self, due: Vec<DueId>) -> Result<Claims, Refused> {
        match self.context.engine().run(ClaimDeliveries { due, lease: self.lease }, None).await? {
            Answer::Fresh(claims) => Ok(claims),
            Answer::Recorded(_) | Answer::Replayed(_) => unreachable!("nothing is kept without a key"),
        }
    }

    async fn maintain(&self, keep: Duration) {
        if let Err(error) = self.purge(keep).await {
            tracing::warn!(
                %error,
                "[Webhook] old deliveries could not be purged; trying again"
            );
        }
        if let Ok(pending) = self.count_pending().await {
            metrics::gauge!("holdfast_webhook_pending").set(pending as f64);
        }
    }

    async fn purge(&self, keep: Duration) -> Result<(), Refused> {
        let now = self.context.query(|_, at| Ok(at.now)).await?;
        let created_before = now - Span::from_millis(keep.as_millis() as i64);
        while !self.context.is_stopping() {
            let ended = self.context.list::<Delivery>(webhook::ended_deliveries(AT_ONCE_MAX)).await?;
            let old = ended.iter().filter(|delivery| delivery.created_at < created_before);
            let ids: Vec<_> = old.map(|delivery| delivery.id).collect();
            let is_last = ids.len() < AT_ONCE_MAX;
            if !ids.is_empty() {
                self.context.engine().run(ForgetDeliveries { ids, created_before }, None).await?;
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }

    async fn count_pending(&self) -> Result<usize, Refused> {
        let (mut counted, mut after) = (0, None);
        while counted < COUNTED_MAX {
            let page = self.context.list_with_keys::<Due>(webhook::due(after.as_ref(), AT_ONCE_MAX)).await?;
            counted += page.len();
            match page.last() {
                Some((last, _)) if page.len() == AT_ONCE_MAX => after = Some(*last),
                _ => break,
            }
        }
        Ok(counted)
    }
}

/// Returns a key after all deliveries of a webhook.
fn after_all_of(webhook: WebhookId) -> DueId {
    let delivery = DeliveryId::new(ID_MAX).expect("ID_MAX is a valid id");
    DueId { webhook, at: Timestamp::from_millis(i64::MAX), delivery }
}

/// Attempts a claimed delivery, and commits the outcome.
async fn attempt(context: &Context, sender: &Sender, claimed: Claimed, now: Timestamp) {
    let began = Instant::now();
    let tried = match delivery_request(context, &claimed, now) {
        Some(delivery_request) => sender.send(&claimed.webhook.url, delivery_request).await,
        None => Tried::Failed { status: None, error: "the secret is malformed".into(), retry_after: None },
    };
    metrics::histogram!("holdfast_webhook_attempt_seconds").record(began.elapsed());
    let (webhook, delivery, attempt) = (claimed.webhook.id.get(), claimed.delivery, claimed.attempt);
    tracing::debug!(webhook, delivery = delivery.get(), attempt, ?tried, "[Webhook] attempted");
    let jitter = context.ids().number() as u32 % (JITTER_MAX + 1);
    for again in 1..=REPORTS_MAX {
        let report = ReportAttempt { delivery, attempt, tried: tried.clone(), jitter };
        match context.engine().run(report, None).await {
            Ok(Answer::Fresh(became)) => return count(became, webhook, delivery),
            Ok(_) => unreachable!("nothing is kept without a key"),
            Err(error) if again == REPORTS_MAX => {
                tracing::warn!(%error, webhook, delivery = delivery.get(), "[Webhook] an outcome could not be committed; the delivery is attempted again");
            }
            Err(_) => tokio::time::sleep(ERROR_PAUSE).await,
        }
    }
}

fn count(became: Option<DeliveryStatus>, webhook: u64, delivery: DeliveryId) {
    let outcome = match became {
        Some(DeliveryStatus::Delivered) => "delivered",
        Some(DeliveryStatus::Pending) => "retried",
        Some(DeliveryStatus::Failed) => {
            tracing::warn!(
                webhook,
                delivery = delivery.get(),
                "[Webhook] a delivery has failed for good; retry it from the deliveries of the webhook"
            );
            "failed"
        }
        None => "overtaken",
    };
    metrics::counter!("holdfast_webhook_deliveries_total", "outcome" => outcome).increment(1);
}

/// Returns the signed request for an event.
fn delivery_request(context: &Context, claimed: &Claimed, now: Timestamp) -> Option<DeliveryRequest> {
    let event = &claimed.event;
    let body = cloud_event(context.stream().source(), &claimed.name, &event.event_type, event.at, &event.data, None);
    let (id, timestamp) = (message_id(context.installation(), claimed.delivery), now.as_millis() / 1_000);
    let secrets = claimed.webhook.secrets.signing(now).map(SigningSecret::parse);
    // One header holds all signatures; a receiver accepts any valid one.
    let signatures = secrets.map(|secret| Some(secret?.sign(&id, timestamp, body.as_bytes())));
    let signature = signatures.collect::<Option<Vec<_>>>()?.join(" ");
    Some(DeliveryRequest { id, timestamp, signature, body: body.into() })
}
