//! A report as Markdown: for a pull request, a log or a terminal.
//!
//! Text from outside stands in code spans, which no reader takes for markup, a link or a mention.

use std::fmt::Write as _;

use super::model::Report;
use super::outline::{self, Cell, Section, Table};
use super::shown;

/// What a pull request is read in: what was run, what came out, then where it went wrong.
const ORDER: [&str; 8] = [
    "modes",
    "comparisons",
    "wrong",
    "components",
    "confidence",
    "diagnoses",
    "slices",
    "provenance",
];

/// A longer table is cut off and says so: a comment of a pull request has room for 65,536 characters.
const MOST_ROWS: usize = 30;

/// The report as Markdown; the same report gives the same bytes.
pub fn write(report: &Report) -> String {
    let mut text = answer(report);
    let sections = outline::sections(report);
    for id in ORDER {
        for found in sections.iter().filter(|section| section.id == id) {
            section(&mut text, found);
        }
    }
    text
}

/// What a terminal has room for: the answer, and the modes side by side.
pub fn brief(report: &Report) -> String {
    let mut text = answer(report);
    let sections = outline::sections(report);
    let modes = sections.iter().find(|section| section.id == "modes");
    if let Some(modes) = modes.and_then(|section| section.tables.first()) {
        line(&mut text, "");
        table(&mut text, modes);
    }
    text
}

fn answer(report: &Report) -> String {
    let mut text = format!("# Evaluation of {}\n\n", code(&report.dataset.file));
    lead(&mut text, report);
    let warnings = outline::warnings(report);
    if !warnings.is_empty() {
        line(&mut text, "**What undermines these numbers**\n");
        for warning in warnings {
            line(&mut text, &format!("- {warning}"));
        }
        line(&mut text, "\n**What came out**\n");
    }
    for told in outline::answer(report) {
        line(&mut text, &format!("- {told}"));
    }
    text
}

/// What was evaluated, in short; the rest stands under the last heading.
fn lead(text: &mut String, report: &Report) {
    let prices = report.pricing.as_ref().map_or_else(
        || "no prices".to_owned(),
        |pricing| format!("prices {} of {}", code(&pricing.id), code(&pricing.as_of)),
    );
    let judges: Vec<_> = report
        .judges
        .iter()
        .map(|judge| format!("{} ({})", code(&judge.judge_id), judge.role))
        .collect();
    line(
        text,
        &format!(
            "{} rows (SHA-256 {}), profile {}, policy {}, {}, judges {}.\n",
            shown::count(report.dataset.row_count),
            code(report.dataset.sha256.get(..12).unwrap_or_default()),
            code(&report.profile),
            code(&report.policy.id),
            prices,
            judges.join(", ")
        ),
    );
}

fn section(text: &mut String, section: &Section) {
    line(text, &format!("\n## {}", section.title));
    if !section.sentences.is_empty() {
        line(text, "");
    }
    for sentence in &section.sentences {
        line(text, sentence);
    }
    for found in &section.tables {
        line(text, &format!("\n**{}**\n", found.caption));
        table(text, found);
    }
}

/// Adds a table with as many rows as a comment has room for.
fn table(text: &mut String, table: &Table) {
    rows(text, table, MOST_ROWS);
    let more = table.rows.len().saturating_sub(MOST_ROWS);
    if more != 0 {
        let more = shown::count(more as u64);
        line(
            text,
            &format!("\n{more} more rows stand in the page and in the JSON."),
        );
    }
}

/// Adds a table with so many of its rows.
pub(super) fn rows(text: &mut String, table: &Table, most: usize) {
    let row = |text: &mut String, cells: &mut dyn Iterator<Item = String>| {
        let cells: Vec<_> = cells.collect();
        line(text, &format!("| {} |", cells.join(" | ")));
    };
    row(
        text,
        &mut table.head.iter().map(|column| plain(&column.name)),
    );
    row(
        text,
        &mut table
            .head
            .iter()
            .map(|column| if column.is_number { "---:" } else { "---" }.to_owned()),
    );
    for cells in table.rows.iter().take(most) {
        row(text, &mut cells.iter().map(cell));
    }
}

fn cell(cell: &Cell) -> String {
    if cell.is_foreign {
        code(&cell.text)
    } else {
        plain(&cell.text)
    }
}

/// Our own words: nothing but a bar or an angle bracket could be taken for more.
fn plain(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

/// Text from outside as a code span that also holds within a table.
pub fn code(text: &str) -> String {
    let mut inside = String::with_capacity(text.len() + 8);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '|' => inside.push_str("\\|"),
            // A backslash before a bar would take away what keeps the bar from ending the cell.
            '\\' if chars.peek() == Some(&'|') => inside.push_str("\\u005c"),
            c if is_unseen(c) => {
                // Writing to a string cannot fail.
                write!(inside, "\\u{:04x}", u32::from(c)).ok();
            }
            c => inside.push(c),
        }
    }
    if inside.is_empty() {
        return "(empty)".to_owned();
    }
    let fence = "`".repeat(longest_run(&inside) + 1);
    let needs_room = inside.starts_with(['`', ' ']) || inside.ends_with(['`', ' ']);
    let room = if needs_room { " " } else { "" };
    format!("{fence}{room}{inside}{room}{fence}")
}

/// What ends a line, moves a cursor or turns the order of letters around.
fn is_unseen(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Adds a line.
pub(super) fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
