//! Whether confidences mean what they say, and what may be accepted at which risk.

use super::{Section, Table, first_components, run, shown};
use crate::domain::Vocabulary as _;
use crate::report::model::Report;
use crate::report::model::compared::CostQuality;
use crate::report::model::quality::Bin;

pub(super) fn section(report: &Report) -> Section {
    Section {
        id: "confidence",
        title: "Confidence, coverage and risk",
        sentences: Vec::new(),
        tables: [calibration(report), thresholds(report)]
            .into_iter()
            .chain(report.cost_quality.as_ref().map(cost_quality))
            .collect(),
    }
}

fn calibration(report: &Report) -> Table {
    let mut table = Table::new(
        "Confidence of the diagnoses against their being right, over all scored rows with a confidence, JUDGE_UNCERTAIN too",
        &[
            "Mode",
            "#Scored",
            "#Without confidence",
            "#ECE",
            "#Noise floor",
            "#ECE of equal mass",
            "#MCE",
            "#MCE of bins of ten",
            "#RMSCE",
            "#AURC",
            "#E-AURC",
            "#AUGRC",
        ],
    );
    for (mode, found) in run(&report.modes) {
        let confidence = &found.diagnosis.confidence;
        let scores = &confidence.calibration;
        table.row([
            mode.name().into(),
            shown::count(confidence.scored_count).into(),
            shown::count(confidence.without_confidence_count).into(),
            shown::number(&scores.ece).into(),
            scores
                .ece_noise_floor
                .as_ref()
                .map_or_else(|| "none".to_owned(), shown::number)
                .into(),
            shown::number(&scores.ece_equal_mass).into(),
            shown::number(&scores.mce).into(),
            shown::number(&scores.mce_of_ten).into(),
            shown::number(&scores.rmsce).into(),
            shown::number(&confidence.selective.aurc).into(),
            shown::number(&confidence.selective.e_aurc).into(),
            shown::number(&confidence.selective.augrc).into(),
        ]);
    }
    table
}

fn thresholds(report: &Report) -> Table {
    let mut table = Table::new(
        "What a threshold on the confidence would accept of the labelled rows; one that is JUDGE_UNCERTAIN, failed or without \
         a confidence is never accepted",
        &[
            "Mode",
            "#At least",
            "#Accepted",
            "#Labelled",
            "#Coverage",
            "#Wrong",
            "#Risk",
        ],
    );
    for (mode, found) in run(&report.modes) {
        let confidence = &found.diagnosis.confidence;
        for point in &confidence.selective.thresholds {
            table.row([
                mode.name().into(),
                shown::probability(point.threshold).into(),
                shown::count(point.accepted_count).into(),
                shown::count(confidence.selective.row_count).into(),
                shown::percent(&point.coverage).into(),
                shown::count(point.wrong_count).into(),
                shown::percent(&point.risk).into(),
            ]);
        }
    }
    table
}

/// Every so manieth threshold; the page has them all.
const STEP: usize = 5;

fn cost_quality(told: &CostQuality) -> Table {
    let mut table = Table::new(
        "What a threshold on the confidence of the atomic diagnosis would do to the labelled rows: below it, and where that is \
         JUDGE_UNCERTAIN or failed, the fallback judge alone decides; in the mean latency a row that asked no judge counts \
         as 0 ms",
        &[
            "At least",
            "#Labelled",
            "#Accepted",
            "#Wrong among these",
            "#Left to the fallback judge",
            "#Right in the end",
            "#Cost of these rows",
            "#Mean latency",
        ],
    );
    let rows = told.accepted.iter().zip(&told.accepted_wrong);
    let rows = rows.zip(&told.right).zip(&told.mean_latency_ms);
    for (place, (((accepted, wrong), right), latency)) in rows.enumerate().step_by(STEP) {
        let nano_usd = told
            .nano_usd
            .as_ref()
            .and_then(|costs| costs.get(place).copied());
        table.row([
            shown::fixed(place as f64 / 100.0, 2).into(),
            shown::count(told.row_count).into(),
            shown::count(*accepted).into(),
            shown::count(*wrong).into(),
            shown::count(told.row_count.saturating_sub(*accepted)).into(),
            shown::count(*right).into(),
            shown::usd(nano_usd).into(),
            format!("{} ms", shown::fixed(*latency, 1)).into(),
        ]);
    }
    table
}

/// The bins of every dimension of the first mode that has any, and of the confidence of every mode.
pub(super) fn bins(report: &Report) -> Vec<(String, &[Bin])> {
    let mut told: Vec<(String, &[Bin])> = Vec::new();
    if let Some((mode, components)) = first_components(report) {
        for (dimension, component) in components.retrieval.iter().chain(&components.generation) {
            let name = format!("{}, {}", dimension.name(), mode.name());
            told.push((name, &component.calibration.reliability));
        }
    }
    for (mode, found) in run(&report.modes) {
        let name = format!("confidence, {}", mode.name());
        told.push((name, &found.diagnosis.confidence.calibration.reliability));
    }
    told
}

/// Bins as a table.
pub(super) fn bins_table(name: &str, bins: &[Bin]) -> Table {
    let mut table = Table::new(
        format!("Reliability of {name}"),
        &["From", "#To", "#n", "#Mean", "#Share that is true"],
    );
    for bin in bins {
        table.row([
            shown::probability(bin.low).into(),
            shown::probability(bin.high).into(),
            shown::count(bin.count).into(),
            shown::number(&bin.mean).into(),
            shown::percent(&bin.rate).into(),
        ]);
    }
    table
}
