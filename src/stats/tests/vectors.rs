//! The vectors, by their formulas.

use crate::stats::tally::Tally;

const PHI: f64 = 0.618_033_988_749_894_9;
const PSI: f64 = 0.754_877_666_246_692_7;

pub(super) const A: [(f64, bool); 10] = [
    (0.96, true),
    (0.91, true),
    (0.83, true),
    (0.72, false),
    (0.61, true),
    (0.44, false),
    (0.33, true),
    (0.22, false),
    (0.13, false),
    (0.05, false),
];

pub(super) const B: [(f64, bool); 12] = [
    (1.0, true),
    (0.9, true),
    (0.9, true),
    (0.9, false),
    (0.8, true),
    (0.5, true),
    (0.5, false),
    (0.5, false),
    (0.5, true),
    (0.2, false),
    (0.1, false),
    (0.0, false),
];

/// Calibrated and blunt.
pub(super) fn g400() -> Vec<(f64, bool)> {
    (0..400)
        .map(|i| (f64::from(i) + 0.5) / 400.0)
        .enumerate()
        .map(|(i, p)| (p, step(i, PHI) < p))
        .collect()
}

/// The same, over-confident.
pub(super) fn g400x() -> Vec<(f64, bool)> {
    let sharper = |p: f64| 1.0 / (1.0 + (-2.0 * (p / (1.0 - p)).ln()).exp());
    g400().into_iter().map(|(p, y)| (sharper(p), y)).collect()
}

/// Calibrated and sharp.
pub(super) fn s2000() -> Vec<(f64, bool)> {
    (0..2000)
        .map(|i| (f64::from(i) + 0.5) / 2000.0)
        .map(|x: f64| x.powi(3) / (x.powi(3) + (1.0 - x).powi(3)))
        .enumerate()
        .map(|(i, p)| (p, step(i, PHI) < p))
        .collect()
}

/// What a fallback judge says that is wrong at this rate.
pub(super) fn fallback(rows: &[(f64, bool)], error_rate: f64) -> Vec<bool> {
    rows.iter()
        .enumerate()
        .map(|(i, (_, y))| *y != (step(i, PSI) < error_rate))
        .collect()
}

pub(super) fn tally(rows: &[(f64, bool)]) -> Tally {
    Tally::of(rows.iter().copied()).expect("probabilities")
}

fn step(i: usize, by: f64) -> f64 {
    ((i + 1) as f64 * by).fract()
}

#[test]
fn the_vectors_are_those_that_were_measured() {
    let positives = |rows: &[(f64, bool)]| rows.iter().filter(|(_, y)| *y).count();
    assert_eq!(positives(&g400()), 197);
    assert_eq!(positives(&g400x()), 197);
    assert_eq!(positives(&s2000()), 1000);
    let surprising: Vec<usize> = (0..400).filter(|i| g400()[*i].1 && *i < 100).collect();
    assert_eq!(surprising, [33, 46, 59, 67, 72, 80, 85, 88, 93, 98]);
}
