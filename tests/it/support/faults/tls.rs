//! Certificates that are good, and some that are not.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, version};

/// What is wrong with a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certificate {
    /// Nothing.
    Good,
    /// It is too old.
    Expired,
    /// It is for another host.
    WrongName,
    /// It is from an issuer who is not among the trusted ones.
    UnknownIssuer,
}

/// A certificate in use.
pub(super) struct Identity {
    /// What is to be trusted, PEM.
    pub(super) roots: String,
    pub(super) acceptor: TlsAcceptor,
}

impl Identity {
    pub(super) fn new(certificate: Certificate, protocols: &[&[u8]]) -> Self {
        let issuer = issuer("Test Issuer");
        let name = match certificate {
            Certificate::WrongName => "elsewhere.test",
            Certificate::Good | Certificate::Expired | Certificate::UnknownIssuer => "127.0.0.1",
        };
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        if certificate == Certificate::Expired {
            params.not_before = date_time_ymd(2019, 1, 1);
            params.not_after = date_time_ymd(2020, 1, 1);
        }
        let key = KeyPair::generate().unwrap();
        let leaf = params.signed_by(&key, &issuer).unwrap();
        let roots = match certificate {
            Certificate::UnknownIssuer => self::issuer("Another Issuer").pem(),
            Certificate::Good | Certificate::Expired | Certificate::WrongName => issuer.pem(),
        };
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&version::TLS13, &version::TLS12])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], key)
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
        Self {
            roots,
            acceptor: TlsAcceptor::from(Arc::new(config)),
        }
    }
}

fn issuer(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new([]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}
