//! A server that reaches PostgreSQL through PgBouncer.

use holdfast_client::{Client, HoldStatus, NewEvent, NewRoomType};
use holdfast_testkit::{PgBouncer, PoolMode, Profile, postgres, profiles, redis};

use crate::support::{NIGHT, Process, new_hold, run};

/// A stay, and a place in a queue: rows of the store and of the waiting room.
async fn confirm_a_stay(client: &Client, user: u64) {
    let room_type = client.create_room_type(&NewRoomType::new("객실", 1, 1)).await.unwrap();
    let guest = client.as_user(user);
    let hold = guest.place_hold(&new_hold(&room_type, NIGHT)).await.unwrap();
    guest.confirm_hold(hold.hold_id).await.unwrap();
    assert_eq!(guest.hold(hold.hold_id).await.unwrap().status, HoldStatus::Confirmed);
    let event = client.create_event(&NewEvent::with_row("공연", 1, 1)).await.unwrap();
    guest.join_queue(event.id).await.unwrap();
    assert!(guest.reservations(&[]).await.unwrap().items.iter().any(|it| it.room_type_id == room_type.id));
}

profiles!(session_pooling_works: postgres redis_cluster);
async fn session_pooling_works(profile: Profile) {
    let with_redis = profile == Profile::Cluster;
    let database = postgres().database();
    let pooler = PgBouncer::start(&database, PoolMode::Session).unwrap();
    let mut args = vec!["--database-url", pooler.url()];
    if with_redis {
        args.extend(["--redis-url", redis().url()]);
    }
    let prefix = redis().prefix();
    let environment: &[(&str, &str)] = if with_redis { &[("HOLDFAST_REDIS_PREFIX", &prefix)] } else { &[] };
    let mut server = Process::start_with(&args, environment);
    confirm_a_stay(&server.client(), 1).await;
    if !with_redis {
        let (code, said) = run(&["serve", "--listen", "127.0.0.1:0", "--database-url", pooler.url()]);
        assert!(code == 2 && said.contains("another server already uses this database"), "{said}");
    }
    assert!(server.terminate().0.success());

    // The pooler keeps the sessions of the one that has ended, without its locks.
    let mut server = Process::start_with(&args, environment);
    confirm_a_stay(&server.client(), 2).await;
    assert!(server.terminate().0.success());
    let mut verify = [&["verify"][..], &args[..]].concat();
    if with_redis {
        verify.extend(["--redis-prefix", &prefix]);
    }
    let (code, said) = run(&verify);
    assert_eq!(code, 0, "{said}");
}

#[test]
fn transaction_pooling_is_refused() {
    let database = postgres().database();
    let pooler = PgBouncer::start(&database, PoolMode::Transaction).unwrap();
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["verify"]] {
        let (code, said) = run(&[command, &["--database-url", pooler.url()]].concat());
        assert_eq!(code, 2, "{said}");
        for part in ["PgBouncer", "transaction pooling", "pool_mode = session"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
}
