//! Store of both tiers: live rows in Redis, durable ones in PostgreSQL. No commit covers both; their joint invariants
//! are kept by the steps of a command and the order of reads.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use holdfast_core::audit::Audit;
use holdfast_core::hold::AttemptId;
use holdfast_core::near_term::{self, CachedPart, PartId};
use holdfast_core::schema::{List, Listed};
use holdfast_core::table::TableSet as _;
use holdfast_core::{Timestamp, WorkingSet};
use holdfast_engine::store::{Committed, Keep, OutboxRecord, RecoveredAttempt, Session, Tier};
use holdfast_engine::{OutboxEntry, Store, StoreError};
use holdfast_store_postgres::{Drawn, DurableSession, DurableTier, ReadSet};

use crate::cache_versions::CacheVersion;
use crate::fault::{Faults, Point};
use crate::live::LiveTier;
use crate::near_term_cache::{EntryVersion, NearTermCache};
use crate::read_set::LiveReadSet;

/// Number of units that the auditor looks up at once. An unbounded range counts as that many.
const AUDIT_UNITS_MAX: u64 = 40_000;

/// Cheap to clone.
#[derive(Clone)]
pub struct ClusterStore {
    live: LiveTier,
    durable: DurableTier,
    /// The last record step conflicted: a confirm attempt may have been aborted.
    recheck: Arc<AtomicBool>,
    near_term_cache: Arc<NearTermCache>,
    faults: Option<Arc<dyn Faults>>,
}

impl std::fmt::Debug for ClusterStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClusterStore").field("live", &self.live).finish_non_exhaustive()
    }
}

impl ClusterStore {
    pub fn new(live: LiveTier, durable: DurableTier) -> Self {
        Self { live, durable, recheck: Arc::default(), near_term_cache: Arc::default(), faults: None }
    }

    /// Injects faults, for tests.
    #[must_use]
    pub fn with_faults(self, faults: Arc<dyn Faults>) -> Self {
        Self { faults: Some(faults), ..self }
    }

    pub fn live(&self) -> &LiveTier {
        &self.live
    }

    pub fn durable(&self) -> &DurableTier {
        &self.durable
    }

    /// Reads live rows first, durable ones second. In the other order, a hold confirmed in between would be counted
    /// neither as held nor as reserved.
    async fn load(
        &self,
        rows: &mut WorkingSet,
        read_set: &mut LiveReadSet,
        durable: &mut ReadSet,
    ) -> Result<Timestamp, StoreError> {
        let known = read_set.versions.len();
        let now = self.live.load(rows, read_set).await?;
        if read_set.versions.len() > known {
            durable.note_live_rows();
        }
        self.reach(Point::LiveLoaded).await?;
        self.read_durable(rows, durable).await?;
        Ok(now)
    }

    /// All that is still requested is durable.
    async fn read_durable(&self, rows: &mut WorkingSet, read_set: &mut ReadSet) -> Result<(), StoreError> {
        if !rows.is_loaded() {
            self.durable.read_into(rows, read_set).await?;
        }
        self.reach(Point::DurableRead).await
    }

    /// Fills requested rows of a part from the cache if its version is current; else loads near-term ones into the
    /// cache.
    async fn fill_from_cache(
        &self,
        part: PartId,
        cache_version: CacheVersion,
        rows: &mut WorkingSet,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let connection = self.live.connection().opened();
        let kept = match cache_version {
            CacheVersion::Changing => return Ok(()),
            CacheVersion::Is(cache_version) => {
                self.near_term_cache.get(part, &EntryVersion { cache_version, connection })
            }
            CacheVersion::Missing => None,
        };
        match kept {
            Some(kept) => kept.answer(rows),
            None if near_term::is_requested(rows, part, now) => self.read_into_cache(part, rows, now).await?,
            None => {}
        }
        Ok(())
    }

