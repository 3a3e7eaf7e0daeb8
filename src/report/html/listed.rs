//! The rows that were confident and wrong, as the page lists them: judgments, labels and texts.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Texts;
use crate::domain::Vocabulary as _;
use crate::report::model::Report;
use crate::report::model::wrong::WrongDiagnosis;
use crate::report::outline::{Cell, Table, why};
use crate::report::shown;

/// One row of the list.
#[derive(Debug, Serialize)]
pub(super) struct Listed<'a> {
    trace_id: &'a str,
    row: String,
    mode: &'static str,
    given: &'static str,
    expected: &'static str,
    confidence: String,
    why: String,
    judgments: Table,
    texts: Option<&'a Texts>,
}

pub(super) fn rows<'a>(report: &'a Report, texts: &'a BTreeMap<u64, Texts>) -> Vec<Listed<'a>> {
    report
        .confident_and_wrong
        .iter()
        .map(|row| Listed {
            trace_id: &row.trace_id,
            row: shown::row(row.index),
            mode: row.mode.name(),
            given: row.given.name(),
            expected: row.expected.name(),
            confidence: shown::optional_probability(row.confidence),
            why: why(row),
            judgments: judgments(row),
            texts: texts.get(&row.index),
        })
        .collect()
}

/// A row that stands among the single judgments alone.
#[derive(Debug, Serialize)]
pub(super) struct Judged<'a> {
    trace_id: &'a str,
    texts: &'a Texts,
}

/// The rows of the single judgments whose texts are not among those of the list.
pub(super) fn judged<'a>(report: &'a Report, texts: &'a BTreeMap<u64, Texts>) -> Vec<Judged<'a>> {
    let listed: BTreeSet<_> = report
        .confident_and_wrong
        .iter()
        .map(|row| row.index)
        .collect();
    let rows: BTreeMap<_, _> = report
        .wrong_judgments
        .values()
        .flatten()
        .map(|row| (row.index, row.trace_id.as_str()))
        .collect();
    rows.into_iter()
        .filter(|(index, _)| !listed.contains(index))
        .filter_map(|(index, trace_id)| {
            let texts = texts.get(&index)?;
            Some(Judged { trace_id, texts })
        })
        .collect()
}

fn judgments(row: &WrongDiagnosis) -> Table {
    let mut table = Table::new(
        "Judgments",
        &["Dimension", "Chunk", "#P(true)", "Label", "Nearer side"],
    );
    for judgment in &row.judgments {
        let side = match judgment.label {
            None => "not labelled",
            Some(label) if label == (0.5 <= judgment.probability) => "right",
            Some(_) => "wrong",
        };
        table.row([
            judgment.dimension.name().into(),
            judgment
                .chunk_id
                .as_ref()
                .map_or_else(|| "-".into(), Cell::foreign),
            shown::probability(judgment.probability).into(),
            judgment
                .label
                .map_or_else(|| "not labelled".to_owned(), |label| label.to_string())
                .into(),
            side.into(),
        ]);
    }
    table
}
