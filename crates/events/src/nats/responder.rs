//! Responder of request and reply. Several processes share the requests of one subject.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use tokio::sync::Semaphore;

use crate::nats::BusError;
use crate::nats::connection::{Connection, Reply};
use crate::nats::headers::Headers;

/// Maximum number of concurrent requests per subject.
const CONCURRENT_MAX: usize = 4_096;
const RETRY_AFTER: Duration = Duration::from_millis(200);

/// A received request.
#[derive(Clone, Debug)]
pub struct RequestMessage {
    pub headers: Headers,
    pub payload: Bytes,
    /// Whether too many requests are in progress, so that this one should be rejected.
    pub is_too_many: bool,
}

impl Connection {
    /// Responds to the requests of a subject until `stop` resolves. `too_large` builds the reply to send instead of one
    /// that exceeds the limit of NATS.
    pub async fn respond<H, F>(
        &self,
        subject: &str,
        handle: H,
        too_large: impl Fn(usize) -> Reply + Clone + Send + 'static,
        stop: impl Future<Output = ()>,
    ) where
        H: Fn(RequestMessage) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Reply> + Send,
    {
        let permits = Arc::new(Semaphore::new(CONCURRENT_MAX));
        let responding = async {
            loop {
                if let Err(error) = self.respond_until_broken(subject, &handle, &too_large, &permits).await {
                    tracing::warn!(%error, subject, "[Bus] subscription failed; retrying");
                }
                tokio::time::sleep(RETRY_AFTER).await;
            }
        };
        tokio::select! {
            () = responding => {}
            () = stop => {}
        }
        // Waits for requests in progress.
        permits.acquire_many(CONCURRENT_MAX as u32).await.ok();
    }

    async fn respond_until_broken<H, F>(
        &self,
        subject: &str,
        handle: &H,
        too_large: &(impl Fn(usize) -> Reply + Clone + Send + 'static),
        permits: &Arc<Semaphore>,
    ) -> Result<(), BusError>
    where
        H: Fn(RequestMessage) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Reply> + Send,
    {
        let subject = self.options.subject(subject);
        let queue = self.options.stream("answers");
        let subscribed = self.client.queue_subscribe(subject, queue).await;
        let mut requests = subscribed.map_err(|error| BusError::Refused(error.to_string()))?;
        while let Some(message) = requests.next().await {
            let Some(reply_to) = message.reply else { continue };
            let permit = permits.clone().try_acquire_owned().ok();
            let headers = message.headers.unwrap_or_default().into();
            let request = RequestMessage { headers, payload: message.payload, is_too_many: permit.is_none() };
            let (connection, handle, too_large) = (self.clone(), handle.clone(), too_large.clone());
            tokio::spawn(async move {
                let mut reply = handle(request).await;
                let max = connection.client.max_payload();
                if reply.payload.len() + HEADERS_BYTES_MAX > max {
                    reply = too_large(max);
                }
                let Reply { headers, payload } = reply;
                // The requester has a timeout; a lost reply needs no retry.
                connection.client.publish_with_headers(reply_to, headers, payload).await.ok();
                drop(permit);
            });
        }
        Ok(())
    }
}

/// Upper bound of the headers of any reply.
const HEADERS_BYTES_MAX: usize = 8 << 10;
