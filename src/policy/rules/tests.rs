//! The rules, by table and by property.
//!
//! Every test starts from a trace on which everything is good and changes what it is about.

mod options;
mod parity;
mod properties;
mod states;
mod thresholds;
mod truth_table;

use super::*;
use crate::artifact::policy::built_in;
use crate::domain::Vocabulary as _;
use crate::domain::dimension::{DimensionRole, Polarity};
use crate::domain::failure::{FailureReason, NotApplicableReason};
use crate::domain::judgment::{
    Failure, Judged, Judgment, JudgmentBasis, JudgmentDelivery, JudgmentSource, SeenFraction,
};
use crate::domain::outcome::JudgeRole;
use crate::domain::question::{PerQuestion, Question};
use crate::domain::trace::JudgeId;
use crate::policy::thresholds::Thresholds;
use crate::policy::{ChunkRule, UpstreamRule};

/// A policy and the judgments that it is applied to.
#[derive(Debug, Clone)]
struct Given {
    policy: Policy,
    judgments: Judgments,
}

/// Everything is good, over so many chunks: 0.95 or 0.05, which is good under every policy here.
fn good(policy: Policy, chunk_count: usize) -> Given {
    let judgments = PerQuestion::from_fn(chunk_count, good_judgment);
    Given { policy, judgments }
}

/// Everything is good, over two chunks, under a policy whose pairs of thresholds all differ.
fn base(chunk_rule: ChunkRule, upstream: UpstreamRule) -> Given {
    let mut policy = policy("parity-v1");
    let pairs = [
        (0.2, 0.8),
        (0.15, 0.85),
        (0.12, 0.88),
        (0.25, 0.75),
        (0.1, 0.9),
        (0.3, 0.7),
        (0.22, 0.78),
    ];
    for (&dimension, (fail_at, pass_at)) in Dimension::ALL.iter().zip(pairs) {
        policy.dimensions[dimension].thresholds = Some(Thresholds::new(fail_at, pass_at).unwrap());
    }
    (policy.chunk_rule, policy.upstream) = (chunk_rule, upstream);
    good(policy, 2)
}

/// The policy that every option leaves at its default.
fn default_base() -> Given {
    base(ChunkRule::Best, UpstreamRule::Confident)
}

fn policy(name: &str) -> Policy {
    Policy::clone(&built_in(name).unwrap().unwrap().policy)
}

impl Given {
    fn judgment(mut self, question: Question, judgment: Judgment) -> Self {
        self.judgments[question] = judgment;
        self
    }

    fn set(self, dimension: Dimension, p: f64) -> Self {
        self.judgment(Question::about(dimension), judged(p))
    }

    fn fail(self, dimension: Dimension) -> Self {
        self.judgment(Question::about(dimension), failed(FailureReason::Timeout))
    }

    /// Changes how a judgment came about.
    fn edit(mut self, question: Question, edit: impl FnOnce(&mut Judged)) -> Self {
        let Judgment::Judged(judged) = &mut self.judgments[question] else {
            panic!("not judged");
        };
        edit(judged);
        self
    }

    fn partly(self, dimension: Dimension) -> Self {
        self.edit(Question::about(dimension), see_half)
    }

    fn veto(self, dimension: Dimension) -> Self {
        self.edit(Question::about(dimension), |judged| {
            judged.vetoes_pass = true;
        })
    }

    fn verbalized(self, question: Question) -> Self {
        self.edit(question, |judged| {
            judged.source = JudgmentSource::Verbalized;
        })
    }

    /// Replaces all chunks.
    fn chunks(mut self, chunks: impl IntoIterator<Item = Judgment>) -> Self {
        let chunks: Vec<_> = chunks.into_iter().collect();
        self.judgments =
            PerQuestion::from_fn(chunks.len(), |question| match question.chunk_ordinal() {
                Some(ordinal) => chunks[ordinal].clone(),
                None => self.judgments[question].clone(),
            });
        self
    }

    fn role(mut self, dimension: Dimension, role: DimensionRole) -> Self {
        self.policy.dimensions[dimension].role = role;
        self
    }

    /// The blank answer of the judge-free cases.
    fn blank_answer(mut self) -> Self {
        for dimension in Dimension::GENERATION {
            self.judgments[Question::about(dimension)] =
                not_applicable(NotApplicableReason::EmptyAnswer);
        }
        self
    }

    fn ruling(&self) -> Ruling {
        diagnose(&self.policy, &self.judgments)
    }

