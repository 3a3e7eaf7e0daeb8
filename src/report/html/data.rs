//! What the script of a page computes with, as JSON that no text can break out of.
//!
//! Rows are sorted here, once, so that the page finds what a threshold accepts by a binary search.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{PlotEnd, PlotRow};
use crate::domain::diagnosis::Diagnosis;
use crate::domain::dimension::{Dimension, Polarity};
use crate::domain::outcome::{JudgeRole, Route};
use crate::report::model::compared::CostQuality;
use crate::report::model::quality::{Bin, ComponentReport, CurvePoint, Sides, TwoSided};
use crate::report::model::{Mode, Report};
use crate::report::outline;
use crate::stats::tally::Tally;

/// Everything that the script reads.
#[derive(Serialize)]
struct Data<'a> {
    row_count: u64,
    embedded_count: usize,
    confidence_decimals: u32,
    /// The mode whose ends a threshold on the confidence accepts.
    first_mode: Option<Mode>,
    rows: Rows,
    cost_quality: Option<&'a CostQuality>,
    dimensions: Vec<DimensionData<'a>>,
    /// The judge whose answers stand in `dimensions`.
    answers_of: Option<JudgeRole>,
    curves: BTreeMap<Mode, &'a [CurvePoint]>,
    modes: BTreeMap<Mode, ModePoint>,
    reliability: Vec<Reliability<'a>>,
}

/// Labelled, assessable rows as columns, the surest first; a row that is never accepted stands last and has none.
#[derive(Default, Serialize)]
struct Rows {
    confidence: Vec<Option<f64>>,
    is_right: Vec<u8>,
    nano_usd: Vec<Option<i64>>,
    latency_ms: Vec<f64>,
    /// Of the fallback judge alone; empty if it was not asked alone.
    baseline_is_right: Vec<u8>,
    baseline_nano_usd: Vec<Option<i64>>,
    baseline_latency_ms: Vec<f64>,
}

/// One dimension: labelled judgments as counts by value, and what the report says about all rows.
#[derive(Serialize)]
struct DimensionData<'a> {
    name: Dimension,
    is_bad_when_true: bool,
    scored_count: u64,
    policy: Option<&'a TwoSided>,
    sides: Option<&'a Sides>,
    /// Value, labelled false, labelled true; ascending.
    values: Vec<(f64, u64, u64)>,
}

/// Where a mode lies among costs and qualities.
#[derive(Serialize)]
struct ModePoint {
    overall_accuracy: Option<f64>,
    per_row_nano_usd: Option<f64>,
}

#[derive(Serialize)]
struct Reliability<'a> {
    name: String,
    bins: &'a [Bin],
}

/// The JSON of a page.
pub(super) fn embedded(report: &Report, rows: &[PlotRow]) -> serde_json::Result<String> {
    let first_mode = [Mode::AtomicOnly, Mode::Cascade]
        .into_iter()
        .find(|mode| report.modes.get(*mode).is_some());
    let data = Data {
        row_count: report.dataset.row_count,
        embedded_count: rows.len(),
        confidence_decimals: report.conventions.confidence_decimals,
        first_mode,
        rows: first_mode.map_or_else(Rows::default, |mode| {
            columns(rows, mode, report.modes.baseline_only.is_some())
        }),
        cost_quality: report.cost_quality.as_ref(),
        dimensions: dimensions(report, rows),
        answers_of: outline::first_components(report).map(|(mode, _)| match mode {
            Mode::AtomicOnly | Mode::Cascade => JudgeRole::Atomic,
            Mode::BaselineOnly => JudgeRole::Fallback,
        }),
        curves: outline::run(&report.modes)
            .map(|(mode, found)| (mode, &*found.diagnosis.confidence.selective.curve))
            .collect(),
        modes: outline::run(&report.modes)
            .map(|(mode, found)| {
                let point = ModePoint {
                    overall_accuracy: found.diagnosis.overall_accuracy.value,
                    per_row_nano_usd: found.cost.per_row_nano_usd.value,
                };
                (mode, point)
            })
            .collect(),
        reliability: outline::bins(report)
            .into_iter()
            .map(|(name, bins)| Reliability { name, bins })
            .collect(),
    };
    serde_json::to_string(&data).map(|text| inert(&text))
}

