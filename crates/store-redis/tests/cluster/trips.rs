//! Round trips to PostgreSQL and Redis per batch: a fixed number, for any number of commands.

use holdfast_core::actor::Actor;
use holdfast_core::stay::ConfirmStayHold;
use holdfast_core::{Limits, stay};
use holdfast_engine::{Answer, Batch, NoSink};

use crate::support::{Cluster, Server, TTL, place};

/// Round trips to Redis and to PostgreSQL.
fn trips(server: &Server) -> (u64, u64) {
    (server.store.live().round_trips(), server.store.durable().round_trips())
}

#[tokio::test(flavor = "multi_thread")]
async fn round_trips_do_not_depend_on_batch_size() {
    let cluster = Cluster::new();
    let server = cluster.server().await;
    let room_type = server.room_type(1_000).await;
    let limits = Limits { holds_per_user_max: 1_000, stay: stay::Limits { hold_ttl: TTL }, ..Limits::DEFAULT };
    // The first calls also connect, and allocate ids.
    let first = server.place(1, room_type).await.unwrap();
    server.confirm(first.id).await.unwrap();

    let mut users = 1_000..;
    for size in [1, 200] {
        let before = trips(&server);
        let mut batch = Batch::default();
        let pending: Vec<_> = users.by_ref().take(size).map(|user| batch.add(place(user, room_type), None)).collect();
        batch.run(&server.store, &NoSink, &limits).await;
        let after = trips(&server);
        assert_eq!((after.0 - before.0, after.1 - before.1), (2, 1), "placing {size}");

        let mut holds = Vec::new();
        for answer in pending {
            let Answer::Fresh(hold) = answer.await.unwrap().unwrap() else { panic!("there was no key") };
            holds.push(hold.id);
        }
        let mut batch = Batch::default();
        let confirm = |id| batch.add(ConfirmStayHold::new(id, Actor::Admin), None);
        let pending: Vec<_> = holds.into_iter().map(confirm).collect();
        batch.run(&server.store, &NoSink, &limits).await;
        for answer in pending {
            answer.await.unwrap().unwrap();
        }
        let done = trips(&server);
        // Redis: the hold, then its counts, then prepare; the time; the hold, its counts, finish. PostgreSQL: rows,
        // commit.
        assert_eq!((done.0 - after.0, done.1 - after.1), (7, 2), "confirming {size}");
    }
}
