//! The references of the documentation are what the code prints, and the catalogue is what is served.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use judge_cascade::app;
use judge_cascade::config::Config;
use judge_cascade::telemetry::metrics::Metrics;
use judge_cascade::telemetry::metrics::catalogue::{LabelValues, MetricInfo, MetricKind};

use crate::support::process::{run, stderr, stdout};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every metric of the program.
pub(crate) fn catalogue() -> Vec<MetricInfo> {
    Metrics::catalogue(&app::metric_names(&Config::default())).unwrap()
}

#[track_caller]
fn is_printed_by(document: &str, reference: &str) {
    let output = run(&["reference", reference]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let written = fs::read_to_string(root().join(document)).unwrap_or_default();
    let printed = stdout(&output);
    let differs = printed
        .lines()
        .zip(written.lines())
        .position(|(printed, written)| printed != written);
    assert!(
        printed == written,
        "{document} is not what the code says, from line {} on; write it anew:\n\
         cargo run -- reference {reference} >{document}",
        1 + differs.unwrap_or_else(|| printed.lines().count().min(written.lines().count())),
    );
}

#[test]
fn the_reference_of_the_metrics_is_what_the_code_says() {
    is_printed_by("docs/metrics.md", "metrics");
}

#[test]
fn the_reference_of_the_gate_is_what_the_code_says() {
    is_printed_by("docs/gate.md", "gate");
}

#[test]
fn the_reference_of_the_configuration_is_what_the_code_says() {
    is_printed_by("docs/configuration.md", "config");
}

/// Whether a series of this name exists.
pub(crate) fn is_series_of(metric: &MetricInfo, name: &str) -> bool {
    match metric.kind {
        MetricKind::Counter | MetricKind::Gauge => metric.name == name,
        MetricKind::Histogram => {
            let suffix = name.strip_prefix(metric.name);
            suffix.is_some_and(|suffix| ["_bucket", "_sum", "_count"].contains(&suffix))
        }
    }
}

/// Words that look like metrics and are packages.
pub(crate) const NO_METRICS: [&str; 1] = ["judge_cascade_client"];

/// What `/metrics` shows is what the catalogue tells, for the metrics that are there before the first call.
#[test]
fn what_is_served_is_what_the_catalogue_tells() {
    let config = Config::default();
    let metrics = Metrics::new(&app::metric_names(&config)).unwrap();
    metrics.bounds_loaded(config.time.deadline, config.server.max_in_flight_traces);
    let text = metrics.render();
    let catalogue = catalogue();
    let mut count = 0;
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        let metric = catalogue.iter().find(|metric| metric.name == name);
        let metric = metric.unwrap_or_else(|| panic!("`{name}` is not in the catalogue"));
        assert_eq!(metric.kind.to_string(), kind, "{name}");
        let help = format!("# HELP {name} {}\n", metric.help);
        assert!(text.contains(&help), "{help}");
        count += 1;
    }
    assert!(15 < count, "only {count} metrics");
    assert!(
        text.contains("\njudge_cascade_deadline_seconds 3\n"),
        "{text}"
    );
    assert!(text.contains("\njudge_cascade_inflight_traces_limit 256\n"));
    assert!(text.contains("judge_cascade_build_info{version=\""));
    assert!(text.contains("\",revision=\""));
}

#[test]
fn every_metric_is_named_and_explained_by_the_rules() {
    let catalogue = catalogue();
    let names: BTreeSet<_> = catalogue.iter().map(|metric| metric.name).collect();
    assert_eq!(names.len(), catalogue.len(), "a name stands twice");
    for metric in &catalogue {
        let name = metric.name;
        assert!(name.starts_with("judge_cascade_"), "{name}");
        let is_counter = metric.kind == MetricKind::Counter;
        assert_eq!(name.ends_with("_total"), is_counter, "{name}");
        let help = metric.help;
        assert!(
            help.ends_with('.') && !help.contains('\n'),
            "{name}: {help}"
        );
        assert!(!help.contains("  "), "{name}: {help}");
        for label in &metric.labels {
            if let LabelValues::Closed(values) = &label.values {
                assert!(!values.is_empty(), "{name}: {}", label.name);
            }
        }
    }
}
