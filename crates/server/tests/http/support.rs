//! A server of its own for each test, with a clock the test sets. When a test ends, the server must stop cleanly and its
//! store must pass the audit, and no thread of it may have panicked.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use holdfast_client::{Client, Error, Hold, NewHold, NewRoomType, RoomType, UserId};
use holdfast_core::audit::Audit;
use holdfast_core::time::Span;
use holdfast_core::{Timestamp, WorkingSet};
use holdfast_engine::IdMaker;
use holdfast_engine::panics;
use holdfast_engine::store::{Keep, Tier};
use holdfast_engine::{Clock as _, ManualClock, OutboxEntry, Store};
use holdfast_events::nats::{Connection, Options};
use holdfast_server::config::{Secret, ServerConfig};
use holdfast_server::roles::{Role, Roles};
use holdfast_server::router::router_with_pages;
use holdfast_server::{App, Config, Parts, serve};
use holdfast_testkit::{Place, Profile, nats};
use jiff::civil::{Date, date};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use uuid::Uuid;

/// Noon in Seoul.
const START: &str = "2027-03-01T03:00:00Z";
/// Date of [`START`].
pub(crate) const TODAY: Date = date(2027, 3, 1);

pub(crate) struct TestApp {
    pub(crate) url: String,
    pub(crate) profile: Profile,
    place: Place,
    clock: Arc<ManualClock>,
    /// Settings of NATS, if the server uses it.
    pub(crate) bus: Option<Options>,
    config: Config,
    /// Dropped and closed once the server has stopped.
    app: Option<App>,
    store: Option<Arc<dyn Store>>,
}

/// Runs a test against a server with default settings.
pub(crate) async fn with_app(profile: Profile, test: impl AsyncFn(&TestApp)) {
    with_settings(profile, |_| {}, test).await;
}

/// Runs a test against a server with settings of its own.
pub(crate) async fn with_settings(profile: Profile, change: impl Fn(&mut Config), test: impl AsyncFn(&TestApp)) {
    let mut config = Config::defaults();
    change(&mut config);
    run(profile, &config, Place::new(profile), clock(), &test).await;
}

/// Runs two parts of a test against two successive servers on the same store.
pub(crate) async fn with_restart(profile: Profile, before: impl AsyncFn(&TestApp), after: impl AsyncFn(&TestApp)) {
    let config = Config::defaults();
    let place = run(profile, &config, Place::new(profile), clock(), &before).await;
    run(profile, &config, place.place, place.clock, &after).await;
}

/// Deployment of services that communicate by messages.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Services {
    OneProcess(Profile),
    /// One process per service, each on a store of its own.
    OverNats,
}

/// Declares one `#[test]` per deployment of services, as [`holdfast_testkit::profiles`] does per profile.
macro_rules! services {
    ($test:ident) => {
        mod $test {
            use holdfast_testkit::{Profile, run_test};

            use crate::support::Services;

            fn run(services: Services) {
                run_test(Box::pin(super::$test(services)));
            }

            #[test]
            fn embedded() {
                run(Services::OneProcess(Profile::Embedded));
            }

            #[test]
            fn postgres() {
                run(Services::OneProcess(Profile::Postgres));
            }

            #[test]
            fn redis_cluster() {
                run(Services::OneProcess(Profile::Cluster));
            }

            #[test]
            fn over_nats() {
                run(Services::OverNats);
            }
        }
    };
}
pub(crate) use services;

/// Runs a test of services that communicate by messages.
pub(crate) async fn with_services(services: Services, test: impl AsyncFn(&TestApp)) {
    match services {
        Services::OneProcess(profile) => with_app(profile, test).await,
        Services::OverNats => over_nats(Profile::Embedded, &Role::ALL.map(|role| Roles::of([role])), &test).await,
    }
}

/// Runs a test against servers that communicate over NATS; the test calls the first one over HTTP.
pub(crate) async fn over_nats(profile: Profile, roles: &[Roles], test: &impl AsyncFn(&TestApp)) {
    over_nats_with(profile, roles, |_| {}, test).await;
}

