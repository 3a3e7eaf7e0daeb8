//! From what judges said about a trace to the rows that replay it.

use std::collections::BTreeSet;

use super::details::{RecordedDetail, RecordedDetails};
use super::{RecordedAnswers, RecordedDecision, RecordedVerdict, ReplayRow, input_sha256};
use crate::domain::dimension::Dimension;
use crate::domain::judgment::{Judged, Judgment, JudgmentSource};
use crate::domain::outcome::{JudgeCall, JudgeRole, Outcome, Pass, Usage};
use crate::domain::question::Question;
use crate::domain::trace::{JudgeId, Trace};

impl ReplayRow {
    /// The rows of the judges that were asked in a role, in the order of their names.
    ///
    /// A judge that answered nothing has no row: it replays as one that is unavailable.
    pub fn of(outcome: &Outcome, role: JudgeRole) -> Vec<Self> {
        let pass = match role {
            JudgeRole::Atomic => &outcome.atomic,
            JudgeRole::Fallback => &outcome.fallback,
        };
        let Some(pass) = pass else {
            return Vec::new();
        };
        let calls: Vec<_> = outcome
            .calls
            .iter()
            .filter(|call| call.role == role && call.failure.is_none())
            .collect();
        let judges: BTreeSet<_> = calls.iter().map(|call| &call.judge_id).collect();
        // A judge with a whole diagnosis is asked alone.
        let verdict = pass.verdict.filter(|_| judges.len() == 1);
        let decision = RecordedDecision {
            id: outcome.provenance.decision_id.to_owned(),
            version: outcome.provenance.decision_version.to_owned(),
            variant: outcome.provenance.decision_variant,
        };
        let mut rows = Vec::new();
        for judge_id in judges {
            let said = match verdict {
                Some(verdict) => Some(Said {
                    answers: RecordedAnswers {
                        verdict: Some(RecordedVerdict {
                            diagnosis: verdict.diagnosis,
                            confidence: verdict.confidence,
                        }),
                        ..RecordedAnswers::default()
                    },
                    source: None,
                    details: None,
                }),
                None => Said::by(judge_id, pass, &outcome.trace),
            };
            rows.extend(said.map(|said| said.row(judge_id, outcome, decision.clone(), &calls)));
        }
        rows
    }
}

/// What one judge said.
struct Said {
    answers: RecordedAnswers,
    source: Option<JudgmentSource>,
    details: Option<Box<RecordedDetails>>,
}

impl Said {
    /// `None` if it answered no question.
    fn by(judge_id: &JudgeId, pass: &Pass, trace: &Trace) -> Option<Self> {
        let judged = pass
            .answers
            .iter()
            .filter_map(|(_, judgment)| judgment.as_ref()?.judged());
        let source = judged
            .into_iter()
            .find(|judged| judged.judge_id == *judge_id)?
            .source;
        let mut answers = RecordedAnswers::default();
        let mut details = RecordedDetails::default();
        for (question, judgment) in pass.answers.iter() {
            let Some(judgment) = judgment.as_ref().filter(|said| is_of(said, judge_id)) else {
                continue;
            };
            let chunk = question.chunk_ordinal();
            let chunk = chunk.map(|ordinal| trace.chunks[ordinal].chunk_id.as_str());
            if let Some(judged) = judgment.judged() {
                put(&mut answers, question, chunk, judged);
            }
            if let Some(detail) = RecordedDetail::of(judgment, source) {
                details.put(question.dimension(), chunk, detail);
            }
        }
        Some(Self {
            answers,
            source: Some(source),
            details: (details != RecordedDetails::default()).then(|| Box::new(details)),
        })
    }

    fn row(
        self,
        judge_id: &JudgeId,
        outcome: &Outcome,
        decision: RecordedDecision,
        calls: &[&JudgeCall],
    ) -> ReplayRow {
        let own = || calls.iter().filter(|call| call.judge_id == *judge_id);
        let latency = own().map(|call| call.latency).max().unwrap_or_default();
        ReplayRow {
            trace_id: outcome.trace.trace_id.clone(),
            input_sha256: Some(input_sha256(&outcome.trace)),
            judge_id: judge_id.clone(),
            model: own().find_map(|call| call.returned_model.clone()),
            source: self.source,
            decision,
            answers: self.answers,
            details: self.details,
            latency_ms: u64::try_from(latency.as_millis()).unwrap_or(u64::MAX),
            usage: own()
                .map(|call| call.usage)
                .reduce(|one, other| Some(sum(one?, other?)))
                .flatten(),
        }
    }
}

fn is_of(judgment: &Judgment, judge_id: &JudgeId) -> bool {
    match judgment {
        Judgment::Judged(judged) => judged.judge_id == *judge_id,
        Judgment::Failed(failure) => failure.judge_id == *judge_id,
        Judgment::NotApplicable(_) => false,
    }
}

fn put(answers: &mut RecordedAnswers, question: Question, chunk: Option<&str>, judged: &Judged) {
    let place = match question.dimension() {
        Dimension::ChunkRelevance => {
            if let Some(chunk) = chunk {
                answers
                    .chunk_relevance
                    .insert(chunk.to_owned(), judged.probability);
            }
            return;
        }
        Dimension::ContextSufficiency => &mut answers.context_sufficiency,
        Dimension::ContextConflict => &mut answers.context_conflict,
        Dimension::AnswerRelevance => &mut answers.answer_relevance,
        Dimension::Groundedness => &mut answers.groundedness,
        Dimension::Contradiction => &mut answers.contradiction,
        Dimension::Correctness => &mut answers.correctness,
    };
    *place = Some(judged.probability);
}

/// The tokens of two calls; a count that one of them does not know is unknown.
fn sum(one: Usage, other: Usage) -> Usage {
    let sum = |one: Option<u64>, other: Option<u64>| Some(one?.saturating_add(other?));
    Usage {
        input_token_count: sum(one.input_token_count, other.input_token_count),
        cached_input_token_count: sum(one.cached_input_token_count, other.cached_input_token_count),
        cache_write_input_token_count: sum(
            one.cache_write_input_token_count,
            other.cache_write_input_token_count,
        ),
        output_token_count: sum(one.output_token_count, other.output_token_count),
        reasoning_token_count: sum(one.reasoning_token_count, other.reasoning_token_count),
    }
}
