//! `judges check` and `judges stability` against judges on the other side of a socket.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value, json};

use super::good;
use crate::support::fake_judge::{FakeJudge, Said, Script, Seen};
use crate::support::process::{Sidecar, command, run, stderr, stdout};

const MODEL: &str = "native-1";

/// A System One judge that finds this probability for every question about a state.
fn native(p: impl Fn(&Value) -> f64 + Send + Sync + 'static) -> Script {
    Script::new(move |seen| {
        if seen.path.ends_with("/models") {
            return Said::json(&json!({"models": [{"name": MODEL}]}));
        }
        let p = p(&seen.body["state"]);
        answered(seen, p, Some(seen.text.len() / 4))
    })
}

fn answered(seen: &Seen, p: f64, input_tokens: Option<usize>) -> Said {
    let questions = seen.body["questions"].as_object().unwrap();
    let answers = questions.keys().map(|key| {
        let answer = json!({"type": "noul", "noul": p});
        (key.clone(), answer)
    });
    let mut body = json!({"model": MODEL, "answers": answers.collect::<Map<_, _>>()});
    if let Some(input_tokens) = input_tokens {
        body["usage"] = json!({"input_tokens": input_tokens, "output_tokens": 0});
    }
    Said::json(&body)
}

/// What the words of the answer being in the first chunk is worth.
fn by_words(state: &Value) -> f64 {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (chunk, answer) = (text(&state["chunks"][0]["text"]), text(&state["answer"]));
    let asked_is_there = chunk.contains("museum") || chunk.contains("depot");
    let is_right = asked_is_there && (answer.is_empty() || chunk.contains(&answer));
    if is_right { 0.95 } else { 0.05 }
}

struct Setup {
    folder: tempfile::TempDir,
    config: PathBuf,
    judge: FakeJudge,
}

/// A configuration of one judge, with further keys.
async fn setup(script: Script, more: &str) -> Setup {
    let judge = FakeJudge::start(script).await;
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("c.toml");
    let text = format!(
        "[judges.native]\ntype = 'systemone'\nbase_url = '{}'\nmodel = '{MODEL}'\napi_key_env = 'NATIVE_KEY'\n\
         retry = {{ max_attempts = 1 }}\n{more}\n[profiles.default]\natomic = 'native'\npolicy = 'parity-v1'\n",
        judge.base_url()
    );
    fs::write(&config, text).unwrap();
    Setup {
        folder,
        config,
        judge,
    }
}

impl Setup {
    async fn judges(&self, args: &[&str]) -> Output {
        let mut judges = command(&["judges"]);
        judges.args(args).arg("--config").arg(&self.config);
        judges.env("NATIVE_KEY", "not-a-real-key");
        let run = tokio::task::spawn_blocking(move || judges.output().unwrap());
        run.await.unwrap()
    }

