//! Dimensions against their labels.

use super::*;
use crate::domain::failure::NotApplicableReason;
use crate::eval::rows::Verdict;

/// Vector A of ten rows without ties.
const A: [(f64, bool); 10] = [
    (0.96, true),
    (0.91, true),
    (0.83, true),
    (0.72, false),
    (0.61, true),
    (0.44, false),
    (0.33, true),
    (0.22, false),
    (0.13, false),
    (0.05, false),
];

fn grounded(index: u64, cell: Cell, label: Option<bool>) -> Row {
    let mut row = row(index, None);
    row.atomic = Some(with_whole(
        leg("quick", 1, Some(1)),
        &[(Dimension::Groundedness, cell)],
    ));
    row.labels.whole = label
        .map(|label| (Dimension::Groundedness, label))
        .into_iter()
        .collect();
    row.ends = BTreeMap::from([(Mode::AtomicOnly, uncertain())]);
    row
}

fn rows() -> Vec<Row> {
    let mut rows: Vec<_> = A
        .iter()
        .zip(0..)
        .map(|((value, label), index)| grounded(index, Cell::Plain(p(*value)), Some(*label)))
        .collect();
    let failed = Cell::Failed {
        failed: FailureReason::Timeout,
    };
    let not_applicable = Cell::NotApplicable {
        not_applicable: NotApplicableReason::EmptyAnswer,
    };
    rows.push(grounded(10, failed, Some(true)));
    rows.push(grounded(11, not_applicable, Some(true)));
    rows.push(grounded(12, Cell::Plain(p(0.99)), None));
    // The row failed before any judge was asked.
    rows.push(Row {
        atomic: None,
        ends: BTreeMap::from([(Mode::AtomicOnly, failed_early())]),
        ..grounded(13, Cell::Plain(p(0.5)), Some(false))
    });
    // In no number: the row cannot be judged.
    rows.push(Row {
        ends: BTreeMap::from([(Mode::AtomicOnly, not_assessable())]),
        ..grounded(14, Cell::Plain(p(0.5)), Some(false))
    });
    rows
}

fn failed_early() -> End {
    End::Failed {
        failed: FailureReason::TooLong,
        route: None,
        fallback_unavailable: None,
    }
}

#[test]
fn a_dimension_has_the_published_numbers_and_counts_what_it_leaves_out() {
    let (report, _) = report_of(header(&[Mode::AtomicOnly]), &rows());
    let components = report.modes.atomic_only.unwrap().components.unwrap();
    assert!(components.retrieval.is_empty());
    let grounded = &components.generation[&Dimension::Groundedness];
    assert_eq!(grounded.scored_count, 10);
    assert_eq!(grounded.failed_count, 2);
    let failures = [(FailureReason::Timeout, 1), (FailureReason::TooLong, 1)];
    assert_eq!(grounded.failures, BTreeMap::from(failures));
    assert_eq!(grounded.not_applicable_count, 1);
    assert_eq!(grounded.unlabelled_count, 1);
    assert_eq!(grounded.positive_count, 5);
    let near = |measure: crate::report::model::Measure, expected: f64| {
        let value = measure.value.unwrap();
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    };
    near(grounded.brier, 0.14194);
    near(grounded.log_loss, 0.4216222091);
    near(grounded.calibration.ece, 0.292);
    near(grounded.calibration.mce, 0.72);
    near(grounded.confidence_ece, 0.170);
    near(grounded.auroc, 0.88);
    near(grounded.average_precision, 0.9028571429);
    near(grounded.decided.mcc, 0.6);
    near(grounded.overall_accuracy, 8.0 / 12.0);
    near(grounded.selective.aurc, 0.0815079365);
    let policy = grounded.at_policy.as_ref().unwrap();
    assert_eq!((policy.fail_at, policy.pass_at), (0.2, 0.8));
    assert_eq!((policy.positive_count, policy.positive_wrong_count), (3, 0));
    assert_eq!((policy.negative_count, policy.negative_wrong_count), (2, 0));
    assert_eq!(policy.uncertain_count, 5);
    near(policy.coverage, 0.5);
    let sides = grounded.sides.as_ref().unwrap();
    assert_eq!((sides.at_or_above[72], sides.at_or_above_wrong[72]), (4, 1));
    assert_eq!((sides.at_or_below[33], sides.at_or_below_wrong[33]), (4, 1));
}

