//! One trace on its way through the cascade.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::plan::{Plan, Scope, plan};
use super::profile::{FallbackMode, OnAtomicError, Profile};
use super::time::Budget;
use super::{Cascade, CascadeError, Request, Stage, money};
use crate::domain::diagnosis::{Diagnosis, NotAssessableReason, Rule, Ruling};
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{Answers, Judgment, Judgments};
use crate::domain::outcome::{
    CalibrationState, DecisionVariant, FallbackReason, FallbackUnavailableReason, JudgeCall,
    JudgeRole, Outcome, Pass, Provenance, Route, Timing, is_model_name,
};
use crate::domain::question::QuestionSet;
use crate::domain::trace::{JudgeId, Trace};
use crate::judge::composite::Composite;
use crate::judge::decision::Decision;
use crate::judge::{Answer, Ask, CallContext};
use crate::telemetry::metrics::money::AvoidedCost;
use crate::{policy, text};

/// The state of one diagnosis.
pub(super) struct Run<'a> {
    cascade: &'a Cascade,
    profile: &'a Profile,
    request: Request,
    budget: Budget,
    decision: &'static Decision,
    judge_wait: Duration,
    calls: Vec<JudgeCall>,
}

/// How a trace came out.
struct End {
    ruling: Ruling,
    route: Route,
    fallback_unavailable: Option<FallbackUnavailableReason>,
    fallback: Option<Pass>,
}

impl End {
    /// Without a need for the fallback judge.
    const fn auto(ruling: Ruling) -> Self {
        Self {
            ruling,
            route: Route::Auto,
            fallback_unavailable: None,
            fallback: None,
        }
    }
}

impl<'a> Run<'a> {
    pub(super) fn new(cascade: &'a Cascade, profile: &'a Profile, request: Request) -> Self {
        let budget = Budget::new(&profile.time, request.received, request.timeout);
        let variant = match request.trace.reference_answer {
            Some(_) => DecisionVariant::WithReference,
            None => DecisionVariant::WithoutReference,
        };
        Self {
            cascade,
            profile,
            request,
            budget,
            decision: Decision::of(variant),
            judge_wait: Duration::ZERO,
            calls: Vec::new(),
        }
    }

    pub(super) async fn diagnose(mut self) -> Result<Outcome, CascadeError> {
        let trace = Arc::clone(&self.request.trace);
        self.cascade
            .metrics
            .trace_measured(estimated_token_count(&trace));
        let policy = &self.profile.policy.policy;
        let (base, questions) = match plan(&trace, policy, self.request.scope) {
            Plan::NotAssessable(reason) => return Ok(self.not_assessable(reason)),
            Plan::Judge { base, questions } => (base, questions),
        };
        let (mut pass, atomic_failed) = if questions.is_empty() {
            (Pass::empty(trace.chunks.len()), false)
        } else {
            self.ask_atomic(&questions).await?
        };
        let judgments = merge(&base, &pass.answers);
        pass.answers = judgments_said(&base, &pass.answers);
        let ruling = policy::diagnose(policy, &judgments);
        let end = if ruling.diagnosis == Diagnosis::JudgeUncertain {
            self.fall_back(ruling, &judgments, &questions, atomic_failed)
                .await
        } else {
            End::auto(ruling)
        };
        Ok(self.outcome(end, pass))
    }

    /// What the atomic judge said, and whether it failed as a whole.
    async fn ask_atomic(&mut self, questions: &QuestionSet) -> Result<(Pass, bool), CascadeError> {
        let now = Instant::now();
        if self.budget.is_over(now) {
            return Err(CascadeError::Deadline(Stage::Start));
        }
        let deadline = self.budget.atomic_deadline(now);
        let profile = self.profile;
        let answer = self
            .ask(&profile.atomic, JudgeRole::Atomic, questions, deadline)
            .await;
        let Some((judge_id, reason)) = whole_failure(&answer, questions) else {
            return Ok((pass(answer), false));
        };
        let all_timed_out =
            failures(&answer, questions).all(|(_, reason)| reason == FailureReason::Timeout);
        if all_timed_out && self.budget.is_over(Instant::now()) {
            return Err(CascadeError::Deadline(Stage::Atomic));
        }
        match profile.on_atomic_error {
            OnAtomicError::Fail => Err(CascadeError::AtomicFailed { judge_id, reason }),
            OnAtomicError::Fallback => Ok((pass(answer), true)),
        }
    }

