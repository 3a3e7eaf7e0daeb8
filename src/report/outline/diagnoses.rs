//! Labelled against given: the confusion matrix and the classes of every mode.

use super::{Cell, Section, Table, run, shown};
use crate::domain::Vocabulary as _;
use crate::report::model::quality::DiagnosisReport;
use crate::report::model::{Mode, Report};

pub(super) fn section(report: &Report) -> Section {
    let tables = run(&report.modes)
        .flat_map(|(mode, found)| {
            [
                confusion(mode, &found.diagnosis),
                classes(mode, &found.diagnosis),
            ]
        })
        .collect();
    Section {
        id: "diagnoses",
        title: "Diagnoses given and expected",
        sentences: vec![
            "A row of a matrix is what is true by the label, a column what was given.".to_owned(),
        ],
        tables,
    }
}

fn confusion(mode: Mode, diagnosis: &DiagnosisReport) -> Table {
    let confusion = &diagnosis.confusion;
    let given = confusion
        .labels
        .iter()
        .map(|label| format!("#{}", label.name()));
    let head: Vec<_> = ["Expected".to_owned()]
        .into_iter()
        .chain(given)
        .chain(["#no usable answer".to_owned(), "#n".to_owned()])
        .collect();
    let head: Vec<_> = head.iter().map(String::as_str).collect();
    let mut table = Table::new(
        format!(
            "Confusion matrix of {mode}, {} labelled rows; {} rows have no label",
            shown::count(diagnosis.scored_count + diagnosis.failed_count),
            shown::count(diagnosis.unlabelled_count)
        ),
        &head,
    );
    for ((label, counts), failed) in confusion
        .labels
        .iter()
        .zip(&confusion.counts)
        .zip(&confusion.failed)
    {
        let cells = counts.iter().chain([failed]);
        let sum: u64 = cells.clone().sum();
        table.row(
            [Cell::from(label.name())]
                .into_iter()
                .chain(cells.map(|count| shown::count(*count).into()))
                .chain([shown::count(sum).into()]),
        );
    }
    table
}

fn classes(mode: Mode, diagnosis: &DiagnosisReport) -> Table {
    let mut table = Table::new(
        format!("Each diagnosis of {mode}"),
        &[
            "Diagnosis",
            "#Expected",
            "#Given",
            "#Both",
            "#Precision",
            "#Recall",
            "#F1",
        ],
    );
    for (class, found) in &diagnosis.classes {
        table.row([
            class.name().into(),
            shown::count(found.support).into(),
            shown::count(found.predicted_count).into(),
            shown::count(found.true_positive_count).into(),
            shown::number(&found.precision).into(),
            shown::number(&found.recall).into(),
            shown::number(&found.f1).into(),
        ]);
    }
    table
}
