//! Webhooks of a server that is killed during a delivery.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use holdfast_client::NewRoomType;
use serde_json::{Value, json};

use crate::support::{NIGHT, Process, new_hold, verify};

/// Reads the head of a request; returns the delivery's id, and the connection.
fn accept(listener: &TcpListener) -> (String, TcpStream) {
    let (mut socket, _) = listener.accept().unwrap();
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let id = head.lines().find_map(|line| line.strip_prefix("webhook-id: ")).unwrap();
    (id.to_owned(), socket)
}

async fn json(process: &Process, method: &str, path: &str, body: &Value) -> Value {
    let request = process.client().request(method.parse().unwrap(), path).body(body.to_string());
    request.send().await.unwrap().json().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_survives_kill() {
    let directory = tempfile::tempdir().unwrap();
    let data = ["--data", directory.path().to_str().unwrap()];
    let settings = [("HOLDFAST_WEBHOOK_TIMEOUT", "500ms"), ("HOLDFAST_WEBHOOK_CONNECT_TIMEOUT", "500ms")];
    let receiver = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", receiver.local_addr().unwrap());

    let process = Process::start_with(&data, &settings);
    let webhook = json(&process, "POST", "/v1/webhooks", &json!({"url": url, "types": ["stay."]})).await;
    let client = process.client().as_user(1);
    let room_type = client.create_room_type(&NewRoomType::new("twin", 1, 1)).await.unwrap();
    let hold = client.place_hold(&new_hold(&room_type, NIGHT)).await.unwrap();
    client.confirm_hold(hold.hold_id).await.unwrap();
    let (first, _unanswered) = accept(&receiver);
    process.kill_9();

    let mut process = Process::start_with(&data, &settings);
    let (second, mut socket) = accept(&receiver);
    socket.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    assert_eq!(first, second, "the same delivery");
    let path = format!("/v1/webhooks/{}/deliveries", webhook["id"]);
    let began = Instant::now();
    loop {
        let log = json(&process, "GET", &path, &json!({})).await;
        if log["items"][0]["status"] == "DELIVERED" {
            assert_eq!(log["items"].as_array().unwrap().len(), 1);
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{log}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    process.terminate();
    assert_eq!(verify(directory.path()).0, 0);
}
