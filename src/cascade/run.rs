//! One trace on its way through the cascade.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::plan::{Plan, Scope, plan};
use super::profile::{FallbackMode, OnAtomicError, Profile};
use super::settle::{failures, fallback_questions, judged, judgments_said, settled, whole_failure};
use super::time::Budget;
use super::{Attempt, Cascade, CascadeError, Request, Stage, money};
use crate::domain::diagnosis::{Diagnosis, NotAssessableReason, Rule, Ruling};
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{Failure, Judgments};
use crate::domain::outcome::{
    CalibrationState, DecisionVariant, FallbackReason, FallbackUnavailableReason, JudgeCall,
    JudgeRole, Outcome, Pass, Provenance, Route, Timing, is_model_name,
};
use crate::domain::question::QuestionSet;
use crate::domain::trace::Trace;
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
    /// What the atomic judge said where that ends in an error.
    failed: Option<Pass>,
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
            failed: None,
        }
    }

    /// The diagnosis, or what is known where there is none.
    pub(super) async fn attempt(mut self) -> Attempt {
        let outcome = self.diagnose().await;
        Attempt {
            outcome,
            atomic: self.failed,
            cost: money::total(&self.calls, self.cascade.pricing.as_deref()),
            calls: self.calls,
        }
    }

    pub(super) async fn diagnose(&mut self) -> Result<Outcome, CascadeError> {
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
        let (judgments, ruling) = judged(policy, &base, &pass.answers);
        pass.answers = judgments_said(&base, &pass.answers);
        let end = if ruling.diagnosis == Diagnosis::JudgeUncertain {
            self.fall_back(ruling, &judgments, &questions, atomic_failed)
                .await
        } else {
            End::auto(ruling)
        };
        Ok(self.outcome(end, pass))
    }

    /// The fallback judge alone, asked every question.
    pub(super) async fn baseline(mut self) -> Outcome {
        let trace = Arc::clone(&self.request.trace);
        let policy = &self.profile.policy.policy;
        let (base, questions) = match plan(&trace, policy, self.request.scope) {
            Plan::NotAssessable(reason) => return self.not_assessable(reason),
            Plan::Judge { base, questions } => (base, questions),
        };
        let structural = judgments_said(&base, &Pass::empty(trace.chunks.len()).answers);
        let atomic = Pass {
            answers: structural,
            ..Pass::empty(trace.chunks.len())
        };
        let unasked = policy::diagnose(policy, &base);
        let end = if questions.is_empty() {
            End::auto(unasked)
        } else {
            self.ask_fallback(unasked, &base, &questions).await
        };
        self.outcome(end, atomic)
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
        let Some(Failure { judge_id, reason }) = whole_failure(&answer.answers).cloned() else {
            return Ok((pass(answer), false));
        };
        let is_timeout = |failure: &Failure| failure.reason == FailureReason::Timeout;
        let error =
            if failures(&answer.answers).all(is_timeout) && self.budget.is_over(Instant::now()) {
                CascadeError::Deadline(Stage::Atomic)
            } else if profile.on_atomic_error == OnAtomicError::Fail {
                CascadeError::AtomicFailed { judge_id, reason }
            } else {
                return Ok((pass(answer), true));
            };
        self.failed = Some(pass(answer));
        Err(error)
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
        let policy = &self.profile.policy.policy;
        let questions = fallback_questions(
            policy,
            judgments,
            &ruling.fired,
            || asked.clone(),
            atomic_failed,
        );
        self.ask_fallback(ruling, judgments, &questions).await
    }

    /// What becomes of an undecided trace by the fallback judge's answers to these questions.
    async fn ask_fallback(
        &mut self,
        ruling: Ruling,
        judgments: &Judgments,
        questions: &QuestionSet,
    ) -> End {
        let unavailable = |ruling, why, fallback| End {
            ruling,
            route: Route::FallbackUnavailable,
            fallback_unavailable: Some(why),
            fallback,
        };
        let judge = match self.fallback_judge(questions) {
            Ok(judge) => judge,
            Err(why) => return unavailable(ruling, why, None),
        };
        let deadline = self.budget.deadline;
        let answer = self
            .ask(judge, JudgeRole::Fallback, questions, deadline)
            .await;
        let failure = whole_failure(&answer.answers).filter(|_| answer.verdict.is_none());
        if let Some(failure) = failure {
            let why = unavailable_reason(failure.reason);
            return unavailable(ruling, why, Some(pass(answer)));
        }
        let policy = &self.profile.policy.policy;
        End {
            ruling: settled(policy, judgments, &answer.answers, answer.verdict),
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

    fn not_assessable(&mut self, reason: NotAssessableReason) -> Outcome {
        let ruling = Ruling::without_ground(Diagnosis::NotAssessable, None, Rule::NotAssessable);
        Outcome {
            atomic: None,
            not_assessable: Some(reason),
            ..self.outcome(End::auto(ruling), Pass::empty(0))
        }
    }

    fn outcome(&mut self, end: End, atomic: Pass) -> Outcome {
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
            calls: std::mem::take(&mut self.calls),
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