    /// The report about the judge.
    async fn report(&self, args: &[&str]) -> (Option<i32>, Value) {
        let args = [&["check", "--judge", "native", "--format", "json"], args].concat();
        let output = self.judges(&args).await;
        let text = stdout(&output);
        assert_eq!(text.lines().count(), 1, "{text}{}", stderr(&output));
        (output.status.code(), serde_json::from_str(&text).unwrap())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn finding<'a>(report: &'a Value, check: &str) -> (&'a str, &'a str) {
    let findings = report["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["check"] == check);
    let finding = finding.unwrap_or_else(|| panic!("no {check}: {report}"));
    (
        finding["result"].as_str().unwrap(),
        finding["detail"].as_str().unwrap(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_good_judge_is_told_with_all_that_is_known_of_it() {
    let more = "max_state_tokens = 4000\n[pricing]\nfile = 'prices.json'";
    let setup = setup(native(by_words), more).await;
    let prices = json!({
        "schema_version": 1, "id": "test-1", "as_of": "2026-10-01", "currency": "USD",
        "models": {MODEL: {"input_usd_per_million_tokens": 1, "output_usd_per_million_tokens": 0}},
    });
    fs::write(setup.file("prices.json"), prices.to_string()).unwrap();
    let (code, report) = setup.report(&[]).await;
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(report["is_good"], true);
    assert_eq!(report["type"], "systemone");
    assert_eq!(report["source"], "native");
    assert_eq!(report["max_state_tokens"], 4000);
    assert_eq!(report["dimensions"].as_array().unwrap().len(), 7);
    assert_eq!(report["answered_model"], MODEL);
    let base_url = setup.judge.base_url();
    let endpoint = format!("{}/v1/systemone", base_url.as_str().trim_end_matches('/'));
    assert_eq!(report["endpoint"], endpoint);
    assert!(report["cost_per_trace_nano_usd"].as_i64().unwrap() > 0);
    assert!(report["latency_ms"].is_u64());
    for check in ["models", "price", "direction", "needle"] {
        assert_eq!(finding(&report, check).0, "good", "{report}");
    }

    let output = setup.judges(&["check"]).await;
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    for line in [
        "native: good",
        "embedded: good",
        "  type        systemone",
        "  model       native-1 (answered: native-1)",
        "  models      good: `native-1` is listed",
        "  direction   good: a right and a wrong trace are told apart",
    ] {
        assert!(text.lines().any(|told| told == line), "{line}\n{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_is_inverted_or_constant_fails() {
    for (script, told) in [
        (native(|state| 1.0 - by_words(state)), "inverted: "),
        (native(|_| 0.5), "constant: "),
    ] {
        let (code, report) = setup(script, "").await.report(&[]).await;
        assert_eq!(code, Some(1));
        let (result, detail) = finding(&report, "direction");
        assert_eq!(result, "bad");
        assert!(detail.starts_with(told), "{detail}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_key_is_told_with_where_it_is_from() {
    let script = Script::new(|_| Said::new(401, r#"{"detail":{"message":"bad key sk-1"}}"#));
    let setup = setup(script, "").await;
    let output = setup.judges(&["check", "--judge", "native"]).await;
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    let line = text.lines().find(|line| line.contains("direction"));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("bad: unauthenticated: status 401"), "{line}");
    assert!(line.ends_with("; key from env NATIVE_KEY"), "{line}");
    assert!(
        !text.contains("sk-1") && !text.contains("not-a-real-key"),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_judge_says_cannot_drive_the_terminal() {
    let odd = "m\u{1b}[31mESC\nnative: good";
    let script = Script::new(move |seen| {
        let p = by_words(&seen.body["state"]);
        let Some(questions) = seen.body["questions"].as_object() else {
            return Said::json(&json!({"models": [{"name": odd}]}));
        };
        let answers = questions.keys().map(|key| {
            let answer = json!({"type": "noul", "noul": p});
            (key.clone(), answer)
        });
        Said::json(&json!({"model": odd, "answers": answers.collect::<Map<_, _>>()}))
    });
    let setup = setup(script, "").await;
    let output = setup.judges(&["check", "--judge", "native"]).await;
    let text = stdout(&output);
    // A name that holds such characters is no name of a model.
    assert!(text.contains("(answered: not told)"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

/// A judge that never says anything about one dimension.
#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_is_silent_about_a_dimension_is_neither_good_nor_stable() {
    let script = Script::new(|seen| {
        let p = by_words(&seen.body["state"]);
        let Some(questions) = seen.body["questions"].as_object() else {
            return Said::new(404, "");
        };
        let answered = questions.keys().filter(|key| !key.contains("correct"));
        let answers = answered.map(|key| {
            let answer = json!({"type": "noul", "noul": p});
            (key.clone(), answer)
        });
        Said::json(&json!({"model": MODEL, "answers": answers.collect::<Map<_, _>>()}))
    });
    let setup = setup(script, "").await;
    let (code, report) = setup.report(&[]).await;
    assert_eq!(code, Some(1), "{report}");
    let (result, detail) = finding(&report, "direction");
    assert_eq!(result, "bad");
    assert!(detail.contains("correctness ("), "{detail}");

    let file = setup.file("traces.jsonl");
    let mut trace: Value = serde_json::from_str(&good("t")).unwrap();
    trace["referenceAnswer"] = json!("At eight.");
    fs::write(&file, trace.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let asked = ["stability", file, "--judge", "native", "--repeat", "3"];
    let output = setup.judges(&asked).await;
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    let told = stderr(&output);
    assert!(
        told.contains("correctness was never answered: 3 of 3 failed"),
        "{told}"
    );
}

/// A judge that keeps the end of a long prompt and says nothing of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_cuts_long_prompts_fails_the_needle() {
    let cut = |usage: bool| {
        Script::new(move |seen| {
            if seen.path.ends_with("/models") {
                return Said::new(404, "");
            }
            let kept: usize = 4_000;
            let is_cut = kept < seen.text.len();
            let p = if is_cut {
                0.05
            } else {
                by_words(&seen.body["state"])
            };
            let tokens = kept.min(seen.text.len()) / 4;
            answered(seen, p, usage.then_some(tokens))
        })
    };
    for usage in [false, true] {
        let setup = setup(cut(usage), "max_state_tokens = 8000").await;
        let (code, report) = setup.report(&[]).await;
        assert_eq!(code, Some(1), "{report}");
        assert_eq!(finding(&report, "direction").0, "good", "{report}");
        let (result, detail) = finding(&report, "needle");
        assert_eq!(result, "bad");
        assert!(detail.contains("truncated"), "{detail}");
        assert_eq!(finding(&report, "models").0, "unknown");
        let (code, _) = setup.report(&["--skip-needle"]).await;
        assert_eq!(code, Some(0));
    }
}

#[test]
fn without_a_configuration_the_embedded_judge_is_good() {
    let output = run(&["judges", "check"]);
    assert_eq!(output.status.code(), Some(0), "{}", stdout(&output));
    assert!(stdout(&output).starts_with("embedded: good\n"));
}

#[test]
fn a_judge_that_is_not_configured_is_a_usage_error() {
    let output = run(&["judges", "check", "--judge", "nobody"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        "error: judge `nobody` is not configured; configured are `embedded`\n"
    );
}

fn traces(path: &Path) {
    let lines: Vec<_> = (0..3).map(|n| good(&format!("t{n}"))).collect();
    fs::write(path, lines.join("\n")).unwrap();
}

fn row(output: &Output, dimension: &str) -> Value {
    let text = stdout(output);
    let rows = text.lines().map(|line| serde_json::from_str(line).unwrap());
    rows.into_iter()
        .find(|row: &Value| row["dimension"] == dimension)
        .unwrap_or_else(|| panic!("{text}{}", stderr(output)))
}

#[tokio::test(flavor = "multi_thread")]
async fn r20_the_flip_rate_of_an_unstable_judge_is_told_and_gated() {
    let count = AtomicUsize::new(0);
    let unstable = native(move |_| {
        if count.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
            0.95
        } else {
            0.05
        }
    });
    let setup = setup(unstable, "").await;
    let file = setup.file("traces.jsonl");
    traces(&file);
    let file = file.to_str().unwrap();
    let asked = ["stability", file, "--judge", "native", "--repeat", "4"];
    let told = [&asked[..], &["--format", "json"]].concat();
    let output = setup.judges(&told).await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let groundedness = row(&output, "groundedness");
    assert_eq!(groundedness["flip_rate"], 1.0);
    assert_eq!(groundedness["trace_count"], 3);
    assert_eq!(groundedness["failure_count"], 0);
    assert!((groundedness["spread_max"].as_f64().unwrap() - 0.9).abs() < 1e-9);
    assert_eq!(setup.judge.seen().len(), 3 * 4);

    let gated = [&asked[..], &["--max-flip-rate", "0.1"]].concat();
    let output = setup.judges(&gated).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).starts_with("judge native, 3 traces, asked 4 times each\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn r20_a_stable_judge_passes_the_gate_and_a_failing_one_is_not_stable() {
    let stable = setup(native(by_words), "").await;
    let failing = setup(Script::new(|_| Said::new(500, "")), "").await;
    for (setup, code) in [(stable, 0), (failing, 1)] {
        let file = setup.file("traces.jsonl");
        traces(&file);
        let file = file.to_str().unwrap();
        let asked = [
            "stability",
            file,
            "--judge",
            "native",
            "--repeat",
            "2",
            "--max-flip-rate",
            "0",
        ];
        let output = setup.judges(&asked).await;
        assert_eq!(output.status.code(), Some(code), "{}", stdout(&output));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r44_a_cap_in_dollars_without_a_price_is_refused_at_the_start() {
    let setup = setup(native(by_words), "spend = { usd_per_day = 1 }").await;
    let output = setup.judges(&["check"]).await;
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert!(
        told.contains("judges.native.spend: a cap in US dollars needs a price of model `native-1`"),
        "{told}"
    );
    assert!(setup.judge.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_by_the_cache_is_not_used_for_stability() {
    let more = "[cache]\nenabled = true";
    let setup = setup(native(by_words), more).await;
    let file = setup.file("traces.jsonl");
    traces(&file);
    let asked = [
        "stability",
        file.to_str().unwrap(),
        "--judge",
        "native",
        "--repeat",
        "3",
    ];
    let output = setup.judges(&asked).await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(setup.judge.seen().len(), 3 * 3);
}

/// Nothing of it keeps the sidecar from serving.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_contact_warns_of_a_model_that_is_not_listed() {
    let script = Script::new(|_| Said::json(&json!({"models": [{"name": "another"}]})));
    let setup = setup(script, "").await;
    let config = setup.config.to_str().unwrap().to_owned();
    let start = move || {
        let environment = [("NATIVE_KEY", "not-a-real-key")];
        Sidecar::start_with(&["--config", &config], &environment)
    };
    let sidecar = tokio::task::spawn_blocking(start).await.unwrap();
    let told = move || sidecar.logs("the judge does not list the model");
    tokio::task::spawn_blocking(told).await.unwrap();
    assert_eq!(setup.judge.seen()[0].path, "/v1/models");
}
