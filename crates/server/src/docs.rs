//! `/openapi.json`, generated from the handlers, and `/docs`, the same as one self-contained page.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use holdfast_api::ids;
use holdfast_api::params::ListOrder;
use holdfast_api::stay::ReservationStatus;
use http::{StatusCode, header};
use serde_json::Value;
use utoipa::OpenApi;
use utoipa::openapi::RefOr;

use crate::problem::{self, Language};

#[derive(OpenApi, Debug)]
#[openapi(
    info(
        title = "Holdfast",
        description = "Holds, confirms and releases anything countable, and never sells a unit twice.\n\n\
            Times are RFC 3339 in UTC, dates `YYYY-MM-DD`, money an integer in the currency's minor unit. \
            Every POST, PATCH, PUT and DELETE may carry an `Idempotency-Key`: the first success is replayed for 24 hours. \
            Errors are `application/problem+json`; match on `code`, and choose the language of `detail` with \
            `Accept-Language` (`ko` or `en`).",
        license(name = "Apache-2.0", identifier = "Apache-2.0"),
    ),
    // Schemas that parameters refer to; those of bodies are collected from the handlers.
    components(schemas(
        ids::UserId,
        ids::RoomTypeId,
        ids::ReservationId,
        ids::ProductId,
        ids::ProductOptionId,
        ids::OrderReservationId,
        ids::OrderId,
        ids::RoomId,
        ids::RoomReservationId,
        ids::EventId,
        ids::SeatId,
        ids::SeatReservationId,
        ids::CourseId,
        ids::TeeSlotId,
        ids::BookingId,
        ids::NotificationId,
        ids::WebhookId,
        ids::DeliveryId,
        ids::OutboxEventId,
        ids::HoldId,
        ids::LockId,
        ids::ClaimId,
        ids::StockSaleId,
        ListOrder,
        ReservationStatus,
    )),
    tags(
        (name = "stays", description = "Hotel nights: room types, holds, reservations."),
        (name = "calendar", description = "Rooms by the hour: pre-generated slots, locks, reservations."),
        (name = "claims", description = "Holds with lines of any types: every hold of a vertical is a claim."),
        (name = "events", description = "Changes as they happen."),
        (name = "webhooks", description = "Durable events, sent to subscribed HTTP endpoints."),
        (name = "operations", description = "For operators."),
    )
)]
pub struct Document;

/// Adds the problem response to every operation.
pub fn add_problems(openapi: &mut utoipa::openapi::OpenApi) {
    use utoipa::openapi::{ContentBuilder, Ref, ResponseBuilder};
    openapi.components.get_or_insert_default().schemas.insert("Problem".into(), problem_schema().into());
    let schema = Ref::from_schema_name("Problem");
    let content = ContentBuilder::new().schema(Some(schema)).example(Some(problem::example())).build();
    let response = ResponseBuilder::new()
        .description("Any error, as RFC 9457 problem details with a stable `code`.")
        .content("application/problem+json", content)
        .build();
    each_operation(openapi, |_, _, operation| {
        operation.responses.responses.insert("default".into(), response.clone().into());
    });
}

/// Adds the parts that the specification requires and the handlers omit: a unique id for each operation, and a description
/// for each response.
pub fn add_names(openapi: &mut utoipa::openapi::OpenApi) {
    each_operation(openapi, |method, path, operation| {
        let words = path.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        operation.operation_id = Some(words.fold(method.to_owned(), |name, word| format!("{name}_{word}")));
        for (status, response) in &mut operation.responses.responses {
            if let RefOr::T(response) = response
                && response.description.is_empty()
            {
                let reason = status.parse::<StatusCode>().ok().and_then(|status| status.canonical_reason());
                reason.unwrap_or("An answer").clone_into(&mut response.description);
            }
        }
    });
}

fn each_operation(
    openapi: &mut utoipa::openapi::OpenApi,
    mut visit: impl FnMut(&str, &str, &mut utoipa::openapi::path::Operation),
) {
    for (path, item) in &mut openapi.paths.paths {
        let operations = [
            ("get", &mut item.get),
            ("post", &mut item.post),
            ("patch", &mut item.patch),
            ("put", &mut item.put),
            ("delete", &mut item.delete),
        ];
        for (method, operation) in operations {
            if let Some(operation) = operation {
                visit(method, path, operation);
            }
        }
    }
}

