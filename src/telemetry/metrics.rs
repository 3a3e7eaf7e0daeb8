//! Prometheus metrics: every name, every label, every bucket.
//!
//! [`Metrics`] is built once, passed as `Arc` and never global; an event of the program is one of its methods, in the
//! module of its subject.
//! Label values come from vocabularies and from the names of the configuration, so the number of series is bounded.

pub mod catalogue;
pub mod diagnosis;
pub mod egress;
pub mod judges;
pub mod money;
pub mod server;

mod family;
mod info;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use self::catalogue::{Catalogue, MetricInfo, Section};
use self::diagnosis::DiagnosisMetrics;
use self::egress::EgressMetrics;
use self::family::Registry;
use self::judges::JudgeMetrics;
use self::money::MoneyMetrics;
use self::server::ServerMetrics;
use crate::domain::trace::{JudgeId, ProfileName};

/// Latencies in seconds.
const LATENCY_BUCKETS: [f64; 15] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];
/// Time that the program itself adds, in seconds.
const OVERHEAD_BUCKETS: [f64; 12] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5,
];
/// Probabilities, finer at both ends where decisions are made.
const PROBABILITY_BUCKETS: [f64; 16] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0,
];
/// Chunks of a trace.
const CHUNK_BUCKETS: [f64; 9] = [0.0, 1.0, 2.0, 3.0, 5.0, 8.0, 16.0, 32.0, 64.0];
/// Tokens of a trace.
const TOKEN_BUCKETS: [f64; 9] = [
    64.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0, 65536.0,
];

/// The buckets of every histogram; without them the exporter would render summaries, which cannot be added up over a
/// fleet.
const BUCKETS: [(&str, &[f64]); 6] = [
    ("judge_cascade_diagnose_duration_seconds", &LATENCY_BUCKETS),
    (
        "judge_cascade_judge_request_duration_seconds",
        &LATENCY_BUCKETS,
    ),
    ("judge_cascade_overhead_seconds", &OVERHEAD_BUCKETS),
    ("judge_cascade_atomic_probability", &PROBABILITY_BUCKETS),
    ("judge_cascade_trace_chunks", &CHUNK_BUCKETS),
    ("judge_cascade_trace_input_tokens", &TOKEN_BUCKETS),
];

/// The handles of all metrics of one process.
pub struct Metrics {
    handle: PrometheusHandle,
    diagnosis: DiagnosisMetrics,
    judges: JudgeMetrics,
    egress: EgressMetrics,
    money: MoneyMetrics,
    server: ServerMetrics,
    /// Traces and calls that left samples.
    sampled: AtomicU64,
}

/// After so many traces and calls their samples are folded, whether or not anybody scrapes.
const FOLD_EVERY: u64 = 4_096;

/// What closes the open label sets.
#[derive(Debug, Clone, Default)]
pub struct MetricNames {
    /// The profiles of the configuration.
    pub profiles: Vec<ProfileName>,
    /// The judges of the configuration.
    pub judges: Vec<JudgeId>,
    /// The methods of the service, as `Service/Method`.
    pub methods: Vec<&'static str>,
    /// The names of the status codes.
    pub codes: Vec<&'static str>,
    /// The reasons of errors.
    pub error_reasons: Vec<&'static str>,
}

impl Metrics {
    /// Registers every metric for one configuration.
    pub fn new(names: &MetricNames) -> Result<Arc<Self>, BuildError> {
        Ok(Arc::new(Self::register(names, &Catalogue::default())?))
    }

    /// What is known about every metric, in the order of registration.
    pub fn catalogue(names: &MetricNames) -> Result<Vec<MetricInfo>, BuildError> {
        let catalogue = Catalogue::default();
        Self::register(names, &catalogue)?;
        Ok(catalogue.into_metrics())
    }

    fn register(names: &MetricNames, catalogue: &Catalogue) -> Result<Self, BuildError> {
        let builder =
            BUCKETS
                .into_iter()
                .try_fold(PrometheusBuilder::new(), |builder, (name, bounds)| {
                    builder.set_buckets_for_metric(Matcher::Full(name.to_owned()), bounds)
                })?;
        let recorder = Arc::new(builder.build_recorder());
        let registry = |section| Registry {
            recorder: &recorder,
            names,
            section,
            catalogue,
        };
        Ok(Self {
            handle: recorder.handle(),
            diagnosis: DiagnosisMetrics::new(&registry(Section::Diagnoses)),
            judges: JudgeMetrics::new(&registry(Section::Judges)),
            egress: EgressMetrics::new(&registry(Section::Judges)),
            money: MoneyMetrics::new(&registry(Section::Money)),
            server: ServerMetrics::new(&registry(Section::Server)),
            sampled: AtomicU64::new(0),
        })
    }

    /// The metrics in the Prometheus text format.
    pub fn render(&self) -> String {
        self.handle.render()
    }

    /// Folds recorded samples into buckets; call it every few seconds, so that they do not pile up between scrapes.
    pub fn run_upkeep(&self) {
        self.handle.run_upkeep();
    }

    /// Samples were recorded; where there is no server, as in an evaluation, nobody else folds them.
    fn sampled(&self) {
        if self.sampled.fetch_add(1, Ordering::Relaxed) % FOLD_EVERY == FOLD_EVERY - 1 {
            self.run_upkeep();
        }
    }
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}
