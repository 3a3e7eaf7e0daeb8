//! The sections about listeners: server and admin, and who may call.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::reader::Reader;
use super::sections::{TEN_MINUTES_MS, WEEK_MS};
use super::{Config, raw};
use crate::server::options::{AuthOptions, ClientCertificates, Listen, TlsOptions};

/// The permissions of a Unix socket: its owner and group.
const UDS_MODE: u32 = 0o660;
/// No bits but those for reading, writing and executing.
const MAX_UDS_MODE: u32 = 0o777;

pub(super) fn server(reader: &mut Reader<'_, '_>, config: &mut Config) {
    let written = reader.section::<raw::Server>(&["server"]);
    let admin = reader.section::<raw::Admin>(&["admin"]).unwrap_or_default();
    let admin_listen = &mut config.admin.listen;
    reader.address(&["admin", "listen"], admin.listen.as_deref(), admin_listen);
    // What a section that cannot be read says about `insecure_bind` is not known.
    let Some(server) = written else { return };
    config.insecure_bind = server.insecure_bind.unwrap_or(config.insecure_bind);
    config.server.tls = server.tls.as_ref().and_then(|written| tls(reader, written));
    config.server.auth = server
        .auth
        .as_ref()
        .and_then(|written| auth(reader, written));
    listen(reader, &server, config);
    http_listen(reader, server.http_listen.as_deref(), config);
    let is_tcp = matches!(config.server.listen, Listen::Tcp(_));
    if config.server.tls.is_some() && !is_tcp && config.server.http_listen.is_none() {
        reader.warning(&["server", "tls"], "has no effect without a TCP listener");
    }

    let options = &mut config.server;
    reader.millis(
        &["server", "shutdown_grace_ms"],
        server.shutdown_grace_ms,
        TEN_MINUTES_MS,
        &mut options.shutdown_grace,
    );
    reader.number(
        &["server", "max_connection_count"],
        server.max_connection_count,
        1..=1_000_000,
        &mut options.max_connection_count,
    );
    options.max_connections_per_peer = reader.optional(
        &["server", "max_connections_per_peer"],
        server.max_connections_per_peer,
        1..=1_000_000,
    );
    let mut age = Duration::ZERO;
    reader.millis(
        &["server", "max_connection_age_ms"],
        server.max_connection_age_ms,
        WEEK_MS,
        &mut age,
    );
    options.max_connection_age = (!age.is_zero()).then_some(age);
    reader.millis(
        &["server", "first_byte_timeout_ms"],
        server.first_byte_timeout_ms,
        TEN_MINUTES_MS,
        &mut options.first_byte_timeout,
    );
    reader.number(
        &["server", "max_message_bytes"],
        server.max_message_bytes,
        1..=268_435_456,
        &mut options.max_message_bytes,
    );
    options.reflection = server.reflection.unwrap_or(options.reflection);
}

fn listen(reader: &mut Reader<'_, '_>, server: &raw::Server, config: &mut Config) {
    let path = ["server", "listen"];
    if let Listen::Tcp(address) = &mut config.server.listen {
        reader.address(&path, server.listen.as_deref(), address);
        let address = *address;
        loopback(reader, &path, address, config);
    }
    let mode = uds_mode(reader, server.uds_mode.as_deref());
    let Some(uds) = &server.uds else {
        if server.uds_mode.is_some() {
            reader.warning(&["server", "uds_mode"], "has no effect without server.uds");
        }
        return;
    };
    let uds_path = ["server", "uds"];
    if uds.is_empty() {
        reader.problem(&uds_path, "must not be empty");
    }
    if server.listen.is_some() {
        let place = reader.sources.origin(reader.sources.offset(&path));
        reader.problem(
            &uds_path,
            format!("`{uds}` and server.listen ({place}) are both set; leave one out"),
        );
    }
    config.server.listen = Listen::Unix {
        path: PathBuf::from(uds),
        mode,
    };
}

fn http_listen(reader: &mut Reader<'_, '_>, written: Option<&str>, config: &mut Config) {
    let path = ["server", "http_listen"];
    // It stays when what is written is no address.
    let mut address = SocketAddr::from(([127, 0, 0, 1], 0));
    reader.address(&path, written, &mut address);
    loopback(reader, &path, address, config);
    config.server.http_listen = written.map(|_| address);
}

