//! Bounds on a risk, and thresholds that hold one.
//!
//! Every p-value is of the hypothesis that the risk is above alpha; it is at most delta exactly where the upper bound
//! with chance delta of being wrong is at most alpha. What cannot be shown is not certified: the answer is then none.

mod threshold;

pub use self::threshold::{
    Conformal, Side, Target, Tested, Walk, class_conditional, conformal, fixed_sequence,
    hundredths, sgr,
};

use super::binomial;

/// The exact binomial p-value for `k` errors among `n`: P(Bin(n, alpha) <= k); 1 for an alpha that is no number.
pub fn binomial_p_value(k: u64, n: u64, alpha: f64) -> f64 {
    if alpha.is_nan() {
        return 1.0;
    }
    binomial::at_most(k, n, alpha)
}

/// The p-value of Hoeffding and Bentkus (Bates et al. 2021) for a mean loss of 0..1 over `n`:
/// min(exp(-n h(min(risk, alpha), alpha)), e P(Bin(n, alpha) <= ceil(n risk))),
/// h(a, b) = a ln(a/b) + (1-a) ln((1-a)/(1-b)).
///
/// For losses that are 0 or 1 the exact binomial p-value is smaller. For what is no mean loss it is 1.
pub fn hoeffding_bentkus_p_value(risk: f64, n: u64, alpha: f64) -> f64 {
    if !(0.0..=1.0).contains(&risk) || alpha.is_nan() {
        return 1.0;
    }
    let rows = n as f64;
    let below = risk.min(alpha);
    let divergence = times_log(below, alpha) + times_log(1.0 - below, 1.0 - alpha);
    let hoeffding = (-rows * divergence).exp();
    // A risk of k errors times n may come out a little above k.
    let errors = (rows * risk * (1.0 - 1e-12)).ceil() as u64;
    let bentkus = std::f64::consts::E * binomial::at_most(errors, n, alpha);
    hoeffding.min(bentkus).min(1.0)
}

/// The upper bound of Hoeffding and Bentkus: the alpha whose p-value is `delta`.
pub fn hoeffding_bentkus_upper(risk: f64, n: u64, delta: f64) -> f64 {
    let (mut low, mut high) = (risk, 1.0);
    // The p-value falls with alpha; each step halves the bracket, down to neighbours.
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if hoeffding_bentkus_p_value(risk, n, middle) <= delta {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// The upper bound of Hoeffding (1963): risk + sqrt(ln(1/delta) / 2n), at most 1. Far too wide for small risks.
pub fn hoeffding_upper(risk: f64, n: u64, delta: f64) -> f64 {
    if n == 0 {
        return 1.0;
    }
    (risk + (-delta.ln() / (2.0 * n as f64)).sqrt()).min(1.0)
}

/// The smallest number of accepted rows with so many errors that shows a risk of at most alpha:
/// the least n with P(Bin(n, alpha) <= errors) <= delta; without errors ceil(ln delta / ln(1 - alpha)).
pub fn minimum_accepted(target: Target, errors: u64) -> u64 {
    let shows = |n: u64| binomial_p_value(errors, n, target.alpha()) <= target.delta();
    let mut high = errors.max(1);
    while !shows(high) {
        high = high.saturating_mul(2);
    }
    let mut low = high / 2;
    while low + 1 < high {
        let middle = u64::midpoint(low, high);
        if shows(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// a ln(a/b), 0 for a = 0.
fn times_log(a: f64, b: f64) -> f64 {
    if a <= 0.0 { 0.0 } else { a * (a / b).ln() }
}
