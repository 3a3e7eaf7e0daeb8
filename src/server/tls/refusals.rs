//! Handshakes that were refused: each is counted, and a cause is logged at most once a minute.

use std::net::SocketAddr;

use rustls::{CertificateError, Error};

use crate::domain::Vocabulary as _;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::server::TlsRefused;
use crate::telemetry::throttle::Throttle;

/// What was logged, by cause.
#[derive(Debug, Default)]
pub(super) struct Refusals(Throttle<usize>);

impl Refusals {
    /// `names` are those of the certificate, if it was refused for them.
    pub(super) fn tell(
        &self,
        error: &Error,
        names: Option<&str>,
        peer: Option<SocketAddr>,
        metrics: &Metrics,
    ) {
        let cause = cause(error);
        metrics.tls_refused(cause);
        let (name, peer) = (cause.name(), peer.map(tracing::field::display));
        match self.0.count(cause.index()) {
            Some(count) => {
                tracing::warn!(peer, cause = name, names, %error, count, "TLS refused");
            }
            None => tracing::debug!(peer, cause = name, names, %error, "TLS refused"),
        }
    }
}

fn cause(error: &Error) -> TlsRefused {
    match error {
        Error::NoCertificatesPresented => TlsRefused::NoCertificate,
        Error::InvalidCertificate(error) => match error {
            CertificateError::UnknownIssuer => TlsRefused::UnknownIssuer,
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                TlsRefused::Expired
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                TlsRefused::NotYetValid
            }
            CertificateError::ApplicationVerificationFailure => TlsRefused::NameNotAllowed,
            _ => TlsRefused::BadCertificate,
        },
        _ => TlsRefused::Handshake,
    }
}
