//! Metric families over closed label sets.
//!
//! Every label of a family takes its values from a vocabulary or from names that the configuration closes, so the
//! number of series is known before the first request, and a handle is looked up in an array and never by hashing.

use std::sync::{Arc, OnceLock};

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder};
use metrics_exporter_prometheus::PrometheusRecorder;

use super::MetricNames;
use super::catalogue::{Catalogue, LabelInfo, LabelValues, MetricInfo, MetricKind, Section};
use super::info::Info;
use crate::domain::Vocabulary;

/// What the exporter is told about every metric; it uses none of it.
pub(super) const METADATA: Metadata<'static> = Metadata::new(module_path!(), Level::INFO, None);

/// Registers the families of one section.
pub(super) struct Registry<'a> {
    pub(super) recorder: &'a Arc<PrometheusRecorder>,
    pub(super) names: &'a MetricNames,
    pub(super) section: Section,
    pub(super) catalogue: &'a Catalogue,
}

/// One metric with a handle for each combination of its labels.
pub(super) struct Family<H> {
    name: &'static str,
    axes: Vec<Axis>,
    handles: Vec<OnceLock<H>>,
    recorder: Arc<PrometheusRecorder>,
}

/// One label and all values that it can take.
pub(super) struct Axis {
    label: &'static str,
    values: Vec<String>,
    origin: Origin,
}

/// Where the values of a label come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// From the program.
    Code,
    /// From the configuration.
    Configuration,
    /// From outside.
    Outside,
}

/// A kind of metric that a recorder can register.
pub(super) trait Handle: Sized {
    /// How it counts.
    const KIND: MetricKind;
    /// Registers one series.
    fn register(recorder: &PrometheusRecorder, key: &Key) -> Self;
    /// Publishes the help of a family.
    fn describe(recorder: &PrometheusRecorder, name: &'static str, help: &'static str);
}

impl Registry<'_> {
    /// A family whose series appear with their first event.
    pub(super) fn family<H: Handle>(
        &self,
        name: &'static str,
        help: &'static str,
        axes: Vec<Axis>,
    ) -> Family<H> {
        H::describe(self.recorder, name, help);
        self.note(H::KIND, name, help, &axes);
        let size = axes.iter().map(|axis| axis.values.len()).product();
        let handles = std::iter::repeat_with(OnceLock::new).take(size).collect();
        Family {
            name,
            axes,
            handles,
            recorder: Arc::clone(self.recorder),
        }
    }

    /// A family whose series are all present from the start, so that a rate over them begins at zero.
    pub(super) fn present<H: Handle>(
        &self,
        name: &'static str,
        help: &'static str,
        axes: Vec<Axis>,
    ) -> Family<H> {
        let family = self.family(name, help, axes);
        for index in 0..family.handles.len() {
            family.series(index);
        }
        family
    }

    /// Gauges over ids; `axes` name the subject first and the value last.
    pub(super) fn info(&self, name: &'static str, help: &'static str, axes: &[Axis]) -> Info {
        Gauge::describe(self.recorder, name, help);
        self.note(MetricKind::Gauge, name, help, axes);
        let labels = axes.iter().map(|axis| axis.label).collect();
        Info::new(Arc::clone(self.recorder), name, labels)
    }

    fn note(&self, kind: MetricKind, name: &'static str, help: &'static str, axes: &[Axis]) {
        self.catalogue.add(MetricInfo {
            name,
            kind,
            labels: axes.iter().map(Axis::told).collect(),
            help,
            section: self.section,
        });
    }

    /// The profiles of the configuration.
    pub(super) fn profiles(&self) -> Axis {
        Axis::configured("profile", &self.names.profiles)
    }

    /// The same, or none: an empty label is no label, so that what names no known profile makes no series for it.
    pub(super) fn profiles_or_none(&self) -> Axis {
        let mut axis = self.profiles();
        axis.values.push(String::new());
        axis
    }

    /// The judges of the configuration.
    pub(super) fn judges(&self) -> Axis {
        Axis::configured("judge", &self.names.judges)
    }
}

impl Axis {
    /// A label whose values are a vocabulary.
    pub(super) fn of<V: Vocabulary>(label: &'static str) -> Self {
        Self::named(label, V::ALL.iter().map(|value| value.name()))
    }