    /// Loads all near-term rows of a part into the cache. If the part is changed meanwhile, its version is gone
    /// and the entry is invalid; if Redis fails, the part is not cached.
    async fn read_into_cache(&self, part: PartId, rows: &mut WorkingSet, now: Timestamp) -> Result<(), StoreError> {
        let Some(_loading) = self.near_term_cache.try_begin_load(part) else { return Ok(()) };
        let connection = self.live.connection().opened();
        let Ok(Some(cache_version)) = self.live.cache_version(part).await else { return Ok(()) };
        let mut requests = CachedPart::requests(part, now);
        self.durable.read(&mut requests).await?;
        let read = Arc::new(CachedPart::from_rows(part, now, &requests));
        read.answer(rows);
        if read.exists() {
            self.near_term_cache.insert(EntryVersion { cache_version, connection }, read);
        } else {
            // A request for a missing part leaves no key behind.
            self.live.delete_cache_version(part).await.ok();
        }
        Ok(())
    }

    /// Loads decisions on confirm attempts. Aborts by other servers are so rare that decisions are read only after a
    /// conflict; the commit validates them in any case.
    async fn load_decisions(&self, rows: &mut WorkingSet) -> Result<(), StoreError> {
        let requested = rows.decisions.take_requested();
        let mut decided = HashMap::new();
        if !requested.is_empty() && self.recheck.swap(false, Ordering::AcqRel) {
            decided.extend(self.durable.decided(&requested).await?);
        }
        for of in requested {
            rows.decisions.fill(of, decided.get(&of).copied());
        }
        Ok(())
    }

    async fn reach(&self, point: Point) -> Result<(), StoreError> {
        match &self.faults {
            Some(faults) => faults.at(point).await,
            None => Ok(()),
        }
    }
}

#[async_trait]
impl Store for ClusterStore {
    fn is_split(&self) -> bool {
        true
    }

    async fn begin(&self, tier: Tier) -> Result<Box<dyn Session>, StoreError> {
        match tier {
            Tier::Whole => unreachable!("no commit covers both tiers"),
            Tier::Live => {
                let (read_set, durable, drawn) = (LiveReadSet::default(), ReadSet::default(), self.durable.numbers());
                Ok(Box::new(LiveSession { store: self.clone(), read_set, durable, drawn }))
            }
            Tier::Durable => {
                let session = self.durable.begin().await?;
                Ok(Box::new(RecordSession { store: self.clone(), session, live: LiveReadSet::default() }))
            }
        }
    }

    async fn read(&self, rows: &mut WorkingSet) -> Result<Timestamp, StoreError> {
        let parts = near_term::parts_requested(rows);
        let (now, cache_versions) =
            self.live.load_with_cache_versions(rows, &mut LiveReadSet::default(), &parts).await?;
        self.reach(Point::LiveLoaded).await?;
        for (part, cache_version) in parts.into_iter().zip(cache_versions) {
            self.fill_from_cache(part, cache_version, rows, now).await?;
        }
        self.read_durable(rows, &mut ReadSet::default()).await?;
        Ok(now)
    }

    async fn list(&self, list: List) -> Result<Vec<Listed>, StoreError> {
        self.durable.list(&list).await
    }

