//! Promises that answer public complaints, by their numbers.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{good, json, run, sorted_rows};
use crate::support::generated::{Generated, How};
use crate::support::process::{GUARD, command, stderr, stdout};

/// Every number and null of a value, with its path.
fn numbers(path: &str, value: &Value, found: &mut Vec<(String, Option<f64>)>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                numbers(&format!("{path}.{key}"), value, found);
            }
        }
        Value::Array(list) => {
            for (place, value) in list.iter().enumerate() {
                numbers(&format!("{path}[{place}]"), value, found);
            }
        }
        Value::Number(number) => found.push((path.to_owned(), number.as_f64())),
        Value::Null => found.push((path.to_owned(), None)),
        Value::Bool(_) | Value::String(_) => (),
    }
}

/// R1: no NaN and no infinity in anything that is written, also where all judges fail and nothing is labelled.
#[test]
fn r1_no_output_holds_a_number_that_is_none() {
    let generated = Generated::rows(40);
    let data = fs::read_to_string(generated.data()).unwrap();
    let bare = |line: &str| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        row.as_object_mut().unwrap().remove("expected");
        row["id"] = format!("other-{}", row["id"].as_str().unwrap()).into();
        row.to_string()
    };
    let bare: Vec<_> = data.lines().take(5).map(bare).collect();
    let strange = generated.at("strange.jsonl");
    for (name, text) in [("labelled", data), ("bare", bare.join("\n"))] {
        fs::write(&strange, text).unwrap();
        let out = generated.at(name);
        let mut args = generated.evaluation(&["--mode", "all", "--parity", "--out", &out]);
        args[2].clone_from(&strange);
        let output = run(&args);
        let code = if name == "bare" { 1 } else { 0 };
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        let out = Path::new(&out);
        let mut found = Vec::new();
        numbers("report", &json(&out.join("report.json")), &mut found);
        numbers("run", &json(&out.join("run.json")), &mut found);
        for (path, number) in found {
            assert!(
                number.is_some_and(f64::is_finite),
                "{name}: {path}: {number:?}"
            );
        }
        let markdown = stdout(&output);
        for word in markdown.split(|c: char| !c.is_alphanumeric()) {
            assert!(
                !["NaN", "inf", "Infinity", "null"].contains(&word),
                "{name}: {markdown}"
            );
        }
    }
}

/// R4: a judge that failed is no score: it is wrong in overall accuracy, left out of accuracy, and counted apart.
#[test]
fn r4_a_failure_is_never_a_score() {
    let generated = Generated::rows(150);
    let out = generated.at("out");
    good(&generated.evaluation(&["--mode", "all", "--out", &out]));
    let report = json(&Path::new(&out).join("report.json"));
    let (mut failed, mut right, mut answered, mut labelled) = (0_u64, 0_u64, 0_u64, 0_u64);
    for row in sorted_rows(&Path::new(&out).join("rows.jsonl")) {
        let row: Value = serde_json::from_str(&row).unwrap();
        let end = &row["ends"]["baseline_only"];
        assert!(end.get("failed").is_none() || end.get("diagnosis").is_none());
        failed += u64::from(end.get("failed").is_some());
        let Some(label) = row["labels"].get("diagnosis") else {
            continue;
        };
        labelled += 1;
        answered += u64::from(end.get("failed").is_none());
        right += u64::from(end.get("diagnosis") == Some(label));
    }
    assert!(failed > 5 && right > 0);
    let mode = &report["modes"]["baseline_only"];
    assert_eq!(mode["failed_count"], failed);
    let value = |name: &str| mode["diagnosis"][name]["value"].as_f64().unwrap();
    let share = |part: u64, whole: u64| part as f64 / whole as f64;
    assert!((value("overall_accuracy") - share(right, labelled)).abs() < 1e-12);
    assert!((value("accuracy") - share(right, answered)).abs() < 1e-12);
}

