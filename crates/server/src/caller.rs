//! Authentication. With auth on, a bearer token names the caller; with auth off, the header `X-User-Id` or the request does.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequestParts;
use holdfast_connect::jwt::{self, Algorithm, DecodingKey, Validation, decode, get_current_timestamp};
use holdfast_core::id::UserId;
use holdfast_core::{Actor, Fault};
use holdfast_engine::FlowId;
use http::request::Parts;
use http::{HeaderMap, header};
use parking_lot::RwLock;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::app::App;
use crate::config::AuthConfig;
use crate::problem::Problem;

/// Maximum clock skew in seconds between this server and the issuers of tokens.
const LEEWAY_SECONDS: u64 = 2;
/// Minimum number of characters of a JWT secret; a shorter one is logged as a warning.
const SECRET_CHARS_SAFE: usize = 32;

/// Method of authentication. Cheap to clone; clones share the keys.
#[derive(Clone)]
pub enum Auth {
    Off,
    Jwt(Arc<Verifiers>),
}

/// The verifier in use, which a reload replaces.
pub struct Verifiers {
    config: AuthConfig,
    current: RwLock<Arc<Verifier>>,
}

pub struct Verifier {
    key: DecodingKey,
    validation: Validation,
}

impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_off() { "Off" } else { "Jwt" })
    }
}

/// The caller, as far as it is known before the request's body is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    User(UserId),
    /// An operator: may act for any user.
    Admin(Name),
    /// Another program: has the permissions of an operator, and mostly acts for users.
    Service(Name),
    /// Auth is off and no header names a user; the body or query may.
    Unnamed,
}

/// Subject of the token of an operator or a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    User(UserId),
    /// A subject that is no user id, identified by its hash.
    Other([u8; 16]),
    /// No token was sent.
    Anonymous,
}

impl Name {
    fn of(subject: &Subject) -> Self {
        match (subject.user(), subject) {
            (Some(user), _) => Self::User(user),
            (None, Subject::Number(number)) => Self::hashed(&number.to_string()),
            (None, Subject::Text(text)) => Self::hashed(text),
        }
    }

    fn hashed(text: &str) -> Self {
        let hash: [u8; 32] = Sha256::digest(text).into();
        Self::Other(std::array::from_fn(|index| hash[index]))
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::User(user) => write!(f, ":{}", user.key_part()),
            Self::Other(hash) => write!(f, ":#:{:032x}", u128::from_be_bytes(*hash)),
            Self::Anonymous => Ok(()),
        }
    }
}

/// A caller authenticated earlier: a page of the console calls in an operator's name. Never set from outside the process.
#[derive(Clone, Debug)]
pub struct Known(pub Caller);

#[derive(Clone, Deserialize)]
struct Claims {
    sub: Subject,
    role: Option<String>,
    /// Seconds since 1970.
    exp: Option<f64>,
}

/// User id, as a JSON number or as the string that RFC 7519 requires.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Subject {
    Number(u64),
    Text(String),
}

impl Subject {
    fn user(&self) -> Option<UserId> {
        match self {
            Self::Number(number) => UserId::new(*number),
            Self::Text(text) => UserId::parse_text(text),
        }
    }
}

impl Auth {
    /// Creates the authentication of the settings. `Err` names the invalid setting.
    pub fn from_config(config: &AuthConfig) -> Result<Self, String> {
        if config.jwt_secret.as_ref().is_some_and(|secret| secret.reveal().chars().count() < SECRET_CHARS_SAFE) {
            tracing::warn!(
                "auth.jwt_secret: a secret of fewer than {SECRET_CHARS_SAFE} characters can be guessed; set a longer one"
            );
        }
        let verifier = Verifier::from_config(config)?;
        Ok(verifier.map_or(Self::Off, |verifier| {
            Self::Jwt(Arc::new(Verifiers { config: config.clone(), current: RwLock::new(Arc::new(verifier)) }))
        }))
    }

