//! Bounds on one caller's share of the server: the command queue, batches, idempotency records, bodies and answers in memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holdfast_client::{BatchLine, NewHold, RoomType};
use holdfast_server::config::Secret;
use holdfast_testkit::{Profile, profiles};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use crate::auth::{SECRET, caller};
use crate::support::{RawResponse, TestApp, code, day, fresh_key, new_hold, refused, with_app, with_settings};
use crate::tickets::open_event;

/// More than one command's share of a batch.
pub(crate) const LINES: u64 = 700;

pub(crate) fn lines(room_type: &RoomType, users: std::ops::Range<u64>) -> Vec<NewHold> {
    users.map(|user| NewHold { user_id: Some(user.into()), ..new_hold(room_type, day(1), day(2)) }).collect()
}

pub(crate) fn body_of(lines: &[NewHold]) -> String {
    json!({ "holds": lines }).to_string()
}

pub(crate) async fn send_batch(app: &TestApp, key: &str, body: &str) -> RawResponse {
    app.send("POST", "/v1/holds:batch", &[("idempotency-key", key), ("accept-language", "en")], body).await
}

pub(crate) fn results(answer: &RawResponse) -> &Vec<Value> {
    answer.json["results"].as_array().unwrap_or_else(|| panic!("results are missing: {}", answer.text))
}

pub(crate) fn is_replayed(answer: &RawResponse) -> bool {
    answer.header("idempotent-replayed") == Some("true")
}

/// Sends raw bytes and returns what the server says within 20 s.
async fn raw(app: &TestApp, request: &str) -> String {
    let mut socket = TcpStream::connect(app.url.strip_prefix("http://").unwrap()).await.unwrap();
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = vec![0; 12];
    let reading = tokio::time::timeout(Duration::from_secs(20), socket.read_exact(&mut answer));
    reading.await.expect("an answer comes although the body does not").unwrap();
    String::from_utf8(answer).unwrap()
}

