//! Entry tokens: what proves an entry to other systems.
//!
//! A token says which event, which user, from when until when, and which entry; it is signed with HMAC-SHA256. Nobody else
//! can make one, and one is no good for another event or person. The room itself never asks for it: there the entry
//! belongs to the user. Whoever shows one all the same has to show a good one.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use holdfast_core::Timestamp;
use holdfast_core::id::UserId;
use sha2::{Digest as _, Sha256};

use crate::settings::EventId;
use crate::view::{Admission, Entry};

/// Says how the rest is to be read.
const VERSION: u8 = 1;
const KEY_ID_LEN: usize = 4;
const BODY_LEN: usize = 1 + KEY_ID_LEN + 4 * 8 + 16;
const MAC_LEN: usize = 32;
/// Shorter secrets can be guessed.
pub const SECRET_LEN_MIN: usize = 32;

/// A secret and the name that tokens signed with it carry. The name follows from the secret, so it need not be set.
#[derive(Clone)]
pub struct Key {
    id: [u8; KEY_ID_LEN],
    mac: Hmac<Sha256>,
}

/// Signs with the current key, and takes what was signed with an earlier one. Keep an earlier one for `queue.entry_max` after the
/// change: no token lives longer.
#[derive(Clone, Debug)]
pub struct Keys {
    current: Key,
    previous: Vec<Key>,
}

/// What a good token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    pub event: EventId,
    pub user: UserId,
    pub issued_at: Timestamp,
    pub expires_at: Timestamp,
    pub entry_id: [u8; 16],
}

/// Why a token is no good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadToken {
    Malformed,
    /// Signed with a key that is not, or no longer, known.
    UnknownKey,
    Forged,
    Expired,
    /// Good for somebody else, or somewhere else.
    ForAnother,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Key {
    /// `None` if the secret is shorter than [`SECRET_LEN_MIN`].
    pub fn new(secret: &[u8]) -> Option<Self> {
        if secret.len() < SECRET_LEN_MIN {
            return None;
        }
        let digest = Sha256::new().chain_update(b"the name of an entry token key").chain_update(secret).finalize();
        let mut id = [0; KEY_ID_LEN];
        id.copy_from_slice(&digest[..KEY_ID_LEN]);
        Some(Self { id, mac: Hmac::new_from_slice(secret).ok()? })
    }
}

impl Keys {
    pub fn new(current: Key, previous: Vec<Key>) -> Self {
        Self { current, previous }
    }

    /// The same for the same entry, as long as it is not renewed and the key is not changed.
    pub fn sign(&self, event: EventId, user: UserId, entry: &Admission) -> String {
        let mut token = Vec::with_capacity(BODY_LEN + MAC_LEN);
        token.push(VERSION);
        token.extend(self.current.id);
        token.extend(event.0.to_be_bytes());
        token.extend(user.get().to_be_bytes());
        token.extend(entry.entered_at.as_millis().to_be_bytes());
        token.extend(entry.expires_at.as_millis().to_be_bytes());
        token.extend(entry.id);
        let mac = self.current.mac.clone().chain_update(&token).finalize();
        token.extend(mac.into_bytes());
        URL_SAFE_NO_PAD.encode(token)
    }

    /// For those who know whom they have in front of them.
    pub fn check(&self, token: &str, event: EventId, user: UserId, now: Timestamp) -> Result<Claims, BadToken> {
        let claims = self.read(token, now)?;
        if (claims.event, claims.user) == (event, user) { Ok(claims) } else { Err(BadToken::ForAnother) }
    }

    /// For those who know the entry itself: whether a token proves it. The entry may have been renewed since the token was
    /// given; a token of an entry that has ended proves nothing, however long it said it was good for.
    pub fn proves(&self, token: &str, event: EventId, user: UserId, entry: &Entry) -> bool {
        self.claims(token).is_ok_and(|claims| (claims.event, claims.user, claims.entry_id) == (event, user, entry.id))
    }

    /// What a token says, if it is ours and not out of time.
    pub fn read(&self, token: &str, now: Timestamp) -> Result<Claims, BadToken> {
        let claims = self.claims(token)?;
        if now < claims.expires_at { Ok(claims) } else { Err(BadToken::Expired) }
    }