/// JSON in which nothing can end the element that it stands in; these characters only stand within its strings.
fn inert(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            '\u{2028}' => text.push_str("\\u2028"),
            '\u{2029}' => text.push_str("\\u2029"),
            c => text.push(c),
        }
    }
    text
}

struct Scored<'a> {
    index: u64,
    confidence: Option<f64>,
    is_right: bool,
    end: &'a PlotEnd,
    baseline: Option<(&'a PlotEnd, bool)>,
}

fn columns(rows: &[PlotRow], mode: Mode, has_baseline: bool) -> Rows {
    let mut scored: Vec<_> = rows
        .iter()
        .filter_map(|row| score(row, mode))
        .filter(|row| row.baseline.is_some() || !has_baseline)
        .collect();
    scored.sort_by(|one, other| {
        let order = |row: &Scored<'_>| row.confidence.unwrap_or(-1.0);
        order(other)
            .total_cmp(&order(one))
            .then(one.index.cmp(&other.index))
    });
    let mut columns = Rows::default();
    for row in &scored {
        columns.confidence.push(row.confidence);
        columns.is_right.push(u8::from(row.is_right));
        columns.nano_usd.push(row.end.nano_usd);
        columns.latency_ms.push(row.end.latency_ms);
        if let Some((end, is_right)) = row.baseline {
            columns.baseline_is_right.push(u8::from(is_right));
            columns.baseline_nano_usd.push(end.nano_usd);
            columns.baseline_latency_ms.push(end.latency_ms);
        }
    }
    columns
}

/// A labelled row that can be judged; none of another kind.
fn score(row: &PlotRow, mode: Mode) -> Option<Scored<'_>> {
    let expected = row
        .expected
        .filter(|label| *label != Diagnosis::NotAssessable)?;
    let end = row.ends.get(&mode)?;
    let is_right = |end: &PlotEnd| end.diagnosis == Some(expected);
    let is_decided = end.route == Some(Route::Auto)
        && end
            .diagnosis
            .is_some_and(|diagnosis| diagnosis != Diagnosis::JudgeUncertain);
    let baseline = row.ends.get(&Mode::BaselineOnly);
    Some(Scored {
        index: row.index,
        confidence: end.confidence.filter(|_| is_decided),
        is_right: is_right(end),
        end,
        baseline: baseline.map(|end| (end, is_right(end))),
    })
}

/// The dimensions of the first judge that was asked.
fn dimensions<'a>(report: &'a Report, rows: &[PlotRow]) -> Vec<DimensionData<'a>> {
    let Some((mode, components)) = outline::first_components(report) else {
        return Vec::new();
    };
    let sides = components.retrieval.iter().chain(&components.generation);
    sides
        .map(|(dimension, component)| dimension_data(mode, *dimension, component, rows))
        .collect()
}

fn dimension_data<'a>(
    mode: Mode,
    dimension: Dimension,
    component: &'a ComponentReport,
    rows: &[PlotRow],
) -> DimensionData<'a> {
    let mut tally = Tally::default();
    for (_, probability, label) in rows
        .iter()
        .flat_map(|row| &row.judgments)
        .filter(|(found, ..)| *found == dimension)
    {
        if let Some(label) = label {
            // What is no probability is in no number of the report either.
            tally.add(*probability, *label).ok();
        }
    }
    DimensionData {
        name: dimension,
        is_bad_when_true: dimension.polarity() == Polarity::BadWhenTrue,
        scored_count: component.scored_count,
        policy: component.at_policy.as_ref(),
        // Those of the cascade are over what the fallback judge said too; the embedded judgments are not.
        sides: component.sides.as_ref().filter(|_| mode != Mode::Cascade),
        values: tally
            .cells()
            .map(|cell| (cell.value, cell.negatives, cell.positives))
            .collect(),
    }
}
