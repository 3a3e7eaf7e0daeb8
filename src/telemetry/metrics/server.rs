//! Calls and connections: what came in, what was turned away, what broke.

use std::time::Duration;

use metrics::{Counter, Gauge};

use super::Metrics;
use super::family::{Axis, Family, Registry, as_f64, count};
use crate::domain::trace::ProfileName;
use crate::domain::{Vocabulary as _, vocabulary};
use crate::telemetry::build::{REVISION, VERSION};

vocabulary! {
    /// Why a call was turned away before it was looked at.
    "reason to shed a call"
    pub enum ShedReason {
        /// Too many traces are in flight.
        Overloaded = "overloaded",
        /// The server is draining.
        ShuttingDown = "shutting_down",
        /// Too many bytes of messages are being received.
        ReceivingBytes = "receiving_bytes",
    }
}

vocabulary! {
    /// Why a connection ended.
    "reason why a connection closed"
    pub enum ConnectionClosed {
        /// Either side ended it.
        Ended = "ended",
        /// Nothing was sent in time.
        FirstByteTimeout = "first_byte_timeout",
        /// It failed.
        Error = "error",
        /// It was past its age and did not end by itself.
        TooOld = "too_old",
        /// Its peer read nothing for too long.
        Stalled = "stalled",
        /// There was no TLS connection to be had.
        TlsRefused = "tls_refused",
        /// Its peer has as many open as one may have.
        PeerLimit = "peer_limit",
    }
}

vocabulary! {
    /// Why a TLS handshake was refused.
    "cause to refuse a TLS handshake"
    pub enum TlsRefused {
        /// The client showed no certificate.
        NoCertificate = "no_certificate",
        /// None of our authorities issued it.
        UnknownIssuer = "unknown_issuer",
        /// Its time is over.
        Expired = "expired",
        /// Its time has not begun.
        NotYetValid = "not_yet_valid",
        /// None of its names is allowed.
        NameNotAllowed = "name_not_allowed",
        /// It is wrong in another way.
        BadCertificate = "bad_certificate",
        /// Anything else: no TLS at all, no version or protocol in common, or the client did not like our certificate.
        Handshake = "handshake",
    }
}

vocabulary! {
    /// What is read again when its files change.
    "kind of credentials"
    pub enum CredentialKind {
        /// Certificates and keys of the listeners.
        Tls = "tls",
        /// Tokens of callers.
        Token = "token",
    }
}

vocabulary! {
    /// How reading again ended.
    "result of reading credentials"
    pub enum CredentialReload {
        /// What was read is used.
        Ok = "ok",
        /// What was used before still is.
        Error = "error",
    }
}

/// Families about the server.
pub(super) struct ServerMetrics {
    deadline: Family<Gauge>,
    inflight_traces_limit: Family<Gauge>,
    diagnose_errors: Family<Counter>,
    rpc_requests: Family<Counter>,
    shed: Family<Counter>,
    inflight_traces: Family<Gauge>,
    panics: Family<Counter>,
    open_connections: Family<Gauge>,
    connections_closed: Family<Counter>,
    tls_refused: Family<Counter>,
    credential_reloads: Family<Counter>,
}

