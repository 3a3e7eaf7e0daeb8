//! The seed's nine rows through gRPC, and their numbers in a report by its conventions and by ours.

mod report;

use std::sync::Arc;

use judge_cascade::artifact::replay::recorded;
use judge_cascade::cascade::plan::Scope;
use judge_cascade::dataset::record::Record;
use judge_cascade::domain::trace::JudgeId;
use judge_cascade::judge::composite::Composite;
use judge_cascade::judge::replay::{ReplayJudge, ReplayMatch, ReplayOptions};
use judge_cascade::rpc::convert::request::{How, message};
use judge_cascade::rpc::pb::{Diagnosis, Route, Rule};

use crate::support::memory::InMemory;
use crate::support::process::{Sidecar, fixture};
use crate::support::scripted::{ScriptedJudge, Step};
use crate::support::{LIMITS, Setup};

const EXPECTED: [(&str, Diagnosis, f64, Route); 9] = [
    ("p1", Diagnosis::RetrievalMiss, 0.9, Route::Auto),
    ("p2", Diagnosis::RetrievalInsufficient, 0.9, Route::Auto),
    ("p3", Diagnosis::ConflictingEvidence, 0.95, Route::Auto),
    ("p4", Diagnosis::GeneratorUngrounded, 0.9, Route::Auto),
    ("p5", Diagnosis::AnswerIncorrect, 0.9, Route::Auto),
    ("p6", Diagnosis::JudgeUncertain, 0.5, Route::Fallback),
    ("p7", Diagnosis::Pass, 0.92, Route::Auto),
    ("p8", Diagnosis::Pass, 0.92, Route::Auto),
    ("p9", Diagnosis::AnswerIrrelevant, 0.9, Route::Auto),
];

#[tokio::test]
async fn the_nine_rows_give_their_diagnosis_confidence_and_route() {
    let sidecar = Sidecar::start(&["--config", &fixture("parity.toml")]);
    let client = sidecar.client().await;
    let rows = std::fs::read_to_string(fixture("traces/parity.jsonl")).unwrap();
    let mut total_nano_usd = 0;
    for (line, (id, diagnosis, confidence, route)) in rows.lines().zip(EXPECTED) {
        let record: Record = serde_json::from_str(line).unwrap();
        let trace = record.trace(&LIMITS).unwrap();
        let how = How {
            skip_cache: false,
            profile: "default".to_owned(),
            scope: Scope::Full,
            fallback_mode: None,
            include_statements: false,
        };
        let response = client.diagnose(message(&trace, how), None).await.unwrap();
        assert_eq!(response.trace_id, id);
        assert_eq!(response.diagnosis(), diagnosis, "{id}");
        assert_eq!(response.confidence, Some(confidence), "{id}");
        assert_eq!(response.route(), route, "{id}");
        total_nano_usd += response.cost.unwrap().total_nano_usd.unwrap();
        if id == "p6" {
            assert_eq!(response.fired_rule.unwrap().rule(), Rule::RecordedVerdict);
            let verdict = response.fallback.unwrap().verdict.unwrap();
            assert_eq!(
                (verdict.diagnosis(), verdict.confidence),
                (diagnosis, Some(0.5))
            );
        }
    }
    let model = "judge_cascade_judge_model_info{judge=\"parity-atomic\",role=\"atomic\",requested=\"\",answered=\"replay-atomic\"}";
    assert_eq!(sidecar.series(model).await, Some(1.0));
    // Nine atomic calls of 60 micro dollars and one baseline call of 72.
    assert_eq!(total_nano_usd, 612_000);
}

/// A whole diagnosis covers no dimension, so a judge that gives one can stand in for a fallback judge and for no other.
#[tokio::test]
async fn a_recorded_verdict_of_an_atomic_judge_decides_nothing() {
    let setup = Setup::new(ScriptedJudge::new("atomic", [Step::Hang]));
    let id = JudgeId::from("parity-baseline");
    let rows = recorded::open(fixture("replays/parity-baseline.jsonl").as_ref(), &id).unwrap();
    let options = ReplayOptions {
        model: None,
        matching: ReplayMatch::InputSha256,
        simulate_latency: false,
    };
    let judge = ReplayJudge::new(id, rows, options, Arc::clone(&setup.metrics));
    let atomic = Composite::of(Arc::new(judge), Arc::clone(&setup.metrics));
    let server = InMemory::serve(setup.content_of(atomic, None)).await;
    let rows = std::fs::read_to_string(fixture("traces/parity.jsonl")).unwrap();
    let passing: Record = serde_json::from_str(rows.lines().nth(6).unwrap()).unwrap();
    let how = How {
        skip_cache: false,
        profile: String::new(),
        scope: Scope::Full,
        fallback_mode: None,
        include_statements: false,
    };
    let trace = passing.trace(&LIMITS).unwrap();
    let response = server.diagnose(message(&trace, how)).await.unwrap();
    assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain);
    assert_eq!(response.route(), Route::FallbackUnavailable);
    assert!(response.atomic.unwrap().verdict.is_none());
}
