//! One try: a connection to an address that was looked at, one request on it, and the status that comes back. No redirect is
//! followed, no proxy asked, and no connection kept, so that what was checked is what is connected to.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use holdfast_core::time::Span;
use holdfast_core::webhook::attempt::{RETRY_AFTER_MAX, Tried};
use holdfast_dial::trust;
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

/// How much of an answer is read: nobody looks at it, but a receiver should be able to send it.
const ANSWER_BYTES_MAX: usize = 16 << 10;
const ANSWER_BODY_WITHIN: Duration = Duration::from_secs(1);
/// How many addresses of a name are tried.
const ADDRESSES_MAX: usize = 4;
const USER_AGENT: &str = concat!("holdfast/", env!("CARGO_PKG_VERSION"));

/// A message that is ready to be sent.
#[derive(Clone, Debug)]
pub struct Letter {
    /// The same at each try.
    pub id: String,
    /// Seconds since 1970.
    pub timestamp: i64,
    pub signature: String,
    pub body: Bytes,
}

/// Sends messages.
#[derive(Debug)]
pub struct Sender {
    pub allowed: AllowedAddresses,
    pub connect_within: Duration,
    /// Connecting included.
    pub answer_within: Duration,
    roots: OnceCell<Arc<ClientConfig>>,
}

impl Sender {
    pub fn new(allowed: AllowedAddresses, connect_within: Duration, answer_within: Duration) -> Self {
        Self { allowed, connect_within, answer_within, roots: OnceCell::new() }
    }

    /// Trusts these, and not what the machine trusts.
    #[must_use]
    pub fn trusting(self, roots: RootCertStore) -> Self {
        Self { roots: OnceCell::new_with(Some(Arc::new(trust::tls(roots)))), ..self }
    }

    /// Never takes longer than `answer_within`.
    pub async fn send(&self, url: &str, letter: Letter) -> Tried {
        let failed = |error: String| Tried::Failed { status: None, error, retry_after: None };
        let sent_at = letter.timestamp;
        let Ok(target) = Target::parse(url) else { return failed("the address is not valid".into()) };
        match tokio::time::timeout(self.answer_within, self.post(&target, letter)).await {
            Err(_) => failed(format!("no answer within {:?}", self.answer_within)),
            Ok(Err(error)) => failed(error),
            Ok(Ok(answer)) => tried(&answer, sent_at),
        }
    }

    async fn post(&self, target: &Target, letter: Letter) -> Result<Answer, String> {
        let connecting = tokio::time::timeout(self.connect_within, self.connect(target));
        let stream = connecting.await.map_err(|_| format!("no connection within {:?}", self.connect_within))??;
        let request = request(target, letter).map_err(|_| "the request cannot be written".to_owned())?;
        if !target.is_tls {
            return exchange(stream, request).await;
        }
        let connector = TlsConnector::from(self.tls().await);
        let name = ServerName::try_from(target.host.clone()).map_err(|_| "the name cannot be in a certificate")?;
        let encrypted = connector.connect(name, stream).await.map_err(|error| format!("TLS: {error}"))?;
        exchange(encrypted, request).await
    }

    /// To the first address that takes it, of those that were looked at.
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

    /// Reads what the machine trusts at the first use: a server without `https` receivers never does.
    async fn tls(&self) -> Arc<ClientConfig> {
        let read = || async {
            let roots = tokio::task::spawn_blocking(trust::machine).await.unwrap_or_else(|_| RootCertStore::empty());
            Arc::new(trust::tls(roots))
        };
        self.roots.get_or_init(read).await.clone()
    }
}

/// The part of an answer that matters.
struct Answer {
    status: StatusCode,
    retry_after: Option<HeaderValue>,
}

impl Answer {
    fn of(status: StatusCode, headers: &HeaderMap) -> Self {
        Self { status, retry_after: headers.get(header::RETRY_AFTER).cloned() }
    }
}

/// The outcome of an attempt that was sent at `sent_at`, in seconds since 1970.
fn tried(answer: &Answer, sent_at: i64) -> Tried {
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

/// The wait that a receiver asks for, as seconds or as a date; `None` if it is neither or not in the future.
fn retry_after(value: &HeaderValue, sent_at: i64) -> Option<Span> {
    let text = value.to_str().ok()?.trim();
    let seconds = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are a long wait, too.
        text.parse().unwrap_or(i64::MAX)
    } else {
        let date = DateTimeParser::new().relaxed_weekday(true).parse_timestamp(text).ok()?;
        date.as_second() - sent_at
    };
    let longest = RETRY_AFTER_MAX.as_millis() / 1_000;
    (seconds > 0).then(|| Span::from_secs(seconds.min(longest)))
}

fn request(target: &Target, letter: Letter) -> http::Result<Request<Full<Bytes>>> {
    let path = target.uri.path_and_query().map_or("/", |path| path.as_str());
    let authority = target.uri.authority().map_or("", |authority| authority.as_str());
    Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(header::HOST, authority)
        .header(header::USER_AGENT, USER_AGENT)
        .header(header::CONNECTION, HeaderValue::from_static("close"))
        .header(header::CONTENT_TYPE, HeaderValue::from_static("application/cloudevents+json; charset=utf-8"))
        .header("webhook-id", letter.id)
        .header("webhook-timestamp", letter.timestamp)
        .header("webhook-signature", letter.signature)
        .body(Full::new(letter.body))
}

async fn exchange<S>(stream: S, request: Request<Full<Bytes>>) -> Result<Answer, String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let said = |error: hyper::Error| format!("no valid answer: {error}");
    let mut http = http1::Builder::new();
    http.max_buf_size(64 << 10).max_headers(100);
    let (mut sender, connection) = http.handshake(TokioIo::new(stream)).await.map_err(said)?;
    let answering = async {
        let response = sender.send_request(request).await.map_err(said)?;
        let answer = Answer::of(response.status(), response.headers());
        let mut body = response.into_body();
        let reading = async {
            let mut read = 0;
            while let Some(Ok(frame)) = body.frame().await {
                read += frame.data_ref().map_or(0, Bytes::len);
                if read > ANSWER_BYTES_MAX {
                    break;
                }
            }
        };
        // What was answered counts, however slowly the rest comes.
        tokio::time::timeout(ANSWER_BODY_WITHIN, reading).await.ok();
        Ok(answer)
    };
    // The connection is driven here, and ends with this: nothing goes on behind anybody's back.
    let mut connection = std::pin::pin!(connection);
    let mut answering = std::pin::pin!(answering);
    let mut is_open = true;
    loop {
        tokio::select! {
            answered = &mut answering => return answered,
            // Whoever waits for an answer is told of what went wrong.
            _ = &mut connection, if is_open => is_open = false,
        }
    }
}

#[cfg(test)]
mod tests;
