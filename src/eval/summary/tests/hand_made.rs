//! Eight rows in all modes.

use super::*;
use crate::report::model::ReportVariant;
use crate::report::model::quality::BinaryReport;
use crate::stats::Absent;

/// Three automatic rows of which one is right, one that the fallback judge gets right, one that no judge answers in
/// time, one without a label, one that is not assessable, and one that is labelled so.
pub(super) fn rows() -> Vec<Row> {
    let asked = |index, label| Row {
        atomic: Some(leg("quick", 15, Some(60))),
        baseline: Some(leg("slow", 24, Some(100))),
        ..row(index, label)
    };
    let slow = leg("slow", 24, Some(100));
    let late = leg("slow", 1000, None);
    let (pass, miss) = (Diagnosis::Pass, Diagnosis::RetrievalMiss);
    let bad = Diagnosis::GeneratorUngrounded;
    let same = |end: End, baseline| [end.clone(), baseline, end];
    vec![
        with_ends(
            asked(0, Some(pass)),
            same(auto(pass, 0.9), by_fallback(pass, 0.8)),
        ),
        with_ends(
            asked(1, Some(pass)),
            same(auto(bad, 0.95), by_fallback(pass, 0.7)),
        ),
        with_ends(
            asked(2, Some(miss)),
            same(auto(pass, 0.9), by_fallback(miss, 0.9)),
        ),
        Row {
            fallback: Some(slow),
            ..with_ends(
                asked(3, Some(miss)),
                [uncertain(), by_fallback(miss, 0.6), by_fallback(miss, 0.6)],
            )
        },
        Row {
            fallback: Some(late.clone()),
            baseline: Some(late),
            ..with_ends(asked(4, Some(pass)), [uncertain(), failed(), failed()])
        },
        with_ends(
            asked(5, None),
            same(auto(pass, 0.85), by_fallback(pass, 0.6)),
        ),
        with_ends(row(6, Some(pass)), same(not_assessable(), not_assessable())),
        with_ends(
            asked(7, Some(Diagnosis::NotAssessable)),
            same(auto(pass, 0.9), by_fallback(pass, 0.9)),
        ),
    ]
}

fn binary_counts(report: &BinaryReport) -> [u64; 4] {
    [
        report.true_positive_count,
        report.false_positive_count,
        report.true_negative_count,
        report.false_negative_count,
    ]
}

#[test]
fn r4_a_failure_counts_as_wrong_overall_and_is_left_out_of_the_answered() {
    let (report, _) = report_of(header(&ALL), &rows());
    let cascade = report.modes.cascade.unwrap();
    assert_eq!(cascade.row_count, 8);
    assert_eq!(cascade.failed_count, 1);
    assert_eq!(
        cascade.failures,
        BTreeMap::from([(FailureReason::Timeout, 1)])
    );
    assert_eq!(cascade.failure_rate.value, Some(1.0 / 7.0));
    let diagnosis = cascade.diagnosis;
    assert_eq!(
        (
            diagnosis.scored_count,
            diagnosis.failed_count,
            diagnosis.unlabelled_count
        ),
        (4, 1, 2)
    );
    assert_eq!(diagnosis.accuracy.value, Some(0.5));
    assert_eq!(diagnosis.overall_accuracy.value, Some(0.4));
    let baseline = report.modes.baseline_only.unwrap().diagnosis;
    assert_eq!(baseline.accuracy.value, Some(1.0));
    assert_eq!(baseline.overall_accuracy.value, Some(0.8));
}

#[test]
fn r28_rows_that_cannot_be_judged_are_in_no_rate_and_counted() {
    let (report, _) = report_of(header(&ALL), &rows());
    let cascade = report.modes.cascade.unwrap();
    assert_eq!(cascade.not_assessable_count, 1);
    assert_eq!(cascade.coverage.value, Some(5.0 / 7.0));
    assert_eq!(cascade.fallback_rate.value, Some(2.0 / 7.0));
    assert_eq!(
        cascade.routes,
        BTreeMap::from([
            (Route::Auto, 5),
            (Route::Fallback, 1),
            (Route::FallbackUnavailable, 1)
        ])
    );
    assert_eq!(
        cascade.fallback_unavailable,
        BTreeMap::from([(FallbackUnavailableReason::Deadline, 1)])
    );
}

