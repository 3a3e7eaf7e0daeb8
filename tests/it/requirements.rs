//! Promises that answer public complaints about tools of this kind, by their numbers.
//!
//! R11, R12 and R13 are held beside the policy, in `src/policy/rules/tests`.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;

use futures_util::future::join_all;
use judge_cascade::judge::composite::Composite;
use judge_cascade::judge::embedded::{EmbeddedJudge, EmbeddedOptions};
use judge_cascade::rpc::pb::{self, Diagnosis, Route, Rule};

use crate::support::memory::InMemory;
use crate::support::process::{command, fixture, run, stderr, stdout};
use crate::support::scripted::{ScriptedJudge, good_but};
use crate::support::{Setup, built_in, chunk, request, series, trace};

/// R15: a request with every optional field absent is read as documented, and what the response leaves unset is unset.
#[tokio::test]
async fn r15_absent_optional_fields_have_their_documented_meaning() {
    let setup = Setup::new(ScriptedJudge::new("atomic", [good_but(&[])]));
    let server = InMemory::serve(setup.content()).await;
    let bare = pb::Trace {
        question: "When does the pool open?".to_owned(),
        chunks: vec![
            chunk("c1", "It opens at eight."),
            chunk("c2", "The sauna is closed."),
        ],
        answer: "At eight.".to_owned(),
        ..Default::default()
    };
    let response = server.diagnose(request(bare)).await.unwrap();
    assert_eq!(response.diagnosis(), Diagnosis::Pass);
    assert!(!response.trace_id.is_empty(), "the server makes an id");
    assert_eq!(response.answer_abstains, Some(false));
    assert!(response.fallback.is_none() && response.fallback_unavailable_reason == 0);
    assert_eq!(response.not_assessable_reason, 0);
    let provenance = response.provenance.unwrap();
    assert_eq!(provenance.profile, "default");
    assert_eq!(
        provenance.decision_variant(),
        pb::DecisionVariant::WithoutReference
    );
    let generation = response.atomic.unwrap().generation.unwrap();
    assert!(generation.statements.is_empty());
    let correctness = generation.correctness.unwrap().outcome.unwrap();
    let no_reference = pb::NotApplicableReason::NoReference as i32;
    assert_eq!(
        correctness,
        pb::judgment::Outcome::NotApplicableReason(no_reference)
    );
    // The scripted judge reports no tokens and nothing is priced: unknown, not zero.
    let (call, cost) = (&response.judge_calls[0], response.cost.unwrap());
    assert!(call.usage.is_none() && call.cost_nano_usd.is_none());
    assert!(cost.atomic_nano_usd.is_none() && cost.total_nano_usd.is_none());
    assert_eq!(cost.pricing_id, "");
}

/// R15, on the other side: a response with nothing set can never be read as a pass.
#[test]
fn r15_an_empty_response_is_no_pass() {
    let empty = pb::DiagnoseResponse::default();
    assert_eq!(empty.diagnosis(), Diagnosis::Unspecified);
    assert_eq!(empty.action(), pb::Action::Unspecified);
    assert!(judge_cascade::rpc::convert::verdict::row(empty).is_err());
}

