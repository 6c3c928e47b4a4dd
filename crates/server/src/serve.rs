//! Listening, the life of a connection, and a clean end.
//!
//! Each core has a thread that drives connections of its own, from the first byte to the last: what a request needs stays in
//! that core's caches, and nobody takes work from others. What takes long or goes on for long is done elsewhere: by the engine, by
//! the app ([`App::spawn`]), or where blocking is allowed.
//!
//! Connections beyond the maximum are a reserve on a thread of its own: health checks are answered there, everything else is
//! refused. So a load balancer can tell a server that is full from one that is dead.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use futures_util::future::join_all;
use holdfast_engine::panics;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::app::App;
use crate::{edge, router};

/// What is in flight when the stop signal comes has this long to end.
const FINISH_WITHIN: Duration = Duration::from_secs(8);
/// A connection that does not send a whole request head in time is closed, and so is an idle one.
const HEAD_WITHIN: Duration = Duration::from_secs(75);
/// Time from accepting a connection to the end of its first request head. Then it is closed, so that half-sent heads do not
/// keep the connections from others.
const FIRST_HEAD_WITHIN: Duration = Duration::from_secs(10);
/// Connections of the reserve that are served at a time. A further one replaces the oldest.
const RESERVE_MAX: usize = 64;
/// Connections of the reserve that are accepted at a time; further ones are closed.
const RESERVE_ACCEPTED_MAX: usize = 1_024;
/// Time in which a connection of the reserve must have ended.
const RESERVE_WITHIN: Duration = Duration::from_secs(5);
/// Who takes nothing of an answer or a stream for so long is gone, or means no good: the connection is closed.
const TAKEN_WITHIN: Duration = Duration::from_secs(30);
/// How much longer than its connections a thread may take to end. One that is stuck is left behind.
const THREAD_ENDS_WITHIN: Duration = Duration::from_millis(300);
/// How long nobody is let in after that has failed.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// Serves until `stop` resolves, then takes no new work and finishes what is in flight.
pub async fn serve(
    app: App,
    listener: TcpListener,
    connections_max: usize,
    stop: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let (router, _) = router::router(app.clone());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let start = |_| {
        let (app, router) = (app.clone(), router.clone());
        Worker::start("http", |arriving| drive(app, router, arriving))
    };
    let mut workers = (0..cores).map(start).collect::<Result<Vec<_>, _>>()?;
    let reserve = {
        let (app, router) = (app.clone(), router.clone());
        Worker::start("http reserve", |arriving| drive_reserve(app, router, arriving))?
    };
    let places = Arc::new(Semaphore::new(connections_max));
    let reserve_places = Arc::new(Semaphore::new(RESERVE_ACCEPTED_MAX));
    let (mut stop, mut result) = (pin!(stop), Ok(()));
    let mut next = workers.iter().cycle();
    loop {
        let socket = tokio::select! {
            () = &mut stop => break,
            socket = accept(&listener) => socket,
        };
        let (worker, place) = match places.clone().try_acquire_owned() {
            Ok(place) => (next.next().expect("there is a core"), place),
            Err(_) => match reserve_places.clone().try_acquire_owned() {
                Ok(place) => (&reserve, place),
                Err(_) => continue,
            },
        };
        if worker.arrivals.send(Arrival { socket, place }).is_err() {
            result = Err(std::io::Error::other("a thread that serves connections has died"));
            break;
        }
    }
    workers.push(reserve);
    drop(listener);
    app.stop();
    let within = FINISH_WITHIN + THREAD_ENDS_WITHIN;
    let ended = join_all(workers.into_iter().map(|worker| worker.stop(within))).await;
    if ended.contains(&Ended::CutOff) {
        tracing::warn!("some connections were still busy and are cut off");
    }
    result
}

async fn accept(listener: &TcpListener) -> std::net::TcpStream {
    loop {
        let accepted = listener.accept().await.and_then(|(socket, _)| {
            socket.set_nodelay(true).ok();
            bound_writes(&socket, TAKEN_WITHIN).ok();
            socket.into_std()
        });
        match accepted {
            Ok(socket) => return socket,
            Err(error) => {
                // Out of file handles, most likely: those in use will be given back.
                tracing::warn!(%error, "could not accept a connection");
                tokio::time::sleep(ACCEPT_AGAIN_AFTER).await;
            }
        }
    }
}

/// What was written fails if the other side takes nothing of it for so long. Only Linux can be told.
fn bound_writes(socket: &TcpStream, within: Duration) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    socket2::SockRef::from(socket).set_tcp_user_timeout(Some(within))?;
    #[cfg(not(target_os = "linux"))]
    let _ = (socket, within);
    Ok(())
}

/// A connection, and its place among all there may be.
struct Arrival {
    socket: std::net::TcpStream,
    place: OwnedSemaphorePermit,
}

