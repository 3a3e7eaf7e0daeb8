//! What was recorded of a judge replays to the judgments that it gave.

use proptest::prelude::*;

use super::*;
use crate::artifact::replay::recorded;
use crate::domain::Vocabulary as _;
use crate::domain::diagnosis::{Action, Diagnosis, Rule, Ruling};
use crate::domain::dimension::Dimension;
use crate::domain::failure::NotApplicableReason;
use crate::domain::judgment::{Evidence, Guard, Judged, JudgmentBasis, SeenFraction};
use crate::domain::outcome::{
    CalibrationState, Cost, DecisionVariant, Enforcement, JudgeRole, Outcome, Pass, Provenance,
    Route, Timing, Usage,
};
use crate::domain::probability::Probability;
use crate::domain::question::{Question, QuestionSet};
use crate::domain::trace::{Chunk, RetrievalState, SnapshotId, Trace, TraceDraft, TraceLimits};
use crate::judge::decision::Decision;
use crate::telemetry::metrics::MetricNames;

const CHUNK_COUNT: usize = 3;
const QUESTION_COUNT: usize = Dimension::COUNT - 1 + CHUNK_COUNT;
const LIMITS: TraceLimits = TraceLimits {
    max_chunk_count: 8,
    max_text_bytes: 1000,
    max_history_turns: 8,
};

