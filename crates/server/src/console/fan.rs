//! Server-sent events that many listen to: written once, and the same bytes are sent to all.

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

/// Whoever hears nothing for so long is told that somebody is still there.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);
/// Whoever is signed in has to show again that they are, after so long: the browser does it by itself.
const SIGNED_IN_FOR: Duration = Duration::from_mins(5);

/// An event as it is sent. JSON has no line breaks.
pub fn event(name: &str, json: &str) -> Bytes {
    format!("event: {name}\ndata: {json}\n\n").into()
}

/// Someone who listens.
pub struct Listener<F> {
    pub console: Console,
    /// What to hear first.
    pub first: Option<Bytes>,
    pub told: broadcast::Receiver<Bytes>,
    pub signed_in: bool,
    /// What to do for one who fell behind: listen anew, and perhaps be told something first.
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
            let told = tokio::select! {
                () = self.console.app.stopped() => return None,
                () = signed_out => return None,
                () = tokio::time::sleep(KEEP_ALIVE_EVERY) => return Some(Bytes::from_static(b":\n\n")),
                told = self.told.recv() => told,
            };
            match told {
                Ok(told) => return Some(told),
                Err(RecvError::Lagged(_)) => {
                    if let Some(whole) = (self.catch_up)(&mut self.told) {
                        return Some(whole);
                    }
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }
}