#[test]
fn a_judgment_of_the_fallback_judge_stands_in_the_place_of_the_open_one() {
    let cells = |relevance, grounded| {
        [
            (Dimension::AnswerRelevance, relevance),
            (Dimension::Groundedness, grounded),
        ]
    };
    let failed = Cell::Failed {
        failed: FailureReason::Timeout,
    };
    let mut row = row(0, None);
    row.atomic = Some(with_whole(
        leg("quick", 1, Some(1)),
        &cells(Cell::Plain(p(0.6)), Cell::Plain(p(0.3))),
    ));
    row.fallback = Some(with_whole(
        leg("slow", 1, Some(1)),
        &cells(failed, Cell::Plain(p(0.9))),
    ));
    row.labels.whole = BTreeMap::from([
        (Dimension::AnswerRelevance, true),
        (Dimension::Groundedness, true),
    ]);
    row.ends = BTreeMap::from([
        (Mode::AtomicOnly, uncertain()),
        (Mode::Cascade, by_fallback(Diagnosis::Pass, 0.9)),
    ]);
    let modes = [Mode::AtomicOnly, Mode::Cascade];
    let (report, _) = report_of(header(&modes), std::slice::from_ref(&row));
    let brier = |mode, dimension| {
        let mode = report.modes.get(mode).unwrap();
        let components = mode.components.as_ref().unwrap();
        components.generation[&dimension].brier.value.unwrap()
    };
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-12);
    near(brier(Mode::AtomicOnly, Dimension::Groundedness), 0.49);
    near(brier(Mode::Cascade, Dimension::Groundedness), 0.01);
    near(brier(Mode::Cascade, Dimension::AnswerRelevance), 0.16);
    if let Some(fallback) = &mut row.fallback {
        fallback.verdict = Some(Verdict {
            diagnosis: Diagnosis::Pass,
            confidence: None,
        });
    }
    let (report, _) = report_of(header(&modes), &[row]);
    assert!(report.modes.cascade.unwrap().components.is_none());
    assert!(report.modes.atomic_only.unwrap().components.is_some());
}

#[test]
fn chunks_are_counted_one_by_one_and_a_wrong_judgment_names_its_chunk() {
    let mut row = row(0, None);
    row.chunk_ids = vec!["c1".to_owned(), "c2".to_owned(), "c3".to_owned()];
    row.labels.chunks = vec![Some(true), Some(false), None];
    row.atomic = Some(Leg {
        chunks: vec![
            Some(Cell::Plain(p(0.1))),
            Some(Cell::Plain(p(0.85))),
            Some(Cell::Plain(p(0.9))),
        ],
        ..leg("quick", 1, Some(1))
    });
    row.ends = BTreeMap::from([(Mode::AtomicOnly, auto(Diagnosis::Pass, 0.9))]);
    let (report, drawn) = report_of(header(&[Mode::AtomicOnly]), &[row]);
    let components = report.modes.atomic_only.unwrap().components.unwrap();
    let relevance = &components.retrieval[&Dimension::ChunkRelevance];
    assert_eq!((relevance.scored_count, relevance.unlabelled_count), (2, 1));
    let wrong = &report.wrong_judgments[&Dimension::ChunkRelevance];
    let wrong: Vec<_> = wrong
        .iter()
        .map(|wrong| (wrong.chunk_id.as_deref(), wrong.probability, wrong.label))
        .collect();
    assert_eq!(wrong, [(Some("c1"), 0.1, true), (Some("c2"), 0.85, false)]);
    assert_eq!(drawn[0].judgments.len(), 3);
}

#[test]
fn a_baseline_of_judgments_has_components_and_one_of_verdicts_has_none() {
    let mut row = row(0, Some(Diagnosis::Pass));
    let judged = with_whole(
        leg("slow", 1, Some(1)),
        &[(Dimension::Groundedness, Cell::Plain(p(0.9)))],
    );
    row.labels.whole = BTreeMap::from([(Dimension::Groundedness, true)]);
    row.ends = BTreeMap::from([(Mode::BaselineOnly, by_fallback(Diagnosis::Pass, 0.9))]);
    row.baseline = Some(judged.clone());
    let header = || header(&[Mode::BaselineOnly]);
    let (report, _) = report_of(header(), std::slice::from_ref(&row));
    let baseline = report.modes.baseline_only.unwrap();
    assert_eq!(baseline.components.unwrap().generation.len(), 1);
    row.baseline = Some(Leg {
        verdict: Some(Verdict {
            diagnosis: Diagnosis::Pass,
            confidence: Some(p(0.9)),
        }),
        whole: BTreeMap::new(),
        ..judged
    });
    let (report, _) = report_of(header(), &[row]);
    assert!(report.modes.baseline_only.unwrap().components.is_none());
}
