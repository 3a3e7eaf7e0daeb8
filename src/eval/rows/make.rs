//! From a row of a dataset and what the cascade made of it to a line of a rows file.
//!
//! Where no usable answer came about, the row is failed with its reason: a failure is never a diagnosis.

use std::collections::{BTreeMap, HashMap};

use super::{Answered, Call, Cell, End, Labels, Leg, Row, Verdict};
use crate::artifact::digest::sha256_hex;
use crate::cascade::plan::{Plan, Scope, plan};
use crate::cascade::settle::{judged, whole_failure};
use crate::cascade::{Attempt, CascadeError};
use crate::dataset::load;
use crate::dataset::record::{Expected, Record};
use crate::domain::Vocabulary as _;
use crate::domain::diagnosis::{Diagnosis, NotAssessableReason, Ruling};
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{Answers, Judgment};
use crate::domain::outcome::{
    DecisionVariant, FallbackUnavailableReason, JudgeCall, JudgeRole, NanoUsd, Outcome, Pass, Route,
};
use crate::domain::trace::Trace;
use crate::policy::Policy;
use crate::report::model::Mode;

/// What every row of one evaluation is made with.
#[derive(Debug, Clone)]
pub struct Maker {
    slices: HashMap<String, usize>,
    /// The judge that stands for a leg in which nobody was asked.
    atomic_id: String,
    fallback_id: String,
}

impl Maker {
    /// For rows under a header with these slices, by judges of these names.
    pub fn new(slices: &[String], atomic_id: String, fallback_id: String) -> Self {
        Self {
            slices: slices.iter().cloned().zip(0..).collect(),
            atomic_id,
            fallback_id,
        }
    }

    /// What is known of a row before anybody was asked.
    pub fn row(&self, index: u64, record: &Record) -> Row {
        let mut slices: Vec<usize> = load::slices_of(record)
            .iter()
            .filter_map(|name| self.slices.get(name).copied())
            .collect();
        slices.sort_unstable();
        slices.dedup();
        let mut group = sha256_hex(record.question.as_bytes());
        group.truncate(16);
        Row {
            index,
            trace_id: record.id.clone(),
            group,
            slices,
            variant: match record.reference_answer {
                Some(_) => DecisionVariant::WithReference,
                None => DecisionVariant::WithoutReference,
            },
            chunk_ids: record.contexts.iter().map(|c| c.id.clone()).collect(),
            labels: record
                .expected
                .as_ref()
                .map(|expected| labels(expected, record))
                .unwrap_or_default(),
            abstains: false,
            atomic: None,
            fallback: None,
            baseline: None,
            ends: BTreeMap::new(),
        }
    }

    /// What the first judge said.
    pub fn atomic_leg(&self, attempt: &Attempt) -> Option<Leg> {
        let (pass, calls, cost) = match &attempt.outcome {
            Ok(outcome) => (outcome.atomic.as_ref()?, &outcome.calls, outcome.cost),
            Err(_) => match &attempt.atomic {
                Some(pass) => (pass, &attempt.calls, attempt.cost),
                None => return None,
            },
        };
        let calls = of_role(calls, JudgeRole::Atomic);
        Some(leg(&self.atomic_id, pass, calls, cost.atomic))
    }

    /// What the fallback judge said after it.
    pub fn fallback_leg(&self, outcome: &Outcome) -> Option<Leg> {
        let pass = outcome.fallback.as_ref()?;
        let calls = of_role(&outcome.calls, JudgeRole::Fallback);
        Some(leg(&self.fallback_id, pass, calls, outcome.cost.fallback))
    }

    /// What the fallback judge said alone.
    pub fn baseline_leg(&self, outcome: &Outcome) -> Option<Leg> {
        let base = outcome.atomic.as_ref()?;
        let said = outcome.fallback.as_ref();
        let answers = base.answers.map(|question, structural| {
            let said = said.and_then(|pass| pass.answers[question].clone());
            structural.clone().or(said)
        });
        let pass = Pass {
            answers,
            statements: Vec::new(),
            verdict: said.and_then(|pass| pass.verdict),
        };
        let calls = of_role(&outcome.calls, JudgeRole::Fallback);
        let cost = match calls.is_empty() {
            true => Some(NanoUsd::ZERO),
            false => outcome.cost.fallback,
        };
        Some(leg(&self.fallback_id, &pass, calls, cost))
    }
}

fn of_role(calls: &[JudgeCall], role: JudgeRole) -> Vec<&JudgeCall> {
    calls.iter().filter(|call| call.role == role).collect()
}

