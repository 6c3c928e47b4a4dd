//! `/v1/stream` of a server that is cut off from PostgreSQL, as by a network that drops packets: no connection ends, and
//! no packet arrives.

use std::time::{Duration, Instant};

use holdfast_client::{Client, NewRoomType};
use holdfast_testkit::{RedisOptions, RedisServer, postgres};

use crate::network::Link;
use crate::support::{NIGHT, Process, new_hold};

/// The bound after which a stream ends, and time for a loaded machine.
const STREAM_END_TIMEOUT: Duration = Duration::from_secs(10);
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// An open stream, read block by block.
struct Listening {
    response: reqwest::Response,
    buffer: String,
}

impl Listening {
    /// Connects as soon as the server answers 200.
    async fn open(client: &Client, last_event_id: u64) -> Self {
        let began = Instant::now();
        loop {
            let request = client.request(reqwest::Method::GET, "/v1/stream").header("last-event-id", last_event_id);
            match request.send().await {
                Ok(response) if response.status() == 200 => {
                    return Self { response, buffer: String::new() };
                }
                answer => assert!(began.elapsed() < RESPONSE_TIMEOUT, "{answer:?}"),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The number of the next durable event of this type; `None` at the end of the stream.
    async fn next_id(&mut self, event_type: &str) -> Option<u64> {
        loop {
            while let Some((block, rest)) = self.buffer.split_once("\n\n") {
                let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                let id = field("id:").filter(|_| field("event:") == Some(event_type));
                let (found, rest) = (id.map(|id| id.parse().unwrap()), rest.to_owned());
                self.buffer = rest;
                if found.is_some() {
                    return found;
                }
            }
            let bytes = self.response.chunk().await.ok()??;
            self.buffer.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }
}

async fn reserve(client: &Client) {
    let room_type = client.create_room_type(&NewRoomType::new("twin", 1, 1)).await.unwrap();
    let guest = client.as_user(1);
    let hold = guest.place_hold(&new_hold(&room_type, NIGHT)).await.unwrap();
    guest.confirm_hold(hold.hold_id).await.unwrap();
}

/// A stream whose server cannot read the outbox ends, so that the client reconnects elsewhere or waits.
async fn ends_when_cut_off(redis: Option<&RedisServer>) {
    let database = postgres().database();
    let direct = database.url();
    let link = Link::to(direct).await;
    let start = |url: &str| {
        let mut args = vec!["--database-url", url];
        args.extend(redis.iter().flat_map(|redis| ["--redis-url", redis.url()]));
        Process::start_with(&args, &[("HOLDFAST_LOG_LEVEL", "off")])
    };
    let server = start(link.url());
    let client = server.client().with_timeout(Duration::from_mins(2));
    reserve(&client).await;
    let mut listening = Listening::open(&client, 0).await;
    let confirmed = "stay.reservation.confirmed";
    let first = listening.next_id(confirmed).await.expect("an event");

    link.cut();
    let cut_at = Instant::now();
    let ended = async { while listening.next_id(confirmed).await.is_some() {} };
    tokio::time::timeout(STREAM_END_TIMEOUT, ended).await.expect("the stream ends");
    println!("the stream ended after {:?}", cut_at.elapsed());
    if redis.is_some() {
        let other = start(direct);
        let elsewhere = other.client().with_timeout(Duration::from_mins(2));
        reserve(&elsewhere).await;
        let mut listening = Listening::open(&elsewhere, first).await;
        let missed = tokio::time::timeout(RESPONSE_TIMEOUT, listening.next_id(confirmed)).await.expect("in time");
        assert!(missed.is_some_and(|id| id > first), "the other server has what was missed");
    }

    link.restore();
    let mut listening = Listening::open(&client, first).await;
    if redis.is_none() {
        let began = Instant::now();
        while client.create_room_type(&NewRoomType::new("twin", 1, 1)).await.is_err() {
            assert!(began.elapsed() < RESPONSE_TIMEOUT, "the server reconnects");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        reserve(&client).await;
    }
    let next = tokio::time::timeout(RESPONSE_TIMEOUT, listening.next_id(confirmed)).await.expect("in time");
    assert!(next.is_some_and(|id| id > first), "the stream goes on where it was");
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_ends_without_postgresql() {
    ends_when_cut_off(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stream_ends_without_postgresql_in_cluster() {
    let redis = RedisServer::start(&RedisOptions::default()).unwrap();
    ends_when_cut_off(Some(&redis)).await;
}