fn problem_schema() -> utoipa::openapi::Object {
    use utoipa::openapi::{ObjectBuilder, Type};
    let text = |help: &str| ObjectBuilder::new().schema_type(Type::String).description(Some(help)).build();
    let member = |object: ObjectBuilder, (name, help): (&str, &str)| object.property(name, text(help));
    let said = [
        ("type", "URI of the explanation of the code."),
        ("title", "The code as words."),
        ("detail", "A sentence for humans, in the language of `Accept-Language`."),
        ("code", "Stable; match on this."),
        ("requestId", "Id of the request in the server's log."),
    ];
    let object = said.into_iter().fold(ObjectBuilder::new(), member);
    let status = ObjectBuilder::new().schema_type(Type::Integer).build();
    let object =
        ["type", "title", "status", "detail", "code", "requestId"].into_iter().fold(object, ObjectBuilder::required);
    let helps = [
        ("field", "With `INVALID_INPUT`: the invalid field."),
        ("reason", "With `INVALID_INPUT`: the reason, in the language of `detail`."),
    ];
    helps.into_iter().fold(object.property("status", status), member).build()
}

/// The served documents, rendered once.
#[derive(Clone, Debug)]
pub struct Pages {
    json: Arc<str>,
    html: Arc<str>,
}

impl Pages {
    pub fn new(openapi: &utoipa::openapi::OpenApi) -> Self {
        let json = openapi.to_pretty_json().expect("the document serializes to JSON");
        let html = page(&serde_json::from_str(&json).expect("serialized JSON parses"));
        Self { json: json.into(), html: html.into() }
    }
}

pub async fn openapi_json(State(pages): State<Pages>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], pages.json.to_string()).into_response()
}

pub async fn docs_page(State(pages): State<Pages>) -> Response {
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    ([(header::CONTENT_SECURITY_POLICY, policy)], Html(pages.html.to_string())).into_response()
}

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --soft: #8881; --get: #1b7a50; --post: #1f62b8; --patch: #855600; --delete: #b3261e }
body { background: Canvas; color: CanvasText; font: 16px/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem }
nav { columns: 18rem; font-size: .9rem; border-block: 1px solid var(--line); padding: .5rem 0 }
nav a { display: block; padding: .15rem 0 }
section { border-top: 1px solid var(--line); padding: .5rem 0 }
code, .path { font-family: ui-monospace, monospace; font-size: .95em }
.method { color: #fff; border-radius: .25rem; padding: .1rem .45rem; font-size: .8rem; font-weight: 700 }
.GET { background: var(--get) } .POST { background: var(--post) } .PATCH, .PUT { background: var(--patch) }
.DELETE { background: var(--delete) }
table { border-collapse: collapse; width: 100%; font-size: .9rem } td, th { border-bottom: 1px solid var(--line);
padding: .25rem .5rem; text-align: left; vertical-align: top } th { font-weight: 600; white-space: nowrap }
pre { background: var(--soft); padding: .5rem; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem }
:focus-visible { outline: 2px solid; outline-offset: 2px }
";

fn page(openapi: &Value) -> String {
    let mut html = String::new();
    let title = text(&openapi["info"]["title"]);
    write!(
        html,
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>\
         <title>{title} API</title><style>{STYLE}</style><main><h1>{title} API</h1>"
    )
    .expect("writing to a string");
    for paragraph in openapi["info"]["description"].as_str().unwrap_or_default().split("\n\n") {
        write!(html, "<p>{}", prose(paragraph)).expect("writing to a string");
    }
    html.push_str("<p>Machine-readable version: <a href=/openapi.json>/openapi.json</a>.<nav aria-label=Operations>");
    let operations = operations(openapi);
    for operation in &operations {
        let (id, path) = (&operation.id, escape(operation.path));
        write!(html, "<a href='#{id}'>{} {path}</a>", operation.method).expect("writing to a string");
    }
    html.push_str("</nav>");
    for operation in &operations {
        write_operation(&mut html, operation, openapi);
    }
    html.push_str("<section><h2>Problems</h2><table>");
    let mut named = HashSet::new();
    for problem in problem::catalog() {
        let (code, status) = (problem.code, problem.status.as_u16());
        let (english, korean) = (problem.detail(Language::English), problem.detail(Language::Korean));
        let (english, korean) = (escape(english), escape(korean));
        // Some codes have several sentences; only the first is a link target.
        let id = if named.insert(code) { format!(" id='{code}'") } else { String::new() };
        write!(html, "<tr{id}><th scope=row>{code}<td>{status}<td>{english}<br><span lang=ko>{korean}</span>")
            .expect("writing to a string");
    }
    html.push_str("</table></section></main>");
    html
}

struct Operation<'a> {
    id: String,
    method: String,
    path: &'a str,
    value: &'a Value,
}

