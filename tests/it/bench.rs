//! `judges bench` by the real binary: its numbers against scikit-learn 1.9.1 and scipy 1.17.1, and what it refuses.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use judge_cascade::report::bench::{block, json as written};
use serde_json::{Map, Value, json};

use crate::deploy::root;
use crate::support::fake_judge::{FakeJudge, Said, Script};
use crate::support::process::{command, fixture, run, stderr, stdout};

/// Rows whose labels go against their probability.
const WRONG: [u32; 3] = [7, 12, 28];

/// Forty rows over ten contexts; the answer tells the judge what to say about groundedness.
fn rows() -> impl Iterator<Item = Value> {
    (0_u32..40).map(|i| {
        let place = f64::from(i + 1);
        let x = (place * 0.618_033_988_749_894_9).fract();
        let sharp = x.powi(3) / (x.powi(3) + (1.0 - x).powi(3));
        let p = (sharp * 100.0).round() / 100.0;
        let is_true = ((place * 0.754_877_666_246_692_7).fract() < p) != WRONG.contains(&i);
        row(&format!("r{i}"), i % 10, p, is_true)
    })
}

fn row(id: &str, context: u32, p: f64, is_true: bool) -> Value {
    json!({
        "id": id, "question": "q", "contexts": [{"id": "c", "text": format!("context {context}")}],
        "answer": format!("p={p}"), "expected": {"generation": {"groundedness": is_true}},
    })
}

/// The same with another case and other spaces in its context.
fn spaced(mut row: Value) -> Value {
    let text = row["contexts"][0]["text"].as_str().unwrap();
    let text = format!(" {}\n", text.to_uppercase().replace(' ', "  "));
    row["contexts"][0]["text"] = text.into();
    row
}

/// What the answer says of groundedness, and nothing of all else.
fn told() -> Script {
    Script::new(|seen| {
        let answer = seen.body["state"]["answer"].as_str().unwrap_or_default();
        let told: f64 = answer.trim_start_matches("p=").parse().unwrap_or(0.5);
        let questions = seen.body["questions"].as_object().unwrap();
        let answers = questions.keys().map(|key| {
            let p = if key == "groundedness" { told } else { 0.5 };
            (key.clone(), json!({"type": "noul", "noul": p}))
        });
        Said::json(&json!({"model": "m", "answers": answers.collect::<Map<_, _>>()}))
    })
}

struct Bench {
    folder: tempfile::TempDir,
    judge: FakeJudge,
}

impl Bench {
    async fn new(script: Script) -> Self {
        let judge = FakeJudge::start(script).await;
        let bench = Self {
            folder: tempfile::tempdir().unwrap(),
            judge,
        };
        let config = format!(
            "[judges.native]\ntype = 'systemone'\nbase_url = '{}'\nmodel = 'm'\napi_key_env = 'NATIVE_KEY'\n\
             retry = {{ max_attempts = 1 }}\n[profiles.default]\natomic = 'native'\npolicy = 'lexical-default'\n",
            bench.judge.base_url()
        );
        fs::write(bench.file("c.toml"), config).unwrap();
        bench.data("s.jsonl", rows());
        bench
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn data(&self, name: &str, rows: impl Iterator<Item = Value>) {
        let lines: Vec<_> = rows.map(|row| row.to_string()).collect();
        fs::write(self.file(name), lines.join("\n")).unwrap();
    }

    /// The command over these files of the folder.
    async fn run(&self, args: &[&str]) -> Output {
        let mut bench = command(&["judges", "bench"]);
        bench.args(args).current_dir(self.folder.path());
        bench.env("NATIVE_KEY", "not-a-real-key");
        let run = tokio::task::spawn_blocking(move || bench.output().unwrap());
        run.await.unwrap()
    }

    /// The same of the judge behind the socket, with its numbers and without its times.
    async fn measured(&self, args: &[&str]) -> Value {
        let ask = ["--judge", "native", "--config", "c.toml", "--live"];
        let args = [args, &ask, &["--json", "out.json"]].concat();
        let output = self.run(&args).await;
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        self.read("out.json")
    }

    fn read(&self, name: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(self.file(name)).unwrap()).unwrap()
    }
}