    /// A label whose values are these.
    pub(super) fn named<S: Into<String>>(
        label: &'static str,
        values: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            label,
            values: values.into_iter().map(Into::into).collect(),
            origin: Origin::Code,
        }
    }

    /// A label of an info gauge whose values are not known before they come.
    pub(super) const fn ids(label: &'static str) -> Self {
        Self {
            label,
            values: Vec::new(),
            origin: Origin::Outside,
        }
    }

    fn configured(label: &'static str, names: &[impl ToString]) -> Self {
        Self {
            origin: Origin::Configuration,
            ..Self::named(label, names.iter().map(ToString::to_string))
        }
    }

    fn told(&self) -> LabelInfo {
        let values = match self.origin {
            Origin::Code => LabelValues::Closed(self.values.clone()),
            Origin::Configuration => LabelValues::Configured,
            Origin::Outside => LabelValues::Ids,
        };
        LabelInfo {
            name: self.label,
            values,
        }
    }

    fn place(&self, value: &str) -> Option<usize> {
        self.values.iter().position(|known| known == value)
    }
}

impl<H: Handle> Family<H> {
    /// The series at these places of its labels.
    pub(super) fn at(&self, places: &[usize]) -> &H {
        debug_assert_eq!(places.len(), self.axes.len(), "{}", self.name);
        self.series(self.index(0, 0, places))
    }

    /// The series whose first label has this value and whose others stand at these places; `None` if the value is not
    /// one that the label can take.
    pub(super) fn named(&self, first: &str, others: &[usize]) -> Option<&H> {
        debug_assert_eq!(1 + others.len(), self.axes.len(), "{}", self.name);
        let start = self.place(0, first)?;
        Some(self.series(self.index(start, 1, others)))
    }

    /// The place of a value of one of the labels, if that label can take it.
    pub(super) fn place(&self, axis: usize, value: &str) -> Option<usize> {
        self.axes.get(axis)?.place(value)
    }

    fn index(&self, start: usize, first_axis: usize, places: &[usize]) -> usize {
        let axes = &self.axes[first_axis..];
        places.iter().zip(axes).fold(start, |index, (place, axis)| {
            index * axis.values.len() + place
        })
    }

    fn series(&self, index: usize) -> &H {
        self.handles[index].get_or_init(|| {
            let mut rest = index;
            let mut labels: Vec<Label> = self
                .axes
                .iter()
                .rev()
                .map(|axis| {
                    let value = &axis.values[rest % axis.values.len()];
                    rest /= axis.values.len();
                    Label::new(axis.label, value.clone())
                })
                .collect();
            labels.reverse();
            H::register(&self.recorder, &Key::from_parts(self.name, labels))
        })
    }
}

/// Counts of traces, chunks and tokens stay far below 2^52, so nothing is lost.
pub(super) const fn as_f64(count: usize) -> f64 {
    count as f64
}

/// Counts one more, where there is a series for it.
pub(super) fn count(counter: Option<&Counter>) {
    if let Some(counter) = counter {
        counter.increment(1);
    }
}

/// More than any one call uses or costs. A counter that took what is reported beyond it would soon begin anew.
const MOST: u64 = 1 << 44;

/// Adds what is known and can be, where there is a series for it.
pub(super) fn add(counter: Option<&Counter>, amount: Option<u64>) {
    if let (Some(counter), Some(amount)) = (counter, amount.filter(|amount| *amount <= MOST)) {
        counter.increment(amount);
    }
}

impl Handle for Counter {
    const KIND: MetricKind = MetricKind::Counter;

    fn register(recorder: &PrometheusRecorder, key: &Key) -> Self {
        recorder.register_counter(key, &METADATA)
    }

    fn describe(recorder: &PrometheusRecorder, name: &'static str, help: &'static str) {
        recorder.describe_counter(name.into(), None, help.into());
    }
}

impl Handle for Gauge {
    const KIND: MetricKind = MetricKind::Gauge;

    fn register(recorder: &PrometheusRecorder, key: &Key) -> Self {
        recorder.register_gauge(key, &METADATA)
    }

    fn describe(recorder: &PrometheusRecorder, name: &'static str, help: &'static str) {
        recorder.describe_gauge(name.into(), None, help.into());
    }
}

impl Handle for Histogram {
    const KIND: MetricKind = MetricKind::Histogram;

    fn register(recorder: &PrometheusRecorder, key: &Key) -> Self {
        recorder.register_histogram(key, &METADATA)
    }

    fn describe(recorder: &PrometheusRecorder, name: &'static str, help: &'static str) {
        recorder.describe_histogram(name.into(), None, help.into());
    }
}
