//! A bench as Markdown tables: for a terminal or a pull request.

use super::block::{bound, risk, short, without_interval};
use super::{Bench, BenchCoverage, BenchDimension, BenchGuarded, BenchRisk, BenchSide};
use crate::domain::Vocabulary as _;
use crate::domain::failure::FailureReason;
use crate::report::markdown::{code, line, rows};
use crate::report::model::Measure;
use crate::report::outline::{Cell, Table};
use crate::report::shown;

/// Every number of the bench; the same bench gives the same bytes.
pub fn write(bench: &Bench) -> String {
    let mut text = short(bench);
    if !bench.excluded.is_empty() {
        line(&mut text, &excluded(bench));
    }
    let tables = [
        ranked(bench),
        calibrated(bench),
        automatic(bench),
        passes(bench),
        fails(bench),
        guards(bench),
        latency(bench),
    ];
    for found in tables {
        if !found.rows.is_empty() {
            line(&mut text, &format!("\n**{}**\n", found.caption));
            rows(&mut text, &found, usize::MAX);
        }
    }
    text
}

/// How many rows of which set were left out.
fn excluded(bench: &Bench) -> String {
    let files: Vec<_> = bench.excluded.iter().map(|file| code(&file.file)).collect();
    let sets = bench.sets.iter().filter(|set| set.excluded_row_count != 0);
    let counts: Vec<_> = sets
        .map(|set| {
            let count = shown::count(set.excluded_row_count);
            format!("{count} of {}", code(&set.name))
        })
        .collect();
    let counts = if counts.is_empty() {
        "none".to_owned()
    } else {
        counts.join(", ")
    };
    format!(
        "Rows left out because they share a context with {}: {counts}.",
        files.join(" or ")
    )
}

/// Every dimension of every set, with the cells that name it.
fn dimensions(bench: &Bench) -> impl Iterator<Item = (Vec<Cell>, &BenchDimension)> {
    bench.sets.iter().flat_map(|set| {
        set.dimensions.iter().map(|(dimension, report)| {
            let named = vec![Cell::foreign(&set.name), dimension.name().into()];
            (named, report)
        })
    })
}

fn ranked(bench: &Bench) -> Table {
    let mut ranked = Table::new(
        "Dimensions against their labels",
        &[
            "data set",
            "dimension",
            "#labelled",
            "#judged",
            "#failed",
            "why",
            "#do not apply",
            "#labelled true",
            "#AUROC",
            "#balanced accuracy",
            "#groups",
        ],
    );
    for (mut cells, report) in dimensions(bench) {
        cells.extend([
            shown::count(report.labelled_count).into(),
            shown::count(report.judged_count).into(),
            shown::count(report.failed_count).into(),
            reasons(report).into(),
            shown::count(report.not_applicable_count).into(),
            shown::percent(&without_interval(&report.prevalence)).into(),
            shown::number(&report.auroc).into(),
            shown::number(&report.balanced_accuracy).into(),
            shown::count(report.group_count).into(),
        ]);
        ranked.row(cells);
    }
    ranked
}

fn reasons(report: &BenchDimension) -> String {
    let told = |(reason, count): (&FailureReason, &u64)| format!("{reason} {count}");
    let told: Vec<_> = report.failures.iter().map(told).collect();
    if told.is_empty() {
        "-".to_owned()
    } else {
        told.join(", ")
    }
}

fn calibrated(bench: &Bench) -> Table {
    let mut calibrated = Table::new(
        "Whether probabilities mean what they say",
        &[
            "data set",
            "dimension",
            "#judged",
            "#Brier",
            "#ECE",
            "#its noise floor",
        ],
    );
    for (mut cells, report) in dimensions(bench) {
        cells.extend([
            shown::count(report.judged_count).into(),
            shown::number(&report.brier).into(),
            shown::number(&report.ece).into(),
            shown::number(&report.ece_noise_floor).into(),
        ]);
        calibrated.row(cells);
    }
    calibrated
}

