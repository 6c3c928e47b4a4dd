//! Certificate authorities that may sign a server's certificate: those of the machine, and those in files.
//!
//! A file can be read again while connections are open. New connections are then checked against its new content.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::{Mutex, RwLock};
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::{Resumption, verify_server_cert_signed_by_trust_anchor, verify_server_name};
use tokio_rustls::rustls::crypto::{self, WebPkiSupportedAlgorithms};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{self, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// The authorities of this machine and those in any number of files. Cheap to clone; clones share a reload.
#[derive(Clone, Default)]
pub struct TlsRoots {
    files: Vec<Arc<AuthorityFile>>,
    /// Authorities, and the version of the files they were read from. Empty until first used: reading the machine's takes
    /// milliseconds, and unencrypted connections need none.
    read: Arc<Mutex<Option<ReadRoots>>>,
}

#[derive(Clone)]
struct ReadRoots {
    version: u64,
    roots: Arc<RootCertStore>,
}

struct AuthorityFile {
    path: PathBuf,
    certificates: RwLock<Vec<CertificateDer<'static>>>,
    /// Number of reloads.
    version: AtomicU64,
}

#[derive(Debug, thiserror::Error)]
pub enum TlsRootsError {
    #[error("cannot read {path}: {source}")]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{0} has no certificate in PEM form")]
    NoCertificate(PathBuf),
    #[error("{path} has a certificate that cannot be read: {detail}")]
    Malformed { path: PathBuf, detail: String },
}

/// Whether a certificate must bear the name in the address, besides being signed by an authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameCheck {
    Required,
    Skipped,
}

impl fmt::Debug for TlsRoots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust")
            .field("files", &self.files.iter().map(|file| &file.path).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl TlsRoots {
    /// The machine's authorities and those in this file, in PEM form.
    pub fn file(path: &Path) -> Result<Self, TlsRootsError> {
        let certificates = RwLock::new(read_certificates(path)?);
        let file = AuthorityFile { path: path.into(), certificates, version: AtomicU64::new(0) };
        Ok(Self { files: vec![Arc::new(file)], read: Arc::default() })
    }

    /// The authorities of both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self { files: [&self.files[..], &other.files].concat(), read: Arc::default() }
    }

    /// Reads the files again. The authorities of a file that cannot be used stay as they were.
    pub fn reload(&self) -> Result<(), TlsRootsError> {
        for file in &self.files {
            let certificates = read_certificates(&file.path)?;
            *file.certificates.write() = certificates;
            file.version.fetch_add(1, Ordering::Release);
        }
        Ok(())
    }

    /// Settings of a TLS client, for as many connections as there will be: each is checked against the files as last loaded.
    pub fn tls(&self, name_check: NameCheck) -> ClientConfig {
        self.roots();
        let provider = Arc::new(crypto::ring::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let verifier = Arc::new(Verifier { tls_roots: self.clone(), name_check, algorithms });
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.expect("the provider knows the default versions").dangerous();
        let mut config = builder.with_custom_certificate_verifier(verifier).with_no_client_auth();
        // A resumed session is not verified again, so it would outlive the authority that was removed from a file.
        config.resumption = Resumption::disabled();
        config
    }

    /// Changes with each reload.
    pub(crate) fn version(&self) -> u64 {
        self.files.iter().map(|file| file.version.load(Ordering::Acquire)).sum()
    }

    /// All certificates in PEM form; `None` if there are only those of the machine.
    pub(crate) fn pem(&self) -> Option<Vec<u8>> {
        if self.files.is_empty() {
            return None;
        }
        let text = |certificate: &CertificateDer<'_>| {
            format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(certificate))
        };
        let mut usable = machine_certificates();
        usable.retain(|certificate| RootCertStore::empty().add(certificate.clone()).is_ok());
        usable.extend(self.file_certificates());
        Some(usable.iter().map(text).collect::<String>().into_bytes())
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let version = self.version();
        let mut read = self.read.lock();
        match &*read {
            Some(read) if read.version == version => read.roots.clone(),
            _ => {
                let mut roots = machine();
                roots.add_parsable_certificates(self.file_certificates());
                let roots = Arc::new(roots);
                *read = Some(ReadRoots { version, roots: roots.clone() });
                roots
            }
        }
    }

    fn file_certificates(&self) -> Vec<CertificateDer<'static>> {
        let of = |file: &Arc<AuthorityFile>| file.certificates.read().clone();
        self.files.iter().flat_map(of).collect()
    }
}

/// The certificates of a file: at least one, each usable as an authority.
fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsRootsError> {
    let malformed = |detail: String| TlsRootsError::Malformed { path: path.into(), detail };
    let pem = std::fs::read(path).map_err(|source| TlsRootsError::Unreadable { path: path.into(), source })?;
    let mut certificates = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| malformed(error.to_string()))?;
        RootCertStore::empty().add(certificate.clone()).map_err(|error| malformed(error.to_string()))?;
        certificates.push(certificate);
    }
    if certificates.is_empty() { Err(TlsRootsError::NoCertificate(path.into())) } else { Ok(certificates) }
}

/// Checks certificates as rustls does by itself, against authorities that can change.
struct Verifier {
    tls_roots: TlsRoots,
    name_check: NameCheck,
    algorithms: WebPkiSupportedAlgorithms,
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier")
            .field("trust", &self.tls_roots)
            .field("name_check", &self.name_check)
            .finish_non_exhaustive()
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let certificate = ParsedCertificate::try_from(end_entity)?;
        let (roots, algorithms) = (self.tls_roots.roots(), self.algorithms.all);
        verify_server_cert_signed_by_trust_anchor(&certificate, &roots, intermediates, now, algorithms)?;
        if self.name_check == NameCheck::Required {
            verify_server_name(&certificate, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        crypto::verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        crypto::verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// TLS configuration that trusts these roots.
pub fn tls(roots: RootCertStore) -> ClientConfig {
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.expect("the provider knows the default versions");
    builder.with_root_certificates(roots).with_no_client_auth()
}

/// The authorities of this machine. Reads files.
pub fn machine() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(machine_certificates());
    roots
}

fn machine_certificates() -> Vec<CertificateDer<'static>> {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "could not read some of this machine's trusted certificates");
    }
    found.certs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_without_certificates_is_rejected() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let said = |path: &Path| TlsRoots::file(path).expect_err("no certificate to trust").to_string();
        assert!(said(file.path()).ends_with("has no certificate in PEM form"));
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        std::fs::write(file.path(), broken).expect("written");
        assert!(said(file.path()).contains("has a certificate that cannot be read"));
        assert!(said(Path::new("/nowhere/ca.pem")).starts_with("cannot read /nowhere/ca.pem"));
    }

    #[test]
    fn failed_reload_keeps_the_authorities() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), include_bytes!("../../testkit/certificate/localhost.pem")).expect("written");
        let tls_roots = TlsRoots::file(file.path()).expect("a certificate");
        let both = TlsRoots::default().and(&tls_roots);
        let own = both.roots().len();
        std::fs::write(file.path(), "nothing").expect("written");
        assert!(tls_roots.reload().is_err_and(|error| error.to_string().ends_with("has no certificate in PEM form")));
        assert_eq!((both.roots().len(), both.version()), (own, 0));
        std::fs::write(file.path(), include_bytes!("../../testkit/certificate/localhost.pem").repeat(2))
            .expect("written");
        tls_roots.reload().expect("certificates");
        assert_eq!(
            (both.roots().len(), both.version()),
            (own + 1, 1),
            "a reload reaches the trusts that share the file"
        );
    }
}
