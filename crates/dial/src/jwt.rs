//! JSON Web Tokens, signed and verified with ring, the library that TLS uses too.
//!
//! Verified algorithms: HS256, RS256, ES256 and `EdDSA`. Others are rejected as `InvalidAlgorithm`. Tests also sign
//! with HS384, which no verifier accepts.

use std::sync::Once;

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error, Signer, Verifier};
use jsonwebtoken::{DecodingKeyKind, TokenData};
use ring::rand::SystemRandom;
use ring::{hmac, signature};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation, decode_header, errors, get_current_timestamp,
};

/// Signs a token.
pub fn encode<T: Serialize>(header: &Header, claims: &T, key: &EncodingKey) -> Result<String> {
    install_provider();
    jsonwebtoken::encode(header, claims, key)
}

/// Verifies a token's signature and registered claims, and returns its claims.
pub fn decode<T: DeserializeOwned + Clone>(
    token: &str,
    key: &DecodingKey,
    validation: &Validation,
) -> Result<TokenData<T>> {
    install_provider();
    jsonwebtoken::decode(token, key, validation)
}

fn install_provider() {
    static PROVIDER: CryptoProvider = CryptoProvider {
        signer_factory: |algorithm, key| Ok(Box::new(RingSigner::new(*algorithm, key)?)),
        verifier_factory: |algorithm, key| Ok(Box::new(RingVerifier::new(*algorithm, key)?)),
        key_utils: KeyUtils::new_unimplemented(),
    };
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| PROVIDER.install_default().expect("no other provider is installed"));
}

struct RingSigner {
    algorithm: Algorithm,
    key: SigningKey,
}

enum SigningKey {
    Hmac(hmac::Key),
    Rsa(Box<signature::RsaKeyPair>),
    Ecdsa(Box<signature::EcdsaKeyPair>),
    Ed25519(Box<signature::Ed25519KeyPair>),
}

impl RingSigner {
    fn new(algorithm: Algorithm, key: &EncodingKey) -> Result<Self> {
        let bytes = key.as_bytes();
        let rejected = |_| ErrorKind::InvalidKeyFormat;
        let key = match algorithm {
            Algorithm::HS256 => SigningKey::Hmac(hmac::Key::new(hmac::HMAC_SHA256, bytes)),
            Algorithm::HS384 => SigningKey::Hmac(hmac::Key::new(hmac::HMAC_SHA384, bytes)),
            Algorithm::RS256 => SigningKey::Rsa(Box::new(signature::RsaKeyPair::from_der(bytes).map_err(rejected)?)),
            Algorithm::ES256 => {
                let (signing, random) = (&signature::ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
                let pair = signature::EcdsaKeyPair::from_pkcs8(signing, bytes, &random).map_err(rejected)?;
                SigningKey::Ecdsa(Box::new(pair))
            }
            Algorithm::EdDSA => {
                let pair = signature::Ed25519KeyPair::from_pkcs8_maybe_unchecked(bytes).map_err(rejected)?;
                SigningKey::Ed25519(Box::new(pair))
            }
            _ => return Err(ErrorKind::InvalidAlgorithm.into()),
        };
        Ok(Self { algorithm, key })
    }
}

impl Signer<Vec<u8>> for RingSigner {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Error> {
        let random = SystemRandom::new();
        match &self.key {
            SigningKey::Hmac(key) => Ok(hmac::sign(key, message).as_ref().to_vec()),
            SigningKey::Rsa(pair) => {
                let mut signed = vec![0; pair.public().modulus_len()];
                pair.sign(&signature::RSA_PKCS1_SHA256, &random, message, &mut signed).map_err(|_| Error::new())?;
                Ok(signed)
            }
            SigningKey::Ecdsa(pair) => Ok(pair.sign(&random, message).map_err(|_| Error::new())?.as_ref().to_vec()),
            SigningKey::Ed25519(pair) => Ok(pair.sign(message).as_ref().to_vec()),
        }
    }
}

impl JwtSigner for RingSigner {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

struct RingVerifier {
    algorithm: Algorithm,
    key: VerificationKey,
}

enum VerificationKey {
    Hmac(hmac::Key),
    Public(signature::UnparsedPublicKey<Vec<u8>>),
    RsaComponents(signature::RsaPublicKeyComponents<Vec<u8>>),
}

impl RingVerifier {
    fn new(algorithm: Algorithm, key: &DecodingKey) -> Result<Self> {
        let bytes = || key.try_get_as_bytes().map(<[u8]>::to_vec);
        let public = |parameters: &'static dyn signature::VerificationAlgorithm| {
            Ok::<_, errors::Error>(VerificationKey::Public(signature::UnparsedPublicKey::new(parameters, bytes()?)))
        };
        let key = match (algorithm, key.kind()) {
            (Algorithm::HS256, _) => VerificationKey::Hmac(hmac::Key::new(hmac::HMAC_SHA256, &bytes()?)),
            (Algorithm::RS256, DecodingKeyKind::RsaModulusExponent { n, e }) => {
                VerificationKey::RsaComponents(signature::RsaPublicKeyComponents { n: n.clone(), e: e.clone() })
            }
            (Algorithm::RS256, _) => public(&signature::RSA_PKCS1_2048_8192_SHA256)?,
            (Algorithm::ES256, _) => public(&signature::ECDSA_P256_SHA256_FIXED)?,
            (Algorithm::EdDSA, _) => public(&signature::ED25519)?,
            _ => return Err(ErrorKind::InvalidAlgorithm.into()),
        };
        Ok(Self { algorithm, key })
    }
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signed: &Vec<u8>) -> std::result::Result<(), Error> {
        let verified = match &self.key {
            VerificationKey::Hmac(key) => hmac::verify(key, message, signed),
            VerificationKey::Public(key) => key.verify(message, signed),
            VerificationKey::RsaComponents(key) => key.verify(&signature::RSA_PKCS1_2048_8192_SHA256, message, signed),
        };
        verified.map_err(|_| Error::new())
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