    fn open(&self) -> Vec<Question> {
        open_questions(&self.policy, &self.judgments, &self.ruling().fired)
            .asked()
            .collect()
    }

    fn thresholds(&self, dimension: Dimension) -> Thresholds {
        self.policy.dimensions[dimension].thresholds.unwrap()
    }
}

fn p(value: f64) -> Probability {
    Probability::try_from(value).unwrap()
}

fn judged(value: f64) -> Judgment {
    Judgment::Judged(Judged {
        probability: p(value),
        judge_id: JudgeId::from("atomic"),
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

fn partly(value: f64) -> Judgment {
    edited(value, see_half)
}

fn vetoed(value: f64) -> Judgment {
    edited(value, |judged| judged.vetoes_pass = true)
}

fn verbalized(value: f64) -> Judgment {
    edited(value, |judged| judged.source = JudgmentSource::Verbalized)
}

fn edited(value: f64, edit: impl FnOnce(&mut Judged)) -> Judgment {
    let mut judgment = judged(value);
    if let Judgment::Judged(judged) = &mut judgment {
        edit(judged);
    }
    judgment
}

fn see_half(judged: &mut Judged) {
    judged.seen_fraction = SeenFraction::new(0.5).unwrap();
}

fn failed(reason: FailureReason) -> Judgment {
    Judgment::Failed(Failure {
        judge_id: JudgeId::from("atomic"),
        reason,
    })
}

fn not_applicable(reason: NotApplicableReason) -> Judgment {
    Judgment::NotApplicable(reason)
}

fn good_judgment(question: Question) -> Judgment {
    judged(good_value(question.dimension()))
}

fn good_value(dimension: Dimension) -> f64 {
    match dimension.polarity() {
        Polarity::GoodWhenTrue => 0.95,
        Polarity::BadWhenTrue => 0.05,
    }
}

fn bad_value(dimension: Dimension) -> f64 {
    match dimension.polarity() {
        Polarity::GoodWhenTrue => 0.05,
        Polarity::BadWhenTrue => 0.95,
    }
}

/// What the bad end of a dimension alone is diagnosed as.
fn own_diagnosis(dimension: Dimension) -> Diagnosis {
    match dimension {
        ChunkRelevance => Diagnosis::RetrievalMiss,
        ContextSufficiency => Diagnosis::RetrievalInsufficient,
        ContextConflict => Diagnosis::ConflictingEvidence,
        AnswerRelevance => Diagnosis::AnswerIrrelevant,
        Groundedness | Contradiction => Diagnosis::GeneratorUngrounded,
        Correctness => Diagnosis::AnswerIncorrect,
    }
}

const WHOLE: [Dimension; 6] = [
    ContextSufficiency,
    ContextConflict,
    AnswerRelevance,
    Groundedness,
    Contradiction,
    Correctness,
];

#[track_caller]
fn check(given: &Given, diagnosis: Diagnosis) {
    let ruling = given.ruling();
    assert_eq!(ruling.diagnosis, diagnosis, "{ruling:?}");
}

#[track_caller]
fn check_confidence(given: &Given, diagnosis: Diagnosis, confidence: Option<f64>) {
    let ruling = given.ruling();
    let expected = (diagnosis, confidence.map(p));
    assert_eq!(
        (ruling.diagnosis, ruling.confidence),
        expected,
        "{ruling:?}"
    );
}

/// The rule that fired and what it stands on: dimension, chunk, value, threshold.
#[track_caller]
fn check_fired(given: &Given, rule: Rule, ground: Option<(Dimension, Option<usize>, f64, f64)>) {
    let fired = given.ruling().fired;
    let ground = ground.map(|(dimension, chunk, value, threshold)| Ground {
        dimension,
        chunk,
        value: p(value),
        threshold: p(threshold),
    });
    assert_eq!((fired.rule, fired.ground), (rule, ground), "{fired:?}");
}

/// The trace is uncertain because of exactly these dimensions.
#[track_caller]
fn check_blocking(given: &Given, expected: &[(Dimension, BlockCause)]) {
    let ruling = given.ruling();
    assert_eq!(ruling.diagnosis, Diagnosis::JudgeUncertain, "{ruling:?}");
    assert_eq!(ruling.confidence, Some(Probability::HALF));
    let blocking: Vec<_> = ruling
        .fired
        .blocking
        .iter()
        .filter_map(|(dimension, cause)| Some((dimension, (*cause)?)))
        .collect();
    assert_eq!(blocking, expected);
}
