//! What stands after a judge has answered: what does not apply, what was said, and what the fallback judge replaced.
//!
//! Served traces, evaluated rows and recorded judgments under another policy are settled by the same functions.

use super::plan::unanswered;
use crate::domain::diagnosis::{FiredRule, Ruling, Verdict};
use crate::domain::dimension::DimensionRole;
use crate::domain::failure::NotApplicableReason;
use crate::domain::judgment::{Answers, Failure, Judgment, Judgments};
use crate::domain::question::{Question, QuestionSet};
use crate::policy::{self, Policy};

/// What stands after the first judge, and what the policy makes of it.
pub fn judged(policy: &Policy, base: &Judgments, answers: &Answers) -> (Judgments, Ruling) {
    let judgments = merge(base, answers);
    let ruling = policy::diagnose(policy, &judgments);
    (judgments, ruling)
}

/// Every failure among the answers, in the order of the questions.
pub fn failures(answers: &Answers) -> impl Iterator<Item = &Failure> {
    answers.iter().filter_map(|(_, answer)| match answer {
        Some(Judgment::Failed(failure)) => Some(failure),
        Some(Judgment::Judged(_) | Judgment::NotApplicable(_)) | None => None,
    })
}

/// The first failure, if a judge was asked and answered no question.
pub fn whole_failure(answers: &Answers) -> Option<&Failure> {
    let has_answer = answers
        .iter()
        .any(|(_, answer)| matches!(answer, Some(Judgment::Judged(_))));
    failures(answers).next().filter(|_| !has_answer)
}

/// What does not apply, with what the judge said about the rest: a question that was asked has an answer, if only a
/// failure.
pub fn merge(base: &Judgments, answers: &Answers) -> Judgments {
    base.map(|question, judgment| {
        answers[question]
            .clone()
            .unwrap_or_else(|| judgment.clone())
    })
}

/// The same for the response, where a question that a whole verdict left unanswered stays absent.
pub fn judgments_said(base: &Judgments, answers: &Answers) -> Answers {
    base.map(|question, judgment| match judgment {
        Judgment::NotApplicable(_) => Some(judgment.clone()),
        Judgment::Judged(_) | Judgment::Failed(_) => answers[question].clone(),
    })
}

/// An answered judgment replaces the open one, a failed one replaces nothing.
pub fn replace_judged(judgments: &Judgments, answers: &Answers) -> Judgments {
    judgments.map(|question, judgment| match &answers[question] {
        Some(answered @ Judgment::Judged(_)) => answered.clone(),
        _ => judgment.clone(),
    })
}

/// What the fallback judge is asked about an uncertain trace: everything where the atomic judge failed as a whole, else
/// what is open.
pub fn fallback_questions(
    policy: &Policy,
    judgments: &Judgments,
    fired: &FiredRule,
    asked: impl FnOnce() -> QuestionSet,
    atomic_failed: bool,
) -> QuestionSet {
    if atomic_failed {
        asked()
    } else {
        policy::open_questions(policy, judgments, fired)
    }
}

/// The ruling once the fallback judge has answered: by its whole verdict, or by what its answers leave.
pub fn settled(
    policy: &Policy,
    judgments: &Judgments,
    answers: &Answers,
    verdict: Option<Verdict>,
) -> Ruling {
    verdict.map_or_else(
        || policy::diagnose(policy, &replace_judged(judgments, answers)),
        Ruling::from_verdict,
    )
}

/// Judgments that were recorded under one policy as they stand under another; `None` if they stand as they are.
///
/// What the policy switches off does not apply, whatever was said. What was switched off and is not any more was never
/// asked, so it is unanswered.
pub fn under(policy: &Policy, recorded: &Judgments) -> Option<Judgments> {
    let changes = |(question, judgment)| changed(policy, question, judgment).is_some();
    recorded.iter().any(changes).then(|| {
        recorded.map(|question, judgment| {
            changed(policy, question, judgment).unwrap_or_else(|| judgment.clone())
        })
    })
}

fn changed(policy: &Policy, question: Question, judgment: &Judgment) -> Option<Judgment> {
    let is_off = policy.dimensions[question.dimension()].role == DimensionRole::Off;
    match judgment {
        Judgment::NotApplicable(NotApplicableReason::SwitchedOff) if !is_off => Some(unanswered()),
        Judgment::Judged(_) | Judgment::Failed(_) if is_off => {
            Some(Judgment::NotApplicable(NotApplicableReason::SwitchedOff))
        }
        Judgment::Judged(_) | Judgment::Failed(_) | Judgment::NotApplicable(_) => None,
    }
}
