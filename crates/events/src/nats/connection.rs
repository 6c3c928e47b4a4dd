//! Connection to NATS: durable publishing, and request and reply. It reconnects by itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::client::RequestErrorKind;
use async_nats::connection::State;
use async_nats::jetstream::context::{ContextBuilder, PublishErrorKind};
use async_nats::jetstream::{self, message::PublishMessage};
use async_nats::{Client, ConnectOptions, Event, HeaderMap, Request, ServerAddr};
use bytes::Bytes;
use holdfast_connect::NameCheck;
use percent_encoding::percent_decode_str;
use tokio::sync::watch;

use crate::nats::BusError;
use crate::nats::headers::Headers;
use crate::nats::options::Options;
use crate::nats::streams::Streams;

/// Timeout of one attempt to publish. A message in flight when a connection breaks is sent again soon; NATS drops
/// duplicates by its id.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout of an attempt to connect, and maximum delay before the next.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
const RECONNECT_AFTER_MAX: Duration = Duration::from_millis(500);
/// Interval of checks for a connection while preparing streams.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(10);
/// Maximum wait of a request for the streams.
const STREAMS_TIMEOUT: Duration = Duration::from_millis(200);
/// Interval of pings. After three without an answer, within 2 s, the connection counts as broken and is made again.
const PING_EVERY: Duration = Duration::from_millis(500);

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(crate) client: Client,
    pub(crate) jetstream: jetstream::Context,
    pub(crate) options: Arc<Options>,
    pub(crate) streams: Arc<Streams>,
    /// Changes with every new connection.
    pub(crate) connected: watch::Receiver<()>,
}

/// Message to publish durably.
#[derive(Clone, Debug)]
pub struct Publication<'a> {
    pub subject: &'a str,
    /// Equal for every attempt to send it.
    pub id: &'a str,
    /// Ordering key: messages with the same key are processed in order.
    pub key: u64,
    pub headers: HeaderMap,
    pub payload: Bytes,
}

/// A reply to send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    pub headers: HeaderMap,
    pub payload: Bytes,
}

/// A received reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplyMessage {
    pub headers: Headers,
    pub payload: Bytes,
}

/// All of a list, which is separated by commas.
fn addresses(list: &str) -> Result<Vec<ServerAddr>, BusError> {
    let address = |text: &str| text.parse().map_err(|error: std::io::Error| BusError::Address(error.to_string()));
    list.split(',').map(str::trim).map(address).collect()
}

/// Returns the first user and password in these addresses; they apply to all of them.
fn credentials(addresses: &[ServerAddr]) -> Option<(String, String)> {
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    addresses.iter().find_map(|address| Some((decoded(address.username()?), decoded(address.password()?))))
}

impl Connection {
    /// Returns at once, also while NATS is unavailable: the connection is attempted in the background.
    pub async fn open(options: Options) -> Result<Self, BusError> {
        let addresses = addresses(&options.url)?;
        let (connections, connected) = watch::channel(());
        let at = options.hosts_and_ports();
        let mut connect = ConnectOptions::new()
            .name(&options.name)
            .retry_on_initial_connect()
            .connection_timeout(CONNECT_TIMEOUT)
            .reconnect_delay_callback(|tries| RECONNECT_AFTER_MAX.min(Duration::from_millis(25) * tries as u32))
            .ping_interval(PING_EVERY)
            .tls_client_config(options.tls_roots.tls(NameCheck::Required))
            // Also of servers that NATS itself tells of.
            .require_tls(addresses.iter().any(ServerAddr::tls_required))
            .event_callback(move |event| {
                tracing::info!(%event, at, "[Bus] NATS");
                if matches!(event, Event::Connected) {
                    connections.send_replace(());
                }
                std::future::ready(())
            });
        if let Some((user, password)) = credentials(&addresses) {
            connect = connect.user_and_password(user, password);
        }
        let client = connect.connect(addresses).await.map_err(|error| BusError::Address(error.to_string()))?;
        let jetstream =
            ContextBuilder::new().timeout(ATTEMPT_TIMEOUT).ack_timeout(ATTEMPT_TIMEOUT).build(client.clone());
        Ok(Self { client, jetstream, streams: Arc::default(), options: Arc::new(options), connected })
    }

