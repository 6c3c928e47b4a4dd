//! The demo sale, started with a button: the same load simulation as `holdfast demo sale`, which the server runs against its
//! own HTTP address. At most one runs at a time.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{FromRequest as _, FromRequestParts, Request, State};
use axum::response::{Html, IntoResponse, Response};
use base64::Engine as _;
use holdfast_core::Fault;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::page::CustomerAccess;
use super::sale::{self, Counts, Outcome, PEOPLE_MAX, Phase, Plan, Progress, THINK_MAX};
use super::{Console, texts};
use holdfast_server::app::{App, Reply};
use holdfast_server::caller::Caller;
use holdfast_server::problem::Problem;
use holdfast_server::request::Mutation;

const PEOPLE_DEFAULT: u32 = 400;
const THINK_DEFAULT: Duration = Duration::from_millis(500);
const TIME_LIMIT: Duration = Duration::from_mins(5);

/// Runs the sales of a demo, one at a time, and shows the latest.
#[derive(Debug)]
pub struct SaleRunner {
    /// Address of this server for the simulated customers.
    url: String,
    last: Mutex<Option<Sale>>,
}

#[derive(Debug, Clone)]
struct Sale {
    progress: Arc<Progress>,
    ended: Option<Result<Arc<Outcome>, String>>,
}

/// Progress of the latest sale.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SaleView {
    #[serde(flatten)]
    counts: Option<Counts>,
    /// Path of the report; `None` until the sale has ended.
    report: Option<&'static str>,
    error: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SaleBody {
    people: Option<u32>,
    think_ms: Option<u64>,
}

impl SaleRunner {
    pub fn new(address: SocketAddr) -> Self {
        Self { url: format!("http://{address}"), last: Mutex::default() }
    }

    fn last(&self) -> Option<Sale> {
        self.last.lock().clone()
    }

    /// Opens a new sale; `None` if one is running.
    fn open(&self) -> Option<Arc<Progress>> {
        let mut last = self.last.lock();
        if last.as_ref().is_some_and(|sale| sale.ended.is_none()) {
            return None;
        }
        let progress = Arc::new(Progress::default());
        *last = Some(Sale { progress: progress.clone(), ended: None });
        Some(progress)
    }

    fn close(&self, ended: Result<Arc<Outcome>, String>) {
        if let Some(sale) = &mut *self.last.lock() {
            sale.ended = Some(ended);
        }
    }

    fn view(&self) -> SaleView {
        let Some(sale) = self.last() else { return SaleView { counts: None, report: None, error: None } };
        let mut counts = sale.progress.counts();
        let (report, error) = match &sale.ended {
            Some(Ok(_)) => (Some("/demo/sale/report"), None),
            Some(Err(error)) => (None, Some(error.clone())),
            // The phase becomes `Done` only with a report to show.
            None => {
                if matches!(counts.phase, Phase::Done | Phase::Failed) {
                    counts.phase = Phase::Checking;
                }
                (None, None)
            }
        };
        SaleView { counts: Some(counts), report, error }
    }
}

/// Extractor for operators' requests to the load simulator. It rejects them unless the simulator may run.
pub struct Runner(Arc<SaleRunner>);

impl FromRequestParts<Console> for Runner {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, Problem> {
        if CustomerAccess::of(console) != CustomerAccess::Anonymous {
            return Err(Problem::not_found());
        }
        let caller = Caller::from_request_parts(parts, &console.app).await?;
        caller.must_be_admin(console.app.auth())?;
        console.sale_runner.clone().map(Self).ok_or_else(Problem::not_found)
    }
}

/// Starts a sale; returns the running one if there is one.
pub async fn start(
    Runner(runner): Runner,
    State(Console { app, .. }): State<Console>,
    request: Request,
) -> Result<Response, Problem> {
    let body: SaleBody = Mutation::from_request(request, &app).await?.json()?;
    let people = body.people.unwrap_or(PEOPLE_DEFAULT);
    if !(1..=PEOPLE_MAX).contains(&people) {
        return Err(Problem::invalid("people", &Fault::OutOfRange { min: 1, max: i64::from(PEOPLE_MAX) }));
    }
    let think = body.think_ms.map_or(THINK_DEFAULT, Duration::from_millis);
    if think > THINK_MAX {
        return Err(Problem::invalid("thinkMs", &Fault::OutOfRange { min: 0, max: THINK_MAX.as_millis() as i64 }));
    }
    let now = app.query(|_, at| Ok(at.now)).await?;
    let Some(progress) = runner.open() else { return Ok(Reply::json(StatusCode::OK, &runner.view()).into_response()) };
    let plan = Plan {
        url: runner.url.clone(),
        people,
        think,
        time_limit: TIME_LIMIT,
        now: now.to_jiff(),
        seed: app.ids().number(),
    };
    let started = Reply::json(StatusCode::ACCEPTED, &runner.view());
    app.spawn(run_sale(app.clone(), runner, plan, progress));
    Ok(started.into_response())
}

async fn run_sale(app: App, runner: Arc<SaleRunner>, plan: Plan, progress: Arc<Progress>) {
    // A task of its own, so that a panic in it ends only the sale.
    let sale = tokio::spawn(sale::run(plan, progress));
    let abort = sale.abort_handle();
    let ended = tokio::select! {
        () = app.stopped() => {
            abort.abort();
            return;
        }
        ended = sale => match ended {
            Ok(Ok(outcome)) => Ok(Arc::new(outcome)),
            Ok(Err(error)) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
        },
    };
    if let Err(error) = &ended {
        tracing::warn!(%error, "the demo sale failed");
    }
    runner.close(ended);
}

/// Returns the progress of the latest sale.
pub async fn get(Runner(runner): Runner) -> Response {
    let mut response = Reply::json(StatusCode::OK, &runner.view()).into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Stops the simulated customers. Their purchases remain.
pub async fn stop(Runner(runner): Runner) -> Response {
    if let Some(sale) = runner.last() {
        sale.progress.stop();
    }
    Reply::no_content().into_response()
}

/// Returns the report of the latest sale, as `holdfast demo sale` writes it.
pub async fn report(Runner(runner): Runner, headers: HeaderMap) -> Result<Response, Problem> {
    let last = runner.last().ok_or_else(Problem::not_found)?;
    let Some(Ok(outcome)) = last.ended else { return Err(Problem::not_found()) };
    // The page embeds its own style, the only resource that the policy allows.
    let style = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(sale::report::STYLE));
    let policy = format!("default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; frame-ancestors 'none'");
    let page = Html(sale::report::html(&outcome, texts::language(&headers)));
    let mut response = page.into_response();
    let policy = HeaderValue::try_from(policy).map_err(|_| Problem::internal())?;
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}
