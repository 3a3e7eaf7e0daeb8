//! Info gauges: the one place where ids stand in labels.
//!
//! The series of the current value is 1 and those of earlier values are 0, so that a change is visible and joins work.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use metrics::{Gauge, Key, Label, Recorder as _};
use metrics_exporter_prometheus::PrometheusRecorder;

use super::family::METADATA;

/// Distinct values of one subject that get a series of their own; a judge that names a new model in every answer
/// would otherwise grow the series without end.
const MAX_VALUES: usize = 16;
/// The value of all further ones.
const OTHER: &str = "other";

/// Gauges that are 1 for the current value of each subject.
pub(super) struct Info {
    name: &'static str,
    labels: Vec<&'static str>,
    recorder: Arc<PrometheusRecorder>,
    subjects: Mutex<BTreeMap<Vec<String>, Subject>>,
}

#[derive(Default)]
struct Subject {
    current: Option<String>,
    gauges: BTreeMap<String, Gauge>,
}

impl Info {
    /// Gauges without series; `labels` names the subject first and the value last.
    pub(super) fn new(
        recorder: Arc<PrometheusRecorder>,
        name: &'static str,
        labels: Vec<&'static str>,
    ) -> Self {
        Self {
            name,
            labels,
            recorder,
            subjects: Mutex::new(BTreeMap::new()),
        }
    }

    /// Makes `value` the current value of `subject`.
    pub(super) fn set(&self, subject: &[&str], value: &str) {
        let mut subjects = self.subjects.lock().unwrap_or_else(PoisonError::into_inner);
        let key: Vec<String> = subject.iter().map(|&part| part.to_owned()).collect();
        let entry = subjects.entry(key).or_default();
        if entry.current.as_deref() == Some(value) {
            return;
        }
        let shown = if entry.gauges.len() < MAX_VALUES || entry.gauges.contains_key(value) {
            value
        } else {
            OTHER
        };
        for gauge in entry.gauges.values() {
            gauge.set(0.0);
        }
        if shown == OTHER && !entry.gauges.contains_key(OTHER) {
            let (metric, of) = (self.name, subject.join(", "));
            tracing::warn!(
                metric,
                of,
                "has too many values; further ones are told as `{OTHER}`"
            );
        }
        let gauge = entry
            .gauges
            .entry(shown.to_owned())
            .or_insert_with(|| self.series(subject, shown));
        gauge.set(1.0);
        entry.current = Some(value.to_owned());
    }

    fn series(&self, subject: &[&str], value: &str) -> Gauge {
        let values = subject.iter().copied().chain([value]);
        let labels: Vec<Label> = self
            .labels
            .iter()
            .zip(values)
            .map(|(label, value)| Label::new(*label, value.to_owned()))
            .collect();
        self.recorder
            .register_gauge(&Key::from_parts(self.name, labels), &METADATA)
    }
}
