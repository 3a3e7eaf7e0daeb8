//! The dimensions against their labels, retrieval and generation apart; there is no score over them.

use std::collections::BTreeMap;

use super::{Section, Table, counts, run, shown};
use crate::domain::Vocabulary as _;
use crate::domain::dimension::Dimension;
use crate::report::model::quality::{ComponentReport, Components};
use crate::report::model::{Mode, ModeReport, Report};

type Side = fn(&Components) -> &BTreeMap<Dimension, ComponentReport>;

/// The columns about probabilities.
const PROBABILITIES: [&str; 20] = [
    "Dimension",
    "Mode",
    "#Scored",
    "#Brier",
    "#of it reliability",
    "#resolution",
    "#uncertainty",
    "#Log loss",
    "#ECE",
    "#Noise floor",
    "#ECE of equal mass",
    "#MCE",
    "#MCE of bins of ten",
    "#RMSCE",
    "#ECE of confidence",
    "#AUROC",
    "#Average precision",
    "#AURC",
    "#E-AURC",
    "#AUGRC",
];

pub(super) fn section(report: &Report) -> Section {
    let mut sentences = vec![
        "Each dimension stands for itself; retrieval and generation are never added up to one score.".to_owned(),
    ];
    let mut told: Vec<(Mode, &Components)> = Vec::new();
    for (mode, found) in run(&report.modes) {
        match &found.components {
            Some(components) => told.push((mode, components)),
            None => sentences.push(format!("{mode} has no components: {}.", why_none(found))),
        }
    }
    let sides: [(&str, Side); 2] = [
        ("Retrieval", |components| &components.retrieval),
        ("Generation", |components| &components.generation),
    ];
    let mut tables = Vec::new();
    for (name, side) in sides {
        let rows: Vec<_> = told
            .iter()
            .flat_map(|(mode, components)| {
                side(components)
                    .iter()
                    .map(|(dimension, component)| (*mode, *dimension, component))
            })
            .collect();
        if !rows.is_empty() {
            tables.push(right(name, &rows));
            tables.push(probabilities(name, &rows));
            tables.push(policy(name, &rows));
        }
    }
    Section {
        id: "components",
        title: "Components",
        sentences,
        tables,
    }
}

/// Why a mode has no components.
fn why_none(found: &ModeReport) -> &'static str {
    if found.latency.all.count == 0 {
        "no judge was asked"
    } else if found.row_count <= found.failed_count + found.not_assessable_count {
        "no row has a usable answer"
    } else {
        "its judge gave whole diagnoses"
    }
}

type Row<'a> = (Mode, Dimension, &'a ComponentReport);

fn right(side: &str, rows: &[Row<'_>]) -> Table {
    let mut table = Table::new(
        format!(
            "{side}: right or wrong, a probability of at least 0.5 taken as true; chunk_relevance counts chunks"
        ),
        &[
            "Dimension",
            "Mode",
            "#Scored",
            "#True by label",
            "#Not applicable",
            "#Failed",
            "Failures",
            "#Unlabelled",
            "#Accuracy",
            "#Overall accuracy",
            "#Balanced accuracy",
            "#Precision",
            "#Recall",
            "#F1",
            "#MCC",
        ],
    );
    for (mode, dimension, component) in rows {
        let decided = &component.decided;
        table.row([
            dimension.name().into(),
            mode.name().into(),
            shown::count(component.scored_count).into(),
            shown::count(component.positive_count).into(),
            shown::count(component.not_applicable_count).into(),
            shown::count(component.failed_count).into(),
            counts(
                component
                    .failures
                    .iter()
                    .map(|(name, count)| (*name, *count)),
            )
            .into(),
            shown::count(component.unlabelled_count).into(),
            shown::percent(&decided.accuracy).into(),
            shown::percent(&component.overall_accuracy).into(),
            shown::number(&decided.balanced_accuracy).into(),
            shown::number(&decided.precision).into(),
            shown::number(&decided.recall).into(),
            shown::number(&decided.f1).into(),
            shown::number(&decided.mcc).into(),
        ]);
    }
    table
}

fn probabilities(side: &str, rows: &[Row<'_>]) -> Table {
    let mut table = Table::new(
        format!(
            "{side}: the probabilities; ECE that does not exceed its noise floor shows no miscalibration"
        ),
        &PROBABILITIES,
    );
    for (mode, dimension, component) in rows {
        let calibration = &component.calibration;
        let part = |value: Option<f64>| {
            value.map_or_else(
                || shown::reason(component.brier.absent),
                |value| shown::fixed(value, 3),
            )
        };
        let murphy = component.murphy;
        table.row([
            dimension.name().into(),
            mode.name().into(),
            shown::count(component.scored_count).into(),
            shown::number(&component.brier).into(),
            part(murphy.map(|murphy| murphy.reliability)).into(),
            part(murphy.map(|murphy| murphy.resolution)).into(),
            part(murphy.map(|murphy| murphy.uncertainty)).into(),
            shown::number(&component.log_loss).into(),
            shown::number(&calibration.ece).into(),
            calibration
                .ece_noise_floor
                .as_ref()
                .map_or_else(|| "none".to_owned(), shown::number)
                .into(),
            shown::number(&calibration.ece_equal_mass).into(),
            shown::number(&calibration.mce).into(),
            shown::number(&calibration.mce_of_ten).into(),
            shown::number(&calibration.rmsce).into(),
            shown::number(&component.confidence_ece).into(),
            shown::number(&component.auroc).into(),
            shown::number(&component.average_precision).into(),
            shown::number(&component.selective.aurc).into(),
            shown::number(&component.selective.e_aurc).into(),
            shown::number(&component.selective.augrc).into(),
        ]);
    }
    table
}

fn policy(side: &str, rows: &[Row<'_>]) -> Table {
    let mut table = Table::new(
        format!("{side}: at the thresholds of the policy"),
        &[
            "Dimension",
            "Mode",
            "#False at most",
            "#True at least",
            "#Scored",
            "#Uncertain",
            "#Coverage",
            "#Risk",
            "#Taken as true",
            "#Wrong",
            "#Risk of true",
            "#Taken as false",
            "#Wrong",
            "#Risk of false",
        ],
    );
    for (mode, dimension, component) in rows {
        let Some(policy) = &component.at_policy else {
            let mut cells = vec![dimension.name().into(), mode.name().into()];
            cells.resize(table.head.len(), "none: switched off".into());
            table.row(cells);
            continue;
        };
        table.row([
            dimension.name().into(),
            mode.name().into(),
            shown::probability(policy.fail_at).into(),
            shown::probability(policy.pass_at).into(),
            shown::count(component.scored_count).into(),
            shown::count(policy.uncertain_count).into(),
            shown::percent(&policy.coverage).into(),
            shown::percent(&policy.risk).into(),
            shown::count(policy.positive_count).into(),
            shown::count(policy.positive_wrong_count).into(),
            shown::percent(&policy.positive_risk).into(),
            shown::count(policy.negative_count).into(),
            shown::count(policy.negative_wrong_count).into(),
            shown::percent(&policy.negative_risk).into(),
        ]);
    }
    table
}
