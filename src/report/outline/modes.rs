//! The modes beside each other: what they get right, what they leave, how long they take and what they cost.

use super::{Section, Table, answer, counts, run, shown};
use crate::domain::Vocabulary as _;
use crate::domain::outcome::Route;
use crate::report::model::spent::{Latency, LegCost};
use crate::report::model::{Mode, ModeReport, Report};

pub(super) fn section(report: &Report) -> Section {
    let modes: Vec<_> = run(&report.modes).collect();
    let mut tables = vec![overview(&modes), quality(&modes), ends(&modes)];
    tables.extend(band(report));
    tables.push(latency(&modes));
    tables.push(cost(&modes));
    Section {
        id: "modes",
        title: "Modes on the same rows",
        sentences: vec![
            "Accuracy is over the rows with a label and a usable answer; in overall accuracy a row without a usable \
             answer counts as wrong."
                .to_owned(),
            "Coverage is the share of the assessable rows that was decided without the fallback judge, fallback rate the \
             share that needed it."
                .to_owned(),
        ],
        tables,
    }
}

fn overview(modes: &[(Mode, &ModeReport)]) -> Table {
    let mut table = Table::new(
        "Modes",
        &[
            "Mode",
            "#Rows",
            "#Failed",
            "#Labelled",
            "#Accuracy",
            "#Overall accuracy",
            "#Coverage",
            "#Fallback rate",
            "#Cost of 1,000 assessable rows",
            "#p50",
            "#p95",
        ],
    );
    for (mode, report) in modes {
        let diagnosis = &report.diagnosis;
        table.row([
            mode.name().into(),
            shown::count(report.row_count).into(),
            shown::count(report.failed_count).into(),
            shown::count(diagnosis.scored_count + diagnosis.failed_count).into(),
            shown::percent(&diagnosis.accuracy).into(),
            shown::percent(&diagnosis.overall_accuracy).into(),
            shown::percent(&report.coverage).into(),
            shown::percent(&report.fallback_rate).into(),
            shown::usd_per_thousand(&report.cost.per_row_nano_usd).into(),
            shown::milliseconds(&report.latency.all.p50_ms).into(),
            shown::milliseconds(&report.latency.all.p95_ms).into(),
        ]);
    }
    table
}

fn quality(modes: &[(Mode, &ModeReport)]) -> Table {
    let mut table = Table::new(
        "Quality of the diagnoses: false PASS is wrong among every PASS given, false failure a labelled PASS among every \
         failing diagnosis given, whichever judge gave it; the last six columns are about finding what is not a PASS",
        &[
            "Mode",
            "#Scored",
            "#Balanced accuracy",
            "#MCC",
            "#Macro F1",
            "#False PASS",
            "#False failure",
            "#n",
            "#Precision",
            "#Recall",
            "#F1",
            "#MCC of this",
        ],
    );
    for (mode, report) in modes {
        let diagnosis = &report.diagnosis;
        let failing = &diagnosis.failing;
        let count = failing.true_positive_count
            + failing.false_positive_count
            + failing.true_negative_count
            + failing.false_negative_count;
        table.row([
            mode.name().into(),
            shown::count(diagnosis.scored_count).into(),
            shown::number(&diagnosis.balanced_accuracy).into(),
            shown::number(&diagnosis.mcc).into(),
            shown::number(&diagnosis.macro_f1).into(),
            shown::percent(&diagnosis.false_pass).into(),
            shown::percent(&diagnosis.false_fail).into(),
            shown::count(count).into(),
            shown::number(&failing.precision).into(),
            shown::number(&failing.recall).into(),
            shown::number(&failing.f1).into(),
            shown::number(&failing.mcc).into(),
        ]);
    }
    table
}

fn ends(modes: &[(Mode, &ModeReport)]) -> Table {
    let mut table = Table::new(
        "How rows ended",
        &[
            "Mode",
            "#Assessable",
            "#Not assessable",
            "Routes",
            "#Failure rate",
            "Failures",
            "Fallback judge gave nothing",
        ],
    );
    for (mode, report) in modes {
        table.row([
            mode.name().into(),
            shown::count(answer::assessable(report)).into(),
            shown::count(report.not_assessable_count).into(),
            counts(report.routes.iter().map(|(name, count)| (*name, *count))).into(),
            shown::percent(&report.failure_rate).into(),
            counts(report.failures.iter().map(|(name, count)| (*name, *count))).into(),
            counts(
                report
                    .fallback_unavailable
                    .iter()
                    .map(|(name, count)| (*name, *count)),
            )
            .into(),
        ]);
    }
    table
}

