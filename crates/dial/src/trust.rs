//! TLS roots: certificate authorities that sign the certificates of servers.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

/// The machine's certificate authorities, or those in a file instead. Cheap to clone.
#[derive(Clone, Default)]
pub struct Trust {
    file: Option<Arc<TrustFile>>,
}

struct TrustFile {
    pem: Vec<u8>,
    roots: RootCertStore,
}

#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("cannot read {path}: {source}")]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{0} has no certificate in PEM form")]
    NoCertificate(PathBuf),
    #[error("{path} has a certificate that cannot be read: {detail}")]
    Malformed { path: PathBuf, detail: String },
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trust").field("certificates", &self.file.as_ref().map(|file| file.roots.len())).finish()
    }
}

impl Trust {
    /// Trusts the certificate authorities in this PEM file only.
    pub fn file(path: &Path) -> Result<Self, TrustError> {
        let malformed = |detail: String| TrustError::Malformed { path: path.into(), detail };
        let pem = std::fs::read(path).map_err(|source| TrustError::Unreadable { path: path.into(), source })?;
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&pem) {
            let certificate = certificate.map_err(|error| malformed(error.to_string()))?;
            roots.add(certificate).map_err(|error| malformed(error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(TrustError::NoCertificate(path.into()));
        }
        Ok(Self { file: Some(Arc::new(TrustFile { pem, roots })) })
    }

    /// TLS configuration that trusts these authorities.
    pub fn tls(&self) -> ClientConfig {
        tls(self.file.as_ref().map_or_else(machine, |file| file.roots.clone()))
    }

    /// Contents of the file, if there is one.
    pub(crate) fn pem(&self) -> Option<&[u8]> {
        self.file.as_ref().map(|file| &*file.pem)
    }
}

/// TLS configuration that trusts these roots.
pub fn tls(roots: RootCertStore) -> ClientConfig {
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.expect("the provider knows the default versions");
    builder.with_root_certificates(roots).with_no_client_auth()
}

/// Returns the machine's certificate authorities. Reads files.
pub fn machine() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "could not read some of this machine's trusted certificates");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_without_certificates_is_rejected() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let said = |path: &Path| Trust::file(path).expect_err("no certificate to trust").to_string();
        assert!(said(file.path()).ends_with("has no certificate in PEM form"));
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        std::fs::write(file.path(), broken).expect("written");
        assert!(said(file.path()).contains("has a certificate that cannot be read"));
        assert!(said(Path::new("/nowhere/ca.pem")).starts_with("cannot read /nowhere/ca.pem"));
    }
}