    /// What becomes of a trace that the atomic judge left uncertain.
    async fn fall_back(
        &mut self,
        ruling: Ruling,
        judgments: &Judgments,
        asked: &QuestionSet,
        atomic_failed: bool,
    ) -> End {
        let reason = if atomic_failed {
            FallbackReason::AtomicFailed
        } else {
            FallbackReason::Uncertain
        };
        let metrics = &self.cascade.metrics;
        metrics.uncertain(&self.profile.name, &ruling.fired);
        metrics.fallback_requested(&self.profile.name, reason);
        let unavailable = |ruling, why, fallback| End {
            ruling,
            route: Route::FallbackUnavailable,
            fallback_unavailable: Some(why),
            fallback,
        };
        let policy = &self.profile.policy.policy;
        let questions = if atomic_failed {
            asked.clone()
        } else {
            policy::open_questions(policy, judgments, &ruling.fired)
        };
        let judge = match self.fallback_judge(&questions) {
            Ok(judge) => judge,
            Err(why) => return unavailable(ruling, why, None),
        };
        let deadline = self.budget.deadline;
        let answer = self
            .ask(judge, JudgeRole::Fallback, &questions, deadline)
            .await;
        if let Some((_, failure)) = whole_failure(&answer, &questions) {
            return unavailable(ruling, unavailable_reason(failure), Some(pass(answer)));
        }
        let merged = replace_judged(judgments, &answer.answers);
        let settled = answer
            .verdict
            .map_or_else(|| policy::diagnose(policy, &merged), Ruling::from_verdict);
        End {
            ruling: settled,
            route: Route::Fallback,
            fallback_unavailable: None,
            fallback: Some(pass(answer)),
        }
    }

    /// The fallback judge, if it is there, wanted, of use and in time.
    fn fallback_judge(
        &self,
        questions: &QuestionSet,
    ) -> Result<&'a Composite, FallbackUnavailableReason> {
        let judge = self
            .profile
            .fallback
            .as_ref()
            .ok_or(FallbackUnavailableReason::NotConfigured)?;
        let mode = self
            .request
            .fallback_mode
            .unwrap_or(self.profile.fallback_mode);
        if mode == FallbackMode::None || questions.is_empty() {
            Err(FallbackUnavailableReason::Skipped)
        } else if !self.budget.allows_fallback(Instant::now()) {
            Err(FallbackUnavailableReason::Deadline)
        } else {
            Ok(judge)
        }
    }

    async fn ask(
        &mut self,
        judge: &Composite,
        role: JudgeRole,
        questions: &QuestionSet,
        deadline: Instant,
    ) -> Answer {
        let trace = Arc::clone(&self.request.trace);
        let ask = Ask {
            trace: &trace,
            questions,
            decision: self.decision,
            history_is_evidence: self.profile.policy.policy.history_is_evidence,
        };
        let traceparent = self.request.traceparent.clone();
        let context = CallContext {
            deadline,
            role,
            traceparent,
            skip_cache: self.request.skip_cache,
            longest: Some(self.profile.time.longest(role)),
        };
        let start = Instant::now();
        let mut answer = judge.judge(&ask, &context).await;
        self.judge_wait += start.elapsed();
        let pricing = self.cascade.pricing.as_deref();
        for call in &mut answer.calls {
            call.returned_model.take_if(|name| !is_model_name(name));
            call.cost = money::cost_of(call, pricing);
            self.cascade.metrics.judge_called(call);
            if let Some(avoided) = money::avoided_by(call, pricing) {
                let metrics = &self.cascade.metrics;
                metrics.cost_avoided(AvoidedCost::Cache, avoided);
            }
        }
        self.cascade
            .generators
            .watch(&trace, &answer.calls, &self.cascade.metrics);
        self.calls.append(&mut answer.calls);
        answer
    }

    fn not_assessable(self, reason: NotAssessableReason) -> Outcome {
        let ruling = Ruling::without_ground(Diagnosis::NotAssessable, None, Rule::NotAssessable);
        Outcome {
            atomic: None,
            not_assessable: Some(reason),
            ..self.outcome(End::auto(ruling), Pass::empty(0))
        }
    }

    fn outcome(self, end: End, atomic: Pass) -> Outcome {
        let trace = Arc::clone(&self.request.trace);
        let answer_abstains = (self.request.scope == Scope::Full && !trace.answer_is_blank())
            .then(|| text::abstention::abstains(&trace.answer));
        let actions = &self.profile.policy.policy.actions;
        let would_action = actions.action(end.ruling.diagnosis, answer_abstains == Some(true));
        let enforcement = self.profile.enforcement_for(&trace.trace_id);
        Outcome {
            ruling: end.ruling,
            route: end.route,
            fallback_unavailable: end.fallback_unavailable,
            not_assessable: None,
            answer_abstains,
            action: enforcement.action(would_action),
            would_action,
            enforcement,
            atomic: Some(atomic),
            fallback: end.fallback,
            cost: money::total(&self.calls, self.cascade.pricing.as_deref()),
            provenance: self.provenance(),
            timing: Timing {
                total: self.request.started.elapsed(),
                judge_wait: self.judge_wait,
            },
            calls: self.calls,
            trace,
        }
    }

    fn provenance(&self) -> Provenance {
        Provenance {
            profile: self.profile.name.clone(),
            policy: self.profile.policy.id.clone(),
            calibration_state: CalibrationState::Uncalibrated,
            decision_id: self.decision.id,
            decision_version: self.decision.version,
            decision_variant: self.decision.variant,
            pricing: self
                .cascade
                .pricing
                .as_ref()
                .map(|pricing| pricing.id.clone()),
        }
    }
}