/// The labels of a row, those of chunks by their order.
pub(in crate::eval) fn labels(expected: &Expected, record: &Record) -> Labels {
    let mut whole = BTreeMap::new();
    let mut chunks = Vec::new();
    let mut label = |dimension, value: Option<bool>| {
        whole.extend(value.map(|value| (dimension, value)));
    };
    if let Some(retrieval) = &expected.retrieval {
        label(Dimension::ContextSufficiency, retrieval.context_sufficiency);
        label(Dimension::ContextConflict, retrieval.context_conflict);
        if !retrieval.chunk_relevance.is_empty() {
            let ids = record.contexts.iter().map(|context| &context.id);
            chunks = ids
                .map(|id| retrieval.chunk_relevance.get(id).copied())
                .collect();
        }
    }
    if let Some(generation) = &expected.generation {
        label(Dimension::AnswerRelevance, generation.answer_relevance);
        label(Dimension::Groundedness, generation.groundedness);
        label(Dimension::Contradiction, generation.contradiction);
        label(Dimension::Correctness, generation.correctness);
    }
    Labels {
        diagnosis: expected.diagnosis,
        chunks,
        whole,
    }
}

fn leg(default_id: &str, pass: &Pass, calls: Vec<&JudgeCall>, cost: Option<NanoUsd>) -> Leg {
    let first = calls.first().map(|call| call.judge_id.as_str());
    let judge_id = first.unwrap_or(default_id).to_owned();
    let source = pass
        .answers
        .iter()
        .find_map(|(_, answer)| answer.as_ref()?.judged())
        .map(|judged| judged.source);
    let mut leg = Leg {
        judge_id,
        source,
        verdict: pass.verdict.map(|verdict| Verdict {
            diagnosis: verdict.diagnosis,
            confidence: verdict.confidence,
        }),
        latency_us: calls.iter().map(|call| micros(call)).max().unwrap_or(0),
        calls: calls.into_iter().map(call_row).collect(),
        nano_usd: cost.map(|cost| cost.0),
        ..Leg::default()
    };
    for &dimension in Dimension::ALL {
        if dimension == Dimension::ChunkRelevance {
            continue;
        }
        let answers = pass.answers.of(dimension).iter();
        let cells = answers.flatten().map(|said| (dimension, cell(&leg, said)));
        leg.whole.extend(cells.collect::<Vec<_>>());
    }
    leg.chunks = chunk_cells(&leg, &pass.answers);
    leg
}

fn chunk_cells(leg: &Leg, answers: &Answers) -> Vec<Option<Cell>> {
    let chunks = answers.of(Dimension::ChunkRelevance);
    if chunks.iter().all(Option::is_none) {
        return Vec::new();
    }
    let cells = chunks.iter().map(|said| Some(cell(leg, said.as_ref()?)));
    cells.collect()
}

fn cell(leg: &Leg, said: &Judgment) -> Cell {
    let judged = match said {
        Judgment::Judged(judged) => judged,
        Judgment::NotApplicable(reason) => {
            return Cell::NotApplicable {
                not_applicable: *reason,
            };
        }
        Judgment::Failed(failure) => {
            return Cell::Failed {
                failed: failure.reason,
            };
        }
    };
    let judge_id = (judged.judge_id.as_str() != leg.judge_id).then(|| judged.judge_id.to_string());
    let source = Some(judged.source).filter(|source| Some(*source) != leg.source);
    let seen = judged.seen_fraction;
    let seen_fraction = (!seen.is_whole()).then(|| seen.value());
    let (probability, vetoes_pass) = (judged.probability, judged.vetoes_pass);
    if judge_id.is_none() && source.is_none() && seen_fraction.is_none() && !vetoes_pass {
        return Cell::Plain(probability);
    }
    Cell::Judged {
        probability,
        judge_id,
        source,
        seen_fraction,
        vetoes_pass,
    }
}

/// A judge inside the program counts nothing: the time of this machine would make every run another report.
fn micros(call: &JudgeCall) -> u64 {
    if call.is_local {
        return 0;
    }
    u64::try_from(call.latency.as_micros()).unwrap_or(u64::MAX)
}

fn call_row(call: &JudgeCall) -> Call {
    Call {
        judge_id: call.judge_id.to_string(),
        model: call.returned_model.clone(),
        usage: call.usage,
        nano_usd: call.cost.map(|cost| cost.0),
        latency_us: micros(call),
        failure: call.failure,
    }
}

/// How a row came out in each of the modes that one diagnosis answers.
pub fn ends_of(
    modes: &[Mode],
    trace: &Trace,
    policy: &Policy,
    attempt: &Attempt,
) -> Vec<(Mode, End)> {
    let end = |mode| match mode {
        Mode::BaselineOnly => None,
        Mode::Cascade => Some((mode, cascade_end(attempt))),
        Mode::AtomicOnly if modes.contains(&Mode::Cascade) => {
            Some((mode, atomic_end(trace, policy, attempt)))
        }
        Mode::AtomicOnly => Some((mode, cascade_end(attempt))),
    };
    modes.iter().copied().filter_map(end).collect()
}

