//! Parsing of requests. Any error becomes one problem that names the field.

use std::collections::HashSet;
use std::sync::OnceLock;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Request};
use bytes::{Bytes, BytesMut};
use holdfast_api::ids;
use holdfast_api::list::Page;
use holdfast_api::params::{ListParams, UserQuery};
use holdfast_api::parse::parse_user;
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::idempotency::IdempotencyRecordId;
use holdfast_core::{Fault, Timestamp};
use http::HeaderMap;
use http::request::Parts;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Body as _;
use jiff::civil::Date;
use jiff::fmt::temporal::Pieces;
use serde::de::value::MapDeserializer;
use serde::de::{DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::app::App;
use crate::caller::Caller;
use crate::objects::{NamedUser, Notes, Objects};
use crate::problem::{Language, Problem};

/// Maximum size of a body.
pub const BODY_BYTES_MAX: usize = 8 << 20;
/// Maximum number of bytes that are read and discarded of a body that is too large.
const THROWN_AWAY_BYTES_MAX: usize = 64 << 20;
/// Time within which a body must arrive. After that, the engine's own bounds apply.
const BODY_TIMEOUT: Duration = Duration::from_millis(4_500);
const IDEMPOTENCY_KEY_CHARS_MAX: usize = 255;

/// A request that changes state: its body, and its idempotency key if it has one.
#[derive(Debug)]
pub struct Mutation {
    pub params: Params,
    pub language: Language,
    body: Bytes,
    /// User that the body names; known once the body is parsed.
    named: OnceLock<NamedUser>,
    key: Option<(String, [u8; 32])>,
}

impl Mutation {
    /// Parses the body as `T`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let (value, named) = parse_naming(&self.body)?;
        self.named.set(named).ok();
        Ok(value)
    }

    /// Whether the body is empty.
    pub fn is_empty(&self) -> bool {
        self.body.iter().all(u8::is_ascii_whitespace)
    }

    /// Parses the body as `T`; returns the default if it is empty.
    pub fn json_or_default<T: DeserializeOwned + Default>(&self) -> Result<T, Problem> {
        if self.is_empty() { Ok(T::default()) } else { self.json() }
    }

    /// Returns the user named in the query or the body; they must agree. Parses the body only if no other call did.
    pub fn named_user(&self) -> Result<Option<UserId>, Problem> {
        #[derive(Default, serde::Deserialize)]
        struct AnyObject {}
        if self.named.get().is_none() {
            self.json_or_default::<AnyObject>()?;
        }
        let in_body = match self.named.get() {
            None | Some(NamedUser::Absent) => None,
            Some(NamedUser::Given(user)) => Some(user),
            Some(NamedUser::Invalid) => return Err(Problem::invalid("userId", &Fault::WrongType)),
        };
        self.params.user_or(in_body)
    }

    /// Whether the request has an idempotency key.
    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Returns the id of the idempotency record and the fingerprint of the request, if it has a key.
    pub fn receipt(&self, caller: &Caller) -> Result<Option<(IdempotencyRecordId, [u8; 32])>, Problem> {
        let Some((key, fingerprint)) = self.key.clone() else { return Ok(None) };
        let caller = caller.key_space(self.named_user()?.as_ref());
        Ok(Some((IdempotencyRecordId { caller, key }, fingerprint)))
    }
}

impl FromRequest<App> for Mutation {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let key = idempotency_key(&parts.headers)?;
        let body = read_in_time(body).await?;
        let key = key.map(|key| (key, fingerprint(&parts, &body)));
        Ok(Self {
            params: Params::of(&parts)?,
            language: app.language(&parts.headers),
            body,
            named: OnceLock::new(),
            key,
        })
    }
}

/// Reads a small body, such as a form. Fails before reading if its announced size exceeds `bytes_max`.
pub async fn read_small(body: Body, bytes_max: usize, within: Duration) -> Result<Bytes, Problem> {
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(Problem::payload_too_large(bytes_max));
    }
    let reading = tokio::time::timeout(within, Limited::new(body, bytes_max).collect());
    match reading.await.map_err(|_| Problem::too_slow())? {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Problem::payload_too_large(bytes_max)),
        Err(_) => Err(Problem::invalid("body", &Fault::Malformed)),
    }
}

/// Reads the whole body, at most for `BODY_TIMEOUT`.
pub async fn read_in_time(body: Body) -> Result<Bytes, Problem> {
    let is_too_large = body.size_hint().lower() > BODY_BYTES_MAX as u64;
    let read = tokio::time::timeout(BODY_TIMEOUT, read_body(body)).await;
    read.unwrap_or_else(|_| {
        Err(if is_too_large { Problem::payload_too_large(BODY_BYTES_MAX) } else { Problem::too_slow() })
    })
}

