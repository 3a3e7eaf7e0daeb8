//! The statistics against numbers that independent programs computed, and against their definitions.
//!
//! The vectors are made by their formulas, so that anybody can make them again in any language; the expected numbers come
//! from scikit-learn 1.9.1, scipy 1.12, statsmodels 0.15, torchmetrics 1.9, netcal 1.4, krippendorff 0.9, irrCAC 0.4.4.

mod agreement;
mod binomial;
mod calibration;
mod classification;
mod exact;
mod interval;
mod logistic;
mod paired;
mod properties;
mod quantile;
mod random;
mod ranking;
mod risk_control;
mod selective;
mod tally;
mod vectors;
mod violations;

use super::Absent;

/// To nine significant digits.
#[track_caller]
fn close(actual: f64, expected: f64) {
    let gap = (actual - expected).abs();
    assert!(
        gap <= 1e-9 * expected.abs().max(1e-300),
        "{actual} is not {expected}"
    );
}

/// To one unit of the last of so many decimals, for numbers that are known to no more.
#[track_caller]
fn close_to(decimals: i32, actual: f64, expected: f64) {
    let gap = (actual - expected).abs();
    assert!(
        gap <= 1.001 * 10_f64.powi(-decimals),
        "{actual} is not {expected}"
    );
}

/// Bit for bit.
#[track_caller]
fn exactly(actual: Result<f64, Absent>, expected: f64) {
    assert_eq!(
        actual.map(f64::to_bits),
        Ok(expected.to_bits()),
        "{actual:?} is not {expected}"
    );
}