    /// What a token says, if it is ours.
    fn claims(&self, token: &str) -> Result<Claims, BadToken> {
        // Nothing long is decoded, let alone hashed.
        if token.len() > 2 * (BODY_LEN + MAC_LEN) {
            return Err(BadToken::Malformed);
        }
        let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| BadToken::Malformed)?;
        if bytes.len() != BODY_LEN + MAC_LEN || bytes[0] != VERSION {
            return Err(BadToken::Malformed);
        }
        let (body, mac) = bytes.split_at(BODY_LEN);
        let mut keys = std::iter::once(&self.current).chain(&self.previous);
        let key = keys.find(|key| key.id == body[1..=KEY_ID_LEN]).ok_or(BadToken::UnknownKey)?;
        // Takes as long for a nearly right one as for any other.
        key.mac.clone().chain_update(body).verify_slice(mac).map_err(|_| BadToken::Forged)?;
        let number = |index: usize| {
            let from = 1 + KEY_ID_LEN + 8 * index;
            u64::from_be_bytes(body[from..from + 8].try_into().expect("eight bytes"))
        };
        Ok(Claims {
            event: EventId(number(0)),
            user: UserId::new(number(1)).ok_or(BadToken::Malformed)?,
            issued_at: Timestamp::from_millis(number(2) as i64),
            expires_at: Timestamp::from_millis(number(3) as i64),
            entry_id: body[BODY_LEN - 16..].try_into().expect("sixteen bytes"),
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
        keys.sign(EVENT, user(5), &Admission { id: [9; 16], entered_at: at(ENTRY.0), expires_at: at(ENTRY.1) })
    }

    #[test]
    fn a_token_says_what_was_signed_until_it_is_out_of_time() {
        let (keys, now) = (keys(), at(300_999));
        let claims = keys.check(&signed(&keys), EVENT, user(5), now).unwrap();
        assert_eq!((claims.issued_at, claims.expires_at, claims.entry_id), (at(ENTRY.0), at(ENTRY.1), [9; 16]));
        assert_eq!(keys.check(&signed(&keys), EVENT, user(5), at(301_000)), Err(BadToken::Expired));
    }

    #[test]
    fn it_is_useless_for_another_event_or_person() {
        let keys = keys();
        assert_eq!(keys.check(&signed(&keys), EventId(8), user(5), at(2_000)), Err(BadToken::ForAnother));
        assert_eq!(keys.check(&signed(&keys), EVENT, user(6), at(2_000)), Err(BadToken::ForAnother));
    }

    #[test]
    fn no_byte_of_it_can_be_changed() {
        let keys = keys();
        let good = URL_SAFE_NO_PAD.decode(signed(&keys)).unwrap();
        for index in 0..good.len() {
            let mut bad = good.clone();
            bad[index] ^= 1;
            assert!(keys.read(&URL_SAFE_NO_PAD.encode(bad), at(2_000)).is_err(), "byte {index}");
        }
        for bad in ["", "x", "====", &signed(&keys)[1..], &"A".repeat(100_000)] {
            assert_eq!(keys.read(bad, at(2_000)), Err(BadToken::Malformed));
        }
    }

    #[test]
    fn rotated_keys_stay_valid_while_they_are_kept() {
        let old = signed(&keys());
        let rotated = Keys::new(key(2), vec![key(1)]);
        assert!(rotated.check(&old, EVENT, user(5), at(2_000)).is_ok());
        assert_ne!(signed(&rotated), old);
        let forgotten = Keys::new(key(2), Vec::new());
        assert_eq!(forgotten.check(&old, EVENT, user(5), at(2_000)), Err(BadToken::UnknownKey));
    }

    #[test]
    fn a_token_proves_the_entry_it_was_given_for_and_no_other() {
        let keys = keys();
        let entry = |id: u8, expires_at: i64| {
            Entry::sign(
                &keys,
                EVENT,
                user(5),
                Admission { id: [id; 16], entered_at: at(0), expires_at: at(expires_at) },
            )
        };
        let (first, renewed, next) = (entry(9, 1_000), entry(9, 2_000), entry(8, 2_000));
        assert!(keys.proves(&first.token, EVENT, user(5), &renewed), "it is the same entry");
        assert!(!keys.proves(&first.token, EVENT, user(5), &next), "it has ended");
        assert!(!keys.proves(&first.token, EventId(8), user(5), &first));
        assert!(!keys.proves(&first.token, EVENT, user(6), &first));
        assert!(!Keys::new(key(2), Vec::new()).proves(&first.token, EVENT, user(5), &first), "of a key nobody knows");
        assert!(!keys.proves("x", EVENT, user(5), &first));
    }

    #[test]
    fn a_short_secret_is_no_key_and_none_is_ever_shown() {
        assert!(Key::new(&[1; 31]).is_none());
        assert!(!format!("{:?}", Key::new(b"0123456789abcdef0123456789abcdef").unwrap()).contains("0123"));
    }
}