#[track_caller]
fn close(actual: &Value, expected: f64) {
    let actual = actual.as_f64().unwrap();
    assert!(
        (actual - expected).abs() < 1e-9,
        "{actual} is not {expected}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_over_http_is_measured_if_it_may_cost_money_and_in_any_order_alike() {
    let bench = Bench::new(told()).await;
    let asked = ["s.jsonl", "--judge", "native", "--config", "c.toml"];
    let output = bench.run(&asked).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("hint: --live asks it"),
        "{}",
        stderr(&output)
    );

    let mut one = bench.measured(&["s.jsonl", "--concurrency", "1"]).await;
    let mut many = bench.measured(&["s.jsonl"]).await;
    let time = one["latency"]["s"].take();
    assert_eq!(time["row_count"], 40);
    assert_eq!(many["latency"]["s"].take()["concurrency"], 16);
    assert_eq!(one, many);

    let set = &one["sets"][0];
    let groundedness = &set["dimensions"]["groundedness"];
    assert_eq!(groundedness["judged_count"], 40);
    assert_eq!(groundedness["positive_count"], 19);
    assert_eq!(groundedness["group_count"], 10);
    close(&groundedness["auroc"]["value"], 0.835_839_598_997_493_6);
    close(&groundedness["brier"]["value"], 0.156_952_5);
    assert_eq!(set["dimensions"].as_object().unwrap().len(), 1);
    let policy = &set["policy"];
    assert_eq!(policy["decided_count"], 27);
    for (side, counts, bound) in [
        ("pass", [13, 13, 2], 0.410_098_604_833_816_16),
        ("fail", [14, 14, 1], 0.296_734_238_948_874_63),
    ] {
        let risk = &policy[side];
        let actual = ["count", "checked_count", "wrong_count"].map(|key| risk[key].as_u64());
        assert_eq!(actual, counts.map(Some), "{side}");
        close(&risk["error_bound"]["value"], bound);
    }
    assert_eq!(policy["pass_by_label"]["groundedness"]["wrong_count"], 2);
    assert_eq!(
        policy["fail_by_diagnosis"]["GENERATOR_UNGROUNDED"]["count"],
        14
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_share_a_context_with_another_file_are_left_out() {
    let bench = Bench::new(told()).await;
    bench.data(
        "fit.jsonl",
        [spaced(row("a", 0, 0.9, true)), row("b", 1, 0.1, false)].into_iter(),
    );
    let report = bench
        .measured(&["s.jsonl", "fit.jsonl", "--exclude-contexts-of", "fit.jsonl"])
        .await;
    let [set, fit] = report["sets"].as_array().unwrap().as_slice() else {
        panic!("{report}");
    };
    assert_eq!(set["row_count"], 32);
    assert_eq!(set["excluded_row_count"], 8);
    close(
        &set["dimensions"]["groundedness"]["auroc"]["value"],
        0.807_692_307_692_307_7,
    );
    // The file itself is measured whole.
    assert_eq!(
        (&fit["row_count"], &fit["excluded_row_count"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(report["excluded"][0]["file"], "fit.jsonl");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_value_is_held_and_a_block_is_replaced_from_the_numbers_alone() {
    let bench = Bench::new(told()).await;
    bench.measured(&["s.jsonl"]).await;
    let mut higher = bench.read("out.json");
    higher["sets"][0]["dimensions"]["groundedness"]["auroc"]["value"] = json!(0.85);
    fs::write(bench.file("higher.json"), higher.to_string()).unwrap();
    let output = bench
        .run(&["--from", "out.json", "--accepted", "higher.json"])
        .await;
    assert_eq!(output.status.code(), Some(1));
    let told = stderr(&output);
    assert!(
        told.contains(
            "`s`: AUROC of groundedness is 0.8358, more than 0.01 below the stored 0.8500"
        ),
        "{told}"
    );
    let output = bench
        .run(&["--from", "higher.json", "--accepted", "out.json"])
        .await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));

    fs::write(bench.file("page.md"), "no block\n").unwrap();
    let from = ["--from", "out.json", "--table", "page.md"];
    let output = bench.run(&from).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("bench:start"),
        "{}",
        stderr(&output)
    );
    let page = format!("before\n{}\nold\n{}\nafter\n", block::START, block::END);
    fs::write(bench.file("page.md"), page).unwrap();
    let output = bench.run(&from).await;
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let page = fs::read_to_string(bench.file("page.md")).unwrap();
    let line = "| `s` | 40 | 67.5 % | 13 | 2 of 13 | 41.0 % | 14 | 1 of 14 | 29.7 % | 0.836 (";
    assert!(page.contains(line) && !page.contains("old"), "{page}");
    assert!(stdout(&output).contains(line));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_judge_that_fails_is_a_count_and_never_a_number() {
    let script = Script::new(|seen| {
        if seen.text.contains("p=0.") {
            Said::new(500, "{}")
        } else {
            unsure(&seen.body)
        }
    });
    let bench = Bench::new(script).await;
    let more = "breaker = { failure_count = 1000 }\n";
    let config = fs::read_to_string(bench.file("c.toml")).unwrap();
    let config = config.replace("[profiles", &format!("{more}[profiles"));
    fs::write(bench.file("c.toml"), config).unwrap();
    let report = bench.measured(&["s.jsonl"]).await;
    let groundedness = &report["sets"][0]["dimensions"]["groundedness"];
    let count = |key: &str| groundedness[key].as_u64().unwrap();
    assert_eq!(count("labelled_count"), 40);
    assert_eq!(count("judged_count") + count("failed_count"), 40);
    assert_eq!(
        groundedness["failures"]["unavailable"],
        count("failed_count")
    );
    let policy = &report["sets"][0]["policy"];
    assert_eq!(policy["unanswered_count"], count("failed_count"));
    assert!(
        count("judged_count") > 0 && count("failed_count") > 0,
        "{groundedness}"
    );

    let silent = Bench::new(Script::new(|_| Said::new(500, "{}"))).await;
    let asked = [
        "s.jsonl", "--judge", "native", "--config", "c.toml", "--live",
    ];
    let output = silent.run(&asked).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("no row was answered"),
        "{}",
        stderr(&output)
    );
}

fn unsure(body: &Value) -> Said {
    let questions = body["questions"].as_object().unwrap();
    let answers = questions
        .keys()
        .map(|key| (key.clone(), json!({"type": "noul", "noul": 0.5})));
    Said::json(&json!({"model": "m", "answers": answers.collect::<Map<_, _>>()}))
}

#[test]
fn the_embedded_judge_is_measured_without_a_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.json");
    let out = out.to_str().unwrap();
    let data = fixture("traces/demo.jsonl");
    let args = [
        "judges", "bench", &data, "--judge", "embedded", "--json", out,
    ];
    let output = run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = fs::read_to_string(out).unwrap();
    let bench = written::read(out, &text).unwrap();
    let set = bench.set("demo").unwrap();
    assert_eq!(bench.policy.id, "lexical-default");
    assert_eq!(
        (set.row_count, set.policy.row_count),
        (50, 50 - set.not_assessable_count)
    );
    assert_eq!(bench.latency["demo"].concurrency, 1);
    let page = stdout(&output);
    for caption in [
        "**Dimensions against their labels**",
        "**What thresholds from the labels of the set itself could decide**",
        "**Every PASS by what is labelled**",
        "**Time on this machine**",
    ] {
        assert!(page.contains(caption), "{caption}\n{page}");
    }
    // What is bad is told, and nothing is measured.
    let bad = fixture("datasets/invalid/unknown-field.jsonl");
    let output = run(&["judges", "bench", &bad, "--judge", "embedded"]);
    assert_eq!(output.status.code(), Some(1));
    let output = run(&["judges", "bench", &data, &data, "--judge", "embedded"]);
    assert_eq!(output.status.code(), Some(2));
    let output = run(&[
        "judges", "bench", &data, "--judge", "embedded", "--json", &data,
    ]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn the_block_of_the_readme_is_what_its_numbers_give() {
    let read = |name: &str| fs::read_to_string(root().join(name)).unwrap();
    let name = "docs/embedded-bench.json";
    let bench = written::read(name, &read(name)).unwrap();
    let readme = read("README.md");
    assert_eq!(
        block::replaced(&readme, &bench).unwrap(),
        readme,
        "run `judges bench --from {name} --table README.md`"
    );
    assert!(bench.sets.len() >= 5, "{}", bench.sets.len());
    // The file is as the program writes it.
    assert_eq!(written::write(&bench).unwrap(), read(name));
}
