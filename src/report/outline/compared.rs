//! Modes against each other, in words that claim no more than the tests show.

use super::{Section, Table, shown};
use crate::domain::Vocabulary as _;
use crate::report::model::Report;
use crate::report::model::compared::Comparison;

/// Below it a test is said to show a difference.
const SIGNIFICANCE: f64 = 0.05;

pub(super) fn section(report: &Report) -> Section {
    let mut sentences: Vec<_> = report.comparisons.iter().map(sentence).collect();
    if sentences.is_empty() {
        sentences.push("Fewer than two modes were run, so there is nothing to compare.".to_owned());
    } else {
        sentences.push(
            "A p-value says how often chance alone would part two equally good modes at least so far; it is not the \
             chance that they are equal, and several comparisons are not corrected for each other."
                .to_owned(),
        );
    }
    let mut tables = Vec::new();
    if !report.comparisons.is_empty() {
        tables.push(table(report));
    }
    Section {
        id: "comparisons",
        title: "Modes compared",
        sentences,
        tables,
    }
}

fn sentence(comparison: &Comparison) -> String {
    let (first, second) = (comparison.first.name(), comparison.second.name());
    let told = match comparison.mcnemar_p.value {
        None => format!("no test: {}", shown::p_value(&comparison.mcnemar_p)),
        Some(p) if p < SIGNIFICANCE => format!(
            "McNemar's exact p is {}, so these rows speak against the two being equally right",
            shown::p_value(&comparison.mcnemar_p)
        ),
        Some(_) => format!(
            "McNemar's exact p is {}, so these rows do not show that one is right more often, nor that both are equally \
             good",
            shown::p_value(&comparison.mcnemar_p)
        ),
    };
    format!(
        "{first} against {second}: of {} labelled rows {} are right in {first} alone and {} in {second} alone; {told}.",
        shown::count(comparison.row_count),
        shown::count(comparison.first_only_right_count),
        shown::count(comparison.second_only_right_count)
    )
}

fn table(report: &Report) -> Table {
    let mut table = Table::new(
        "Differences, first less second; intervals and p of differences by a bootstrap over blocks of rows, those \
         with one question in one block",
        &[
            "Modes",
            "#Rows",
            "#Blocks",
            "#McNemar p",
            "#mid-p",
            "#Overall accuracy",
            "#p",
            "#F1 of failing",
            "#p of F1",
            "#Cost of 1,000 assessable rows",
            "#p50",
            "#p95",
        ],
    );
    for comparison in &report.comparisons {
        table.row([
            format!("{} - {}", comparison.first, comparison.second).into(),
            shown::count(comparison.row_count).into(),
            shown::count(comparison.block_count).into(),
            shown::p_value(&comparison.mcnemar_p).into(),
            shown::p_value(&comparison.mcnemar_mid_p).into(),
            shown::points(&comparison.accuracy_difference).into(),
            shown::p_value(&comparison.accuracy_p).into(),
            shown::difference(&comparison.f1_difference).into(),
            shown::p_value(&comparison.f1_p).into(),
            shown::usd_per_thousand_difference(&comparison.cost_difference_nano_usd).into(),
            shown::milliseconds_difference(&comparison.p50_difference_ms).into(),
            shown::milliseconds_difference(&comparison.p95_difference_ms).into(),
        ]);
    }
    table
}
