//! The cascade over scripted judges, through the service: what a broken judge can and cannot do.

use judge_cascade::cascade::profile::OnAtomicError;
use judge_cascade::domain::Vocabulary as _;
use judge_cascade::domain::failure::FailureReason;
use judge_cascade::domain::outcome::Enforcement;
use judge_cascade::domain::probability::Probability;
use judge_cascade::rpc::pb::{self, Action, Diagnosis, FallbackUnavailableReason as Why, Route};

use crate::support::memory::InMemory;
use crate::support::scripted::{ScriptedJudge, Step, good_but, good_without};
use crate::support::{Setup, request, series, trace};

fn atomic(step: Step) -> Setup {
    Setup::new(ScriptedJudge::new("atomic", [step]))
}

async fn diagnose(setup: &Setup) -> pb::DiagnoseResponse {
    let server = InMemory::serve(setup.content()).await;
    server.diagnose(request(trace())).await.unwrap()
}

fn failure_of(judgment: &Option<pb::Judgment>) -> Option<pb::FailureReason> {
    match judgment.as_ref()?.outcome.as_ref()? {
        pb::judgment::Outcome::FailureReason(number) => pb::FailureReason::try_from(*number).ok(),
        _ => None,
    }
}

fn groundedness(response: &pb::DiagnoseResponse) -> Option<pb::Judgment> {
    response
        .atomic
        .as_ref()?
        .generation
        .as_ref()?
        .groundedness
        .clone()
}

#[tokio::test]
async fn all_good_is_a_pass_that_says_what_it_covers() {
    let setup = atomic(good_but(&[]));
    let response = diagnose(&setup).await;
    assert_eq!(response.diagnosis(), Diagnosis::Pass);
    assert_eq!(response.route(), Route::Auto);
    assert_eq!(response.pass_covers.len(), 7);
    assert_eq!(response.confidence, Some(0.95));
    assert_eq!(response.judge_calls.len(), 1);
    assert!(response.fallback.is_none());
    let state = response.provenance.unwrap().calibration_state();
    assert_eq!(state, pb::CalibrationState::Uncalibrated);
}

/// NaN, 1.2 and their like fail their own question, whatever good company they are in.
#[tokio::test]
async fn a_number_that_is_no_probability_is_uncertain_and_never_clamped() {
    for broken in [f64::NAN, 1.2, -0.1, f64::INFINITY, f64::NEG_INFINITY] {
        let setup = atomic(good_but(&[("groundedness", broken)]));
        let response = diagnose(&setup).await;
        assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain, "{broken}");
        assert_eq!(response.route(), Route::FallbackUnavailable);
        assert_eq!(response.fallback_unavailable_reason(), Why::NotConfigured);
        assert_eq!(
            failure_of(&groundedness(&response)),
            Some(pb::FailureReason::Protocol)
        );
        let blocking: Vec<_> = response.fired_rule.unwrap().blocking_dimensions().collect();
        assert_eq!(blocking, [pb::Dimension::Groundedness]);
        let metrics = &setup.metrics;
        let counted = series(
            metrics,
            "judge_cascade_judge_invalid_answers_total{judge=\"atomic\",cause=\"not_a_probability\"}",
        );
        assert_eq!(counted, Some(1.0));
        let uncertain = "judge_cascade_uncertain_total{profile=\"default\",dimension=\"groundedness\",cause=\"protocol\"}";
        assert_eq!(series(metrics, uncertain), Some(1.0));
    }
}

#[tokio::test]
async fn a_missing_dimension_is_uncertain() {
    let setup = atomic(good_without("contradiction"));
    let response = diagnose(&setup).await;
    assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain);
    let missing = "judge_cascade_judge_invalid_answers_total{judge=\"atomic\",cause=\"missing\"}";
    assert_eq!(series(&setup.metrics, missing), Some(1.0));
}

#[tokio::test]
async fn a_missing_chunk_is_uncertain_where_all_chunks_count() {
    let response = diagnose(&atomic(good_without("chunk:c2"))).await;
    assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain);
}

