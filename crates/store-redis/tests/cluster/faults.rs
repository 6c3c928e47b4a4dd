//! Faults at every wait between the stores: an error, a delay during which other servers go on, the death of the
//! server. After each: no unit is sold twice, no confirmation is lost, and no row is left over.

use holdfast_core::StayRejection;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdfast_core::audit::Audit;
use holdfast_core::rejection::Rejection;
use holdfast_core::stay::room_type::{ChangeRoomType, RoomTypeDraft};
use holdfast_core::time::Span;
use holdfast_engine::{Clock as _, Refused, Store as _, StoreError};
use holdfast_store_redis::fault::{Faults, Point};
use tokio::sync::Notify;

use crate::support::{Cluster, Server, TTL, rejected};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    Error,
    Delay,
    Death,
}

/// Injects one fault at one point. A dead server stays dead.
struct Trap {
    point: Point,
    harm: Harm,
    sprung: AtomicBool,
    dead: AtomicBool,
}

#[async_trait]
impl Faults for Trap {
    async fn at(&self, point: Point) -> Result<(), StoreError> {
        // A request that was sent may have been executed; its sender cannot know.
        let gone = |what: &str| match point {
            Point::LiveCommitted | Point::RecordCommitted => Err(StoreError::OutcomeUnknown(what.into())),
            _ => Err(StoreError::Unavailable(what.into())),
        };
        if self.dead.load(Ordering::SeqCst) {
            return gone("dead");
        }
        if point != self.point || self.sprung.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        match self.harm {
            Harm::Error => gone("a fault"),
            Harm::Delay => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                Ok(())
            }
            Harm::Death => {
                self.dead.store(true, Ordering::SeqCst);
                gone("killed")
            }
        }
    }
}

pub(crate) const LIVE: [Point; 4] = [Point::LiveLoaded, Point::DurableRead, Point::LiveDecided, Point::LiveCommitted];
pub(crate) const RECORD: [Point; 3] = [Point::RecordLoaded, Point::RecordDecided, Point::RecordCommitted];

async fn broken_server(cluster: &Cluster, point: Point, harm: Harm) -> (Server, Arc<Trap>) {
    let trap = Arc::new(Trap { point, harm, sprung: AtomicBool::new(false), dead: AtomicBool::new(false) });
    let server = cluster.server().await;
    (Server { store: server.store.with_faults(trap.clone()), ..server }, trap)
}

/// A server that dies at this point.
pub(crate) fn dying(healthy: &Server, point: Point) -> Server {
    let trap = Trap { point, harm: Harm::Death, sprung: AtomicBool::new(false), dead: AtomicBool::new(false) };
    Server { store: healthy.store.clone().with_faults(Arc::new(trap)), ..healthy.clone() }
}

/// Resolves unfinished attempts, and audits the result.
async fn check(server: &Server, what: &str) {
    server.recover_in_doubt().await;
    assert_eq!(server.recover_in_doubt().await, 0, "{what}: something is still unfinished");
    let mut audit = Audit::new(server.clock.now());
    server.store.audit(&mut audit).await.unwrap();
    assert_eq!(audit.finish(), [""; 0], "{what}");
}

