//! What was sure and wrong: rows first, then single judgments; never a text.

use super::{Cell, Section, Table, shown};
use crate::domain::Vocabulary as _;
use crate::report::model::Report;
use crate::report::model::wrong::WrongDiagnosis;

pub(super) fn section(report: &Report) -> Section {
    let wrong = &report.confident_and_wrong;
    let mut sentences = vec![if wrong.is_empty() {
        "No labelled row was decided without the fallback judge and wrongly.".to_owned()
    } else {
        "These rows were decided without the fallback judge, and wrongly; the surest stand first."
            .to_owned()
    }];
    if report.confident_and_wrong_left_out != 0 {
        sentences.push(format!(
            "{} more are not listed.",
            shown::count(report.confident_and_wrong_left_out)
        ));
    }
    let mut tables = Vec::new();
    if !wrong.is_empty() {
        tables.push(rows(wrong));
    }
    if report.wrong_judgments.values().any(|list| !list.is_empty()) {
        tables.push(judgments(report));
    }
    Section {
        id: "wrong",
        title: "Confident and wrong",
        sentences,
        tables,
    }
}

fn rows(wrong: &[WrongDiagnosis]) -> Table {
    let mut table = Table::new(
        "Rows that were confident and wrong",
        &[
            "Trace",
            "#Row",
            "Mode",
            "Given",
            "Expected",
            "#Confidence",
            "Why it was given",
        ],
    );
    for row in wrong {
        table.row([
            Cell::foreign(&row.trace_id),
            shown::row(row.index).into(),
            row.mode.name().into(),
            row.given.name().into(),
            row.expected.name().into(),
            shown::optional_probability(row.confidence).into(),
            why(row).into(),
        ]);
    }
    table
}

/// The rule and the value that decided.
pub(super) fn why(row: &WrongDiagnosis) -> String {
    let mut told = format!("rule {}", row.rule);
    if let Some(dimension) = row.dimension {
        told += &format!(", {dimension}");
    }
    if let Some(value) = row.value {
        told += &format!(" {}", shown::probability(value));
    }
    if let Some(threshold) = row.threshold {
        told += &format!(" met the threshold {}", shown::probability(threshold));
    }
    told
}

fn judgments(report: &Report) -> Table {
    let mut table = Table::new(
        "Single judgments that were sure and wrong, by the thresholds of the policy",
        &[
            "Trace",
            "#Row",
            "Mode",
            "Dimension",
            "Chunk",
            "#Probability",
            "Label",
        ],
    );
    for (dimension, list) in &report.wrong_judgments {
        for judgment in list {
            table.row([
                Cell::foreign(&judgment.trace_id),
                shown::row(judgment.index).into(),
                judgment.mode.name().into(),
                dimension.name().into(),
                judgment
                    .chunk_id
                    .as_ref()
                    .map_or_else(|| "-".into(), Cell::foreign),
                shown::probability(judgment.probability).into(),
                judgment.label.to_string().into(),
            ]);
        }
    }
    table
}
