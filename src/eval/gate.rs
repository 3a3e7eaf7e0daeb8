//! The gate: a report against an accepted one, metric by metric.
//!
//! A difference is rounded to four decimals before it is held against its tolerance, so that .99 is one hundredth worse
//! than 1.00 and no more. A metric that was there and is gone fails. Reports of other data are no basis at all.

pub mod metric;
pub mod rules;
pub mod table;

mod reason;

use std::collections::BTreeSet;

use serde::Deserialize as _;
use serde_json::Value;

use self::metric::{Metric, Scale};
use self::rules::Rule;
use crate::report::model::{Conventions, DecisionInfo, JudgeInfo, Report, SnapshotInfo};
use crate::stats::Absent;

/// By how much a metric may be worse: as it is, or of money and time as a share of the accepted value.
pub const DEFAULT_TOLERANCE: f64 = 0.01;
/// Differences are rounded to ten-thousandths.
const STEPS: f64 = 10_000.0;

/// Why two reports cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the reports are not of the same evaluation: {}", .0.join("; "))]
pub struct Mismatch(pub Vec<String>);

/// Whether two reports are of the same rows, the same questions and the same way of counting.
pub fn check(report: &Report, accepted: &Report) -> Result<(), Mismatch> {
    let mut differences = Vec::new();
    let mut compare = |name: &str, report: String, accepted: String| {
        if report != accepted {
            differences.push(format!("{name} is `{report}`, accepted was `{accepted}`"));
        }
    };
    compare(
        "dataset.sha256",
        report.dataset.sha256.clone(),
        accepted.dataset.sha256.clone(),
    );
    let told = |name: Option<&String>| name.cloned().unwrap_or_else(|| "none".to_owned());
    let decision = |of: fn(&DecisionInfo) -> Option<&String>| {
        (told(of(&report.decision)), told(of(&accepted.decision)))
    };
    let (new, old) = decision(|decision| decision.id.as_ref());
    compare("decision.id", new, old);
    let (new, old) = decision(|decision| decision.version.as_ref());
    compare("decision.version", new, old);
    compare(
        "decision.variant",
        report.decision.variant.to_string(),
        accepted.decision.variant.to_string(),
    );
    let (new, old) = (
        conventions(&report.conventions),
        conventions(&accepted.conventions),
    );
    for ((name, new), (_, old)) in new.into_iter().zip(old) {
        compare(name, new, old);
    }
    if differences.is_empty() {
        Ok(())
    } else {
        Err(Mismatch(differences))
    }
}

/// What the numbers that can be gated depend on.
fn conventions(conventions: &Conventions) -> [(&'static str, String); 5] {
    [
        ("conventions.bin_count", conventions.bin_count.to_string()),
        (
            "conventions.log_loss_epsilon",
            conventions.log_loss_epsilon.to_string(),
        ),
        (
            "conventions.confidence_decimals",
            conventions.confidence_decimals.to_string(),
        ),
        (
            "conventions.decision_threshold",
            conventions.decision_threshold.to_string(),
        ),
        ("conventions.percentile", conventions.percentile.clone()),
    ]
}

/// What may change between two reports, and did: name, accepted, now.
pub fn changes(report: &Report, accepted: &Report) -> Vec<(&'static str, String, String)> {
    let snapshot = |snapshot: &SnapshotInfo| {
        let digest: String = snapshot.sha256.chars().take(12).collect();
        format!("{} ({digest})", snapshot.id)
    };
    let pricing = |report: &Report| {
        report.pricing.as_ref().map_or_else(
            || "none".to_owned(),
            |pricing| {
                let digest: String = pricing.sha256.chars().take(12).collect();
                format!("{} of {} ({digest})", pricing.id, pricing.as_of)
            },
        )
    };
    let judges = |report: &Report| {
        let judges: Vec<_> = report.judges.iter().map(judge).collect();
        judges.join(", ")
    };
    let rows = [
        (
            "policy",
            snapshot(&accepted.policy),
            snapshot(&report.policy),
        ),
        ("profile", accepted.profile.clone(), report.profile.clone()),
        ("judges", judges(accepted), judges(report)),
        ("pricing", pricing(accepted), pricing(report)),
        (
            "calibration",
            accepted.calibration_state.to_string(),
            report.calibration_state.to_string(),
        ),
        (
            "program",
            accepted.program_version.clone(),
            report.program_version.clone(),
        ),
    ];
    rows.into_iter()
        .filter(|(_, old, new)| old != new)
        .collect()
}

fn judge(judge: &JudgeInfo) -> String {
    let asked = judge.requested_model.iter();
    let models: BTreeSet<_> = asked.chain(&judge.returned_models).collect();
    let models: Vec<_> = models.into_iter().map(String::as_str).collect();
    format!("{} {} [{}]", judge.role, judge.judge_id, models.join(" "))
}

/// A metric of both reports.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The metric.
    pub metric: Metric,
    /// The slice.
    pub slice: Option<String>,
    /// Its accepted value.
    pub accepted: Option<f64>,
    /// Its value now.
    pub report: Option<f64>,
    /// The difference, rounded; of money and time as a share of the accepted value.
    pub delta: Option<f64>,
    /// Why there is no value now, if the report tells.
    pub absent: Option<Absent>,
    /// How many rows or judgments the accepted value is over, if that report tells.
    pub accepted_count: Option<u64>,
    /// How many rows there are, of which it is over some or all.
    pub row_count: Option<u64>,
    /// Whether it is a metric over all rows that slices do not have.
    pub is_of_all_rows_alone: bool,
}

