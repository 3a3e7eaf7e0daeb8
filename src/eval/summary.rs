//! From the lines of a rows file to a report, one line at a time and in constant memory.
//!
//! Only whole numbers are added up while rows arrive, and lists are kept by a total order, so that the order of the
//! rows changes no bit of the report. A failure is never a score: it counts as wrong in overall numbers, is left out of
//! the others, and is counted apart.

mod component;
mod compared;
mod diagnosis;
pub(in crate::eval) mod measured;
mod mode;
mod plot;
pub(in crate::eval) mod row;
mod spent;
mod wrong;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use self::compared::{ComparisonCounts, CostQualityCounts};
use self::measured::Detail;
use self::mode::ModeCounts;
use self::plot::Sample;
use self::row::Pairs;
use self::wrong::{WrongDiagnoses, WrongJudgments};
use super::parity::ParityRows;
use super::rows::{Header, Leg, Row};
use crate::domain::outcome::{DecisionVariant, JudgeRole};
use crate::judge::decision::Decision;
use crate::policy::Policy;
use crate::report::html::PlotRow;
use crate::report::model::{
    Conventions, DecisionInfo, JudgeInfo, Mode, Modes, Report, ReportVariant, SCHEMA_VERSION, Slice,
};
use crate::stats::tally::Precision;

/// How many models a judge may be listed with: what a judge calls its model is up to the judge.
const MAX_MODEL_COUNT: usize = 64;

/// Everything that a report needs to know about the rows that were added; their order changes nothing.
pub struct Summary {
    header: Header,
    pairs: Pairs,
    row_count: u64,
    with_reference_count: u64,
    all: Part,
    slices: Vec<Part>,
    comparisons: Vec<ComparisonCounts>,
    cost_quality: Option<CostQualityCounts>,
    wrong_diagnoses: WrongDiagnoses,
    wrong_judgments: WrongJudgments,
    models: BTreeMap<(String, JudgeRole), BTreeSet<String>>,
    sample: Sample,
    parity: Option<ParityRows>,
}

/// The counts of some of the rows.
struct Part {
    precision: Precision,
    row_count: u64,
    modes: BTreeMap<Mode, ModeCounts>,
}

impl Part {
    fn new(precision: Precision) -> Self {
        Self {
            precision,
            row_count: 0,
            modes: BTreeMap::new(),
        }
    }

    fn counts(&mut self, mode: Mode) -> &mut ModeCounts {
        let precision = self.precision;
        let new = || ModeCounts::new(precision);
        self.modes.entry(mode).or_insert_with(new)
    }

    fn add(&mut self, row: &Row, pairs: &Pairs) {
        self.row_count += 1;
        for (mode, end) in &row.ends {
            self.counts(*mode).add(row, *mode, end, pairs);
        }
    }

    fn report(&self, pairs: &Pairs, detail: Detail) -> Modes {
        let report = |mode| {
            let counts = self.modes.get(&mode)?;
            Some(counts.report(mode, pairs, detail))
        };
        Modes {
            atomic_only: report(Mode::AtomicOnly),
            baseline_only: report(Mode::BaselineOnly),
            cascade: report(Mode::Cascade),
        }
    }

    fn is_rounded(&self) -> bool {
        self.modes.values().any(ModeCounts::is_rounded)
    }
}

impl Summary {
    /// Nothing was added yet.
    pub fn new(header: Header, policy: &Policy) -> Self {
        let mut all = Part::new(Precision::FINE);
        for mode in &header.modes {
            all.counts(*mode);
        }
        let slice = |_| Part::new(Precision::COARSE);
        Self {
            pairs: Pairs::new(policy, &header.judges),
            row_count: 0,
            with_reference_count: 0,
            all,
            slices: header.slices.iter().map(slice).collect(),
            comparisons: compared::pairs_of(&header.modes),
            cost_quality: CostQualityCounts::of(&header.modes),
            wrong_diagnoses: WrongDiagnoses::new(&header.modes),
            wrong_judgments: WrongJudgments::new(&header.modes),
            models: BTreeMap::new(),
            sample: Sample::default(),
            parity: header.parity.then(|| ParityRows::new(&header.modes)),
            header,
        }
    }

    /// Adds a row.
    pub fn add(&mut self, row: &Row) {
        self.row_count += 1;
        self.with_reference_count += u64::from(row.variant == DecisionVariant::WithReference);
        self.all.add(row, &self.pairs);
        for place in &row.slices {
            if let Some(slice) = self.slices.get_mut(*place) {
                slice.add(row, &self.pairs);
            }
        }
        for comparison in &mut self.comparisons {
            comparison.add(row);
        }
        if let Some(cost_quality) = &mut self.cost_quality {
            cost_quality.add(row);
        }
        self.wrong_diagnoses.add(row);
        self.wrong_judgments.add(row, &self.pairs);
        self.add_models(row.atomic.as_ref(), JudgeRole::Atomic);
        self.add_models(row.fallback.as_ref(), JudgeRole::Fallback);
        self.add_models(row.baseline.as_ref(), JudgeRole::Fallback);
        self.sample.add(row, &self.header.modes);
        if let Some(parity) = &mut self.parity {
            parity.add(row);
        }
    }

