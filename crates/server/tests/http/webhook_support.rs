//! Receiver of webhooks, and verification of signatures without the code under test.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, StatusCode, Uri};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use crate::support::{RawResponse, TestApp};

/// Received request.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("(none)", |value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn event_type(&self) -> String {
        self.json()["type"].as_str().unwrap().to_owned()
    }
}

/// Subscriber with an address of its own.
#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    inside: Arc<Inside>,
}

struct Inside {
    received: Mutex<Vec<Received>>,
    /// Statuses of the next answers, each with its `Retry-After`; after them, 204.
    answers: Mutex<VecDeque<(u16, Option<String>)>>,
    /// Paths under `/slow` are answered when there is a permit.
    gate: Semaphore,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        let (answers, gate) = (Mutex::default(), Semaphore::new(0));
        let inside = Arc::new(Inside { received: Mutex::default(), answers, gate });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(receive).with_state(inside.clone());
        tokio::spawn(async move { axum_serve(listener, router).await });
        Self { address, inside }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sets the next status codes, in order; afterwards 204.
    pub(crate) fn will_answer(&self, statuses: &[u16]) {
        self.inside.answers.lock().unwrap().extend(statuses.iter().map(|status| (*status, None)));
    }

    /// Appends one answer with a `Retry-After` header.
    pub(crate) fn will_answer_later(&self, status: u16, retry_after: &str) {
        self.inside.answers.lock().unwrap().push_back((status, Some(retry_after.to_owned())));
    }

    pub(crate) fn open_gate(&self) {
        self.inside.gate.add_permits(1_000);
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.inside.received.lock().unwrap().clone()
    }

    /// Waits until so many requests have arrived.
    pub(crate) async fn until(&self, count: usize) -> Vec<Received> {
        let began = Instant::now();
        loop {
            let received = self.received();
            if received.len() >= count {
                return received;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "{} of {count} came", received.len());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn receive(State(inside): State<Arc<Inside>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let path = uri.path_and_query().unwrap().to_string();
    inside.received.lock().unwrap().push(Received { path: path.clone(), headers, body });
    if path.starts_with("/slow") {
        inside.gate.acquire().await.unwrap().forget();
    }
    let (status, retry_after) = inside.answers.lock().unwrap().pop_front().unwrap_or((204, None));
    let status = StatusCode::from_u16(status).unwrap();
    if let Some(retry_after) = retry_after {
        (status, [("retry-after", retry_after)]).into_response()
    } else if status.is_redirection() {
        (status, [("location", "/elsewhere")]).into_response()
    } else {
        status.into_response()
    }
}

/// Serves requests one after another, until the end of the test.
async fn axum_serve(listener: tokio::net::TcpListener, router: Router) {
    use hyper_util::rt::TokioIo;
    use hyper_util::service::TowerToHyperService;
    loop {
        let Ok((socket, _)) = listener.accept().await else { return };
        let service = TowerToHyperService::new(router.clone());
        let serving = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(socket), service);
        tokio::spawn(async move { serving.await.ok() });
    }
}

/// HMAC-SHA256 as in RFC 2104.
fn hmac(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut block = [0_u8; 64];
    block[..key.len()].copy_from_slice(key);
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().to_vec()
}

/// Returns the expected signature of a request.
pub(crate) fn expected_signature(secret: &str, received: &Received) -> String {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
    let (id, timestamp) = (received.header("webhook-id"), received.header("webhook-timestamp"));
    let signed = [format!("{id}.{timestamp}.").as_bytes(), &received.body].concat();
    format!("v1,{}", STANDARD.encode(hmac(&key, &signed)))
}

pub(crate) async fn send(app: &TestApp, method: &str, path: &str, body: &Value) -> RawResponse {
    app.send(method, path, &[("content-type", "application/json")], &body.to_string()).await
}

/// Creates a webhook. Returns the response.
pub(crate) async fn subscribe(app: &TestApp, url: &str, types: &[&str]) -> Value {
    let made = send(app, "POST", "/v1/webhooks", &json!({"url": url, "types": types})).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.json
}

/// Returns the log of a webhook, once it satisfies `is_so`.
pub(crate) async fn deliveries(app: &TestApp, webhook: &Value, is_so: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let began = Instant::now();
    loop {
        let answer = app.send("GET", &format!("/v1/webhooks/{}/deliveries?limit=500", webhook["id"]), &[], "").await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let items = answer.json["items"].as_array().unwrap().clone();
        if is_so(&items) {
            return items;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "{items:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) fn all_are(status: &str) -> impl Fn(&[Value]) -> bool {
    move |items| !items.is_empty() && items.iter().all(|item| item["status"] == status)
}
