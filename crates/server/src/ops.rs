//! Endpoints for operators: liveness, readiness and metrics.

use std::sync::OnceLock;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::readiness::{Readiness, Status};

#[derive(Serialize, ToSchema)]
pub struct Health {
    /// `ok`
    status: &'static str,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Readiness)]
pub struct ReadinessReport {
    /// `ready`, `degraded` (an optional part is unavailable) or `unavailable`
    status: &'static str,
    /// Fault of the store, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<String>,
    /// Fault of the bus, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    bus: Option<String>,
    /// Fault of the waiting room, if it has one.
    #[serde(rename = "waitingRoom", skip_serializing_if = "Option::is_none")]
    waiting_room: Option<String>,
}

/// Whether the process is alive.
#[utoipa::path(get, path = "/healthz", tag = "operations", responses((status = 200, body = Health)))]
pub async fn healthz() -> Response {
    axum::Json(Health { status: "ok" }).into_response()
}

/// Whether the server can do its work, and the fault of each part that has one. The store is probed once per second.
#[utoipa::path(get, path = "/readyz", tag = "operations",
    responses((status = 200, body = ReadinessReport), (status = 503, body = ReadinessReport)))]
pub async fn readyz(State(app): State<App>) -> Response {
    let Readiness { status, store, bus, waiting_room } = Readiness::of(&app);
    let (code, status) = match status {
        Status::Ready => (StatusCode::OK, "ready"),
        Status::Degraded => (StatusCode::OK, "degraded"),
        Status::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
    };
    (code, axum::Json(ReadinessReport { status, store, bus, waiting_room })).into_response()
}

/// Counters and histograms for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "operations",
    responses((status = 200, body = String, content_type = "text/plain")))]
pub async fn metrics(State(app): State<App>) -> Response {
    let text = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, text)], app.metrics().render()).into_response()
}

/// Returns the metrics recorder, of which there is one per process, however many apps run in it.
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
                .expect("this is the only metrics recorder of the process");
            describe_metrics();
            holdfast_engine::panics::install();
            handle
        })
        .clone()
}

fn describe_metrics() {
    use metrics::{Unit, describe_counter, describe_gauge, describe_histogram};
    describe_histogram!("holdfast_http_request_seconds", Unit::Seconds, "Time from a request's head to its answer.");
    describe_counter!(
        "holdfast_responses_dropped_total",
        "Large answers cut off because their clients had stopped reading and memory was needed."
    );
    describe_counter!("holdfast_http_errors_total", "Answers that were not a success, by code.");
    describe_histogram!("holdfast_batch_commands", "Commands in a batch.");
    describe_histogram!("holdfast_command_wait_seconds", Unit::Seconds, "Time a command waited for its turn.");
    describe_histogram!("holdfast_batch_decide_seconds", Unit::Seconds, "Time to load rows and decide a batch.");
    describe_histogram!("holdfast_batch_commit_seconds", Unit::Seconds, "Time to write a batch to the store.");
    describe_histogram!("holdfast_batch_flush_seconds", Unit::Seconds, "Time until a batch was durable.");
    describe_counter!("holdfast_batch_conflicts_total", "Commits retried after a conflict with another server.");
    describe_counter!("holdfast_panics_total", "Panics, each of them a defect to be reported.");
    describe_counter!(
        "holdfast_confirm_attempts_recovered_total",
        "In-doubt holds recovered after a server died while confirming them."
    );
    describe_counter!("holdfast_webhook_deliveries_total", "Webhook delivery attempts, by outcome.");
    describe_histogram!("holdfast_webhook_attempt_seconds", Unit::Seconds, "Duration of a webhook delivery attempt.");
    describe_gauge!(
        "holdfast_webhook_pending",
        "Webhook deliveries that wait for an attempt; 10,000 means 10,000 or more."
    );
    describe_counter!("holdfast_redis_data_losses_total", "Detected losses of data in Redis.");
    describe_counter!("holdfast_outbox_publish_failures_total", "Failed attempts to publish an event.");
    describe_counter!("holdfast_outbox_dead_letters_total", "Events that became dead letters after all retries.");
    describe_gauge!("holdfast_outbox_dead_letters", "Dead letters at the time of the last sweep.");
    describe_counter!("holdfast_bus_redeliveries_total", "Messages that NATS delivered more than once.");
    describe_counter!(
        "holdfast_bus_messages_discarded_total",
        "Messages that were dropped because they cannot be parsed or processed."
    );
    describe_counter!(
        "holdfast_batch_failures_total",
        "Batches that the store rejected, or whose commit has an unknown outcome."
    );
}