/// How the connections of a worker have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    InTime,
    CutOff,
}

/// A thread that drives connections of its own.
struct Worker {
    arrivals: mpsc::UnboundedSender<Arrival>,
    ended: oneshot::Receiver<Ended>,
}

impl Worker {
    fn start<D: Future<Output = Ended>>(
        name: &str,
        drive: impl FnOnce(mpsc::UnboundedReceiver<Arrival>) -> D + Send + 'static,
    ) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (arrivals, arriving) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel();
        let run = move || {
            let how = runtime.block_on(drive(arriving));
            // With everything it still has, so that nobody has the app any more when the end is told.
            runtime.shutdown_background();
            end.send(how).ok();
        };
        std::thread::Builder::new().name(name.into()).spawn(panics::inherit(run))?;
        Ok(Self { arrivals, ended })
    }

    /// No more will come: waits until what is in flight has ended.
    async fn stop(self, within: Duration) -> Ended {
        drop(self.arrivals);
        let ended = tokio::time::timeout(within, self.ended).await;
        ended.map_or(Ended::CutOff, |ended| ended.unwrap_or(Ended::CutOff))
    }
}

/// Drives connections until no more come and the last has ended.
async fn drive(app: App, router: axum::Router, mut arriving: mpsc::UnboundedReceiver<Arrival>) -> Ended {
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(64 << 10);
    let connections = GracefulShutdown::new();
    while let Some(Arrival { socket, place }) = arriving.recv().await {
        let socket = match TcpStream::from_std(socket) {
            Ok(socket) => socket,
            Err(error) => {
                tracing::warn!(%error, "could not drive a connection");
                continue;
            }
        };
        let (app, router, has_asked) = (app.clone(), router.clone(), Arc::new(AtomicBool::new(false)));
        let asked = has_asked.clone();
        let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            asked.store(true, Ordering::Relaxed);
            let (app, router) = (app.clone(), router.clone());
            async move { Ok::<_, Infallible>(edge::handle(app, router, request.map(Body::new)).await) }
        });
        let connection = connections.watch(http.serve_connection(TokioIo::new(socket), service));
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            let ended = match tokio::time::timeout(FIRST_HEAD_WITHIN, &mut connection).await {
                Ok(ended) => ended,
                Err(_) if has_asked.load(Ordering::Relaxed) => connection.await,
                Err(_) => {
                    tracing::debug!("connection closed: it sent no whole request head in time");
                    return drop(place);
                }
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "connection ended");
            }
            drop(place);
        });
    }
    match tokio::time::timeout(FINISH_WITHIN, connections.shutdown()).await {
        Ok(()) => Ended::InTime,
        Err(_) => Ended::CutOff,
    }
}

/// Drives the connections of the reserve, one request each, until no more come.
async fn drive_reserve(app: App, router: axum::Router, mut arriving: mpsc::UnboundedReceiver<Arrival>) -> Ended {
    let mut http = hyper::server::conn::http1::Builder::new();
    http.keep_alive(false).max_buf_size(64 << 10);
    let mut served: VecDeque<JoinHandle<()>> = VecDeque::with_capacity(RESERVE_MAX);
    while let Some(Arrival { socket, place }) = arriving.recv().await {
        served.retain(|connection| !connection.is_finished());
        if served.len() == RESERVE_MAX
            && let Some(oldest) = served.pop_front()
        {
            oldest.abort();
        }
        let Ok(socket) = TcpStream::from_std(socket) else { continue };
        let (app, router) = (app.clone(), router.clone());
        let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            let (app, router) = (app.clone(), router.clone());
            async move { Ok::<_, Infallible>(edge::handle_health(app, router, request.map(Body::new)).await) }
        });
        let connection = http.serve_connection(TokioIo::new(socket), service);
        served.push_back(tokio::spawn(async move {
            tokio::time::timeout(RESERVE_WITHIN, connection).await.ok();
            drop(place);
        }));
    }
    served.iter().for_each(JoinHandle::abort);
    Ended::InTime
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn who_reads_nothing_of_an_answer_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let silent = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut socket, _) = listener.accept().await.unwrap();
        bound_writes(&socket, Duration::from_millis(300)).unwrap();
        let answer = vec![0; 1 << 16];
        let writing = async { while socket.write_all(&answer).await.is_ok() {} };
        tokio::time::timeout(Duration::from_secs(20), writing).await.expect("writing ends");
        drop(silent);
    }

    #[tokio::test]
    async fn a_thread_that_is_stuck_does_not_hold_up_the_end() {
        let (arrivals, _arriving) = mpsc::unbounded_channel();
        let (_never, ended) = oneshot::channel();
        assert_eq!(Worker { arrivals, ended }.stop(Duration::from_millis(10)).await, Ended::CutOff);
    }
}
