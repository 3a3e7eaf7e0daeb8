//! The difference of two policies as tables for people.

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};

use crate::cli::output::one_line;
use crate::domain::Vocabulary as _;
use crate::domain::outcome::NanoUsd;
use crate::eval::what_if::decide::Served;
use crate::eval::what_if::difference::{CostSum, Difference, NotDecided, Side};
use crate::report::model::Measure;

/// The text of a difference.
pub(super) fn text(difference: &Difference) -> String {
    let sides = [&difference.before, &difference.after];
    let mut text = String::new();
    for (letter, side) in ["A", "B"].iter().zip(sides) {
        line(
            &mut text,
            &format!(
                "{letter}  {}  sha256 {}",
                one_line(&side.policy.id),
                &side.policy.sha256
            ),
        );
    }
    line(&mut text, &rows(difference));
    text.push('\n');
    table(&mut text, &sides_table(sides, difference));
    if let Some(labels) = difference.labels {
        line(
            &mut text,
            &format!(
                "right only under B: {}, right only under A: {}",
                labels.mended_count, labels.broken_count
            ),
        );
    }
    flips(&mut text, difference);
    text.push_str("\ndiagnoses (A, B, traces)\n");
    let crossed = difference.diagnoses.iter();
    table(
        &mut text,
        &crossed
            .map(|cell| {
                row([
                    cell.before.name(),
                    cell.after.name(),
                    &cell.count.to_string(),
                ])
            })
            .collect::<Vec<_>>(),
    );
    text.push_str("\nactions (A, B, traces)\n");
    let crossed = difference.actions.iter();
    table(
        &mut text,
        &crossed
            .map(|cell| {
                row([
                    cell.before.name(),
                    cell.after.name(),
                    &cell.count.to_string(),
                ])
            })
            .collect::<Vec<_>>(),
    );
    notes(&mut text, difference);
    text
}

fn rows(difference: &Difference) -> String {
    let mut parts = vec![format!("{} traces", difference.row_count)];
    let mut part = |count: u64, what: &str| {
        if 0 < count {
            parts.push(format!("{count} {what}"));
        }
    };
    part(difference.not_assessable_count, "that cannot be judged");
    for (reason, count) in &difference.not_decided {
        let what = match reason {
            NotDecided::NoAtomicAnswers => "rows left out without answers of the atomic judge",
            NotDecided::AtomicFailed => "rows left out that ended when the atomic judge failed",
            NotDecided::OtherJudge => "rows left out of judges in no role",
        };
        part(*count, what);
    }
    format!(
        "{}; the diagnosis of {} changes",
        parts.join(", "),
        difference.changed_count
    )
}

type Row = Vec<String>;

