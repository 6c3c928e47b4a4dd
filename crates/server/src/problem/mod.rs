//! Every error: its status, its stable code, and its detail in Korean and English (RFC 9457).
//!
//! A handler returns a [`Problem`]; the edge renders it in the caller's language, with the request id.

mod calendar;
pub mod claim;
mod queue;
mod shop;
mod stay;
mod tee;
mod ticket;
mod webhook;

use axum::response::{IntoResponse, Response};
use holdfast_api::InvalidField;
use holdfast_api::error::ErrorCode;
use holdfast_core::{Fault, Rejection, StayRejection};
use holdfast_engine::Refused;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Map, Value, json};

/// Language of `detail`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Korean,
    English,
}

/// Error response.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    pub status: StatusCode,
    pub code: ErrorCode,
    korean: String,
    english: String,
    /// Exact cause in Korean and English, where the detail does not name it.
    reason: Option<Box<[String; 2]>>,
    /// Further members: `field`, `available`, …
    extra: Map<String, Value>,
    /// Whether a bearer token was given and is bad (RFC 6750: `error="invalid_token"`).
    is_token_bad: bool,
}

impl Problem {
    /// The problem of a code, with the detail that the table gives it.
    pub fn of(code: ErrorCode) -> Self {
        Self::new(code, code.korean(), code.english())
    }

    /// A problem whose cause has a detail of its own.
    pub fn new(code: ErrorCode, korean: impl Into<String>, english: impl Into<String>) -> Self {
        let status = StatusCode::from_u16(code.status()).expect("the table has valid statuses");
        let (korean, english) = (korean.into(), english.into());
        Self { status, code, korean, english, reason: None, extra: Map::new(), is_token_bad: false }
    }

