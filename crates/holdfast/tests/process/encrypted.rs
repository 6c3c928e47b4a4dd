//! Servers that connect to PostgreSQL, Redis and NATS with TLS only, and reject peers with invalid certificates.

use std::time::Duration;

use holdfast_client::{Client, NewEvent, NewRoomType};
use holdfast_testkit::certificate::CERTIFICATE;
use holdfast_testkit::{
    NatsOptions, NatsServer, PostgresOptions, PostgresServer, RedisOptions, RedisServer, TestDatabase,
};
use serde_json::{Value, json};

use crate::support::{NIGHT, Process, new_hold, run};

struct Encrypted {
    postgres: PostgresServer,
    redis: RedisServer,
    nats: NatsServer,
    database: TestDatabase,
    /// Certificate authorities.
    trusted: tempfile::NamedTempFile,
}

impl Encrypted {
    fn start() -> Self {
        let postgres = PostgresServer::start_encrypted(&PostgresOptions::default()).unwrap();
        let trusted = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(trusted.path(), CERTIFICATE).unwrap();
        Self {
            database: postgres.postgres().database(),
            redis: RedisServer::start(&RedisOptions::default()).unwrap(),
            nats: NatsServer::start_encrypted(&NatsOptions { jetstream: true }).unwrap(),
            postgres,
            trusted,
        }
    }

    /// The certificate is for `localhost`, and for no address.
    fn database_url(&self, host: &str, mode: &str) -> String {
        format!("{}?sslmode={mode}", self.database.url().replace("127.0.0.1", host))
    }

    fn trusted(&self) -> &str {
        self.trusted.path().to_str().unwrap()
    }

    /// Returns the number of the server's connections, and how many are encrypted.
    async fn count_connections(&self) -> (i64, i64) {
        let url = self.postgres.postgres().url();
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let count = "SELECT count(*), count(*) FILTER (WHERE ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
            WHERE datname = $1";
        let row = client.query_one(count, &[&self.database.name()]).await.unwrap();
        (row.get(0), row.get(1))
    }

    /// Returns the Redis port of each connected client.
    fn redis_ports(&self) -> Vec<String> {
        let mut redis = redis::Client::open(self.redis.url()).unwrap().get_connection().unwrap();
        let list: String = redis::cmd("CLIENT").arg("LIST").query(&mut redis).unwrap();
        let own: u64 = redis::cmd("CLIENT").arg("ID").query(&mut redis).unwrap();
        let others = list.lines().filter(|line| !line.starts_with(&format!("id={own} ")));
        let port =
            |line: &str| Some(line.split("laddr=").nth(1)?.split([' ', '\n']).next()?.rsplit(':').next()?.to_owned());
        others.filter_map(port).collect()
    }
}

async fn post(client: &Client, path: &str, body: Value) -> Value {
    let response = client.request(reqwest::Method::POST, path).json(&body).send().await.unwrap();
    assert!(response.status().is_success(), "{path}: {}", response.text().await.unwrap());
    response.json().await.unwrap()
}

/// Uses each of the three stores: a stay, a place in a queue, and a booking.
async fn use_everything(client: &Client) {
    let room_type = client.create_room_type(&NewRoomType::new("객실", 1, 1)).await.unwrap();
    let guest = client.as_user(1);
    let hold = guest.place_hold(&new_hold(&room_type, NIGHT)).await.unwrap();
    guest.confirm_hold(hold.hold_id).await.unwrap();

    let event = client.create_event(&NewEvent::with_row("공연", 1, 1)).await.unwrap();
    guest.join_queue(event.id).await.unwrap();

    let course = post(client, "/v1/courses", json!({"name": "파크골프장"})).await;
    let slot = json!({"date": NIGHT.to_string(), "startTime": "09:00", "maxPlayers": 4, "price": 1});
    let made = post(client, &format!("/v1/courses/{}/slots", course["id"]), json!({"slots": [slot]})).await;
    let slot = &made[0]["id"];
    let booking = json!({"idempotencyKey": "k", "userId": 1, "gameTimeSlotId": slot, "playerCount": 1});
    let booking = post(client, "/bookings", booking).await;
    let confirmed = async {
        loop {
            let found = guest.request(reqwest::Method::GET, &format!("/bookings/{}", booking["id"]));
            let found: Value = found.send().await.unwrap().json().await.unwrap();
            if found["status"] == "CONFIRMED" {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), confirmed).await.expect("the booking is confirmed, through NATS");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_use_tls_if_addresses_require_it() {
    for with_redis in [false, true] {
        let place = Encrypted::start();
        let (database, redis) = (place.database_url("localhost", "verify-full"), place.redis.encrypted_url());
        let mut args = vec!["--database-url", &*database, "--nats-url", place.nats.url()];
        if with_redis {
            args.extend(["--redis-url", &redis]);
        }
        let mut server = Process::start_with(&args, &[("HOLDFAST_SERVER_TLS_CA_FILE", place.trusted())]);
        use_everything(&server.client()).await;
        let (all, encrypted) = place.count_connections().await;
        assert!(all > 0 && all == encrypted, "{encrypted} of {all} connections are encrypted");
        let (ports, encrypted_port) = (place.redis_ports(), redis.rsplit(':').next().unwrap());
        assert_eq!(ports.is_empty(), !with_redis, "{ports:?}");
        assert!(ports.iter().all(|port| port == encrypted_port), "{ports:?}");
        assert!(server.terminate().0.success());

        let mut verify = vec!["verify", "--tls-ca-file", place.trusted(), "--database-url", &database];
        if with_redis {
            verify.extend(["--redis-url", &redis]);
        }
        let (code, said) = run(&verify);
        assert_eq!(code, 0, "{said}");
    }
}

#[test]
fn peer_with_invalid_certificate_is_rejected() {
    let place = Encrypted::start();
    let redis = place.redis.encrypted_url();
    let (plain, named) = (place.database.url(), place.database_url("localhost", "require"));
    let numbered = place.database_url("127.0.0.1", "require");
    let serve = ["serve", "--listen", "127.0.0.1:0", "--database-url"];
    for (database, redis, trusted, why) in [
        (&*named, None, None, "certificate"),
        (&*numbered, None, Some(place.trusted()), "certificate not valid for name"),
        (plain, Some(&*redis), None, "certificate"),
        (&*named, None, Some("/nowhere.pem"), "server.tls_ca_file: cannot read /nowhere.pem"),
        (&*named, None, Some("/dev/null"), "server.tls_ca_file: /dev/null has no certificate"),
    ] {
        let file = tempfile::NamedTempFile::new().unwrap();
        if let Some(trusted) = trusted {
            std::fs::write(file.path(), format!("[server]\ntls_ca_file = \"{trusted}\"\n")).unwrap();
        }
        let mut args = [&serve[..], &[database, "--config", file.path().to_str().unwrap()]].concat();
        args.extend(redis.iter().flat_map(|redis| ["--redis-url", redis]));
        let (code, said) = run(&args);
        assert!(code != 0 && said.contains(why), "{database} {redis:?} {trusted:?}: {said}");
    }
}
