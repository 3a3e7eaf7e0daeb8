//! The embedded judge as a caller of the service sees it.

use std::sync::Arc;

use judge_cascade::judge::composite::Composite;
use judge_cascade::judge::embedded::{EmbeddedJudge, EmbeddedOptions};
use judge_cascade::rpc::pb::judgment::Outcome;
use judge_cascade::rpc::pb::{self, Diagnosis};

use crate::support::memory::InMemory;
use crate::support::scripted::{ScriptedJudge, Step};
use crate::support::{Setup, built_in, chunk, request};

async fn server() -> InMemory {
    let mut setup = Setup::new(ScriptedJudge::new("atomic", [Step::Hang]));
    setup.policy = built_in("lexical-default");
    let judge = EmbeddedJudge::new("embedded".into(), EmbeddedOptions::default());
    let composite = Composite::of(Arc::new(judge), Arc::clone(&setup.metrics));
    InMemory::serve(setup.content_of(composite, None)).await
}

fn trace(answer: &str) -> pb::Trace {
    pb::Trace {
        question: "When does the Tarn pool open, and what does a ticket cost?".to_owned(),
        chunks: vec![
            chunk(
                "hours",
                "The Tarn pool opens at eight on Sundays. Café Ülo is closed.",
            ),
            chunk("prices", "A ticket for the Tarn pool costs 6 euros."),
        ],
        answer: answer.to_owned(),
        ..Default::default()
    }
}

async fn diagnose(trace: pb::Trace) -> pb::DiagnoseResponse {
    let mut message = request(trace);
    message.options = Some(pb::DiagnoseOptions {
        skip_cache: false,
        include_statements: true,
    });
    server().await.diagnose(message).await.unwrap()
}

fn statements(response: &pb::DiagnoseResponse) -> Vec<pb::StatementJudgment> {
    response
        .atomic
        .as_ref()
        .unwrap()
        .generation
        .as_ref()
        .unwrap()
        .statements
        .clone()
}

fn probability(judgment: &pb::Judgment) -> f64 {
    match judgment.outcome.as_ref().unwrap() {
        Outcome::Judged(judged) => judged.probability,
        other => panic!("not judged: {other:?}"),
    }
}

/// One bad claim among good ones decides, and the response shows which one it is.
#[tokio::test]
async fn the_worst_statement_decides_and_is_shown() {
    let answer =
        "The Tarn pool opens at eight on Sundays. Swimmers juggle purple walruses overnight.";
    let response = diagnose(trace(answer)).await;
    assert_eq!(response.diagnosis(), Diagnosis::GeneratorUngrounded);
    let statements = statements(&response);
    assert_eq!(statements.len(), 2);
    assert!(0.9 <= probability(statements[0].groundedness.as_ref().unwrap()));
    assert!(probability(statements[1].groundedness.as_ref().unwrap()) <= 0.1);
    assert_eq!(statements[0].evidence_chunk_ids, ["hours"]);
    let characters: Vec<char> = answer.chars().collect();
    for statement in &statements {
        let (start, end) = (
            statement.start_offset.unwrap(),
            statement.end_offset.unwrap(),
        );
        let text: String = characters[start as usize..end as usize].iter().collect();
        assert_eq!(text, statement.text);
    }
}

#[tokio::test]
async fn statements_of_the_caller_are_judged_as_they_are() {
    let given = pb::Trace {
        statements: vec!["A ticket for the Tarn pool costs 6 euros.".to_owned()],
        ..trace("It is six euros, I think, and it is a nice place to be anyway.")
    };
    let response = diagnose(given).await;
    assert_eq!(response.diagnosis(), Diagnosis::Pass);
    let statements = statements(&response);
    assert_eq!(statements.len(), 1);
    assert_eq!(statements[0].start_offset, None);
}

#[tokio::test]
async fn statements_are_left_out_unless_they_are_asked_for() {
    let answer = "A ticket for the Tarn pool costs 6 euros.";
    let response = server()
        .await
        .diagnose(request(trace(answer)))
        .await
        .unwrap();
    assert_eq!(response.diagnosis(), Diagnosis::Pass);
    assert!(statements(&response).is_empty());
}

/// A changed number keeps the words alike; the guard forbids the PASS and decides nothing else.
#[tokio::test]
async fn a_number_that_stands_nowhere_is_no_pass() {
    let response = diagnose(trace("A ticket for the Tarn pool costs 9 euros.")).await;
    assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain);
    let generation = response.atomic.unwrap().generation.unwrap();
    let Some(Outcome::Judged(judged)) = generation.groundedness.unwrap().outcome else {
        panic!("groundedness is not judged");
    };
    assert!(judged.vetoes_pass);
    let evidence = judged.evidence.unwrap();
    assert_eq!(evidence.guards, ["missing_number", "number_conflict"]);
    assert_eq!(evidence.missing_terms, ["9"]);
    assert_eq!(evidence.chunk_id, "prices");
}

#[tokio::test]
async fn an_abstaining_answer_is_flagged_and_is_no_pass() {
    let response = diagnose(trace("I could not find this in the documents.")).await;
    assert_eq!(response.answer_abstains, Some(true));
    assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain);
}

#[tokio::test]
async fn another_language_is_a_failure_and_never_a_guess() {
    let foreign = pb::Trace {
        question: "日曜日のプールは何時に開きますか。".to_owned(),
        chunks: vec![chunk("c1", "市営プールは日曜日の午前八時に開きます。")],
        answer: "プールは毎日十時から営業しています。".to_owned(),
        language: "ja".to_owned(),
        ..Default::default()
    };
    let response = diagnose(foreign).await;
    assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain);
    let generation = response.atomic.unwrap().generation.unwrap();
    let unsupported = pb::FailureReason::UnsupportedLanguage as i32;
    assert_eq!(
        generation.groundedness.unwrap().outcome,
        Some(Outcome::FailureReason(unsupported))
    );
}

#[tokio::test]
async fn a_local_judge_costs_nothing_and_says_which_model_it_is() {
    let response = diagnose(trace("A ticket for the Tarn pool costs 6 euros.")).await;
    let call = &response.judge_calls[0];
    assert_eq!(
        (call.judge_id.as_str(), call.returned_model.as_str()),
        ("embedded", "lexical-v1")
    );
    assert_eq!(call.cost_nano_usd, Some(0));
    assert_eq!(response.cost.unwrap().total_nano_usd, Some(0));
}