    async fn outbox_after(&self, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError> {
        self.durable.outbox_after(id, limit).await
    }

    async fn outbox_before(&self, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError> {
        self.durable.outbox_before(id, limit).await
    }

    async fn outbox_last(&self) -> Result<u64, StoreError> {
        self.durable.outbox_last().await
    }

    async fn installation(&self) -> Result<String, StoreError> {
        self.durable.installation().await
    }

    async fn purge(&self, keep: Keep) -> Result<bool, StoreError> {
        // Live rows expire by themselves.
        self.durable.purge(keep).await
    }

    /// Aborts abandoned attempts in PostgreSQL first, so that no later confirmation is possible: it waits for one in
    /// flight, and loses to it. A mere look would prove nothing.
    async fn recover_in_doubt(&self) -> Result<Vec<RecoveredAttempt>, StoreError> {
        let mut resolved = Vec::new();
        let abandoned = self.live.abandoned().await?;
        self.reach(Point::AbandonedListed).await?;
        for of in abandoned {
            match self.durable.decide_aborted(of.hold, of.attempt.0).await {
                Ok(is_committed) => resolved.push(RecoveredAttempt { of, is_committed }),
                // An attempt that has to wait must not delay the others.
                Err(error) => {
                    tracing::warn!(hold = %of.hold, %error, "confirm attempt not resolved; retrying");
                }
            }
            self.reach(Point::AbandonedDecided).await?;
        }
        Ok(resolved)
    }

    async fn check(&self) -> Result<(), StoreError> {
        let (durable, live) = tokio::join!(self.durable.check(), self.live.check_write());
        durable.and(live)
    }

    /// Audits durable records first, then holds: under load, a hold may be missed, but none is counted twice.
    async fn audit(&self, audit: &mut Audit) -> Result<(), StoreError> {
        self.durable.audit(audit).await?;
        let (mut together, mut size) = (Vec::new(), 0);
        for units in audit.units() {
            let more = (u64::from(units.last_part - units.first.part) + 1).min(AUDIT_UNITS_MAX);
            if size + more > AUDIT_UNITS_MAX {
                self.live.audit(&std::mem::take(&mut together), audit).await?;
                size = 0;
            }
            together.push(units);
            size += more;
        }
        self.live.audit(&together, audit).await
    }
}

/// Commit of live rows. Durable rows are read only, except for drawing ids.
struct LiveSession {
    store: ClusterStore,
    read_set: LiveReadSet,
    durable: ReadSet,
    drawn: Drawn,
}

#[async_trait]
impl Session for LiveSession {
    async fn load(&mut self, rows: &mut WorkingSet) -> Result<Timestamp, StoreError> {
        self.store.durable.draw(rows, &mut self.drawn).await?;
        self.store.load(rows, &mut self.read_set, &mut self.durable).await
    }

    async fn validate(&mut self) -> Result<(), StoreError> {
        self.store.durable.validate(&self.durable).await
    }

    async fn commit(&mut self, rows: &mut WorkingSet, outbox: &[OutboxEntry]) -> Result<Committed, StoreError> {
        self.drawn.used_by(rows);
        assert!(outbox.is_empty(), "durable events come with durable rows");
        self.store.reach(Point::LiveDecided).await?;
        self.store.live.commit(rows, &self.read_set).await?;
        self.store.reach(Point::LiveCommitted).await?;
        Ok(Committed { outbox_ids: Vec::new(), flush: Box::new(|| Ok(())) })
    }
}

/// Commit of durable rows. Live rows are read only.
struct RecordSession {
    store: ClusterStore,
    session: DurableSession,
    /// Live rows that were read; not those that an earlier step prepared.
    live: LiveReadSet,
}

#[async_trait]
impl Session for RecordSession {
    async fn load(&mut self, rows: &mut WorkingSet) -> Result<Timestamp, StoreError> {
        let known = self.live.versions.len();
        let now = self.store.live.load(rows, &mut self.live).await?;
        if self.live.versions.len() > known {
            self.session.note_live_rows();
        }
        self.store.load_decisions(rows).await?;
        self.session.load(rows).await?;
        self.store.reach(Point::RecordLoaded).await?;
        Ok(now)
    }

    async fn validate(&mut self) -> Result<(), StoreError> {
        self.store.live.validate(&self.live).await
    }

    async fn commit(&mut self, rows: &mut WorkingSet, outbox: &[OutboxEntry]) -> Result<Committed, StoreError> {
        let attempts: Vec<AttemptId> = rows.decisions.changes().iter().map(|change| *change.key).collect();
        let parts = near_term::parts_changed(rows, self.store.live.latest_now());
        let intent = if parts.is_empty() { None } else { Some(self.store.live.declare_intent(parts).await?) };
        self.store.reach(Point::RecordDecided).await?;
        let committed = self.session.commit(rows, outbox, &attempts).await;
        // While the outcome is unknown, the change may still be committed.
        if let Some(intent) = intent
            && !matches!(committed, Err(StoreError::OutcomeUnknown(_)))
        {
            self.store.live.withdraw_intent(intent).await;
        }
        self.store.recheck.store(matches!(committed, Err(StoreError::Conflict)), Ordering::Release);
        let outbox_ids = committed?;
        self.store.reach(Point::RecordCommitted).await?;
        Ok(Committed { outbox_ids, flush: Box::new(|| Ok(())) })
    }
}