    /// Adds a member, and puts it into the detail if the detail names it.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        for detail in [&mut self.korean, &mut self.english] {
            if detail.contains('{') {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                *detail = detail.replace(&format!("{{{name}}}"), &text);
            }
        }
        self.extra.insert(name.into(), value);
        self
    }

    pub fn invalid(field: impl Into<String>, fault: &Fault) -> Self {
        let (korean, english) = fault_sentences(fault);
        let field = field.into();
        let reason = Some(Box::new([format!("{field}: {korean}."), format!("{field} {english}.")]));
        let problem = Self::of(ErrorCode::InvalidInput);
        Self { reason, ..problem }.with("field", field)
    }

    /// Moves the field of invalid input into an element of a list, or names the element.
    #[must_use]
    pub fn in_line(self, list: &str, index: u16) -> Self {
        let element = format!("{list}[{index}]");
        let field = match self.extra.get("field").and_then(Value::as_str) {
            Some(field) => format!("{element}.{field}"),
            None => element,
        };
        let reason = self.reason.clone().map(|reason| {
            let old = self.extra.get("field").and_then(Value::as_str).unwrap_or_default();
            Box::new(reason.map(|text| text.replacen(old, &field, 1)))
        });
        Self { reason, ..self }.with("field", field)
    }

    /// Returns the code and the further members, for one of many lines.
    pub fn code_and_extra(&self) -> Map<String, Value> {
        let mut members = self.extra.clone();
        members.insert("code".into(), self.code.as_str().into());
        members
    }

    pub fn not_found() -> Self {
        Self::of(ErrorCode::NotFound)
    }

    pub fn method_not_allowed() -> Self {
        let english = "This path does not take this method; see /docs.";
        Self::new(ErrorCode::MethodNotAllowed, "이 경로에서 지원하지 않는 메서드입니다.", english)
    }

    pub fn payload_too_large(max_bytes: usize) -> Self {
        let korean = format!("요청 본문이 너무 큽니다. (최대 {max_bytes}바이트)");
        let english = format!("The body is too large; at most {max_bytes} bytes are read.");
        Self::new(ErrorCode::PayloadTooLarge, korean, english)
    }

    pub fn unauthenticated(english: &str) -> Self {
        Self::new(ErrorCode::Unauthenticated, "인증이 필요합니다.", english)
    }

    /// The caller's bearer token is not accepted.
    pub fn invalid_token(english: &str) -> Self {
        Self { is_token_bad: true, ..Self::unauthenticated(english) }
    }

    pub fn forbidden() -> Self {
        Self::of(ErrorCode::Forbidden)
    }

    pub fn forwarded() -> Self {
        let english = "Without auth the server answers only direct HTTP/1.1 requests from this machine whose Host is a \
            loopback name like localhost; set auth.jwt_secret or auth.jwt_public_key_file to serve others.";
        let korean = "인증이 꺼져 있으면 이 컴퓨터에서 localhost 같은 이름으로 직접 보낸 HTTP/1.1 요청만 받습니다.";
        Self::new(ErrorCode::Forbidden, korean, english)
    }

    pub fn too_slow() -> Self {
        let english = "The request took too long to arrive.";
        Self::new(ErrorCode::RequestTimeout, "요청을 제때 받지 못했습니다.", english)
    }

    pub fn overloaded() -> Self {
        Self::of(ErrorCode::Overloaded).with("retryAfterMs", 1_000)
    }

    /// Idempotency records of a caller have reached their quota.
    pub fn record_quota_used_up(bytes_max: usize, wait: std::time::Duration) -> Self {
        let hours = wait.as_secs().div_ceil(3_600);
        let korean = format!(
            "이 호출자의 멱등 응답 보관량이 한도({bytes_max}바이트)에 도달했습니다. {hours}시간 안에 다시 시도하거나, \
             Idempotency-Key 없이 보내거나, 더 작은 요청으로 나누어 주세요."
        );
        let english = format!(
            "The idempotency records of this caller have reached their quota of {bytes_max} bytes. Try again in \
             {hours} h, send the request without Idempotency-Key, or send smaller ones."
        );
        Self::new(ErrorCode::Overloaded, korean, english).with("retryAfterMs", wait.as_millis() as u64)
    }

    /// Part of a batch is carried out under its idempotency key, and the rest is not.
    pub fn batch_unfinished(refused: &Refused) -> Self {
        let korean = "일괄 요청의 일부만 처리되었습니다. 같은 Idempotency-Key로 다시 보내면 나머지를 처리하고 전체 결과를 답합니다.";
        let english = "Part of the batch is carried out. Repeat the request with the same Idempotency-Key: the rest is carried \
            out and the answer covers all lines.";
        let code = match refused {
            Refused::Overloaded | Refused::LockTimeout => ErrorCode::Overloaded,
            _ => ErrorCode::StoreUnavailable,
        };
        Self::new(code, korean, english).with("retryAfterMs", 1_000)
    }

    pub fn store_unavailable(english: &str) -> Self {
        Self::new(ErrorCode::StoreUnavailable, "저장소에 연결할 수 없습니다. 잠시 후 다시 시도해 주세요.", english)
            .with("retryAfterMs", 1_000)
    }

    /// The process that runs this service is unavailable.
    pub fn service_unavailable(service: &'static str, english: &str) -> Self {
        Self::new(
            ErrorCode::ServiceUnavailable,
            "담당 서비스가 응답하지 않습니다. 잠시 후 다시 시도해 주세요.",
            english,
        )
        .with("service", service)
        .with("retryAfterMs", 1_000)
    }

    /// The server has `server.connections_max` connections.
    pub fn too_many_connections() -> Self {
        Self::new(
            ErrorCode::ServiceUnavailable,
            "서버의 연결이 모두 사용 중입니다. 잠시 후 다시 시도해 주세요.",
            "All connections of the server are in use; nothing was changed. Try again shortly.",
        )
        .with("retryAfterMs", 1_000)
    }

    pub fn internal() -> Self {
        Self::of(ErrorCode::InternalServerError)
    }

    /// Returns the detail in a language.
    pub fn detail(&self, language: Language) -> &str {
        match language {
            Language::Korean => &self.korean,
            Language::English => &self.english,
        }
    }

    /// Returns the exact cause in a language.
    pub fn reason(&self, language: Language) -> Option<&str> {
        let [korean, english] = &**self.reason.as_ref()?;
        Some(match language {
            Language::Korean => korean,
            Language::English => english,
        })
    }

    /// Returns the common and the further members.
    pub fn to_json(&self, language: Language) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("type".into(), format!("/docs#{}", self.code).into());
        members.insert("title".into(), self.code.title().into());
        members.insert("status".into(), self.status.as_u16().into());
        members.insert("detail".into(), self.detail(language).into());
        members.insert("code".into(), self.code.as_str().into());
        members.extend(self.reason(language).map(|reason| ("reason".into(), reason.into())));
        members.extend(self.extra.clone());
        members
    }

    /// Returns the body of the response to one request.
    pub fn to_json_for(&self, language: Language, request_id: &str) -> String {
        let mut members = self.to_json(language);
        members.insert("requestId".into(), request_id.into());
        Value::Object(members).to_string()
    }

    /// Renders the response to one request.
    pub fn render(&self, language: Language, request_id: &str) -> Response {
        let body = self.to_json_for(language, request_id);
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        // The next response may differ.
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        let language = if language == Language::Korean { "ko" } else { "en" };
        headers.insert(header::CONTENT_LANGUAGE, HeaderValue::from_static(language));
        if let Some(millis) = self.extra.get("retryAfterMs").and_then(Value::as_u64) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(millis.div_ceil(1_000)));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let challenge = if self.is_token_bad { "Bearer error=\"invalid_token\"" } else { "Bearer" };
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        response
    }
}

