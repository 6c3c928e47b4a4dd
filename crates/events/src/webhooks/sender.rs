//! One delivery attempt: a connection to a checked address, one request, and its status. There are no redirects,
//! proxies or reused connections, so that the checked address is the one connected to.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use holdfast_connect::tls_roots;
use holdfast_core::time::Span;
use holdfast_core::webhook::attempt::{RETRY_AFTER_MAX, Tried};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use jiff::fmt::rfc2822::DateTimeParser;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::target::{AllowedAddresses, Target};

/// Maximum size of a response body that is read, in bytes. It is discarded; reading it lets the receiver finish.
const RESPONSE_BYTES_MAX: usize = 16 << 10;
/// Maximum time to read it.
const RESPONSE_BODY_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of addresses of a name that are tried.
const ADDRESSES_MAX: usize = 4;
const USER_AGENT: &str = concat!("holdfast/", env!("CARGO_PKG_VERSION"));

/// Contents of a request: one signed event.
#[derive(Clone, Debug)]
pub struct DeliveryRequest {
    /// The same at each attempt.
    pub id: String,
    /// Seconds since 1970.
    pub timestamp: i64,
    pub signature: String,
    pub body: Bytes,
}

/// Sends requests to receivers.
#[derive(Debug)]
pub struct Sender {
    pub allowed: AllowedAddresses,
    pub connect_timeout: Duration,
    /// Maximum time of an attempt, including the connection.
    pub timeout: Duration,
    roots: OnceCell<Arc<ClientConfig>>,
}

impl Sender {
    pub fn new(allowed: AllowedAddresses, connect_timeout: Duration, timeout: Duration) -> Self {
        Self { allowed, connect_timeout, timeout, roots: OnceCell::new() }
    }

    /// Replaces the TLS roots of the machine.
    #[must_use]
    pub fn trusting(self, roots: RootCertStore) -> Self {
        Self { roots: OnceCell::new_with(Some(Arc::new(tls_roots::tls(roots)))), ..self }
    }

    /// Makes one attempt, within `timeout`.
    pub async fn send(&self, url: &str, delivery_request: DeliveryRequest) -> Tried {
        let failed = |error: String| Tried::Failed { status: None, error, retry_after: None };
        let sent_at = delivery_request.timestamp;
        let Ok(target) = Target::parse(url) else { return failed("the address is not valid".into()) };
        match tokio::time::timeout(self.timeout, self.post(&target, delivery_request)).await {
            Err(_) => failed(format!("no answer within {:?}", self.timeout)),
            Ok(Err(error)) => failed(error),
            Ok(Ok(answer)) => tried(&answer, sent_at),
        }
    }

    async fn post(&self, target: &Target, delivery_request: DeliveryRequest) -> Result<ResponseHead, String> {
        let connecting = tokio::time::timeout(self.connect_timeout, self.connect(target));
        let stream = connecting.await.map_err(|_| format!("no connection within {:?}", self.connect_timeout))??;
        let request = request(target, delivery_request).map_err(|_| "the request cannot be written".to_owned())?;
        if !target.is_tls {
            return exchange(stream, request).await;
        }
        let connector = TlsConnector::from(self.tls().await);
        let name = ServerName::try_from(target.host.clone()).map_err(|_| "the name cannot be in a certificate")?;
        let encrypted = connector.connect(name, stream).await.map_err(|error| format!("TLS: {error}"))?;
        exchange(encrypted, request).await
    }

    /// Connects to the first checked address that accepts.
    async fn connect(&self, target: &Target) -> Result<TcpStream, String> {
        let addresses = target.addresses(&self.allowed).await?;
        let mut error = String::new();
        for address in addresses.into_iter().take(ADDRESSES_MAX) {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    stream.set_nodelay(true).ok();
                    return Ok(stream);
                }
                Err(refused) => error = format!("cannot connect: {}", refused.kind()),
            }
        }
        Err(error)
    }

    /// Returns the TLS configuration. It is loaded at the first use, so only servers with `https` receivers load it.
    async fn tls(&self) -> Arc<ClientConfig> {
        let read = || async {
            let roots =
                tokio::task::spawn_blocking(tls_roots::machine).await.unwrap_or_else(|_| RootCertStore::empty());
            Arc::new(tls_roots::tls(roots))
        };
        self.roots.get_or_init(read).await.clone()
    }
}