    /// Checks the settings, including the key file. `Err` names the invalid setting.
    pub fn check(config: &AuthConfig) -> Result<(), String> {
        Verifier::from_config(config).map(drop)
    }

    /// Reads the key file again. `Err` names the invalid setting and file; the key in use then stays.
    pub fn reload(&self) -> Result<(), String> {
        let Self::Jwt(verifiers) = self else { return Ok(()) };
        if let Some(verifier) = Verifier::from_config(&verifiers.config)? {
            *verifiers.current.write() = Arc::new(verifier);
        }
        Ok(())
    }

    pub fn is_off(&self) -> bool {
        matches!(self, Self::Off)
    }

    pub fn caller(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        match self {
            Self::Off => named_in_header(headers),
            Self::Jwt(verifiers) => verifiers.current().caller(bearer(headers)?),
        }
    }

    /// Remaining validity of the caller's token; `None` if it does not expire.
    pub fn valid_for(&self, headers: &HeaderMap) -> Option<Duration> {
        let Self::Jwt(verifiers) = self else { return None };
        let end = verifiers.current().claims(bearer(headers).ok()?).ok()?.exp?;
        let left = end + LEEWAY_SECONDS as f64 - get_current_timestamp() as f64;
        Some(Duration::try_from_secs_f64(left.max(0.0)).unwrap_or(Duration::MAX))
    }

    /// Returns the caller that a token names. With auth off there are no tokens.
    pub fn caller_of(&self, token: &str) -> Result<Caller, Problem> {
        match self {
            Self::Off => Ok(Caller::Unnamed),
            Self::Jwt(verifiers) => verifiers.current().caller(token),
        }
    }
}

fn public_key(path: &Path) -> Result<(DecodingKey, Algorithm), String> {
    let setting = "auth.jwt_public_key_file";
    let pem = std::fs::read(path).map_err(|error| format!("{setting}: cannot read {}: {error}", path.display()))?;
    jwt::public_key(&pem).map_err(|error| format!("{setting}: {} {error}", path.display()))
}

fn named_in_header(headers: &HeaderMap) -> Result<Caller, Problem> {
    let Some(value) = headers.get("x-user-id") else { return Ok(Caller::Unnamed) };
    let user = value.to_str().ok().and_then(UserId::parse_text);
    user.map(Caller::User).ok_or_else(|| Problem::invalid("X-User-Id", &Fault::NotAUser))
}

fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
    headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim())
        .ok_or_else(|| Problem::unauthenticated("Send a bearer token in the Authorization header."))
}

impl Verifiers {
    fn current(&self) -> Arc<Verifier> {
        self.current.read().clone()
    }
}

impl Verifier {
    /// Creates a verifier; `None` if authentication is off.
    fn from_config(config: &AuthConfig) -> Result<Option<Self>, String> {
        let (key, algorithm) = match (&config.jwt_secret, &config.jwt_public_key_file) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => {
                return Err("auth.jwt_secret: set either this or auth.jwt_public_key_file, not both".into());
            }
            (Some(secret), None) => (DecodingKey::from_secret(secret.reveal().as_bytes()), Algorithm::HS256),
            (None, Some(path)) => public_key(path)?,
        };
        let mut validation = Validation::new(algorithm);
        validation.leeway = LEEWAY_SECONDS;
        validation.validate_nbf = true;
        // A token without `exp` is valid as long as its key. The subject is checked with the other claims.
        let mut required = Vec::new();
        match &config.audience {
            Some(audience) => {
                validation.set_audience(&[audience]);
                required.push("aud");
            }
            None => validation.validate_aud = false,
        }
        if let Some(issuer) = &config.issuer {
            validation.set_issuer(&[issuer]);
            required.push("iss");
        }
        validation.required_spec_claims = required.into_iter().map(str::to_owned).collect();
        Ok(Some(Self { key, validation }))
    }

    fn claims(&self, token: &str) -> Result<Claims, Problem> {
        let decoded = decode(token, &self.key, &self.validation);
        let decoded = decoded.map_err(|_| Problem::invalid_token("The bearer token is not valid, or no longer."))?;
        Ok(decoded.claims)
    }

    fn caller(&self, token: &str) -> Result<Caller, Problem> {
        let claims = self.claims(token)?;
        match claims.role.as_deref() {
            Some("admin") => Ok(Caller::Admin(Name::of(&claims.sub))),
            Some("service") => Ok(Caller::Service(Name::of(&claims.sub))),
            Some("user") | None => {
                let user = claims.sub.user();
                user.map(Caller::User).ok_or_else(|| Problem::invalid_token("The token's subject is not a user id."))
            }
            Some(_) => Err(Problem::invalid_token("The token's role is none of user, admin, service.")),
        }
    }
}