/// Runs like [`over_nats`], with settings of its own.
pub(crate) async fn over_nats_with(
    profile: Profile,
    roles: &[Roles],
    change: impl Fn(&mut Config),
    test: &impl AsyncFn(&TestApp),
) {
    let mut config = Config::defaults();
    config.server.nats_url = Some(Secret::new(nats().url()));
    change(&mut config);
    config.nats.prefix = nats().prefix();
    config.nats.bytes_max = 1 << 20;
    let is_complete = Role::ALL.iter().all(|role| roles.iter().any(|roles| roles.has(*role)));
    let clock = clock();
    let (mut others, mut places) = (Vec::new(), Vec::new());
    for roles in &roles[1..] {
        let place = Place::new(profile);
        config.server.roles = roles.to_string();
        others.push(start(&config, &place, &clock).await);
        places.push(place);
    }
    config.server.roles = roles[0].to_string();
    let test = async |app: &TestApp| {
        if is_complete {
            app.until_services_answer().await;
        }
        test(app).await;
    };
    run(profile, &config, Place::new(profile), clock.clone(), &test).await;
    for (app, engine, store) in others {
        app.stop();
        drop(app);
        until_ended(engine).await;
        audit(&*store, &clock).await;
    }
}

/// Runs a test against one server on storage of the test's own.
pub(crate) async fn with_place(place: Place, change: &impl Fn(&mut Config), test: &impl AsyncFn(&TestApp)) {
    let profile = match &place {
        Place::Embedded(_) => Profile::Embedded,
        Place::Postgres(_) => Profile::Postgres,
        Place::Cluster { .. } => Profile::Cluster,
    };
    let mut config = Config::defaults();
    change(&mut config);
    run(profile, &config, place, clock(), test).await;
}

pub(crate) fn clock() -> Arc<ManualClock> {
    let start: jiff::Timestamp = START.parse().unwrap();
    Arc::new(ManualClock::at(Timestamp::from_millis(start.as_millisecond())))
}

async fn run(
    profile: Profile,
    config: &Config,
    place: Place,
    clock: Arc<ManualClock>,
    test: &impl AsyncFn(&TestApp),
) -> TestApp {
    run_on(profile, config, place, clock, |store| store, test).await
}

/// Runs a test against one server, on the store that `wrap` returns for its own.
pub(crate) async fn with_store(
    profile: Profile,
    wrap: impl Fn(Arc<dyn Store>) -> Arc<dyn Store>,
    test: impl AsyncFn(&TestApp),
) {
    run_on(profile, &Config::defaults(), Place::new(profile), clock(), &wrap, &test).await;
}

async fn run_on(
    profile: Profile,
    config: &Config,
    place: Place,
    clock: Arc<ManualClock>,
    wrap: impl Fn(Arc<dyn Store>) -> Arc<dyn Store>,
    test: &impl AsyncFn(&TestApp),
) -> TestApp {
    let (app, engine, store) = start_on(wrap(place.open(clock.clone()).await), config, &place, &clock).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (stop, stopped) = oneshot::channel::<()>();
    let (served, connections_max) = (app.clone(), config.server.connections_max);
    let (router, _) = router_with_pages(app.clone(), |app, api| holdfast_console::routes(app, api, None));
    let serving = tokio::spawn(async move {
        serve::serve(served, router, listener, connections_max, async { stopped.await.unwrap_or_default() })
            .await
            .unwrap();
    });

    let (bus, config) = (config.bus(), config.clone());
    let mut test_app = TestApp { url, profile, place, clock, bus, config, app: Some(app), store: Some(store) };
    test(&test_app).await;

    stop.send(()).unwrap();
    serving.await.unwrap();
    test_app.app = None;
    until_ended(engine).await;
    assert_eq!(take_panics(), [""; 0], "the server panicked");
    audit(&**test_app.store.as_ref().unwrap(), &test_app.clock).await;
    TestApp { store: None, ..test_app }
}