/// The edge takes the problem from the response's extensions and renders it.
impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<Refused> for Problem {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Rejected(rejection) => Self::from(&rejection),
            Refused::Overloaded => Self::overloaded(),
            Refused::LockTimeout => Self::of(ErrorCode::LockTimeout),
            Refused::StoreUnavailable(_) => Self::store_unavailable("The store is unavailable; nothing was changed."),
            Refused::OutcomeUnknown => Self::store_unavailable(
                "The store did not answer in time; the command may or may not have been carried out. Retry with \
                 the same Idempotency-Key, or read the state first.",
            ),
            Refused::Internal => Self::internal(),
        }
    }
}

impl From<holdfast_engine::StoreError> for Problem {
    fn from(error: holdfast_engine::StoreError) -> Self {
        Self::from(Refused::from(error))
    }
}

impl From<InvalidField> for Problem {
    fn from(InvalidField { field, fault }: InvalidField) -> Self {
        Self::invalid(field, &fault)
    }
}

impl From<Rejection> for Problem {
    fn from(rejection: Rejection) -> Self {
        Self::from(&rejection)
    }
}

impl From<&Rejection> for Problem {
    fn from(rejection: &Rejection) -> Self {
        match rejection {
            Rejection::InvalidInput { field, fault } => Self::invalid(*field, fault),
            Rejection::Forbidden => Self::forbidden(),
            Rejection::IdempotencyKeyReused => Self::of(ErrorCode::IdempotencyKeyReused),
            Rejection::TooManyHolds { max } => Self::of(ErrorCode::TooManyHolds).with("max", *max),
            Rejection::HoldsSuspended { until } => Self::new(
                ErrorCode::StoreUnavailable,
                "일부 임시 예약 정보가 유실되어 새 예약을 잠시 받지 않습니다.",
                "Some holds were lost; new ones are taken again from the time in `until`.",
            )
            .with("until", until.to_jiff().to_string()),
            // Internal; never returned to a caller.
            Rejection::LeaseLost => Self::internal(),
            Rejection::Claim(rejection) => claim::problem(rejection),
            Rejection::Stay(rejection) => stay::problem(rejection),
            Rejection::Shop(rejection) => shop::problem(rejection),
            Rejection::Calendar(rejection) => calendar::problem(rejection),
            Rejection::Ticket(rejection) => ticket::problem(rejection),
            Rejection::Tee(rejection) => tee::problem(rejection),
            Rejection::Webhook(rejection) => webhook::problem(rejection),
        }
    }
}