    /// Creates the streams, if NATS is available in time. Otherwise the first use creates them.
    pub async fn prepare(&self, within: Duration) -> Result<(), BusError> {
        let until = Instant::now() + within;
        loop {
            let made = match self.check() {
                Ok(()) => self.streams.ensure(self).await,
                unavailable => unavailable,
            };
            if made.is_ok() || Instant::now() >= until {
                return made;
            }
            tokio::time::sleep(LOOK_AGAIN_AFTER).await;
        }
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Whether NATS is available.
    pub fn check(&self) -> Result<(), BusError> {
        match self.client.connection_state() {
            State::Connected => Ok(()),
            State::Pending | State::Disconnected => Err(BusError::Unavailable { at: self.options.hosts_and_ports() }),
        }
    }

    /// Returns when NATS has stored the message, within the configured timeout.
    pub async fn publish(&self, publication: &Publication<'_>) -> Result<(), BusError> {
        let until = Instant::now() + self.options.timeout;
        loop {
            let tried = self.try_publish(publication).await;
            let is_worth_another =
                matches!(tried, Err(BusError::TimedOut | BusError::NoSubscriber)) && self.check().is_ok();
            if !is_worth_another || Instant::now() >= until {
                return tried;
            }
        }
    }

    async fn try_publish(&self, publication: &Publication<'_>) -> Result<(), BusError> {
        self.check()?;
        self.streams.ensure(self).await?;
        let mut headers = publication.headers.clone();
        headers.insert(crate::nats::consumer::KEY, publication.key.to_string());
        let message =
            PublishMessage::build().payload(publication.payload.clone()).headers(headers).message_id(publication.id);
        let sending = self.jetstream.send_publish(self.options.subject(publication.subject), message);
        let acknowledged = async { sending.await?.await };
        let within = ATTEMPT_TIMEOUT.min(self.options.timeout);
        match tokio::time::timeout(within, acknowledged).await {
            Ok(Ok(_)) => Ok(()),
            Err(_) => Err(BusError::TimedOut),
            Ok(Err(error)) => Err(match error.kind() {
                PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe => BusError::TimedOut,
                PublishErrorKind::StreamNotFound => {
                    self.streams.invalidate();
                    BusError::NoSubscriber
                }
                PublishErrorKind::MaxPayloadExceeded => self.too_large(),
                _ => BusError::Refused(error.to_string()),
            }),
        }
    }

    /// Sends a request to a responder, and waits for the reply up to the timeout.
    pub async fn request(
        &self,
        subject: &str,
        headers: HeaderMap,
        payload: Bytes,
        within: Duration,
    ) -> Result<ReplyMessage, BusError> {
        self.check()?;
        // The responder may publish events for this process, so its streams should exist. Requests work without them
        // all the same.
        tokio::time::timeout(STREAMS_TIMEOUT, self.streams.ensure(self)).await.ok();
        let request = Request::new().headers(headers).payload(payload).timeout(Some(within));
        let replied = self.client.send_request(self.options.subject(subject), request).await;
        let message = replied.map_err(|error| match error.kind() {
            RequestErrorKind::NoResponders => BusError::NoSubscriber,
            RequestErrorKind::TimedOut => BusError::TimedOut,
            RequestErrorKind::MaxPayloadExceeded => self.too_large(),
            RequestErrorKind::InvalidSubject | RequestErrorKind::Other => BusError::Refused(error.to_string()),
        })?;
        Ok(ReplyMessage { headers: message.headers.unwrap_or_default().into(), payload: message.payload })
    }

    fn too_large(&self) -> BusError {
        BusError::TooLarge { max: self.client.max_payload() }
    }
}
