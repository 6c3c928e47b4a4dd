//! Entry tokens: JSON Web Tokens (HS256) that prove an entry to other systems.
//!
//! A token names the event, the user, the entry and its time. The waiting room itself never asks for one: an entry belongs to its
//! user. A token that is presented all the same must prove that entry.

use holdfast_connect::jwt::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, decode_header, encode};
use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::settings::EventId;
use crate::view::{Admission, Entry};

/// Longer texts are not decoded. A token has about 300 bytes.
const TOKEN_BYTES_MAX: usize = 1_024;
/// Shorter secrets can be guessed.
pub const SECRET_LEN_MIN: usize = 32;

/// A secret and its key id (`kid`), which follows from the secret.
#[derive(Clone)]
pub struct Key {
    id: String,
    signing: EncodingKey,
    verification: DecodingKey,
}

/// Signs with the current key and accepts tokens of earlier ones. Keep an earlier key for `queue.entry_max` after a
/// rotation: no token lives longer.
#[derive(Clone, Debug)]
pub struct Keys {
    current: Key,
    previous: Vec<Key>,
}

/// The claims of a valid token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    pub event: EventId,
    pub user: UserId,
    /// Full seconds, rounded down.
    pub issued_at: Timestamp,
    /// Full seconds, rounded up: never before the entry ends.
    pub expires_at: Timestamp,
    pub entry_id: [u8; 16],
}

/// Reason for which a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadToken {
    Malformed,
    /// Signed with a key that is not, or no longer, configured.
    UnknownKey,
    Forged,
    Expired,
    /// Valid for another user or event.
    ForAnother,
}

/// Claims as they are encoded. Times are seconds since 1970.
#[derive(Clone, Serialize, Deserialize)]
struct EncodedClaims {
    /// The user.
    sub: String,
    event: u64,
    iat: i64,
    exp: i64,
    /// The entry, in hexadecimal.
    jti: String,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Key {
    /// Returns `None` if the secret is shorter than [`SECRET_LEN_MIN`].
    pub fn new(secret: &[u8]) -> Option<Self> {
        if secret.len() < SECRET_LEN_MIN {
            return None;
        }
        let digest: [u8; 32] =
            Sha256::new().chain_update(b"holdfast entry token").chain_update(secret).finalize().into();
        let id = u64::from_be_bytes(*digest.first_chunk().expect("a digest has 32 bytes"));
        Some(Self {
            id: format!("{id:016x}"),
            signing: EncodingKey::from_secret(secret),
            verification: DecodingKey::from_secret(secret),
        })
    }
}

impl Keys {
    pub fn new(current: Key, previous: Vec<Key>) -> Self {
        Self { current, previous }
    }

    /// Returns the same token for the same entry until the entry is renewed or the key rotated.
    pub fn sign(&self, event: EventId, user: &UserId, entry: &Admission) -> String {
        let header = Header { kid: Some(self.current.id.clone()), ..Header::new(Algorithm::HS256) };
        let claims = EncodedClaims {
            sub: user.to_string(),
            event: event.0,
            iat: entry.entered_at.as_millis().div_euclid(1_000),
            exp: -(-entry.expires_at.as_millis()).div_euclid(1_000),
            jti: format!("{:032x}", u128::from_be_bytes(entry.id)),
        };
        encode(&header, &claims, &self.current.signing).expect("a secret signs any claims")
    }

    /// Verifies a token for a caller that knows the event and the user.
    pub fn check(&self, token: &str, event: EventId, user: &UserId, now: Timestamp) -> Result<Claims, BadToken> {
        let claims = self.read(token, now)?;
        if (claims.event, &claims.user) == (event, user) { Ok(claims) } else { Err(BadToken::ForAnother) }
    }

    /// Whether a token proves this entry. The entry may have been renewed since the token was issued; a token of an ended
    /// entry proves nothing, also before its `exp`.
    pub fn proves(&self, token: &str, event: EventId, user: &UserId, entry: &Entry) -> bool {
        self.claims(token).is_ok_and(|claims| (claims.event, &claims.user, claims.entry_id) == (event, user, entry.id))
    }

    /// Returns the claims of a token that is authentic and has not expired.
    pub fn read(&self, token: &str, now: Timestamp) -> Result<Claims, BadToken> {
        let claims = self.claims(token)?;
        if now < claims.expires_at { Ok(claims) } else { Err(BadToken::Expired) }
    }

