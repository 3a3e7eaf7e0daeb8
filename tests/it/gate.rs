//! The gate over reports, by the real binary: what passes, what fails, and what cannot be compared.

mod metrics;
mod nothing;

use std::fs;
use std::path::PathBuf;
use std::process::Output;
use std::sync::LazyLock;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::process::{fixture, run, stderr, stdout};

/// The report over the seed's nine rows.
static REPORT: LazyLock<String> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let (data, config) = (fixture("traces/parity.jsonl"), fixture("parity.toml"));
    let output = run(&[
        "eval",
        "cascade",
        &data,
        "--config",
        &config,
        "--mode",
        "all",
        "--quiet",
        "--out",
        out.to_str().unwrap(),
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    fs::read_to_string(out.join("report.json")).unwrap()
});

const ACCURACY: &str = "/modes/cascade/diagnosis/overall_accuracy/value";

/// Two reports and a file of rules in a folder of their own.
struct Rig {
    folder: TempDir,
    report: Value,
    accepted: Value,
}

impl Rig {
    fn new() -> Self {
        let report: Value = serde_json::from_str(&REPORT).unwrap();
        Self {
            folder: tempfile::tempdir().unwrap(),
            accepted: report.clone(),
            report,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the gate over both, with these rules and flags.
    fn gate(&self, rules: Option<&str>, flags: &[&str]) -> Output {
        let (report, accepted) = (self.path("report.json"), self.path("accepted.json"));
        fs::write(&report, self.report.to_string()).unwrap();
        if !self.accepted.is_null() {
            fs::write(&accepted, self.accepted.to_string()).unwrap();
        }
        let (report, accepted) = (report.to_str().unwrap(), accepted.to_str().unwrap());
        let file = self.path("rules.toml");
        let mut args = vec!["eval", "gate", report, "--accepted", accepted];
        if let Some(rules) = rules {
            fs::write(&file, rules).unwrap();
            args.extend(["--rules", file.to_str().unwrap()]);
        }
        args.extend(flags);
        run(&args)
    }
}

fn set(report: &mut Value, pointer: &str, value: impl Into<Value>) {
    *report.pointer_mut(pointer).unwrap() = value.into();
}

fn remove(report: &mut Value, parent: &str, key: &str) {
    let parent = report.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    parent.remove(key).unwrap();
}

/// The row of a table about a metric.
#[track_caller]
fn row_of(output: &Output, metric: &str) -> String {
    let text = stdout(output);
    let start = format!("| {metric} |");
    let found = text.lines().find(|line| line.starts_with(&start));
    found
        .unwrap_or_else(|| panic!("no {metric} in {text}{}", stderr(output)))
        .to_owned()
}

fn rule(metric: &str, rest: &str) -> String {
    format!("[[rule]]\nmetric = \"{metric}\"\n{rest}\n")
}

#[test]
fn a_report_passes_against_itself() {
    let output = Rig::new().gate(None, &["--all"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("## Passed"), "{text}");
    assert!(
        !text.contains("not gated") && !text.contains("## Failed"),
        "{text}"
    );
    for metric in [
        "cascade.diagnosis.overall_accuracy",
        "cascade.fallback_rate",
        "cascade.cost.per_row_nano_usd",
        "baseline_only.diagnosis.overall_accuracy",
        "atomic_only.components.generation.groundedness.auroc",
    ] {
        row_of(&output, metric);
    }
}

#[test]
fn a_result_fits_a_screen_and_ends_with_how_many_pass() {
    let text = stdout(&Rig::new().gate(None, &[]));
    assert!(text.lines().count() < 5, "{text}");
    assert!(
        text.ends_with(" gated metrics pass (`--all` shows these too).\n"),
        "{text}"
    );

    let mut rig = Rig::new();
    set(&mut rig.report, ACCURACY, 0.5);
    set(&mut rig.report, "/policy/id", "other");
    set(
        &mut rig.report,
        "/modes/cascade/latency/all/p95_ms/value",
        78.0,
    );
    let rules = rule("cascade.coverage", "")
        + &rule("cascade.diagnosis.overall_accuracy", "")
        + &rule("cascade.diagnosis.classes.NOT_ASSESSABLE.f1", "");
    let output = rig.gate(Some(&rules), &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    let places: Vec<_> = [
        "## Failed",
        "| 0.01 lower | worse by 0.5000 |",
        "## Errors",
        "| in neither report |",
        "- Changed: policy",
        "1 of 3 gated metrics pass, 1 fail, 1 cannot be held; not gated and moved: 1",
    ]
    .map(|part| {
        text.find(part)
            .unwrap_or_else(|| panic!("no {part} in {text}"))
    })
    .into();
    assert!(places.is_sorted(), "{text}");
    assert!(
        !text.contains("cascade.coverage") && !text.contains("p95_ms"),
        "{text}"
    );
    assert!(text.lines().count() < 20, "{text}");
}

#[test]
fn a_hundredth_worse_passes_and_anything_more_fails() {
    for (value, code, delta) in [
        (1.0, 0, "+0.0000"),
        (0.99, 0, "-0.0100"),
        (0.989_96, 0, "-0.0100"),
        (0.9899, 1, "-0.0101"),
        (0.5, 1, "-0.5000"),
    ] {
        let mut rig = Rig::new();
        set(&mut rig.report, ACCURACY, value);
        let output = rig.gate(None, &["--all"]);
        assert_eq!(output.status.code(), Some(code), "{value}");
        let row = row_of(&output, "cascade.diagnosis.overall_accuracy");
        assert!(row.contains(delta), "{row}");
        assert_eq!(row.contains("worse by "), code == 1, "{row}");
    }
}

#[test]
fn what_is_better_passes_whatever_the_direction() {
    let mut rig = Rig::new();
    set(&mut rig.accepted, ACCURACY, 0.5);
    set(&mut rig.report, "/modes/cascade/fallback_rate/value", 0.0);
    let output = rig.gate(None, &[]);
    assert_eq!(output.status.code(), Some(0));
    let mut rig = Rig::new();
    set(&mut rig.report, "/modes/cascade/fallback_rate/value", 0.2);
    let output = rig.gate(None, &[]);
    assert_eq!(output.status.code(), Some(1));
    let row = row_of(&output, "cascade.fallback_rate");
    assert!(
        row.contains("+0.0889") && row.contains("0.01 higher"),
        "{row}"
    );
}

#[test]
fn a_metric_that_was_there_and_is_gone_fails() {
    let mut rig = Rig::new();
    remove(
        &mut rig.report,
        "/modes/cascade/diagnosis/overall_accuracy",
        "value",
    );
    set(
        &mut rig.report,
        "/modes/cascade/diagnosis/overall_accuracy",
        serde_json::json!({"absent": "empty"}),
    );
    let output = rig.gate(None, &[]);
    assert_eq!(output.status.code(), Some(1));
    let row = row_of(&output, "cascade.diagnosis.overall_accuracy");
    assert!(
        row.contains("| absent | - |")
            && row.contains("missing: it was 1.0000 over some of 9 rows in the accepted report and has no rows now"),
        "{row}"
    );

    let mut rig = Rig::new();
    remove(&mut rig.report, "/modes", "cascade");
    assert_eq!(rig.gate(None, &[]).status.code(), Some(1));

    // Not there before: nothing was lost. A rule that names it all the same gates nothing, and says so.
    let mut rig = Rig::new();
    remove(&mut rig.report, "/modes", "cascade");
    remove(&mut rig.accepted, "/modes", "cascade");
    assert_eq!(rig.gate(None, &[]).status.code(), Some(0));
    let output = rig.gate(Some(&rule("cascade.fallback_rate", "")), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(row_of(&output, "cascade.fallback_rate").contains("in neither report"));
}

#[test]
fn r42_an_unknown_cost_where_there_was_a_known_one_fails() {
    let mut rig = Rig::new();
    let cost = serde_json::json!({"absent": "unknown"});
    set(
        &mut rig.report,
        "/modes/cascade/cost/per_row_nano_usd",
        cost,
    );
    let output = rig.gate(None, &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(row_of(&output, "cascade.cost.per_row_nano_usd").contains("missing"));
}

#[test]
fn other_data_or_other_questions_are_an_error_that_names_both() {
    for (pointer, value, named) in [
        (
            "/dataset/sha256",
            "abc",
            "dataset.sha256 is `abc`, accepted was `",
        ),
        (
            "/decision/variant",
            "with_reference",
            "decision.variant is `with_reference`, accepted was `mixed`",
        ),
        (
            "/conventions/percentile",
            "linear",
            "conventions.percentile is `linear`",
        ),
    ] {
        let mut rig = Rig::new();
        set(&mut rig.report, pointer, value);
        let output = rig.gate(None, &[]);
        assert_eq!(output.status.code(), Some(2), "{pointer}");
        assert!(stderr(&output).contains(named), "{}", stderr(&output));
        assert!(stdout(&output).is_empty());
    }
}

#[test]
fn a_policy_a_judge_or_a_price_may_change_and_is_told() {
    let mut rig = Rig::new();
    set(&mut rig.report, "/policy/id", "other|policy");
    set(
        &mut rig.report,
        "/judges/0/returned_models",
        serde_json::json!(["new-model"]),
    );
    remove(&mut rig.report, "", "pricing");
    let output = rig.gate(None, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("Changed: policy from `parity-v1 ("), "{text}");
    assert!(text.contains("to `other\\|policy ("), "{text}");
    assert!(text.contains("new-model"), "{text}");
    assert!(
        text.contains("Changed: pricing from ") && text.contains(" to `none`"),
        "{text}"
    );
    assert!(!text.contains("Changed: profile"), "{text}");
}

#[test]
fn what_moves_beside_is_told_and_fails_nothing() {
    let mut rig = Rig::new();
    set(
        &mut rig.report,
        "/modes/cascade/latency/all/p95_ms/value",
        78.0,
    );
    set(
        &mut rig.report,
        "/slices/variant=with_reference/modes/cascade/coverage/value",
        0.25,
    );
    let output = rig.gate(None, &["--all"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    let (_, beside) = text.split_once("## Moved and not gated").unwrap();
    assert!(
        beside.contains("| cascade.latency.all.p95_ms | all | 39.0 | 78.0 | +100.00 % |"),
        "{beside}"
    );
    assert!(
        beside.contains("| cascade.coverage | `variant=with_reference` |"),
        "{beside}"
    );
    assert_eq!(
        beside.lines().filter(|line| line.starts_with("| ")).count(),
        3,
        "{beside}"
    );
}

#[test]
fn rules_name_metrics_slices_tolerances_and_bounds() {
    let mut rig = Rig::new();
    set(&mut rig.report, ACCURACY, 0.95);
    let metric = "cascade.diagnosis.overall_accuracy";
    for (rest, code) in [
        ("tolerance = 0.05", 0),
        ("tolerance = 0.0499", 1),
        ("tolerance = 0.1\nmin = 0.95", 0),
        ("tolerance = 0.1\nmin = 0.96", 1),
        ("tolerance = 0.1\nmax = 0.9", 1),
        // Bounds alone are not held against the accepted report.
        ("min = 0.95", 0),
        ("max = 0.95", 0),
        ("min = 0.96", 1),
        ("tolerance = 0.0\nmin = 0.5", 1),
        ("higher_is_better = false", 0),
        ("slice = \"variant=with_reference\"", 0),
    ] {
        let output = rig.gate(Some(&rule(metric, rest)), &[]);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{rest}: {}",
            stdout(&output)
        );
    }
    // Two rules over one metric both hold.
    let both = rule(metric, "tolerance = 0.1") + &rule(metric, "tolerance = 0.01");
    let output = rig.gate(Some(&both), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("1 of 2 gated metrics pass, 1 fail"));
}

#[test]
fn money_and_time_are_held_against_a_share_of_what_was_accepted() {
    let metric = "cascade.cost.per_row_nano_usd";
    let pointer = "/modes/cascade/cost/per_row_nano_usd/value";
    for (value, tolerance, code) in [
        (68_000.0 * 1.01, 0.01, 0),
        (68_000.0 * 1.0102, 0.01, 1),
        (68_000.0 * 1.2, 0.2, 0),
        (1.0, 0.0, 0),
    ] {
        let mut rig = Rig::new();
        set(&mut rig.report, pointer, value);
        let rules = rule(metric, &format!("tolerance = {tolerance:?}"));
        let output = rig.gate(Some(&rules), &[]);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{value}: {}",
            stdout(&output)
        );
    }
    let mut rig = Rig::new();
    set(&mut rig.accepted, pointer, 0.0);
    let output = rig.gate(Some(&rule(metric, "tolerance = 1.0")), &[]);
    assert_eq!(output.status.code(), Some(1));
    let row = row_of(&output, metric);
    assert!(row.contains("from 0") && row.contains("it was 0"), "{row}");
}

#[test]
fn a_rule_that_cannot_be_kept_is_an_error_with_its_line() {
    let rig = Rig::new();
    for (rules, expected) in [
        (
            rule("cascade.recal", ""),
            "rules.toml:2: metric = `cascade.recal` is no metric that can be gated; did you mean `cascade.",
        ),
        (
            rule("cascade.coverage", "slice = \"tag=gone\""),
            "rules.toml:3: slice = `tag=gone` is in neither report",
        ),
        (
            rule("cascade.coverage", "tolerence = 0.1"),
            "rules.toml:3: unknown field `tolerence`",
        ),
        (
            rule("cascade.coverage", "tolerance = -1.0"),
            "rules.toml:3: tolerance = `-1` must be",
        ),
        (
            rule("cascade.routes.auto", "") + &rule("cascade.failed_count", ""),
            "rules.toml:2: metric = `cascade.routes.auto` is a count; over the same rows a rate says the same, and can be gated: `cascade.coverage`\n",
        ),
        (
            rule("cascade.latency.all.p95_ms", "tolerance = 5"),
            "rules.toml:3: tolerance = `5` must be at most 1; of `cascade.latency.all.p95_ms` it is a share of the accepted value: 0.05 is 5 %",
        ),
        (
            rule("cascade.coverage", "min = 0.1\ntolerance = 1.01"),
            "rules.toml:4: tolerance = `1.01` must be at most 1; of `cascade.coverage` it is in the unit of the metric",
        ),
        (
            String::new(),
            "rules.toml:1: there is no rule; one looks like this\n[[rule]]\nmetric = ",
        ),
    ] {
        let output = rig.gate(Some(&rules), &[]);
        assert_eq!(output.status.code(), Some(2), "{rules}");
        let errors = stderr(&output);
        assert!(errors.contains(expected), "{errors}");
        assert!(errors.contains("hint: `reference gate` lists"), "{errors}");
    }
}

/// The last PASS that disappears takes the share of false ones with it; slices do not count them.
#[test]
fn a_metric_that_lost_its_rows_says_what_it_was() {
    let slice = "slice = \"variant=with_reference\"\nmax = 0.5";
    for (of, rest, over) in [
        ("", "max = 0.5", " over n = 2"),
        (
            "/slices/variant=with_reference",
            slice,
            " over some of 8 rows",
        ),
    ] {
        let mut rig = Rig::new();
        let of = format!("{of}/modes/cascade/diagnosis");
        for report in [&mut rig.report, &mut rig.accepted] {
            let diagnosis = report.pointer_mut(&of).unwrap();
            diagnosis["false_pass"] = serde_json::json!({"value": 0.0});
            if rest == slice {
                diagnosis["classes"] = serde_json::json!({});
            }
        }
        let now = serde_json::json!({"absent": "empty"});
        set(&mut rig.report, &format!("{of}/false_pass"), now);
        let metric = "cascade.diagnosis.false_pass";
        let output = rig.gate(Some(&rule(metric, rest)), &[]);
        assert_eq!(output.status.code(), Some(1));
        let row = row_of(&output, metric);
        let why =
            format!("missing: it was 0.0000{over} in the accepted report and has no rows now");
        assert!(row.contains(&why), "{row}");
    }
}

#[test]
fn a_metric_that_slices_do_not_have_is_an_error_that_says_so() {
    let mut rig = Rig::new();
    for report in [&mut rig.report, &mut rig.accepted] {
        let of_slice = "/slices/variant=with_reference/modes/cascade/diagnosis/classes";
        if let Some(classes) = report.pointer_mut(of_slice) {
            *classes = serde_json::json!({});
        }
    }
    let metric = "cascade.diagnosis.classes.PASS.f1";
    let rules = rule(metric, "slice = \"variant=with_reference\"");
    let output = rig.gate(Some(&rules), &[]);
    assert_eq!(output.status.code(), Some(1));
    let row = row_of(&output, metric);
    assert!(row.contains("slices do not have this metric"), "{row}");
}

#[test]
fn accepting_writes_the_report_over_the_accepted_one() {
    let mut rig = Rig::new();
    set(&mut rig.report, ACCURACY, 0.5);
    let output = rig.gate(None, &["--accept"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("worse by 0.5000"));
    assert!(
        stderr(&output).contains("accepted: "),
        "{}",
        stderr(&output)
    );
    let read = |name| fs::read_to_string(rig.path(name)).unwrap();
    assert_eq!(read("accepted.json"), read("report.json"));
    assert_eq!(fs::read_dir(rig.folder.path()).unwrap().count(), 2);
}

#[test]
fn the_first_report_is_accepted_where_there_is_none() {
    let mut rig = Rig::new();
    rig.accepted = Value::Null;
    let output = rig.gate(None, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("--accept writes the first one"),
        "{}",
        stderr(&output)
    );
    let output = rig.gate(None, &["--accept"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let read = |name| fs::read_to_string(rig.path(name)).unwrap();
    assert_eq!(read("accepted.json"), read("report.json"));
}

#[test]
fn accepting_takes_the_place_of_a_report_and_of_nothing_else() {
    let rig = Rig::new();
    let report = rig.path("report.json");
    let other = rig.path("notes.json");
    fs::write(&report, rig.report.to_string()).unwrap();
    let (report, other) = (report.to_str().unwrap(), other.to_str().unwrap());
    let gate = || run(&["eval", "gate", report, "--accepted", other, "--accept"]);
    fs::write(other, "{\"mine\": true}").unwrap();
    let output = gate();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("this is not a report"),
        "{}",
        stderr(&output)
    );
    assert_eq!(fs::read_to_string(other).unwrap(), "{\"mine\": true}");
    // A report of other data or of an older version may be replaced; it is told that nothing was compared.
    fs::write(other, "{\"schema_version\": 0}").unwrap();
    let output = gate();
    assert_eq!(output.status.code(), Some(0));
    assert!(
        stderr(&output).contains("not compared: "),
        "{}",
        stderr(&output)
    );
    let mut data = rig.report.clone();
    set(&mut data, "/dataset/sha256", "abc");
    fs::write(other, data.to_string()).unwrap();
    let output = gate();
    assert_eq!(output.status.code(), Some(0));
    assert!(
        stderr(&output).contains("not compared: "),
        "{}",
        stderr(&output)
    );
}

#[test]
fn names_from_outside_stand_in_code_spans() {
    let mut rig = Rig::new();
    let name = "tag=@everyone #1 $$ [a](http://b)`c";
    for report in [&mut rig.report, &mut rig.accepted] {
        let slices = report["slices"].as_object_mut().unwrap();
        let slice = slices["variant=with_reference"].clone();
        slices.insert(name.to_owned(), slice);
    }
    let pointer = format!("/slices/{name}/modes/cascade/coverage/value").replace("//b", "~1~1b");
    set(&mut rig.report, &pointer, 0.25);
    set(&mut rig.report, "/policy/id", "@everyone");
    let output = rig.gate(None, &["--all"]);
    let text = stdout(&output);
    assert!(text.contains(&format!("| ``{name}`` |")), "{text}");
    assert!(text.contains(" to `@everyone ("), "{text}");
    assert!(text.starts_with("# Gate of `parity.jsonl`"), "{text}");
}