/// An unknown or repeated name fails the whole answer: what else is wrong with it cannot be told.
#[tokio::test]
async fn an_extra_or_repeated_name_fails_the_whole_answer() {
    let repeated = match good_but(&[]) {
        Step::Numbers(mut numbers) => {
            numbers.push(("groundedness".to_owned(), 0.95));
            Step::Numbers(numbers)
        }
        other => other,
    };
    let cases = [
        (good_but(&[("helpfulness", 0.9)]), "unknown"),
        (good_but(&[("chunk:c9", 0.9)]), "unknown"),
        (good_but(&[("chunk_relevance", 0.9)]), "unknown"),
        (repeated, "duplicate"),
    ];
    for (step, cause) in cases {
        let setup = atomic(step);
        let response = diagnose(&setup).await;
        assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain, "{cause}");
        assert_eq!(
            failure_of(&groundedness(&response)),
            Some(pb::FailureReason::Protocol)
        );
        assert_eq!(
            response.judge_calls[0].failure_reason(),
            pb::FailureReason::Protocol
        );
        let counted = format!(
            "judge_cascade_judge_invalid_answers_total{{judge=\"atomic\",cause=\"{cause}\"}}"
        );
        assert_eq!(series(&setup.metrics, &counted), Some(1.0));
    }
}

/// A broken value stops no rule that stands on other values, and no rule stands on it.
#[tokio::test]
async fn a_broken_value_hides_no_failure_elsewhere() {
    let setup = atomic(good_but(&[
        ("groundedness", f64::NAN),
        ("context_sufficiency", 0.1),
    ]));
    let response = diagnose(&setup).await;
    assert_eq!(response.diagnosis(), Diagnosis::RetrievalInsufficient);
    let setup = atomic(good_but(&[("context_sufficiency", -5.0)]));
    assert_eq!(
        diagnose(&setup).await.diagnosis(),
        Diagnosis::JudgeUncertain
    );
}

#[tokio::test]
async fn every_failure_of_the_atomic_judge_is_ok_and_uncertain_with_its_reason() {
    for &reason in FailureReason::ALL {
        let setup = atomic(Step::Fail(reason));
        let response = diagnose(&setup).await;
        assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain, "{reason}");
        assert_eq!(response.confidence, Some(0.5));
        assert_eq!(response.route(), Route::FallbackUnavailable);
        let wire = failure_of(&groundedness(&response)).unwrap().as_str_name();
        assert_eq!(
            wire,
            format!("FAILURE_REASON_{}", reason.name().to_uppercase())
        );
        let calls = format!(
            "judge_cascade_judge_requests_total{{judge=\"atomic\",role=\"atomic\",outcome=\"{reason}\"}}"
        );
        assert_eq!(series(&setup.metrics, &calls), Some(1.0));
        let requested =
            "judge_cascade_fallback_requested_total{profile=\"default\",reason=\"atomic_failed\"}";
        assert_eq!(series(&setup.metrics, requested), Some(1.0));
    }
}

#[tokio::test]
async fn a_failed_atomic_judge_can_be_made_an_error() {
    let mut setup = atomic(Step::Fail(FailureReason::Unavailable));
    setup.on_atomic_error = OnAtomicError::Fail;
    let server = InMemory::serve(setup.content()).await;
    let status = server.diagnose(request(trace())).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::Unavailable);
    let details = tonic_types::StatusExt::get_error_details(&status);
    let info = details.error_info().unwrap().clone();
    assert_eq!(
        (info.domain.as_str(), info.reason.as_str()),
        ("judge-cascade", "JUDGE_UNAVAILABLE")
    );
    assert_eq!(info.metadata["judge"], "atomic");
    assert_eq!(info.metadata["kind"], "unavailable");
    let errors = "judge_cascade_diagnose_errors_total{profile=\"default\",code=\"UNAVAILABLE\",reason=\"JUDGE_UNAVAILABLE\"}";
    assert_eq!(series(&setup.metrics, errors), Some(1.0));
}

#[tokio::test]
async fn the_fallback_is_asked_only_what_is_open_and_settles_it() {
    let setup = atomic(good_but(&[("groundedness", 0.5), ("chunk:c2", 0.4)])).fallback(
        ScriptedJudge::new("fallback", [good_but(&[("groundedness", 0.05)])]),
    );
    let response = diagnose(&setup).await;
    assert_eq!(response.diagnosis(), Diagnosis::GeneratorUngrounded);
    assert_eq!(response.route(), Route::Fallback);
    let asked = setup.fallback.as_ref().unwrap().asked();
    assert_eq!(asked, [["groundedness", "chunk:c2"]]);
    // Both passes stand whole.
    let atomic = response.atomic.unwrap().generation.unwrap();
    assert!(matches!(
        atomic.groundedness.unwrap().outcome,
        Some(pb::judgment::Outcome::Judged(judged)) if (judged.probability - 0.5).abs() < f64::EPSILON
    ));
    let fallback = response.fallback.unwrap().generation.unwrap();
    assert!(fallback.groundedness.is_some() && fallback.answer_relevance.is_none());
}

