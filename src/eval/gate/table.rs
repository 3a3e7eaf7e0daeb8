//! What a gate says, as Markdown.
//!
//! As in a report, text from outside stands in code spans: nothing in it is a link, a mention or markup.

use std::fmt::Write as _;

use super::metric::{Better, Scale};
use super::rules::Rule;
use super::{Findings, GateResult, Gated, Line, changes};
use crate::report::markdown::code;
use crate::report::model::Report;

/// What a part of the table shows beside the metrics.
type Extra = fn(&Gated) -> String;

/// The findings: what failed with its reason, then rules that hold nothing, what changed between the reports, and how
/// many pass; with `is_all` what passed and what moved beside too.
pub fn write(report: &Report, accepted: &Report, findings: &Findings, is_all: bool) -> String {
    let mut text = format!("# Gate of {}\n\n", code(&report.dataset.file));
    let of = |is_of_it: fn(&GateResult) -> bool| -> Vec<_> {
        let gated = findings.gated.iter();
        gated.filter(move |gated| is_of_it(&gated.result)).collect()
    };
    let failed = of(|result| matches!(result, GateResult::Failed(_)));
    part(&mut text, "Failed", &failed, &["allowed", "why"], |gated| {
        format!("{} | {}", allowed(&gated.rule), why(&gated.result))
    });
    let errors = of(|result| matches!(result, GateResult::Error(_)));
    part(&mut text, "Errors", &errors, &["why"], |gated| {
        why(&gated.result)
    });
    let changes = changes(report, accepted);
    for (name, old, new) in &changes {
        let (old, new) = (code(old), code(new));
        line(&mut text, &format!("- Changed: {name} from {old} to {new}"));
    }
    if !changes.is_empty() {
        line(&mut text, "");
    }
    if is_all {
        let passed = of(|result| matches!(result, GateResult::Passed));
        part(&mut text, "Passed", &passed, &["allowed"], |gated| {
            allowed(&gated.rule)
        });
        moved(&mut text, &findings.moved);
    }
    line(
        &mut text,
        &last_line(failed.len(), errors.len(), findings, is_all),
    );
    text
}

/// What the end of a log shows.
fn last_line(failed: usize, errors: usize, findings: &Findings, is_all: bool) -> String {
    let (passed, all) = (findings.passed_count(), findings.gated.len());
    let mut words = format!("{passed} of {all} gated metrics pass");
    if 0 < failed {
        write!(words, ", {failed} fail").ok();
    }
    if 0 < errors {
        write!(words, ", {errors} cannot be held").ok();
    }
    let moved = findings.moved.len();
    if 0 < moved {
        write!(words, "; not gated and moved: {moved}").ok();
    }
    if !is_all {
        words.push_str(" (`--all` shows these too)");
    }
    words + "."
}

fn part(text: &mut String, title: &str, rows: &[&Gated], titles: &[&str], extra: Extra) {
    if rows.is_empty() {
        return;
    }
    line(text, &format!("## {title}\n"));
    head(text, titles);
    for gated in rows {
        let start = start_of_row(&gated.line);
        line(text, &format!("{start} | {} |", extra(gated)));
    }
    line(text, "");
}

fn moved(text: &mut String, lines: &[Line]) {
    if lines.is_empty() {
        return;
    }
    line(text, "## Moved and not gated\n");
    head(text, &[]);
    for moved in lines {
        line(text, &format!("{} |", start_of_row(moved)));
    }
    line(text, "");
}

fn head(text: &mut String, titles: &[&str]) {
    let mut names = "| metric | slice | accepted | now | difference |".to_owned();
    for title in titles {
        write!(names, " {title} |").ok();
    }
    line(text, &names);
    let marks = "|---|---|--:|--:|--:|".to_owned() + &"---|".repeat(titles.len());
    line(text, &marks);
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    writeln!(text, "{line}").ok();
}

fn why(result: &GateResult) -> String {
    match result {
        GateResult::Passed => String::new(),
        GateResult::Failed(problems) => problems.join(", "),
        GateResult::Error(why) => (*why).to_owned(),
    }
}

fn start_of_row(line: &Line) -> String {
    let scale = line.metric.scale;
    let number = |value: Option<f64>| value.map_or_else(|| "absent".to_owned(), |v| scale.shown(v));
    let delta = match (line.delta, scale) {
        (None, _) => "-".to_owned(),
        (Some(delta), _) if !delta.is_finite() => "from 0".to_owned(),
        (Some(delta), Scale::Absolute) => format!("{delta:+.4}"),
        (Some(delta), Scale::Relative) => format!("{:+.2} %", delta * 100.0),
    };
    format!(
        "| {} | {} | {} | {} | {delta}",
        line.metric.path,
        line.slice.as_deref().map_or_else(|| "all".to_owned(), code),
        number(line.accepted),
        number(line.report),
    )
}

impl Scale {
    /// A value for readers.
    pub(super) fn shown(self, value: f64) -> String {
        match self {
            Self::Absolute => format!("{value:.4}"),
            Self::Relative => format!("{value:.1}"),
        }
    }
}

fn allowed(rule: &Rule) -> String {
    let way = match rule.better {
        Better::Higher => "lower",
        Better::Lower => "higher",
    };
    let tolerance = rule.tolerance.map(|tolerance| match rule.metric.scale {
        Scale::Absolute => format!("{tolerance} {way}"),
        // As it is written: 0.07 * 100.0 has more digits than 7.
        Scale::Relative => format!("{} % {way}", (tolerance * 1e8).round() / 1e6),
    });
    let min = rule.min.map(|min| format!("at least {min}"));
    let max = rule.max.map(|max| format!("at most {max}"));
    let all: Vec<_> = tolerance.into_iter().chain(min).chain(max).collect();
    all.join(", ")
}
