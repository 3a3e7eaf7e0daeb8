//! `diagnose` on files and streams.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::Stdio;

use judge_cascade::artifact::verdict::JudgmentRow;
use judge_cascade::domain::diagnosis::Diagnosis;
use judge_cascade::domain::dimension::Dimension;
use judge_cascade::domain::failure::{FailureReason, NotApplicableReason};
use judge_cascade::domain::outcome::{FallbackUnavailableReason, JudgeRole, Route};

use super::{AT_ONCE, feed, good, ids, rows};
use crate::support::process::{command, fixture, run, stderr, stdout};

#[test]
fn bad_lines_are_named_and_the_others_go_on_in_order() {
    let bad: [(&[u8], &str); 8] = [
        (b"not JSON", "expected"),
        (br#"{"id":"u","question":"q","contexts":[],"answer":"a","colour":"red"}"#, "unknown field `colour`"),
        (br#"{"id":"b","question":" ","contexts":[],"answer":"a"}"#, "question: "),
        (b"{\"id\":\"\xff\"}", "is not UTF-8"),
        (
            br#"{"id":"d","question":"q","contexts":[{"id":"c","text":"x"},{"id":"c","text":"y"}],"answer":"a"}"#,
            "contexts[1].id: ",
        ),
        (br#"{"id":"m","question":"q","contexts":[]}"#, "missing field `answer`"),
        (br#"{"id":"n","question":null,"contexts":[],"answer":"a"}"#, "invalid type: null"),
        (br#"[]"#, "invalid "),
    ];
    let mut input = Vec::new();
    for (index, (line, _)) in bad.iter().enumerate() {
        input.extend_from_slice(good(&format!("good-{index}")).as_bytes());
        input.push(b'\n');
        input.extend_from_slice(line);
        input.push(b'\n');
    }
    let expected: Vec<_> = (0..bad.len())
        .map(|index| format!("good-{index}"))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("traces.jsonl");
    fs::write(&file, &input).unwrap();
    let file = file.to_str().unwrap();
    for (name, output) in [
        (file, run(&["diagnose", file])),
        ("stdin", feed(command(&["diagnose", "-"]), &input)),
    ] {
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(ids(&rows(&output)), expected);
        let told = stderr(&output);
        let told: Vec<_> = told.lines().collect();
        assert_eq!(told.len(), bad.len() + 1, "{told:?}");
        for (index, (_, problem)) in bad.iter().enumerate() {
            let place = format!("error: {name}:{}: ", 2 * index + 2);
            let told = told[index];
            assert!(told.starts_with(&place) && told.contains(problem), "{told}");
            assert!(!told.contains(" line 1 "), "{told}");
        }
        assert_eq!(told[bad.len()], "8 of 16 lines gave no verdict");
    }
}

#[test]
fn rows_keep_the_order_of_the_file_whatever_the_judges_take() {
    let mut diagnose = command(&["diagnose", &fixture("traces/demo.jsonl")]);
    diagnose.args(["--config", &fixture("demo.toml"), "--profile", "demo"]);
    let output = diagnose.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let traces = fs::read_to_string(fixture("traces/demo.jsonl")).unwrap();
    let expected: Vec<String> = traces
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].to_string())
        .collect();
    let rows = rows(&output);
    let given: Vec<_> = ids(&rows).iter().map(|id| format!("\"{id}\"")).collect();
    assert_eq!(given, expected);
    assert!(rows.iter().any(|row| row.route == Route::Fallback));
}

#[test]
fn line_ends_blank_lines_and_a_missing_last_one_do_not_matter() {
    let (a, b) = (good("a"), good("b"));
    let one_way = feed(
        command(&["diagnose", "-"]),
        format!("{a}\n{b}\n").as_bytes(),
    );
    let other = format!("\r\n\n  \t\r\n{a}\r\n\r\n   {b}");
    let other = feed(command(&["diagnose", "-"]), other.as_bytes());
    for output in [&one_way, &other] {
        assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
        assert_eq!(ids(&rows(output)), ["a", "b"]);
    }
    let blank_lines_count = feed(command(&["diagnose", "-"]), b"\r\n\n{}\n");
    assert!(stderr(&blank_lines_count).starts_with("error: stdin:3: "));
}

#[test]
fn nothing_to_diagnose_is_no_error_and_a_missing_file_is() {
    for input in [&b""[..], b"\n", b"\r\n \r\n"] {
        let output = feed(command(&["diagnose", "-"]), input);
        assert_eq!(output.status.code(), Some(0));
        let told = "there are no traces in the input\n".to_owned();
        assert_eq!((stdout(&output), stderr(&output)), (String::new(), told));
    }
    for (file, problem) in [("/nowhere/x.jsonl", "cannot open"), ("/", "cannot read")] {
        let output = run(&["diagnose", file]);
        assert_eq!(output.status.code(), Some(2));
        let told = stderr(&output);
        assert!(
            told.starts_with(&format!("error: {problem} `{file}`: ")),
            "{told}"
        );
    }
}

#[test]
fn the_scope_leaves_the_answer_out() {
    let output = feed(
        command(&["diagnose", "-", "--scope", "retrieval"]),
        good("a").as_bytes(),
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = rows(&output);
    let atomic = rows[0].atomic.as_ref().unwrap();
    assert!(matches!(
        atomic.chunk_relevance["c1"],
        JudgmentRow::Judged(_)
    ));
    for dimension in [
        Dimension::AnswerRelevance,
        Dimension::Groundedness,
        Dimension::Contradiction,
    ] {
        let out_of_scope = JudgmentRow::NotApplicable {
            not_applicable_reason: NotApplicableReason::OutOfScope,
        };
        assert_eq!(atomic.whole[&dimension], out_of_scope);
    }
    assert!(!rows[0].pass_covers.contains(&Dimension::Groundedness));
}

#[test]
fn the_fallback_judge_can_be_left_out() {
    let mut diagnose = command(&["diagnose", &fixture("traces/demo.jsonl")]);
    diagnose
        .args(["--config", &fixture("demo.toml"), "--profile", "demo"])
        .args(["--fallback-mode", "none"])
        .envs(AT_ONCE);
    let output = diagnose.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = rows(&output);
    let skipped = Some(FallbackUnavailableReason::Skipped);
    assert!(
        rows.iter()
            .any(|row| row.fallback_unavailable_reason == skipped)
    );
    for row in rows {
        assert_ne!(row.route, Route::Fallback);
        let roles = row.judge_calls.iter().map(|call| call.role);
        assert!(roles.into_iter().all(|role| role == JudgeRole::Atomic));
    }
}

#[test]
fn a_trace_has_only_as_much_time_as_it_is_given() {
    let traces = fs::read_to_string(fixture("traces/demo.jsonl")).unwrap();
    let first = traces.lines().next().unwrap();
    let mut diagnose = command(&["diagnose", "-", "--timeout-ms", "20"]);
    diagnose.args(["--config", &fixture("demo.toml"), "--profile", "demo"]);
    let output = feed(diagnose, first.as_bytes());
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), "");
    let told = stderr(&output);
    assert!(
        told.starts_with("error: stdin:1: the deadline passed before any diagnosis"),
        "{told}"
    );
    for bad in ["0", "-1", "soon", "3600001"] {
        let output = run(&["diagnose", "-", "--timeout-ms", bad]);
        assert_eq!(output.status.code(), Some(2), "{bad}");
    }
}

#[test]
fn a_profile_that_is_not_configured_is_told_before_any_line() {
    let output = feed(
        command(&["diagnose", "-", "--profile", "nobody"]),
        b"not JSON\n",
    );
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        "error: profile `nobody` is not configured; configured are default\n"
    );
}

#[test]
fn an_answer_recorded_for_another_input_is_a_failure_in_the_row() {
    let folder = tempfile::tempdir().unwrap();
    let replays = fs::read_to_string(fixture("replays/parity-atomic.jsonl")).unwrap();
    let mut row: serde_json::Value = serde_json::from_str(replays.lines().next().unwrap()).unwrap();
    row["input_sha256"] = "0".repeat(64).into();
    fs::write(folder.path().join("r.jsonl"), row.to_string()).unwrap();
    let config = folder.path().join("c.toml");
    let text = "[judges.parity-atomic]\ntype = 'replay'\nfile = 'r.jsonl'\n\
                [profiles.default]\natomic = 'parity-atomic'\npolicy = 'parity-v1'\n";
    fs::write(&config, text).unwrap();
    let traces = fs::read_to_string(fixture("traces/parity.jsonl")).unwrap();
    let mut two = traces.lines().take(2);
    let input = format!("{}\n{}\n", two.next().unwrap(), two.next().unwrap());
    let diagnose = command(&["diagnose", "-", "--config", config.to_str().unwrap()]);
    let output = feed(diagnose, input.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows = rows(&output);
    let reasons = [FailureReason::Protocol, FailureReason::Unavailable];
    assert_eq!(rows.len(), reasons.len());
    for (row, reason) in rows.iter().zip(reasons) {
        assert_eq!(row.diagnosis, Diagnosis::JudgeUncertain);
        assert_eq!(row.route, Route::FallbackUnavailable);
        let failed = JudgmentRow::Failed {
            judge_id: "parity-atomic".to_owned(),
            failure_reason: reason,
        };
        let atomic = row.atomic.as_ref().unwrap();
        assert_eq!(atomic.whole[&Dimension::Groundedness], failed);
        assert!(
            atomic
                .chunk_relevance
                .values()
                .all(|judgment| *judgment == failed)
        );
    }
}

/// Like `| head -1`: the reader leaves after the first line, while more input could still come.
#[test]
fn a_reader_that_leaves_is_no_error() {
    let traces = good("a");
    for args in [&["diagnose", "-"][..], &["config", "print"]] {
        let mut child = command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        if args[0] == "diagnose" {
            writeln!(stdin, "{traces}").unwrap();
            let mut first = String::new();
            reader.read_line(&mut first).unwrap();
            assert!(
                first.contains("\"trace_id\":\"a\""),
                "rows come as soon as they are ready"
            );
        }
        drop(reader);
        // Written in vain, or to nobody any more.
        writeln!(stdin, "{traces}\n{traces}").ok();
        let mut told = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut told)
            .unwrap();
        assert_eq!(told, "");
        assert_eq!(child.wait().unwrap().code(), Some(0));
        drop(stdin);
    }
}
