//! What lies in Redis, for those who look: the documented names, each with a time to live.

use holdfast_testkit::Place;
use redis::Commands as _;

use crate::support::{Cluster, TTL, tomorrow};

/// Redis itself, and what stands before all keys.
fn look_into(cluster: &Cluster) -> (redis::Connection, &str) {
    let Place::Cluster { redis_url, prefix, .. } = &cluster.place else { unreachable!("it is a cluster") };
    (redis::Client::open(redis_url.as_str()).unwrap().get_connection().unwrap(), prefix)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_lies_under_its_documented_names_and_each_has_a_time_to_live() {
    let cluster = Cluster::new();
    let server = cluster.server().await;
    let room_type = server.room_type(2).await;
    let hold = server.place(5, room_type).await.unwrap();

    let (mut redis, prefix) = look_into(&cluster);
    let (from, to) = (tomorrow(), tomorrow().tomorrow().unwrap());
    let kept = TTL.as_millis() / 1_000;
    let day = 24 * 3_600;
    for (name, seconds) in [
        (format!("hold:{}", hold.id), kept + day),
        (format!("hold:idx:5:{room_type}:{from}:{to}"), kept),
        (format!("hold:snapshot:{}:{room_type}:{from}:{to}", hold.client_key), kept),
        (format!("hold-count:{room_type}:{from}"), kept),
    ] {
        let ttl: i64 = redis.ttl(format!("{prefix}{name}")).unwrap();
        assert!((seconds - 5..=seconds + 35).contains(&ttl), "{name}: {ttl} s, expected {seconds} s");
    }
    server.cancel(hold.id).await.unwrap();
    let value: String = redis.get(format!("{prefix}hold:{}", hold.id)).unwrap();
    assert!(value.contains("CANCELLED"), "ended holds stay readable: {value}");
}

/// A row left over of a hold that is gone never blocks anyone.
#[tokio::test(flavor = "multi_thread")]
async fn pointers_to_a_hold_that_is_gone_are_written_over() {
    let cluster = Cluster::new();
    let server = cluster.server().await;
    let room_type = server.room_type(2).await;
    let hold = server.place(5, room_type).await.unwrap();
    let (mut redis, prefix) = look_into(&cluster);
    let gone: i64 = redis.del(format!("{prefix}hold:{}", hold.id)).unwrap();
    assert_eq!(gone, 1);
    server.place(5, room_type).await.unwrap();
}