    /// Returns the claims of an authentic token, expired or not.
    fn claims(&self, token: &str) -> Result<Claims, BadToken> {
        if token.len() > TOKEN_BYTES_MAX {
            return Err(BadToken::Malformed);
        }
        let header = decode_header(token).map_err(|_| BadToken::Malformed)?;
        let kid = header.kid.ok_or(BadToken::Malformed)?;
        let mut keys = std::iter::once(&self.current).chain(&self.previous);
        let key = keys.find(|key| key.id == kid).ok_or(BadToken::UnknownKey)?;
        // The caller compares `exp` with the store's time.
        let mut validation = Validation::new(Algorithm::HS256);
        validation.validate_exp = false;
        validation.required_spec_claims.clear();
        let decoded = decode::<EncodedClaims>(token, &key.verification, &validation).map_err(|_| BadToken::Forged)?;
        decoded.claims.parse().ok_or(BadToken::Malformed)
    }
}

impl EncodedClaims {
    fn parse(&self) -> Option<Claims> {
        Some(Claims {
            event: EventId(self.event),
            user: UserId::parse_text(&self.sub)?,
            issued_at: Timestamp::from_millis(self.iat.checked_mul(1_000)?),
            expires_at: Timestamp::from_millis(self.exp.checked_mul(1_000)?),
            entry_id: u128::from_str_radix(&self.jti, 16).ok()?.to_be_bytes(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: EventId = EventId(7);
    const ENTRY: (i64, i64) = (1_000, 301_000);

    fn user(number: u64) -> UserId {
        UserId::new(number).unwrap()
    }

    fn key(byte: u8) -> Key {
        Key::new(&[byte; 32]).unwrap()
    }

    fn keys() -> Keys {
        Keys::new(key(1), Vec::new())
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn signed(keys: &Keys) -> String {
        keys.sign(EVENT, &user(5), &Admission { id: [9; 16], entered_at: at(ENTRY.0), expires_at: at(ENTRY.1) })
    }

    #[test]
    fn token_is_valid_until_it_expires() {
        let (keys, now) = (keys(), at(300_999));
        let claims = keys.check(&signed(&keys), EVENT, &user(5), now).unwrap();
        assert_eq!((claims.issued_at, claims.expires_at, claims.entry_id), (at(ENTRY.0), at(ENTRY.1), [9; 16]));
        assert_eq!(keys.check(&signed(&keys), EVENT, &user(5), at(301_000)), Err(BadToken::Expired));
    }

    #[test]
    fn token_of_another_user_or_event_is_refused() {
        let keys = keys();
        assert_eq!(keys.check(&signed(&keys), EventId(8), &user(5), at(2_000)), Err(BadToken::ForAnother));
        assert_eq!(keys.check(&signed(&keys), EVENT, &user(6), at(2_000)), Err(BadToken::ForAnother));
    }

    #[test]
    fn altered_token_is_refused() {
        let keys = keys();
        let good = signed(&keys);
        assert!(keys.read(&good, at(2_000)).is_ok());
        for index in 0..good.len() {
            let mut bad = good.clone().into_bytes();
            bad[index] = if bad[index] == b'A' { b'B' } else { b'A' };
            let bad = String::from_utf8(bad).unwrap();
            assert!(keys.read(&bad, at(2_000)).is_err(), "byte {index}");
        }
        for bad in ["", "x", "====", &good[1..], &"A".repeat(100_000)] {
            assert_eq!(keys.read(bad, at(2_000)), Err(BadToken::Malformed));
        }
    }

    /// A token with no algorithm, or another one, is refused although its key is known.
    #[test]
    fn other_algorithms_are_refused() {
        use base64::Engine as _;
        use base64::engine::general_purpose::URL_SAFE_NO_PAD;
        let keys = keys();
        let good = signed(&keys);
        let (_, rest) = good.split_once('.').unwrap();
        for algorithm in ["none", "HS512", "RS256"] {
            let header = format!(r#"{{"alg":"{algorithm}","kid":"{}"}}"#, keys.current.id);
            assert!(
                keys.read(&format!("{}.{rest}", URL_SAFE_NO_PAD.encode(header)), at(2_000)).is_err(),
                "{algorithm}"
            );
        }
    }

    #[test]
    fn previous_keys_stay_valid() {
        let old = signed(&keys());
        let rotated = Keys::new(key(2), vec![key(1)]);
        assert!(rotated.check(&old, EVENT, &user(5), at(2_000)).is_ok());
        assert_ne!(signed(&rotated), old);
        let removed = Keys::new(key(2), Vec::new());
        assert_eq!(removed.check(&old, EVENT, &user(5), at(2_000)), Err(BadToken::UnknownKey));
    }

    #[test]
    fn token_proves_its_entry_only() {
        let keys = keys();
        let entry = |id: u8, expires_at: i64| {
            Entry::sign(
                &keys,
                EVENT,
                &user(5),
                Admission { id: [id; 16], entered_at: at(0), expires_at: at(expires_at) },
            )
        };
        let (first, renewed, next) = (entry(9, 1_000), entry(9, 2_000), entry(8, 2_000));
        assert!(keys.proves(&first.token, EVENT, &user(5), &renewed), "renewed entry");
        assert!(!keys.proves(&first.token, EVENT, &user(5), &next), "ended entry");
        assert!(!keys.proves(&first.token, EventId(8), &user(5), &first));
        assert!(!keys.proves(&first.token, EVENT, &user(6), &first));
        assert!(!Keys::new(key(2), Vec::new()).proves(&first.token, EVENT, &user(5), &first), "unknown key");
        assert!(!keys.proves("x", EVENT, &user(5), &first));
    }

    #[test]
    fn short_secrets_are_refused() {
        assert!(Key::new(&[1; 31]).is_none());
        assert!(!format!("{:?}", Key::new(b"0123456789abcdef0123456789abcdef").unwrap()).contains("0123"));
    }
}
