//! What went wrong with a request, told from the errors of the libraries.
//!
//! Their texts are never passed on, because they may quote what the peer sent; only their kinds are.

use std::error::Error;
use std::io;

use rustls::CertificateError;

use super::{TlsFault, TransportError};

/// What went wrong before the head of an answer was there.
pub(super) fn before_the_head(error: &reqwest::Error, is_kept: bool) -> TransportError {
    if is_kept && is_gone(error) {
        return TransportError::Stale;
    }
    of(error)
}

/// What went wrong.
pub(super) fn of(error: &reqwest::Error) -> TransportError {
    if error.is_connect() {
        return of_connecting(error);
    }
    if let Some(error) = found::<hyper::Error>(error)
        && error.is_parse()
    {
        return TransportError::Malformed;
    }
    let what = if found::<h2::Error>(error).is_some() {
        "the judge ended the stream".to_owned()
    } else {
        match io_kind(error) {
            // What cannot be decompressed; a broken TLS record says the same, but is one.
            Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
                if found::<rustls::Error>(error).is_none() =>
            {
                return TransportError::Malformed;
            }
            None | Some(io::ErrorKind::UnexpectedEof) => "it ended too early".to_owned(),
            Some(kind) => kind.to_string(),
        }
    };
    TransportError::Broken(what)
}

fn of_connecting(error: &reqwest::Error) -> TransportError {
    if let Some(tls) = found(error) {
        return TransportError::Tls(of_tls(tls));
    }
    // The connector tells this apart by its text alone.
    if chain(error).any(|cause| cause.to_string() == "dns error") {
        return TransportError::Dns;
    }
    let what = if error.is_timeout() {
        "no connection in time".to_owned()
    } else {
        io_kind(error).map_or_else(|| "no connection".to_owned(), |kind| kind.to_string())
    };
    TransportError::Connect(what)
}

/// Whether the connection was closed in good order, or by something in between, before it was used.
fn is_gone(error: &reqwest::Error) -> bool {
    if let Some(error) = found::<h2::Error>(error) {
        let is_goodbye =
            error.is_go_away() && error.is_remote() && error.reason() == Some(h2::Reason::NO_ERROR);
        return is_goodbye || error.is_io();
    }
    let is_closed = found::<hyper::Error>(error)
        .is_some_and(|error| error.is_incomplete_message() || error.is_canceled());
    let is_cut = matches!(
        io_kind(error),
        Some(
            io::ErrorKind::BrokenPipe
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::UnexpectedEof
        )
    );
    is_closed || is_cut
}

fn of_tls(error: &rustls::Error) -> TlsFault {
    let rustls::Error::InvalidCertificate(error) = error else {
        return TlsFault::Handshake;
    };
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => TlsFault::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            TlsFault::NotYetValid
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            TlsFault::WrongName
        }
        CertificateError::UnknownIssuer => TlsFault::UnknownIssuer,
        CertificateError::Revoked => TlsFault::Revoked,
        _ => TlsFault::BadCertificate,
    }
}

/// An error with everything that it came from.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        // An I/O error does not name what it wraps as its source.
        let inside = error.downcast_ref().and_then(io::Error::get_ref);
        next = match inside {
            Some(inside) => Some(inside),
            None => error.source(),
        };
        Some(error)
    })
}

fn found<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    chain(error).find_map(|cause| cause.downcast_ref())
}

/// The kind of the innermost I/O error.
fn io_kind(error: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    let errors = chain(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    errors.last().map(io::Error::kind)
}
