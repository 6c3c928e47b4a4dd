//! JSON Web Tokens, signed and verified with ring, the library that TLS uses too.
//!
//! Verified algorithms: HS256, RS256, ES256 and `EdDSA`. Other algorithms are rejected as `InvalidAlgorithm`. Tests also sign
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
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, SubjectPublicKeyInfoDer};

pub use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation, decode_header, errors, get_current_timestamp,
};

/// Signs a token.
pub fn encode<T: Serialize>(header: &Header, claims: &T, key: &EncodingKey) -> Result<String> {
    install_provider();
    jsonwebtoken::encode(header, claims, key)
}

/// Verifies a token's signature and registered claims, and returns what it says. A token with `crit` is refused: no
/// extension is understood (RFC 7515, section 4.1.11).
pub fn decode<T: DeserializeOwned + Clone>(
    token: &str,
    key: &DecodingKey,
    validation: &Validation,
) -> Result<TokenData<T>> {
    install_provider();
    let decoded = jsonwebtoken::decode(token, key, validation)?;
    if decoded.header.crit.is_some() { Err(ErrorKind::InvalidToken.into()) } else { Ok(decoded) }
}

/// Reason why a file holds no key that can verify tokens.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublicKeyError {
    #[error(
        "is a private key, which only the signer of tokens may have; `openssl pkey -in FILE -pubout` gives its public key"
    )]
    Private,
    #[error("is a key of an unsupported kind, {0}; {EXPECTED}")]
    Unsupported(&'static str),
    #[error("is an RSA key of {0} bits; {EXPECTED}")]
    RsaLength(usize),
    #[error("is not a public key; {EXPECTED}")]
    Malformed,
}

const EXPECTED: &str = "expected is a public key in PEM form: RSA of 2048 to 8192 bits, P-256 or Ed25519";
/// Curves and their object identifiers in DER, as an elliptic-curve key names them.
const CURVES: [(&[u8], &str); 5] = [
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x01], "elliptic curve P-192"),
    (&[0x2b, 0x81, 0x04, 0x00, 0x21], "elliptic curve P-224"),
    (&[0x2b, 0x81, 0x04, 0x00, 0x22], "elliptic curve P-384"),
    (&[0x2b, 0x81, 0x04, 0x00, 0x23], "elliptic curve P-521"),
    (&[0x2b, 0x81, 0x04, 0x00, 0x0a], "elliptic curve secp256k1"),
];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];

/// Reads a public key, or the one of a certificate, and the algorithm of the tokens that it verifies.
pub fn public_key(pem: &[u8]) -> std::result::Result<(DecodingKey, Algorithm), PublicKeyError> {
    let is_private = |line: &str| line.starts_with("-----BEGIN ") && line.contains("PRIVATE KEY");
    if String::from_utf8_lossy(pem).lines().any(is_private) {
        return Err(PublicKeyError::Private);
    }
    // The library checks the kind of a key, not its curve.
    let key = SubjectPublicKeyInfoDer::from_pem_slice(pem).map(|key| key.to_vec());
    let der = key.or_else(|_| CertificateDer::from_pem_slice(pem).map(|it| it.to_vec())).unwrap_or_default();
    let names = |identifier: &[u8]| {
        let identifier = [&[0x06, identifier.len() as u8], identifier].concat();
        der.windows(identifier.len()).any(|bytes| bytes == identifier)
    };
    if let Ok(key) = DecodingKey::from_rsa_pem(pem) {
        return match rsa_bits(key.try_get_as_bytes().unwrap_or_default()) {
            Some(2_048..=8_192) => Ok((key, Algorithm::RS256)),
            Some(bits) => Err(PublicKeyError::RsaLength(bits)),
            None => Err(PublicKeyError::Malformed),
        };
    }
    if let Ok(key) = DecodingKey::from_ec_pem(pem) {
        let other = CURVES.iter().find(|(identifier, _)| names(identifier)).map_or("another curve", |(_, name)| name);
        return if names(P256) { Ok((key, Algorithm::ES256)) } else { Err(PublicKeyError::Unsupported(other)) };
    }
    match DecodingKey::from_ed_pem(pem) {
        Ok(key) if names(ED25519) => Ok((key, Algorithm::EdDSA)),
        Ok(_) => Err(PublicKeyError::Unsupported("another Edwards curve")),
        Err(_) if names(&[0x2b, 0x65, 0x71]) => Err(PublicKeyError::Unsupported("Ed448")),
        Err(_) => Err(PublicKeyError::Malformed),
    }
}

/// Length of the modulus of an RSA public key (PKCS #1, DER).
fn rsa_bits(der: &[u8]) -> Option<usize> {
    let modulus = der_value(der_value(der, 0x30)?, 0x02)?;
    let first = modulus.iter().position(|byte| *byte != 0)?;
    Some((modulus.len() - first) * 8 - modulus[first].leading_zeros() as usize)
}

/// The content of the DER element that `bytes` begins with, if it has this tag.
fn der_value(bytes: &[u8], tag: u8) -> Option<&[u8]> {
    let (head, rest) = bytes.split_first_chunk::<2>()?;
    let (length, rest) = match head[1] {
        short @ 0..=0x7f => (usize::from(short), rest),
        0x81 => rest.split_first_chunk::<1>().map(|(long, rest)| (usize::from(long[0]), rest))?,
        0x82 => rest.split_first_chunk::<2>().map(|(long, rest)| (usize::from(u16::from_be_bytes(*long)), rest))?,
        _ => return None,
    };
    if head[0] == tag { rest.get(..length) } else { None }
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