fn uds_mode(reader: &mut Reader<'_, '_>, written: Option<&str>) -> u32 {
    let Some(text) = written else { return UDS_MODE };
    let digits = text.bytes().all(|c| matches!(c, b'0'..=b'7'));
    match u32::from_str_radix(text, 8) {
        Ok(mode) if digits && mode <= MAX_UDS_MODE => mode,
        _ => {
            let message = format!("`{text}` must be octal digits from `0` to `0777`");
            reader.problem(&["server", "uds_mode"], message);
            UDS_MODE
        }
    }
}

/// What anybody on the network can reach asks its callers who they are, unless that is waived.
///
/// The admin listener is not among it: it serves no content of traces, and probes of a cluster come from outside.
fn loopback(reader: &mut Reader<'_, '_>, path: &[&str], address: SocketAddr, config: &Config) {
    let is_open = !config.insecure_bind && !config.server.authenticates();
    if is_open && !address.ip().to_canonical().is_loopback() {
        reader.problem(
            path,
            format!(
                "`{address}` is not a loopback address, and callers need not show who they are; \
                 set server.tls with client_ca_file or with server.auth, \
                 or accept that with server.insecure_bind or --insecure-bind"
            ),
        );
    }
}

/// `None` after noting what is missing.
fn tls(reader: &mut Reader<'_, '_>, written: &raw::Tls) -> Option<TlsOptions> {
    let section = ["server", "tls"];
    let mut file = |key: &str, name: &Option<String>| {
        let path = [section[0], section[1], key];
        name.as_ref().map(|name| reader.file(&path, name))
    };
    let cert_file = file("cert_file", &written.cert_file);
    let key_file = file("key_file", &written.key_file);
    let ca_file = file("client_ca_file", &written.client_ca_file);
    let sans_path = ["server", "tls", "allowed_sans"];
    if let Some(sans) = &written.allowed_sans {
        if ca_file.is_none() {
            reader.problem(&sans_path, "needs server.tls.client_ca_file");
        }
        if sans.is_empty() || sans.iter().any(String::is_empty) {
            reader.problem(&sans_path, "must hold DNS names or URIs, and no empty one");
        }
        for san in sans.iter().filter(|san| !san.is_empty() && !is_san(san)) {
            let message = format!(
                "`{san}` must be a whole DNS name such as `rag.example.com` \
                 or a URI such as `spiffe://example.com/rag`"
            );
            reader.problem(&sans_path, message);
        }
    }
    let (Some(cert_file), Some(key_file)) = (cert_file, key_file) else {
        reader.problem(&section, "cert_file and key_file are required");
        return None;
    };
    let allowed_sans = written.allowed_sans.clone();
    Some(TlsOptions {
        cert_file,
        key_file,
        clients: ca_file.map(|ca_file| ClientCertificates {
            ca_file,
            allowed_sans,
        }),
    })
}

/// Whether it can be a name of a certificate: a URI if it holds a colon, else a DNS name.
fn is_san(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return is_dns_name(text);
    };
    let in_scheme = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'-' | b'.');
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    // A host with its port looks like a scheme.
    let is_port = rest.bytes().all(|c| c.is_ascii_digit());
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(in_scheme)
        && rest.bytes().all(|c| c.is_ascii_graphic())
        && !is_port
}

fn is_dns_name(text: &str) -> bool {
    let in_name = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    text.bytes().all(in_name)
        && text.bytes().any(|c| c.is_ascii_alphabetic())
        && !text.split('.').any(str::is_empty)
}

/// `None` after noting what is missing.
fn auth(reader: &mut Reader<'_, '_>, written: &raw::Auth) -> Option<AuthOptions> {
    let Some(name) = &written.token_file else {
        reader.problem(&["server", "auth"], "token_file is required");
        return None;
    };
    let token_file = reader.file(&["server", "auth", "token_file"], name);
    Some(AuthOptions { token_file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_certificate_can_have_is_none() {
        for good in [
            "rag",
            "rag.example.com",
            "RAG-1.example.com",
            "_rag.ns_1.svc",
            "spiffe://example.com/ns/rag/sa/rag",
            "urn:uuid:f81d4fae",
            "https://example.com:443/rag",
        ] {
            assert!(is_san(good), "{good}");
        }
        for bad in [
            " ",
            "rag.example.com ",
            "b\u{fc}cher.de",
            "10.0.0.1",
            "a@b",
            "CN=x",
            "host:443",
            "*",
            "*.example.com",
            "rag..example.com",
            "rag.example.com.",
            ".example.com",
            "spiffe:",
            "spiffe://",
            "://example.com",
            "10.0.0.1:443",
            "[::1]:443",
            "::1",
            "spiffe://example.com/a b",
        ] {
            assert!(!is_san(bad), "{bad}");
        }
    }
}
