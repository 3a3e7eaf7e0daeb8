//! What is asked of which metric.
//!
//! A rule with bounds alone is not held against the accepted report: nobody asked for a tolerance.

use super::DEFAULT_TOLERANCE;
use super::metric::{self, Better, Metric, Scale};
use crate::artifact::gate_rules::{GateRule, GateRulesError, WrittenNumber};
use crate::report::model::Report;

/// The highest tolerance that can be meant.
const MAX_TOLERANCE: f64 = 1.0;

/// What is asked of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The metric.
    pub metric: Metric,
    /// The slice; without one it is over all rows.
    pub slice: Option<String>,
    /// By how much it may be worse than the accepted value; without one it is not held against that.
    pub tolerance: Option<f64>,
    /// The least value.
    pub min: Option<f64>,
    /// The highest value.
    pub max: Option<f64>,
    /// Which way is better.
    pub better: Better,
}

/// The rules where none are given: those metrics of every mode that the accepted report tells.
pub fn defaults(accepted: &Report) -> serde_json::Result<Vec<Rule>> {
    let accepted = serde_json::to_value(accepted)?;
    let told = metric::all().into_iter().filter(|metric| {
        metric.is_default && super::value(&accepted, None, &metric.path).is_some()
    });
    Ok(told
        .map(|metric| Rule {
            better: metric.better,
            metric,
            slice: None,
            tolerance: Some(DEFAULT_TOLERANCE),
            min: None,
            max: None,
        })
        .collect())
}

/// A tolerance that nearly nothing exceeds is a slip: most metrics go from 0 to 1.
fn too_much(metric: &Metric, tolerance: WrittenNumber) -> String {
    let what = match metric.scale {
        Scale::Relative => "a share of the accepted value: 0.05 is 5 %",
        Scale::Absolute => "in the unit of the metric: 0.05 is from 0.90 to 0.85",
    };
    let (line, number) = (tolerance.line, tolerance.number);
    format!(
        "{line}: tolerance = `{number}` must be at most {MAX_TOLERANCE}; of `{}` it is {what}",
        metric.path
    )
}

/// The rules of a file, over the metrics that there are and the slices of either report.
pub fn resolve(
    file: &str,
    written: Vec<GateRule>,
    reports: [&Report; 2],
) -> Result<Vec<Rule>, GateRulesError> {
    let known = metric::all();
    let mut errors = Vec::new();
    let mut rules = Vec::new();
    for rule in written {
        let metric = known.iter().find(|metric| metric.path == rule.metric.name);
        if metric.is_none() {
            let (line, name) = (rule.metric.line, &rule.metric.name);
            let why = metric::why_unknown(name);
            errors.push(format!("{file}:{line}: metric = `{name}` {why}"));
        }
        if let Some(slice) = &rule.slice
            && !reports
                .iter()
                .any(|report| report.slices.contains_key(&slice.name))
        {
            let (line, name) = (slice.line, &slice.name);
            errors.push(format!(
                "{file}:{line}: slice = `{name}` is in neither report"
            ));
        }
        let Some(metric) = metric else { continue };
        if let Some(tolerance) = rule.tolerance
            && MAX_TOLERANCE < tolerance.number
        {
            errors.push(format!("{file}:{}", too_much(metric, tolerance)));
        }
        let is_bounded = rule.min.is_some() || rule.max.is_some();
        let otherwise = (!is_bounded).then_some(DEFAULT_TOLERANCE);
        rules.push(Rule {
            better: match rule.higher_is_better {
                Some(true) => Better::Higher,
                Some(false) => Better::Lower,
                None => metric.better,
            },
            metric: metric.clone(),
            slice: rule.slice.map(|slice| slice.name),
            tolerance: rule.tolerance.map(|written| written.number).or(otherwise),
            min: rule.min,
            max: rule.max,
        });
    }
    if errors.is_empty() {
        Ok(rules)
    } else {
        Err(GateRulesError(errors))
    }
}