#[test]
fn r42_a_sum_with_an_unknown_part_is_absent_and_the_known_part_stands_beside() {
    let (report, _) = report_of(header(&ALL), &rows());
    let cost = report.modes.cascade.unwrap().cost;
    assert_eq!(cost.total_nano_usd, None);
    assert_eq!(cost.per_row_nano_usd.absent, Some(Absent::Unknown));
    assert_eq!((cost.first.row_count, cost.first.nano_usd), (7, Some(420)));
    assert_eq!((cost.row_count, cost.unknown_count), (7, 1));
    let second = cost.second;
    assert_eq!((second.row_count, second.unknown_count), (2, 1));
    assert_eq!((second.nano_usd, second.known_nano_usd), (None, 100));
    assert_eq!(
        (second.input_token_count, second.output_token_count),
        (40, 8)
    );
    assert_eq!(second.untold_count, 1);
    let atomic = report.modes.atomic_only.unwrap().cost;
    assert_eq!(atomic.total_nano_usd, Some(420));
    assert_eq!(atomic.second.nano_usd, Some(0));
    assert_eq!(atomic.per_row_nano_usd.value, Some(60.0));
    let pair = &report.comparisons[0];
    assert_eq!(pair.cost_difference_nano_usd.absent, Some(Absent::Unknown));
    assert_eq!(report.cost_quality.unwrap().nano_usd, None);
}

#[test]
fn diagnoses_are_counted_by_class_by_side_and_by_band() {
    let (report, _) = report_of(header(&ALL), &rows());
    let cascade = report.modes.cascade.unwrap();
    let diagnosis = cascade.diagnosis;
    assert_eq!(
        diagnosis.confusion.labels,
        [
            Diagnosis::Pass,
            Diagnosis::RetrievalMiss,
            Diagnosis::GeneratorUngrounded
        ]
    );
    assert_eq!(
        diagnosis.confusion.counts,
        [vec![1, 0, 1], vec![1, 1, 0], vec![0, 0, 0]]
    );
    assert_eq!(diagnosis.confusion.failed, [1, 0, 0]);
    let pass = &diagnosis.classes[&Diagnosis::Pass];
    assert_eq!(
        (pass.support, pass.predicted_count, pass.true_positive_count),
        (2, 2, 1)
    );
    assert_eq!(pass.f1.value, Some(0.5));
    assert_eq!(diagnosis.balanced_accuracy.value, Some(0.5));
    assert_eq!(binary_counts(&diagnosis.failing), [1, 1, 1, 1]);
    assert_eq!(diagnosis.false_pass.value, Some(0.5));
    // Given as failing: row 1 of the atomic judge, wrongly, and row 3 of the fallback judge.
    assert_eq!(diagnosis.false_fail.value, Some(0.5));
    let band = cascade.band.unwrap();
    assert_eq!((band.labelled_count, band.answered_count), (2, 1));
    assert_eq!(band.error.value, Some(0.0));
    assert_eq!(band.decided_error.value, Some(2.0 / 3.0));
    let atomic = report.modes.atomic_only.unwrap();
    assert_eq!(atomic.diagnosis.accuracy.value, Some(0.2));
    assert_eq!(binary_counts(&atomic.diagnosis.failing), [0, 1, 1, 1]);
    assert_eq!(atomic.diagnosis.confidence.scored_count, 3);
    assert_eq!(atomic.diagnosis.confidence.without_confidence_count, 2);
    assert_eq!(atomic.band, None);
    let baseline = report.modes.baseline_only.unwrap();
    assert_eq!(baseline.diagnosis.false_pass.value, Some(0.0));
    assert_eq!(baseline.coverage.value, Some(0.0));
}

#[test]
fn confidences_are_held_against_being_right() {
    let (report, _) = report_of(header(&ALL), &rows());
    let confidence = report.modes.cascade.unwrap().diagnosis.confidence;
    // .9 right, .95 wrong, .9 wrong, .6 right: bins .9-1 with mean 2.75/3 and rate 1/3, .6-.7 with .6 and 1.
    let ece = 0.75 * (2.75 / 3.0 - 1.0 / 3.0) + 0.25 * 0.4;
    assert!((confidence.calibration.ece.value.unwrap() - ece).abs() < 1e-12);
    assert_eq!(
        confidence.calibration.mce_of_ten.absent,
        Some(Absent::Empty)
    );
    let at = |threshold: f64| {
        let points = &confidence.selective.thresholds;
        let found = points
            .iter()
            .find(|point| (point.threshold - threshold).abs() < 1e-12);
        let point = found.unwrap();
        (point.accepted_count, point.wrong_count)
    };
    assert_eq!(
        [at(0.5), at(0.9), at(0.95), at(1.0)],
        [(4, 2), (3, 2), (1, 1), (0, 0)]
    );
    let curve = &confidence.selective.curve;
    let shown: Vec<_> = curve
        .iter()
        .map(|point| (point.confidence, point.coverage, point.risk))
        .collect();
    assert_eq!(
        shown,
        [(0.95, 0.2, 1.0), (0.9, 0.6, 2.0 / 3.0), (0.6, 0.8, 0.5)]
    );
    // Prefix risks: 1; then two tied rows with one wrong: (1 + .5) / 2 and 2 / 3; then 2 / 4.
    let aurc = (1.0 + 0.75 + 2.0 / 3.0 + 0.5) / 4.0;
    assert!((confidence.selective.aurc.value.unwrap() - aurc).abs() < 1e-12);
    assert_eq!(confidence.calibration.reliability.len(), 10);
    assert_eq!(confidence.calibration.reliability[9].count, 3);
}