    fn add_models(&mut self, leg: Option<&Leg>, role: JudgeRole) {
        for call in leg.iter().flat_map(|leg| &leg.calls) {
            let Some(model) = &call.model else { continue };
            let known = self
                .models
                .entry((call.judge_id.clone(), role))
                .or_default();
            if !known.contains(model) {
                known.insert(model.clone());
                if MAX_MODEL_COUNT < known.len() {
                    known.pop_last();
                }
            }
        }
    }

    /// Rows that were added.
    pub const fn row_count(&self) -> u64 {
        self.row_count
    }

    /// The report over the rows that were added, and the rows that its page draws.
    pub fn report(self) -> (Report, Vec<PlotRow>) {
        let modes = self.all.report(&self.pairs, Detail::Full);
        let is_rounded = self.all.is_rounded() || self.slices.iter().any(Part::is_rounded);
        let slices = self.header.slices.iter().zip(&self.slices);
        let slices = slices.map(|(name, part)| {
            let slice = Slice {
                row_count: part.row_count,
                modes: part.report(&self.pairs, Detail::Slice),
            };
            (name.clone(), slice)
        });
        let comparisons = self.comparisons.iter();
        let (confident_and_wrong, confident_and_wrong_left_out) = self.wrong_diagnoses.list();
        let report = Report {
            schema_version: SCHEMA_VERSION,
            program_version: self.header.program_version.clone(),
            dataset: self.header.dataset.clone(),
            decision: decision(&self.header, self.row_count, self.with_reference_count),
            profile: self.header.profile.clone(),
            policy: self.header.policy.clone(),
            calibration_state: self.header.calibration_state,
            pricing: self.header.pricing.clone(),
            judges: judges(&self.header.judges, &self.models),
            conventions: conventions(is_rounded),
            comparisons: comparisons
                .filter_map(|counts| counts.report(&modes))
                .collect(),
            cost_quality: self
                .cost_quality
                .as_ref()
                .and_then(CostQualityCounts::report),
            modes,
            slices: slices.collect(),
            slices_left_out: self.header.slices_left_out,
            confident_and_wrong,
            confident_and_wrong_left_out,
            wrong_judgments: self.wrong_judgments.list(),
            parity: self.parity.and_then(ParityRows::report),
        };
        (report, self.sample.rows())
    }
}

fn decision(header: &Header, row_count: u64, with_reference_count: u64) -> DecisionInfo {
    let (variant, of_all) = if row_count == 0 {
        (ReportVariant::Mixed, None)
    } else if with_reference_count == row_count {
        (
            ReportVariant::WithReference,
            Some(DecisionVariant::WithReference),
        )
    } else if with_reference_count == 0 {
        (
            ReportVariant::WithoutReference,
            Some(DecisionVariant::WithoutReference),
        )
    } else {
        (ReportVariant::Mixed, None)
    };
    DecisionInfo {
        id: of_all.map(|variant| Decision::of(variant).id.to_owned()),
        version: (0 < row_count).then(|| header.decision_version.clone()),
        variant,
    }
}

fn judges(
    bound: &[JudgeInfo],
    models: &BTreeMap<(String, JudgeRole), BTreeSet<String>>,
) -> Vec<JudgeInfo> {
    let judges = bound.iter().map(|judge| {
        let returned = models.get(&(judge.judge_id.clone(), judge.role));
        JudgeInfo {
            returned_models: returned.into_iter().flatten().cloned().collect(),
            ..judge.clone()
        }
    });
    judges.collect()
}

fn conventions(is_rounded: bool) -> Conventions {
    Conventions {
        bin_count: measured::BIN_COUNT,
        log_loss_epsilon: measured::LOG_LOSS_EPSILON,
        confidence_decimals: 12,
        interval_level: measured::LEVEL,
        percentile: "nearest rank: the value at rank ceil(q * n)".to_owned(),
        decision_threshold: measured::DECISION_THRESHOLD,
        bootstrap_replicates: measured::BOOTSTRAP_REPLICATES,
        bootstrap_p: "min(1, max(2 * min(P(d <= 0), P(d >= 0)), 1 / (resamples + 1))) over the differences d of the \
                      resamples; one of exactly 0 counts on both sides"
            .to_owned(),
        generator: "SplitMix64".to_owned(),
        seed: measured::SEED,
        noise_floor_draws: measured::NOISE_FLOOR_DRAWS,
        exact_value_limit: Precision::FINE.exact_limit as u64,
        rounded_decimals: Precision::FINE.decimals,
        slice_exact_value_limit: Precision::COARSE.exact_limit as u64,
        slice_rounded_decimals: Precision::COARSE.decimals,
        is_rounded,
    }
}