fn automatic(bench: &Bench) -> Table {
    let mut automatic = Table::new(
        "What thresholds from the labels of the set itself could decide",
        &[
            "data set",
            "dimension",
            "#error at most",
            "#pass side",
            "#at",
            "#wrong",
            "#at most",
            "#fail side",
            "#at",
            "#wrong",
            "#at most",
        ],
    );
    for (cells, report) in dimensions(bench) {
        for coverage in &report.automatic {
            let BenchCoverage { error, pass, fail } = coverage;
            let mut cells = cells.clone();
            cells.push(format!("{} %", shown::fixed(error * 100.0, 0)).into());
            cells.extend(side(pass));
            cells.extend(side(fail));
            automatic.row(cells);
        }
    }
    automatic
}

fn side(side: &BenchSide) -> [Cell; 4] {
    let threshold = side.threshold;
    [
        shown::percent(&without_interval(&side.share)).into(),
        threshold
            .map_or_else(|| "-".to_owned(), shown::probability)
            .into(),
        format!(
            "{} of {}",
            shown::count(side.wrong_count),
            shown::count(side.decided_count)
        )
        .into(),
        bound(&side.error_bound).into(),
    ]
}

fn decisions(caption: &str, what: &str) -> Table {
    Table::new(
        caption,
        &[
            "data set",
            what,
            "#decisions",
            "#wrong, of those with a label",
            "#at most",
        ],
    )
}

fn decided(table: &mut Table, set: &str, what: &str, counted: &BenchRisk) {
    let mut cells = vec![Cell::foreign(set), what.into()];
    cells.extend(risk(counted));
    table.row(cells);
}

fn passes(bench: &Bench) -> Table {
    let mut passes = decisions("Every PASS by what is labelled", "label");
    for set in &bench.sets {
        decided(&mut passes, &set.name, "any", &set.policy.pass);
        for (dimension, counted) in &set.policy.pass_by_label {
            decided(&mut passes, &set.name, dimension.name(), counted);
        }
    }
    passes
}

fn fails(bench: &Bench) -> Table {
    let mut fails = decisions("Every failing diagnosis", "diagnosis");
    for set in &bench.sets {
        decided(&mut fails, &set.name, "all", &set.policy.fail);
        for (diagnosis, counted) in &set.policy.fail_by_diagnosis {
            decided(&mut fails, &set.name, diagnosis.name(), counted);
        }
    }
    fails
}

fn guards(bench: &Bench) -> Table {
    let share = bench.conventions.guard_containment;
    let mut guards = Table::new(
        format!(
            "What guards forbid, where {} of the content words of the answer stand in the context",
            shown::probability(share)
        ),
        &[
            "data set",
            "label",
            "#rows",
            "#PASS is forbidden",
            "#a guard found a mismatch",
            "by guard",
        ],
    );
    for set in &bench.sets {
        let sides = [
            ("grounded", &set.guards.grounded),
            ("not grounded", &set.guards.ungrounded),
        ];
        for (label, guarded) in sides {
            if guarded.row_count != 0 {
                let mut cells = vec![Cell::foreign(&set.name), label.into()];
                cells.extend(guard_cells(guarded));
                guards.row(cells);
            }
        }
    }
    guards
}

fn guard_cells(guarded: &BenchGuarded) -> [Cell; 4] {
    let by_guard = guarded.by_guard.iter();
    let by_guard: Vec<_> = by_guard
        .map(|(guard, count)| format!("{guard} {count}"))
        .collect();
    [
        shown::count(guarded.row_count).into(),
        shown::percent(&guarded.vetoed).into(),
        shown::percent(&guarded.mismatch).into(),
        by_guard.join(", ").into(),
    ]
}

fn latency(bench: &Bench) -> Table {
    let mut latency = Table::new(
        "Time on this machine",
        &[
            "data set",
            "#rows",
            "#at once",
            "#median, µs",
            "#95 % within, µs",
            "#rows a second",
        ],
    );
    let whole = |measure: &Measure| {
        measure
            .value
            .map_or_else(|| "-".to_owned(), |value| shown::fixed(value, 0))
    };
    for (name, report) in &bench.latency {
        latency.row([
            Cell::foreign(name),
            shown::count(report.row_count).into(),
            shown::count(report.concurrency).into(),
            whole(&report.p50_us).into(),
            whole(&report.p95_us).into(),
            whole(&report.rows_per_second).into(),
        ]);
    }
    latency
}