/// Reads the whole body. If it is too large, up to [`THROWN_AWAY_BYTES_MAX`] of the rest are read and discarded, because a
/// client that is still sending could not read the answer.
async fn read_body(mut body: Body) -> Result<Bytes, Problem> {
    let mut read = BytesMut::new();
    let mut thrown_away = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Problem::invalid("body", &Fault::Malformed))?;
        let Ok(data) = frame.into_data() else { continue };
        if read.is_empty() && thrown_away == 0 && body.is_end_stream() && data.len() <= BODY_BYTES_MAX {
            return Ok(data);
        }
        if thrown_away == 0 && read.len() + data.len() <= BODY_BYTES_MAX {
            read.extend_from_slice(&data);
            continue;
        }
        thrown_away += data.len();
        if thrown_away > THROWN_AWAY_BYTES_MAX {
            break;
        }
    }
    if thrown_away > 0 { Err(Problem::payload_too_large(BODY_BYTES_MAX)) } else { Ok(read.freeze()) }
}

/// Query parameters of a request.
#[derive(Debug, Default)]
pub struct Params(Vec<(String, String)>);

impl Params {
    fn of(parts: &Parts) -> Result<Self, Problem> {
        let Some(query) = parts.uri.query() else { return Ok(Self::default()) };
        let pairs = form_urlencoded::parse(query.as_bytes());
        let pairs: Vec<_> = pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
        if pairs.iter().any(|(_, value)| value.contains('\u{fffd}') || value.contains('\0')) {
            return Err(Problem::invalid("query", &Fault::Malformed));
        }
        Ok(Self(pairs))
    }

    /// Reads the parameters into a struct of texts. Of several values of one name the first counts; later ones are ignored.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let mut names = HashSet::new();
        let firsts = self.0.iter().filter(|(name, _)| names.insert(name.as_str()));
        let texts = firsts.map(|(name, value)| (name.as_str(), QueryText(value)));
        T::deserialize(MapDeserializer::new(texts)).map_err(|_| Problem::invalid("query", &Fault::Malformed))
    }

    pub fn user(&self) -> Result<Option<UserId>, Problem> {
        let text = self.read::<UserQuery>()?.user_id;
        Ok(text.map(|text| parse_user("userId", &text)).transpose()?)
    }

    /// Returns the user of the query, or of the body; they must agree.
    pub fn user_or(&self, in_body: Option<&ids::UserId>) -> Result<Option<UserId>, Problem> {
        let in_body = in_body.map(|user| user.user("userId")).transpose()?;
        match (self.user()?, in_body) {
            (Some(query), Some(body)) if query != body => Err(Problem::forbidden()),
            (query, body) => Ok(query.or(body)),
        }
    }
}

/// Value of a query parameter, which serde may read as an optional text.
struct QueryText<'a>(&'a str);

impl<'de> Deserializer<'de> for QueryText<'de> {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_some(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de> for QueryText<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl FromRequestParts<App> for Params {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> Result<Self, Problem> {
        Self::of(parts)
    }
}

impl Language {
    /// Returns the preferred language of `ko` and `en`: `None` without the header, English if it names neither.
    pub fn asked_for(headers: &HeaderMap) -> Option<Self> {
        let header = headers.get(http::header::ACCEPT_LANGUAGE)?.to_str().ok()?;
        let mut best = (Self::English, 0.0);
        for choice in header.split(',').take(32) {
            let (tag, weight) = choice.split_once(';').unwrap_or((choice, "q=1"));
            let quality = weight.trim().strip_prefix("q=").and_then(|text| text.parse().ok()).unwrap_or(0.0);
            let language = match tag.trim().split('-').next().unwrap_or_default() {
                tag if tag.eq_ignore_ascii_case("ko") => Self::Korean,
                tag if tag.eq_ignore_ascii_case("en") => Self::English,
                _ => continue,
            };
            if quality > best.1 {
                best = (language, quality);
            }
        }
        Some(best.0)
    }
}

/// Parses `limit`, `order` and `cursor`.
pub fn page<Id>(params: &Params, new: fn(u64) -> Option<Id>) -> Result<Page<Id>, Problem> {
    Ok(params.read::<ListParams>()?.page(new)?)
}

/// Parses an RFC 3339 time. A time after the latest representable one becomes the latest.
pub fn parse_time(field: &'static str, text: &str) -> Result<Timestamp, Problem> {
    let moment = text.parse().ok().or_else(|| is_too_late(text).then_some(jiff::Timestamp::MAX));
    let moment = moment.filter(|moment| moment.as_millisecond() >= 0);
    moment
        .map(|moment| Timestamp::from_millis(moment.as_millisecond()))
        .ok_or_else(|| Problem::invalid(field, &Fault::NotAMoment))
}

