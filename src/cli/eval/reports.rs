//! The reports of an evaluation as files, each put in its place as a whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;

use crate::artifact::replace::replace;
use crate::cli::output;
use crate::dataset::load;
use crate::dataset::record::Record;
use crate::eval::summary::Summary;
use crate::report::html::{self, Details, Texts};
use crate::report::model::Report;
use crate::report::{json, markdown};

/// The report for programs.
const JSON: &str = "report.json";
/// The report for pull requests and terminals.
const MARKDOWN: &str = "report.md";
/// The report for a browser.
const HTML: &str = "report.html";
/// All of them.
pub(super) const NAMES: [&str; 3] = [JSON, MARKDOWN, HTML];

/// Writes the reports into a folder and returns what standard output has room for. `data` is where the
/// texts of the rows that the page lists come from; without it they are left out.
pub(super) fn write(out: &Path, summary: Summary, data: Option<&Path>) -> anyhow::Result<String> {
    let (report, rows) = summary.report();
    let texts = match data {
        Some(data) => texts(data, &listed(&report))?,
        None => BTreeMap::new(),
    };
    let page = html::write(&report, &Details { rows, texts })?;
    let files = [
        (JSON, json::write(&report)?),
        (MARKDOWN, markdown::write(&report)),
        (HTML, page),
    ];
    for (name, text) in files {
        put(&out.join(name), text.as_bytes())?;
    }
    Ok(markdown::brief(&report))
}

/// Puts a file in its place as a whole, and says so.
pub(super) fn put(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    replace(path, bytes).with_context(|| format!("cannot write `{}`", path.display()))?;
    output::note(&format!("wrote {}", path.display()));
    Ok(())
}

/// The rows that the report lists.
fn listed(report: &Report) -> BTreeSet<u64> {
    let rows = report.confident_and_wrong.iter().map(|row| row.index);
    let judgments = report.wrong_judgments.values().flatten();
    rows.chain(judgments.map(|row| row.index)).collect()
}

fn texts(data: &Path, wanted: &BTreeSet<u64>) -> anyhow::Result<BTreeMap<u64, Texts>> {
    let mut texts = BTreeMap::new();
    let Some(last) = wanted.last() else {
        return Ok(texts);
    };
    for row in load::rows(data)? {
        let row = row?;
        if wanted.contains(&row.index) {
            texts.insert(row.index, texts_of(row.record));
        }
        if *last <= row.index {
            break;
        }
    }
    Ok(texts)
}

fn texts_of(record: Record) -> Texts {
    let chunks = record.contexts.into_iter();
    Texts {
        question: record.question,
        chunks: chunks.map(|context| (context.id, context.text)).collect(),
        answer: record.answer,
        reference_answer: record.reference_answer,
    }
}
