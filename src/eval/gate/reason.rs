//! Why a metric that is gated does not pass, in words.

use super::metric::{Better, Scale};
use super::rules::Rule;
use super::{GateResult, Line};
use crate::stats::Absent;

/// How a metric ends by a rule.
pub(super) fn result(rule: &Rule, line: &Line) -> GateResult {
    let Some(report) = line.report else {
        return match line.accepted {
            Some(accepted) => GateResult::Failed(vec![missing(line, accepted)]),
            None if line.is_of_all_rows_alone => {
                GateResult::Error("slices do not have this metric; a rule without `slice` holds it")
            }
            None => GateResult::Error("in neither report"),
        };
    };
    let mut problems = Vec::new();
    problems.extend(worse(rule, line));
    if let Some(min) = rule.min.filter(|min| report < *min) {
        problems.push(format!("below {min}"));
    }
    if let Some(max) = rule.max.filter(|max| *max < report) {
        problems.push(format!("above {max}"));
    }
    if problems.is_empty() {
        GateResult::Passed
    } else {
        GateResult::Failed(problems)
    }
}

/// By how much it is worse, if that is more than it may be.
fn worse(rule: &Rule, line: &Line) -> Option<String> {
    let worse_by = match rule.better {
        Better::Higher => -line.delta?,
        Better::Lower => line.delta?,
    };
    // The last bits of a tolerance that is written in decimal are no difference.
    if worse_by <= rule.tolerance? + 1e-9 {
        return None;
    }
    Some(match line.metric.scale {
        Scale::Absolute => format!("worse by {worse_by:.4}"),
        Scale::Relative if worse_by.is_finite() => format!("worse by {:.2} %", worse_by * 100.0),
        Scale::Relative => "it was 0".to_owned(),
    })
}

/// A number that was there and is gone.
fn missing(line: &Line, accepted: f64) -> String {
    let was = line.metric.scale.shown(accepted);
    let over = match (line.accepted_count, line.row_count) {
        (Some(count), _) => format!(" over n = {count}"),
        (None, Some(rows)) => format!(" over some of {rows} rows"),
        (None, None) => String::new(),
    };
    let now = match line.absent {
        Some(Absent::Empty) => "has no rows now".to_owned(),
        Some(absent) => format!("is absent now: {absent}"),
        None => "is not in this report".to_owned(),
    };
    format!("missing: it was {was}{over} in the accepted report and {now}")
}