impl Caller {
    /// Returns the user for whom a record is created: the caller, or the user that an admin names.
    pub fn acting_for(&self, named: Option<UserId>) -> Result<UserId, Problem> {
        match (self, named) {
            (Self::User(user), Some(named)) if *user != named => Err(Problem::forbidden()),
            (_, Some(named)) => Ok(named),
            (Self::User(user) | Self::Admin(Name::User(user)) | Self::Service(Name::User(user)), None) => {
                Ok(user.clone())
            }
            (Self::Admin(_) | Self::Service(_) | Self::Unnamed, None) => Err(missing_user()),
        }
    }

    /// Returns the actor whose permissions apply to a record that has an owner.
    pub fn actor(&self, named: Option<UserId>) -> Result<Actor, Problem> {
        match self {
            Self::Admin(_) | Self::Service(_) => Ok(Actor::Admin),
            Self::User(_) | Self::Unnamed => self.acting_for(named).map(Actor::User),
        }
    }

    /// Returns the user whose records a list shows: a user's own, or those of the user that an admin names; `None` for all.
    pub fn listing(&self, named: Option<UserId>) -> Result<Option<UserId>, Problem> {
        match self {
            Self::Admin(_) | Self::Service(_) | Self::Unnamed => Ok(named),
            Self::User(_) => self.acting_for(named).map(Some),
        }
    }

    /// Rejects callers without an admin's permissions. While auth is off, every caller has them.
    pub fn must_be_admin(&self, auth: &Auth) -> Result<(), Problem> {
        if auth.is_off() || matches!(self, Self::Admin(_) | Self::Service(_)) {
            Ok(())
        } else {
            Err(Problem::forbidden())
        }
    }

    /// Whether the limits of a user apply: by the token's role or, without authentication, because the request names a user.
    pub fn is_user(&self, named: Option<&UserId>) -> bool {
        matches!((self, named), (Self::User(_), _) | (Self::Unnamed, Some(_)))
    }

    /// Flow of the caller's commands in the engine's queue.
    pub fn flow(&self) -> FlowId {
        match self {
            Self::User(user) => FlowId::User(user.clone()),
            Self::Admin(Name::User(user)) | Self::Service(Name::User(user)) => FlowId::Operating(user.clone()),
            Self::Admin(Name::Other(hash)) | Self::Service(Name::Other(hash)) => FlowId::Subject(*hash),
            Self::Admin(Name::Anonymous) | Self::Service(Name::Anonymous) | Self::Unnamed => FlowId::Operator,
        }
    }

    /// Key space of this caller's idempotency records.
    pub fn key_space(&self, named: Option<&UserId>) -> String {
        match (self, named) {
            (Self::User(user), _) | (Self::Unnamed, Some(user)) => format!("user:{}", user.key_part()),
            (Self::Admin(name), _) => format!("admin{name}"),
            (Self::Service(name), _) => format!("service{name}"),
            (Self::Unnamed, None) => "unnamed".into(),
        }
    }
}

fn missing_user() -> Problem {
    Problem::invalid("userId", &Fault::Missing)
}

impl FromRequestParts<App> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        match parts.extensions.get::<Known>() {
            Some(Known(caller)) => Ok(caller.clone()),
            None => app.auth().caller(&parts.headers),
        }
    }
}
