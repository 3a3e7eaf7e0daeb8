//! What is known about every metric, as data: the reference and the tests of `deploy/` read it.
//!
//! It is written down at registration and nowhere else, so it cannot differ from what is served.

use std::cell::RefCell;

use crate::domain::vocabulary;

vocabulary! {
    /// What a metric is about.
    "section of the metrics"
    pub enum Section {
        /// Diagnoses and traces.
        Diagnoses = "Diagnoses",
        /// Judges and the way to them.
        Judges = "Judges",
        /// What is spent and spared.
        Money = "Money",
        /// Calls, connections and the process.
        Server = "Server",
    }
}

vocabulary! {
    /// How a metric counts.
    "type of a metric"
    pub enum MetricKind {
        /// It only grows.
        Counter = "counter",
        /// It goes up and down.
        Gauge = "gauge",
        /// It counts in buckets.
        Histogram = "histogram",
    }
}

/// One metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricInfo {
    /// Its name; a histogram has three series, `_bucket`, `_sum` and `_count`.
    pub name: &'static str,
    /// How it counts.
    pub kind: MetricKind,
    /// Its labels in their order.
    pub labels: Vec<LabelInfo>,
    /// What it means, as `/metrics` says it too.
    pub help: &'static str,
    /// What it is about.
    pub section: Section,
}

/// One label of a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelInfo {
    /// Its name.
    pub name: &'static str,
    /// The values that it can take.
    pub values: LabelValues,
}

/// The values that a label can take.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum LabelValues {
    /// These and no others.
    Closed(Vec<String>),
    /// The names of the configuration.
    Configured,
    /// Ids and names from outside, of which each metric keeps a bounded number.
    Ids,
}

/// Where registration writes its metrics down.
#[derive(Debug, Default)]
pub(super) struct Catalogue(RefCell<Vec<MetricInfo>>);

impl Catalogue {
    pub(super) fn add(&self, metric: MetricInfo) {
        self.0.borrow_mut().push(metric);
    }

    pub(super) fn into_metrics(self) -> Vec<MetricInfo> {
        self.0.into_inner()
    }
}