fn band(report: &Report) -> Option<Table> {
    let band = report.modes.cascade.as_ref()?.band.as_ref()?;
    let mut table = Table::new(
        "Rows that the atomic judge left uncertain",
        &[
            "What",
            "#Labelled",
            "#Answered by the fallback judge",
            "#Wrong",
        ],
    );
    table.row([
        "needed the fallback judge".into(),
        shown::count(band.labelled_count).into(),
        shown::count(band.answered_count).into(),
        shown::percent(&band.error).into(),
    ]);
    let diagnosis = &report.modes.cascade.as_ref()?.diagnosis;
    let labelled = diagnosis.scored_count + diagnosis.failed_count;
    table.row([
        "decided without it".into(),
        shown::count(labelled.saturating_sub(band.labelled_count)).into(),
        "not asked".into(),
        shown::percent(&band.decided_error).into(),
    ]);
    Some(table)
}

fn latency(modes: &[(Mode, &ModeReport)]) -> Table {
    let mut table = Table::new(
        "Latency of the rows that asked a judge, failed ones too: the sum of the calls that had to wait for each other",
        &[
            "Mode", "Route", "#Rows", "#Mean", "#p50", "#p95", "#p99", "#Slowest",
        ],
    );
    for (mode, report) in modes {
        latency_row(&mut table, *mode, None, &report.latency.all);
        for (route, latency) in &report.latency.routes {
            latency_row(&mut table, *mode, Some(*route), latency);
        }
    }
    table
}

fn latency_row(table: &mut Table, mode: Mode, route: Option<Route>, latency: &Latency) {
    table.row([
        mode.name().into(),
        route.map_or("all", Route::name).into(),
        shown::count(latency.count).into(),
        shown::milliseconds(&latency.mean_ms).into(),
        shown::milliseconds(&latency.p50_ms).into(),
        shown::milliseconds(&latency.p95_ms).into(),
        shown::milliseconds(&latency.p99_ms).into(),
        shown::milliseconds(&latency.max_ms).into(),
    ]);
}

fn cost(modes: &[(Mode, &ModeReport)]) -> Table {
    let mut table = Table::new(
        "Cost by leg; a sum over calls of which one has no known cost is unknown, and what is known stands beside",
        &[
            "Mode",
            "Leg",
            "#Rows asked",
            "#Rows of unknown cost",
            "#Cost",
            "#Known part",
            "#Input tokens",
            "#Output tokens",
            "#Failed calls",
            "#Calls without tokens",
        ],
    );
    for (mode, report) in modes {
        let (first, second) = (&report.cost.first, &report.cost.second);
        cost_row(&mut table, *mode, "first judge", first);
        if *mode == Mode::Cascade {
            cost_row(&mut table, *mode, "fallback judge", second);
            let both = LegCost {
                row_count: report.cost.row_count,
                unknown_count: report.cost.unknown_count,
                nano_usd: report.cost.total_nano_usd,
                known_nano_usd: first.known_nano_usd.saturating_add(second.known_nano_usd),
                input_token_count: first.input_token_count + second.input_token_count,
                output_token_count: first.output_token_count + second.output_token_count,
                failed_call_count: first.failed_call_count + second.failed_call_count,
                untold_count: first.untold_count + second.untold_count,
            };
            cost_row(&mut table, *mode, "both", &both);
        }
    }
    table
}

fn cost_row(table: &mut Table, mode: Mode, leg: &str, cost: &LegCost) {
    table.row([
        mode.name().into(),
        leg.into(),
        shown::count(cost.row_count).into(),
        shown::count(cost.unknown_count).into(),
        shown::usd(cost.nano_usd).into(),
        shown::usd(Some(cost.known_nano_usd)).into(),
        shown::count(cost.input_token_count).into(),
        shown::count(cost.output_token_count).into(),
        shown::count(cost.failed_call_count).into(),
        shown::count(cost.untold_count).into(),
    ]);
}