#[tokio::test]
async fn the_fallback_never_overturns_a_confident_atomic_judgment() {
    let all_bad = good_but(&[
        ("context_sufficiency", 0.0),
        ("groundedness", 0.9),
        ("answer_relevance", 0.0),
    ]);
    let setup = atomic(good_but(&[("groundedness", 0.5)]))
        .fallback(ScriptedJudge::new("fallback", [all_bad]));
    let response = diagnose(&setup).await;
    assert_eq!(
        (response.diagnosis(), response.route()),
        (Diagnosis::Pass, Route::Fallback)
    );
}

#[tokio::test]
async fn a_fallback_that_fails_or_stays_unsure_leaves_the_trace_uncertain() {
    let fallback = |step| {
        atomic(good_but(&[("groundedness", 0.5)])).fallback(ScriptedJudge::new("fallback", [step]))
    };
    let response = diagnose(&fallback(good_but(&[("groundedness", 0.5)]))).await;
    assert_eq!(
        (response.diagnosis(), response.route()),
        (Diagnosis::JudgeUncertain, Route::Fallback)
    );
    for step in [
        Step::Fail(FailureReason::Refused),
        good_but(&[("groundedness", f64::NAN)]),
    ] {
        let setup = fallback(step);
        let response = diagnose(&setup).await;
        assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain);
        assert_eq!(response.fallback_unavailable_reason(), Why::Error);
        assert!(response.fallback.is_some());
        let unavailable =
            "judge_cascade_fallback_unavailable_total{profile=\"default\",reason=\"error\"}";
        assert_eq!(series(&setup.metrics, unavailable), Some(1.0));
    }
}

#[tokio::test]
async fn a_complete_outage_asks_the_fallback_everything() {
    let setup = atomic(Step::Fail(FailureReason::Unavailable))
        .fallback(ScriptedJudge::new("fallback", [good_but(&[])]));
    let response = diagnose(&setup).await;
    assert_eq!(
        (response.diagnosis(), response.route()),
        (Diagnosis::Pass, Route::Fallback)
    );
    assert_eq!(setup.fallback.as_ref().unwrap().asked()[0].len(), 8);
}

#[tokio::test]
async fn a_request_can_do_without_the_fallback() {
    let setup = atomic(good_but(&[("groundedness", 0.5)]))
        .fallback(ScriptedJudge::new("fallback", [good_but(&[])]));
    let server = InMemory::serve(setup.content()).await;
    let mut message = request(trace());
    message.fallback_mode = pb::FallbackMode::None as i32;
    let response = server.diagnose(message).await.unwrap();
    assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain);
    assert_eq!(response.fallback_unavailable_reason(), Why::Skipped);
    assert_eq!(setup.fallback.as_ref().unwrap().begun(), 0);
}

#[tokio::test]
async fn the_scope_leaves_the_answer_out() {
    let setup = atomic(good_but(&[("groundedness", 0.0)]));
    let server = InMemory::serve(setup.content()).await;
    let mut message = request(trace());
    message.scope = pb::DiagnoseScope::Retrieval as i32;
    let response = server.diagnose(message).await.unwrap();
    assert_eq!(response.diagnosis(), Diagnosis::Pass);
    assert_eq!(response.pass_covers.len(), 3);
    assert_eq!(response.answer_abstains, None);
    assert_eq!(
        setup.atomic.asked(),
        [[
            "context_sufficiency",
            "context_conflict",
            "chunk:c1",
            "chunk:c2"
        ]]
    );
}

#[tokio::test]
async fn actions_are_shown_in_shadow_and_in_force_when_enforced() {
    let bad = good_but(&[("groundedness", 0.0)]);
    let mut setup = atomic(bad);
    let response = diagnose(&setup).await;
    assert_eq!(
        (response.action(), response.would_action()),
        (Action::Allow, Action::Block)
    );
    setup.enforcement = Enforcement::Enforce;
    let response = diagnose(&setup).await;
    assert_eq!(
        (response.action(), response.would_action()),
        (Action::Block, Action::Block)
    );
    let shadow =
        "judge_cascade_actions_total{profile=\"default\",action=\"BLOCK\",enforcement=\"shadow\"}";
    let enforced =
        "judge_cascade_actions_total{profile=\"default\",action=\"BLOCK\",enforcement=\"enforce\"}";
    assert_eq!(series(&setup.metrics, shadow), Some(1.0));
    assert_eq!(series(&setup.metrics, enforced), Some(1.0));
}

