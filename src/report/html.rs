//! A report as one HTML file that needs no network: texts, drawings and thresholds that can be moved.
//!
//! Everything that is a table is there without scripts. Text from outside only passes through the escaping of the
//! template or of `data`.

mod data;
mod listed;

use std::collections::BTreeMap;

use minijinja::Environment;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use serde::Serialize;

use self::listed::{Judged, Listed};
use super::model::{Mode, Report};
use super::outline::{self, Section, Table};
use super::shown;
use crate::domain::diagnosis::Diagnosis;
use crate::domain::dimension::Dimension;
use crate::domain::outcome::{CalibrationState, Route};

/// The name ends in `.html`, so that everything is escaped that is not said to be safe.
const PAGE: &str = "page.html";

/// What a page shows beside the report.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Details {
    /// Rows in the order of the dataset, all or a sample.
    pub rows: Vec<PlotRow>,
    /// The texts of the rows that the report lists, by place in the dataset; empty if texts are to be left out.
    pub texts: BTreeMap<u64, Texts>,
}

/// One row, as the page recomputes thresholds from it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlotRow {
    /// The place of the row in the dataset, from 0.
    pub index: u64,
    /// What it is, if that is labelled.
    pub expected: Option<Diagnosis>,
    /// What it was given, by mode; nothing where it cannot be judged.
    pub ends: BTreeMap<Mode, PlotEnd>,
    /// The probabilities and labels of the first judge that was asked; of chunk relevance one each chunk.
    pub judgments: Vec<(Dimension, f64, Option<bool>)>,
}

/// What a row was given.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlotEnd {
    /// The diagnosis; none if there was no usable answer.
    pub diagnosis: Option<Diagnosis>,
    /// Its confidence.
    pub confidence: Option<f64>,
    /// How it was reached.
    pub route: Option<Route>,
    /// Cost in 1e-9 US dollars, if it is known.
    pub nano_usd: Option<i64>,
    /// Latency in milliseconds.
    pub latency_ms: f64,
}

/// The texts of one row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Texts {
    /// The question.
    pub question: String,
    /// The chunks: id and text.
    pub chunks: Vec<(String, String)>,
    /// The answer.
    pub answer: String,
    /// The reference answer.
    pub reference_answer: Option<String>,
}

/// Why no page can be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the page: {0}")]
pub struct HtmlError(String);

/// The report as one page; the same report and details give the same bytes.
pub fn write(report: &Report, details: &Details) -> Result<String, HtmlError> {
    let failed = |error: minijinja::Error| HtmlError(format!("{error:#}"));
    let mut environment = Environment::new();
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true);
    environment.set_syntax(syntax.build().map_err(failed)?);
    environment
        .add_template(PAGE, include_str!("html/page.html"))
        .map_err(failed)?;
    let sections: BTreeMap<_, _> = outline::sections(report)
        .into_iter()
        .map(|section| (section.id, section))
        .collect();
    let data =
        data::embedded(report, &details.rows).map_err(|error| HtmlError(error.to_string()))?;
    let page = Page {
        style: include_str!("html/page.css"),
        script: include_str!("html/page.js"),
        data,
        file: &report.dataset.file,
        row_count: shown::count(report.dataset.row_count),
        profile: &report.profile,
        policy: &report.policy.id,
        calibration_state: report.calibration_state,
        warnings: warnings(report, details),
        answer: outline::answer(report),
        judgments: single_judgments(&sections),
        sections,
        listed: listed::rows(report, &details.texts),
        judged: listed::judged(report, &details.texts),
        reliability: outline::reliability(report),
    };
    let template = environment.get_template(PAGE).map_err(failed)?;
    template.render(Serde(&page)).map_err(failed)
}

/// What the template is filled with.
#[derive(Serialize)]
struct Page<'a> {
    style: &'static str,
    script: &'static str,
    data: String,
    file: &'a str,
    row_count: String,
    profile: &'a str,
    policy: &'a str,
    calibration_state: CalibrationState,
    warnings: Vec<String>,
    answer: Vec<String>,
    sections: BTreeMap<&'static str, Section>,
    /// The table of single judgments, which stands last among the confident and wrong.
    judgments: Option<Table>,
    listed: Vec<Listed<'a>>,
    judged: Vec<Judged<'a>>,
    reliability: Vec<Table>,
}

/// What undermines the numbers, and what this page alone leaves out.
fn warnings(report: &Report, details: &Details) -> Vec<String> {
    let mut told = outline::warnings(report);
    let drawn = details.rows.len() as u64;
    if drawn < report.dataset.row_count {
        told.push(format!(
            "Moved thresholds are computed from {} of {} rows.",
            shown::count(drawn),
            shown::count(report.dataset.row_count)
        ));
    }
    let is_listed = !report.confident_and_wrong.is_empty() || !report.wrong_judgments.is_empty();
    if is_listed && details.texts.is_empty() {
        told.push("The texts of the rows are left out of this page.".to_owned());
    }
    told
}

fn single_judgments(sections: &BTreeMap<&str, Section>) -> Option<Table> {
    let wrong = sections.get("wrong")?;
    let mut tables = wrong.tables.iter();
    tables
        .find(|table| table.head.iter().any(|column| column.name == "Label"))
        .cloned()
}
