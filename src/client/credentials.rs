//! Whom a client trusts and how it shows who it is: files to TLS and to the header of its calls.
//!
//! Errors name files and never what stands in them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore};
use secrecy::{ExposeSecret as _, SecretString};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::{Request, Status};

use crate::artifact::bounded;

/// The longest file; certificates and tokens are far shorter.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// The files of a client; none are needed in clear text and without tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// The authorities, PEM, one of which must have issued the certificate of the server.
    pub ca_file: Option<PathBuf>,
    /// The certificate that the client shows.
    pub certificate: Option<CertificateFiles>,
    /// A file with a token as its first line, which goes with every call.
    pub token_file: Option<PathBuf>,
}

/// A certificate and its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate chain, PEM, leaf first.
    pub cert_file: PathBuf,
    /// Its private key, PEM.
    pub key_file: PathBuf,
}

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// It cannot be read.
    #[error("cannot read `{}`", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It holds something else.
    #[error("`{}` holds no {what} in PEM", file.display())]
    Pem {
        /// The file.
        file: PathBuf,
        /// What it should hold.
        what: &'static str,
    },
    /// The certificate and its key do not go together.
    #[error("the client certificate and its key cannot be used")]
    Identity(#[source] rustls::Error),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    /// Its first line is no token.
    #[error("{}:1: the token is empty or holds a character that is not printable ASCII, or a space", .0.display())]
    Token(PathBuf),
}

impl Credentials {
    /// Whether any file is only for TLS.
    pub(super) const fn need_tls(&self) -> bool {
        self.ca_file.is_some() || self.certificate.is_some()
    }

    /// How to speak TLS with authorities from a file.
    pub(super) fn tls(&self, ca_file: &Path) -> Result<ClientConfig, CredentialError> {
        let mut roots = RootCertStore::empty();
        for authority in certificates(ca_file)? {
            roots.add(authority).map_err(CredentialError::Tls)?;
        }
        // Named, for a second library of cryptography in the tree must not make the choice ambiguous.
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(CredentialError::Tls)?
            .with_root_certificates(roots);
        let mut config = match &self.certificate {
            Some(files) => {
                let chain = certificates(&files.cert_file)?;
                let key = private_key(&files.key_file)?;
                let with_certificate = builder.with_client_auth_cert(chain, key);
                with_certificate.map_err(CredentialError::Identity)?
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(config)
    }

    /// What goes with every call.
    pub(super) fn bearer(&self) -> Result<Bearer, CredentialError> {
        let Some(file) = &self.token_file else {
            return Ok(Bearer(None));
        };
        let text = SecretString::from(text(file)?);
        let token = text
            .expose_secret()
            .lines()
            .next()
            .unwrap_or_default()
            .trim_end();
        let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        let header = SecretString::from(format!("Bearer {token}"));
        let mut value = MetadataValue::try_from(header.expose_secret())
            .ok()
            .filter(|_| is_token)
            .ok_or_else(|| CredentialError::Token(file.clone()))?;
        value.set_sensitive(true);
        Ok(Bearer(Some(value)))
    }
}

/// The header with the token, if there is one; it is not shown.
#[derive(Debug, Clone)]
pub(super) struct Bearer(Option<MetadataValue<Ascii>>);

impl Bearer {
    /// For a server that asks for none.
    pub(super) const NONE: Self = Self(None);
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(value) = &self.0 {
            let metadata = request.metadata_mut();
            metadata.insert("authorization", value.clone());
        }
        Ok(request)
    }
}

fn text(file: &Path) -> Result<String, CredentialError> {
    read(file).map_err(|source| CredentialError::Read {
        file: file.to_owned(),
        source,
    })
}

fn read(file: &Path) -> io::Result<String> {
    let bytes = bounded::read(file, MAX_FILE_BYTES)?;
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text"))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, CredentialError> {
    let text = text(file)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    let found = found.ok().filter(|found| !found.is_empty());
    found.ok_or_else(|| CredentialError::Pem {
        file: file.to_owned(),
        what: "certificate",
    })
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, CredentialError> {
    let text = SecretString::from(text(file)?);
    PrivateKeyDer::from_pem_slice(text.expose_secret().as_bytes()).map_err(|_| {
        CredentialError::Pem {
            file: file.to_owned(),
            what: "private key",
        }
    })
}