/// A metric that is gated.
#[derive(Debug, Clone, PartialEq)]
pub struct Gated {
    /// The metric.
    pub line: Line,
    /// What is asked of it.
    pub rule: Rule,
    /// How it ended.
    pub result: GateResult,
}

/// How a metric that is gated ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GateResult {
    /// Nothing is wrong.
    Passed,
    /// What is wrong.
    Failed(Vec<String>),
    /// The rule holds nothing, and why.
    Error(&'static str),
}

/// What a gate says.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    /// What is gated, in the order of the rules.
    pub gated: Vec<Gated>,
    /// What moved beside.
    pub moved: Vec<Line>,
}

impl Findings {
    /// Metrics that pass.
    pub fn passed_count(&self) -> usize {
        let passed = self
            .gated
            .iter()
            .filter(|gated| gated.result == GateResult::Passed);
        passed.count()
    }

    /// Whether all do.
    pub fn is_passed(&self) -> bool {
        self.passed_count() == self.gated.len()
    }
}

/// Holds a report against an accepted one by these rules.
pub fn judge_report(
    report: &Report,
    accepted: &Report,
    rules: &[Rule],
) -> serde_json::Result<Findings> {
    let reports = Reports {
        report: serde_json::to_value(report)?,
        accepted: serde_json::to_value(accepted)?,
    };
    let gated: Vec<_> = rules
        .iter()
        .map(|rule| {
            let line = reports.line(&rule.metric, rule.slice.as_deref());
            Gated {
                result: reason::result(rule, &line),
                line,
                rule: rule.clone(),
            }
        })
        .collect();
    let named: BTreeSet<_> = rules
        .iter()
        .map(|rule| (rule.slice.as_deref(), rule.metric.path.as_str()))
        .collect();
    let slices: BTreeSet<_> = report.slices.keys().chain(accepted.slices.keys()).collect();
    let slices = std::iter::once(None).chain(slices.into_iter().map(|name| Some(name.as_str())));
    let metrics = metric::all();
    let mut moved = Vec::new();
    for slice in slices {
        let others = metrics
            .iter()
            .filter(|metric| !named.contains(&(slice, metric.path.as_str())));
        let lines = others.map(|metric| reports.line(metric, slice));
        moved.extend(lines.filter(Line::has_moved));
    }
    Ok(Findings { gated, moved })
}

/// Both reports as JSON, in which paths are looked up.
struct Reports {
    report: Value,
    accepted: Value,
}

impl Reports {
    fn line(&self, metric: &Metric, slice: Option<&str>) -> Line {
        let report = value(&self.report, slice, &metric.path);
        let accepted = value(&self.accepted, slice, &metric.path);
        Line {
            metric: metric.clone(),
            slice: slice.map(str::to_owned),
            accepted,
            report,
            delta: report
                .zip(accepted)
                .map(|(report, accepted)| delta(metric.scale, report, accepted)),
            absent: absent(&self.report, slice, &metric.path),
            accepted_count: count(&self.accepted, slice, &metric.path),
            row_count: row_count(&self.accepted, slice, &metric.path),
            is_of_all_rows_alone: part(&self.report, slice, &metric.path).is_none()
                && part(&self.report, None, &metric.path).is_some(),
        }
    }
}

impl Line {
    fn has_moved(&self) -> bool {
        match self.delta {
            Some(delta) => delta.abs() > 0.0,
            None => self.report.is_some() != self.accepted.is_some(),
        }
    }
}

/// A part of a report over all rows or over a slice.
fn part<'a>(report: &'a Value, slice: Option<&str>, path: &str) -> Option<&'a Value> {
    let modes = match slice {
        None => report.get("modes")?,
        Some(name) => report.get("slices")?.get(name)?.get("modes")?,
    };
    path.split('.').try_fold(modes, |value, key| value.get(key))
}

/// A number of a report, or of a measure that has one.
fn value(report: &Value, slice: Option<&str>, path: &str) -> Option<f64> {
    let found = part(report, slice, path)?;
    found.as_f64().or_else(|| found.get("value")?.as_f64())
}

/// Why a measure has no number.
fn absent(report: &Value, slice: Option<&str>, path: &str) -> Option<Absent> {
    let absent = part(report, slice, path)?.get("absent")?;
    Absent::deserialize(absent).ok()
}

/// How many rows or judgments a number is over, where the report counts just these.
fn count(report: &Value, slice: Option<&str>, path: &str) -> Option<u64> {
    let (parent, name) = path.rsplit_once('.')?;
    let count = match name {
        "false_pass" => format!("{parent}.classes.PASS.predicted_count"),
        "error" => format!("{parent}.answered_count"),
        "accuracy" | "brier" | "log_loss" | "auroc" => format!("{parent}.scored_count"),
        "precision" => format!("{parent}.predicted_count"),
        "recall" => format!("{parent}.support"),
        name if name.ends_with("_ms") => format!("{parent}.count"),
        _ => return None,
    };
    part(report, slice, &count)?.as_u64()
}

/// The rows of a mode.
fn row_count(report: &Value, slice: Option<&str>, path: &str) -> Option<u64> {
    let (mode, _) = path.split_once('.')?;
    part(report, slice, &format!("{mode}.row_count"))?.as_u64()
}

/// The rounded difference; anything is infinitely more than nothing.
fn delta(scale: Scale, report: f64, accepted: f64) -> f64 {
    let difference = report - accepted;
    let difference = match scale {
        Scale::Absolute => difference,
        Scale::Relative if difference.abs() > 0.0 => difference / accepted.abs(),
        Scale::Relative => 0.0,
    };
    (difference * STEPS).round() / STEPS
}