fn pass(answer: Answer) -> Pass {
    Pass {
        answers: answer.answers,
        statements: answer.statements,
        verdict: answer.verdict,
    }
}

/// What does not apply, with what the judge said about the rest: a question that was asked has an answer, if only a
/// failure.
fn merge(base: &Judgments, answers: &Answers) -> Judgments {
    base.map(|question, judgment| {
        answers[question]
            .clone()
            .unwrap_or_else(|| judgment.clone())
    })
}

/// The same for the response, where a question that a whole verdict left unanswered stays absent.
fn judgments_said(base: &Judgments, answers: &Answers) -> Answers {
    base.map(|question, judgment| match judgment {
        Judgment::NotApplicable(_) => Some(judgment.clone()),
        Judgment::Judged(_) | Judgment::Failed(_) => answers[question].clone(),
    })
}

/// An answered judgment replaces the open one, a failed one replaces nothing.
fn replace_judged(judgments: &Judgments, answers: &Answers) -> Judgments {
    judgments.map(|question, judgment| match &answers[question] {
        Some(answered @ Judgment::Judged(_)) => answered.clone(),
        _ => judgment.clone(),
    })
}

/// Every failed question that was asked, with its judge and reason.
fn failures(
    answer: &Answer,
    asked: &QuestionSet,
) -> impl Iterator<Item = (JudgeId, FailureReason)> {
    asked
        .asked()
        .filter_map(|question| match &answer.answers[question] {
            Some(Judgment::Failed(failure)) => Some((failure.judge_id.clone(), failure.reason)),
            _ => None,
        })
}

/// The first failure, if every question that was asked failed.
fn whole_failure(answer: &Answer, asked: &QuestionSet) -> Option<(JudgeId, FailureReason)> {
    let all_failed =
        answer.verdict.is_none() && failures(answer, asked).count() == asked.asked().count();
    if all_failed {
        failures(answer, asked).next()
    } else {
        None
    }
}

/// The fallback judge has the rest of the time, so its time-out is the deadline of the call.
const fn unavailable_reason(reason: FailureReason) -> FallbackUnavailableReason {
    match reason {
        FailureReason::Timeout => FallbackUnavailableReason::Deadline,
        FailureReason::Budget => FallbackUnavailableReason::Budget,
        FailureReason::BreakerOpen => FallbackUnavailableReason::Breaker,
        FailureReason::Overloaded => FallbackUnavailableReason::Overloaded,
        FailureReason::RateLimited
        | FailureReason::Unavailable
        | FailureReason::Unauthenticated
        | FailureReason::Protocol
        | FailureReason::Refused
        | FailureReason::OutputTruncated
        | FailureReason::TooLong
        | FailureReason::TruncatedByJudge
        | FailureReason::Undecidable
        | FailureReason::UnsupportedLanguage
        | FailureReason::LowLabelMass
        | FailureReason::LogprobsUnsupported
        | FailureReason::ModelMismatch => FallbackUnavailableReason::Error,
    }
}

fn estimated_token_count(trace: &Trace) -> usize {
    let texts = trace
        .chunks
        .iter()
        .map(|chunk| &chunk.text)
        .chain([&trace.question, &trace.answer]);
    let optional = trace
        .reference_answer
        .iter()
        .chain(&trace.standalone_question);
    let history = trace.history.iter().map(|turn| &turn.text);
    texts
        .chain(optional)
        .chain(history)
        .map(|text| text::tokens::estimated_token_count(text))
        .sum()
}