pub(crate) async fn for_each_fault(expected: &[Point], mut test: impl AsyncFnMut(&Cluster, &Server, &Server, &str)) {
    let mut sprung = Vec::new();
    for point in Point::ALL {
        for harm in [Harm::Error, Harm::Delay, Harm::Death] {
            let cluster = Cluster::new();
            let healthy = cluster.server().await;
            let (broken, trap) = broken_server(&cluster, point, harm).await;
            let what = format!("{harm:?} at {point:?}");
            test(&cluster, &broken, &healthy, &what).await;
            check(&healthy, &what).await;
            // A point that is not reached by this command ends the loop.
            if !trap.sprung.load(Ordering::SeqCst) {
                break;
            }
            sprung.push(point);
        }
    }
    for point in expected {
        assert!(sprung.contains(point), "no fault was injected at {point:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn place_survives_faults() {
    for_each_fault(&LIVE, async |cluster, broken, healthy, what| {
        let room_type = healthy.room_type(2).await;
        healthy.place(1, room_type).await.unwrap();
        let placed = broken.place(2, room_type).await;
        let night = healthy.night(room_type).await;
        match &placed {
            Ok(_) => assert_eq!(night.held, 2, "{what}: answered, so it is committed"),
            Err(Refused::StoreUnavailable(_)) => assert_eq!(night.held, 1, "{what}: nothing changed"),
            Err(Refused::OutcomeUnknown) => assert!((1..=2).contains(&night.held), "{what}"),
            Err(other) => panic!("{what}: {other}"),
        }
        assert!(night.held + night.reserved <= 2, "{what}: {night:?}");
        cluster.clock.advance(TTL + Span::from_secs(1));
        assert_eq!(healthy.night(room_type).await.available, 2, "{what}: time frees everything");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn confirm_survives_faults() {
    for_each_fault(&[&LIVE[..], &RECORD[..]].concat(), async |cluster, broken, healthy, what| {
        let room_type = healthy.room_type(1).await;
        let hold = healthy.place(1, room_type).await.unwrap();
        let confirmed = broken.confirm(hold.id).await;
        // No other user gets the room, in any state of the hold.
        assert!(healthy.place(2, room_type).await.is_err(), "{what}");
        healthy.recover_in_doubt().await;
        match confirmed {
            Ok(reservation) => {
                let again = rejected(healthy.confirm(hold.id).await);
                let reservation = Some(reservation.id.get());
                assert_eq!(again, Rejection::Stay(StayRejection::StayHoldAlreadyProcessed { reservation }), "{what}");
            }
            // The retry gets the outcome, or completes it.
            Err(Refused::StoreUnavailable(_) | Refused::OutcomeUnknown) => match healthy.confirm(hold.id).await {
                Ok(_)
                | Err(Refused::Rejected(Rejection::Stay(StayRejection::StayHoldAlreadyProcessed {
                    reservation: Some(_),
                }))) => {}
                other => panic!("{what}: {other:?}"),
            },
            Err(other) => panic!("{what}: {other}"),
        }
        cluster.clock.advance(TTL + Span::from_secs(1));
        let night = healthy.night(room_type).await;
        assert_eq!((night.reserved, night.held), (1, 0), "{what}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_survives_faults() {
    for_each_fault(&LIVE, async |_, broken, healthy, what| {
        let room_type = healthy.room_type(1).await;
        let hold = healthy.place(1, room_type).await.unwrap();
        let cancelled = broken.cancel(hold.id).await;
        let night = healthy.night(room_type).await;
        match cancelled {
            Ok(()) => assert_eq!(night.held, 0, "{what}"),
            Err(Refused::StoreUnavailable(_)) => assert_eq!(night.held, 1, "{what}"),
            Err(Refused::OutcomeUnknown) => {}
            Err(other) => panic!("{what}: {other}"),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn capacity_decrease_survives_faults() {
    for_each_fault(&[&LIVE[..], &RECORD[..]].concat(), async |cluster, broken, healthy, what| {
        let room_type = healthy.room_type(3).await;
        healthy.place(1, room_type).await.unwrap();
        broken.lower(room_type, 1).await.ok();
        let night = healthy.night(room_type).await;
        assert!(night.held <= night.total_quantity, "{what}: {night:?}");
        let more = healthy.place(2, room_type).await;
        assert!(more.is_err() || night.total_quantity == 3, "{what}: {more:?}");
        // An abandoned capacity fence expires.
        cluster.clock.advance(TTL + Span::from_secs(1));
        let night = healthy.night(room_type).await;
        for user in 0..u64::from(night.total_quantity) {
            healthy.place(10 + user, room_type).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn recovery_survives_faults() {
    for_each_fault(
        &[Point::AbandonedListed, Point::AbandonedDecided, Point::LiveDecided],
        async |_, broken, healthy, what| {
            let room_type = healthy.room_type(1).await;
            let hold = healthy.place(1, room_type).await.unwrap();
            // A server that dies right after it has prepared the hold, or right after the confirmation was recorded.
            for point in [Point::LiveCommitted, Point::RecordCommitted] {
                dying(healthy, point).confirm(hold.id).await.unwrap_err();
                if let Ok(resolved) = broken.store.recover_in_doubt().await {
                    for one in &resolved {
                        broken.recover(one).await.ok();
                    }
                }
                healthy.recover_in_doubt().await;
            }
            let night = healthy.night(room_type).await;
            assert_eq!((night.reserved, night.held), (1, 0), "{what}: recorded once");
        },
    )
    .await;
}

/// An abandoned capacity fence binds until it expires, also if other fields are changed meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn unrelated_change_keeps_capacity_fence() {
    let cluster = Cluster::new();
    let healthy = cluster.server().await;
    let room_type = healthy.room_type(3).await;
    let (dying, _) = broken_server(&cluster, Point::RecordLoaded, Harm::Death).await;
    dying.lower(room_type, 1).await.unwrap_err();
    let draft = RoomTypeDraft { name: Some("다른 이름".into()), ..RoomTypeDraft::default() };
    healthy.run(ChangeRoomType { id: room_type, draft }).await.unwrap();
    healthy.place(1, room_type).await.unwrap();
    let refused = rejected(healthy.place(2, room_type).await);
    assert!(matches!(refused, Rejection::Stay(StayRejection::RoomNotAvailable { .. })), "{refused:?}");
    cluster.clock.advance(Span::from_secs(61));
    healthy.place(2, room_type).await.unwrap();
}

/// Blocks its server once, between loading and recording, until released.
#[derive(Default)]
pub(crate) struct Gate {
    pub(crate) reached: Notify,
    pub(crate) go_on: Notify,
    passed: AtomicBool,
}

#[async_trait]
impl Faults for Gate {
    async fn at(&self, point: Point) -> Result<(), StoreError> {
        if point == Point::RecordLoaded && !self.passed.swap(true, Ordering::SeqCst) {
            self.reached.notify_one();
            self.go_on.notified().await;
        }
        Ok(())
    }
}

/// A slow server finds its attempt aborted, and starts another: other commands of its batch are unaffected.
#[tokio::test(flavor = "multi_thread")]
async fn aborted_attempt_is_followed_by_another() {
    let cluster = Cluster::new();
    let healthy = cluster.server().await;
    let room_type = healthy.room_type(1).await;
    let hold = healthy.place(1, room_type).await.unwrap();
    let gate = Arc::new(Gate::default());
    let slow = Server { store: healthy.store.clone().with_faults(gate.clone()), ..healthy.clone() };
    let resolving = async {
        gate.reached.notified().await;
        let resolved = healthy.recover_in_doubt().await;
        gate.go_on.notify_one();
        resolved
    };
    let (confirmed, resolved) = tokio::join!(slow.confirm(hold.id), resolving);
    confirmed.unwrap();
    assert_eq!(resolved, 1, "the attempt was aborted in between");
    let night = healthy.night(room_type).await;
    assert_eq!((night.reserved, night.held), (1, 0));
}
