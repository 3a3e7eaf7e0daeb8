//! Flip rates and spreads by hand.

use super::*;
use crate::artifact::policy;
use crate::domain::judgment::{
    Judged, JudgmentBasis, JudgmentDelivery, JudgmentSource, SeenFraction,
};

/// The answers of one repeat: this for every question that is asked.
fn answers(questions: &QuestionSet, p: f64) -> Option<Answers> {
    Some(questions.map(|_, asked| {
        asked.then(|| {
            Judgment::Judged(Judged {
                probability: Probability::try_from(p).unwrap(),
                judge_id: "j".into(),
                role: JudgeRole::Atomic,
                source: JudgmentSource::Native,
                delivery: JudgmentDelivery::Live,
                basis: JudgmentBasis::Measured,
                seen_fraction: SeenFraction::ALL,
                label_mass: None,
                vetoes_pass: false,
                evidence: None,
            })
        })
    }))
}

fn about(dimension: Dimension, chunk_count: usize) -> QuestionSet {
    QuestionSet::from_fn(chunk_count, |question| question.dimension() == dimension)
}

#[test]
fn r20_a_flip_is_a_change_of_band_and_a_spread_a_change_of_number() {
    let policy = policy::built_in("parity-v1").unwrap().unwrap().policy;
    let asked = about(Dimension::Groundedness, 1);
    let mut tallies = Tallies::default();
    for [first, second, third] in [[0.9, 0.9, 0.9], [0.9, 0.85, 0.95], [0.1, 0.9, 0.5]] {
        let answers = [first, second, third].map(|p| answers(&asked, p));
        tallies.add(&policy, &asked, &answers);
    }
    let [row] = &tallies.rows()[..] else {
        panic!("one dimension")
    };
    assert_eq!((row.trace_count, row.failure_count), (3, 0));
    let close = |a: Option<f64>, b: f64| (a.unwrap() - b).abs() < 1e-9;
    assert!(close(row.flip_rate, 1.0 / 3.0), "{row:?}");
    assert!(close(row.spread_mean, 0.3), "{row:?}");
    assert!(close(row.spread_max, 0.8), "{row:?}");
}

#[test]
fn a_failure_is_counted_apart_and_is_no_flip() {
    let policy = policy::built_in("parity-v1").unwrap().unwrap().policy;
    let asked = about(Dimension::ChunkRelevance, 2);
    let mut tallies = Tallies::default();
    let nothing = Some(asked.map(|_, _| None));
    let some = || answers(&asked, 0.9);
    tallies.add(&policy, &asked, &[some(), None, some()]);
    tallies.add(&policy, &asked, &[some(), nothing, None]);
    let rows = tallies.rows();
    assert_eq!((rows[0].trace_count, rows[0].failure_count), (1, 2 + 4));
    assert_eq!(rows[0].answer_count, 4 + 2);
    assert_eq!(rows[0].flip_rate, Some(0.0));
}

#[test]
fn what_was_not_measured_is_absent_and_not_zero() {
    let policy = policy::built_in("parity-v1").unwrap().unwrap().policy;
    let asked = about(Dimension::Correctness, 0);
    let mut tallies = Tallies::default();
    tallies.add(&policy, &asked, &[None, None]);
    let row = &tallies.rows()[0];
    assert_eq!(
        (row.flip_rate, row.spread_mean, row.spread_max),
        (None, None, None)
    );
}
