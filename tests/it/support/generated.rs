//! Datasets of any size, written by rule, with recorded answers of two judges, prices and a configuration.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use judge_cascade::artifact::replay::input_sha256;
use judge_cascade::dataset::record::Record;
use serde_json::json;
use tempfile::TempDir;

use super::LIMITS;

/// How a dataset is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How {
    pub(crate) rows: usize,
    /// Whether recorded answers carry the digest of their input; it costs time.
    pub(crate) has_digest: bool,
    /// Whether recorded answers take as long as they did.
    pub(crate) simulates_latency: bool,
    /// Rows with a fault of each kind: no answer is recorded, too many chunks, no retrieval.
    pub(crate) has_faults: bool,
}

/// A dataset and everything that evaluates it.
pub(crate) struct Generated {
    folder: TempDir,
}

const CONFIG: &str = r#"
[time]
deadline_ms = 600000
atomic_timeout_ms = 300000
fallback_min_ms = 1

[limits]
max_chunk_count = 8

[judges.fast]
type = "replay"
file = "fast.jsonl"
match = "trace_id"
simulate_latency = LATENCY

[judges.slow]
type = "replay"
file = "slow.jsonl"
match = "trace_id"
simulate_latency = LATENCY

[profiles.default]
atomic = "fast"
fallback = "slow"
policy = "systemone-example"

[pricing]
file = "prices.json"
"#;

const PRICES: &str = r#"{"schema_version":1,"id":"generated","as_of":"2026-10-01","currency":"USD","models":{
"fast-1":{"input_usd_per_million_tokens":0.05,"output_usd_per_million_tokens":0},
"slow-1":{"input_usd_per_million_tokens":2,"output_usd_per_million_tokens":8}}}"#;

impl Generated {
    /// So many rows, with digests and with faults.
    pub(crate) fn rows(rows: usize) -> Self {
        Self::new(How {
            rows,
            has_digest: true,
            simulates_latency: false,
            has_faults: true,
        })
    }

    pub(crate) fn new(how: How) -> Self {
        let generated = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let latency = how.simulates_latency.to_string();
        fs::write(generated.config(), CONFIG.replace("LATENCY", &latency)).unwrap();
        fs::write(generated.file("prices.json"), PRICES).unwrap();
        let open = |name| BufWriter::new(File::create(generated.file(name)).unwrap());
        let mut data = open("data.jsonl");
        let (mut fast, mut slow) = (open("fast.jsonl"), open("slow.jsonl"));
        for index in 0..how.rows {
            let line = row(index, how);
            writeln!(data, "{line}").unwrap();
            let is_recorded = !how.has_faults || index % 23 != 5;
            for (judge, out) in [("fast", &mut fast), ("slow", &mut slow)] {
                if is_recorded || judge == "fast" {
                    writeln!(out, "{}", answer(judge, index, &line, how)).unwrap();
                }
            }
        }
        generated
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.file("data.jsonl")
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.file("config.toml")
    }

    /// A path below the folder, as an argument.
    pub(crate) fn at(&self, name: &str) -> String {
        self.file(name).to_str().unwrap().to_owned()
    }

    /// The arguments of an evaluation.
    pub(crate) fn evaluation(&self, more: &[&str]) -> Vec<String> {
        let mut args = vec![
            "eval".to_owned(),
            "cascade".to_owned(),
            self.at("data.jsonl"),
            "--config".to_owned(),
            self.at("config.toml"),
            "--quiet".to_owned(),
        ];
        args.extend(more.iter().map(|arg| (*arg).to_owned()));
        args
    }
}

/// A number from 0 to 99 that looks random and is always the same.
fn number(index: usize, salt: u64) -> u64 {
    let mut x = (index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ salt.wrapping_mul(0xD1B5_4A32);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (x >> 32) % 100
}

fn id(index: usize) -> String {
    format!("g-{index:07}")
}

fn has_reference(index: usize) -> bool {
    !index.is_multiple_of(4)
}

fn is_good(index: usize, salt: u64) -> bool {
    number(index, salt) < 70
}

fn row(index: usize, how: How) -> String {
    let place = number(index, 1);
    let chunk_count = if how.has_faults && index % 31 == 7 {
        9
    } else {
        2
    };
    let contexts: Vec<_> = (0..chunk_count)
        .map(|chunk| json!({"id": format!("c{chunk}"), "text": format!("Hall {place} opens at {chunk} on row {index}.")}))
        .collect();
    let diagnosis = match number(index, 2) {
        0..60 => "PASS",
        60..75 => "GENERATOR_UNGROUNDED",
        75..85 => "RETRIEVAL_MISS",
        85..95 => "ANSWER_IRRELEVANT",
        _ => "JUDGE_UNCERTAIN",
    };
    let mut row = json!({
        "id": id(index),
        "question": format!("When does hall {place} open?"),
        "contexts": contexts,
        "answer": format!("It opens at {}.", index % 2),
        "tags": [format!("hall{}", place % 5)],
        "language": "en",
        "expected": {
            "diagnosis": diagnosis,
            "retrieval": {"chunkRelevance": {"c0": is_good(index, 3)}, "contextConflict": !is_good(index, 4)},
            "generation": {"groundedness": is_good(index, 5), "contradiction": !is_good(index, 6)},
        },
    });
    if has_reference(index) {
        row["referenceAnswer"] = "At eight.".into();
    }
    if how.has_faults && index % 37 == 11 {
        row["retrieval"] = "not_performed".into();
        row["expected"] = json!({});
    }
    row.to_string()
}

/// Near the truth most of the time; the second judge is surer.
fn probability(index: usize, salt: u64, judge: &str) -> f64 {
    let noise = number(index, salt + 50) as f64 / 100.0;
    let width = if judge == "fast" { 0.3 } else { 0.08 };
    let p = width * noise;
    let p = if is_good(index, salt) { 1.0 - p } else { p };
    (p * 1e4).round() / 1e4
}

fn answer(judge: &str, index: usize, line: &str, how: How) -> String {
    let p = |salt| probability(index, salt, judge);
    let (variant, correctness) = if has_reference(index) {
        ("with-reference", format!(",\"correctness\":{}", p(9)))
    } else {
        ("without-reference", String::new())
    };
    let mut text = format!(r#"{{"trace_id":"{}""#, id(index));
    if how.has_digest {
        let record: Record = serde_json::from_str(line).unwrap();
        let trace = record.trace(&LIMITS).unwrap();
        write!(text, r#","input_sha256":"{}""#, input_sha256(&trace)).unwrap();
    }
    write!(
        text,
        r#","judge_id":"{judge}","model":"{judge}-1","decision":{{"id":"judge-cascade.rag.{variant}","version":"2","variant":"{}"}},"answers":{{"chunk_relevance":{{"c0":{},"c1":{}}},"context_sufficiency":{},"context_conflict":{},"answer_relevance":{},"groundedness":{},"contradiction":{}{correctness}}},"latency_ms":{},"usage":{{"input_token_count":{},"output_token_count":8}}}}"#,
        variant.replace('-', "_"),
        p(3),
        p(7),
        p(8),
        1.0 - p(4),
        p(10),
        p(5),
        1.0 - p(6),
        2 + index % 7,
        200 + index % 90,
    )
    .unwrap();
    text
}
