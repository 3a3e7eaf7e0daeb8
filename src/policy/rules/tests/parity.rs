//! The nine cases that a policy with one pair of thresholds and every rule as it stands must reproduce.

use super::*;

/// Chunks; sufficiency, conflict, answer relevance, groundedness, contradiction; correctness.
type Row = (&'static str, [f64; 2], [f64; 5], Option<f64>);

const CASES: [(Row, Diagnosis, f64); 9] = [
    (
        ("p1", [0.05, 0.1], [0.08, 0.01, 0.8, 0.9, 0.02], Some(0.9)),
        Diagnosis::RetrievalMiss,
        0.90,
    ),
    (
        ("p2", [0.8, 0.3], [0.1, 0.1, 0.8, 0.85, 0.04], Some(0.2)),
        Diagnosis::RetrievalInsufficient,
        0.90,
    ),
    (
        ("p3", [0.9, 0.9], [0.9, 0.95, 0.9, 0.8, 0.6], Some(0.7)),
        Diagnosis::ConflictingEvidence,
        0.95,
    ),
    (
        ("p4", [0.9, 0.85], [0.9, 0.05, 0.85, 0.1, 0.9], Some(0.05)),
        Diagnosis::GeneratorUngrounded,
        0.90,
    ),
    (
        ("p5", [0.9, 0.8], [0.9, 0.05, 0.9, 0.9, 0.05], Some(0.1)),
        Diagnosis::AnswerIncorrect,
        0.90,
    ),
    (
        ("p6", [0.7, 0.7], [0.55, 0.3, 0.7, 0.6, 0.3], Some(0.6)),
        Diagnosis::JudgeUncertain,
        0.50,
    ),
    (
        (
            "p7",
            [0.95, 0.85],
            [0.92, 0.03, 0.95, 0.94, 0.02],
            Some(0.95),
        ),
        Diagnosis::Pass,
        0.92,
    ),
    (
        ("p8", [0.95, 0.85], [0.92, 0.03, 0.95, 0.94, 0.02], None),
        Diagnosis::Pass,
        0.92,
    ),
    (
        ("p9", [0.9, 0.1], [0.9, 0.03, 0.1, 0.9, 0.02], Some(0.1)),
        Diagnosis::AnswerIrrelevant,
        0.90,
    ),
];

fn given((_, chunks, whole, correctness): Row) -> Given {
    let given = good(policy("parity-v1"), 0)
        .chunks(chunks.map(judged))
        .judgment(
            Question::about(Correctness),
            correctness.map_or_else(|| not_applicable(NotApplicableReason::NoReference), judged),
        );
    let dimensions = [
        ContextSufficiency,
        ContextConflict,
        AnswerRelevance,
        Groundedness,
        Contradiction,
    ];
    dimensions
        .into_iter()
        .zip(whole)
        .fold(given, |given, (dimension, p)| given.set(dimension, p))
}

#[test]
fn the_nine_parity_cases_keep_their_diagnosis_and_confidence() {
    for (row, diagnosis, confidence) in CASES {
        check_confidence(&given(row), diagnosis, Some(confidence));
    }
}

/// The fallback judge is asked for the sixth case only, and then about everything that is in the band.
#[test]
fn of_the_nine_parity_cases_only_the_sixth_leaves_questions_open() {
    for (row, diagnosis, _) in CASES {
        let open = given(row).open();
        if row.0 == "p6" {
            assert_eq!(open.len(), 8, "{open:?}");
        } else {
            assert!(open.is_empty(), "{}: {open:?}", row.0);
            assert_ne!(diagnosis, Diagnosis::JudgeUncertain);
        }
    }
}

#[test]
fn a_pass_without_a_reference_does_not_claim_correctness() {
    let covers = |name: &str| {
        let (row, ..) = CASES.into_iter().find(|(row, ..)| row.0 == name).unwrap();
        given(row).ruling().pass_covers
    };
    assert_eq!(covers("p7"), DimensionSet::ALL);
    assert!(!covers("p8").contains(Correctness));
    assert_eq!(covers("p8").iter().count(), Dimension::COUNT - 1);
}
