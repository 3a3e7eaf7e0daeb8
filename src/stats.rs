//! Statistics: counts in, numbers out; pure.
//!
//! A number that is not defined is absent with its reason, never zero and never NaN. Values go in as [`tally::Tally`],
//! counts by distinct value, so that the order in which rows arrive changes no bit of any result. What is perfect is
//! exactly 1 and what is nothing exactly 0: nothing is added to a denominator.

pub mod tally;
pub mod random;
mod binomial;
pub mod interval;
pub mod classification;
pub mod agreement;
pub mod calibration;
pub mod ranking;
pub mod selective;
pub mod quantile;
pub mod paired;
pub mod risk_control;
pub mod logistic;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why there is no number.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
    thiserror::Error,
)]
#[serde(rename_all = "snake_case")]
pub enum Absent {
    /// There are no rows.
    #[error("no rows")]
    Empty,
    /// All rows are of one class.
    #[error("all rows are of one class")]
    SingleClass,
    /// No row is positive.
    #[error("no row is positive")]
    NoPositives,
    /// The denominator is zero.
    #[error("the denominator is zero")]
    ZeroDenominator,
    /// A part of it is not known.
    #[error("a part of it is not known")]
    Unknown,
}

/// A number that cannot be counted.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("`{0}` is not a number from 0 to 1")]
pub struct OutOfRange(pub f64);
