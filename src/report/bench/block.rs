//! The short table of a bench, and the block of a Markdown file that holds it.
//!
//! The block is made from the JSON alone, so a file whose block is not what its JSON gives was edited by hand.

use super::{Bench, BenchRisk, BenchSet};
use crate::domain::dimension::Dimension;
use crate::report::markdown::{code, line, rows};
use crate::report::model::Measure;
use crate::report::outline::{Cell, Table};
use crate::report::shown;

/// What stands before the block.
pub const START: &str = "<!-- bench:start -->";
/// What stands after it.
pub const END: &str = "<!-- bench:end -->";

/// Why a file has no block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BlockError {
    /// A line that bounds it is missing, stands twice or in the wrong place.
    #[error("must hold the lines `{START}` and `{END}` once each, in this order")]
    Bounds,
}

/// The text with the short table in its block, whatever stood there.
pub fn replaced(text: &str, bench: &Bench) -> Result<String, BlockError> {
    let (before, after) = around(text)?;
    Ok(format!("{before}{START}\n{}{END}{after}", short(bench)))
}

/// What stands before and after the block, its bounds left out.
pub fn around(text: &str) -> Result<(&str, &str), BlockError> {
    let (before, rest) = once(text, START)?;
    let (_, after) = once(rest, END)?;
    if before.contains(END) {
        return Err(BlockError::Bounds);
    }
    Ok((before, after))
}

/// The text before and after what stands in it once.
fn once<'a>(text: &'a str, mark: &str) -> Result<(&'a str, &'a str), BlockError> {
    let (before, after) = text.split_once(mark).ok_or(BlockError::Bounds)?;
    if after.contains(mark) {
        return Err(BlockError::Bounds);
    }
    Ok((before, after))
}

/// Per set how much is decided and how often that is wrong, pass and fail side apart.
pub fn short(bench: &Bench) -> String {
    let mut short = Table::new(
        "",
        &[
            "data set",
            "#rows",
            "#decided",
            "#PASS",
            "#wrong, of those with a label",
            "#at most",
            "#failed",
            "#wrong, of those with a label",
            "#at most",
            "#AUROC of groundedness",
        ],
    );
    for set in &bench.sets {
        short.row(cells(set));
    }
    let mut text = String::new();
    rows(&mut text, &short, usize::MAX);
    let judge = &bench.judge;
    let model = judge.model.as_deref().unwrap_or(&judge.judge_type);
    line(
        &mut text,
        &format!(
            "\nJudge {} ({}), policy {}, {}.",
            code(&judge.judge_id),
            code(model),
            code(&bench.policy.id),
            bench.calibration_state
        ),
    );
    text
}

fn cells(set: &BenchSet) -> Vec<Cell> {
    let policy = &set.policy;
    let mut cells = vec![
        Cell::foreign(&set.name),
        shown::count(policy.row_count).into(),
        shown::percent(&without_interval(&policy.decided)).into(),
    ];
    cells.extend(risk(&policy.pass));
    cells.extend(risk(&policy.fail));
    let auroc = set.dimensions.get(&Dimension::Groundedness);
    cells.push(auroc.map_or_else(
        || "not labelled".into(),
        |dimension| shown::number(&dimension.auroc).into(),
    ));
    cells
}

/// Decisions, wrong ones of the checked, and how many of a hundred may be wrong.
pub(super) fn risk(risk: &BenchRisk) -> [Cell; 3] {
    let wrong = match risk.checked_count {
        0 => "-".to_owned(),
        checked => format!(
            "{} of {}",
            shown::count(risk.wrong_count),
            shown::count(checked)
        ),
    };
    [
        shown::count(risk.count).into(),
        wrong.into(),
        bound(&risk.error_bound).into(),
    ]
}

/// A bound, or a dash where nothing is bounded.
pub(super) fn bound(bound: &Measure) -> String {
    bound
        .value
        .map_or_else(|| "-".to_owned(), |_| shown::percent(bound))
}

/// The number alone.
pub(super) fn without_interval(measure: &Measure) -> Measure {
    measure.within(None)
}