async fn with_auth(test: impl AsyncFn(&TestApp)) {
    let auth = |config: &mut holdfast_server::Config| config.auth.jwt_secret = Some(Secret::new(SECRET));
    with_settings(Profile::Embedded, auth, test).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_in_checks_origin_before_body() {
    with_auth(async |app| {
        let foreign = "POST /console/sign-in HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2000000\r\n\r\ntoken=";
        assert_eq!(raw(app, foreign).await, "HTTP/1.1 403");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sign_in_body_is_bounded() {
    with_auth(async |app| {
        let own = |length: usize, body: &str| {
            format!(
                "POST /console/sign-in HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: same-origin\r\n\
                 content-length: {length}\r\n\r\n{body}"
            )
        };
        assert_eq!(raw(app, &own(8 << 10, &"x".repeat(8 << 10))).await, "HTTP/1.1 401");
        assert_eq!(raw(app, &own((8 << 10) + 1, &"x".repeat((8 << 10) + 1))).await, "HTTP/1.1 413");
        assert_eq!(raw(app, &own(2_000_000, "token=")).await, "HTTP/1.1 413", "the announced length is enough");
        assert_eq!(raw(app, &own(100, "token=")).await, "HTTP/1.1 408");
    })
    .await;
}

profiles!(batch_of_a_user_is_bounded);
async fn batch_of_a_user_is_bounded(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(1_000).await;
        let own = |count| (0..count).map(|_| new_hold(&room_type, day(1), day(2))).collect::<Vec<_>>();
        assert_eq!(code(app.guest(7).place_holds(&own(51)).await), refused(400, "INVALID_INPUT"));
        assert_eq!(app.guest(7).place_holds(&own(50)).await.unwrap().len(), 50);
        let named = app.send("POST", "/v1/holds:batch?userId=7", &[], &body_of(&own(51))).await;
        assert_eq!((named.refusal(), &named.json["field"]), ((400, "INVALID_INPUT"), &json!("holds")));
    })
    .await;
    with_auth(async |app| {
        let admin = caller(app, "1", "admin");
        let room_type = admin.create_room_type(&holdfast_client::NewRoomType::new("객실", 1_000, 1)).await.unwrap();
        let own: Vec<_> = (0..51).map(|_| new_hold(&room_type, day(1), day(2))).collect();
        assert_eq!(code(caller(app, "7", "user").place_holds(&own).await), refused(400, "INVALID_INPUT"));
        assert_eq!(caller(app, "7", "service").place_holds(&own).await.unwrap().len(), 51);
    })
    .await;
}

profiles!(refused_batch_keeps_no_record);
async fn refused_batch_keeps_no_record(profile: Profile) {
    with_app(profile, async |app| {
        let refused = body_of(&lines(&RoomType { id: 999, ..app.room_type(1).await }, 1..LINES));
        for _ in 0..2 {
            let answer = send_batch(app, "refused", &refused).await;
            assert_eq!((answer.status, is_replayed(&answer)), (200, false));
            assert!(results(&answer).iter().all(|line| line["code"] == "ROOM_TYPE_NOT_FOUND"));
        }
        let other = send_batch(app, "refused", r#"{"holds":[5]}"#).await;
        assert_eq!((other.status, is_replayed(&other)), (200, false), "the key is free for another request");
    })
    .await;
}

profiles!(batch_with_key_is_replayed_whole);
async fn batch_with_key_is_replayed_whole(profile: Profile) {
    with_app(profile, async |app| {
        let (gone, room_type) = (RoomType { id: 999, ..app.room_type(1).await }, app.room_type(100).await);
        // The first command of the batch places nothing, the last one fills the night.
        let body = body_of(&[lines(&gone, 1..600), lines(&room_type, 600..LINES + 1)].concat());
        let (first, second) = (send_batch(app, "once", &body).await, send_batch(app, "once", &body).await);
        assert_eq!((first.status, is_replayed(&first)), (200, false));
        let placed = |answer: &RawResponse| results(answer).iter().filter(|line| line["status"] == "HELD").count();
        assert_eq!((results(&first).len(), placed(&first)), (LINES as usize, 100));
        assert_eq!((second.status, is_replayed(&second), &second.text), (200, true, &first.text));
        let night = &app.admin().availability(room_type.id, day(1), day(2)).await.unwrap().nights[0];
        assert_eq!(night.hold_count, 100);

        let other = send_batch(app, "once", &body_of(&lines(&room_type, 1..3))).await;
        assert_eq!(other.refusal(), (422, "IDEMPOTENCY_KEY_REUSED"));
        let single =
            serde_json::to_string(&NewHold { user_id: Some(5.into()), ..new_hold(&room_type, day(1), day(2)) })
                .unwrap();
        let elsewhere = app.send("POST", "/v1/holds", &[("idempotency-key", "once")], &single).await;
        assert_eq!(elsewhere.status, 409, "keys of a named user are the user's own");
    })
    .await;
}

profiles!(batches_with_one_key_get_one_answer);
async fn batches_with_one_key_get_one_answer(profile: Profile) {
    with_app(profile, async |app| {
        let room_type = app.room_type(10_000).await;
        let body = body_of(&lines(&room_type, 1..LINES + 1));
        let answers = futures_util::future::join_all((0..4).map(|_| send_batch(app, "once", &body))).await;
        assert!(answers.iter().all(|answer| answer.status == 200 && answer.text == answers[0].text));
        let night = &app.admin().availability(room_type.id, day(1), day(2)).await.unwrap().nights[0];
        assert_eq!(u64::from(night.hold_count), LINES);
    })
    .await;
}

/// The state after a crash in the middle of a batch: its first command is committed, its second is not.
#[tokio::test(flavor = "multi_thread")]
async fn retry_resumes_interrupted_batch() {
    let test = async |app: &TestApp| {
        let room_type = app.room_type(10_000).await;
        let body = body_of(&lines(&room_type, 1..LINES + 1));
        let first = send_batch(app, "once", &body).await;
        let file = rusqlite::Connection::open(app.file()).unwrap();
        let removed = file.execute("DELETE FROM idempotency_key WHERE key <> 'once'", []).unwrap();
        assert_eq!(removed, 1, "a record for each command");
        let retried = send_batch(app, "once", &body).await;
        assert_eq!((retried.status, is_replayed(&retried)), (200, false));
        let same = |(one, other): &(&Value, &Value)| one["holdId"] == other["holdId"];
        let kept = results(&first).iter().zip(results(&retried)).take_while(same).count();
        assert_eq!((kept, results(&retried).len()), (512, LINES as usize));
        let again = send_batch(app, "once", &body).await;
        assert_eq!((is_replayed(&again), &again.text), (true, &retried.text));
        let night = &app.admin().availability(room_type.id, day(1), day(2)).await.unwrap().nights[0];
        assert_eq!(u64::from(night.hold_count), LINES);
    };
    with_app(Profile::Embedded, test).await;
}

profiles!(records_of_one_caller_have_a_quota);
async fn records_of_one_caller_have_a_quota(profile: Profile) {
    with_settings(
        profile,
        |config| config.engine.idempotency_bytes_max = 10_000,
        async |app| {
            let room_type = app.room_type(10_000).await;
            let batch = |first| body_of(&lines(&room_type, first..first + 100));
            let first = batch(1);
            assert_eq!(send_batch(app, "first", &first).await.status, 200, "within the quota");
            let refused = send_batch(app, "second", &batch(200)).await;
            assert_eq!(refused.refusal(), (429, "OVERLOADED"));
            let detail = refused.json["detail"].as_str().unwrap();
            assert!(detail.contains("Idempotency-Key") && detail.contains("10000 bytes"), "{detail}");
            let wait = refused.json["retryAfterMs"].as_u64().unwrap();
            assert!((60_000..=24 * 3_600_000).contains(&wait), "{wait}");
            assert_eq!(refused.header("retry-after"), Some(&*wait.div_ceil(1_000).to_string()));

            assert!(is_replayed(&send_batch(app, "first", &first).await), "what is kept is still replayed");
            assert_eq!(app.admin().place_holds(&lines(&room_type, 300..400)).await.unwrap().len(), 100, "no key");
            let own = body_of(&[new_hold(&room_type, day(1), day(2))]);
            let headers = [("idempotency-key", "second"), ("x-user-id", "7")];
            let other = app.send("POST", "/v1/holds:batch", &headers, &own).await;
            assert_eq!(other.status, 200, "another caller has a quota of its own");
            let small = r#"{"name":"x","totalQuantity":1,"basePrice":1}"#;
            let small = app.send("POST", "/v1/room-types", &[("idempotency-key", "third")], small).await;
            assert_eq!(small.status, 201, "small answers are always kept");
        },
    )
    .await;
}

profiles!(heavy_batches_leave_room_for_others);
/// Four connections send batches heavier than the queue, without a pause.
async fn heavy_batches_leave_room_for_others(profile: Profile) {
    with_settings(
        profile,
        |config| config.engine.queue_max = 1_000,
        async |app| {
            let (attacked, room_type) = (app.room_type(1_000_000).await, app.room_type(1_000).await);
            let over = AtomicBool::new(false);
            let attack = async |first: u64| {
                let body = body_of(&lines(&attacked, first..first + 1_500));
                let mut answered = 0;
                while !over.load(Ordering::Relaxed) {
                    let answer = app.send("POST", "/v1/holds:batch", &[], &body).await;
                    assert!(matches!(answer.status, 200 | 429 | 409), "{}", answer.text);
                    answered += u32::from(answer.status == 200);
                }
                answered
            };
            let bystander = async |user: u64| {
                let mut succeeded = 0;
                for _ in 0..25 {
                    let wanted = NewHold::new(room_type.id, day(1), day(2), fresh_key());
                    succeeded += u32::from(app.guest(user).place_hold(&wanted).await.is_ok());
                }
                succeeded
            };
            let bystanders = async {
                let succeeded = futures_util::future::join_all((1..=8).map(bystander)).await;
                over.store(true, Ordering::Relaxed);
                succeeded.iter().sum::<u32>()
            };
            let attackers = futures_util::future::join_all((1..=4).map(|number| attack(number * 10_000)));
            let (succeeded, answered) = tokio::join!(bystanders, attackers);
            println!("{:?}: {succeeded} of 200 calls beside {answered:?} batches", app.profile);
            assert!(succeeded > 180, "{succeeded} of 200 calls succeeded");
            assert!(answered.iter().sum::<u32>() > 0, "the batches are carried out, too");
        },
    )
    .await;
}

profiles!(lines_beyond_the_queue_are_answered);
async fn lines_beyond_the_queue_are_answered(profile: Profile) {
    with_settings(
        profile,
        |config| config.engine.queue_max = 100,
        async |app| {
            let room_type = app.room_type(10_000).await;
            let results = app.admin().place_holds(&lines(&room_type, 1..LINES + 1)).await.unwrap();
            let placed = results.iter().filter(|line| matches!(line, BatchLine::Hold(_))).count();
            assert_eq!((results.len(), placed), (LINES as usize, LINES as usize));
        },
    )
    .await;
}

/// Clients ask for a seat map of 8 MB each and read nothing of it: more than the kernel buffers for a connection.
#[tokio::test(flavor = "multi_thread")]
async fn unread_answers_are_bounded() {
    let test = async |app: &TestApp| {
        let event = open_event(app, 100_000).await;
        let head = format!("GET /v1/events/{}/seats HTTP/1.1\r\nhost: localhost\r\n\r\n", event.id);
        let address = app.url.strip_prefix("http://").unwrap().parse().unwrap();
        let mut silent = Vec::new();
        for _ in 0..12 {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_recv_buffer_size(4 << 10).unwrap();
            let mut socket = socket.connect(address).await.unwrap();
            socket.write_all(head.as_bytes()).await.unwrap();
            let mut status = [0; 12];
            socket.read_exact(&mut status).await.unwrap();
            silent.push((socket, status));
        }
        // A client that reads is served at the expense of those that do not.
        let served = async {
            while app.send("GET", &format!("/v1/events/{}/seats", event.id), &[], "").await.status != 200 {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), served).await.expect("a client that reads is served");
        let mut whole = 0;
        for (mut socket, status) in silent {
            let mut rest = Vec::new();
            let reading = async {
                let mut part = vec![0; 64 << 10];
                while !rest.ends_with(b"}]") {
                    match socket.read(&mut part).await {
                        Ok(count) if count > 0 => rest.extend_from_slice(&part[..count]),
                        _ => break,
                    }
                }
            };
            tokio::time::timeout(Duration::from_secs(20), reading).await.ok();
            whole += usize::from(&status == b"HTTP/1.1 200" && rest.ends_with(b"}]"));
        }
        assert!(whole <= 4, "{whole} answers of 8 MB were held within 32 MiB");
    };
    with_settings(Profile::Embedded, |config| config.server.answer_bytes_max = 32 << 20, test).await;
}