#[test]
fn latencies_add_up_where_one_call_waits_for_another() {
    let (report, _) = report_of(header(&ALL), &rows());
    let latency = report.modes.cascade.unwrap().latency;
    assert_eq!(latency.all.count, 7);
    assert_eq!(latency.all.p50_ms.value, Some(15.0));
    assert_eq!(latency.all.p95_ms.value, Some(1015.0));
    assert_eq!(latency.all.max_ms.value, Some(1015.0));
    let mean = latency.all.mean_ms.value.unwrap();
    assert!((mean - 1129.0 / 7.0).abs() < 1e-9);
    assert_eq!(latency.routes[&Route::Auto].count, 5);
    assert_eq!(latency.routes[&Route::Fallback].p50_ms.value, Some(39.0));
}

#[test]
fn modes_are_compared_on_the_rows_that_both_scored() {
    let (report, _) = report_of(header(&ALL), &rows());
    let pairs: Vec<_> = report
        .comparisons
        .iter()
        .map(|pair| (pair.first, pair.second))
        .collect();
    assert_eq!(
        pairs,
        [
            (Mode::Cascade, Mode::BaselineOnly),
            (Mode::Cascade, Mode::AtomicOnly),
            (Mode::AtomicOnly, Mode::BaselineOnly)
        ]
    );
    let pair = &report.comparisons[0];
    assert_eq!((pair.row_count, pair.block_count), (5, 5));
    assert_eq!(
        (pair.first_only_right_count, pair.second_only_right_count),
        (0, 2)
    );
    assert_eq!(pair.mcnemar_p.value, Some(0.5));
    assert_eq!(pair.accuracy_difference.value, Some(-0.4));
    assert_eq!(pair.accuracy_difference.high, Some(0.0));
    // F1 of what is not a PASS: 2 / (2 + 1 + 1) against 1.
    assert_eq!(pair.f1_difference.value, Some(-0.5));
    assert_eq!(pair.p50_difference_ms.value, Some(15.0 - 24.0));
    let other = &report.comparisons[1];
    assert_eq!(
        (other.first_only_right_count, other.second_only_right_count),
        (1, 0)
    );
}

#[test]
fn thresholds_on_the_confidence_tell_cost_and_quality() {
    let mut rows = rows();
    let (report, _) = report_of(header(&ALL), &rows);
    let told = report.cost_quality.unwrap();
    assert_eq!(told.row_count, 5);
    assert_eq!(told.accepted.len(), 101);
    let at = |list: &[u64]| [list[0], list[90], list[91], list[95], list[96], list[100]];
    assert_eq!(at(&told.accepted), [3, 3, 1, 1, 0, 0]);
    assert_eq!(at(&told.accepted_wrong), [2, 2, 1, 1, 0, 0]);
    assert_eq!(at(&told.right), [2, 2, 3, 3, 4, 4]);
    assert!((told.mean_latency_ms[0] - (75.0 + 24.0 + 1000.0) / 5.0).abs() < 1e-9);
    assert!((told.mean_latency_ms[100] - (75.0 + 4.0 * 24.0 + 1000.0) / 5.0).abs() < 1e-9);
    if let Some(baseline) = &mut rows[4].baseline {
        baseline.nano_usd = Some(1);
    }
    let (report, _) = report_of(header(&ALL), &rows);
    let nano_usd = report.cost_quality.unwrap().nano_usd.unwrap();
    assert_eq!(
        [nano_usd[0], nano_usd[90], nano_usd[91], nano_usd[96]],
        [401, 401, 601, 701]
    );
}

#[test]
fn what_is_confident_and_wrong_is_listed_once_and_the_surest_first() {
    let (report, _) = report_of(header(&ALL), &rows());
    let listed = report.confident_and_wrong.iter();
    let listed: Vec<_> = listed
        .map(|wrong| {
            (
                wrong.index,
                wrong.mode,
                wrong.given,
                wrong.expected,
                wrong.confidence,
            )
        })
        .collect();
    let (pass, miss) = (Diagnosis::Pass, Diagnosis::RetrievalMiss);
    let bad = Diagnosis::GeneratorUngrounded;
    assert_eq!(
        listed,
        [
            (1, Mode::Cascade, bad, pass, Some(0.95)),
            (2, Mode::Cascade, pass, miss, Some(0.9))
        ]
    );
    assert_eq!(report.confident_and_wrong_left_out, 0);
}