async fn start(config: &Config, place: &Place, clock: &Arc<ManualClock>) -> (App, JoinHandle<()>, Arc<dyn Store>) {
    start_on(place.open(clock.clone()).await, config, place, clock).await
}

async fn start_on(
    store: Arc<dyn Store>,
    config: &Config,
    place: &Place,
    clock: &Arc<ManualClock>,
) -> (App, JoinHandle<()>, Arc<dyn Store>) {
    let room = place.open_room(config.queue.timings(), clock.clone()).await;
    let bus = match config.bus() {
        Some(options) => Some(Connection::open(options).await.unwrap()),
        None => None,
    };
    let parts = Parts { store: store.clone(), room, ids: IdMaker::seeded(1), bus };
    let (app, engine) = App::start(config, parts).await.unwrap();
    (app, engine, store)
}

pub(crate) async fn until_ended(engine: JoinHandle<()>) {
    let ended = tokio::task::spawn_blocking(move || engine.join().unwrap());
    tokio::time::timeout(Duration::from_secs(20), ended).await.expect("the engine ends with its last handle").unwrap();
}

async fn audit(store: &dyn Store, clock: &ManualClock) {
    let mut audit = Audit::new(clock.now());
    store.audit(&mut audit).await.unwrap();
    assert_eq!(audit.finish(), [""; 0], "the store is sound after the test");
}

/// Takes the panics of this test's servers, for tests that provoke them. Any other one fails its test at the end.
pub(crate) fn take_panics() -> Vec<String> {
    let panics = panics::take(tokio::runtime::Handle::current().id());
    panics.iter().map(ToString::to_string).collect()
}

impl TestApp {
    /// Handle of the server, for calls without HTTP.
    pub(crate) fn app(&self) -> App {
        self.app.clone().expect("the server runs")
    }

    /// Caller without a name: an operator while auth is off.
    pub(crate) fn admin(&self) -> Client {
        Client::new(&self.url)
    }

    pub(crate) fn guest(&self, user: impl Into<UserId>) -> Client {
        self.admin().as_user(user)
    }

    /// Waits until all services respond.
    async fn until_services_answer(&self) {
        let answer = async {
            for path in ["/bookings", "/v1/courses", "/v1/notifications"] {
                while self.send("GET", path, &[], "").await.status == 503 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), answer).await.expect("all services answer");
    }

    /// Whether holds are stored apart from durable records, and cannot be listed.
    pub(crate) fn profile_is_split(&self) -> bool {
        self.store.as_ref().unwrap().is_split()
    }

    /// Current time of the store.
    pub(crate) fn now(&self) -> jiff::Timestamp {
        self.clock.now().to_jiff()
    }

    /// Advances the clock of the store.
    pub(crate) fn pass(&self, span: Span) {
        self.clock.advance(span);
    }

    /// Purges old rows, as the server does periodically.
    pub(crate) async fn purge(&self) {
        while self.store.as_ref().unwrap().purge(Keep::default()).await.unwrap() {}
    }

    /// Id of the last durable event.
    pub(crate) async fn outbox_last(&self) -> u64 {
        self.store.as_ref().unwrap().outbox_last().await.unwrap()
    }

    /// Commits an event that the server does not publish, as after a commit whose outcome was unknown.
    pub(crate) async fn commit_unpublished(&self, event_type: &'static str) {
        self.commit_unpublished_many(event_type, 1).await;
    }

    /// Commits many such events of user 7 at once.
    pub(crate) async fn commit_unpublished_many(&self, event_type: &'static str, count: usize) {
        let store = self.store.as_ref().unwrap();
        let tier = if store.is_split() { Tier::Durable } else { Tier::Whole };
        let at = self.clock.now();
        let entry = OutboxEntry {
            event_type,
            owner: holdfast_core::id::UserId::new(7),
            at,
            data: "{}".into(),
            trace: None,
            imported: false,
        };
        let mut rows = WorkingSet::default();
        let mut session = store.begin(tier).await.unwrap();
        session.load(&mut rows).await.unwrap();
        let committed = session.commit(&mut rows, &vec![entry; count]).await.unwrap();
        drop(session);
        tokio::task::spawn_blocking(committed.flush).await.unwrap().unwrap();
    }

