//! Statements in, statements out: in the response and in the row, whatever the answer.

use std::sync::Arc;

use judge_cascade::judge::Judge;
use judge_cascade::judge::composite::Composite;
use judge_cascade::judge::embedded::{EmbeddedJudge, EmbeddedOptions};
use judge_cascade::judge::remote::Wire;
use judge_cascade::rpc::convert::verdict;
use judge_cascade::rpc::pb::judgment::Outcome;
use judge_cascade::rpc::pb::{self, FailureReason};
use judge_cascade::text::statements::decidable_statements;
use proptest::prelude::*;
use serde_json::json;

use crate::support::fake_judge::{Said, Script, Seen};
use crate::support::memory::InMemory;
use crate::support::scripted::{ScriptedJudge, Step};
use crate::support::{Setup, chunk, request};
use crate::wire::played_with;

/// Answers only some of the questions about statements, and one with what is no probability.
fn forgetful(seen: &Seen) -> Said {
    let mut answers = serde_json::Map::new();
    for key in seen.body["questions"].as_object().unwrap().keys() {
        let ordinal = key.strip_prefix("groundedness_").map(str::len);
        match (ordinal, key.ends_with('4'), key.ends_with('5')) {
            (Some(_), true, _) => continue,
            (Some(_), _, true) => answers.insert(key.clone(), json!({"noul": 2})),
            _ => answers.insert(key.clone(), json!({"noul": 0.75})),
        };
    }
    Said::json(&json!({"model": "m", "answers": answers}))
}

fn judges() -> [Arc<dyn Judge>; 2] {
    let setup = Setup::new(ScriptedJudge::new("atomic", [Step::Hang]));
    let script = Script::new(forgetful);
    let by_statement = played_with(Wire::SystemOne, &script, &setup.metrics, |options| {
        options.view.max_statements = Some(6);
    });
    let embedded = EmbeddedJudge::new("embedded".into(), EmbeddedOptions::default());
    [by_statement, Arc::new(embedded)]
}

async fn diagnose(
    judge: Arc<dyn Judge>,
    trace: pb::Trace,
    include_statements: bool,
) -> pb::DiagnoseResponse {
    let setup = Setup::new(ScriptedJudge::new("atomic", [Step::Hang]));
    let composite = Composite::of(judge, Arc::clone(&setup.metrics));
    let server = InMemory::serve(setup.content_of(composite, None)).await;
    let mut message = request(trace);
    message.options = Some(pb::DiagnoseOptions {
        skip_cache: false,
        include_statements,
    });
    server.diagnose(message).await.unwrap()
}

fn trace(answer: &str, statements: &[String]) -> pb::Trace {
    pb::Trace {
        question: "When does the pool open?".to_owned(),
        chunks: vec![chunk("c1", "The pool opens at eight every day but Sunday.")],
        answer: answer.to_owned(),
        statements: statements.to_vec(),
        ..Default::default()
    }
}

fn generation(response: &pb::DiagnoseResponse) -> &pb::GenerationJudgments {
    let pass = response.atomic.as_ref().unwrap();
    pass.generation.as_ref().unwrap()
}

/// Counts of judged, undecidable and otherwise failed statements.
fn counted(statements: &[pb::StatementJudgment]) -> [usize; 3] {
    let mut counts = [0; 3];
    for statement in statements {
        let judgment = statement.groundedness.as_ref().unwrap();
        let place = match judgment.outcome.as_ref().unwrap() {
            Outcome::Judged(_) => 0,
            Outcome::FailureReason(reason) if *reason == FailureReason::Undecidable as i32 => 1,
            Outcome::FailureReason(_) | Outcome::NotApplicableReason(_) => 2,
        };
        counts[place] += 1;
    }
    counts
}

async fn nothing_is_lost(judge: Arc<dyn Judge>, answer: &str, given: &[String]) {
    let expected = decidable_statements(given, answer);
    let trace = trace(answer, given);
    let response = diagnose(Arc::clone(&judge), trace.clone(), true).await;
    let returned = &generation(&response).statements;
    let texts: Vec<_> = returned.iter().map(|one| one.text.as_str()).collect();
    let texts_in: Vec<_> = expected.iter().map(|one| one.text).collect();
    assert_eq!(texts, texts_in);

    let counts = counted(returned);
    let summary = generation(&response).statement_summary;
    let told = summary.map(|summary| {
        [
            summary.decided_count,
            summary.undecidable_count,
            summary.failed_count,
        ]
    });
    let told = told.map(|counts| counts.map(|count| usize::try_from(count).unwrap()));
    assert_eq!(told, (!expected.is_empty()).then_some(counts));

    let without = diagnose(judge, trace, false).await;
    assert!(generation(&without).statements.is_empty());
    assert_eq!(generation(&without).statement_summary, summary);

    let row = verdict::row(response).unwrap().atomic.unwrap();
    assert_eq!(row.statements.len(), expected.len());
    let summary = row.statement_summary.map(|summary| {
        [
            summary.decided_count,
            summary.undecidable_count,
            summary.failed_count,
        ]
    });
    assert_eq!(summary, told);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// R7: every statement is judged or failed, none is lost and none is added.
    #[test]
    fn r7_statements_in_are_statements_out(
        answer in "(The pool opens at eight\\. |Yes\\. |It costs \\$9\\. |プールは八時に開きます。|\n- |a lid |\\PC|[1]){1,12}",
        given in prop::collection::vec("[A-Za-zé。0-9 .]{0,30}[a-z]", 0..9),
    ) {
        prop_assume!(!answer.trim().is_empty());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for judge in judges() {
            runtime.block_on(nothing_is_lost(judge, &answer, &given));
        }
    }
}

/// R30: a Japanese answer has statements, and a judge is asked about them.
#[tokio::test]
async fn r30_a_japanese_answer_has_statements_that_are_judged() {
    let [by_statement, _] = judges();
    let answer = "プールは八時に開きます。サウナは日曜日に休みです。";
    let response = diagnose(by_statement, trace(answer, &[]), true).await;
    let generation = generation(&response);
    assert_eq!(counted(&generation.statements), [2, 0, 0]);
    assert_eq!(generation.statements[1].start_offset, Some(12));
    let summary = generation.statement_summary.unwrap();
    assert_eq!(summary.mean_groundedness, Some(0.75));
}
