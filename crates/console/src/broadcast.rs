//! Broadcast of server-sent events: each event is rendered once, and all subscribers receive the same bytes.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, header};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use super::Console;

/// Interval of keep-alive comments on an idle stream.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);
/// Maximum duration of a stream of a signed-in operator. The browser reconnects, which checks the session again.
const SIGNED_IN_FOR: Duration = Duration::from_mins(5);

/// Renders an event. `json` must not contain line breaks.
pub fn event(name: &str, json: &str) -> Bytes {
    format!("event: {name}\ndata: {json}\n\n").into()
}

/// A subscriber of a broadcast.
pub struct Listener<F> {
    pub console: Console,
    /// Event sent before any broadcast one.
    pub first: Option<Bytes>,
    pub published: broadcast::Receiver<Bytes>,
    pub signed_in: bool,
    /// Resynchronizes a subscriber that lagged: it may replace the receiver and return an event to send first.
    pub catch_up: F,
}

impl<F: Fn(&mut broadcast::Receiver<Bytes>) -> Option<Bytes> + Send + 'static> Listener<F> {
    pub fn response(self) -> Response {
        let until = self.signed_in.then(|| Instant::now() + SIGNED_IN_FOR);
        let events = stream::unfold(self, move |mut listener| async move {
            let heard = listener.next(until).await?;
            Some((Ok::<_, Infallible>(heard), listener))
        });
        let mut response = Response::new(Body::from_stream(events));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        response
    }

    async fn next(&mut self, until: Option<Instant>) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            let signed_out = async {
                match until {
                    Some(until) => tokio::time::sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            let published = tokio::select! {
                () = self.console.app.stopped() => return None,
                () = signed_out => return None,
                () = tokio::time::sleep(KEEP_ALIVE_EVERY) => return Some(Bytes::from_static(b":\n\n")),
                published = self.published.recv() => published,
            };
            match published {
                Ok(published) => return Some(published),
                Err(RecvError::Lagged(_)) => {
                    if let Some(whole) = (self.catch_up)(&mut self.published) {
                        return Some(whole);
                    }
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }
}
