//! Reports in which nothing is told: no gate over them passes, and they are not accepted.

use std::fs;

use super::{Rig, set};
use crate::support::process::{fixture, run, stderr, stdout};

#[test]
fn a_gate_that_holds_nothing_is_an_error_and_no_pass() {
    let mut rig = Rig::new();
    set(&mut rig.accepted, "/modes", serde_json::json!({}));
    let output = rig.gate(None, &[]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(stderr(&output).contains("nothing is gated: "));
    assert!(stdout(&output).is_empty());
    // The way out of it.
    let output = rig.gate(None, &["--accept"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("nothing is gated: "));
}

#[test]
fn a_report_over_rows_that_cannot_be_judged_gates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (data, out) = (folder.path().join("data.jsonl"), folder.path().join("out"));
    let row = r#"{"id":"a","question":"?","retrieval":"not_performed","contexts":[],"answer":"A.","expected":{"diagnosis":"NOT_ASSESSABLE"}}"#;
    fs::write(&data, format!("{row}\n")).unwrap();
    let (data, out) = (data.to_str().unwrap(), out.to_str().unwrap());
    let config = fixture("parity.toml");
    let args = [
        "eval", "cascade", data, "--config", &config, "--quiet", "--out", out,
    ];
    let output = run(&args);
    assert!(output.status.success(), "{}", stderr(&output));
    let mut rig = Rig::new();
    let text = fs::read_to_string(folder.path().join("out/report.json")).unwrap();
    rig.report = serde_json::from_str(&text).unwrap();
    rig.accepted = rig.report.clone();
    let output = rig.gate(None, &[]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(stderr(&output).contains("nothing is gated: "));
}

#[test]
fn a_report_without_modes_is_never_accepted() {
    let mut rig = Rig::new();
    set(&mut rig.report, "/modes", serde_json::json!({}));
    let output = rig.gate(None, &["--accept"]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(stderr(&output).contains("has no modes"));
    let accepted = fs::read_to_string(rig.path("accepted.json")).unwrap();
    assert_eq!(accepted, rig.accepted.to_string());
}