fn fault_sentences(fault: &Fault) -> (String, String) {
    let fixed = |korean: &str, english: &str| (korean.to_string(), english.to_string());
    match fault {
        Fault::Missing => fixed("필수 값입니다", "is missing"),
        Fault::WrongType => fixed("형식이 올바르지 않습니다", "has the wrong type"),
        Fault::Malformed => fixed("형식이 올바르지 않습니다", "is malformed"),
        Fault::OutOfRange { min, max } => {
            (format!("{min} 이상 {max} 이하여야 합니다"), format!("must be from {min} to {max}"))
        }
        Fault::Blank => fixed("비어 있을 수 없습니다", "must not be blank"),
        Fault::TooLong { max } => {
            (format!("최대 {max}자까지 가능합니다"), format!("may have at most {max} characters"))
        }
        Fault::ControlCharacter => fixed("제어 문자를 포함할 수 없습니다", "must not contain control characters"),
        Fault::NotADate => fixed("YYYY-MM-DD 형식의 날짜여야 합니다", "must be a date like 2026-12-24"),
        Fault::NotAMoment => fixed("RFC 3339 형식의 시각이어야 합니다", "must be a time like 2026-12-24T09:00:00Z"),
        Fault::UnknownTimeZone => fixed("알 수 없는 시간대입니다", "must be an IANA time zone like Asia/Seoul"),
        Fault::OtherCurrency { expected } => {
            let expected = expected.as_str();
            (format!("통화가 {expected}이어야 합니다"), format!("must be priced in {expected}"))
        }
        Fault::UnknownCurrency => fixed("알 수 없는 통화입니다", "must be a currency code like KRW"),
        Fault::UnknownValue => fixed("알 수 없는 값입니다", "is not one of the allowed values"),
        Fault::Duplicate => fixed("중복된 값이 있습니다", "has the same entry twice"),
        Fault::NotAUser => fixed(
            "1 이상 2^53 미만의 정수이거나(JSON에서는 숫자), 십진수가 아닌 1~128자의 ASCII 문자열이어야 합니다",
            "must be an integer from 1 to 9007199254740991, in JSON a number and not a string, or 1 to 128 visible ASCII \
             characters that do not read as a decimal number",
        ),
        Fault::NotUuidOrUlid => fixed("UUID 또는 ULID여야 합니다", "must be a UUID or a ULID"),
        Fault::EmptyRange => fixed("시작일보다 뒤여야 합니다", "must be after the first date"),
        Fault::InThePast => fixed("오늘 이후여야 합니다", "must not be in the past"),
        Fault::TooFarAhead { days_max } => {
            (format!("오늘부터 {days_max}일 이내여야 합니다"), format!("must be within {days_max} days from today"))
        }
        Fault::TooManyNights { max } => {
            (format!("최대 {max}박까지 가능합니다"), format!("may be at most {max} nights after the first date"))
        }
        Fault::TooManyItems { max } => {
            (format!("최대 {max}건까지 가능합니다"), format!("may have at most {max} entries"))
        }
        Fault::TooManyDays { max } => {
            (format!("최대 {max}일까지 가능합니다"), format!("may be at most {max} days, the first one included"))
        }
        Fault::NotATime => fixed("HH:MM 형식의 시각이어야 합니다", "must be a time like 09:30"),
        Fault::UnknownWeekday => {
            fixed("요일은 mon, tue, wed, thu, fri, sat, sun 중 하나여야 합니다", "must name weekdays mon to sun")
        }
        Fault::UnknownCountry => fixed("알 수 없는 국가 코드입니다", "must be a country code like KR"),
        Fault::NotAWebAddress => fixed(
            "http 또는 https 주소여야 하며 사용자 정보를 담을 수 없습니다",
            "must be an http or https URL without user information",
        ),
        Fault::PrivateAddress => {
            fixed("내부망 주소로는 보낼 수 없습니다", "must not be an address of a private network while auth is on")
        }
        Fault::NotASecret { min, max } => (
            format!("whsec_ 뒤에 무작위 {min}~{max}바이트를 base64로 적어야 합니다"),
            format!("must be whsec_ followed by base64 of {min} to {max} random bytes"),
        ),
        Fault::CannotChange => fixed("슬롯이 만들어진 뒤에는 바꿀 수 없습니다", "cannot change once there are slots"),
    }
}

/// Examples of all problems, for the reference.
pub fn catalog() -> Vec<Problem> {
    let rejections = [
        Rejection::invalid("checkIn", Fault::NotADate),
        Rejection::Forbidden,
        Rejection::IdempotencyKeyReused,
        Rejection::TooManyHolds { max: 50 },
        Rejection::HoldsSuspended { until: holdfast_core::Timestamp::from_millis(0) },
    ];
    let refusals = [Refused::Overloaded, Refused::LockTimeout, Refused::OutcomeUnknown, Refused::Internal];
    let others = [
        Problem::unauthenticated("Send a bearer token in the Authorization header."),
        Problem::not_found(),
        Problem::method_not_allowed(),
        Problem::payload_too_large(crate::request::BODY_BYTES_MAX),
        Problem::too_slow(),
        Problem::service_unavailable("booking", "The booking service is unavailable; nothing was changed."),
    ];
    let mut problems: Vec<Problem> = rejections.iter().map(Problem::from).collect();
    problems.extend(claim::catalog().iter().map(claim::problem));
    problems.extend(stay::catalog().iter().map(stay::problem));
    problems.extend(shop::catalog().iter().map(shop::problem));
    problems.extend(calendar::catalog().iter().map(calendar::problem));
    problems.extend(ticket::catalog().iter().map(ticket::problem));
    problems.extend(queue::catalog());
    problems.extend(tee::catalog().iter().map(tee::problem));
    problems.extend(webhook::catalog().iter().map(webhook::problem));
    problems.extend(refusals.into_iter().map(Problem::from));
    problems.extend(others);
    problems
}

/// Example for the `OpenAPI` document.
pub fn example() -> Value {
    let problem =
        stay::problem(&StayRejection::RoomNotAvailable { date: jiff::civil::date(2026, 12, 24), available: 0 });
    let mut members = problem.to_json(Language::English);
    members.insert("requestId".into(), json!("01f3a5c7e9b2d486"));
    Value::Object(members)
}
