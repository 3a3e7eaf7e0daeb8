//! What is made of a judge's answers about the two traces.

use super::*;
use crate::domain::dimension::DimensionSet;
use crate::domain::judgment::{
    Answers, Failure, Judged, JudgmentBasis, JudgmentDelivery, JudgmentSource, SeenFraction,
};
use crate::domain::probability::Probability;

fn judgment(p: f64) -> Judgment {
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
}

fn everything() -> QuestionSet {
    QuestionSet::from_fn(1, |_| true)
}

/// What is made of two answers to everything.
fn told_apart(right: &Answer, wrong: &Answer) -> Finding {
    super::told_apart(&everything(), right, wrong)
}

/// An answer with this for every question about one chunk.
fn answer(value: impl Fn(Dimension) -> Option<Judgment>) -> Answer {
    Answer {
        answers: Answers::from_fn(1, |question| value(question.dimension())),
        statements: Vec::new(),
        verdict: None,
        calls: Vec::new(),
    }
}

fn all(p: f64) -> Answer {
    answer(|_| Some(judgment(p)))
}

#[test]
fn a_judge_that_tells_them_apart_is_good() {
    let finding = told_apart(&all(0.9), &all(0.1));
    assert_eq!(finding.result, Grade::Good);
    assert_eq!(finding.detail, "a right and a wrong trace are told apart");
    let one_is_odd = answer(|dimension| {
        let odd = dimension == Dimension::Correctness;
        Some(judgment(if odd { 0.95 } else { 0.1 }))
    });
    let finding = told_apart(&all(0.9), &one_is_odd);
    assert_eq!(finding.result, Grade::Good);
    assert!(
        finding.detail.ends_with("but not on correctness"),
        "{finding:?}"
    );
}

#[test]
fn a_judge_that_is_inverted_or_constant_is_bad() {
    for (right, wrong, told) in [
        (0.1, 0.9, "inverted: "),
        (0.7, 0.7, "constant: "),
        (0.0, 0.0, "constant: "),
    ] {
        let finding = told_apart(&all(right), &all(wrong));
        assert_eq!(finding.result, Grade::Bad);
        assert!(finding.detail.starts_with(told), "{finding:?}");
    }
}

#[test]
fn what_failed_and_what_is_missing_is_told_and_bad() {
    let refused = |dimension| match dimension {
        Dimension::Correctness => Some(Judgment::Failed(Failure {
            judge_id: "j".into(),
            reason: FailureReason::Refused,
        })),
        _ => Some(judgment(0.9)),
    };
    for (right, wrong) in [(answer(refused), all(0.1)), (all(1.0), answer(refused))] {
        let detail = told_apart(&right, &wrong).detail;
        assert_eq!(detail, "not answered: correctness (refused)");
    }
    let part = answer(|dimension| (dimension != Dimension::Correctness).then(|| judgment(0.9)));
    let finding = told_apart(&part, &all(0.1));
    assert_eq!(finding.result, Grade::Bad);
    assert_eq!(finding.detail, "not answered: correctness (no answer)");
    // What was not asked is not missing.
    let others = everything().restricted_to(DimensionSet::from_iter([
        Dimension::Groundedness,
        Dimension::ContextSufficiency,
    ]));
    let finding = super::told_apart(&others, &part, &all(0.1));
    assert_eq!(finding.result, Grade::Good, "{finding:?}");
}

#[test]
fn a_judge_without_a_common_answer_is_told_with_the_reasons() {
    let failed = |_| {
        Some(Judgment::Failed(Failure {
            judge_id: "j".into(),
            reason: FailureReason::Timeout,
        }))
    };
    let finding = told_apart(&answer(failed), &all(0.1));
    assert_eq!(finding.result, Grade::Bad);
    let start = "no question was answered about both traces: context_sufficiency (timeout), ";
    assert!(finding.detail.starts_with(start), "{finding:?}");
}
