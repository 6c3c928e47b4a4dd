//! A store that fails after a commit: the answer is what was committed, never "nothing was changed".

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use holdfast_client::RoomType;
use holdfast_core::audit::Audit;
use holdfast_core::schema::{List, Listed};
use holdfast_core::{Timestamp, WorkingSet};
use holdfast_engine::store::{Committed, Flush, Keep, OutboxRecord, RecoveredAttempt, Session, Tier};
use holdfast_engine::{OutboxEntry, Store, StoreError};
use holdfast_testkit::{Profile, profiles};
use serde_json::{Value, json};

use crate::calendar_support::every_day;
use crate::fairness::{LINES, body_of, is_replayed, lines, results, send_batch};
use crate::support::{RawResponse, TestApp, day, fresh_key, with_store};
use crate::tee_times::{booking, get, send, slot, until};

/// Faults that a test switches on.
#[derive(Debug, Default)]
struct Faults {
    /// From the next commit of an event of this type on, reads fail.
    reads_fail_after: std::sync::Mutex<Option<&'static str>>,
    reads_fail: AtomicBool,
    commits_fail: AtomicBool,
    /// Commits that succeed before they begin to fail, once `commits_fail` is set.
    commits_left: AtomicU64,
    /// Commits of the idempotency record under this key fail.
    record_fails: std::sync::Mutex<Option<&'static str>>,
    record_failed: AtomicBool,
}

impl Faults {
    fn fail_reads_after(&self, event_type: &'static str) {
        *self.reads_fail_after.lock().unwrap() = Some(event_type);
    }

    fn fail_commits_after(&self, commits: u64) {
        self.commits_left.store(commits, Ordering::SeqCst);
        self.commits_fail.store(true, Ordering::SeqCst);
    }

    fn fail_record_of(&self, key: &'static str) {
        *self.record_fails.lock().unwrap() = Some(key);
    }

    /// Ends all faults. Tells whether reads or the commit of a record have failed.
    fn end(&self) -> bool {
        *self.reads_fail_after.lock().unwrap() = None;
        *self.record_fails.lock().unwrap() = None;
        self.commits_fail.store(false, Ordering::SeqCst);
        self.reads_fail.swap(false, Ordering::SeqCst) | self.record_failed.swap(false, Ordering::SeqCst)
    }

    fn read(&self) -> Result<(), StoreError> {
        if self.reads_fail.load(Ordering::SeqCst) { Err(StoreError::Unavailable("a fault".into())) } else { Ok(()) }
    }

    fn committed(&self, outbox: &[OutboxEntry]) {
        let awaited = *self.reads_fail_after.lock().unwrap();
        if outbox.iter().any(|entry| Some(entry.event_type) == awaited) {
            self.reads_fail.store(true, Ordering::SeqCst);
        }
    }
}

struct FaultyStore {
    inner: Arc<dyn Store>,
    faults: Arc<Faults>,
}

struct FaultySession {
    inner: Box<dyn Session>,
    faults: Arc<Faults>,
}

#[async_trait]
impl Session for FaultySession {
    async fn load(&mut self, rows: &mut WorkingSet) -> Result<Timestamp, StoreError> {
        self.inner.load(rows).await
    }

    async fn validate(&mut self) -> Result<(), StoreError> {
        self.inner.validate().await
    }

    async fn commit(&mut self, rows: &mut WorkingSet, outbox: &[OutboxEntry]) -> Result<Committed, StoreError> {
        if self.faults.commits_fail.load(Ordering::SeqCst) {
            let left =
                self.faults.commits_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            left.map_err(|_| StoreError::Unavailable("a fault".into()))?;
        }
        let record_fails = *self.faults.record_fails.lock().unwrap();
        if rows.idempotency_records.changes().iter().any(|change| Some(&*change.key.key) == record_fails) {
            self.faults.record_failed.store(true, Ordering::SeqCst);
            return Err(StoreError::Unavailable("a fault".into()));
        }
        let committed = self.inner.commit(rows, outbox).await?;
        self.faults.committed(outbox);
        Ok(committed)
    }

    fn flush(&self) -> Flush {
        self.inner.flush()
    }
}

