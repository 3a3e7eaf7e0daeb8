//! Reports of small rows whose every number is worked out by hand.

mod components;
mod hand_made;
mod odd;

use std::collections::BTreeMap;

use super::Summary;
use crate::artifact::policy::built_in;
use crate::domain::diagnosis::{Diagnosis, NotAssessableReason, Rule};
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::outcome::{
    CalibrationState, DecisionVariant, FallbackUnavailableReason, JudgeRole, Route, Usage,
};
use crate::domain::probability::Probability;
use crate::eval::rows::{
    Answered, Call, Cell, End, Header, Labels, Leg, Row, SCHEMA_VERSION, Shard,
};
use crate::report::html::PlotRow;
use crate::report::model::{DatasetInfo, JudgeInfo, Mode, Report, SnapshotInfo};

const ALL: [Mode; 3] = [Mode::AtomicOnly, Mode::BaselineOnly, Mode::Cascade];

fn header(modes: &[Mode]) -> Header {
    let snapshot = |id: &str| SnapshotInfo {
        id: id.to_owned(),
        sha256: "0".repeat(64),
    };
    let judge = |judge_id: &str, role| JudgeInfo {
        judge_id: judge_id.to_owned(),
        role,
        judge_type: "replay".to_owned(),
        requested_model: None,
        returned_models: Vec::new(),
        answers_sha256: None,
    };
    Header {
        schema_version: SCHEMA_VERSION,
        program_version: "0.0.0".to_owned(),
        dataset: DatasetInfo {
            file: "rows.jsonl".to_owned(),
            sha256: "1".repeat(64),
            row_count: 8,
            labelled_diagnosis_count: 7,
        },
        shard: Shard::WHOLE,
        modes: modes.to_vec(),
        is_live: false,
        profile: "default".to_owned(),
        policy: snapshot("parity-v1"),
        policy_text: String::new(),
        calibration_state: CalibrationState::Uncalibrated,
        decision_version: "2".to_owned(),
        pricing: None,
        judges: vec![
            judge("quick", JudgeRole::Atomic),
            judge("slow", JudgeRole::Fallback),
        ],
        parity: false,
        slices: vec!["tag=even".to_owned(), "tag=none".to_owned()],
        slices_left_out: 3,
    }
}

fn report_of(header: Header, rows: &[Row]) -> (Report, Vec<PlotRow>) {
    let policy = built_in("parity-v1").unwrap().unwrap().policy;
    let mut summary = Summary::new(header, &policy);
    for row in rows {
        summary.add(row);
    }
    assert_eq!(summary.row_count(), rows.len() as u64);
    summary.report()
}

fn p(value: f64) -> Probability {
    Probability::try_from(value).unwrap()
}

fn row(index: u64, label: Option<Diagnosis>) -> Row {
    Row {
        index,
        trace_id: format!("t{index}"),
        group: format!("{index:016x}"),
        slices: if index.is_multiple_of(2) {
            vec![0]
        } else {
            Vec::new()
        },
        variant: DecisionVariant::WithReference,
        chunk_ids: Vec::new(),
        labels: Labels {
            diagnosis: label,
            ..Labels::default()
        },
        abstains: false,
        atomic: None,
        fallback: None,
        baseline: None,
        ends: BTreeMap::new(),
    }
}

fn leg(judge_id: &str, ms: u64, nano_usd: Option<i64>) -> Leg {
    let call = Call {
        judge_id: judge_id.to_owned(),
        model: Some(format!("{judge_id}-v1")),
        usage: nano_usd.map(|_| Usage {
            input_token_count: Some(40),
            output_token_count: Some(8),
            ..Usage::default()
        }),
        nano_usd,
        latency_us: ms * 1000,
        failure: None,
    };
    Leg {
        judge_id: judge_id.to_owned(),
        calls: vec![call],
        nano_usd,
        latency_us: ms * 1000,
        ..Leg::default()
    }
}

fn with_whole(leg: Leg, cells: &[(Dimension, Cell)]) -> Leg {
    Leg {
        whole: cells.iter().cloned().collect(),
        ..leg
    }
}

fn auto(diagnosis: Diagnosis, confidence: f64) -> End {
    End::Answered(Answered {
        diagnosis,
        confidence: Some(p(confidence)),
        route: Route::Auto,
        fallback_unavailable: None,
        rule: Rule::Pass,
        dimension: None,
        value: None,
        threshold: None,
    })
}

fn by_fallback(diagnosis: Diagnosis, confidence: f64) -> End {
    let End::Answered(answered) = auto(diagnosis, confidence) else {
        unreachable!("a diagnosis is an answer")
    };
    End::Answered(Answered {
        route: Route::Fallback,
        rule: Rule::RecordedVerdict,
        ..answered
    })
}

fn uncertain() -> End {
    End::Answered(Answered {
        diagnosis: Diagnosis::JudgeUncertain,
        confidence: None,
        route: Route::FallbackUnavailable,
        fallback_unavailable: Some(FallbackUnavailableReason::Skipped),
        rule: Rule::Uncertain,
        dimension: None,
        value: None,
        threshold: None,
    })
}

fn failed() -> End {
    End::Failed {
        failed: FailureReason::Timeout,
        route: Some(Route::FallbackUnavailable),
        fallback_unavailable: Some(FallbackUnavailableReason::Deadline),
    }
}

fn not_assessable() -> End {
    End::NotAssessable {
        not_assessable: NotAssessableReason::TextsMissing,
    }
}

/// The ends of atomic_only, baseline_only and cascade.
fn with_ends(row: Row, ends: [End; 3]) -> Row {
    Row {
        ends: ALL.into_iter().zip(ends).collect(),
        ..row
    }
}