    /// Starts another server on the same rows, without HTTP; for profiles with several servers.
    pub(crate) async fn start_another(&self) -> (App, JoinHandle<()>) {
        let config = Config::defaults();
        let store = self.place.open(self.clock.clone()).await;
        let room = self.place.open_room(config.queue.timings(), self.clock.clone()).await;
        App::start(&config, Parts { store, room, ids: IdMaker::seeded(2), bus: None }).await.unwrap()
    }

    /// Starts another server with other roles, over the same NATS.
    pub(crate) async fn start_another_with(&self, roles: Roles) -> (App, JoinHandle<()>) {
        let config = Config {
            server: ServerConfig { roles: roles.to_string(), ..self.config.server.clone() },
            ..self.config.clone()
        };
        let store = self.place.open(self.clock.clone()).await;
        let room = self.place.open_room(config.queue.timings(), self.clock.clone()).await;
        let bus = Connection::open(config.bus().unwrap()).await.unwrap();
        App::start(&config, Parts { store, room, ids: IdMaker::seeded(2), bus: Some(bus) }).await.unwrap()
    }

    /// Storage of the rows, for tests that inspect it.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// File of an embedded server, for tests that lock or modify it.
    pub(crate) fn file(&self) -> std::path::PathBuf {
        let Place::Embedded(directory) = &self.place else { panic!("{:?} has no file", self.profile) };
        directory.path().join("holdfast.db")
    }

    pub(crate) async fn room_type(&self, total_quantity: u32) -> RoomType {
        self.admin().create_room_type(&NewRoomType::new("객실", total_quantity, 100_000)).await.unwrap()
    }

    /// Sends a body unchanged. Returns status, headers and JSON.
    pub(crate) async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> RawResponse {
        let method = method.parse().unwrap();
        let mut request = self.admin().request(method, path).body(body.to_owned());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap();
        RawResponse { status, headers, json: serde_json::from_str(&text).unwrap_or(Value::Null), text }
    }
}

#[derive(Debug)]
pub(crate) struct RawResponse {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) json: Value,
    pub(crate) text: String,
}

impl RawResponse {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// Returns status and code of a rejection.
    pub(crate) fn refusal(&self) -> (u16, &str) {
        (self.status, self.json["code"].as_str().unwrap_or("(no code)"))
    }
}

/// Returns the date so many days after the test's today.
pub(crate) fn day(days: i32) -> Date {
    TODAY.saturating_add(jiff::Span::new().days(days))
}

/// Creates a hold with a unique key.
pub(crate) fn new_hold(room_type: &RoomType, check_in: Date, check_out: Date) -> NewHold {
    NewHold::new(room_type.id, check_in, check_out, fresh_key())
}

pub(crate) fn fresh_key() -> Uuid {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Uuid::from_u64_pair(0x4000, (1 << 63) | NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Places a hold, which must succeed.
pub(crate) async fn placed(app: &TestApp, user: u64, room_type: &RoomType, check_in: Date, check_out: Date) -> Hold {
    app.guest(user).place_hold(&new_hold(room_type, check_in, check_out)).await.unwrap()
}

/// Returns status and code of a rejected call.
pub(crate) fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> (u16, String) {
    match result.expect_err("the call is rejected") {
        Error::Problem(problem) => (problem.status, problem.code),
        other => panic!("not a rejection: {other}"),
    }
}

/// Returns the problem of a rejected call.
pub(crate) fn problem<T: std::fmt::Debug>(result: Result<T, Error>) -> holdfast_client::Problem {
    match result.expect_err("the call is rejected") {
        Error::Problem(problem) => *problem,
        other => panic!("not a rejection: {other}"),
    }
}

pub(crate) fn refused(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}
