//! What is there after the server was gone.

use holdfast_core::time::Span;
use holdfast_dial::Trust;
use holdfast_waiting_room::journal::Journal as _;
use holdfast_waiting_room::{
    Change, Error, EventId, InProcess, PostgresJournal, SqliteJournal, Timings, WaitingRoom as _,
};

use crate::support::{Door, EVENT, Kind, Place, clock, options, space, user};

#[tokio::test]
async fn order_entries_and_places_survive() {
    for kind in Kind::DURABLE {
        let door = Door::new(kind, 2).await;
        door.join_all([9, 8, 7, 6, 5]).await;
        let entry = door.enter(8).await.unwrap().entry;
        door.leave(7).await;
        let door = door.reopen().await;
        assert_eq!(door.enter(8).await.unwrap().entry, entry, "the same entry, the same token: {kind:?}");
        let standings = [door.standing(9).await, door.standing(6).await, door.standing(5).await];
        assert_eq!(standings, ["ready 0", "waiting 1", "waiting 2"], "{kind:?}");
        assert_eq!(door.standing(7).await, "gone", "{kind:?}");
        assert_eq!(door.join(7).await.view.rank, 3, "at the end: {kind:?}");
        let door = door.reopen().await.reopen().await;
        assert_eq!(door.counts().await, (3, 1, 1), "{kind:?}");
        assert_eq!(door.standing(7).await, "waiting 3", "{kind:?}");
    }
}

#[tokio::test]
async fn everybody_has_a_fresh_waiter_ttl() {
    for kind in Kind::DURABLE {
        let door = Door::new(kind, 0).await;
        door.join_all([1, 2]).await;
        door.wait(290);
        // Down for longer than anybody would be waited for.
        let place = door.reopen_after(1_000).await;
        place.wait(299);
        assert_eq!(place.standing(2).await, "waiting 1", "{kind:?}");
        place.wait(1);
        assert_eq!((place.standing(1).await, place.standing(2).await), ("gone".into(), "waiting 0".into()), "{kind:?}");
    }
}

#[tokio::test]
async fn entries_end_when_they_were_said_to_end_also_renewed_ones() {
    for kind in Kind::DURABLE {
        let door = Door::new(kind, 2).await;
        door.join_all([1, 2, 3]).await;
        door.enter(1).await.unwrap();
        door.enter(2).await.unwrap();
        door.wait(100);
        door.poll(1).await;
        let door = door.reopen_after(250).await;
        assert_eq!(door.counts().await, (0, 1, 1), "one was renewed, the other is over: {kind:?}");
        assert!(door.entry(1).await.is_some() && door.entry(2).await.is_none(), "{kind:?}");
        door.wait(50);
        assert!(door.entry(1).await.is_none(), "{kind:?}");
    }
}

#[tokio::test]
async fn who_was_out_of_time_stays_out() {
    for kind in Kind::DURABLE {
        let door = Door::new(kind, 0).await;
        door.join_all([1, 2]).await;
        door.wait(200);
        door.poll(2).await;
        door.wait(100);
        assert_eq!(door.standing(1).await, "gone", "{kind:?}");
        let door = door.reopen().await;
        assert_eq!((door.standing(1).await, door.standing(2).await), ("gone".into(), "waiting 0".into()), "{kind:?}");
    }
}

#[tokio::test]
async fn nothing_is_left_of_what_is_over() {
    let place = Place::new(Kind::Sqlite);
    let Place::Directory(directory) = &place else { unreachable!() };
    let clock = clock();
    let open = async || {
        let journal = SqliteJournal::new(directory.path());
        InProcess::open(journal, options(Timings::default(), clock.clone())).await.unwrap()
    };
    let room = open().await;
    let mut changes = room.subscribe();
    for event in 1..=3 {
        for number in 1..=20 {
            room.join(EventId(event), &space(5), user(number)).await.unwrap();
        }
        room.enter(EventId(event), &space(5), user(1)).await.unwrap().unwrap();
    }
    assert!(std::iter::from_fn(|| changes.try_recv().ok()).any(|change| matches!(change, Change::Admitted { .. })));
    clock.advance(Span::from_secs(400));
    room.tidy().await.unwrap();
    drop(room);
    let mut journal = SqliteJournal::new(directory.path());
    assert_eq!(journal.load(), Ok(Vec::new()));
    drop(journal);
    let room = open().await;
    assert_eq!(room.join(EVENT, &space(5), user(1)).await.unwrap().view.rank, 0);
}

#[tokio::test]
async fn a_second_server_is_refused() {
    for kind in Kind::DURABLE {
        let door = Door::new(kind, 1).await;
        let options = options(Timings::default(), clock());
        let second = match &door.place {
            Place::Directory(directory) => InProcess::open(SqliteJournal::new(directory.path()), options).await,
            Place::Database(database) => {
                InProcess::open(PostgresJournal::new(database.url(), &Trust::default()).unwrap(), options).await
            }
            _ => unreachable!("durable"),
        };
        assert!(matches!(second, Err(Error::InUse(_))), "{kind:?}: {second:?}");
    }
}

#[tokio::test]
async fn a_file_of_something_else_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("queue.db"), "not a database, but long enough to be looked at".repeat(50))
        .unwrap();
    let opened = InProcess::open(SqliteJournal::new(directory.path()), options(Timings::default(), clock())).await;
    assert!(matches!(opened, Err(Error::Damaged(_))), "{opened:?}");
}

impl Door {
    /// Down for so many seconds.
    async fn reopen_after(self, seconds: i64) -> Self {
        self.wait(seconds);
        self.reopen().await
    }
}
