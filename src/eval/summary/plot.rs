//! The rows that a page draws: all of them, or those with the smallest hash of their trace id.

use std::collections::BTreeMap;

use super::row::{Legs, answered, expected, is_assessable};
use super::spent::milliseconds;
use crate::artifact::digest::sha256;
use crate::domain::outcome::Route;
use crate::domain::probability::Probability;
use crate::eval::rows::{End, Row};
use crate::report::html::{PlotEnd, PlotRow};
use crate::report::model::Mode;

/// The most rows that a page draws.
const MAX_ROWS: usize = 20_000;

/// Rows by the hash of their trace id; which ones stay depends on no order.
#[derive(Default)]
pub(super) struct Sample {
    rows: BTreeMap<(u64, u64), PlotRow>,
}

impl Sample {
    pub(super) fn add(&mut self, row: &Row, modes: &[Mode]) {
        let key = (hash(&row.trace_id), row.index);
        let is_last = self
            .rows
            .last_key_value()
            .is_some_and(|(last, _)| *last < key);
        if self.rows.len() == MAX_ROWS && is_last {
            return;
        }
        self.rows.insert(key, plot_row(row, modes));
        if MAX_ROWS < self.rows.len() {
            self.rows.pop_last();
        }
    }

    /// In the order of the dataset.
    pub(super) fn rows(self) -> Vec<PlotRow> {
        let mut rows: Vec<_> = self.rows.into_values().collect();
        rows.sort_by_key(|row| row.index);
        rows
    }
}

fn hash(trace_id: &str) -> u64 {
    let digest = sha256(trace_id.as_bytes());
    let first = digest.iter().take(8);
    first.fold(0, |hash, byte| hash << 8 | u64::from(*byte))
}

fn plot_row(row: &Row, modes: &[Mode]) -> PlotRow {
    let first = modes
        .iter()
        .copied()
        .find(|mode| *mode != Mode::BaselineOnly)
        .unwrap_or(Mode::BaselineOnly);
    let judgments = Legs::of(row, first).first_alone().standings();
    let ends = row.ends.iter().filter(|(_, end)| is_assessable(end));
    PlotRow {
        index: row.index,
        expected: expected(row),
        ends: ends
            .map(|(mode, end)| (*mode, plot_end(end, Legs::of(row, *mode))))
            .collect(),
        judgments: judgments
            .filter_map(|standing| {
                let probability = standing.cell?.probability()?;
                Some((standing.dimension, probability.value(), standing.label))
            })
            .collect(),
    }
}

fn plot_end(end: &End, legs: Legs<'_>) -> PlotEnd {
    let route: Option<Route> = match end {
        End::Failed { route, .. } => *route,
        End::NotAssessable { .. } => None,
        End::Answered(answered) => Some(answered.route),
    };
    let answered = answered(end);
    PlotEnd {
        diagnosis: answered.map(|answered| answered.diagnosis),
        confidence: answered
            .and_then(|answered| answered.confidence)
            .map(Probability::value),
        route,
        nano_usd: legs.nano_usd(),
        latency_ms: milliseconds(legs.latency_us().unwrap_or_default()),
    }
}
