//! What went wrong with a connection, in words: libraries tell it several errors deep, or not at all.

use std::error::Error;
use std::io;

use rustls::CertificateError;

/// How rustls begins to tell what the peer sent; h2 keeps the text of an error and not its type.
const ALERT: &str = "received fatal alert: ";

/// What is wrong with a TLS connection, if that is what the error is about.
pub(super) fn of_tls(error: &(dyn Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let inner = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        let found = inner
            .and_then(|inner| inner.downcast_ref())
            .or_else(|| error.downcast_ref());
        if let Some(found) = found {
            return Some(of_rustls(found));
        }
        if let Some((_, alert)) = error.to_string().split_once(ALERT) {
            return Some(of_alert(alert));
        }
        cause = error.source();
    }
    None
}

/// Whether a connection that was there broke: one that could not be made is told by another error.
pub(super) fn is_broken(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<hyper::Error>() {
            return true;
        }
        cause = error.source();
    }
    false
}

fn of_rustls(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(certificate) => of_server(certificate),
        rustls::Error::AlertReceived(alert) => of_alert(&format!("{alert:?}")),
        rustls::Error::InvalidMessage(_) => "the server does not speak TLS".to_owned(),
        other => format!("TLS: {other}"),
    }
}

fn of_server(error: &CertificateError) -> String {
    let problem = match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "is not valid yet"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "is for another host"
        }
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "is from an issuer that is not trusted"
        }
        other => return format!("the certificate of the server cannot be used: {other}"),
    };
    format!("the certificate of the server {problem}")
}

fn of_alert(alert: &str) -> String {
    let name = alert.split(|c: char| !c.is_alphanumeric()).next();
    let problem = match name.unwrap_or_default() {
        "CertificateRequired" => "asks for a client certificate",
        "CertificateExpired" => {
            "refuses the client certificate, which has expired or is not valid yet"
        }
        "UnknownCA" => "does not trust the issuer of the client certificate",
        "BadCertificate" | "CertificateUnknown" | "AccessDenied" => {
            "refuses the client certificate"
        }
        other => return format!("the server ended the TLS handshake: {other}"),
    };
    format!("the server {problem}")
}
