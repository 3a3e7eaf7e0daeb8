//! What was evaluated with what, and how the numbers are made.

use super::{Cell, Section, Table, shown};
use crate::domain::Vocabulary as _;
use crate::report::model::parity::Parity;
use crate::report::model::{Conventions, Report};

pub(super) fn section(report: &Report) -> Section {
    let mut tables = vec![
        evaluated(report),
        judges(report),
        conventions(&report.conventions),
    ];
    tables.extend(report.parity.as_ref().map(parity_modes));
    tables.extend(report.parity.as_ref().map(parity_components));
    Section {
        id: "provenance",
        title: "What was evaluated, and how",
        sentences: vec![
            "The same rows give the same bytes of this report, whatever the order and the number of shards.".to_owned(),
        ],
        tables,
    }
}

const NO_ROWS: &str = "none: no rows";

fn evaluated(report: &Report) -> Table {
    let mut table = Table::new("What was evaluated", &["What", "Which"]);
    let mut row = |what: &str, which: Cell| table.row([what.into(), which]);
    row("Dataset", Cell::foreign(&report.dataset.file));
    row(
        "SHA-256 of the dataset",
        Cell::foreign(&report.dataset.sha256),
    );
    row("Rows", shown::count(report.dataset.row_count).into());
    row(
        "Rows with a labelled diagnosis",
        shown::count(report.dataset.labelled_diagnosis_count).into(),
    );
    row("Profile", Cell::foreign(&report.profile));
    row("Policy", Cell::foreign(&report.policy.id));
    row(
        "SHA-256 of the policy",
        Cell::foreign(&report.policy.sha256),
    );
    row("Calibration state", report.calibration_state.name().into());
    let decision = &report.decision;
    let optional = |text: &Option<String>, without: &str| {
        text.as_ref().map_or_else(|| without.into(), Cell::foreign)
    };
    let no_id = if decision.version.is_some() {
        "two sets: with and without reference answer"
    } else {
        NO_ROWS
    };
    row("Questions", optional(&decision.id, no_id));
    row(
        "Version of the questions",
        optional(&decision.version, NO_ROWS),
    );
    row("Variant", decision.variant.name().into());
    match &report.pricing {
        None => row(
            "Prices",
            "none loaded; the cost of every judge that is not local is unknown".into(),
        ),
        Some(pricing) => {
            row("Prices", Cell::foreign(&pricing.id));
            row("Prices as of", Cell::foreign(&pricing.as_of));
            row("SHA-256 of the prices", Cell::foreign(&pricing.sha256));
        }
    }
    row("Program version", Cell::foreign(&report.program_version));
    row(
        "Schema version of the report",
        report.schema_version.to_string().into(),
    );
    table
}

fn judges(report: &Report) -> Table {
    let mut table = Table::new(
        "Judges",
        &[
            "Judge",
            "Role",
            "Type",
            "Model asked for",
            "Models that answered",
        ],
    );
    for judge in &report.judges {
        let answered = if judge.returned_models.is_empty() {
            "not told".into()
        } else {
            Cell::foreign(judge.returned_models.join(", "))
        };
        table.row([
            Cell::foreign(&judge.judge_id),
            judge.role.name().into(),
            Cell::foreign(&judge.judge_type),
            judge
                .requested_model
                .as_ref()
                .map_or_else(|| "none named".into(), Cell::foreign),
            answered,
        ]);
    }
    table
}

fn conventions(conventions: &Conventions) -> Table {
    let mut table = Table::new("Conventions", &["What", "How"]);
    let mut row = |what: &str, how: String| table.row([what.into(), how.into()]);
    row(
        "Bins",
        format!(
            "{0} of equal width and of equal mass; p is in bin min(floor(p * {0}), {0} - 1)",
            conventions.bin_count
        ),
    );
    row(
        "Log loss",
        format!(
            "probabilities are clipped to {:e} and its complement",
            conventions.log_loss_epsilon
        ),
    );
    row(
        "Equal confidences",
        format!(
            "those that agree to {} decimals",
            conventions.confidence_decimals
        ),
    );
    row(
        "Intervals",
        format!(
            "{} %: Wilson for proportions, Clopper-Pearson for risks and errors, DeLong for AUROC, the bootstrap for \
             differences",
            shown::probability(conventions.interval_level * 100.0)
        ),
    );
    row("Percentiles", conventions.percentile.clone());
    row(
        "A judgment alone counts as true",
        format!(
            "from a probability of {}",
            shown::probability(conventions.decision_threshold)
        ),
    );
    row(
        "Paired bootstrap",
        format!(
            "{} resamples, {}, seed {}",
            shown::count(u64::from(conventions.bootstrap_replicates)),
            conventions.generator,
            conventions.seed
        ),
    );
    row("p beside such an interval", conventions.bootstrap_p.clone());
    row(
        "Noise floor of ECE",
        format!(
            "mean of {} draws in which every probability is true",
            shown::count(u64::from(conventions.noise_floor_draws))
        ),
    );
    row("Many values", limit(conventions));
    table
}

/// What happens to more different values than are kept.
fn limit(conventions: &Conventions) -> String {
    format!(
        "beyond {} different values, they are rounded to {} decimals, in slices beyond {} to {}; {}",
        shown::count(conventions.exact_value_limit),
        conventions.rounded_decimals,
        shown::count(conventions.slice_exact_value_limit),
        conventions.slice_rounded_decimals,
        if conventions.is_rounded {
            "this happened here"
        } else {
            "this did not happen here"
        }
    )
}

fn parity_modes(parity: &Parity) -> Table {
    let mut table = Table::new(
        "Modes by the conventions of jev-starter: empty ratios are 0, percentiles are interpolated, ties are in input order",
        &[
            "Mode",
            "#Accuracy of answered",
            "#Overall accuracy",
            "#Answered",
            "#Fallback rate",
            "#ECE",
            "#AURC",
            "#p50",
            "#p95",
            "#Cost in USD",
        ],
    );
    let optional = |value: Option<f64>, decimals| {
        value.map_or_else(
            || "unknown".to_owned(),
            |value| shown::fixed(value, decimals),
        )
    };
    for (mode, found) in &parity.modes {
        table.row([
            mode.name().into(),
            shown::fixed(found.successful_accuracy, 4).into(),
            shown::fixed(found.overall_accuracy, 4).into(),
            shown::fixed(found.success_rate, 4).into(),
            shown::fixed(found.fallback_rate, 4).into(),
            shown::fixed(found.ece, 4).into(),
            shown::fixed(found.aurc, 4).into(),
            optional(found.p50_ms, 1).into(),
            optional(found.p95_ms, 1).into(),
            optional(found.cost_usd, 6).into(),
        ]);
    }
    table
}

fn parity_components(parity: &Parity) -> Table {
    let mut table = Table::new(
        "Components by the conventions of jev-starter",
        &["Component", "#n", "#Accuracy", "#Brier", "#ECE"],
    );
    for (name, found) in &parity.components {
        table.row([
            Cell::foreign(name),
            shown::count(found.count).into(),
            shown::fixed(found.accuracy, 4).into(),
            shown::fixed(found.brier, 4).into(),
            shown::fixed(found.ece, 4).into(),
        ]);
    }
    table
}