fn row<const N: usize>(cells: [&str; N]) -> Row {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

fn sides_table(sides: [&Side; 2], difference: &Difference) -> Vec<Row> {
    let mut rows = vec![row(["", "A", "B"])];
    let mut add = |name: &str, cells: [String; 2]| {
        let [before, after] = cells;
        rows.push(vec![name.to_owned(), before, after]);
    };
    for route in crate::domain::outcome::Route::ALL {
        add(
            &format!("route {route}"),
            sides.map(|side| count(&side.routes, route)),
        );
    }
    add(
        "fallback rate",
        sides.map(|side| measure(&side.fallback_rate)),
    );
    for served in Served::ALL {
        let name = match served {
            Served::NotNeeded => continue,
            Served::Fallback => "answered as recorded after the atomic judge",
            Served::Baseline => "answered as recorded of the fallback judge alone",
            Served::Partly => "answered in part, the rest is not recorded",
            Served::Failed => "the fallback judge failed",
            Served::NotRecorded => "its answer is not recorded",
            Served::NothingToAsk => "nothing to ask it",
        };
        let is_told = sides.iter().any(|side| side.served.contains_key(served));
        if is_told {
            add(
                &format!("  {name}"),
                sides.map(|side| count(&side.served, served)),
            );
        }
    }
    add("cost in US dollars", sides.map(|side| cost(&side.cost)));
    if sides.iter().any(|side| 0 < side.cost.unknown_count) {
        add(
            "  traces of unknown cost",
            sides.map(|side| side.cost.unknown_count.to_string()),
        );
        add(
            "  cost of the others",
            sides.map(|side| money(side.cost.known_nano_usd)),
        );
    }
    if sides.iter().all(|side| side.as_recorded.is_some()) {
        add(
            "decided as recorded",
            sides.map(|side| {
                side.as_recorded.map_or_else(String::new, |same| {
                    format!("{} of {}", same.same_count, same.recorded_count)
                })
            }),
        );
    }
    if difference.labels.is_some() {
        quality(sides, &mut add);
    }
    rows
}

fn quality(sides: [&Side; 2], add: &mut impl FnMut(&str, [String; 2])) {
    let of = |tell: fn(&crate::eval::what_if::difference::Quality) -> String| {
        sides.map(|side| side.quality.as_ref().map_or_else(String::new, tell))
    };
    add("labelled", of(|quality| quality.labelled_count.to_string()));
    add("accuracy", of(|quality| measure(&quality.accuracy)));
    add(
        "decided automatically",
        of(|quality| quality.automatic_count.to_string()),
    );
    add("  wrong", of(|quality| measure(&quality.automatic_risk)));
    add(
        "  wrong among PASS",
        of(|quality| measure(&quality.false_pass)),
    );
    add(
        "  labelled PASS among failures",
        of(|quality| measure(&quality.false_fail)),
    );
}

fn flips(text: &mut String, difference: &Difference) {
    if difference.flips.is_empty() {
        return;
    }
    text.push_str("\nchanges\n");
    for flip in &difference.flips {
        let names: Vec<_> = flip.examples.iter().map(|name| one_line(name)).collect();
        let examples = if names.is_empty() {
            String::new()
        } else {
            format!(": {}", names.join(", "))
        };
        line(
            text,
            &format!(
                "  {} -> {}  {}{examples}",
                flip.before, flip.after, flip.count
            ),
        );
    }
}

fn notes(text: &mut String, difference: &Difference) {
    let mut notes = Vec::new();
    for (letter, side) in [("A", &difference.before), ("B", &difference.after)] {
        for (dimension, count) in &side.never_asked {
            notes.push(format!(
                "{letter} wants {dimension}, which was never asked about {count} traces; there it counts as failed"
            ));
        }
    }
    if 0 < difference.abstention_unknown_count {
        notes.push(format!(
            "whether the answer abstains is not known of {} traces; their actions are those of an answer that does not",
            difference.abstention_unknown_count
        ));
    }
    if 0 < difference.not_in_data_count {
        notes.push(format!(
            "{} traces are not in the dataset",
            difference.not_in_data_count
        ));
    }
    if difference.has_cut_off_line {
        notes.push("the last line is cut off and was left out".to_owned());
    }
    if !notes.is_empty() {
        text.push('\n');
    }
    for note in notes {
        line(text, &format!("note: {note}"));
    }
}

fn count<T: Ord>(counts: &BTreeMap<T, u64>, name: &T) -> String {
    counts.get(name).unwrap_or(&0).to_string()
}

/// A number with its interval, or why there is none.
fn measure(measure: &Measure) -> String {
    let value = match (measure.value, &measure.absent) {
        (Some(value), _) => format!("{value:.4}"),
        (None, Some(absent)) => format!("none: {absent}"),
        (None, None) => String::new(),
    };
    match measure.low.zip(measure.high) {
        Some((low, high)) => format!("{value} ({low:.4} to {high:.4})"),
        None => value,
    }
}

fn cost(cost: &CostSum) -> String {
    cost.nano_usd.map_or_else(|| "unknown".to_owned(), money)
}

fn money(nano_usd: i64) -> String {
    NanoUsd(nano_usd).to_string()
}

fn line(text: &mut String, line: &impl Display) {
    // Writing to a string cannot fail.
    writeln!(text, "{line}").ok();
}

/// Columns as wide as their widest cell.
fn table(text: &mut String, rows: &[Row]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths);
        let padded: Vec<_> = cells
            .map(|(cell, width)| format!("{cell:<width$}", width = *width))
            .collect();
        line(text, &padded.join("  ").trim_end());
    }
}
