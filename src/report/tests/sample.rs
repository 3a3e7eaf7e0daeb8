//! A report that has something of everything, with the rows of its page; every count is counted from these rows.

use std::collections::BTreeMap;

use crate::domain::diagnosis::Diagnosis;
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::outcome::{CalibrationState, FallbackUnavailableReason, JudgeRole, Route};
use crate::report::html::{Details, PlotEnd, PlotRow, Texts};
use crate::report::model::compared::{Comparison, CostQuality};
use crate::report::model::parity::{Parity, ParityComponent, ParityMode};
use crate::report::model::wrong::{JudgmentInfo, WrongDiagnosis, WrongJudgment};
use crate::report::model::{
    Conventions, DatasetInfo, DecisionInfo, JudgeInfo, Measure, Mode, Modes, PricingInfo, Report,
    ReportVariant, SCHEMA_VERSION, Slice, SnapshotInfo,
};
use crate::stats::Absent;

use super::quality;

const LABELS: [Diagnosis; 5] = [
    Diagnosis::Pass,
    Diagnosis::RetrievalMiss,
    Diagnosis::AnswerIrrelevant,
    Diagnosis::GeneratorUngrounded,
    Diagnosis::JudgeUncertain,
];

/// Something that would break a page or a table that does not escape it.
pub(crate) const EVIL: &str =
    "</script><script>alert(1)</script>|`\\|\n<!-- {{ 7 * 7 }} \u{2028}\u{202e}&amp;\"'";

/// Numbers that look random and are always the same.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// From 0 to 1.
    pub(crate) fn roll(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        f64::from(u32::try_from(self.0 >> 32).unwrap()) / f64::from(u32::MAX)
    }
}

/// Rows with ends in every mode.
pub(crate) fn rows(count: u64) -> Vec<PlotRow> {
    let mut dice = Dice(7);
    (0..count).map(|index| row(&mut dice, index)).collect()
}

fn row(dice: &mut Dice, index: u64) -> PlotRow {
    let expected = LABELS[usize::try_from(index % 4).unwrap()];
    let confidence = (0.5 + dice.roll() / 2.0).clamp(0.0, 1.0);
    let is_decided = 0.62 < confidence;
    let is_right = dice.roll() < confidence;
    let other = LABELS[usize::try_from((index + 1) % 4).unwrap()];
    let atomic = PlotEnd {
        diagnosis: Some(match (is_decided, is_right) {
            (false, _) => Diagnosis::JudgeUncertain,
            (true, true) => expected,
            (true, false) => other,
        }),
        confidence: is_decided.then_some((confidence * 50.0).round() / 50.0),
        route: Some(if is_decided {
            Route::Auto
        } else {
            Route::FallbackUnavailable
        }),
        nano_usd: Some(80_000),
        latency_ms: 20.0 + (dice.roll() * 40.0).round(),
    };
    let is_failed = index % 23 == 22;
    let baseline = PlotEnd {
        diagnosis: (!is_failed).then_some(if dice.roll() < 0.9 { expected } else { other }),
        confidence: (!is_failed).then_some(0.8),
        route: Some(Route::Fallback),
        nano_usd: Some(1_900_000),
        latency_ms: 300.0 + (dice.roll() * 600.0).round(),
    };
    let cascade = if is_decided {
        atomic.clone()
    } else {
        PlotEnd {
            route: Some(Route::Fallback),
            nano_usd: Some(1_500_000),
            latency_ms: atomic.latency_ms + baseline.latency_ms,
            ..baseline.clone()
        }
    };
    let judgments = Dimension::RETRIEVAL
        .into_iter()
        .chain([Dimension::ChunkRelevance, Dimension::ChunkRelevance])
        .chain(Dimension::GENERATION)
        .map(|dimension| {
            let label = dice.roll() < 0.6;
            let lean = (dice.roll() * 0.75).powf(1.3);
            let probability = if label { 1.0 - lean } else { lean };
            let label = (index % 9 != 8).then_some(label);
            (dimension, (probability * 200.0).round() / 200.0, label)
        })
        .collect();
    PlotRow {
        index,
        expected: (index % 30 != 29).then_some(expected),
        ends: BTreeMap::from([
            (Mode::AtomicOnly, atomic),
            (Mode::BaselineOnly, baseline),
            (Mode::Cascade, cascade),
        ]),
        judgments,
    }
}

