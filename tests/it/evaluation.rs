//! Evaluations by the real binary: what is written, and that nothing but the rows changes a bit of it.

mod inputs;
mod isolation;
mod merging;
mod promises;
mod refusals;
mod resuming;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::support::generated::Generated;
use crate::support::process::{command, fixture, stderr, stdout};

/// The files that must not differ.
const REPORTS: [&str; 3] = ["report.json", "report.md", "report.html"];

fn run(args: &[String]) -> Output {
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    command(&args).output().unwrap()
}

#[track_caller]
fn good(args: &[String]) -> Output {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    output
}

/// The reports in a folder.
fn reports(folder: &Path) -> BTreeMap<&'static str, String> {
    let read = |name| fs::read_to_string(folder.join(name)).unwrap();
    REPORTS.map(|name| (name, read(name))).into_iter().collect()
}

#[track_caller]
fn assert_same(one: &Path, other: &Path, what: &str) {
    let (one, other) = (reports(one), reports(other));
    for name in REPORTS {
        assert!(one[name] == other[name], "{name} differs: {what}");
    }
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The lines of a file without the first, sorted.
fn sorted_rows(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let mut rows: Vec<_> = text.lines().skip(1).map(str::to_owned).collect();
    rows.sort();
    rows
}

fn parity(out: &str, more: &[&str]) -> Vec<String> {
    let (data, config) = (fixture("traces/parity.jsonl"), fixture("parity.toml"));
    let mut args: Vec<String> = ["eval", "cascade", &data, "--config", &config, "--quiet"]
        .iter()
        .map(|arg| (*arg).to_owned())
        .collect();
    args.extend(["--out".to_owned(), out.to_owned()]);
    args.extend(more.iter().map(|arg| (*arg).to_owned()));
    args
}

#[test]
fn the_seeds_rows_come_out_as_they_should_in_every_mode() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let output = good(&parity(out, &["--mode", "all", "--parity"]));
    let markdown = fs::read_to_string(folder.path().join("report.md")).unwrap();
    // Standard output has the beginning: the answer and the modes.
    let (answer, told) = (markdown.split("\n\n## ").next().unwrap(), stdout(&output));
    assert!(told.starts_with(answer), "{told}");
    assert!(told.contains("| cascade | 9 | 0 | 9 |") && told.lines().count() < 20);
    let report = json(&folder.path().join("report.json"));
    let accuracy = |mode: &str| {
        report["modes"][mode]["diagnosis"]["overall_accuracy"]["value"]
            .as_f64()
            .unwrap()
    };
    for (mode, expected) in [
        ("atomic_only", 1.0),
        ("baseline_only", 8.0 / 9.0),
        ("cascade", 1.0),
    ] {
        assert!((accuracy(mode) - expected).abs() < 1e-12, "{mode}");
    }
    let cost = |mode: &str| report["modes"][mode]["cost"]["total_nano_usd"].as_i64();
    assert_eq!(cost("atomic_only"), Some(540_000));
    assert_eq!(cost("baseline_only"), Some(648_000));
    assert_eq!(cost("cascade"), Some(612_000));
    let rows = fs::read_to_string(folder.path().join("rows.jsonl")).unwrap();
    assert_eq!(rows.lines().count(), 10);
    assert!(!rows.contains("Tokyo"), "a rows file holds no texts");
    let run = json(&folder.path().join("run.json"));
    assert_eq!(run["evaluated_row_count"], 9);
}

/// The three modes of one run are what three runs give.
#[test]
fn a_mode_says_the_same_alone_and_with_the_others() {
    let generated = Generated::rows(150);
    let mut ends: BTreeMap<String, BTreeMap<u64, Value>> = BTreeMap::new();
    for mode in ["all", "atomic_only", "baseline_only", "cascade"] {
        let out = generated.at(mode);
        good(&generated.evaluation(&["--mode", mode, "--out", &out]));
        for row in sorted_rows(&Path::new(&out).join("rows.jsonl")) {
            let row: Value = serde_json::from_str(&row).unwrap();
            let index = row["index"].as_u64().unwrap();
            ends.entry(mode.to_owned())
                .or_default()
                .insert(index, row["ends"].clone());
        }
    }
    for mode in ["atomic_only", "baseline_only", "cascade"] {
        for (index, end) in &ends[mode] {
            assert_eq!(ends["all"][index][mode], end[mode], "{mode}, row {index}");
        }
    }
}

#[test]
fn concurrency_changes_no_bit() {
    let generated = Generated::rows(150);
    for concurrency in ["1", "3", "16"] {
        let out = generated.at(concurrency);
        let args = ["--mode", "all", "--out", &out, "--concurrency", concurrency];
        good(&generated.evaluation(&args));
        assert_same(&generated.folder().join("1"), Path::new(&out), concurrency);
    }
}

/// The judge inside the program takes as long as this machine makes it take, and no report tells that.
#[test]
fn the_time_of_this_machine_is_in_no_report() {
    let generated = Generated::rows(60);
    let config = fs::read_to_string(generated.config()).unwrap();
    let config = config.replace("atomic = \"fast\"", "atomic = \"inside\"")
        + "\n[judges.inside]\ntype = \"embedded\"\n";
    fs::write(generated.config(), config).unwrap();
    for concurrency in ["1", "2", "7", "32"] {
        let out = generated.at(concurrency);
        let args = ["--mode", "all", "--out", &out, "--concurrency", concurrency];
        good(&generated.evaluation(&args));
        assert_same(&generated.folder().join("1"), Path::new(&out), concurrency);
    }
}

/// What was recorded replays to the same report, but for the names of the judges' types.
#[test]
fn recorded_answers_replay_to_the_same_rows() {
    let generated = Generated::rows(60);
    let (recorded, out) = (generated.at("recorded.jsonl"), generated.at("one"));
    let args = ["--mode", "all", "--out", &out, "--record", &recorded];
    good(&generated.evaluation(&args));
    for judge in ["fast", "slow"] {
        fs::copy(&recorded, generated.at(&format!("{judge}.jsonl"))).unwrap();
    }
    let again = generated.at("two");
    good(&generated.evaluation(&["--mode", "all", "--out", &again]));
    let rows = |out: &str| sorted_rows(&Path::new(out).join("rows.jsonl"));
    assert!(rows(&out) == rows(&again), "rows differ");
    // The reports differ by the digests of the files alone.
    let report = |out: &str| {
        let mut report = json(&Path::new(out).join("report.json"));
        for judge in report["judges"].as_array_mut().unwrap() {
            assert!(
                judge
                    .as_object_mut()
                    .unwrap()
                    .remove("answers_sha256")
                    .is_some()
            );
        }
        report
    };
    assert_eq!(report(&out), report(&again));
}