#[test]
fn a_report_names_its_inputs_its_models_and_its_slices() {
    let (report, drawn) = report_of(header(&ALL), &rows());
    assert_eq!(report.decision.variant, ReportVariant::WithReference);
    assert_eq!(
        report.decision.id.as_deref(),
        Some("judge-cascade.rag.with-reference")
    );
    assert_eq!(report.judges[0].returned_models, ["quick-v1"]);
    assert_eq!(report.judges[1].returned_models, ["slow-v1"]);
    assert_eq!(report.slices_left_out, 3);
    let even = &report.slices["tag=even"];
    assert_eq!(even.row_count, 4);
    let cascade = even.modes.cascade.as_ref().unwrap();
    // Rows 0 (right), 2 (wrong), 4 (failed) and 6 (not assessable).
    assert_eq!(cascade.diagnosis.overall_accuracy.value, Some(1.0 / 3.0));
    assert!(cascade.diagnosis.confidence.selective.curve.is_empty());
    assert!(
        cascade
            .diagnosis
            .confidence
            .calibration
            .reliability
            .is_empty()
    );
    assert_eq!(
        cascade.diagnosis.confidence.calibration.ece_noise_floor,
        None
    );
    assert_eq!(report.slices["tag=none"].row_count, 0);
    assert_eq!(drawn.len(), 8);
    assert_eq!(drawn[4].ends[&Mode::Cascade].diagnosis, None);
    assert!((drawn[4].ends[&Mode::Cascade].latency_ms - 1015.0).abs() < 1e-12);
    assert_eq!(drawn[3].ends[&Mode::Cascade].nano_usd, Some(160));
    let mut mixed = rows();
    mixed[2].variant = DecisionVariant::WithoutReference;
    let (report, _) = report_of(header(&ALL), &mixed);
    assert_eq!(report.decision.variant, ReportVariant::Mixed);
    assert_eq!(report.decision.id, None);
    assert_eq!(report.decision.version.as_deref(), Some("2"));
}

/// What a threshold accepts is the same in every table: what nobody decided is never accepted, and fails no area.
#[test]
fn an_uncertain_diagnosis_with_a_confidence_is_never_accepted() {
    let mut rows = rows();
    for row in &mut rows {
        for end in row.ends.values_mut() {
            if let End::Answered(answered) = end
                && answered.diagnosis == Diagnosis::JudgeUncertain
            {
                answered.confidence = Some(p(0.99));
            }
        }
    }
    let (report, _) = report_of(header(&ALL), &rows);
    let atomic = report.modes.atomic_only.unwrap().diagnosis;
    assert_eq!(atomic.confidence.scored_count, 5);
    let selective = atomic.confidence.selective;
    let told = report.cost_quality.unwrap();
    assert_eq!(selective.row_count, told.row_count);
    for point in &selective.thresholds {
        let place = (point.threshold * 100.0).round() as usize;
        assert_eq!(point.accepted_count, told.accepted[place]);
        assert_eq!(point.wrong_count, told.accepted_wrong[place]);
    }
    let last = selective.curve.last().unwrap();
    assert_eq!((last.coverage, last.risk), (0.6, 2.0 / 3.0));
}

#[test]
fn a_slice_has_few_numbers() {
    let (report, _) = report_of(header(&ALL), &rows());
    let cascade = report.slices["tag=even"].modes.cascade.as_ref().unwrap();
    assert!(cascade.diagnosis.classes.is_empty());
    assert!(cascade.diagnosis.confusion.labels.is_empty());
    assert!(cascade.latency.routes.is_empty());
}

#[test]
fn a_row_whose_calls_were_never_sent_has_no_latency_and_asked_nobody() {
    let unsent = |judge_id| {
        let mut leg = leg(judge_id, 0, Some(0));
        leg.calls[0].failure = Some(FailureReason::BreakerOpen);
        leg.calls[0].usage = None;
        leg.calls[0].nano_usd = None;
        leg
    };
    let mut rows = rows();
    rows[3].fallback = Some(unsent("slow"));
    rows[0].atomic = Some(unsent("quick"));
    let (report, _) = report_of(header(&ALL), &rows);
    let cascade = report.modes.cascade.unwrap();
    // Six of seven rows asked; of row 3 the atomic judge alone.
    assert_eq!(cascade.latency.all.count, 6);
    assert_eq!(cascade.cost.row_count, 6);
    let mean = cascade.latency.all.mean_ms.value.unwrap();
    assert!((mean - (6.0 * 15.0 + 1000.0) / 6.0).abs() < 1e-9);
    let (first, second) = (cascade.cost.first, cascade.cost.second);
    assert_eq!((first.row_count, first.untold_count), (6, 0));
    assert_eq!((second.row_count, second.untold_count), (1, 1));
    assert_eq!((first.failed_call_count, second.failed_call_count), (1, 1));
}