/// How a row came out for the one that diagnosed it.
fn cascade_end(attempt: &Attempt) -> End {
    let outcome = match &attempt.outcome {
        Ok(outcome) => outcome,
        Err(error) => return failed(reason_of(error)),
    };
    if let Some(reason) = outcome.not_assessable {
        return not_assessable(reason);
    }
    let whole = outcome
        .atomic
        .as_ref()
        .and_then(|pass| whole_failure(&pass.answers));
    match outcome.fallback_unavailable {
        None => answered(&outcome.ruling, outcome.route, None),
        Some(why) => match why {
            FallbackUnavailableReason::NotConfigured | FallbackUnavailableReason::Skipped => {
                match whole {
                    Some(failure) => gave_nothing(failure.reason, why),
                    None => answered(&outcome.ruling, outcome.route, Some(why)),
                }
            }
            FallbackUnavailableReason::Error
            | FallbackUnavailableReason::Deadline
            | FallbackUnavailableReason::Budget
            | FallbackUnavailableReason::Breaker
            | FallbackUnavailableReason::Overloaded
            | FallbackUnavailableReason::Deferred
            | FallbackUnavailableReason::MismatchShare => {
                gave_nothing(fallback_failure(outcome, why), why)
            }
        },
    }
}

/// How a row would have come out without the fallback judge: by the same answers and the same policy.
fn atomic_end(trace: &Trace, policy: &Policy, attempt: &Attempt) -> End {
    let outcome = match &attempt.outcome {
        Ok(outcome) => outcome,
        Err(error) => return failed(reason_of(error)),
    };
    let base = match plan(trace, policy, Scope::Full) {
        Plan::NotAssessable(reason) => return not_assessable(reason),
        Plan::Judge { base, .. } => base,
    };
    let Some(pass) = &outcome.atomic else {
        return failed(FailureReason::Unavailable);
    };
    if let Some(failure) = whole_failure(&pass.answers) {
        return gave_nothing(failure.reason, FallbackUnavailableReason::Skipped);
    }
    let (_, ruling) = judged(policy, &base, &pass.answers);
    match ruling.diagnosis {
        Diagnosis::JudgeUncertain => {
            let why = FallbackUnavailableReason::Skipped;
            answered(&ruling, Route::FallbackUnavailable, Some(why))
        }
        Diagnosis::Pass
        | Diagnosis::RetrievalMiss
        | Diagnosis::RetrievalInsufficient
        | Diagnosis::ConflictingEvidence
        | Diagnosis::AnswerIrrelevant
        | Diagnosis::GeneratorUngrounded
        | Diagnosis::AnswerIncorrect
        | Diagnosis::NotAssessable => answered(&ruling, Route::Auto, None),
    }
}

/// How a row came out for the fallback judge alone.
pub fn baseline_end(outcome: &Outcome) -> End {
    if let Some(reason) = outcome.not_assessable {
        return not_assessable(reason);
    }
    match outcome.fallback_unavailable {
        Some(why) => gave_nothing(fallback_failure(outcome, why), why),
        None => answered(&outcome.ruling, outcome.route, None),
    }
}

/// A row that came no further.
pub const fn failed(failed: FailureReason) -> End {
    End::Failed {
        failed,
        route: None,
        fallback_unavailable: None,
    }
}

const fn not_assessable(not_assessable: NotAssessableReason) -> End {
    End::NotAssessable { not_assessable }
}

const fn gave_nothing(failed: FailureReason, why: FallbackUnavailableReason) -> End {
    End::Failed {
        failed,
        route: Some(Route::FallbackUnavailable),
        fallback_unavailable: Some(why),
    }
}

fn answered(ruling: &Ruling, route: Route, why: Option<FallbackUnavailableReason>) -> End {
    let ground = ruling.fired.ground;
    End::Answered(Answered {
        diagnosis: ruling.diagnosis,
        confidence: ruling.confidence,
        route,
        fallback_unavailable: why,
        rule: ruling.fired.rule,
        dimension: ground.map(|ground| ground.dimension),
        value: ground.map(|ground| ground.value),
        threshold: ground.map(|ground| ground.threshold),
    })
}

fn reason_of(error: &CascadeError) -> FailureReason {
    match error {
        CascadeError::Deadline(_) => FailureReason::Timeout,
        CascadeError::AtomicFailed { reason, .. } => *reason,
    }
}

/// Why the fallback judge gave nothing, as it said itself if it was asked.
fn fallback_failure(outcome: &Outcome, why: FallbackUnavailableReason) -> FailureReason {
    let pass = outcome.fallback.as_ref();
    if let Some(failure) = pass.and_then(|pass| whole_failure(&pass.answers)) {
        return failure.reason;
    }
    match why {
        FallbackUnavailableReason::Deadline => FailureReason::Timeout,
        FallbackUnavailableReason::Budget => FailureReason::Budget,
        FallbackUnavailableReason::Breaker => FailureReason::BreakerOpen,
        FallbackUnavailableReason::Overloaded => FailureReason::Overloaded,
        FallbackUnavailableReason::NotConfigured
        | FallbackUnavailableReason::Skipped
        | FallbackUnavailableReason::Error
        | FallbackUnavailableReason::Deferred
        | FallbackUnavailableReason::MismatchShare => FailureReason::Unavailable,
    }
}
