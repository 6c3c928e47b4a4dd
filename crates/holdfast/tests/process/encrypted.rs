//! Servers that connect to PostgreSQL, Redis and NATS with TLS only, and reject peers with invalid certificates.

use std::time::{Duration, Instant};

use holdfast_client::{Client, NewEvent, NewRoomType};
use holdfast_testkit::certificate::CERTIFICATE;
use holdfast_testkit::{
    NatsOptions, NatsServer, PostgresOptions, PostgresServer, Profile, RedisOptions, RedisServer, TestDatabase,
    profiles,
};
use serde_json::{Value, json};

use crate::permissions::{hang_up, until_logged};
use crate::support::{NIGHT, Process, holdfast, new_hold, run};

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

    /// Ends every connection to PostgreSQL and to Redis.
    async fn drop_connections(&self) {
        let url = self.postgres.postgres().url();
        let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1";
        client.query(end, &[&self.database.name()]).await.unwrap();
        let mut redis = redis::Client::open(self.redis.url()).unwrap().get_connection().unwrap();
        let _: () = redis::cmd("CLIENT").arg(&["KILL", "TYPE", "normal"]).query(&mut redis).unwrap();
    }

    /// To which port of Redis each of its clients is connected.
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

profiles!(connections_use_tls_if_addresses_require_it: postgres redis_cluster);
async fn connections_use_tls_if_addresses_require_it(profile: Profile) {
    let with_redis = profile == Profile::Cluster;
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

/// `verify-ca` checks who signed a certificate, and not the name in it.
#[test]
fn verify_ca_skips_the_name_only() {
    let place = Encrypted::start();
    let url = place.database_url("127.0.0.1", "verify-ca");
    let server = Process::start_with(&["--database-url", &url], &[("HOLDFAST_SERVER_TLS_CA_FILE", place.trusted())]);
    drop(server);
    let (code, said) = run(&["serve", "--listen", "127.0.0.1:0", "--database-url", &url]);
    assert!(code == 2 && said.contains("certificate"), "the authority is not trusted: {said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_service_has_its_own_authorities() {
    let place = Encrypted::start();
    let (database, redis) = (place.database_url("localhost", "require"), place.redis.encrypted_url());
    let urls = ["--database-url", &database, "--redis-url", &redis, "--nats-url", place.nats.url(), "--config"];
    let config = tempfile::NamedTempFile::new().unwrap();
    let path = config.path().to_str().unwrap();
    let trust_for = |services: &[&str]| {
        let line = |service: &&str| format!("{service}_ca_file = \"{}\"\n", place.trusted());
        std::fs::write(path, format!("[server]\n{}", services.iter().map(line).collect::<String>())).unwrap();
    };
    for services in [&["database", "nats"][..], &["redis", "nats"]] {
        trust_for(services);
        let args = [&["serve", "--listen", "127.0.0.1:0"][..], &urls, &[path]].concat();
        let (code, said) = tokio::task::block_in_place(|| run(&args));
        assert!(code == 2 && said.contains("certificate"), "trusted for {services:?} only: {said}");
    }
    // A server starts without NATS, but does not trust it.
    trust_for(&["database", "redis"]);
    let server = Process::start_with(&[&urls[..], &[path]].concat(), &[]);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(2) {
        let ready = server.client().request(reqwest::Method::GET, "/readyz").send().await.unwrap();
        assert_eq!(
            ready.json::<Value>().await.unwrap()["bus"].as_str().map(|fault| fault.starts_with("NATS at ")),
            Some(true)
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    drop(server);
    trust_for(&["database", "redis", "nats"]);
    let server = Process::start_with(&[&urls[..], &[path]].concat(), &[]);
    use_everything(&server.client()).await;
}

/// An authority that signed none of the certificates here.
const OTHER_AUTHORITY: &str = "-----BEGIN CERTIFICATE-----\n\
    MIIBjzCCATWgAwIBAgIUNzFekE3hmnHsKc4ECFPZbyGgppAwCgYIKoZIzj0EAwIw\n\
    HDEaMBgGA1UEAwwRYW5vdGhlciBhdXRob3JpdHkwIBcNMjYxMTE5MTQyODAyWhgP\n\
    MjA1NjExMTExNDI4MDJaMBwxGjAYBgNVBAMMEWFub3RoZXIgYXV0aG9yaXR5MFkw\n\
    EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEtiQUXs7p55Y38sC6Skg+xoVunMxNa8Sg\n\
    kyk2Q37sqas2R4QuYJ0x3e8iQlj/1OWPr0a0QtTYdOOKYn/zT7Mz1aNTMFEwHQYD\n\
    VR0OBBYEFNar+NWAPJV02j8WGNXad6AWj3CYMB8GA1UdIwQYMBaAFNar+NWAPJV0\n\
    2j8WGNXad6AWj3CYMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIh\n\
    AM2EQdjyAf2GVjY/DuP/UDqRJL1DK4gsQQtkRtaBCuWmAiAgvc/ehFKPMnQwkfF3\n\
    hv09cG4wQldiW95tHFJ64tJqZw==\n\
    -----END CERTIFICATE-----\n";

/// Certificates are also valid if an authority of the system signed them.
#[tokio::test(flavor = "multi_thread")]
async fn own_authorities_add_to_those_of_system() {
    let place = Encrypted::start();
    let (database, redis) = (place.database_url("localhost", "verify-full"), place.redis.encrypted_url());
    let other = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(other.path(), OTHER_AUTHORITY).unwrap();
    let own = ("HOLDFAST_SERVER_TLS_CA_FILE", other.path().to_str().unwrap());
    let args = ["--database-url", &database, "--redis-url", &redis, "--nats-url", place.nats.url()];
    let server = Process::start_with(&args, &[own, ("SSL_CERT_FILE", place.trusted())]);
    use_everything(&server.client()).await;
    drop(server);
    let refused = [&["serve", "--listen", "127.0.0.1:0"][..], &args].concat();
    let (code, said) = tokio::task::block_in_place(|| run(&refused));
    assert!(code == 2 && said.contains("certificate"), "neither authority is trusted: {said}");
}

/// New connections are checked against the reloaded file; a file that cannot be used changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn hangup_reloads_certificate_authorities() {
    let place = Encrypted::start();
    let (database, redis) = (place.database_url("localhost", "require"), place.redis.encrypted_url());
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut command = holdfast();
    command.args(["serve", "--listen", "127.0.0.1:0", "--database-url", &database, "--redis-url", &redis]);
    command.env("HOLDFAST_SERVER_TLS_CA_FILE", place.trusted()).env("HOLDFAST_LOG_LEVEL", "info");
    let server = Process::spawn_with_log(&mut command, log.reopen().unwrap());
    let ready = async || {
        let asked = server.client().request(reqwest::Method::GET, "/readyz").send().await.unwrap();
        (asked.status().as_u16(), asked.text().await.unwrap())
    };
    let reconnected = async |expected: (u16, &str)| {
        place.drop_connections().await;
        let until = async {
            while !matches!(ready().await, (status, text) if status == expected.0 && text.contains(expected.1)) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let done = tokio::time::timeout(Duration::from_secs(20), until).await;
        done.unwrap_or_else(|_| panic!("never {expected:?}"));
    };
    reconnected((200, "ready")).await;

    std::fs::write(place.trusted(), "no certificate").unwrap();
    hang_up(&server);
    let error = until_logged(log.path(), "reload failed; the previous keys and certificates stay in use");
    assert!(error.contains("server.tls_ca_file") && error.contains(place.trusted()), "{error}");
    reconnected((200, "ready")).await;

    std::fs::write(place.trusted(), OTHER_AUTHORITY).unwrap();
    hang_up(&server);
    until_logged(log.path(), "reloaded keys and certificates");
    reconnected((503, "certificate")).await;

    std::fs::write(place.trusted(), [OTHER_AUTHORITY.as_bytes(), CERTIFICATE].concat()).unwrap();
    hang_up(&server);
    reconnected((200, "ready")).await;
}
