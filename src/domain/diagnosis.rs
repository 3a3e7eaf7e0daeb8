//! Diagnoses: what is wrong with a trace, by which rule, and what the caller should do.

use super::dimension::{Dimension, DimensionMap, DimensionSet};
use super::failure::FailureReason;
use super::probability::Probability;
use super::vocabulary;

vocabulary! {
    /// What is wrong with a trace, if anything.
    "diagnosis"
    pub enum Diagnosis {
        /// Every covered dimension is confidently good.
        Pass = "PASS",
        /// No chunk is relevant.
        RetrievalMiss = "RETRIEVAL_MISS",
        /// The context does not suffice.
        RetrievalInsufficient = "RETRIEVAL_INSUFFICIENT",
        /// The context conflicts.
        ConflictingEvidence = "CONFLICTING_EVIDENCE",
        /// The answer misses the question.
        AnswerIrrelevant = "ANSWER_IRRELEVANT",
        /// The answer is not supported by the context, or contradicts it.
        GeneratorUngrounded = "GENERATOR_UNGROUNDED",
        /// The answer disagrees with the reference answer.
        AnswerIncorrect = "ANSWER_INCORRECT",
        /// No confident diagnosis.
        JudgeUncertain = "JUDGE_UNCERTAIN",
        /// The trace cannot be judged.
        NotAssessable = "NOT_ASSESSABLE",
    }
}

vocabulary! {
    /// The rules of a policy.
    "rule"
    pub enum Rule {
        /// There is no chunk with text.
        NoChunks = "no_chunks",
        /// Rule 1: the evidence conflicts.
        Conflict = "conflict",
        /// Rule 2: no chunk is relevant.
        RetrievalMiss = "retrieval_miss",
        /// Rule 3: the context does not suffice.
        Insufficient = "insufficient",
        /// Rule 4: the answer misses the question.
        Irrelevant = "irrelevant",
        /// There is no answer.
        EmptyAnswer = "empty_answer",
        /// Rule 5: the answer is not supported or contradicts the context.
        Ungrounded = "ungrounded",
        /// Rule 6: the answer disagrees with the reference answer.
        Incorrect = "incorrect",
        /// Rule 7: none of the others holds.
        Uncertain = "uncertain",
        /// Rule 8: everything covered is confidently good.
        Pass = "pass",
        /// A judge gave a whole diagnosis.
        RecordedVerdict = "recorded_verdict",
        /// The trace cannot be judged.
        NotAssessable = "not_assessable",
    }
}

vocabulary! {
    /// What the caller should do.
    "action"
    pub enum Action {
        /// Serve the answer.
        Allow = "ALLOW",
        /// Serve it with care.
        Warn = "WARN",
        /// Do not serve it.
        Block = "BLOCK",
    }
}

vocabulary! {
    /// Why a trace cannot be judged.
    "reason why a trace is not assessable"
    pub enum NotAssessableReason {
        /// There was no retrieval.
        RetrievalNotPerformed = "retrieval_not_performed",
        /// The texts were not recorded.
        TextsMissing = "texts_missing",
    }
}

/// A whole diagnosis that a judge gave in place of judgments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// The diagnosis; never NOT_ASSESSABLE.
    pub diagnosis: Diagnosis,
    /// Its confidence, if the judge gave one.
    pub confidence: Option<Probability>,
}

/// A diagnosis with the rule that gave it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruling {
    /// The diagnosis.
    pub diagnosis: Diagnosis,
    /// Its confidence; `None` where nothing gives one.
    pub confidence: Option<Probability>,
    /// The rule that fired and what it stands on.
    pub fired: FiredRule,
    /// The dimensions that a PASS covers; empty for any other diagnosis.
    pub pass_covers: DimensionSet,
}

/// The rule that fired and the value that it stands on.
#[derive(Debug, Clone, PartialEq)]
pub struct FiredRule {
    /// The rule.
    pub rule: Rule,
    /// The value that decided, if a single one did.
    pub ground: Option<Ground>,
    /// What stands in the way of a PASS or of another rule, and why; none unless the rule is [`Rule::Uncertain`].
    pub blocking: DimensionMap<Option<BlockCause>>,
}

impl FiredRule {
    /// The dimensions that stand in the way, in order.
    pub fn blocking_dimensions(&self) -> impl Iterator<Item = Dimension> {
        self.blocking
            .iter()
            .filter(|(_, cause)| cause.is_some())
            .map(|(dimension, _)| dimension)
    }
}

/// Why a dimension stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockCause {
    /// Its probability lies in the uncertain band.
    Band,
    /// The judge did not see all of the text.
    PartlySeen,
    /// A guard of the judge fired.
    Veto,
    /// The chunk rule does not hold.
    ChunkRule,
    /// It is bad, but an earlier dimension that must be good is not known to be.
    Upstream,
    /// The judge did not answer.
    Failed(FailureReason),
}

/// A value on the deciding side of its threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ground {
    /// The dimension.
    pub dimension: Dimension,
    /// The ordinal of the chunk, for chunk relevance.
    pub chunk: Option<usize>,
    /// The probability.
    pub value: Probability,
    /// The threshold that it met.
    pub threshold: Probability,
}

impl Ruling {
    /// A ruling that stands on no value of a judge.
    pub fn without_ground(
        diagnosis: Diagnosis,
        confidence: Option<Probability>,
        rule: Rule,
    ) -> Self {
        let fired = FiredRule {
            rule,
            ground: None,
            blocking: DimensionMap::from_fn(|_| None),
        };
        Self {
            diagnosis,
            confidence,
            fired,
            pass_covers: DimensionSet::EMPTY,
        }
    }

    /// The diagnosis that a judge gave as a whole.
    pub fn from_verdict(verdict: Verdict) -> Self {
        Self::without_ground(verdict.diagnosis, verdict.confidence, Rule::RecordedVerdict)
    }
}
