//! The commands as processes: what they print, and how they end.

mod commands;
mod config;
mod diagnose;
mod endpoint;
mod fit;
mod init;
mod judges;

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use judge_cascade::artifact::verdict::VerdictRow;
use serde_json::json;

use crate::support::process::stdout;

/// Overrides that keep recorded judges from taking their time.
const AT_ONCE: [(&str, &str); 2] = [
    (
        "JUDGE_CASCADE__JUDGES__DEMO-ATOMIC__SIMULATE_LATENCY",
        "false",
    ),
    (
        "JUDGE_CASCADE__JUDGES__DEMO-FALLBACK__SIMULATE_LATENCY",
        "false",
    ),
];

/// A line of a file: an answer that quotes its only chunk.
fn good(id: &str) -> String {
    let text = "The pool opens at eight on Sundays.";
    json!({
        "id": id,
        "question": "When does the pool open on Sundays?",
        "contexts": [{"id": "c1", "text": text}],
        "answer": text,
    })
    .to_string()
}

/// The verdict rows on standard output, one a line.
fn rows(output: &Output) -> Vec<VerdictRow> {
    stdout(output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn ids(rows: &[VerdictRow]) -> Vec<&str> {
    rows.iter().map(|row| &*row.trace_id).collect()
}

/// Runs a command with this on its standard input.
fn feed(mut command: Command, input: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}