/// R27: a row that is too large or whose judge fails ends as a failed row; the others are evaluated.
#[test]
fn r27_a_bad_row_ends_nothing_but_itself() {
    let generated = Generated::rows(80);
    let out = generated.at("out");
    let output = good(&generated.evaluation(&["--mode", "all", "--out", &out]));
    let error = stderr(&output);
    let place = format!("{}:8: contexts", generated.at("data.jsonl"));
    assert!(
        error.contains("3 rows are over a limit and failed, the first: "),
        "{error}"
    );
    assert!(error.contains(&place), "{error}");
    let rows = sorted_rows(&Path::new(&out).join("rows.jsonl"));
    assert_eq!(rows.len(), 80);
    let too_long = rows
        .iter()
        .filter(|row| row.contains(r#""cascade":{"failed":"too_long"}"#));
    assert_eq!(too_long.count(), 3);
    let plan = stdout(&good(&generated.evaluation(&["--dry-run"])));
    assert!(
        plan.contains("3 over a limit") && plan.contains(&place),
        "{plan}"
    );
}

/// R28: a row that cannot be judged is in no mean and is counted.
#[test]
fn r28_rows_that_cannot_be_judged_are_counted_and_in_no_rate() {
    let generated = Generated::rows(80);
    let out = generated.at("out");
    good(&generated.evaluation(&["--mode", "all", "--out", &out]));
    let report = json(&Path::new(&out).join("report.json"));
    for mode in ["atomic_only", "baseline_only", "cascade"] {
        let mode = &report["modes"][mode];
        assert_eq!(mode["row_count"], 80);
        assert_eq!(mode["not_assessable_count"], 2);
        let failed = mode["failed_count"].as_u64().unwrap() as f64;
        let rate = mode["failure_rate"]["value"].as_f64().unwrap();
        assert!((rate - failed / 78.0).abs() < 1e-12);
    }
}

/// The most memory that a run had, in kilobytes, as it was seen last.
fn peak(generated: &Generated, out: &str) -> u64 {
    let args = generated.evaluation(&["--mode", "all", "--out", out]);
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let mut child = command(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (start, mut peak) = (Instant::now(), 0);
    loop {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id()));
        let line = status.unwrap_or_default();
        let line = line.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let seen = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        peak = peak.max(seen.unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success());
            return peak;
        }
        assert!(start.elapsed() < 10 * GUARD, "it does not end");
        thread::sleep(Duration::from_millis(5));
    }
}

/// R37: twenty times the rows take a bounded amount of memory more: what one row takes in index and digests, and the
/// page, which draws no more than 20,000 rows.
#[test]
fn r37_memory_does_not_grow_with_the_rows() {
    let of = |rows| {
        let generated = Generated::new(How {
            rows,
            has_digest: false,
            simulates_latency: false,
            has_faults: true,
        });
        peak(&generated, &generated.at("out"))
    };
    let (few, many) = (of(1_000), of(20_000));
    // 19,000 rows more are 2 x 24 bytes of index and 20 bytes of ids each, and as many rows more on the page.
    let bound_kb = 96 * 1024;
    assert!(0 < few && many < few + bound_kb, "{few} kB and {many} kB");
}

/// R4: a run in which no judge answered is bad, and says so by mode; its rows and reports are there all the same.
#[test]
fn r4_a_run_without_an_answer_is_bad() {
    let generated = Generated::rows(20);
    let none = |judge: &str| {
        let file = generated.at(&format!("{judge}.jsonl"));
        let text = fs::read_to_string(&file).unwrap();
        let line = text.lines().next().unwrap().replace("g-0000000", "nobody");
        fs::write(&file, line + "\n").unwrap();
    };
    let told = |name: &str| {
        let out = generated.at(name);
        let output = run(&generated.evaluation(&["--mode", "all", "--out", &out]));
        for file in ["rows.jsonl", "report.json", "report.md", "report.html"] {
            assert!(Path::new(&out).join(file).exists(), "{file}");
        }
        (output.status.code(), stderr(&output))
    };
    let in_mode = |mode: &str| format!("no row has a usable answer in mode `{mode}`");
    none("slow");
    let (code, error) = told("one");
    assert_eq!(code, Some(0), "{error}");
    assert!(error.contains(&in_mode("baseline_only")), "{error}");
    assert!(!error.contains(&in_mode("cascade")), "{error}");
    none("fast");
    let (code, error) = told("both");
    assert_eq!(code, Some(1), "{error}");
    for mode in ["atomic_only", "baseline_only", "cascade"] {
        assert!(error.contains(&in_mode(mode)), "{error}");
    }
    assert!(
        error.contains("error: no row has a usable answer in any mode"),
        "{error}"
    );
}