/// The report over these rows, and what its page shows.
pub(crate) fn sample(rows: Vec<PlotRow>, evil: &str) -> (Report, Details) {
    let mode = |mode| Some(quality::mode(&rows, mode));
    let modes = Modes {
        atomic_only: mode(Mode::AtomicOnly),
        baseline_only: mode(Mode::BaselineOnly),
        cascade: mode(Mode::Cascade),
    };
    let wrong = wrong(&rows, evil);
    let texts = wrong.iter().map(|row| (row.index, texts(evil))).collect();
    let report = Report {
        schema_version: SCHEMA_VERSION,
        program_version: "0.1.0".to_owned(),
        dataset: DatasetInfo {
            file: format!("sample.jsonl{evil}"),
            sha256: "ab".repeat(32),
            row_count: rows.len() as u64,
            labelled_diagnosis_count: rows.iter().filter(|row| row.expected.is_some()).count()
                as u64,
        },
        decision: DecisionInfo {
            id: Some("rag-diagnosis".to_owned()),
            version: Some("1".to_owned()),
            variant: ReportVariant::WithReference,
        },
        profile: format!("demo{evil}"),
        policy: SnapshotInfo {
            id: "systemone-example".to_owned(),
            sha256: "cd".repeat(32),
        },
        calibration_state: CalibrationState::Uncalibrated,
        pricing: Some(PricingInfo {
            id: "demo-prices".to_owned(),
            sha256: "ef".repeat(32),
            as_of: "2026-11-01".to_owned(),
        }),
        judges: judges(evil),
        conventions: conventions(),
        comparisons: vec![comparison(0.62), comparison(0.012)],
        cost_quality: Some(cost_quality(&rows)),
        slices: slices(&modes, evil),
        slices_left_out: 3,
        confident_and_wrong_left_out: 4,
        wrong_judgments: BTreeMap::from([(
            Dimension::Groundedness,
            vec![WrongJudgment {
                index: 3,
                trace_id: format!("trace-3{evil}"),
                mode: Mode::AtomicOnly,
                chunk_id: Some(format!("c1{evil}")),
                probability: 0.97,
                label: false,
            }],
        )]),
        confident_and_wrong: wrong,
        parity: Some(parity()),
        modes,
    };
    (report, Details { rows, texts })
}

fn texts(evil: &str) -> Texts {
    Texts {
        question: format!("How many weeks of paid leave do I get?{evil}"),
        chunks: vec![
            (
                format!("c1{evil}"),
                format!("Leave. Sixteen weeks are paid.{evil}"),
            ),
            (
                "c2".to_owned(),
                "Sick leave. From the fourth day a certificate is required.".to_owned(),
            ),
        ],
        answer: format!("You get twenty weeks.{evil}"),
        reference_answer: Some(format!("Sixteen weeks.{evil}")),
    }
}

fn wrong(rows: &[PlotRow], evil: &str) -> Vec<WrongDiagnosis> {
    let mut wrong: Vec<_> = rows
        .iter()
        .filter_map(|row| {
            let end = &row.ends[&Mode::Cascade];
            let given = end.diagnosis?;
            let expected = row.expected?;
            (end.route == Some(Route::Auto) && given != expected).then(|| WrongDiagnosis {
                index: row.index,
                trace_id: format!("trace-{}{evil}", row.index),
                mode: Mode::Cascade,
                given,
                expected,
                confidence: end.confidence,
                rule: "ungrounded".to_owned(),
                dimension: Some(Dimension::Groundedness),
                value: Some(0.04),
                threshold: Some(0.1),
                judgments: row
                    .judgments
                    .iter()
                    .map(|(dimension, probability, label)| JudgmentInfo {
                        dimension: *dimension,
                        chunk_id: (*dimension == Dimension::ChunkRelevance)
                            .then(|| format!("c1{evil}")),
                        probability: *probability,
                        label: *label,
                    })
                    .collect(),
            })
        })
        .collect();
    wrong.sort_by(|one, other| {
        other
            .confidence
            .unwrap()
            .total_cmp(&one.confidence.unwrap())
    });
    wrong.truncate(8);
    wrong
}

fn cost_quality(rows: &[PlotRow]) -> CostQuality {
    let labelled: Vec<_> = rows.iter().filter(|row| row.expected.is_some()).collect();
    let mut told = CostQuality {
        row_count: labelled.len() as u64,
        accepted: Vec::new(),
        accepted_wrong: Vec::new(),
        right: Vec::new(),
        nano_usd: Some(Vec::new()),
        mean_latency_ms: Vec::new(),
    };
    for j in 0..=100 {
        let threshold = f64::from(j) / 100.0;
        let (mut accepted, mut wrong, mut right, mut nano_usd, mut latency) = (0, 0, 0, 0, 0.0);
        for row in &labelled {
            let (atomic, baseline) = (&row.ends[&Mode::AtomicOnly], &row.ends[&Mode::BaselineOnly]);
            nano_usd += atomic.nano_usd.unwrap();
            latency += atomic.latency_ms;
            let end = if atomic
                .confidence
                .is_some_and(|confidence| threshold <= confidence)
            {
                accepted += 1;
                wrong += u64::from(atomic.diagnosis != row.expected);
                atomic
            } else {
                nano_usd += baseline.nano_usd.unwrap();
                latency += baseline.latency_ms;
                baseline
            };
            right += u64::from(end.diagnosis == row.expected);
        }
        told.accepted.push(accepted);
        told.accepted_wrong.push(wrong);
        told.right.push(right);
        told.nano_usd.as_mut().unwrap().push(nano_usd);
        told.mean_latency_ms
            .push(latency / quality::float(told.row_count));
    }
    told
}

