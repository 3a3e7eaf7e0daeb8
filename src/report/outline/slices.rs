//! The same numbers over parts of the rows.

use super::{Cell, Section, Table, run, shown};
use crate::domain::Vocabulary as _;
use crate::report::model::Report;

pub(super) fn section(report: &Report) -> Section {
    let mut sentences = Vec::new();
    let mut tables = Vec::new();
    if report.slices.is_empty() {
        sentences
            .push("No row has a tag, a language or another name to part the rows by.".to_owned());
    } else {
        sentences.push("A row belongs to every slice that it has a name for.".to_owned());
        tables.push(table(report));
    }
    if report.slices_left_out != 0 {
        sentences.push(format!(
            "The {} smallest slices are left out.",
            shown::count(report.slices_left_out)
        ));
    }
    Section {
        id: "slices",
        title: "Slices",
        sentences,
        tables,
    }
}

fn table(report: &Report) -> Table {
    let mut table = Table::new(
        "Slices",
        &[
            "Slice",
            "Mode",
            "#Rows",
            "#Failed",
            "#Labelled",
            "#Overall accuracy",
            "#Coverage",
            "#Fallback rate",
            "#ECE of confidence",
            "#Cost of 1,000 assessable rows",
            "#p50",
            "#p95",
        ],
    );
    for (name, slice) in &report.slices {
        for (mode, found) in run(&slice.modes) {
            let diagnosis = &found.diagnosis;
            table.row([
                Cell::foreign(name),
                mode.name().into(),
                shown::count(found.row_count).into(),
                shown::count(found.failed_count).into(),
                shown::count(diagnosis.scored_count + diagnosis.failed_count).into(),
                shown::percent(&diagnosis.overall_accuracy).into(),
                shown::percent(&found.coverage).into(),
                shown::percent(&found.fallback_rate).into(),
                shown::number(&diagnosis.confidence.calibration.ece).into(),
                shown::usd_per_thousand(&found.cost.per_row_nano_usd).into(),
                shown::milliseconds(&found.latency.all.p50_ms).into(),
                shown::milliseconds(&found.latency.all.p95_ms).into(),
            ]);
        }
    }
    table
}