#[async_trait]
impl Store for FaultyStore {
    fn is_split(&self) -> bool {
        self.inner.is_split()
    }

    async fn installation(&self) -> Result<String, StoreError> {
        self.inner.installation().await
    }

    async fn begin(&self, tier: Tier) -> Result<Box<dyn Session>, StoreError> {
        Ok(Box::new(FaultySession { inner: self.inner.begin(tier).await?, faults: self.faults.clone() }))
    }

    async fn read(&self, rows: &mut WorkingSet) -> Result<Timestamp, StoreError> {
        self.faults.read()?;
        self.inner.read(rows).await
    }

    async fn list(&self, list: List) -> Result<Vec<Listed>, StoreError> {
        self.faults.read()?;
        self.inner.list(list).await
    }

    async fn outbox_after(&self, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError> {
        self.inner.outbox_after(id, limit).await
    }

    async fn outbox_before(&self, id: u64, limit: usize) -> Result<Vec<OutboxRecord>, StoreError> {
        self.inner.outbox_before(id, limit).await
    }

    async fn outbox_last(&self) -> Result<u64, StoreError> {
        self.inner.outbox_last().await
    }

    async fn purge(&self, keep: Keep) -> Result<bool, StoreError> {
        self.inner.purge(keep).await
    }

    async fn recover_in_doubt(&self) -> Result<Vec<RecoveredAttempt>, StoreError> {
        self.inner.recover_in_doubt().await
    }

    async fn check(&self) -> Result<(), StoreError> {
        self.inner.check().await
    }

    async fn audit(&self, audit: &mut Audit) -> Result<(), StoreError> {
        self.inner.audit(audit).await
    }
}

/// Runs a test on every profile, on a store with faults.
async fn with_faults(profile: Profile, test: impl AsyncFn(&TestApp, &Faults)) {
    let faults = Arc::new(Faults::default());
    let wrap = |inner: Arc<dyn Store>| Arc::new(FaultyStore { inner, faults: faults.clone() }) as Arc<dyn Store>;
    with_store(profile, wrap, async |app: &TestApp| test(app, &faults).await).await;
}

async fn confirmed(app: &TestApp, made: &Value) {
    let path = format!("/bookings/{}?userId={}", made["id"], made["userId"]);
    assert_eq!(until(app, &path, |booking| booking["status"] != "PENDING").await["status"], "CONFIRMED");
}

profiles!(booking_is_answered_though_reads_fail);
async fn booking_is_answered_though_reads_fail(profile: Profile) {
    with_faults(profile, async |app, faults| {
        let slot = slot(app, 10, 40).await;
        let headers: [&[(&str, &str)]; 3] = [
            &[("prefer", "wait=0.3")],
            &[("idempotency-key", "one")],
            &[("idempotency-key", "two"), ("prefer", "wait=0.3")],
        ];
        for (number, headers) in headers.into_iter().enumerate() {
            let asked = booking(7, slot, 1, &format!("own {number}")).to_string();
            let book = async || app.send("POST", "/bookings", headers, &asked).await;
            faults.fail_reads_after("slot.reserve");
            let made: RawResponse = book().await;
            assert_eq!((made.status, &made.json["status"]), (202, &json!("PENDING")), "{headers:?}: {}", made.text);
            // The repetition under the same key is answered without a read, too.
            let again = book().await;
            let expected = if headers[0].0 == "prefer" { 200 } else { 202 };
            assert_eq!((again.status, &again.json["id"]), (expected, &made.json["id"]), "{headers:?}: {}", again.text);
            assert!(faults.end(), "the fault was there");
            confirmed(app, &made.json).await;
        }
    })
    .await;
}

profiles!(new_slots_are_answered_though_reads_fail);
async fn new_slots_are_answered_though_reads_fail(profile: Profile) {
    with_faults(profile, async |app, faults| {
        let course = send(app, "POST", "/v1/courses", &json!({"name": "파크골프장"})).await.json["id"].clone();
        let slots = json!({"slots": [{"date": day(9).to_string(), "startTime": "09:00", "maxPlayers": 4, "price": 1}]});
        faults.fail_reads_after("slot.changed");
        let made = send(app, "POST", &format!("/v1/courses/{course}/slots"), &slots).await;
        assert_eq!(made.status, 201, "{}", made.text);
        assert!(faults.end(), "the fault was there");
        assert_eq!(get(app, &format!("/v1/slots/{}", made.json[0]["id"])).await["maxPlayers"], 4);
    })
    .await;
}

profiles!(queue_calls_are_answered_though_commits_fail);
async fn queue_calls_are_answered_though_commits_fail(profile: Profile) {
    with_faults(profile, async |app, faults| {
        let event = json!({"name": "콘서트", "queueEnabled": true, "maxConcurrent": 10,
            "seats": [{"label": "A1", "section": "A", "price": 1}]});
        let event = send(app, "POST", "/v1/events", &event).await.json["id"].clone();
        let (queue, body) = (format!("/v1/events/{event}/queue"), json!({"userId": 7}).to_string());
        let key = fresh_key().to_string();
        faults.fail_commits_after(0);
        let joined = app.send("POST", &queue, &[("idempotency-key", &key)], &body).await;
        assert_eq!(joined.status, 201, "{}", joined.text);
        let again = app.send("POST", &queue, &[("idempotency-key", &key)], &body).await;
        assert_eq!((again.status, &again.json["rank"]), (200, &joined.json["rank"]), "{}", again.text);
        let entered = app.send("POST", &format!("{queue}/enter"), &[], &body).await;
        assert_eq!(entered.status, 200, "{}", entered.text);
        faults.end();
        let admitted = async {
            loop {
                let events = app.app().store().outbox_after(0, 500).await.unwrap();
                let admitted = events.iter().filter(|event| event.event_type == "queue.admitted").count();
                if admitted > 0 {
                    return admitted;
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        let admitted = tokio::time::timeout(std::time::Duration::from_secs(20), admitted).await;
        assert_eq!(admitted.expect("the event follows"), 1);
    })
    .await;
}

profiles!(batch_is_answered_though_record_fails);
/// The first command of the batch is refused and leaves no record; the second commits holds; then the answer of the first
/// cannot be kept.
async fn batch_is_answered_though_record_fails(profile: Profile) {
    with_faults(profile, async |app, faults| {
        let (gone, room_type) = (RoomType { id: 999, ..app.room_type(1).await }, app.room_type(1_000).await);
        let body = body_of(&[lines(&gone, 1..600), lines(&room_type, 600..LINES + 1)].concat());
        faults.fail_record_of("once");
        let first = send_batch(app, "once", &body).await;
        assert_eq!((first.status, is_replayed(&first)), (200, false), "{}", first.text);
        assert!(faults.end(), "the fault was there");
        let placed = results(&first).iter().filter(|line| line["status"] == "HELD").count();
        assert_eq!((results(&first).len(), placed), (LINES as usize, 101));
        // The repetition runs the refused part again, and replays the other.
        for is_whole in [false, true] {
            let again = send_batch(app, "once", &body).await;
            assert_eq!((again.status, is_replayed(&again), &again.text), (200, is_whole, &first.text));
        }
    })
    .await;
}

profiles!(calendar_is_answered_though_record_fails);
async fn calendar_is_answered_though_record_fails(profile: Profile) {
    with_faults(profile, async |app, faults| {
        let room = app.room().await;
        let range = json!({"from": day(1).to_string(), "to": day(9).to_string()});
        let calls = [
            ("hours", "PUT", format!("/v1/rooms/{room}/operating-hours"), every_day("09:00", "11:00")),
            ("generate", "POST", "/v1/calendar/generate".to_owned(), json!({ "roomId": room })),
            ("reprice", "POST", format!("/v1/rooms/{room}/reprice"), range),
        ];
        for (key, method, path, body) in calls {
            let body = body.to_string();
            let call = async || app.send(method, &path, &[("idempotency-key", key)], &body).await;
            faults.fail_record_of(key);
            let first = call().await;
            assert!(first.status < 300 && !is_replayed(&first), "{key}: {}", first.text);
            assert!(faults.end(), "{key}: the fault was there");
            for is_kept in [false, true] {
                let again = call().await;
                assert_eq!((again.status, is_replayed(&again)), (first.status, is_kept), "{key}: {}", again.text);
            }
        }
    })
    .await;
}
