//! Listening, the life of a connection, and a clean end.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::app::App;
use crate::{edge, router};

/// What is in flight when the stop signal comes has this long to end.
const FINISH_WITHIN: Duration = Duration::from_secs(8);
/// A connection that does not send a whole request head in time is closed, and so is an idle one.
const HEAD_WITHIN: Duration = Duration::from_secs(75);

/// Serves until `stop` resolves, then takes no new work and finishes what is in flight.
pub async fn serve(app: App, listener: TcpListener, connections_max: usize, stop: impl Future<Output = ()>) {
    let (router, _) = router::router(app.clone());
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(64 << 10);
    let places = Arc::new(Semaphore::new(connections_max));
    let connections = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let place = tokio::select! {
            () = &mut stop => break,
            place = places.clone().acquire_owned() => place.expect("never closed"),
        };
        let socket = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => socket,
                Err(error) => {
                    // Out of file handles, most likely: those in use will be given back.
                    tracing::warn!(%error, "could not accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        socket.set_nodelay(true).ok();
        let (app, router) = (app.clone(), router.clone());
        let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            let (app, router) = (app.clone(), router.clone());
            async move { Ok::<_, std::convert::Infallible>(edge::handle(app, router, request.map(Body::new)).await) }
        });
        let connection = connections.watch(http.serve_connection(TokioIo::new(socket), service));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "connection ended");
            }
            drop(place);
        });
    }
    drop(listener);
    app.stop();
    if tokio::time::timeout(FINISH_WITHIN, connections.shutdown()).await.is_err() {
        tracing::warn!("some connections were still busy and are cut off");
    }
}
