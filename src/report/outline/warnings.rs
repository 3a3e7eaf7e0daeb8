//! What undermines the numbers of a report: what failed, what is unknown and what was left out.

use super::{counts, run, shown};
use crate::report::model::{Mode, ModeReport, Report};

/// So many reasons of failures are told.
const FIRST_REASONS: usize = 3;

pub(super) fn sentences(report: &Report) -> Vec<String> {
    let mut told: Vec<_> = run(&report.modes)
        .flat_map(|(mode, found)| of_mode(mode, found, report.dataset.row_count))
        .collect();
    if report.conventions.is_rounded {
        told.push(
            "There were too many different values to keep, so some distributions were rounded; the conventions say how."
                .to_owned(),
        );
    }
    if report.slices_left_out != 0 {
        told.push(format!(
            "{} slices are left out, the smallest.",
            shown::count(report.slices_left_out)
        ));
    }
    told
}

fn of_mode(mode: Mode, found: &ModeReport, row_count: u64) -> Vec<String> {
    let mut told = Vec::new();
    if found.row_count < row_count {
        told.push(format!(
            "{mode} was evaluated on {} of {} rows.",
            shown::count(found.row_count),
            shown::count(row_count)
        ));
    }
    if found.failed_count != 0 {
        let mut reasons: Vec<_> = found.failures.iter().collect();
        reasons.sort_by_key(|(reason, count)| (std::cmp::Reverse(**count), **reason));
        let reasons = reasons.into_iter().take(FIRST_REASONS);
        told.push(format!(
            "{mode}: {} of {} rows have no usable answer ({}).",
            shown::count(found.failed_count),
            shown::count(found.row_count),
            counts(reasons.map(|(reason, count)| (*reason, *count)))
        ));
    }
    let cost = &found.cost;
    let failed_calls = cost.first.failed_call_count + cost.second.failed_call_count;
    if failed_calls != 0 {
        told.push(format!(
            "{mode}: {} calls to judges failed.",
            shown::count(failed_calls)
        ));
    }
    if cost.unknown_count != 0 {
        told.push(format!(
            "{mode}: the cost of {} of {} rows that asked a judge is unknown, and with it the sum.",
            shown::count(cost.unknown_count),
            shown::count(cost.row_count)
        ));
    }
    told
}
