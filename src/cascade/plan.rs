//! Which questions a trace calls for, before any judge is asked.
//!
//! What is plain from the structure of a trace costs no judge call: no retrieval, no context, no answer.

use crate::domain::diagnosis::NotAssessableReason;
use crate::domain::dimension::{Dimension, DimensionRole};
use crate::domain::failure::{FailureReason, NotApplicableReason};
use crate::domain::judgment::{Failure, Judgment, Judgments};
use crate::domain::question::{Question, QuestionSet};
use crate::domain::trace::{JudgeId, RetrievalState, Trace};
use crate::domain::vocabulary;
use crate::policy::Policy;

vocabulary! {
    /// Which dimensions are asked.
    "scope"
    pub enum Scope {
        /// All.
        Full = "full",
        /// Those about retrieval; the answer is not looked at.
        Retrieval = "retrieval",
    }
}

/// What to do with a trace.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// Nothing: it cannot be judged.
    NotAssessable(NotAssessableReason),
    /// Ask these questions, if any.
    Judge {
        /// What does not apply; every other question is failed until a judge answers it.
        base: Judgments,
        /// The questions to ask.
        questions: QuestionSet,
    },
}

/// Decides what to ask about a trace.
pub fn plan(trace: &Trace, policy: &Policy, scope: Scope) -> Plan {
    match trace.retrieval {
        RetrievalState::NotPerformed => {
            return Plan::NotAssessable(NotAssessableReason::RetrievalNotPerformed);
        }
        RetrievalState::TextsMissing => {
            return Plan::NotAssessable(NotAssessableReason::TextsMissing);
        }
        RetrievalState::Performed => (),
    }
    let has_context = trace.chunks.iter().any(|chunk| !chunk.is_blank());
    let reasons = QuestionReasons {
        trace,
        policy,
        scope,
        has_context,
    };
    let base = Judgments::from_fn(trace.chunks.len(), |question| {
        reasons
            .not_applicable(question)
            .map_or_else(unanswered, Judgment::NotApplicable)
    });
    let questions = base.map(|_, judgment| !matches!(judgment, Judgment::NotApplicable(_)));
    Plan::Judge { base, questions }
}

struct QuestionReasons<'a> {
    trace: &'a Trace,
    policy: &'a Policy,
    scope: Scope,
    has_context: bool,
}

impl QuestionReasons<'_> {
    fn not_applicable(&self, question: Question) -> Option<NotApplicableReason> {
        let dimension = question.dimension();
        let blank_chunk = question
            .chunk_ordinal()
            .is_some_and(|ordinal| self.trace.chunks[ordinal].is_blank());
        if !self.has_context || blank_chunk {
            Some(NotApplicableReason::NoContext)
        } else if dimension.is_generation() && self.scope == Scope::Retrieval {
            Some(NotApplicableReason::OutOfScope)
        } else if dimension.is_generation() && self.trace.answer_is_blank() {
            Some(NotApplicableReason::EmptyAnswer)
        } else if dimension == Dimension::Correctness && self.trace.reference_answer.is_none() {
            Some(NotApplicableReason::NoReference)
        } else if self.policy.dimensions[dimension].role == DimensionRole::Off {
            Some(NotApplicableReason::SwitchedOff)
        } else {
            None
        }
    }
}

/// Until a judge answers, a question counts as failed: a gap can then never read as good.
pub fn unanswered() -> Judgment {
    Judgment::Failed(Failure {
        judge_id: JudgeId::from(""),
        reason: FailureReason::Unavailable,
    })
}