/// R29: nothing to judge gives one and the same result without a judge call.
#[tokio::test]
async fn r29_empty_inputs_are_decided_without_any_judge() {
    let setup = Setup::new(ScriptedJudge::new("atomic", [good_but(&[])]));
    let server = InMemory::serve(setup.content()).await;
    for chunks in [
        vec![],
        vec![chunk("c1", "")],
        vec![chunk("c1", " \n\t"), chunk("c2", "\u{200b}")],
    ] {
        let empty = pb::Trace { chunks, ..trace() };
        let response = server.diagnose(request(empty)).await.unwrap();
        assert_eq!(response.diagnosis(), Diagnosis::RetrievalMiss);
        assert_eq!(
            (response.route(), response.confidence),
            (Route::Auto, Some(1.0))
        );
        assert_eq!(response.fired_rule.unwrap().rule(), Rule::NoChunks);
        assert!(response.judge_calls.is_empty());
        let generation = response.atomic.unwrap().generation.unwrap();
        let outcome = generation.groundedness.unwrap().outcome.unwrap();
        let no_context = pb::NotApplicableReason::NoContext as i32;
        assert_eq!(
            outcome,
            pb::judgment::Outcome::NotApplicableReason(no_context)
        );
    }
    let greeting = pb::Trace {
        retrieval: pb::RetrievalState::NotPerformed as i32,
        ..trace()
    };
    let response = server.diagnose(request(greeting)).await.unwrap();
    assert_eq!(response.diagnosis(), Diagnosis::NotAssessable);
    assert_eq!(response.confidence, None);
    let duplicate = pb::Trace {
        chunks: vec![chunk("c1", "a"), chunk("c1", "b")],
        ..trace()
    };
    assert_eq!(
        server
            .diagnose(request(duplicate))
            .await
            .unwrap_err()
            .code(),
        tonic::Code::InvalidArgument
    );
    assert_eq!(setup.atomic.begun(), 0);
    let not_assessable = "judge_cascade_not_assessable_total{profile=\"default\",reason=\"retrieval_not_performed\"}";
    assert_eq!(series(&setup.metrics, not_assessable), Some(1.0));
}

/// R29: a blank answer asks only about retrieval, and good retrieval makes it an irrelevant answer.
#[tokio::test]
async fn r29_a_blank_answer_is_irrelevant_if_retrieval_is_good() {
    let setup = Setup::new(ScriptedJudge::new(
        "atomic",
        [
            good_but(&[]),
            good_but(&[("context_sufficiency", 0.1)]),
            good_but(&[("context_conflict", 0.5)]),
        ],
    ));
    let server = InMemory::serve(setup.content()).await;
    let blank = || {
        request(pb::Trace {
            answer: " ".to_owned(),
            ..trace()
        })
    };
    let response = server.diagnose(blank()).await.unwrap();
    assert_eq!(response.diagnosis(), Diagnosis::AnswerIrrelevant);
    assert_eq!(response.fired_rule.unwrap().rule(), Rule::EmptyAnswer);
    assert_eq!(
        (response.confidence, response.answer_abstains),
        (Some(1.0), None)
    );
    assert_eq!(setup.atomic.asked()[0].len(), 4);
    let response = server.diagnose(blank()).await.unwrap();
    assert_eq!(response.diagnosis(), Diagnosis::RetrievalInsufficient);
    let response = server.diagnose(blank()).await.unwrap();
    assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain);
}

/// R36: one judge serves many calls at once, and no call sees anything of another.
#[tokio::test(flavor = "multi_thread")]
async fn r36_a_shared_judge_keeps_no_state() {
    let mut setup = Setup::new(ScriptedJudge::new("atomic", [good_but(&[])]));
    setup.policy = built_in("lexical-default");
    let judge = EmbeddedJudge::new("embedded".into(), EmbeddedOptions::default());
    let content = setup.content_of(
        Composite::of(Arc::new(judge), Arc::clone(&setup.metrics)),
        None,
    );
    let cascade = Arc::clone(&content.cascade);
    let traces: Vec<_> = (0..40)
        .map(|index| {
            let fact = format!(
                "Locker {index} opens with the blue key of floor {}.",
                index % 7
            );
            let answer = if index % 3 == 0 {
                format!("Locker {index} is painted green.")
            } else {
                fact.clone()
            };
            pb::Trace {
                trace_id: format!("t{index}"),
                question: format!("How does locker {index} open?"),
                chunks: vec![
                    chunk("c1", &fact),
                    chunk("c2", "The cafeteria serves soup."),
                ],
                answer,
                ..Default::default()
            }
        })
        .collect();
    let diagnose = |message: pb::Trace| {
        let cascade = Arc::clone(&cascade);
        async move {
            let parsed = judge_cascade::rpc::convert::request::parse(
                request(message),
                &crate::support::LIMITS,
            );
            let call = judge_cascade::cascade::Request {
                trace: parsed.unwrap().trace,
                scope: judge_cascade::cascade::plan::Scope::Full,
                fallback_mode: None,
                received: tokio::time::Instant::now(),
                started: tokio::time::Instant::now(),
                timeout: None,
                traceparent: None,
                skip_cache: false,
            };
            let outcome = cascade
                .diagnose(cascade.profile("default").unwrap(), call)
                .await
                .unwrap();
            (outcome.ruling, outcome.atomic)
        }
    };
    let mut alone = Vec::new();
    for message in &traces {
        alone.push(diagnose(message.clone()).await);
    }
    let repeated = traces.iter().cycle().take(25 * traces.len()).cloned();
    let together = join_all(repeated.map(diagnose)).await;
    for (index, result) in together.iter().enumerate() {
        assert_eq!(result, &alone[index % traces.len()]);
    }
}

