//! A row in which the program itself goes wrong, and rows whose judges fail in every way.

use std::collections::BTreeSet;
use std::fs;
use std::future::pending;
use std::sync::Arc;

use judge_cascade::dataset::load;
use judge_cascade::domain::failure::FailureReason;
use judge_cascade::eval::rows::make::Maker;
use judge_cascade::eval::rows::write::LinesWriter;
use judge_cascade::eval::run::{Counters, Evaluation, RunEnd, Sink, run};
use judge_cascade::report::model::Mode;
use serde_json::{Value, json};

use crate::support::scripted::{ScriptedJudge, Step, good_but};
use crate::support::{LIMITS, Setup};

/// Evaluates as many rows as are asked for, one after the other, and gives the end of each.
async fn evaluate(setup: &Setup, mode: Mode, rows: usize) -> (RunEnd, Vec<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data.jsonl");
    let line = |n: usize| {
        let chunk = |id: &str| json!({"id": id, "text": "The pool opens at eight."});
        json!({
            "id": format!("t{n}"),
            "question": "When?",
            "contexts": [chunk("c1"), chunk("c2")],
            "answer": "At eight.",
            "referenceAnswer": "At eight.",
        })
        .to_string()
    };
    fs::write(&data, (0..rows).map(line).collect::<Vec<_>>().join("\n")).unwrap();
    let evaluation = Arc::new(Evaluation {
        live: BTreeSet::new(),
        cascade: setup.content().cascade,
        profile: "default".to_owned(),
        limits: LIMITS,
        modes: vec![mode],
        maker: Maker::new(&[], "atomic".to_owned(), "fallback".to_owned()),
        records: false,
    });
    let file = folder.path().join("rows.jsonl");
    let mut sink = Sink {
        rows: LinesWriter::create(&file).unwrap(),
        recorder: None,
        summary: None,
    };
    let counters = Counters::default();
    let rows = load::rows(&data).unwrap();
    let end = run(&evaluation, rows, 1, &mut sink, &counters, pending())
        .await
        .unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let end_of = |line: &str| {
        let row: Value = serde_json::from_str(line).unwrap();
        row["ends"][mode.to_string()].clone()
    };
    (end, text.lines().map(end_of).collect())
}

/// R27: even a panic is the end of one row only.
#[tokio::test]
async fn r27_a_panic_fails_its_row_and_no_other() {
    let steps = [good_but(&[]), Step::Panic, good_but(&[])];
    let setup = Setup::new(ScriptedJudge::new("atomic", steps));
    let (end, ends) = evaluate(&setup, Mode::AtomicOnly, 3).await;
    assert_eq!(end.panicked.count, 1);
    assert!(end.panicked.first.unwrap().ends_with("data.jsonl:2"));
    assert_eq!(ends[0]["diagnosis"], "PASS");
    assert_eq!(ends[1], json!({"failed": "unavailable"}));
    assert_eq!(ends[2]["diagnosis"], "PASS");
}

/// R4: a judge that was needed and gave nothing makes a failure with its reason, and never a diagnosis.
#[tokio::test]
async fn r4_a_judge_that_was_needed_and_failed_makes_a_failure() {
    let failing = || ScriptedJudge::new("fallback", [Step::Fail(FailureReason::Refused)]);
    let unsure = || ScriptedJudge::new("atomic", [good_but(&[("groundedness", 0.5)])]);
    let broken = || ScriptedJudge::new("atomic", [Step::Fail(FailureReason::RateLimited)]);
    let gave_nothing = |failed: &str, why: &str| json!({"failed": failed, "route": "fallback_unavailable", "fallback_unavailable": why});

    let setup = Setup::new(unsure()).fallback(failing());
    let (_, ends) = evaluate(&setup, Mode::Cascade, 1).await;
    assert_eq!(ends[0], gave_nothing("refused", "error"));
    let (_, ends) = evaluate(&setup, Mode::BaselineOnly, 1).await;
    assert_eq!(ends[0], gave_nothing("refused", "error"));
    // What the atomic judge leaves open is no failure of it.
    let (_, ends) = evaluate(&setup, Mode::AtomicOnly, 1).await;
    assert_eq!(ends[0]["diagnosis"], "JUDGE_UNCERTAIN");

    let setup = Setup::new(broken()).fallback(ScriptedJudge::new("fallback", [good_but(&[])]));
    let (end, ends) = evaluate(&setup, Mode::AtomicOnly, 1).await;
    assert_eq!(ends[0], gave_nothing("rate_limited", "skipped"));
    assert_eq!(end.failed_calls.count, 1);
    let (_, ends) = evaluate(&setup, Mode::Cascade, 1).await;
    assert_eq!(
        (&ends[0]["diagnosis"], &ends[0]["route"]),
        (&json!("PASS"), &json!("fallback"))
    );
}