/// Status and headers of a response that are used.
struct ResponseHead {
    status: StatusCode,
    retry_after: Option<HeaderValue>,
}

impl ResponseHead {
    fn of(status: StatusCode, headers: &HeaderMap) -> Self {
        Self { status, retry_after: headers.get(header::RETRY_AFTER).cloned() }
    }
}

/// Returns the outcome of an attempt that was sent at `sent_at`, in seconds since 1970.
fn tried(answer: &ResponseHead, sent_at: i64) -> Tried {
    let (status, number) = (answer.status, answer.status.as_u16());
    let retry_after = answer.retry_after.as_ref().and_then(|value| retry_after(value, sent_at));
    match status {
        StatusCode::GONE => Tried::Gone { status: number },
        _ if status.is_success() => Tried::Accepted { status: number },
        _ if status.is_redirection() => {
            let error = format!("answered {number}; redirects are not followed");
            Tried::Failed { status: Some(number), error, retry_after }
        }
        _ => Tried::Failed { status: Some(number), error: format!("answered {number}"), retry_after },
    }
}

/// Parses `Retry-After`, in seconds or as a date. `None` if it is neither, or not in the future.
fn retry_after(value: &HeaderValue, sent_at: i64) -> Option<Span> {
    let text = value.to_str().ok()?.trim();
    let seconds = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Overflow means a long wait.
        text.parse().unwrap_or(i64::MAX)
    } else {
        let date = DateTimeParser::new().relaxed_weekday(true).parse_timestamp(text).ok()?;
        date.as_second() - sent_at
    };
    let longest = RETRY_AFTER_MAX.as_millis() / 1_000;
    (seconds > 0).then(|| Span::from_secs(seconds.min(longest)))
}

fn request(target: &Target, delivery_request: DeliveryRequest) -> http::Result<Request<Full<Bytes>>> {
    let path = target.uri.path_and_query().map_or("/", |path| path.as_str());
    let authority = target.uri.authority().map_or("", |authority| authority.as_str());
    Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::HOST, authority)
        .header(header::USER_AGENT, USER_AGENT)
        .header(header::CONNECTION, HeaderValue::from_static("close"))
        .header(header::CONTENT_TYPE, HeaderValue::from_static("application/cloudevents+json; charset=utf-8"))
        .header("webhook-id", delivery_request.id)
        .header("webhook-timestamp", delivery_request.timestamp)
        .header("webhook-signature", delivery_request.signature)
        .body(Full::new(delivery_request.body))
}

async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Result<ResponseHead, String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let failed = |error: hyper::Error| format!("no valid answer: {error}");
    let mut http = http1::Builder::new();
    http.max_buf_size(64 << 10).max_headers(100);
    let (mut sender, connection) = http.handshake(TokioIo::new(stream)).await.map_err(failed)?;
    let responding = async {
        let response = sender.send_request(request).await.map_err(failed)?;
        let answer = ResponseHead::of(response.status(), response.headers());
        let mut body = response.into_body();
        let reading = async {
            let mut read = 0;
            while let Some(Ok(frame)) = body.frame().await {
                read += frame.data_ref().map_or(0, Bytes::len);
                if read > RESPONSE_BYTES_MAX {
                    break;
                }
            }
        };
        // The status counts even if the body is slow or incomplete.
        tokio::time::timeout(RESPONSE_BODY_TIMEOUT, reading).await.ok();
        Ok(answer)
    };
    // The connection is polled here and ends with this function, not in a background task.
    let mut connection = std::pin::pin!(connection);
    let mut responding = std::pin::pin!(responding);
    let mut is_open = true;
    loop {
        tokio::select! {
            responded = &mut responding => return responded,
            // `responding` returns the error of the connection.
            _ = &mut connection, if is_open => is_open = false,
        }
    }
}

#[cfg(test)]
mod tests;
