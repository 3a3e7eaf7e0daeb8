//! Clients that are let in by a name in their certificate.

use std::cell::RefCell;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use webpki::EndEntityCert;

/// The most names that are told of a certificate that was refused.
const MAX_NAMES: usize = 4;
/// The most characters of such a name: whoever got the certificate may have chosen them.
const MAX_NAME_CHARS: usize = 128;

tokio::task_local! {
    /// The names in the certificate that the handshake of this task refuses: rustls takes no text with the one error
    /// whose alert is `access_denied`.
    static NAMES: RefCell<Option<String>>;
}

/// Shakes hands; with the names in the certificate of the client if it was refused for them.
pub(super) async fn with_names<T>(handshake: impl Future<Output = T>) -> (T, Option<String>) {
    let noting = async {
        let ended = handshake.await;
        (ended, NAMES.with(RefCell::take))
    };
    NAMES.scope(RefCell::default(), noting).await
}

/// A few names in one line.
fn told<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names = names.fuse();
    let mut shown = Vec::new();
    for name in names.by_ref().take(MAX_NAMES) {
        let mut escaped = name.escape_default();
        let mut text: String = escaped.by_ref().take(MAX_NAME_CHARS).collect();
        if escaped.next().is_some() {
            text.push_str("...");
        }
        shown.push(format!("`{text}`"));
    }
    if shown.is_empty() {
        return "neither a DNS name nor a URI".to_owned();
    }
    let shown = shown.join(", ");
    match names.count() {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Takes certificates that another verifier takes, if one of their names (SAN) is allowed.
#[derive(Debug)]
pub(super) struct NamedClients {
    any: Arc<dyn ClientCertVerifier>,
    dns_names: Vec<String>,
    uris: Vec<String>,
}

impl NamedClients {
    /// `allowed` are URIs, which hold a colon, and DNS names, in any case.
    pub(super) fn new(any: Arc<dyn ClientCertVerifier>, allowed: Vec<String>) -> Self {
        let (uris, dns_names) = allowed.into_iter().partition(|name| name.contains(':'));
        Self {
            any,
            dns_names,
            uris,
        }
    }

    /// Whole names of the same kind only: a wildcard in the certificate stands for no other name.
    fn is_allowed(&self, certificate: &EndEntityCert<'_>) -> bool {
        let dns = |name: &str| {
            self.dns_names
                .iter()
                .any(|one| one.eq_ignore_ascii_case(name))
        };
        let uri = |name: &str| self.uris.iter().any(|one| one == name);
        certificate.valid_dns_names().any(dns) || certificate.valid_uri_names().any(uri)
    }
}

impl ClientCertVerifier for NamedClients {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.any.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self
            .any
            .verify_client_cert(end_entity, intermediates, now)?;
        let certificate = EndEntityCert::try_from(end_entity)
            .map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
        if self.is_allowed(&certificate) {
            Ok(verified)
        } else {
            let names = certificate.valid_dns_names();
            let names = told(names.chain(certificate.valid_uri_names()));
            NAMES.try_with(|noted| noted.replace(Some(names))).ok();
            // The alert of this one is `access_denied`.
            let refused = CertificateError::ApplicationVerificationFailure;
            Err(Error::InvalidCertificate(refused))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.any
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.any
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.any.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_escaped_and_bounded() {
        assert_eq!(told([].into_iter()), "neither a DNS name nor a URI");
        let few = ["rag.test", "spiffe://test/a\n\u{1b}`b"];
        let expected = "`rag.test`, `spiffe://test/a\\n\\u{1b}`b`";
        assert_eq!(told(few.into_iter()), expected);
        assert_eq!(told(["a"; 7].into_iter()), "`a`, `a`, `a`, `a` and 3 more");
        let long = "x".repeat(129);
        let expected = format!("`{}...`", &long[1..]);
        assert_eq!(told([&*long].into_iter()), expected);
        assert_eq!(told([&long[1..]].into_iter()), format!("`{}`", &long[1..]));
    }
}