fn trace() -> Arc<Trace> {
    let chunks = (0..CHUNK_COUNT).map(|n| Chunk {
        chunk_id: format!("c\"{n}").into(),
        text: "t".to_owned(),
        document_id: None,
        retrieval_score: None,
    });
    let draft = TraceDraft {
        trace_id: "t1".into(),
        question: "q".to_owned(),
        chunks: chunks.collect(),
        answer: "a".to_owned(),
        reference_answer: Some("r".to_owned()),
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

/// The judges share the questions: all about chunks are for `a`.
fn judge_of(question: Question) -> JudgeId {
    let is_first = question.dimension().index().is_multiple_of(2);
    if is_first { "a".into() } else { "b".into() }
}

fn judged() -> impl Strategy<Value = Judged> {
    let numbers = (0.0..=1.0, 0.001..=1.0, proptest::option::of(0.0..=1.0));
    let kinds = (
        proptest::sample::select(JudgmentSource::ALL),
        proptest::sample::select(JudgmentBasis::ALL),
        proptest::sample::subsequence(Guard::ALL, 0..3),
    );
    (numbers, kinds, any::<bool>(), any::<bool>()).prop_map(
        |((p, seen, mass), (source, basis, guards), vetoes_pass, is_whole)| Judged {
            probability: Probability::try_from(p).unwrap(),
            judge_id: "".into(),
            role: JudgeRole::Atomic,
            source,
            delivery: JudgmentDelivery::Live,
            basis,
            seen_fraction: if is_whole {
                SeenFraction::ALL
            } else {
                SeenFraction::new(seen).unwrap()
            },
            label_mass: mass.map(|mass| Probability::try_from(mass).unwrap()),
            vetoes_pass,
            evidence: (!guards.is_empty()).then(|| {
                Box::new(Evidence {
                    guards,
                    ..Evidence::default()
                })
            }),
        },
    )
}

fn judgment() -> impl Strategy<Value = Option<Judgment>> {
    let failure = proptest::sample::select(FailureReason::ALL).prop_map(|reason| Failure {
        judge_id: "".into(),
        reason,
    });
    prop_oneof![
        4 => judged().prop_map(|judged| Some(Judgment::Judged(judged))),
        2 => failure.prop_map(|failure| Some(Judgment::Failed(failure))),
        1 => Just(Some(Judgment::NotApplicable(NotApplicableReason::SwitchedOff))),
        1 => Just(None),
    ]
}

fn answers(judgments: &[Option<Judgment>]) -> Answers {
    let mut judgments = judgments.iter().cloned();
    Answers::from_fn(CHUNK_COUNT, |question| {
        let mut judgment = judgments.next().unwrap();
        match &mut judgment {
            Some(Judgment::Judged(judged)) => judged.judge_id = judge_of(question),
            Some(Judgment::Failed(failure)) => failure.judge_id = judge_of(question),
            Some(Judgment::NotApplicable(_)) | None => (),
        }
        judgment
    })
}

fn call(judge_id: &str, role: JudgeRole) -> JudgeCall {
    JudgeCall {
        judge_id: judge_id.into(),
        role,
        requested_model: Some("asked".to_owned()),
        returned_model: Some(format!("model-of-{judge_id}")),
        is_local: false,
        delivery: JudgmentDelivery::Live,
        attempt_count: 1,
        usage: Some(Usage {
            input_token_count: Some(7),
            ..Usage::default()
        }),
        cost: None,
        latency: Duration::from_millis(42),
        failure: None,
        failure_detail: None,
        upstream_request_id: None,
        may_be_billed: false,
    }
}

fn outcome(pass: Pass, role: JudgeRole, calls: Vec<JudgeCall>) -> Outcome {
    let (atomic, fallback) = match role {
        JudgeRole::Atomic => (Some(pass), None),
        JudgeRole::Fallback => (None, Some(pass)),
    };
    let decision = Decision::of(DecisionVariant::WithReference);
    Outcome {
        trace: trace(),
        ruling: Ruling::without_ground(Diagnosis::JudgeUncertain, None, Rule::Uncertain),
        route: Route::Auto,
        fallback_unavailable: None,
        not_assessable: None,
        answer_abstains: None,
        action: Action::Allow,
        would_action: Action::Allow,
        enforcement: Enforcement::Shadow,
        atomic,
        fallback,
        calls,
        provenance: Provenance {
            profile: "default".into(),
            policy: SnapshotId {
                id: "p".into(),
                sha256: "0".into(),
            },
            calibration_state: CalibrationState::Uncalibrated,
            decision_id: decision.id,
            decision_version: decision.version,
            decision_variant: decision.variant,
            pricing: None,
        },
        cost: Cost::default(),
        timing: Timing::default(),
    }
}

/// What a row replays to.
fn replayed(
    row: &ReplayRow,
    questions: &QuestionSet,
    role: JudgeRole,
) -> Result<Answer, JudgeError> {
    let text = serde_json::to_string(row).unwrap();
    let rows = recorded::read("r.jsonl", &text, &row.judge_id).unwrap();
    replayed_from(rows, &row.judge_id, questions, role)
}

fn replayed_from(
    rows: Recorded,
    judge_id: &JudgeId,
    questions: &QuestionSet,
    role: JudgeRole,
) -> Result<Answer, JudgeError> {
    let options = ReplayOptions {
        model: None,
        matching: ReplayMatch::InputSha256,
        simulate_latency: false,
    };
    let metrics = Metrics::new(&MetricNames::default()).unwrap();
    let judge = ReplayJudge::new(judge_id.clone(), rows, options, metrics);
    let trace = trace();
    let ask = Ask {
        trace: &trace,
        questions,
        decision: Decision::of(DecisionVariant::WithReference),
        history_is_evidence: false,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let context = CallContext::until(Instant::now() + Duration::from_secs(60), role);
    runtime.block_on(judge.judge(&ask, &context))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_recorded_answer_replays_to_the_same_judgments(
        judgments in proptest::collection::vec(judgment(), QUESTION_COUNT),
    ) {
        let given = answers(&judgments);
        let pass = Pass { answers: given.clone(), statements: Vec::new(), verdict: None };
        let calls = vec![call("a", JudgeRole::Atomic), call("b", JudgeRole::Atomic)];
        let outcome = outcome(pass, JudgeRole::Atomic, calls);
        let rows = ReplayRow::of(&outcome, JudgeRole::Atomic);
        prop_assert!(ReplayRow::of(&outcome, JudgeRole::Fallback).is_empty());
        for judge in ["a", "b"].map(JudgeId::from) {
            let is_own = |question: Question, judgment: &Option<Judgment>| {
                judge_of(question) == judge
                    && matches!(judgment, Some(Judgment::Judged(_) | Judgment::Failed(_)))
            };
            let has_answered = given.iter().any(|(question, judgment)| {
                judge_of(question) == judge && matches!(judgment, Some(Judgment::Judged(_)))
            });
            let row = rows.iter().find(|row| row.judge_id == judge);
            prop_assert_eq!(row.is_some(), has_answered);
            let Some(row) = row else { continue };
            let questions = given.map(is_own);
            let answer = replayed(row, &questions, JudgeRole::Atomic).unwrap();
            let expected = given.map(|question, judgment| {
                let own = judgment.clone().filter(|_| is_own(question, judgment));
                own.map(|own| match own {
                    Judgment::Judged(judged) => {
                        Judgment::Judged(Judged { delivery: JudgmentDelivery::Replay, ..judged })
                    }
                    Judgment::NotApplicable(_) | Judgment::Failed(_) => own,
                })
            });
            prop_assert_eq!(answer.answers, expected);
            let told = &answer.calls[0];
            prop_assert_eq!(told.returned_model.clone(), Some(format!("model-of-{judge}")));
            prop_assert_eq!(told.usage.unwrap().input_token_count, Some(7));
            prop_assert_eq!(told.latency, Duration::from_millis(42));
        }
    }
}

#[test]
fn a_whole_diagnosis_is_recorded_as_such_and_a_failure_not_at_all() {
    let verdict = Verdict {
        diagnosis: Diagnosis::RetrievalMiss,
        confidence: Some(Probability::HALF),
    };
    let pass = Pass {
        verdict: Some(verdict),
        ..Pass::empty(CHUNK_COUNT)
    };
    let outcome_of = |calls| outcome(pass.clone(), JudgeRole::Fallback, calls);
    let answered = outcome_of(vec![call("f", JudgeRole::Fallback)]);
    let rows = ReplayRow::of(&answered, JudgeRole::Fallback);
    assert_eq!(rows.len(), 1);
    let questions = QuestionSet::from_fn(CHUNK_COUNT, |_| true);
    let answer = replayed(&rows[0], &questions, JudgeRole::Fallback).unwrap();
    assert_eq!(answer.verdict, Some(verdict));

    let failed = JudgeCall {
        failure: Some(FailureReason::Timeout),
        ..call("f", JudgeRole::Fallback)
    };
    assert!(ReplayRow::of(&outcome_of(vec![failed]), JudgeRole::Fallback).is_empty());
}

#[test]
fn a_detail_about_a_chunk_that_the_trace_does_not_have_is_malformed() {
    let mut judgments = vec![None; QUESTION_COUNT];
    judgments[QUESTION_COUNT - 1] = Some(Judgment::Failed(Failure {
        judge_id: "a".into(),
        reason: FailureReason::TooLong,
    }));
    let whole = judged_half();
    judgments[1] = Some(Judgment::Judged(whole));
    let pass = Pass {
        answers: answers(&judgments),
        ..Pass::empty(CHUNK_COUNT)
    };
    let outcome = outcome(pass, JudgeRole::Atomic, vec![call("a", JudgeRole::Atomic)]);
    let mut row = ReplayRow::of(&outcome, JudgeRole::Atomic).swap_remove(0);
    let details = row.details.as_mut().unwrap();
    let detail = details.chunk_relevance.pop_last().unwrap().1;
    details.chunk_relevance.insert("c9".to_owned(), detail);
    let questions = QuestionSet::from_fn(CHUNK_COUNT, |_| true);
    let error = replayed(&row, &questions, JudgeRole::Atomic).unwrap_err();
    assert_eq!(error.reason, FailureReason::Protocol);
    assert_eq!(error.calls.len(), 1);
}

#[test]
fn a_file_that_changed_underneath_fails_the_trace_and_is_told() {
    let mut judgments = vec![None; QUESTION_COUNT];
    judgments[1] = Some(Judgment::Judged(judged_half()));
    let pass = Pass {
        answers: answers(&judgments),
        ..Pass::empty(CHUNK_COUNT)
    };
    let outcome = outcome(pass, JudgeRole::Atomic, vec![call("a", JudgeRole::Atomic)]);
    let row = ReplayRow::of(&outcome, JudgeRole::Atomic).swap_remove(0);
    let text = serde_json::to_string(&row).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r.jsonl");
    let questions = QuestionSet::from_fn(CHUNK_COUNT, |_| true);
    for (changed, reason) in [
        (text.clone(), None),
        (text.replace("t1", "t2"), Some(FailureReason::Protocol)),
        (String::new(), Some(FailureReason::Protocol)),
    ] {
        std::fs::write(&path, &text).unwrap();
        let rows = recorded::open(&path, &row.judge_id).unwrap();
        std::fs::write(&path, changed).unwrap();
        let answer = replayed_from(rows, &row.judge_id, &questions, JudgeRole::Atomic);
        let error = answer.err();
        assert_eq!(error.as_ref().map(|error| error.reason), reason);
        assert!(error.is_none_or(|error| error.detail.unwrap().contains("r.jsonl:1: ")));
    }
}

fn judged_half() -> Judged {
    Judged {
        probability: Probability::HALF,
        judge_id: "a".into(),
        role: JudgeRole::Atomic,
        source: JudgmentSource::Native,
        delivery: JudgmentDelivery::Live,
        basis: JudgmentBasis::Measured,
        seen_fraction: SeenFraction::ALL,
        label_mass: None,
        vetoes_pass: false,
        evidence: None,
    }
}
