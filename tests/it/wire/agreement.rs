//! The same probabilities over every wire.

use std::collections::BTreeMap;
use std::sync::Arc;

use judge_cascade::artifact::replay::ReplayRow;
use judge_cascade::artifact::replay::recorded::{self, Recorded};
use judge_cascade::cascade::plan::Scope;
use judge_cascade::dataset::record::Record;
use judge_cascade::domain::trace::{JudgeId, Trace};
use judge_cascade::judge::Judge;
use judge_cascade::judge::composite::Composite;
use judge_cascade::judge::remote::Wire;
use judge_cascade::judge::replay::{ReplayJudge, ReplayMatch, ReplayOptions};
use judge_cascade::rpc::convert::request::{How, message};
use judge_cascade::rpc::pb;
use judge_cascade::telemetry::metrics::Metrics;

use super::{WIRES, judge_with, metrics, speech};
use crate::support::fake_judge::{FakeJudge, Script};
use crate::support::memory::InMemory;
use crate::support::process::fixture;
use crate::support::scripted::{ScriptedJudge, Step};
use crate::support::{LIMITS, Setup};

fn traces() -> Vec<Trace> {
    let rows = std::fs::read_to_string(fixture("traces/parity.jsonl")).unwrap();
    let rows = rows.lines().map(|line| {
        let record: Record = serde_json::from_str(line).unwrap();
        record.trace(&LIMITS).unwrap()
    });
    rows.collect()
}

fn recorded() -> Recorded {
    let file = fixture("replays/parity-atomic.jsonl");
    recorded::open(file.as_ref(), &JudgeId::from("parity-atomic")).unwrap()
}

/// The recorded probabilities of a trace by the names of the questions on a wire.
fn numbers(trace: &Trace, row: &ReplayRow) -> BTreeMap<String, f64> {
    let chunks = trace.chunks.iter().enumerate().map(|(ordinal, chunk)| {
        let p = row.answers.chunk_relevance[chunk.chunk_id.as_str()];
        (format!("chunk_{ordinal}"), p.value())
    });
    let whole = row.answers.whole();
    chunks
        .chain(whole.map(|(name, p)| (name.to_owned(), p.value())))
        .collect()
}

/// Says what was recorded; a trace is known by its texts, however they are escaped.
fn says_what_was_recorded(wire: Wire) -> Script {
    let bare = |text: &str| -> String { text.chars().filter(|c| c.is_alphanumeric()).collect() };
    let traces = traces();
    let rows = recorded();
    Script::new(move |seen| {
        let body = bare(&seen.text);
        let holds = |text: &str| body.contains(&bare(text));
        let shown = |trace: &Trace| -> Vec<usize> {
            (0..trace.chunks.len())
                .filter(|&ordinal| holds(&trace.chunks[ordinal].text))
                .collect()
        };
        // A request for one question holds only some of the texts.
        let likeness = |trace: &&Trace| {
            let texts = [&trace.question, &trace.answer];
            texts.iter().filter(|text| holds(text)).count() + shown(trace).len()
        };
        let trace = traces.iter().max_by_key(likeness).unwrap();
        let row = rows.row(&trace.trace_id).unwrap().unwrap();
        let numbers = numbers(trace, &row);
        speech::answer(wire, seen, |key| match (key, shown(trace).as_slice()) {
            ("chunk_0", [only]) => numbers[&format!("chunk_{only}")],
            _ => numbers[key],
        })
    })
}

async fn diagnose(judge: Arc<dyn Judge>, metrics: &Arc<Metrics>) -> Vec<pb::DiagnoseResponse> {
    let mut setup = Setup::new(ScriptedJudge::new("atomic", [Step::Hang]));
    setup.metrics = Arc::clone(metrics);
    setup.time.atomic_timeout = super::PATIENCE;
    setup.time.deadline = super::PATIENCE * 2;
    let composite = Composite::of(judge, Arc::clone(metrics));
    let server = InMemory::serve(setup.content_of(composite, None)).await;
    let mut responses = Vec::new();
    for trace in traces() {
        let how = How {
            skip_cache: false,
            profile: String::new(),
            scope: Scope::Full,
            fallback_mode: None,
            include_statements: false,
        };
        responses.push(server.diagnose(message(&trace, how)).await.unwrap());
    }
    responses
}

/// A recording and every wire come to the same diagnosis by the same rule, thresholds that are met exactly included.
#[tokio::test]
async fn the_same_probabilities_over_every_wire_give_the_same_diagnoses() {
    let shared = metrics();
    let options = ReplayOptions {
        model: None,
        matching: ReplayMatch::InputSha256,
        simulate_latency: false,
    };
    let id = JudgeId::from("parity-atomic");
    let replayed = ReplayJudge::new(id, recorded(), options, Arc::clone(&shared));
    let expected = diagnose(Arc::new(replayed), &shared).await;
    let kinds: std::collections::BTreeSet<_> = expected.iter().map(|r| r.diagnosis).collect();
    assert!(kinds.len() >= 7, "{kinds:?}");
    for wire in WIRES {
        let server = FakeJudge::start(says_what_was_recorded(wire)).await;
        let metrics = metrics();
        let judge = judge_with(wire, &server, &metrics, |_| {});
        let found = diagnose(judge, &metrics).await;
        for (expected, found) in expected.iter().zip(found) {
            let id = format!("{} {wire:?}", found.trace_id);
            assert_eq!(found.diagnosis(), expected.diagnosis(), "{id}");
            assert_eq!(found.route(), expected.route(), "{id}");
            let (rule, other) = (
                found.fired_rule.unwrap(),
                expected.fired_rule.clone().unwrap(),
            );
            assert_eq!(rule.rule(), other.rule(), "{id}");
            let confidence = |c: Option<f64>| c.map(|c| format!("{c:.9}"));
            assert_eq!(
                confidence(found.confidence),
                confidence(expected.confidence),
                "{id}"
            );
        }
    }
}