/// R42: a cost that is not known is unknown, never zero, and stands beside what is known.
#[test]
fn r42_an_unknown_price_is_unknown_and_never_zero() {
    let generated = Generated::rows(30);
    let prices = generated.folder().join("prices.json");
    let text = fs::read_to_string(&prices).unwrap();
    fs::write(&prices, text.replace("slow-1", "another-model")).unwrap();
    let out = generated.at("out");
    let output = good(&generated.evaluation(&["--mode", "all", "--out", &out]));
    let report = json(&Path::new(&out).join("report.json"));
    let cost = |mode: &str| report["modes"][mode]["cost"].clone();
    assert!(cost("atomic_only")["total_nano_usd"].as_i64().unwrap() > 0);
    let baseline = cost("baseline_only");
    assert_eq!(baseline.get("total_nano_usd"), None);
    assert!(baseline["first"]["unknown_count"].as_u64().unwrap() > 0);
    assert_eq!(cost("cascade").get("total_nano_usd"), None);
    assert_eq!(report["pricing"]["as_of"], "2026-10-01");
    assert!(stdout(&output).contains("unknown"), "{}", stdout(&output));
}

/// R43: what a run would ask, send, cost and take is told by judge before anybody is asked.
#[test]
fn r43_a_dry_run_tells_calls_tokens_cost_and_time_and_asks_nobody() {
    let generated = Generated::rows(100);
    let http = |name: &str, model: &str, more: &str| {
        format!(
            "[judges.{name}]\ntype = 'chat'\nbase_url = 'http://127.0.0.1:1'\nmodel = '{model}'\n{more}\n"
        )
    };
    let text = fs::read_to_string(generated.config()).unwrap();
    let text = text.replace("fallback = \"slow\"", "fallback = \"words\"")
        + &http(
            "words",
            "slow-1",
            "max_output_tokens = 100\nrate = { requests_per_minute = 60 }",
        );
    fs::write(generated.config(), text).unwrap();
    let plan = |more: &[&str]| {
        stdout(&good(
            &generated.evaluation(&[&["--dry-run"], more].concat()),
        ))
    };
    let told = plan(&["--mode", "all"]);
    assert!(
        told.contains(
            "100 rows: 94 for judges, 0 decided without one, 3 not assessable, 3 over a limit"
        ),
        "{told}"
    );
    assert!(told.contains("atomic: fast (replay)\n  94 calls; no tokens: its answers are recorded; cost $0.000000000"), "{told}");
    assert!(
        told.contains(
            "fallback, where it is needed: words (chat, model slow-1)\n  0 to 188 calls; up to "
        ),
        "{told}"
    );
    assert!(
        told.contains(
            "fallback judge alone: words (chat, model slow-1)\n  94 to 188 calls; about "
        ),
        "{told}"
    );
    assert!(
        told.contains("at most 18800 output tokens; cost $0."),
        "{told}"
    );
    assert!(
        told.contains("prices of generated, as of 2026-10-01"),
        "{told}"
    );
    assert!(
        told.contains("at least 1 min 34 s by the configured rates"),
        "{told}"
    );
    assert!(!generated.folder().join("evaluation").exists());
    assert!(!Path::new("evaluation").exists());

    let config = fs::read_to_string(generated.config()).unwrap();
    let narrow = config.clone() + "concurrency = { max_in_flight = 3, max_queued = 0 }\n";
    fs::write(generated.config(), narrow).unwrap();
    let told = plan(&["--concurrency", "64"]);
    let why = "3 rows at once and not 64: judge `words` takes 3 requests at once";
    assert!(
        told.contains(why) && told.contains("time with 3 rows at once"),
        "{told}"
    );
    let told = plan(&["--concurrency", "64", "--mode", "atomic_only"]);
    assert!(told.contains("time with 64 rows at once"), "{told}");

    fs::write(generated.config(), config.replace("'slow-1'", "'unpriced'")).unwrap();
    let told = plan(&[]);
    assert!(told.contains("cost unknown"), "{told}");
}

#[test]
fn an_empty_dataset_is_bad_data() {
    let generated = Generated::rows(1);
    fs::write(generated.data(), "\n\n").unwrap();
    let output = run(&generated.evaluation(&[]));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("holds no row"));
}
