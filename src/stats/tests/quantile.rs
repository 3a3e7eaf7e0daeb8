//! Quantiles against numpy.

use std::collections::BTreeMap;

use super::close;
use crate::stats::Absent;
use crate::stats::quantile::{linear, mean, nearest_rank};

#[test]
fn quantiles_of_one_to_twenty() {
    let counts: BTreeMap<u64, u64> = (1..=20).map(|value| (value, 1)).collect();
    for (q, expected, interpolated) in [(0.5, 10, 10.5), (0.95, 19, 19.05), (0.99, 20, 19.81)] {
        assert_eq!(nearest_rank(&counts, q), Ok(expected));
        close(linear(&counts, q).expect("values"), interpolated);
    }
    assert_eq!(nearest_rank(&counts, 0.0), Ok(1));
    assert_eq!(nearest_rank(&counts, 1.0), Ok(20));
    assert_eq!(linear(&counts, 0.0), Ok(1.0));
    assert_eq!(linear(&counts, 1.0), Ok(20.0));
    assert_eq!(mean(&counts), Ok(10.5));
}

#[test]
fn equal_values_are_counted() {
    let counts = BTreeMap::from([(15, 8), (39, 1)]);
    assert_eq!(nearest_rank(&counts, 0.5), Ok(15));
    assert_eq!(nearest_rank(&counts, 0.95), Ok(39));
    close(linear(&counts, 0.95).expect("values"), 29.4);
    close(mean(&counts).expect("values"), 159.0 / 9.0);
}

#[test]
fn a_rank_is_not_raised_by_a_last_bit() {
    // 0.07 * 100 is 7.000000000000001.
    let counts: BTreeMap<u64, u64> = (1..=100).map(|value| (value, 1)).collect();
    for hundredths in 1..=100_u64 {
        assert_eq!(
            nearest_rank(&counts, hundredths as f64 / 100.0),
            Ok(hundredths)
        );
    }
}

#[test]
fn no_values_have_no_quantile() {
    for counts in [BTreeMap::new(), BTreeMap::from([(3, 0)])] {
        assert_eq!(nearest_rank(&counts, 0.5), Err(Absent::Empty));
        assert_eq!(linear(&counts, 0.5), Err(Absent::Empty));
        assert_eq!(mean(&counts), Err(Absent::Empty));
    }
}
