//! Every metric that can be gated, and which way is better.
//!
//! A metric is named by its path in the report below `modes`, for instance `cascade.diagnosis.overall_accuracy`.
//! Counts are none: over the same rows a rate says the same.

mod catalogue;
mod nearest;

use self::catalogue::{OF_CLASS, OF_COMPONENT, OF_MODE, Row};
pub use self::nearest::why_unknown;
use crate::domain::Vocabulary as _;
use crate::domain::diagnosis::Diagnosis;
use crate::domain::dimension::Dimension;
use crate::report::model::Mode;

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// More.
    Higher,
    /// Less.
    Lower,
}

/// How a difference is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// As it is: shares, scores and errors.
    Absolute,
    /// As a share of the accepted value: money and time.
    Relative,
}

/// A metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metric {
    /// Its path.
    pub path: String,
    /// What it means.
    pub meaning: &'static str,
    /// Which way is better.
    pub better: Better,
    /// How a difference is told.
    pub scale: Scale,
    /// Whether it is gated where no rules are given.
    pub is_default: bool,
}

/// Every metric, in the order of a report.
pub fn all() -> Vec<Metric> {
    let mut metrics = Vec::new();
    for mode in Mode::ALL {
        add(&mut metrics, mode.name(), &OF_MODE);
        for class in Diagnosis::ALL {
            let prefix = format!("{mode}.diagnosis.classes.{class}");
            add(&mut metrics, &prefix, &OF_CLASS);
        }
        for &dimension in Dimension::ALL {
            let prefix = format!("{mode}.components.{}.{dimension}", side(dimension));
            add(&mut metrics, &prefix, &OF_COMPONENT);
        }
    }
    metrics
}

/// The same for any `MODE`, `DIAGNOSIS` and `SIDE.DIMENSION`.
pub fn patterns() -> Vec<Metric> {
    let mut patterns = Vec::new();
    add(&mut patterns, "MODE", &OF_MODE);
    add(&mut patterns, "MODE.diagnosis.classes.DIAGNOSIS", &OF_CLASS);
    add(
        &mut patterns,
        "MODE.components.SIDE.DIMENSION",
        &OF_COMPONENT,
    );
    patterns
}

/// The part of a path that a dimension stands below.
pub fn side(dimension: Dimension) -> &'static str {
    if dimension.is_generation() {
        "generation"
    } else {
        "retrieval"
    }
}

fn add(metrics: &mut Vec<Metric>, prefix: &str, rows: &[Row]) {
    metrics.extend(rows.iter().map(|row| Metric {
        path: format!("{prefix}.{}", row.name),
        meaning: row.meaning,
        better: row.better,
        scale: row.scale,
        is_default: row.is_default,
    }));
}
