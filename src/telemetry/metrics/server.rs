//! Calls and connections: what came in, what was turned away, what broke.

use metrics::{Counter, Gauge};

use super::Metrics;
use super::family::{Axis, Family, Registry, count};
use crate::domain::trace::ProfileName;
use crate::domain::{Vocabulary as _, vocabulary};

vocabulary! {
    /// Why a call was turned away before it was looked at.
    "reason to shed a call"
    pub enum ShedReason {
        /// Too many traces are in flight.
        Overloaded = "overloaded",
        /// The server is draining.
        ShuttingDown = "shutting_down",
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
    }
}

/// Families about the server.
pub(super) struct ServerMetrics {
    diagnose_errors: Family<Counter>,
    rpc_requests: Family<Counter>,
    shed: Family<Counter>,
    inflight_traces: Family<Gauge>,
    panics: Family<Counter>,
    open_connections: Family<Gauge>,
    connections_closed: Family<Counter>,
}

impl ServerMetrics {
    pub(super) fn new(r: &Registry<'_>) -> Self {
        let codes = || Axis::named("code", r.names.codes.iter().copied());
        let build = r.info(
            "judge_cascade_build_info",
            "1 for the running version.",
            &["version"],
        );
        build.set(&[], env!("CARGO_PKG_VERSION"));
        Self {
            diagnose_errors: r.family(
                "judge_cascade_diagnose_errors_total",
                "Diagnose calls that ended in an error; without a profile where none is known.",
                vec![
                    r.profiles_or_none(),
                    codes(),
                    Axis::named("reason", r.names.error_reasons.iter().copied()),
                ],
            ),
            rpc_requests: r.family(
                "judge_cascade_rpc_requests_total",
                "Calls by method and status code; CANCELLED also for a caller that went away.",
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
}
