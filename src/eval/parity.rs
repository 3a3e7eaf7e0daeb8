//! The numbers by the conventions of the project that this one comes from.
//!
//! Empty ratios are 0, percentiles are interpolated, ties stay in the order of the dataset, and components have the ECE
//! of max(p, 1 - p). The order of the rows matters here, so they are kept, and only so many.

use std::collections::BTreeMap;

use super::rows::{End, Row};
use super::summary::row::{Legs, answered, expected, is_assessable};
use crate::domain::outcome::Route;
use crate::domain::probability::Probability;
use crate::report::model::Mode;
use crate::report::model::parity::{Parity, ParityComponent, ParityMode};
use crate::stats::classification::Binary;
use crate::stats::tally::Tally;
use crate::stats::{calibration, quantile};

/// The most rows of a dataset whose numbers can be made by these conventions.
pub const MAX_ROWS: u64 = 20_000;
/// Where coverage and risk are told.
const THRESHOLDS: [f64; 3] = [0.5, 0.8, 0.9];
/// Bins of equal width.
const BIN_COUNT: usize = 10;

/// A dataset is too long for these conventions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`--parity` keeps every row and takes at most {MAX_ROWS} of them; the dataset has `{0}`")]
pub struct TooManyRows(pub u64);

/// Whether the numbers of so many rows can be made by these conventions.
pub const fn check(row_count: u64) -> Result<(), TooManyRows> {
    if MAX_ROWS < row_count {
        Err(TooManyRows(row_count))
    } else {
        Ok(())
    }
}

/// One row in one mode.
#[derive(Debug, Clone, Copy)]
struct ParityRow {
    is_answered: bool,
    is_labelled: bool,
    is_right: bool,
    is_sent_on: bool,
    confidence: Option<f64>,
    latency_us: u64,
    nano_usd: Option<i64>,
}

/// The rows of a run, at most [`MAX_ROWS`].
pub(super) struct ParityRows {
    first: Option<Mode>,
    modes: BTreeMap<Mode, BTreeMap<u64, ParityRow>>,
    components: BTreeMap<String, Tally>,
    row_count: u64,
}

impl ParityRows {
    pub(super) fn new(modes: &[Mode]) -> Self {
        Self {
            first: modes.first().copied(),
            modes: modes.iter().map(|mode| (*mode, BTreeMap::new())).collect(),
            components: BTreeMap::new(),
            row_count: 0,
        }
    }

    pub(super) fn add(&mut self, row: &Row) {
        self.row_count += 1;
        if check(self.row_count).is_err() {
            self.modes.clear();
            return;
        }
        for (mode, end) in &row.ends {
            if is_assessable(end) {
                let rows = self.modes.entry(*mode).or_default();
                rows.insert(row.index, parity_row(row, *mode, end));
            }
        }
        if row.ends.contains_key(&Mode::AtomicOnly) || row.ends.contains_key(&Mode::Cascade) {
            self.add_components(row);
        }
    }

    fn add_components(&mut self, row: &Row) {
        let legs = Legs::of(row, Mode::AtomicOnly);
        for standing in legs.standings() {
            let probability = standing.cell.and_then(|cell| cell.probability());
            let (Some(label), Some(probability)) = (standing.label, probability) else {
                continue;
            };
            let name = match legs.chunk_id(standing.chunk) {
                Some(chunk_id) => chunk_id,
                None => standing.dimension.to_string(),
            };
            let tally = self.components.entry(name).or_default();
            // A probability is always in the range of a tally.
            tally.add(probability.value(), label).ok();
        }
    }

    /// The numbers; none of more than [`MAX_ROWS`] rows.
    pub(super) fn report(self) -> Option<Parity> {
        check(self.row_count).ok()?;
        let first = self.first.and_then(|mode| self.modes.get(&mode));
        let confidences = first.into_iter().flat_map(BTreeMap::values);
        Some(Parity {
            row_confidences: confidences.filter_map(|row| row.confidence).collect(),
            modes: self
                .modes
                .iter()
                .map(|(mode, rows)| {
                    let rows: Vec<_> = rows.values().copied().collect();
                    (*mode, parity_mode(&rows))
                })
                .collect(),
            components: self
                .components
                .iter()
                .map(|(name, tally)| (name.clone(), parity_component(tally)))
                .collect(),
        })
    }
}

fn parity_row(row: &Row, mode: Mode, end: &End) -> ParityRow {
    let route = match end {
        End::Failed { route, .. } => *route,
        End::NotAssessable { .. } => None,
        End::Answered(answered) => Some(answered.route),
    };
    let answered = answered(end);
    let expected = expected(row);
    let legs = Legs::of(row, mode);
    ParityRow {
        is_answered: answered.is_some(),
        is_labelled: expected.is_some(),
        is_right: answered.is_some_and(|answered| Some(answered.diagnosis) == expected),
        is_sent_on: matches!(route, Some(Route::Fallback | Route::FallbackUnavailable)),
        confidence: answered
            .and_then(|answered| answered.confidence)
            .map(Probability::value),
        latency_us: legs.latency_us().unwrap_or_default(),
        nano_usd: legs.nano_usd(),
    }
}

/// An empty ratio is 0.
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

