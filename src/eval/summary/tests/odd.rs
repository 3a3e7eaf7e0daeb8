//! Odd input: nothing, one class, too much, and any order.

use proptest::prelude::*;

use super::hand_made::rows;
use super::*;
use crate::report::json;
use crate::stats::Absent;

/// No number of the report is NaN or infinite: JSON has `null` for these, and absent values are left out.
#[track_caller]
fn check_numbers(report: &Report) {
    let text = json::write(report).unwrap();
    assert!(!text.contains("null"), "{text}");
    assert_eq!(&json::read("report.json", &text).unwrap(), report);
}

#[test]
fn r1_no_number_of_any_report_is_nan_and_none_is_null() {
    let rows = rows();
    check_numbers(&report_of(header(&ALL), &[]).0);
    check_numbers(&report_of(header(&ALL), &rows).0);
    for row in &rows {
        check_numbers(&report_of(header(&ALL), std::slice::from_ref(row)).0);
    }
    let mut one = row(0, Some(Diagnosis::Pass));
    one.ends = BTreeMap::from([(Mode::AtomicOnly, auto(Diagnosis::Pass, 0.0))]);
    check_numbers(&report_of(header(&[Mode::AtomicOnly]), &[one]).0);
}

#[test]
fn without_rows_every_measure_is_absent_with_a_reason() {
    let (report, drawn) = report_of(header(&ALL), &[]);
    assert!(drawn.is_empty());
    let cascade = report.modes.cascade.unwrap();
    assert_eq!(cascade.coverage.absent, Some(Absent::Empty));
    assert_eq!(
        cascade.diagnosis.overall_accuracy.absent,
        Some(Absent::Empty)
    );
    assert_eq!(cascade.latency.all.p50_ms.absent, Some(Absent::Empty));
    assert_eq!(report.comparisons[0].mcnemar_p.absent, Some(Absent::Empty));
    assert_eq!(report.cost_quality, None);
}

#[test]
fn lists_are_bounded_and_tell_what_they_leave_out() {
    let wrong = |index: u64| {
        let mut row = row(index, Some(Diagnosis::RetrievalMiss));
        let end = auto(Diagnosis::Pass, 0.5 + index as f64 / 1000.0);
        row.ends = BTreeMap::from([(Mode::AtomicOnly, end)]);
        row.labels.whole = BTreeMap::from([(Dimension::Groundedness, false)]);
        let cell = Cell::Plain(p(0.8 + index as f64 / 1000.0));
        row.atomic = Some(with_whole(
            leg("quick", 1, None),
            &[(Dimension::Groundedness, cell)],
        ));
        row
    };
    let rows: Vec<_> = (0..60).map(wrong).collect();
    let (report, _) = report_of(header(&[Mode::AtomicOnly]), &rows);
    assert_eq!(report.confident_and_wrong.len(), 50);
    assert_eq!(report.confident_and_wrong_left_out, 10);
    assert_eq!(report.confident_and_wrong[0].index, 59);
    assert_eq!(report.confident_and_wrong[49].index, 10);
    let judgments = &report.wrong_judgments[&Dimension::Groundedness];
    let indices: Vec<_> = judgments.iter().map(|wrong| wrong.index).collect();
    assert_eq!(indices, [59, 58, 57, 56, 55, 54, 53, 52, 51, 50]);
}

#[test]
fn a_page_draws_a_sample_that_no_order_changes() {
    let rows: Vec<_> = (0..20_100).map(|index| row(index, None)).collect();
    let (_, drawn) = report_of(header(&[]), &rows);
    assert_eq!(drawn.len(), 20_000);
    assert!(drawn.is_sorted_by_key(|row| row.index));
    let backwards: Vec<_> = rows.into_iter().rev().collect();
    assert_eq!(report_of(header(&[]), &backwards).1, drawn);
}

#[test]
fn a_judge_that_calls_itself_something_else_each_time_fills_no_report() {
    let rows: Vec<_> = (0..100)
        .map(|index| {
            let mut leg = leg("quick", 1, None);
            leg.calls[0].model = Some(format!("m{index:03}"));
            Row {
                atomic: Some(leg),
                ..row(index, None)
            }
        })
        .collect();
    let (report, _) = report_of(header(&[]), &rows);
    let models = &report.judges[0].returned_models;
    assert_eq!(models.len(), 64);
    assert_eq!(models[63], "m063");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_order_of_the_rows_changes_no_bit(shuffled in Just(rows()).prop_shuffle()) {
        let (report, drawn) = report_of(header(&ALL), &rows());
        let (other, other_drawn) = report_of(header(&ALL), &shuffled);
        prop_assert_eq!(json::write(&report).unwrap(), json::write(&other).unwrap());
        prop_assert_eq!(drawn, other_drawn);
    }
}
