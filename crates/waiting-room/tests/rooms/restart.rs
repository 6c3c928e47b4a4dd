//! State after a restart.

use holdfast_connect::TlsRoots;
use holdfast_core::time::Span;
use holdfast_waiting_room::journal::Journal as _;
use holdfast_waiting_room::{
    Change, Error, EventId, InProcess, PostgresJournal, SqliteJournal, Timings, WaitingRoom as _,
};

use crate::support::{Backend, EVENT, Kind, RoomFixture, clock, options, space, user};

#[tokio::test]
async fn order_and_entries_survive_restart() {
    for kind in Kind::DURABLE {
        let fixture = RoomFixture::new(kind, 2).await;
        fixture.join_all([9, 8, 7, 6, 5]).await;
        let entry = fixture.enter(8).await.unwrap().entry;
        fixture.leave(7).await;
        let fixture = fixture.reopen().await;
        assert_eq!(fixture.enter(8).await.unwrap().entry, entry, "the same entry, the same token: {kind:?}");
        let standings = [fixture.standing(9).await, fixture.standing(6).await, fixture.standing(5).await];
        assert_eq!(standings, ["ready 0", "waiting 1", "waiting 2"], "{kind:?}");
        assert_eq!(fixture.standing(7).await, "gone", "{kind:?}");
        assert_eq!(fixture.join(7).await.view.rank, 3, "at the end: {kind:?}");
        let fixture = fixture.reopen().await.reopen().await;
        assert_eq!(fixture.counts().await, (3, 1, 1), "{kind:?}");
        assert_eq!(fixture.standing(7).await, "waiting 3", "{kind:?}");
    }
}

#[tokio::test]
async fn waiters_get_whole_ttl_after_restart() {
    for kind in Kind::DURABLE {
        let fixture = RoomFixture::new(kind, 0).await;
        fixture.join_all([1, 2]).await;
        fixture.wait(290);
        // Down for longer than `waiter_ttl`.
        let fixture = fixture.reopen_after(1_000).await;
        fixture.wait(299);
        assert_eq!(fixture.standing(2).await, "waiting 1", "{kind:?}");
        fixture.wait(1);
        assert_eq!(
            (fixture.standing(1).await, fixture.standing(2).await),
            ("gone".into(), "waiting 0".into()),
            "{kind:?}"
        );
    }
}

#[tokio::test]
async fn renewed_entry_keeps_end_across_restart() {
    for kind in Kind::DURABLE {
        let fixture = RoomFixture::new(kind, 2).await;
        fixture.join_all([1, 2, 3]).await;
        fixture.enter(1).await.unwrap();
        fixture.enter(2).await.unwrap();
        fixture.wait(100);
        fixture.poll(1).await;
        let fixture = fixture.reopen_after(250).await;
        assert_eq!(fixture.counts().await, (0, 1, 1), "one entry was renewed, the other has ended: {kind:?}");
        assert!(fixture.entry(1).await.is_some() && fixture.entry(2).await.is_none(), "{kind:?}");
        fixture.wait(50);
        assert!(fixture.entry(1).await.is_none(), "{kind:?}");
    }
}

#[tokio::test]
async fn expired_waiter_stays_expired() {
    for kind in Kind::DURABLE {
        let fixture = RoomFixture::new(kind, 0).await;
        fixture.join_all([1, 2]).await;
        fixture.wait(200);
        fixture.poll(2).await;
        fixture.wait(100);
        assert_eq!(fixture.standing(1).await, "gone", "{kind:?}");
        let fixture = fixture.reopen().await;
        assert_eq!(
            (fixture.standing(1).await, fixture.standing(2).await),
            ("gone".into(), "waiting 0".into()),
            "{kind:?}"
        );
    }
}

#[tokio::test]
async fn ended_rows_are_deleted() {
    let backend = Backend::new(Kind::Sqlite);
    let Backend::Directory(directory) = &backend else { unreachable!() };
    let clock = clock();
    let open = async || {
        let journal = SqliteJournal::new(directory.path());
        InProcess::open(journal, options(Timings::default(), clock.clone())).await.unwrap()
    };
    let room = open().await;
    let mut changes = room.subscribe();
    for event in 1..=3 {
        for number in 1..=20 {
            room.join(EventId(event), &space(5), &user(number)).await.unwrap();
        }
        room.enter(EventId(event), &space(5), &user(1)).await.unwrap().unwrap();
    }
    assert!(std::iter::from_fn(|| changes.try_recv().ok()).any(|change| matches!(change, Change::Admitted { .. })));
    clock.advance(Span::from_secs(400));
    room.tidy().await.unwrap();
    drop(room);
    let mut journal = SqliteJournal::new(directory.path());
    assert_eq!(journal.load(), Ok(Vec::new()));
    drop(journal);
    let room = open().await;
    assert_eq!(room.join(EVENT, &space(5), &user(1)).await.unwrap().view.rank, 0);
}

#[tokio::test]
async fn second_server_is_rejected() {
    for kind in Kind::DURABLE {
        let fixture = RoomFixture::new(kind, 1).await;
        let options = options(Timings::default(), clock());
        let second = match &fixture.backend {
            Backend::Directory(directory) => InProcess::open(SqliteJournal::new(directory.path()), options).await,
            Backend::Database(database) => {
                InProcess::open(PostgresJournal::new(database.url(), &TlsRoots::default()).unwrap(), options).await
            }
            _ => unreachable!("only durable kinds are opened"),
        };
        assert!(matches!(second, Err(Error::InUse(_))), "{kind:?}: {second:?}");
    }
}

#[tokio::test]
async fn foreign_file_is_rejected() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("queue.db"), "not a database, but long enough to be looked at".repeat(50))
        .unwrap();
    let opened = InProcess::open(SqliteJournal::new(directory.path()), options(Timings::default(), clock())).await;
    assert!(matches!(opened, Err(Error::Damaged(_))), "{opened:?}");
}

impl RoomFixture {
    /// Reopens after so many seconds.
    async fn reopen_after(self, seconds: i64) -> Self {
        self.wait(seconds);
        self.reopen().await
    }
}
