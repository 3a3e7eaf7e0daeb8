//! The files that the project ships: they parse, agree with each other, and cover what they say.

use std::collections::BTreeMap;
use std::fs;

use judge_cascade::artifact::replay::{input_sha256, recorded};
use judge_cascade::artifact::{policy, pricing};
use judge_cascade::dataset::record::Record;
use judge_cascade::domain::Vocabulary as _;
use judge_cascade::domain::diagnosis::Diagnosis;
use judge_cascade::domain::trace::RetrievalState;

use crate::support::LIMITS;
use crate::support::process::{fixture, run, stderr};

fn records(name: &str) -> Vec<Record> {
    let text = fs::read_to_string(fixture(name)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn the_demo_traces_are_many_and_show_every_diagnosis() {
    let records = records("traces/demo.jsonl");
    assert!(40 <= records.len());
    let mut counts = BTreeMap::new();
    for record in &records {
        let expected = record.expected.as_ref().unwrap().diagnosis.unwrap();
        *counts.entry(expected).or_insert(0) += 1;
    }
    let shown: Vec<_> = counts.keys().copied().collect();
    assert_eq!(shown, Diagnosis::ALL, "{counts:?}");
}

#[test]
fn the_demo_traces_cover_the_kinds_of_traces_that_users_have() {
    let records = records("traces/demo.jsonl");
    let count = |is: &dyn Fn(&Record) -> bool| records.iter().filter(|record| is(record)).count();
    assert!(
        5 <= count(&|r| r.reference_answer.is_some())
            && 5 <= count(&|r| r.reference_answer.is_none())
    );
    assert!(4 <= count(&|r| !r.history.is_empty()));
    assert!(
        6 <= count(&|r| r
            .language
            .as_deref()
            .is_some_and(|tag| !tag.starts_with("en")))
    );
    assert!(1 <= count(&|r| r.retrieval == Some(RetrievalState::NotPerformed)));
    assert!(1 <= count(&|r| r.retrieval == Some(RetrievalState::TextsMissing)));
    assert!(1 <= count(&|r| r.contexts.len() == 8) && 1 <= count(&|r| r.contexts.len() == 1));
    assert!(1 <= count(&|r| r.contexts.iter().any(|context| 2000 < context.text.len())));
}

#[test]
fn every_recorded_answer_belongs_to_its_trace() {
    let files = [
        (
            "traces/demo.jsonl",
            "replays/demo-atomic.jsonl",
            "demo-atomic",
        ),
        (
            "traces/demo.jsonl",
            "replays/demo-fallback.jsonl",
            "demo-fallback",
        ),
        (
            "traces/parity.jsonl",
            "replays/parity-atomic.jsonl",
            "parity-atomic",
        ),
        (
            "traces/parity.jsonl",
            "replays/parity-baseline.jsonl",
            "parity-baseline",
        ),
    ];
    for (traces, replays, judge) in files {
        let rows = recorded::open(fixture(replays).as_ref(), &judge.into()).unwrap();
        let mut found = 0;
        for record in records(traces) {
            let trace = record.trace(&LIMITS).unwrap();
            if let Some(row) = rows.row(&trace.trace_id).unwrap() {
                assert_eq!(
                    row.input_sha256,
                    Some(input_sha256(&trace)),
                    "{replays}: {}",
                    trace.trace_id
                );
                found += 1;
            }
        }
        assert_eq!(found, rows.row_count(), "{replays} has rows of no trace");
    }
}

#[test]
fn every_policy_price_table_and_configuration_is_valid() {
    let mut count = 0;
    for entry in fs::read_dir(fixture("pricing")).unwrap() {
        let path = entry.unwrap().path();
        pricing::read("pricing", &fs::read_to_string(&path).unwrap()).unwrap();
        count += 1;
    }
    assert!(2 <= count);
    assert_eq!(policy::BUILT_IN.len(), 3);
    for config in ["demo.toml", "load.toml", "parity.toml"] {
        let output = run(&["config", "check", "--config", &fixture(config)]);
        assert!(output.status.success(), "{config}: {}", stderr(&output));
    }
}
