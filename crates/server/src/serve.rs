//! Accepting connections, driving them, and graceful shutdown.
//!
//! Each core has a thread that drives its own connections from start to end. A request's data stays in that core's caches,
//! and there is no work stealing. Long work runs elsewhere: in the engine, in the app ([`App::spawn`]), or on threads where
//! blocking is allowed.
//!
//! Connections beyond the maximum go to a reserve on a thread of its own, which answers health checks and rejects all other
//! requests. A load balancer can thereby tell an overloaded server from a dead one.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
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
use crate::edge;

/// Time that in-flight requests have to finish after the stop signal.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(8);
/// Time within which a connection must send the next request head; an idle connection is also closed after it.
const HEAD_TIMEOUT: Duration = Duration::from_secs(75);
/// Time from accepting a connection to the end of its first request head. Then it is closed, so that half-sent heads do not
/// use up the maximum number of connections.
const FIRST_HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of reserve connections served at a time. A further one replaces the oldest.
const RESERVE_MAX: usize = 64;
/// Bounds of the number of reserve connections accepted at a time, a quarter of the others; further ones are closed.
const RESERVE_ACCEPTED_MIN: usize = 2 * RESERVE_MAX;
const RESERVE_ACCEPTED_MAX: usize = 1_024;
/// Maximum duration of a reserve connection.
const RESERVE_CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// Time after which a connection is closed if its client reads nothing of an answer or stream.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Additional time for a worker thread to end after its connections. Shutdown does not wait for a stuck thread.
const THREAD_STOP_TIMEOUT: Duration = Duration::from_millis(300);
/// Pause after a failed accept.
const ACCEPT_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// Maximum number of reserve connections accepted at a time.
fn reserve_accepted(connections_max: usize) -> usize {
    (connections_max / 4).clamp(RESERVE_ACCEPTED_MIN, RESERVE_ACCEPTED_MAX)
}

/// Returns the maximum number of connections that together with their reserve need at most `files` file descriptors; at
/// least 1.
pub fn connections_within(files: usize) -> usize {
    let beside_max = files.saturating_sub(RESERVE_ACCEPTED_MAX).max(files / 5 * 4);
    beside_max.min(files.saturating_sub(RESERVE_ACCEPTED_MIN)).max(1)
}

/// Serves `router` until `stop` resolves, then accepts no new work and finishes the requests in flight.
pub async fn serve(
    app: App,
    router: Router,
    listener: TcpListener,
    connections_max: usize,
    stop: impl Future<Output = ()>,
) -> std::io::Result<()> {
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
    let reserve_places = Arc::new(Semaphore::new(reserve_accepted(connections_max)));
    let (mut stop, mut result) = (pin!(stop), Ok(()));
    let mut next = workers.iter().cycle();
    loop {
        let socket = tokio::select! {
            () = &mut stop => break,
            socket = accept(&listener) => socket,
        };
        let (worker, place) = match places.clone().try_acquire_owned() {
            Ok(place) => (next.next().expect("there is at least one worker"), place),
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
    let within = SHUTDOWN_TIMEOUT + THREAD_STOP_TIMEOUT;
    let ended = join_all(workers.into_iter().map(|worker| worker.stop(within))).await;
    if ended.contains(&Ended::CutOff) {
        tracing::warn!("closing connections that were busy at the end of the shutdown timeout");
    }
    result
}

async fn accept(listener: &TcpListener) -> std::net::TcpStream {
    loop {
        let accepted = listener.accept().await.and_then(|(socket, _)| {
            socket.set_nodelay(true).ok();
            bound_writes(&socket, WRITE_TIMEOUT).ok();
            socket.into_std()
        });
        match accepted {
            Ok(socket) => return socket,
            Err(error) => {
                // Usually the process is out of file descriptors, which are released as connections end.
                tracing::warn!(%error, "cannot accept a connection; retrying");
                tokio::time::sleep(ACCEPT_AGAIN_AFTER).await;
            }
        }
    }
}

/// Makes writes fail if the peer acknowledges no data within this time. Supported only on Linux.
fn bound_writes(socket: &TcpStream, within: Duration) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    socket2::SockRef::from(socket).set_tcp_user_timeout(Some(within))?;
    #[cfg(not(target_os = "linux"))]
    let _ = (socket, within);
    Ok(())
}

/// An accepted connection, and its permit out of the maximum number of connections.
struct Arrival {
    socket: std::net::TcpStream,
    place: OwnedSemaphorePermit,
}

/// Outcome of shutting down a worker's connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    InTime,
    CutOff,
}

