//! An authority that issues certificates, good and bad ones, and the files that hold them.

use std::fs;
use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, SanType,
    date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The name of every server.
pub(crate) const SERVER: &str = "sidecar.test";

pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key.
pub(crate) struct Identity {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

/// When a certificate is valid.
#[derive(Clone, Copy)]
pub(crate) enum Valid {
    Now,
    Past,
    Future,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(crate) fn der(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    /// A certificate for a DNS name, or a URI if it holds a colon.
    pub(crate) fn issue(&self, name: &str, valid: Valid) -> Identity {
        let san = name.to_owned().try_into().unwrap();
        let san = match name.contains(':') {
            true => SanType::URI(san),
            false => SanType::DnsName(san),
        };
        self.issue_for(san, valid)
    }

    /// A certificate whose URI is this text, whatever it looks like.
    pub(crate) fn issue_uri(&self, uri: &str) -> Identity {
        let uri = uri.to_owned().try_into().unwrap();
        self.issue_for(SanType::URI(uri), Valid::Now)
    }

    fn issue_for(&self, san: SanType, valid: Valid) -> Identity {
        let mut params = CertificateParams::new([]).unwrap();
        params.subject_alt_names.push(san);
        match valid {
            Valid::Now => (),
            Valid::Past => {
                params.not_before = date_time_ymd(2019, 1, 1);
                params.not_after = date_time_ymd(2020, 1, 1);
            }
            Valid::Future => params.not_before = date_time_ymd(3000, 1, 1),
        }
        let key = KeyPair::generate().unwrap();
        Identity {
            certificate: params.signed_by(&key, &self.0).unwrap(),
            key,
        }
    }
}

impl Identity {
    pub(crate) fn certificate_pem(&self) -> String {
        self.certificate.pem()
    }

    pub(crate) fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    pub(crate) fn der(&self) -> CertificateDer<'static> {
        self.certificate.der().clone()
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::try_from(self.key.serialize_der()).unwrap()
    }

    /// Writes `tls.crt`, `tls.key` and, for the clients of `authority`, `ca.crt`.
    pub(crate) fn write(&self, folder: &Path, authority: &Authority) {
        fs::write(folder.join("tls.crt"), self.certificate_pem()).unwrap();
        fs::write(folder.join("tls.key"), self.key_pem()).unwrap();
        fs::write(folder.join("ca.crt"), authority.pem()).unwrap();
    }
}