fn parity_mode(rows: &[ParityRow]) -> ParityMode {
    let labelled: Vec<_> = rows.iter().filter(|row| row.is_labelled).collect();
    let answered: Vec<_> = labelled.iter().filter(|row| row.is_answered).collect();
    let right = answered.iter().filter(|row| row.is_right).count();
    let mut scored: Vec<_> = answered
        .iter()
        .filter_map(|row| Some((row.confidence?, row.is_right)))
        .collect();
    let tally = Tally::of(scored.iter().copied()).unwrap_or_default();
    // A stable sort keeps ties in the order of the dataset.
    scored.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let accepted = THRESHOLDS.map(|threshold| {
        let accepted = scored
            .iter()
            .filter(|(confidence, _)| threshold <= *confidence);
        let wrong = accepted.clone().filter(|(_, is_right)| !is_right).count();
        (accepted.count(), wrong)
    });
    let mut latencies = BTreeMap::new();
    for row in rows {
        *latencies.entry(row.latency_us).or_default() += 1;
    }
    let ms = |us: f64| us / 1000.0;
    let quantile = |q| quantile::linear(&latencies, q).ok().map(ms);
    ParityMode {
        successful_accuracy: ratio(right, answered.len()),
        overall_accuracy: ratio(right, labelled.len()),
        success_rate: ratio(
            rows.iter().filter(|row| row.is_answered).count(),
            rows.len(),
        ),
        fallback_rate: ratio(rows.iter().filter(|row| row.is_sent_on).count(), rows.len()),
        ece: calibration::ece(&tally, BIN_COUNT).unwrap_or_default(),
        aurc: aurc(&scored),
        thresholds: THRESHOLDS.to_vec(),
        coverage: accepted
            .map(|(count, _)| ratio(count, scored.len()))
            .to_vec(),
        risk: accepted.map(|(count, wrong)| ratio(wrong, count)).to_vec(),
        review_rate: accepted
            .map(|(count, _)| ratio(scored.len() - count, scored.len()))
            .to_vec(),
        p50_ms: quantile(0.5),
        p95_ms: quantile(0.95),
        mean_ms: quantile::mean(&latencies).ok().map(ms),
        cost_usd: rows
            .iter()
            .filter(|row| row.is_answered)
            .map(|row| row.nano_usd.map(i128::from))
            .sum::<Option<i128>>()
            .map(|nano_usd| nano_usd as f64 / 1e9),
    }
}

/// The mean of the risks of all prefixes, the surest first.
fn aurc(sorted: &[(f64, bool)]) -> f64 {
    let mut wrong = 0;
    let mut sum = 0.0;
    for (place, (_, is_right)) in sorted.iter().enumerate() {
        wrong += usize::from(!is_right);
        sum += ratio(wrong, place + 1);
    }
    if sorted.is_empty() {
        0.0
    } else {
        sum / sorted.len() as f64
    }
}

fn parity_component(tally: &Tally) -> ParityComponent {
    let decided = Binary::at(tally, 0.5);
    ParityComponent {
        count: tally.count(),
        accuracy: decided.accuracy().unwrap_or_default(),
        brier: calibration::brier(tally).unwrap_or_default(),
        ece: calibration::ece(&calibration::confidence(tally), BIN_COUNT).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(index: u64, label: &str, given: &str, confidence: f64, nano_usd: Option<i64>) -> Row {
        let mut leg = serde_json::json!({
            "judge_id": "quick", "source": null, "latency_us": 1000 * (index + 1),
            "calls": [{"judge_id": "quick", "latency_us": 1000 * (index + 1)}],
        });
        if let Some(nano_usd) = nano_usd {
            leg["nano_usd"] = nano_usd.into();
        }
        let row = serde_json::json!({
            "index": index, "trace_id": format!("t{index}"), "group": "0", "variant": "with_reference",
            "labels": {"diagnosis": label}, "atomic": leg,
            "ends": {"atomic_only": {
                "diagnosis": given, "confidence": confidence, "route": "auto", "rule": "pass",
            }},
        });
        serde_json::from_value(row).unwrap()
    }

    fn numbers(rows: &[Row]) -> ParityMode {
        let mut parity = ParityRows::new(&[Mode::AtomicOnly]);
        for row in rows {
            parity.add(row);
        }
        parity.report().unwrap().modes[&Mode::AtomicOnly].clone()
    }

    #[test]
    fn without_rows_ratios_are_zero_and_latencies_absent() {
        let none = numbers(&[]);
        let ratios = [
            none.overall_accuracy,
            none.success_rate,
            none.ece,
            none.aurc,
        ];
        let mut all = ratios.into_iter().chain(none.risk);
        assert!(all.all(|ratio| ratio.to_bits() == 0));
        assert_eq!((none.p50_ms, none.mean_ms), (None, None));
    }

    #[test]
    fn ties_stay_in_the_order_of_the_dataset_whatever_the_order_of_arrival() {
        let wrong = row(0, "PASS", "RETRIEVAL_MISS", 0.9, Some(5));
        let right = row(1, "PASS", "PASS", 0.9, Some(7));
        for rows in [[wrong.clone(), right.clone()], [right, wrong]] {
            // Prefix risks 1 and 1/2: the wrong row comes first in the dataset.
            let told = numbers(&rows);
            assert!((told.aurc - 0.75).abs() < 1e-12);
            assert_eq!((told.p50_ms, told.mean_ms), (Some(1.5), Some(1.5)));
            assert_eq!(told.cost_usd, Some(12e-9));
        }
    }

    #[test]
    fn r42_a_row_without_a_price_leaves_no_sum() {
        let rows = [
            row(0, "PASS", "PASS", 0.9, Some(5)),
            row(1, "PASS", "PASS", 0.9, None),
        ];
        assert_eq!(numbers(&rows).cost_usd, None);
    }

    #[test]
    fn more_rows_than_are_kept_are_refused() {
        assert_eq!(check(MAX_ROWS), Ok(()));
        let error = check(MAX_ROWS + 1).unwrap_err().to_string();
        assert!(
            error.ends_with("takes at most 20000 of them; the dataset has `20001`"),
            "{error}"
        );
    }
}
