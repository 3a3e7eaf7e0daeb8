//! From PEM files to configurations; every error names the file and what is wrong with it, and nothing that it holds.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::{TLS12, TLS13};
use rustls::{Error, InconsistentKeys, RootCertStore, ServerConfig};

use super::Configs;
use super::clients::NamedClients;
use crate::server::options::{ClientCertificates, NamedFile, TlsOptions};
use crate::server::watched::FileError;

/// The configurations that the contents of certificate, key and authorities make, in this order.
pub(super) fn configs(options: &TlsOptions, contents: &[Vec<u8>]) -> Result<Configs, FileError> {
    let content = |index: usize| contents.get(index).map(Vec::as_slice).unwrap_or_default();
    let provider = Arc::new(aws_lc_rs::default_provider());
    let identity = identity(options, content(0), content(1), &provider)?;
    let clients = options.clients.as_ref();
    let verifier = clients
        .map(|clients| verifier(clients, content(2), &provider))
        .transpose()?;
    let config = |protocol: &[u8]| {
        let unusable = |error: Error| unusable(&options.cert(), &error);
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(unusable)?;
        let builder = match &verifier {
            Some(verifier) => builder.with_client_cert_verifier(Arc::clone(verifier)),
            None => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::clone(&identity) as _);
        config.alpn_protocols = vec![protocol.to_vec()];
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    };
    Ok(Configs {
        http2: config(b"h2")?,
        http1: config(b"http/1.1")?,
    })
}

/// The certificate chain with its key.
fn identity(
    options: &TlsOptions,
    chain: &[u8],
    key: &[u8],
    provider: &CryptoProvider,
) -> Result<Arc<SingleCertAndKey>, FileError> {
    let (cert_file, key_file) = (&options.cert(), &options.key());
    let chain = certificates(cert_file, chain)?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| match error {
        pem::Error::NoItemsFound => {
            FileError::new(key_file, "holds no private key that is not encrypted")
        }
        error => FileError::new(key_file, pem_problem(&error)),
    })?;
    let key = provider.key_provider.load_private_key(key);
    let key =
        key.map_err(|_| FileError::new(key_file, "holds a private key of an unknown kind"))?;
    let identity = CertifiedKey::new(chain, key);
    match identity.keys_match() {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => {
            Ok(Arc::new(SingleCertAndKey::from(identity)))
        }
        Err(Error::InconsistentKeys(_)) => {
            let certificate = cert_file.path.display();
            let problem = format!("is not the key of the first certificate in `{certificate}`");
            Err(FileError::new(key_file, problem))
        }
        Err(error) => Err(unusable(cert_file, &error)),
    }
}

/// What clients must show.
fn verifier(
    clients: &ClientCertificates,
    authorities: &[u8],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, FileError> {
    let ca_file = &clients.authorities();
    let mut roots = RootCertStore::empty();
    for certificate in certificates(ca_file, authorities)? {
        roots
            .add(certificate)
            .map_err(|error| unusable(ca_file, &error))?;
    }
    let builder =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    let any = builder.build().map_err(|error| {
        FileError::new(
            ca_file,
            format!("holds no authority that can be used: {error}"),
        )
    })?;
    Ok(match &clients.allowed_sans {
        Some(allowed) => Arc::new(NamedClients::new(any, allowed.clone())),
        None => any,
    })
}

fn certificates(file: &NamedFile, text: &[u8]) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let certificates = read.map_err(|error| FileError::new(file, pem_problem(&error)))?;
    if certificates.is_empty() {
        return Err(FileError::new(file, "holds no certificate"));
    }
    Ok(certificates)
}

/// Errors of PEM quote what they found, which may be a part of a key.
const fn pem_problem(error: &pem::Error) -> &'static str {
    match error {
        pem::Error::MissingSectionEnd { .. } => "ends within a PEM section",
        _ => "holds PEM that cannot be read",
    }
}

fn unusable(file: &NamedFile, error: &Error) -> FileError {
    FileError::new(
        file,
        format!("holds a certificate that cannot be used: {error}"),
    )
}
