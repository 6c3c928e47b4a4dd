//! For operators: is it alive, can it serve, what is it doing.

use std::sync::OnceLock;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;

#[derive(Serialize, ToSchema)]
pub struct Health {
    /// `ok`
    status: &'static str,
}

#[derive(Serialize, ToSchema)]
pub struct Readiness {
    /// `ready` or `unavailable`
    status: &'static str,
    /// What is wrong with the store, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<String>,
    /// What is wrong with the bus, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    bus: Option<String>,
}

/// Whether the process is alive.
#[utoipa::path(get, path = "/healthz", tag = "operations", responses((status = 200, body = Health)))]
pub async fn healthz() -> Response {
    axum::Json(Health { status: "ok" }).into_response()
}

/// Whether the server can do its work. Says which part is away.
#[utoipa::path(get, path = "/readyz", tag = "operations",
    responses((status = 200, body = Readiness), (status = 503, body = Readiness)))]
pub async fn readyz(State(app): State<App>) -> Response {
    let engine_stopped = (!app.engine().is_alive()).then(|| "the engine has stopped".to_owned());
    let store = app.store().check().await.err().map(|error| error.to_string()).or(engine_stopped);
    let bus = app.bus().and_then(|bus| bus.check().err()).map(|error| error.to_string());
    if store.is_none() && bus.is_none() && !app.is_stopping() {
        axum::Json(Readiness { status: "ready", store, bus }).into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, axum::Json(Readiness { status: "unavailable", store, bus })).into_response()
    }
}

/// Counters and histograms for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "operations",
    responses((status = 200, body = String, content_type = "text/plain")))]
pub async fn metrics(State(app): State<App>) -> Response {
    let text = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, text)], app.metrics().render()).into_response()
}

/// There is one recorder per process, whatever number of apps run in it.
pub fn metrics_handle() -> PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE
        .get_or_init(|| {
            let seconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];
            let commands = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1_024.0, 8_192.0];
            let handle = PrometheusBuilder::new()
                .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &seconds)
                .and_then(|builder| builder.set_buckets_for_metric(Matcher::Suffix("_commands".into()), &commands))
                .expect("there are buckets")
                .install_recorder()
                .expect("nobody else records metrics in this process");
            describe_metrics();
            holdfast_engine::panics::install();
            handle
        })
        .clone()
}

fn describe_metrics() {
    use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
    describe_histogram!("holdfast_http_request_seconds", Unit::Seconds, "Time from a request's head to its answer.");
    describe_counter!("holdfast_problems_total", "Answers that were not a success, by code.");
    describe_histogram!("holdfast_batch_commands", "Commands in a batch.");
    describe_histogram!("holdfast_command_wait_seconds", Unit::Seconds, "Time a command waited for its turn.");
    describe_histogram!("holdfast_batch_decide_seconds", Unit::Seconds, "Time to load rows and decide a batch.");
    describe_histogram!("holdfast_batch_commit_seconds", Unit::Seconds, "Time to write a batch to the store.");
    describe_histogram!("holdfast_batch_safe_seconds", Unit::Seconds, "Time until a batch could not be lost any more.");
    describe_counter!(
        "holdfast_batch_conflicts_total",
        "Commits that were tried again because another server was first."
    );
    describe_counter!("holdfast_panics_total", "Panics, each of them a defect to be reported.");
    describe_counter!("holdfast_holds_resolved_total", "Holds finished for a server that died while confirming them.");
    describe_counter!("holdfast_webhook_deliveries_total", "Tries to deliver webhooks, by what came of them.");
    describe_histogram!("holdfast_webhook_attempt_seconds", Unit::Seconds, "Time a try to deliver a webhook took.");
    describe_gauge!(
        "holdfast_webhook_pending",
        "Webhook deliveries that wait to be tried; 10,000 means so many or more."
    );
    describe_counter!("holdfast_console_views_total", "How often what a page of the console shows was computed.");
    describe_counter!("holdfast_live_lost_total", "How often Redis was found to have lost its data.");
    describe_counter!("holdfast_outbox_failures_total", "Tries to hand an event on that failed.");
    describe_counter!("holdfast_outbox_given_up_total", "Events that were given up after all retries.");
    describe_gauge!("holdfast_outbox_given_up", "Events that are given up at present, as the last sweep found them.");
    describe_counter!("holdfast_bus_redelivered_total", "Messages that NATS delivered more than once.");
    describe_counter!(
        "holdfast_bus_unreadable_total",
        "Messages that were thrown away because nobody can read them or act on them."
    );
    describe_counter!(
        "holdfast_batch_failures_total",
        "Batches the store did not take, or whose commit it could not vouch for."
    );
}
