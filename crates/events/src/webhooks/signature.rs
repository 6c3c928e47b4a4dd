//! Secrets and signatures of Standard Webhooks: `whsec_` and base64, and an HMAC-SHA256 of `id.timestamp.body`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Prefix of every secret.
pub const SECRET_PREFIX: &str = "whsec_";
/// Minimum length of a secret, in bytes.
pub const SECRET_BYTES_MIN: usize = 24;
/// Maximum length of a secret, in bytes.
pub const SECRET_BYTES_MAX: usize = 64;

/// Secret that signs the deliveries of a webhook.
#[derive(Clone)]
pub struct SigningSecret(Vec<u8>);

impl std::fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(secret)")
    }
}

impl SigningSecret {
    /// Creates a secret from random bytes; `None` if they are too few or too many.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&bytes.len()).then(|| Self(bytes.to_vec()))
    }

    /// Parses a secret; the prefix is optional.
    pub fn parse(text: &str) -> Option<Self> {
        // Bounded before it is decoded.
        let encoded = text.strip_prefix(SECRET_PREFIX).unwrap_or(text);
        let bytes = if encoded.len() <= 2 * SECRET_BYTES_MAX { STANDARD.decode(encoded).ok()? } else { return None };
        Self::new(&bytes)
    }

    /// Returns the text form, which is shown only once.
    pub fn reveal(&self) -> String {
        format!("{SECRET_PREFIX}{}", STANDARD.encode(&self.0))
    }

    /// Returns the value of the header `webhook-signature`.
    pub fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let mac: Hmac<Sha256> = Hmac::new_from_slice(&self.0).expect("HMAC accepts keys of any length");
        let mac = mac.chain_update(format!("{id}.{timestamp}.")).chain_update(body).finalize();
        format!("v1,{}", STANDARD.encode(mac.into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example in the tests of the reference libraries of Standard Webhooks.
    #[test]
    fn signature_matches_published_example() {
        let secret = SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn secret_is_base64_of_24_to_64_bytes() {
        for bytes in [24, 32, 64] {
            let secret = SigningSecret::new(&vec![7; bytes]).unwrap();
            assert_eq!(SigningSecret::parse(&secret.reveal()).unwrap().0, vec![7; bytes]);
        }
        let short = format!("whsec_{}", STANDARD.encode([7; 23]));
        let long = format!("whsec_{}", STANDARD.encode([7; 65]));
        for wrong in ["", "whsec_", "whsec_!!!", "topsecret", &short, &long, &"A".repeat(1 << 20)] {
            assert!(SigningSecret::parse(wrong).is_none(), "{}", wrong.len());
        }
    }

    #[test]
    fn secret_is_redacted_in_debug_output() {
        assert_eq!(format!("{:?}", SigningSecret::new(&[7; 32])), "Some((secret))");
    }
}
