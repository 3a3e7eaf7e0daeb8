//! The numbers of the seed's nine rows, which were worked out apart from this program.

use std::fs;
use std::path::Path;

use judge_cascade::domain::dimension::Dimension;
use judge_cascade::report::json;
use judge_cascade::report::model::parity::ParityMode;
use judge_cascade::report::model::{Mode, Report, ReportVariant};

use crate::support::process::{fixture, run, stderr};

fn report(folder: &Path) -> Report {
    let out = folder.join("out");
    let (data, config) = (fixture("traces/parity.jsonl"), fixture("parity.toml"));
    let mut args = vec!["eval", "cascade", &data, "--config", &config];
    args.extend(["--mode", "all", "--parity", "--quiet", "--out"]);
    args.push(out.to_str().unwrap());
    let output = run(&args);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = fs::read_to_string(out.join("report.json")).unwrap();
    json::read("report.json", &text).unwrap()
}

/// Equal to the digits that are given.
#[track_caller]
fn check(value: f64, expected: f64, digits: i32) {
    let distance = (value - expected).abs();
    assert!(
        distance <= 0.5 * 10_f64.powi(-digits),
        "{value} is not {expected}"
    );
}

fn check_all(values: &[f64], expected: &[f64]) {
    assert_eq!(values.len(), expected.len());
    for (value, expected) in values.iter().zip(expected) {
        check(*value, *expected, 15);
    }
}

#[test]
fn the_golden_numbers_are_reproduced_to_their_digits() {
    let folder = tempfile::tempdir().unwrap();
    let parity = report(folder.path()).parity.unwrap();
    let confidences = [0.9, 0.9, 0.95, 0.9, 0.9, 0.5, 0.92, 0.92, 0.9];
    check_all(&parity.row_confidences, &confidences);
    let mode = |mode| -> &ParityMode { &parity.modes[&mode] };

    let atomic = mode(Mode::AtomicOnly);
    check(atomic.overall_accuracy, 1.0, 15);
    check(atomic.ece, 0.134444, 6);
    check(atomic.aurc, 0.0, 15);
    check(atomic.coverage[1], 0.8888888888888888, 15);
    for latency in [atomic.p50_ms, atomic.p95_ms, atomic.mean_ms] {
        check(latency.unwrap(), 15.0, 12);
    }
    check(atomic.cost_usd.unwrap(), 0.00054, 15);

    let baseline = mode(Mode::BaselineOnly);
    check(baseline.overall_accuracy, 0.8888888888888888, 15);
    check(baseline.ece, 0.223333, 6);
    check(baseline.aurc, 0.0262346, 7);
    check_all(&baseline.thresholds, &[0.5, 0.8, 0.9]);
    check_all(
        &baseline.coverage,
        &[1.0, 0.7777777777777778, 0.4444444444444444],
    );
    check_all(&baseline.risk, &[0.1111111111111111, 0.0, 0.0]);
    check(baseline.cost_usd.unwrap(), 0.000648, 15);

    let cascade = mode(Mode::Cascade);
    check(cascade.overall_accuracy, 1.0, 15);
    check(cascade.fallback_rate, 0.1111111111111111, 15);
    check(cascade.p50_ms.unwrap(), 15.0, 12);
    check(cascade.p95_ms.unwrap(), 29.4, 12);
    check(cascade.mean_ms.unwrap(), 17.6667, 4);
    check(cascade.cost_usd.unwrap(), 0.000612, 15);

    let components = [
        ("c1", 0.019722, 0.116667),
        ("c2", 0.035278, 0.172222),
        ("context_sufficiency", 0.030189, 0.132222),
        ("context_conflict", 0.012256, 0.072222),
        ("answer_relevance", 0.025278, 0.138889),
        ("groundedness", 0.029967, 0.141111),
        ("contradiction", 0.029522, 0.107778),
        ("correctness", 0.040625, 0.1625),
    ];
    assert_eq!(parity.components.len(), components.len());
    for (name, brier, ece) in components {
        let component = &parity.components[name];
        check(component.brier, brier, 6);
        check(component.ece, ece, 6);
        check(component.accuracy, 1.0, 15);
        assert_eq!(component.count, if name == "correctness" { 8 } else { 9 });
    }
}

#[test]
fn our_own_numbers_over_the_same_rows_are_those_of_the_definitions() {
    let folder = tempfile::tempdir().unwrap();
    let report = report(folder.path());
    assert_eq!(report.decision.variant, ReportVariant::Mixed);
    let cascade = report.modes.cascade.as_ref().unwrap();
    assert_eq!(cascade.diagnosis.overall_accuracy.value, Some(1.0));
    assert_eq!(cascade.fallback_rate.value, Some(1.0 / 9.0));
    // Nearest rank: the ninth of nine.
    assert_eq!(cascade.latency.all.p95_ms.value, Some(39.0));
    assert_eq!(cascade.cost.total_nano_usd, Some(612_000));
    assert_eq!(cascade.cost.per_row_nano_usd.value, Some(68_000.0));
    assert!(cascade.components.is_none());
    let atomic = report.modes.atomic_only.as_ref().unwrap();
    let components = atomic.components.as_ref().unwrap();
    let relevance = &components.retrieval[&Dimension::ChunkRelevance];
    assert_eq!(relevance.scored_count, 18);
    check(relevance.brier.value.unwrap(), 0.0275, 12);
    let baseline = report.modes.baseline_only.as_ref().unwrap();
    assert_eq!(baseline.diagnosis.accuracy.value, Some(8.0 / 9.0));
    assert!(baseline.components.is_none());
    let pair = &report.comparisons[0];
    assert_eq!(
        (pair.first, pair.second),
        (Mode::Cascade, Mode::BaselineOnly)
    );
    assert_eq!(
        (pair.first_only_right_count, pair.second_only_right_count),
        (1, 0)
    );
    assert_eq!(pair.mcnemar_p.value, Some(1.0));
    let told = report.cost_quality.as_ref().unwrap();
    let nano_usd = told.nano_usd.as_ref().unwrap();
    assert_eq!(
        (told.accepted[0], told.right[0], nano_usd[0]),
        (8, 9, 612_000)
    );
    assert_eq!(
        (told.accepted[91], told.right[91], nano_usd[91]),
        (3, 8, 972_000)
    );
    assert!(report.confident_and_wrong.is_empty());
}
