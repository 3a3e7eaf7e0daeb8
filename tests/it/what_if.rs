//! `policy diff`: recorded judgments under two policies, told by the real binary.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::process::{fixture, run, stderr, stdout};

/// What `policy diff` says as JSON.
fn difference(before: &str, after: &str, on: &Path, more: &[&str]) -> Value {
    let mut args = vec![
        "policy",
        "diff",
        before,
        after,
        "--on",
        on.to_str().unwrap(),
        "--json",
    ];
    args.extend(more);
    let output = run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

/// The verdict rows of the fixtures under the policy of their profile.
fn verdicts(folder: &Path, name: &str, profile: &str) -> std::path::PathBuf {
    let (traces, config) = (
        fixture(&format!("traces/{name}.jsonl")),
        fixture(&format!("{name}.toml")),
    );
    let output = run(&[
        "diagnose",
        &traces,
        "--config",
        &config,
        "--profile",
        profile,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let file = folder.join(format!("{name}.jsonl"));
    fs::write(&file, stdout(&output)).unwrap();
    file
}

#[test]
fn the_recording_policy_decides_every_verdict_row_as_recorded() {
    let folder = tempfile::tempdir().unwrap();
    for (name, profile, policy, count) in [
        ("demo", "demo", "systemone-example", 47),
        ("parity", "default", "parity-v1", 9),
    ] {
        let rows = verdicts(folder.path(), name, profile);
        let told = difference(policy, policy, &rows, &[]);
        assert_eq!(told["changed_count"], 0, "{name}");
        assert_eq!(told["flips"], serde_json::json!([]), "{name}");
        for side in ["before", "after"] {
            let same = &told[side]["as_recorded"];
            assert_eq!(same["recorded_count"], count, "{name}");
            assert_eq!(same["same_count"], count, "{name}");
        }
        assert_eq!(told["before"], told["after"], "{name}");
    }
}

#[test]
fn another_policy_tells_its_changes_their_examples_and_their_risk() {
    let folder = tempfile::tempdir().unwrap();
    let rows = verdicts(folder.path(), "demo", "demo");
    let data = fixture("traces/demo.jsonl");
    let told = difference(
        "systemone-example",
        "parity-v1",
        &rows,
        &["--data", &data, "--examples", "2"],
    );
    let flip = told["flips"]
        .as_array()
        .unwrap()
        .iter()
        .find(|flip| flip["before"] == "PASS" && flip["after"] == "JUDGE_UNCERTAIN")
        .unwrap();
    assert_eq!(flip["count"], 6);
    assert_eq!(
        flip["examples"],
        serde_json::json!(["demo-002", "demo-004"])
    );
    assert_eq!(told["after"]["served"]["not_recorded"], 7);
    assert_eq!(told["after"]["cost"]["nano_usd"], Value::Null);
    assert_eq!(told["after"]["cost"]["unknown_count"], 7);
    assert_eq!(told["labels"]["broken_count"], 9);
    let risk = &told["before"]["quality"]["automatic_risk"];
    assert_eq!(risk["value"], 1.0 / 38.0);
    assert!(risk["low"].as_f64().unwrap() < risk["high"].as_f64().unwrap());
    let total: u64 = told["diagnoses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cell| cell["count"].as_u64().unwrap())
        .sum();
    assert_eq!(told["row_count"], total);

    let args = [
        "policy",
        "diff",
        "systemone-example",
        "parity-v1",
        "--on",
        rows.to_str().unwrap(),
    ];
    let text = stdout(&run(&args));
    assert!(
        text.contains("PASS -> JUDGE_UNCERTAIN  6: demo-002, demo-004, demo-017"),
        "{text}"
    );
    assert!(text.contains("its answer is not recorded"), "{text}");
    assert!(text.contains("WARN   BLOCK  1"), "{text}");
}

#[test]
fn replay_rows_of_two_judges_are_joined_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let read =
        |name: &str| fs::read_to_string(fixture(&format!("replays/demo-{name}.jsonl"))).unwrap();
    let (atomic, fallback) = (read("atomic"), read("fallback"));
    let (data, prices) = (fixture("traces/demo.jsonl"), fixture("pricing/demo.json"));
    let more = [
        "--atomic",
        "demo-atomic",
        "--fallback",
        "demo-fallback",
        "--data",
        &data,
        "--pricing",
        &prices,
    ];
    let mut told = Vec::new();
    for (name, text) in [
        ("one.jsonl", format!("{atomic}{fallback}")),
        ("other.jsonl", format!("{fallback}{atomic}")),
    ] {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        told.push(difference("systemone-example", "parity-v1", &file, &more));
    }
    assert_eq!(told[0], told[1]);
    // The traces that need a judge: the same decisions as of the cascade over the same answers.
    let verdicts = verdicts(folder.path(), "demo", "demo");
    let recorded = difference(
        "systemone-example",
        "systemone-example",
        &verdicts,
        &["--data", &data],
    );
    assert_eq!(
        told[0]["before"]["routes"]["fallback"],
        recorded["before"]["routes"]["fallback"]
    );
    assert_eq!(told[0]["before"]["served"]["not_recorded"], 1);
    assert_eq!(told[0]["abstention_unknown_count"], 0);

    let both = folder.path().join("one.jsonl");
    let output = run(&[
        "policy",
        "diff",
        "parity-v1",
        "parity-v1",
        "--on",
        both.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(
        said.contains("`demo-atomic` and `demo-fallback`; say with --atomic"),
        "{said}"
    );
}

/// A rows file of an evaluation of the demo fixtures in every mode.
fn rows_file(folder: &Path) -> std::path::PathBuf {
    let out = folder.join("evaluation");
    let output = run(&[
        "eval",
        "cascade",
        &fixture("traces/demo.jsonl"),
        "--config",
        &fixture("demo.toml"),
        "--profile",
        "demo",
        "--mode",
        "all",
        "--quiet",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    out.join("rows.jsonl")
}

#[test]
fn the_rows_file_of_an_evaluation_is_decided_as_recorded_and_its_baseline_serves() {
    let folder = tempfile::tempdir().unwrap();
    let rows = rows_file(folder.path());
    let same = difference("systemone-example", "systemone-example", &rows, &[]);
    assert_eq!(same["changed_count"], 0);
    let before = &same["before"]["as_recorded"];
    assert_eq!(before["recorded_count"], before["same_count"]);
    assert!(40 <= before["recorded_count"].as_u64().unwrap());
    let other = difference("systemone-example", "parity-v1", &rows, &[]);
    assert!(1 <= other["after"]["served"]["baseline"].as_u64().unwrap());
    assert!(other["after"]["quality"]["accuracy"]["value"].is_number());

    // A line that was being written when the run was killed.
    let text = fs::read_to_string(&rows).unwrap();
    fs::write(&rows, &text[..text.trim_end().len() - 20]).unwrap();
    let cut = difference("systemone-example", "systemone-example", &rows, &[]);
    assert_eq!(cut["has_cut_off_line"], true);
    assert_eq!(
        cut["row_count"].as_u64(),
        same["row_count"].as_u64().map(|count| count - 1)
    );
}

#[test]
fn a_policy_that_asks_more_is_told_what_was_never_asked() {
    let folder = tempfile::tempdir().unwrap();
    let rows = verdicts(folder.path(), "parity", "default");
    let told = difference("parity-v1", "systemone-example", &rows, &[]);
    let text = fs::read_to_string(&rows).unwrap();
    let off = text.replace(
        "\"correctness\":{\"judge_id\"",
        "\"correctness\":{\"not_applicable_reason\":\"switched_off\"},\"contradiction_\":{\"judge_id\"",
    );
    assert_ne!(off, text);
    assert_eq!(told["before"]["never_asked"], serde_json::json!({}));
    // Cut the rest of the judgment out, which stands up to its closing brace.
    let mut lines = Vec::new();
    for line in off.lines() {
        let mut line = line.to_owned();
        while let Some(at) = line.find(",\"contradiction_\":{") {
            let end = at + line[at..].find('}').unwrap() + 1;
            line.replace_range(at..end, "");
        }
        lines.push(line);
    }
    fs::write(&rows, lines.join("\n") + "\n").unwrap();
    let told = difference("parity-v1", "parity-v1", &rows, &[]);
    let never = told["after"]["never_asked"]["correctness"]
        .as_u64()
        .unwrap();
    assert!(1 <= never);
    let args = [
        "policy",
        "diff",
        "parity-v1",
        "parity-v1",
        "--on",
        rows.to_str().unwrap(),
    ];
    let text = stdout(&run(&args));
    let note = format!("note: B wants correctness, which was never asked about {never} traces");
    assert!(text.contains(&note), "{text}");
}

#[test]
fn bad_input_is_named_by_its_line_and_gives_no_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let rows = verdicts(folder.path(), "parity", "default");
    let text = fs::read_to_string(&rows).unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    lines[3] = "{\"schema_version\":1}";
    lines[6] = "no JSON";
    fs::write(&rows, lines.join("\n")).unwrap();
    let file = rows.to_str().unwrap();
    let output = run(&["policy", "diff", "parity-v1", "parity-v1", "--on", file]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), "");
    let said = stderr(&output);
    assert!(said.contains(&format!("{file}:4: missing field")), "{said}");
    assert!(said.contains(&format!("{file}:7: expected")), "{said}");

    for (text, code, part) in [
        ("", 1, "holds no row"),
        ("{\"a\":1}\n", 1, ":1: is neither a verdict row"),
    ] {
        fs::write(&rows, text).unwrap();
        let output = run(&["policy", "diff", "parity-v1", "parity-v1", "--on", file]);
        assert_eq!(output.status.code(), Some(code), "{text}");
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
    let output = run(&["policy", "diff", "parity-v1", "nothing", "--on", file]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(
        said.contains("`nothing` is neither a built-in policy"),
        "{said}"
    );
}

#[test]
fn flags_that_would_do_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let rows = verdicts(folder.path(), "parity", "default");
    let prices = fixture("pricing/parity.json");
    for more in [
        ["--pricing", prices.as_str()],
        ["--atomic", "parity-atomic"],
    ] {
        let mut args = vec![
            "policy",
            "diff",
            "parity-v1",
            "parity-v1",
            "--on",
            rows.to_str().unwrap(),
        ];
        args.extend(more);
        let output = run(&args);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains("is for replay rows"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn answers_that_an_evaluation_recorded_are_decided_as_it_decided_them() {
    let folder = tempfile::tempdir().unwrap();
    let (out, recorded) = (
        folder.path().join("out"),
        folder.path().join("recorded.jsonl"),
    );
    let data = fixture("traces/demo.jsonl");
    let output = run(&[
        "eval",
        "cascade",
        &data,
        "--mode",
        "atomic_only",
        "--quiet",
        "--record",
        recorded.to_str().unwrap(),
        "--out",
        out.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = fs::read_to_string(&recorded).unwrap();
    assert!(text.contains("\"details\""), "{text}");
    let rows = fs::read_to_string(out.join("rows.jsonl")).unwrap();
    let rows: Vec<Value> = rows
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let policy = rows[0]["policy"]["id"].as_str().unwrap();
    let told = difference(policy, policy, &recorded, &["--data", &data]);
    assert_eq!(told["changed_count"], 0);
    let mut said = std::collections::BTreeMap::new();
    for row in &rows[1..] {
        let end = &row["ends"]["atomic_only"];
        // Without a question that applies no judge is asked, so nothing is recorded.
        if row["atomic"]["calls"].is_null() {
            continue;
        }
        if let Some(diagnosis) = end["diagnosis"].as_str() {
            *said.entry(diagnosis.to_owned()).or_insert(0) += 1;
        }
    }
    let cells = told["diagnoses"].as_array().unwrap().iter();
    let decided: std::collections::BTreeMap<_, _> = cells
        .map(|cell| {
            let diagnosis = cell["before"].as_str().unwrap().to_owned();
            (diagnosis, cell["count"].as_u64().unwrap())
        })
        .collect();
    assert!(2 <= decided.len());
    assert_eq!(decided, said);
}

#[test]
fn a_judge_that_the_file_does_not_have_is_refused_with_those_that_it_has() {
    let file = fixture("replays/demo-atomic.jsonl");
    for roles in [
        &["--atomic", "typo"][..],
        &["--atomic", "demo-atomic", "--fallback", "typo"],
    ] {
        let mut args = vec!["policy", "diff", "parity-v1", "parity-v1", "--on", &file];
        args.extend(roles);
        let output = run(&args);
        assert_eq!(output.status.code(), Some(2));
        let said = stderr(&output);
        assert!(
            said.contains("holds no row of judge `typo`; its rows are of `demo-atomic`"),
            "{said}"
        );
    }
}

#[test]
fn a_trace_has_one_row_of_each_judge() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.jsonl");
    let read =
        |name: &str| fs::read_to_string(fixture(&format!("replays/demo-{name}.jsonl"))).unwrap();
    let (atomic, fallback) = (read("atomic"), read("fallback"));
    let (count, first) = (atomic.lines().count(), atomic.lines().next().unwrap());
    let path = file.to_str().unwrap();
    let both = ["--atomic", "demo-atomic", "--fallback", "demo-fallback"];
    for (text, roles, line, known) in [
        (format!("{atomic}{first}\n"), &both[..0], count + 1, 1),
        (format!("\u{feff}{first}\n{first}\n"), &both[..0], 2, 1),
        (
            format!("{first}\n{fallback}{fallback}"),
            &both[..],
            fallback.lines().count() + 2,
            2,
        ),
    ] {
        fs::write(&file, text).unwrap();
        let mut args = vec!["policy", "diff", "parity-v1", "parity-v1", "--on", path];
        args.extend(roles);
        let output = run(&args);
        assert_eq!(output.status.code(), Some(1));
        let said = stderr(&output);
        let expected = format!("{path}:{line}: trace `demo-001` has a row of judge");
        assert!(said.contains(&expected), "{said}");
        assert!(said.contains(&format!("in line {known}")), "{said}");
    }
}

#[test]
fn a_trace_stands_once_in_verdict_rows_and_in_rows_files_too() {
    let folder = tempfile::tempdir().unwrap();
    let (verdicts, evaluated) = (
        verdicts(folder.path(), "demo", "demo"),
        rows_file(folder.path()),
    );
    for (file, header_count) in [(verdicts, 0), (evaluated, 1)] {
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<_> = text.lines().collect();
        let again = &lines[header_count + 1..header_count + 3];
        // The lines between are blank, and the second one has blanks of its own.
        let second = again[1].replacen(':', " :\t", 1);
        let repeated = format!("{text}\n\n{}\n{second}\n{}\n", again[0], again[0]);
        fs::write(&file, repeated).unwrap();
        let path = file.to_str().unwrap();
        let output = run(&["policy", "diff", "parity-v1", "parity-v1", "--on", path]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(stdout(&output), "");
        let said = stderr(&output);
        let end = lines.len() + 2;
        let expected = [(1, 0), (2, 1), (3, 0)].map(|(after, which)| {
            let row: Value = serde_json::from_str(again[which]).unwrap();
            let trace = row["trace_id"].as_str().unwrap();
            let (line, known) = (end + after, header_count + 2 + which);
            format!("{path}:{line}: trace `{trace}` has a row in line {known}")
        });
        assert_eq!(said.trim_end(), format!("error: {}", expected.join("\n")));
    }
}

#[test]
fn a_row_that_is_wrong_is_told_with_those_that_repeat_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.jsonl");
    let atomic = fs::read_to_string(fixture("replays/demo-atomic.jsonl")).unwrap();
    let first = atomic.lines().next().unwrap();
    let wrong = first.replacen("{", "{\"mood\":1,", 1);
    fs::write(&file, format!("{first}\n{wrong}\n")).unwrap();
    let path = file.to_str().unwrap();
    let output = run(&["policy", "diff", "parity-v1", "parity-v1", "--on", path]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    let repeat = format!("{path}:2: trace `demo-001` has a row of judge `demo-atomic` in line 1");
    assert!(said.contains(&repeat), "{said}");
    assert!(
        said.contains(&format!("{path}:2: unknown field `mood`")),
        "{said}"
    );
}

#[test]
fn only_a_regular_file_is_compared_on() {
    let folder = tempfile::tempdir().unwrap();
    for file in [folder.path().to_str().unwrap(), "/dev/null"] {
        let output = run(&["policy", "diff", "parity-v1", "parity-v1", "--on", file]);
        assert_eq!(output.status.code(), Some(2));
        let said = stderr(&output);
        let expected = format!("--on: `{file}` is not a regular file");
        assert!(said.contains(&expected), "{said}");
    }
}

#[test]
fn the_order_of_lines_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (rows, evaluated) = (
        verdicts(folder.path(), "demo", "demo"),
        rows_file(folder.path()),
    );
    for (file, header_count) in [(rows, 0), (evaluated, 1)] {
        let told = difference("systemone-example", "parity-v1", &file, &[]);
        assert_ne!(told["changed_count"], 0);
        let text = fs::read_to_string(&file).unwrap();
        let mut lines: Vec<_> = text.lines().collect();
        lines[header_count..].reverse();
        fs::write(&file, lines.join("\n") + "\n").unwrap();
        let again = difference("systemone-example", "parity-v1", &file, &[]);
        assert_eq!(told, again);
    }
}

#[test]
fn rows_that_ended_with_the_atomic_judge_are_not_decided_again() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    // The judge has no row of these traces, and its profile ends a trace with that.
    let output = run(&[
        "eval",
        "cascade",
        &fixture("traces/demo.jsonl"),
        "--config",
        &fixture("parity.toml"),
        "--mode",
        "cascade",
        "--quiet",
        "--out",
        out.to_str().unwrap(),
    ]);
    let rows = out.join("rows.jsonl");
    let text = fs::read_to_string(&rows).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    let failed = text
        .lines()
        .filter(|line| line.contains("\"cascade\":{\"failed\""))
        .count();
    assert!(1 <= failed);
    let told = difference("parity-v1", "systemone-example", &rows, &[]);
    assert_eq!(told["not_decided"]["atomic_failed"], failed);
    let others = text.lines().skip(1).count() - failed;
    assert_eq!(told["row_count"], others);
}