fn judges(evil: &str) -> Vec<JudgeInfo> {
    let judge = |judge_id: &str, role, returned_models: Vec<String>| JudgeInfo {
        judge_id: judge_id.to_owned(),
        role,
        judge_type: "replay".to_owned(),
        requested_model: None,
        returned_models,
        answers_sha256: None,
    };
    vec![
        judge(
            "demo-atomic",
            JudgeRole::Atomic,
            vec![format!("stand-in-fast{evil}")],
        ),
        judge("demo-fallback", JudgeRole::Fallback, Vec::new()),
    ]
}

fn conventions() -> Conventions {
    Conventions {
        bin_count: 10,
        log_loss_epsilon: 1e-15,
        confidence_decimals: 12,
        interval_level: 0.95,
        percentile: "nearest rank: the value at rank ceil(q * n)".to_owned(),
        decision_threshold: 0.5,
        bootstrap_replicates: 2000,
        bootstrap_p: "2 * min(P(d <= 0), P(d >= 0))".to_owned(),
        generator: "splitmix64".to_owned(),
        seed: 42,
        noise_floor_draws: 200,
        exact_value_limit: 16_384,
        rounded_decimals: 4,
        slice_exact_value_limit: 2_048,
        slice_rounded_decimals: 3,
        is_rounded: false,
    }
}

fn comparison(p: f64) -> Comparison {
    let measure = |value| Measure::of(Ok(value));
    Comparison {
        first: Mode::Cascade,
        second: Mode::BaselineOnly,
        row_count: 58,
        first_only_right_count: 3,
        second_only_right_count: 5,
        mcnemar_p: measure(p),
        mcnemar_mid_p: measure(p / 2.0),
        accuracy_difference: measure(-0.034).within(Some((-0.12, 0.05))),
        accuracy_p: measure(p),
        f1_difference: Measure::of(Err(Absent::ZeroDenominator)),
        f1_p: Measure::of(Err(Absent::ZeroDenominator)),
        block_count: 41,
        cost_difference_nano_usd: Measure::of(Err(Absent::Unknown)),
        p50_difference_ms: measure(-380.0),
        p95_difference_ms: measure(12.0),
    }
}

fn slices(modes: &Modes, evil: &str) -> BTreeMap<String, Slice> {
    let slice = |name: &str| {
        let slice = Slice {
            row_count: 20,
            modes: modes.clone(),
        };
        (format!("{name}{evil}"), slice)
    };
    BTreeMap::from([slice("language=de"), slice("language=en"), slice("tag=hr")])
}

fn parity() -> Parity {
    let mode = ParityMode {
        successful_accuracy: 0.8125,
        overall_accuracy: 0.8,
        success_rate: 0.98,
        fallback_rate: 0.25,
        ece: 0.1,
        aurc: 0.05,
        thresholds: vec![0.5, 0.8, 0.9],
        coverage: vec![1.0, 0.8, 0.5],
        risk: vec![0.2, 0.1, 0.0],
        review_rate: vec![0.0, 0.2, 0.5],
        p50_ms: Some(31.5),
        p95_ms: Some(800.0),
        mean_ms: Some(120.0),
        cost_usd: None,
    };
    let component = ParityComponent {
        count: 58,
        accuracy: 0.9,
        brier: 0.07,
        ece: 0.05,
    };
    Parity {
        row_confidences: vec![0.9, 0.8],
        modes: BTreeMap::from([(Mode::Cascade, mode)]),
        components: BTreeMap::from([("groundedness".to_owned(), component)]),
    }
}

/// Failures by reason, for a mode that has some.
pub(crate) fn failures(count: u64) -> BTreeMap<FailureReason, u64> {
    BTreeMap::from([(FailureReason::Timeout, count)])
}

/// Why the fallback judge gave nothing.
pub(crate) fn unavailable(count: u64) -> BTreeMap<FallbackUnavailableReason, u64> {
    BTreeMap::from([(FallbackUnavailableReason::Skipped, count)])
}