/// R38: names that are in no configuration make no series.
#[tokio::test]
async fn r38_unknown_profiles_make_no_series() {
    let setup = Setup::new(ScriptedJudge::new("atomic", [good_but(&[])]));
    let server = InMemory::serve(setup.content()).await;
    let unknown = |name: String| pb::DiagnoseRequest {
        profile: name,
        ..request(trace())
    };
    server
        .diagnose(unknown("first".to_owned()))
        .await
        .unwrap_err();
    let count = || setup.metrics.render().lines().count();
    let before = count();
    for index in 0..200 {
        let status = server
            .diagnose(unknown(format!("profile-{index}")))
            .await
            .unwrap_err();
        assert_eq!(status.code(), tonic::Code::InvalidArgument);
    }
    assert_eq!(count(), before);
    assert!(before < 2000, "{before} lines");
}

/// R50: every offline command runs with an empty environment and, where the system can take it away, without network.
#[test]
fn r50_offline_commands_need_no_key_and_no_network() {
    let offline = || {
        let isolated = Command::new("unshare")
            .args(["-rn", "true"])
            .stderr(Stdio::null())
            .status();
        if isolated.is_ok_and(|status| status.success()) {
            let mut command = Command::new("unshare");
            command
                .args(["-rn", env!("CARGO_BIN_EXE_judge-cascade")])
                .env_clear();
            command
        } else {
            command(&[])
        }
    };
    let traces = fixture("traces/demo.jsonl");
    let commands = [
        (vec!["diagnose", &traces], 50),
        (vec!["diagnose", "-"], 0),
        (vec!["config", "check"], 1),
        (vec!["config", "print"], 40),
    ];
    for (args, lines) in commands {
        let output = offline().args(&args).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        assert!(lines <= stdout(&output).lines().count(), "{args:?}");
    }
}

/// R50, for the default judge: a trace is diagnosed by a program that was given nothing but the trace.
#[test]
fn r50_the_default_needs_no_configuration() {
    let line = r#"{"id":"t1","question":"When does the pool open?","contexts":[{"id":"c1","text":"The pool opens at eight on Sundays."}],"answer":"The pool opens at eight on Sundays."}"#;
    let mut child = command(&["diagnose", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(line.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let row: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(row["diagnosis"], "PASS");
    assert!(run(&["config", "check"]).status.success());
}

/// R51: the shipped deployment files are what CI checks and runs. Besides, `tests/it/deploy.rs` holds each of them to the
/// program.
#[test]
fn r51_the_shipped_deployment_files_are_what_ci_checks_and_runs() {
    let not_run = crate::deploy::files_that_ci_does_not_run();
    assert_eq!(not_run, [""; 0], "no step of .ci/run names them");
}