/// The share is a hash of the trace id: the same on every replica, and nothing at a share of zero.
#[tokio::test]
async fn a_share_of_the_traces_is_enforced() {
    let mut setup = atomic(good_but(&[("groundedness", 0.0)]));
    setup.enforcement = Enforcement::Enforce;
    for (share, expected) in [(0.0, 0..1), (0.5, 25..76), (1.0, 100..101)] {
        setup.enforce_share = Probability::try_from(share).unwrap();
        let server = InMemory::serve(setup.content()).await;
        let mut blocked = 0;
        for index in 0..100 {
            let trace = pb::Trace {
                trace_id: format!("t{index}"),
                ..trace()
            };
            let response = server.diagnose(request(trace)).await.unwrap();
            assert_eq!(response.would_action(), Action::Block);
            blocked += usize::from(response.action() == Action::Block);
        }
        assert!(
            expected.contains(&blocked),
            "{blocked} of 100 at a share of {share}"
        );
    }
}

/// A known name that was not asked about is ignored, whatever stands behind it.
#[tokio::test]
async fn an_answer_that_was_not_asked_for_is_ignored() {
    let setup = atomic(good_but(&[
        ("groundedness", f64::NAN),
        ("correctness", 7.0),
    ]));
    let server = InMemory::serve(setup.content()).await;
    let mut message = request(trace());
    message.scope = pb::DiagnoseScope::Retrieval as i32;
    let response = server.diagnose(message).await.unwrap();
    assert_eq!(response.diagnosis(), Diagnosis::Pass);
    let invalid =
        "judge_cascade_judge_invalid_answers_total{judge=\"atomic\",cause=\"not_a_probability\"}";
    assert_eq!(series(&setup.metrics, invalid), Some(0.0));
}

#[tokio::test]
async fn a_trace_is_measured_in_chunks_and_tokens() {
    let setup = atomic(good_but(&[]));
    diagnose(&setup).await;
    assert_eq!(
        series(&setup.metrics, "judge_cascade_trace_chunks_sum"),
        Some(2.0)
    );
    let tokens = series(&setup.metrics, "judge_cascade_trace_input_tokens_sum").unwrap();
    assert!((20.0..60.0).contains(&tokens), "{tokens}");
}

#[tokio::test]
async fn the_trace_context_of_the_caller_reaches_the_judge() {
    let setup = atomic(good_but(&[]));
    let server = InMemory::serve(setup.content()).await;
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let mut call = tonic::Request::new(request(trace()));
    call.metadata_mut()
        .insert("traceparent", parent.parse().unwrap());
    server.diagnose(call).await.unwrap();
    assert_eq!(setup.atomic.traceparents(), [Some(parent.to_owned())]);
}

/// P7: diagnoses are auto + fallback + fallback_unavailable, and errors are counted apart.
#[tokio::test]
async fn the_counters_add_up() {
    let steps = [
        good_but(&[]),
        good_but(&[("groundedness", 0.5)]),
        Step::Fail(FailureReason::Timeout),
        good_but(&[("groundedness", 0.0)]),
    ];
    let setup = Setup::new(ScriptedJudge::new("atomic", steps)).fallback(ScriptedJudge::new(
        "fallback",
        [good_but(&[]), Step::Fail(FailureReason::Unavailable)],
    ));
    let server = InMemory::serve(setup.content()).await;
    for _ in 0..4 {
        server.diagnose(request(trace())).await.unwrap();
    }
    server
        .diagnose(request(pb::Trace::default()))
        .await
        .unwrap_err();
    let text = setup.metrics.render();
    let sum = |route: &str| -> f64 {
        text.lines()
            .filter(|line| line.starts_with("judge_cascade_diagnoses_total{"))
            .filter(|line| line.contains(&format!("route=\"{route}\"")))
            .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
            .sum()
    };
    assert_eq!(
        (sum("auto"), sum("fallback"), sum("fallback_unavailable")),
        (2.0, 1.0, 1.0)
    );
    let ok = "judge_cascade_rpc_requests_total{method=\"judgecascade.v1.DiagnosisService/Diagnose\",code=\"OK\"}";
    assert_eq!(series(&setup.metrics, ok), Some(4.0));
}
