//! What an evaluation does not begin.

use std::fs;

use super::run;
use crate::support::generated::Generated;
use crate::support::process::stderr;

#[track_caller]
fn refused(generated: &Generated, more: &[&str], code: i32, parts: &[&str]) {
    let out = generated.at("refused");
    let output = run(&generated.evaluation(&[&["--out", &out], more].concat()));
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{error}");
    for part in parts {
        assert!(error.contains(part), "{error}");
    }
    assert!(
        !generated.folder().join("refused/rows.jsonl").exists(),
        "{error}"
    );
}

/// A judge over HTTP may cost money, so it is asked only where that is said.
#[test]
fn judges_over_http_are_asked_only_with_live() {
    let generated = Generated::rows(5);
    let text = fs::read_to_string(generated.config()).unwrap();
    let http =
        "[judges.paid]\ntype = 'systemone'\nbase_url = 'http://127.0.0.1:1'\nmodel = 'fast-1'\n";
    let text = text.replace("atomic = \"fast\"", "atomic = \"paid\"") + http;
    fs::write(generated.config(), text).unwrap();
    let parts = [
        "would ask judges over HTTP",
        ": `paid`\n",
        "--live asks them",
        "--replay FILE",
    ];
    refused(&generated, &[], 2, &parts);
    refused(&generated, &["--mode", "all"], 2, &parts);
    let fast = generated.at("fast.jsonl");
    let none = format!("`{fast}` holds no answers of these");
    refused(&generated, &["--replay", &fast], 2, &[&none]);

    let recorded = fs::read_to_string(&fast)
        .unwrap()
        .replace("\"fast\"", "\"paid\"");
    let replay = generated.at("paid.jsonl");
    fs::write(&replay, recorded).unwrap();
    let (out, plain) = (generated.at("out"), generated.at("baseline"));
    super::good(&generated.evaluation(&["--replay", &replay, "--out", &out]));
    super::good(&generated.evaluation(&["--mode", "baseline_only", "--out", &plain]));
}

#[test]
fn without_a_fallback_judge_only_the_atomic_one_is_evaluated() {
    let generated = Generated::rows(5);
    let text = fs::read_to_string(generated.config()).unwrap();
    fs::write(
        generated.config(),
        text.replace("fallback = \"slow\"\n", ""),
    )
    .unwrap();
    for mode in ["cascade", "baseline_only", "all"] {
        let parts = ["has no fallback judge", mode, "--mode atomic_only"];
        refused(&generated, &["--mode", mode], 2, &parts);
    }
    let out = generated.at("out");
    super::good(&generated.evaluation(&["--mode", "atomic_only", "--out", &out]));
}

#[test]
fn what_does_not_exist_or_is_wrong_is_named() {
    let generated = Generated::rows(5);
    refused(
        &generated,
        &["--profile", "other"],
        2,
        &["profile `other` is not configured"],
    );
    refused(
        &generated,
        &["--mode", "both"],
        2,
        &["`both` is not a mode"],
    );
    refused(
        &generated,
        &["--concurrency", "0"],
        2,
        &["0 is not in 1..=4096"],
    );
    let data = fs::read_to_string(generated.data()).unwrap();
    fs::write(
        generated.data(),
        data.replacen("\"answer\"", "\"reply\"", 1),
    )
    .unwrap();
    let place = format!("{}:1: unknown field `reply`", generated.at("data.jsonl"));
    refused(&generated, &[], 1, &[&place]);
    fs::remove_file(generated.data()).unwrap();
    refused(&generated, &[], 2, &["cannot read"]);
}

#[test]
fn a_cause_is_told_once() {
    let generated = Generated::rows(1);
    let none = generated.at("none.jsonl");
    let mut no_data = generated.evaluation(&[]);
    no_data[2].clone_from(&none);
    let args = |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>();
    let policy = "systemone-example";
    for args in [
        no_data,
        generated.evaluation(&["--replay", &none]),
        args(&["eval", "merge", &none, "--out", &generated.at("merged")]),
        args(&["policy", "diff", policy, policy, "--on", &none]),
    ] {
        let error = stderr(&run(&args));
        let count = error.matches("No such file or directory").count();
        assert_eq!(count, 1, "{args:?}: {error}");
    }
}

#[test]
fn a_shard_is_one_of_its_count_and_has_a_file() {
    let generated = Generated::rows(5);
    for shard in ["0/3", "4/3", "1", "1/0", "a/b"] {
        let file = generated.at("s.jsonl");
        let args = ["--shard", shard, "--summary", &file];
        let output = run(&generated.evaluation(&args));
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains("is not I/N"), "{error}");
    }
    let output = run(&generated.evaluation(&["--shard", "1/2"]));
    assert!(stderr(&output).contains("--summary"));
}
