//! Against scipy 1.17 (`minimize` with L-BFGS-B and bounds, ftol 1e-16, gtol 1e-12).

use super::super::Absent;
use super::super::logistic::{Observation, Sign, fit, platt, scaling};

fn rows() -> Vec<Observation> {
    let row = |at: u32| {
        let part = |factor: u32, modulus: u32, over: u32| {
            f64::from(at * factor % modulus) / f64::from(over)
        };
        let (a, b, c) = (part(7, 11, 10), part(5, 13, 12), part(3, 17, 16));
        let noise = 0.3 * part(31, 19, 18) - 0.4 + part(37, 23, 23) - 0.5;
        Observation {
            values: vec![a, b, c, f64::from(u8::from(at.is_multiple_of(4)))],
            target: f64::from(u8::from(0.0 < 2.0 * a - 1.5 * b + noise)),
            weight: if at.is_multiple_of(3) { 0.5 } else { 1.0 },
        }
    };
    (0..60).map(row).collect()
}

#[track_caller]
fn near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
}

#[track_caller]
fn check(signs: [Sign; 4], penalty: f64, expected: [f64; 5]) {
    let line = fit(&rows(), &signs, penalty).unwrap();
    let mut found = vec![line.intercept];
    found.extend(line.coefficients);
    near(&found, &expected);
}

#[test]
fn coefficients_are_those_of_scipy() {
    use Sign::{AtLeastZero, AtMostZero, Free};
    check(
        [Free; 4],
        1.0,
        [
            0.06342563061,
            1.971932906167,
            -1.973772353104,
            -0.287839714072,
            -0.364750006236,
        ],
    );
    check(
        [AtLeastZero, AtLeastZero, AtMostZero, AtMostZero],
        1.0,
        [
            -0.870682953013,
            1.898061189063,
            0.0,
            -0.352461083399,
            -0.296333421656,
        ],
    );
    check(
        [AtMostZero, AtMostZero, AtLeastZero, AtLeastZero],
        0.1,
        [1.587428238351, 0.0, -3.575974155265, 0.0, 0.0],
    );
}

#[test]
fn the_scaling_of_platt_is_that_of_scipy() {
    let scored = rows().into_iter().map(|row| {
        let score = row.values[0] * 3.0 - 1.0 - row.values[1];
        (score, 0.5 < row.target, row.weight)
    });
    let (slope, offset) = platt(&scored.collect::<Vec<_>>()).unwrap();
    near(&[offset, slope], &[-0.212960635992, 1.726959747424]);
}

#[test]
fn values_are_scaled_by_their_weighted_moments() {
    let (means, scales) = scaling(&rows()).unwrap();
    near(&means, &[0.495, 0.501666666667, 0.49, 0.25]);
    near(
        &scales,
        &[
            0.319804627859,
            0.311800327845,
            0.304487273954,
            0.433012701892,
        ],
    );
    let same = vec![rows()[0].clone(); 3];
    assert_eq!(scaling(&same).unwrap().1, [1.0; 4]);
}

#[test]
fn one_class_or_no_row_is_no_line() {
    let mut one: Vec<_> = rows();
    one.retain(|row| 0.5 < row.target);
    assert_eq!(fit(&one, &[Sign::Free; 4], 1.0), Err(Absent::SingleClass));
    assert_eq!(fit(&[], &[Sign::Free; 4], 1.0), Err(Absent::Empty));
}

/// Classes that a line parts have no best line without a penalty; the steps end all the same.
#[test]
fn separable_classes_end() {
    let row = |at: u32| Observation {
        values: vec![f64::from(at)],
        target: f64::from(u8::from(5 <= at)),
        weight: 1.0,
    };
    let parted: Vec<_> = (0..10).map(row).collect();
    let line = fit(&parted, &[Sign::Free], 0.0).unwrap();
    assert!(line.intercept.is_finite() && 1.0 < line.coefficients[0]);
}