/// Whether the text is a time of the last year that is later than the latest representable time.
fn is_too_late(text: &str) -> bool {
    Pieces::parse(text).is_ok_and(|pieces| {
        let is_moment = pieces.time().is_some() && pieces.to_numeric_offset().is_some();
        is_moment && pieces.date().year() == Date::MAX.year()
    })
}

/// Parses a numeric id in a path or query.
pub fn parse_id<Id>(field: &'static str, text: &str, new: fn(u64) -> Option<Id>) -> Result<Id, Problem> {
    decimal(text).and_then(new).ok_or_else(|| Problem::invalid(field, &out_of_id_range()))
}

/// Parses a numeric id in a query.
pub fn optional_id<Id>(
    field: &'static str,
    text: Option<&str>,
    new: fn(u64) -> Option<Id>,
) -> Result<Option<Id>, Problem> {
    text.map(|text| parse_id(field, text, new)).transpose()
}

/// Parses a number in its only canonical spelling: digits without a sign or leading zeros. `str::parse` also accepts `+1`
/// and `007`, so that two texts would name one user.
pub fn decimal(text: &str) -> Option<u64> {
    let is_canonical = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if is_canonical { text.parse().ok() } else { None }
}

/// Converts a numeric id in a body.
pub fn id<Id>(field: &'static str, number: u64, new: fn(u64) -> Option<Id>) -> Result<Id, Problem> {
    new(number).ok_or_else(|| Problem::invalid(field, &out_of_id_range()))
}

/// Parses the id of a hold in a path.
pub fn hold_id(text: &str) -> Result<HoldId, Problem> {
    let parsed = if text.len() == 36 { Uuid::try_parse(text).ok() } else { None };
    parsed.map(HoldId).ok_or_else(|| Problem::invalid("holdId", &Fault::Malformed))
}

fn out_of_id_range() -> Fault {
    Fault::OutOfRange { min: 1, max: holdfast_core::id::ID_MAX as i64 }
}

/// Parses JSON.
pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    parse_naming(body).map(|(value, _)| value)
}

/// Parses JSON on a fast path, and returns the user that it names. After a failure, parses it again to find the path of
/// the error.
fn parse_naming<T: DeserializeOwned>(body: &[u8]) -> Result<(T, NamedUser), Problem> {
    let notes = Notes::default();
    match read(body, &notes) {
        Ok(value) => Ok((value, notes.user())),
        Err(error) => Err(explain::<T>(body, &error)),
    }
}

fn read<T: DeserializeOwned>(body: &[u8], notes: &Notes) -> serde_json::Result<T> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let value = T::deserialize(Objects::in_(&mut reader, notes)).map_err(|error| notes.take(error))?;
    reader.end()?;
    Ok(value)
}

/// Returns the problem of a body that could not be parsed because of the error `first`.
fn explain<T: DeserializeOwned>(body: &[u8], first: &serde_json::Error) -> Problem {
    let notes = Notes::default();
    let mut reader = serde_json::Deserializer::from_slice(body);
    let Err(error) = serde_path_to_error::deserialize::<_, T>(Objects::in_(&mut reader, &notes)) else {
        return malformed(first);
    };
    let path = error.path().to_string();
    let error = notes.take(error.into_inner());
    if error.classify() != serde_json::error::Category::Data {
        return malformed(&error);
    }
    match notes.missing() {
        Some(name) if path == "." => Problem::invalid(name, &Fault::Missing),
        Some(name) => Problem::invalid(format!("{path}.{name}"), &Fault::Missing),
        None if path == "." => Problem::invalid("body", &Fault::WrongType),
        None => Problem::invalid(path, &Fault::WrongType),
    }
}

fn malformed(error: &serde_json::Error) -> Problem {
    Problem::invalid("body", &Fault::Malformed).with("line", error.line()).with("column", error.column())
}

fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let invalid = |fault| Problem::invalid("Idempotency-Key", &fault);
    let key = value.to_str().map_err(|_| invalid(Fault::Malformed))?.trim();
    match key.len() {
        0 => Err(invalid(Fault::Blank)),
        1..=IDEMPOTENCY_KEY_CHARS_MAX => Ok(Some(key.to_owned())),
        _ => Err(invalid(Fault::TooLong { max: IDEMPOTENCY_KEY_CHARS_MAX })),
    }
}

fn fingerprint(parts: &Parts, body: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
    for piece in [parts.method.as_str().as_bytes(), target.as_bytes(), body] {
        hash.update((piece.len() as u64).to_le_bytes());
        hash.update(piece);
    }
    hash.finalize().into()
}