/// A thread that drives its own connections.
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
            // Drops all remaining tasks before the end is signalled, so that none holds the app any more.
            runtime.shutdown_background();
            end.send(how).ok();
        };
        std::thread::Builder::new().name(name.into()).spawn(panics::inherit(run))?;
        Ok(Self { arrivals, ended })
    }

    /// Closes the queue of connections and waits until the requests in flight have ended.
    async fn stop(self, within: Duration) -> Ended {
        drop(self.arrivals);
        let ended = tokio::time::timeout(within, self.ended).await;
        ended.map_or(Ended::CutOff, |ended| ended.unwrap_or(Ended::CutOff))
    }
}

/// Drives connections until the queue is closed and the last connection has ended.
async fn drive(app: App, router: Router, mut arriving: mpsc::UnboundedReceiver<Arrival>) -> Ended {
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(64 << 10);
    let connections = GracefulShutdown::new();
    while let Some(Arrival { socket, place }) = arriving.recv().await {
        let socket = match TcpStream::from_std(socket) {
            Ok(socket) => socket,
            Err(error) => {
                tracing::warn!(%error, "cannot register a connection with the runtime; closing it");
                continue;
            }
        };
        let (app, router, has_asked) = (app.clone(), router.clone(), Arc::new(AtomicBool::new(false)));
        let asked = has_asked.clone();
        let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
            asked.store(true, Ordering::Relaxed);
            let (app, router) = (app.clone(), router.clone());
            async move { Ok::<_, Infallible>(edge::handle_http(app, router, request.map(Body::new)).await) }
        });
        let connection = connections.watch(http.serve_connection(TokioIo::new(socket), service));
        tokio::spawn(async move {
            let mut connection = pin!(connection);
            let ended = match tokio::time::timeout(FIRST_HEAD_TIMEOUT, &mut connection).await {
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
    match tokio::time::timeout(SHUTDOWN_TIMEOUT, connections.shutdown()).await {
        Ok(()) => Ended::InTime,
        Err(_) => Ended::CutOff,
    }
}

/// Drives reserve connections, one request each, until the queue is closed.
async fn drive_reserve(app: App, router: Router, mut arriving: mpsc::UnboundedReceiver<Arrival>) -> Ended {
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
            async move { Ok::<_, Infallible>(edge::handle_over_limit(app, router, request.map(Body::new)).await) }
        });
        let connection = http.serve_connection(TokioIo::new(socket), service);
        served.push_back(tokio::spawn(async move {
            tokio::time::timeout(RESERVE_CONNECTION_TIMEOUT, connection).await.ok();
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
    async fn write_to_client_that_never_reads_fails() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let silent = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut socket, _) = listener.accept().await.unwrap();
        bound_writes(&socket, Duration::from_millis(300)).unwrap();
        let answer = vec![0; 1 << 16];
        let writing = async { while socket.write_all(&answer).await.is_ok() {} };
        tokio::time::timeout(Duration::from_secs(20), writing).await.expect("writing ends");
        drop(silent);
    }

    #[test]
    fn connections_and_reserve_fit_into_the_files() {
        for files in [129, 192, 256, 704, 1_000, 5_000, 5_120, 10_000, 65_000] {
            let connections = connections_within(files);
            let needed = connections + reserve_accepted(connections);
            assert!(needed <= files, "{connections} connections with {files} files");
            assert!(connections >= files / 3 || files < 256, "{connections} connections with {files} files");
        }
        assert_eq!(connections_within(0), 1);
    }

    #[tokio::test]
    async fn stuck_thread_does_not_delay_shutdown() {
        let (arrivals, _arriving) = mpsc::unbounded_channel();
        let (_never, ended) = oneshot::channel();
        assert_eq!(Worker { arrivals, ended }.stop(Duration::from_millis(10)).await, Ended::CutOff);
    }
}
