//! How much the atomic judge decides at which risk, and what quality, latency and cost remain: plain sentences.

use super::shown;
use crate::domain::diagnosis::Diagnosis;
use crate::report::model::quality::Confusion;
use crate::report::model::{Mode, ModeReport, Report};

/// What stands in the place of a share of no rows.
const NO_LABEL: &str = "no assessable row has a labelled diagnosis";

pub(super) fn sentences(report: &Report) -> Vec<String> {
    let mut told = Vec::new();
    match (&report.modes.cascade, &report.modes.atomic_only) {
        (Some(cascade), _) => {
            told.push(resolved_by_cascade(cascade));
            told.push(remains(Mode::Cascade, cascade));
        }
        (None, Some(atomic)) => {
            told.push(resolved_alone(atomic));
            told.push(remains(Mode::AtomicOnly, atomic));
            told.push(
                "The cascade was not run, so what remains after fallback is not known.".to_owned(),
            );
        }
        (None, None) => told.push(
            "Neither the cascade nor the atomic judge alone was run, so how much the atomic judge resolves is not known."
                .to_owned(),
        ),
    }
    if let Some(baseline) = &report.modes.baseline_only {
        told.push(remains(Mode::BaselineOnly, baseline));
    }
    told
}

/// Where there is nothing to resolve.
const NO_ROW: &str = "No row is assessable, so how much the atomic judge resolves is not known.";

fn resolved_by_cascade(cascade: &ModeReport) -> String {
    if assessable(cascade) == 0 {
        return NO_ROW.to_owned();
    }
    let coverage = shown::percent(&cascade.coverage);
    let rows = shown::count(assessable(cascade));
    let Some(band) = &cascade.band else {
        return format!(
            "The atomic judge resolves {coverage} of {rows} assessable rows without the fallback judge."
        );
    };
    let diagnosis = &cascade.diagnosis;
    let labelled = diagnosis.scored_count + diagnosis.failed_count;
    if labelled == 0 {
        return format!(
            "The atomic judge resolves {coverage} of {rows} assessable rows without the fallback judge; {NO_LABEL}, so how \
             many of these are wrong is not known."
        );
    }
    let decided = labelled.saturating_sub(band.labelled_count);
    format!(
        "The atomic judge resolves {coverage} of {rows} assessable rows without the fallback judge; wrong among the {} of \
         these that have a label: {}.",
        shown::count(decided),
        shown::percent(&band.decided_error)
    )
}

fn resolved_alone(atomic: &ModeReport) -> String {
    if assessable(atomic) == 0 {
        return NO_ROW.to_owned();
    }
    let diagnosis = &atomic.diagnosis;
    if diagnosis.scored_count + diagnosis.failed_count == 0 {
        return format!(
            "The atomic judge resolves {} of {} assessable rows; {NO_LABEL}, so how many of these are wrong is not known.",
            shown::percent(&atomic.coverage),
            shown::count(assessable(atomic))
        );
    }
    let (decided, wrong) = decided_and_wrong(&diagnosis.confusion);
    format!(
        "The atomic judge resolves {} of {} assessable rows; of the {} of these that have a label it gets {} wrong.",
        shown::percent(&atomic.coverage),
        shown::count(assessable(atomic)),
        shown::count(decided),
        shown::count(wrong)
    )
}

fn remains(mode: Mode, report: &ModeReport) -> String {
    let diagnosis = &report.diagnosis;
    let who = match mode {
        Mode::AtomicOnly => "The atomic judge alone, what is uncertain left uncertain",
        Mode::BaselineOnly => "For comparison, the fallback judge alone, asked every question",
        Mode::Cascade => "After fallback",
    };
    let right = match diagnosis.scored_count + diagnosis.failed_count {
        0 => format!("{NO_LABEL}, so how many are right is not known"),
        labelled => format!(
            "{} of {} labelled rows are right, where no usable answer counts as wrong",
            shown::percent(&diagnosis.overall_accuracy),
            shown::count(labelled)
        ),
    };
    format!("{who}: {right}; {}; {}.", takes(report), costs(report))
}

fn takes(report: &ModeReport) -> String {
    let latency = &report.latency.all;
    if latency.count == 0 {
        return "no row asked a judge, so there is no latency".to_owned();
    }
    format!(
        "half of {} rows that asked a judge take at most {}, 95 of 100 at most {}",
        shown::count(latency.count),
        shown::milliseconds(&latency.p50_ms),
        shown::milliseconds(&latency.p95_ms)
    )
}

fn costs(report: &ModeReport) -> String {
    if assessable(report) == 0 {
        return "no row is assessable, so there is no cost of one".to_owned();
    }
    let cost = shown::usd_per_thousand(&report.cost.per_row_nano_usd);
    format!("1,000 assessable rows cost {cost}")
}

/// Rows that can be judged.
pub(super) const fn assessable(report: &ModeReport) -> u64 {
    report.row_count.saturating_sub(report.not_assessable_count)
}

/// Labelled rows that were given a definite diagnosis, and how many of these are wrong.
fn decided_and_wrong(confusion: &Confusion) -> (u64, u64) {
    let (mut decided, mut wrong) = (0, 0);
    for (label, counts) in confusion.labels.iter().zip(&confusion.counts) {
        for (given, count) in confusion.labels.iter().zip(counts) {
            if *given != Diagnosis::JudgeUncertain {
                decided += count;
                wrong += if given == label { 0 } else { *count };
            }
        }
    }
    (decided, wrong)
}
