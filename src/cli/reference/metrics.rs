//! The reference of the metrics, from what is known at registration.

use std::collections::BTreeMap;

use anyhow::Context as _;

use super::{head, row};
use crate::app;
use crate::config::Config;
use crate::domain::Vocabulary as _;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::catalogue::{LabelValues, MetricInfo, Section};

const INTRODUCTION: &str = "\
# Metrics

`/metrics` on the admin port, in the Prometheus text format with classic buckets.
Label values come from closed sets and from the names of the configuration; nothing that a caller sends makes a series.
The tables are printed by `judge-cascade reference metrics`.
";

const VALUES: &str = "\
A label that is not listed here takes its values from the configuration (`profile`, `judge`), or shows ids and names \
of models, of which each metric keeps a bounded number.
";

/// The whole document.
pub(super) fn document() -> anyhow::Result<String> {
    let names = app::metric_names(&Config::default());
    let metrics = Metrics::catalogue(&names).context("cannot set metrics up")?;
    let mut text = INTRODUCTION.to_owned();
    for &section in Section::ALL {
        text += &format!("\n## {section}\n\n");
        text += &head(&["metric", "type", "labels", "meaning"]);
        for metric in metrics.iter().filter(|metric| metric.section == section) {
            let labels: Vec<&str> = metric.labels.iter().map(|label| label.name).collect();
            let labels = if labels.is_empty() {
                "-".to_owned()
            } else {
                labels.join(", ")
            };
            text += &row(&[
                &format!("`{}`", metric.name),
                metric.kind.name(),
                &labels,
                metric.help,
            ]);
        }
    }
    text += &format!("\n## Label values\n\n{VALUES}\n");
    text += &label_values(&metrics);
    Ok(text)
}

/// A row for each closed set of values, with the metrics that have it.
fn label_values(metrics: &[MetricInfo]) -> String {
    let mut sets: BTreeMap<(&str, &[String]), Vec<String>> = BTreeMap::new();
    for metric in metrics {
        for label in &metric.labels {
            if let LabelValues::Closed(values) = &label.values {
                let of = sets.entry((label.name, values)).or_default();
                of.push(format!("`{}`", metric.name));
            }
        }
    }
    let mut text = head(&["label", "of", "values"]);
    for ((label, values), of) in sets {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        text += &row(&[label, &of.join(", "), &values.join(", ")]);
    }
    text
}