fn operations(openapi: &Value) -> Vec<Operation<'_>> {
    let mut operations = Vec::new();
    for (path, item) in openapi["paths"].as_object().into_iter().flatten() {
        for (method, value) in item.as_object().into_iter().flatten() {
            let id = format!("{method}{}", path.replace(|c: char| !c.is_ascii_alphanumeric(), "-"));
            operations.push(Operation { id, method: method.to_uppercase(), path, value });
        }
    }
    operations
}

fn write_operation(html: &mut String, operation: &Operation<'_>, openapi: &Value) {
    let Operation { id, method, path, value } = operation;
    write!(
        html,
        "<section id='{id}'><h2><span class='method {method}'>{method}</span> <span class=path>{}</span></h2><p>{}",
        escape(path),
        prose(value["summary"].as_str().unwrap_or_default())
    )
    .expect("writing to a string");
    let mut rows = String::new();
    for it in value["parameters"].as_array().into_iter().flatten() {
        let required = if it["required"] == true { "required" } else { "" };
        let (name, place) = (text(&it["name"]), text(&it["in"]));
        let help = prose(it["description"].as_str().unwrap_or_default());
        write!(rows, "<tr><th scope=row>{name}<td>{place}<td>{required}<td>{help}").expect("writing to a string");
    }
    if !rows.is_empty() {
        write!(html, "<h3>Parameters</h3><table>{rows}</table>").expect("writing to a string");
    }
    let body = &value["requestBody"]["content"]["application/json"]["schema"];
    if !body.is_null() {
        write!(html, "<h3>Body</h3><pre>{}</pre>", escape(&outline(body, openapi, 0))).expect("writing to a string");
    }
    html.push_str("<h3>Answers</h3><table>");
    for (status, response) in value["responses"].as_object().into_iter().flatten() {
        let schema = response["content"].as_object().and_then(|content| content.values().next());
        let shape = schema.map(|content| outline(&content["schema"], openapi, 0)).filter(|shape| !shape.is_empty());
        let shape = shape.map(|shape| format!("<pre>{}</pre>", escape(&shape))).unwrap_or_default();
        let help = prose(response["description"].as_str().unwrap_or_default());
        write!(html, "<tr><th scope=row>{status}<td>{help}{shape}").expect("writing to a string");
    }
    html.push_str("</table></section>");
}

/// Renders a schema as an outline of the JSON it describes.
fn outline(schema: &Value, openapi: &Value, depth: usize) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = reference.trim_start_matches('#');
        return openapi.pointer(target).map(|target| outline(target, openapi, depth)).unwrap_or_default();
    }
    let pad = "  ".repeat(depth + 1);
    match &schema["type"] {
        Value::String(kind) if kind == "object" => {
            let mut lines = String::from("{\n");
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let required = schema["required"].as_array().is_some_and(|names| names.iter().any(|it| it == name));
                let mark = if required { "" } else { "?" };
                let shape = outline(property, openapi, depth + 1);
                let help = property["description"].as_str().map(|help| format!("   — {help}")).unwrap_or_default();
                writeln!(lines, "{pad}{name}{mark}: {shape}{help}").expect("writing to a string");
            }
            lines + &"  ".repeat(depth) + "}"
        }
        Value::String(kind) if kind == "array" => format!("[{}]", outline(&schema["items"], openapi, depth)),
        Value::String(kind) => match (schema["enum"].as_array(), schema["format"].as_str()) {
            (Some(values), _) => values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | "),
            (None, Some(format)) => format!("{kind} ({format})"),
            (None, None) => kind.clone(),
        },
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
        _ => {
            let kinds = schema["oneOf"].as_array().into_iter().flatten();
            kinds.map(|kind| outline(kind, openapi, depth)).collect::<Vec<_>>().join(" | ")
        }
    }
}

fn text(value: &Value) -> String {
    escape(value.as_str().unwrap_or_default())
}

/// Escapes text, and renders text in backticks as code.
fn prose(markdown: &str) -> String {
    let mut html = String::new();
    for (index, piece) in escape(markdown).split('`').enumerate() {
        if index % 2 == 1 {
            write!(html, "<code>{piece}</code>").expect("writing to a string");
        } else {
            html.push_str(piece);
        }
    }
    html
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\'', "&#39;").replace('"', "&quot;")
}
