//! Verdict rows of generated decisions: what is written is read back, and decided again as it was.

use std::sync::Arc;

use proptest::option;
use proptest::prelude::*;

use super::{a_leg, a_policy, decide, row};
use crate::artifact::verdict::VerdictRow;
use crate::cascade::settle;
use crate::domain::diagnosis::{Action, Diagnosis, Ruling};
use crate::domain::judgment::{Answers, Judgment};
use crate::domain::outcome::{
    CalibrationState, Cost, DecisionVariant, Enforcement, NanoUsd, Outcome, Pass, Provenance,
    Route, Timing,
};
use crate::domain::question::QuestionSet;
use crate::domain::trace::{Chunk, RetrievalState, SnapshotId, Trace, TraceDraft, TraceLimits};
use crate::eval::what_if::recorded::{Decided, Judges, Recorded};
use crate::eval::what_if::{rows_line, verdict_line};
use crate::policy::{self, Policy};

const CHUNK_COUNT: usize = 2;
const LIMITS: TraceLimits = TraceLimits {
    max_chunk_count: CHUNK_COUNT,
    max_text_bytes: 1000,
    max_history_turns: 0,
};

fn trace() -> Arc<Trace> {
    let chunks = (0..CHUNK_COUNT).map(|ordinal| Chunk {
        chunk_id: format!("c\"{ordinal}").into(),
        text: "text".to_owned(),
        document_id: None,
        retrieval_score: None,
    });
    let draft = TraceDraft {
        trace_id: "t\\1".into(),
        question: "question".to_owned(),
        chunks: chunks.collect(),
        answer: "answer".to_owned(),
        reference_answer: Some("reference".to_owned()),
        history: Vec::new(),
        standalone_question: None,
        retrieval: RetrievalState::Performed,
        tags: Vec::new(),
        generator_model: None,
        language: None,
        statements: Vec::new(),
    };
    Arc::new(Trace::new(draft, &LIMITS).unwrap())
}

/// What the cascade makes of these answers, step by step as it takes them.
fn outcome(recorded: &Recorded<'_>, policy: &Policy) -> Outcome {
    let mut judges = Judges::default();
    let atomic = recorded.atomic.as_ref().unwrap();
    let judgments = atomic.judgments(CHUNK_COUNT, &mut judges);
    let judgments = settle::under(policy, &judgments).unwrap_or(judgments);
    let said: Answers = judgments.map(|_, judgment| Some(judgment.clone()));
    let ruling = policy::diagnose(policy, &judgments);
    let needs_judge = ruling.diagnosis == Diagnosis::JudgeUncertain;

    let asked = judgments.map(|_, judgment| !matches!(judgment, Judgment::NotApplicable(_)));
    let atomic_failed = settle::whole_failure(&said).is_some();
    let open = settle::fallback_questions(
        policy,
        &judgments,
        &ruling.fired,
        || asked.clone(),
        atomic_failed,
    );
    let fallback = recorded.fallback.as_ref().filter(|_| needs_judge);
    let answers = fallback.map(|leg| leg.answers(&open, &[], &mut judges));
    let answers = answers.filter(|answers| is_answered(&open, answers));
    let is_served = answers
        .as_ref()
        .is_some_and(|answers| settle::whole_failure(answers).is_none());
    let (ruling, route) = match &answers {
        Some(answers) if is_served => {
            let ruling = settle::settled(policy, &judgments, answers, None);
            (ruling, Route::Fallback)
        }
        _ if needs_judge => (ruling, Route::FallbackUnavailable),
        _ => (ruling, Route::Auto),
    };
    let fallback = answers.map(pass);
    outcome_of(ruling, route, pass(said), fallback)
}

/// A judge has answered something, or has failed at every question; there is no call without a question.
fn is_answered(open: &QuestionSet, answers: &Answers) -> bool {
    let is_said = |question| {
        matches!(
            answers[question],
            Some(Judgment::Judged(_) | Judgment::Failed(_))
        )
    };
    let is_judged = |question| matches!(answers[question], Some(Judgment::Judged(_)));
    !open.is_empty() && (open.asked().any(is_judged) || open.asked().all(is_said))
}

fn pass(answers: Answers) -> Pass {
    Pass {
        answers,
        statements: Vec::new(),
        verdict: None,
    }
}

fn outcome_of(ruling: Ruling, route: Route, atomic: Pass, fallback: Option<Pass>) -> Outcome {
    Outcome {
        trace: trace(),
        ruling,
        route,
        fallback_unavailable: None,
        not_assessable: None,
        answer_abstains: None,
        action: Action::Allow,
        would_action: Action::Allow,
        enforcement: Enforcement::Shadow,
        cost: Cost {
            atomic: Some(NanoUsd(3)),
            fallback: fallback.as_ref().map(|_| NanoUsd(3)),
            ..Cost::default()
        },
        atomic: Some(atomic),
        fallback,
        calls: Vec::new(),
        provenance: Provenance {
            profile: "default".into(),
            policy: SnapshotId {
                id: "p".into(),
                sha256: "0".into(),
            },
            calibration_state: CalibrationState::Uncalibrated,
            decision_id: "d",
            decision_version: "2",
            decision_variant: DecisionVariant::WithReference,
            pricing: None,
        },
        timing: Timing::default(),
    }
}

proptest! {
    #[test]
    fn a_verdict_row_is_read_back_and_decided_as_it_was(
        policy in a_policy(),
        atomic in a_leg("atomic"),
        fallback in option::of(a_leg("fallback")),
    ) {
        let legs: Vec<_> = [Some(atomic), fallback].into_iter().flatten().collect();
        let text = row(&legs.join(",")).replace("[\"c1\"]", "[\"c1\",\"c2\"]");
        let recorded = rows_line::read(&text).unwrap();
        let outcome = outcome(&recorded, &policy);
        let line = serde_json::to_string(&VerdictRow::of(&outcome, &policy)).unwrap();
        let again: VerdictRow = serde_json::from_str(&line).unwrap();
        prop_assert_eq!(&serde_json::to_string(&again).unwrap(), &line);

        let verdict = verdict_line::read(&line).unwrap();
        let was = Decided {
            diagnosis: outcome.ruling.diagnosis,
            confidence: outcome.ruling.confidence,
            route: outcome.route,
            rule: outcome.ruling.fired.rule,
        };
        prop_assert_eq!(verdict.decided, Some(was));
        prop_assert_eq!(&*verdict.trace_id, "t\\1");
        let decision = decide(&verdict, &policy);
        prop_assert_eq!(decision.decided, was);
        // The same answers in a rows file give the same decision, from the same place and at the same cost.
        let over_rows = decide(&recorded, &policy);
        prop_assert_eq!(over_rows.decided, was);
        prop_assert_eq!(over_rows.served, decision.served);
        prop_assert_eq!(over_rows.cost, decision.cost);
    }
}
