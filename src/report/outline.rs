//! The report as sections of sentences and plain tables, from which both Markdown and HTML are written.
//!
//! Every number of a table stands beside its n, and text from outside is marked, so that each writer escapes it its way.

mod answer;
mod compared;
mod components;
mod confidence;
mod diagnoses;
mod modes;
mod provenance;
mod slices;
mod warnings;
mod wrong;

use serde::Serialize;

use super::model::quality::{Bin, Components};
use super::model::wrong::WrongDiagnosis;
use super::model::{Mode, ModeReport, Modes, Report};
use super::shown;
use crate::domain::Vocabulary as _;

/// One part of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Section {
    /// Its name within a page.
    pub(super) id: &'static str,
    /// Its heading.
    pub(super) title: &'static str,
    /// What is said before the tables; our own words and numbers alone.
    pub(super) sentences: Vec<String>,
    /// The tables.
    pub(super) tables: Vec<Table>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Table {
    /// What it shows.
    pub(super) caption: String,
    /// The columns.
    pub(super) head: Vec<Column>,
    /// The rows, each with a cell for every column; the first cell names the row.
    pub(super) rows: Vec<Vec<Cell>>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Column {
    /// Its heading.
    pub(super) name: String,
    /// Whether its cells are numbers.
    pub(super) is_number: bool,
}

/// A cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Cell {
    /// What it says.
    pub(super) text: String,
    /// Whether that comes from outside: an id, a tag, a name.
    pub(super) is_foreign: bool,
}

impl Cell {
    /// Text from outside.
    pub(super) fn foreign(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_foreign: true,
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            is_foreign: false,
        }
    }
}

impl Table {
    /// A table without rows; a column whose name starts with `#` holds numbers.
    pub(super) fn new(caption: impl Into<String>, head: &[&str]) -> Self {
        let column = |name: &&str| Column {
            name: name.trim_start_matches('#').to_owned(),
            is_number: name.starts_with('#'),
        };
        Self {
            caption: caption.into(),
            head: head.iter().map(column).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }
}

/// The answer to the question of the deployment, in sentences.
pub(super) fn answer(report: &Report) -> Vec<String> {
    answer::sentences(report)
}

/// What undermines the numbers, in sentences; none if nothing does.
pub(super) fn warnings(report: &Report) -> Vec<String> {
    warnings::sentences(report)
}

/// Every section in the order of a page.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    vec![
        wrong::section(report),
        modes::section(report),
        compared::section(report),
        confidence::section(report),
        diagnoses::section(report),
        components::section(report),
        slices::section(report),
        provenance::section(report),
    ]
}

/// What is drawn as reliability: a name, and its bins.
pub(super) fn bins(report: &Report) -> Vec<(String, &[Bin])> {
    confidence::bins(report)
}

/// The tables behind these drawings.
pub(super) fn reliability(report: &Report) -> Vec<Table> {
    let bins = confidence::bins(report);
    bins.iter()
        .map(|(name, bins)| confidence::bins_table(name, bins))
        .collect()
}

/// The rule and the value that decided.
pub(super) fn why(row: &WrongDiagnosis) -> String {
    wrong::why(row)
}

/// The components of the judge that was asked first.
pub(super) fn first_components(report: &Report) -> Option<(Mode, &Components)> {
    run(&report.modes)
        .find_map(|(mode, found)| found.components.as_ref().map(|found| (mode, found)))
}

/// The modes that were run, in order.
pub(super) fn run(modes: &Modes) -> impl Iterator<Item = (Mode, &ModeReport)> {
    Mode::ALL
        .iter()
        .filter_map(|&mode| modes.get(mode).map(|found| (mode, found)))
}

/// Names with counts, as `a 1, b 2`, or a word for none.
fn counts<T: ToString>(counts: impl IntoIterator<Item = (T, u64)>) -> String {
    let told: Vec<_> = counts
        .into_iter()
        .filter(|(_, count)| *count != 0)
        .map(|(name, count)| format!("{} {}", name.to_string(), shown::count(count)))
        .collect();
    if told.is_empty() {
        "none".to_owned()
    } else {
        told.join(", ")
    }
}