impl ServerMetrics {
    pub(super) fn new(r: &Registry<'_>) -> Self {
        let codes = || Axis::named("code", r.names.codes.iter().copied());
        let build = r.info(
            "judge_cascade_build_info",
            "1 for the running version and the revision of the source that it was built from.",
            &[Axis::ids("version"), Axis::ids("revision")],
        );
        build.set(&[VERSION], REVISION);
        Self {
            deadline: r.family(
                "judge_cascade_deadline_seconds",
                "Time that a call may take, time.deadline_ms of the configuration; the caller may allow less.",
                vec![],
            ),
            inflight_traces_limit: r.family(
                "judge_cascade_inflight_traces_limit",
                "Traces that are diagnosed at once, limits.max_in_flight_traces of the configuration.",
                vec![],
            ),
            diagnose_errors: r.family(
                "judge_cascade_diagnose_errors_total",
                "Diagnose calls that ended in an error; without a profile where none is known. A gRPC message that could \
                 not be decoded, and an HTTP exchange that is wrong in itself, are only in \
                 judge_cascade_rpc_requests_total.",
                vec![
                    r.profiles_or_none(),
                    codes(),
                    Axis::named("reason", r.names.error_reasons.iter().copied()),
                ],
            ),
            rpc_requests: r.family(
                "judge_cascade_rpc_requests_total",
                "Calls by method and status code: over gRPC by service and method, over HTTP as http/diagnose and \
                 http/policy, anything else as other; CANCELLED also for a caller that went away.",
                vec![
                    Axis::named("method", r.names.methods.iter().copied()),
                    codes(),
                ],
            ),
            shed: r.present(
                "judge_cascade_shed_total",
                "Calls turned away before they were looked at.",
                vec![Axis::of::<ShedReason>("reason")],
            ),
            inflight_traces: r.present(
                "judge_cascade_inflight_traces",
                "Traces that are being diagnosed.",
                vec![],
            ),
            panics: r.present(
                "judge_cascade_panics_total",
                "Panics that were caught in a handler.",
                vec![],
            ),
            open_connections: r.present(
                "judge_cascade_open_connections",
                "Connections that are open.",
                vec![],
            ),
            connections_closed: r.present(
                "judge_cascade_connections_closed_total",
                "Connections that were closed.",
                vec![Axis::of::<ConnectionClosed>("reason")],
            ),
            tls_refused: r.present(
                "judge_cascade_tls_refused_total",
                "TLS handshakes that were refused.",
                vec![Axis::of::<TlsRefused>("cause")],
            ),
            credential_reloads: r.present(
                "judge_cascade_credential_reloads_total",
                "Changed files of credentials that were read again; while they are wrong, each try.",
                vec![
                    Axis::of::<CredentialKind>("kind"),
                    Axis::of::<CredentialReload>("result"),
                ],
            ),
        }
    }
}

/// A gauge that counts what is alive: one up now, one down when this is dropped.
#[derive(Debug)]
pub struct Alive(Gauge);

impl Alive {
    pub(super) fn new(gauge: &Gauge) -> Self {
        gauge.increment(1.0);
        Self(gauge.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

impl Metrics {
    /// The bounds of every call are configured.
    pub fn bounds_loaded(&self, deadline: Duration, max_in_flight_traces: usize) {
        self.server.deadline.at(&[]).set(deadline);
        self.server
            .inflight_traces_limit
            .at(&[])
            .set(as_f64(max_in_flight_traces));
    }

    /// A Diagnose call ended in an error; `profile` is `None` if the call named no known one.
    pub fn diagnose_failed(&self, profile: Option<&ProfileName>, code: &str, reason: &str) {
        let family = &self.server.diagnose_errors;
        let profile = profile.map_or("", ProfileName::as_str);
        if let (Some(code), Some(reason)) = (family.place(1, code), family.place(2, reason)) {
            count(family.named(profile, &[code, reason]));
        }
    }

    /// A call to the server ended.
    pub fn rpc_ended(&self, method: &str, code: &str) {
        let family = &self.server.rpc_requests;
        if let Some(code) = family.place(1, code) {
            count(family.named(method, &[code]));
        }
    }

    /// A call was turned away.
    pub fn call_shed(&self, reason: ShedReason) {
        self.server.shed.at(&[reason.index()]).increment(1);
    }

    /// A trace is being diagnosed for as long as the result lives.
    pub fn trace_in_flight(&self) -> Alive {
        Alive::new(self.server.inflight_traces.at(&[]))
    }

    /// A handler panicked.
    pub fn panicked(&self) {
        self.server.panics.at(&[]).increment(1);
    }

    /// A connection is open for as long as the result lives.
    pub fn connection_opened(&self) -> Alive {
        Alive::new(self.server.open_connections.at(&[]))
    }

    /// A connection was closed.
    pub fn connection_closed(&self, reason: ConnectionClosed) {
        self.server
            .connections_closed
            .at(&[reason.index()])
            .increment(1);
    }

    /// A TLS handshake was refused.
    pub fn tls_refused(&self, cause: TlsRefused) {
        self.server.tls_refused.at(&[cause.index()]).increment(1);
    }

    /// Credentials were read again.
    pub fn credentials_reloaded(&self, kind: CredentialKind, result: CredentialReload) {
        self.server
            .credential_reloads
            .at(&[kind.index(), result.index()])
            .increment(1);
    }
}
