//! What a tally keeps, refuses and rounds.

use proptest::prelude::*;

use super::vectors::B;
use crate::stats::OutOfRange;
use crate::stats::calibration::log_loss;
use crate::stats::random::SplitMix64;
use crate::stats::tally::{Cell, Precision, Tally};

const EXACT_LIMIT: usize = Precision::FINE.exact_limit;

#[test]
fn equal_values_are_one_cell() {
    let tally = super::vectors::tally(&B);
    let cells: Vec<_> = tally
        .cells()
        .map(|cell| (cell.value, cell.negatives, cell.positives))
        .collect();
    let expected = [
        (0.0, 1, 0),
        (0.1, 1, 0),
        (0.2, 1, 0),
        (0.5, 2, 2),
        (0.8, 0, 1),
        (0.9, 1, 2),
        (1.0, 0, 1),
    ];
    assert_eq!(cells, expected);
    assert_eq!(
        (
            tally.count(),
            tally.positive_count(),
            tally.negative_count()
        ),
        (12, 6, 6)
    );
    assert!(!tally.is_rounded());
}

#[test]
fn what_is_no_probability_is_refused() {
    for value in [
        -1e-300,
        1.000_000_000_000_001,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ] {
        assert_eq!(Tally::of([(value, true)]), Err(OutOfRange(value)));
    }
    assert!(Tally::of([(f64::NAN, true)]).is_err());
    let mut tally = Tally::default();
    assert!(tally.add(2.0, true).is_err());
    assert_eq!(tally, Tally::default(), "what is refused is not counted");
}

#[test]
fn both_zeros_are_one_value_and_no_rows_are_no_cell() {
    let tally = Tally::of([(0.0, true), (-0.0, true)]).expect("probabilities");
    assert_eq!(tally.cells().len(), 1);
    let mut empty = Tally::default();
    let cell = Cell {
        value: 0.5,
        negatives: 0,
        positives: 0,
    };
    empty.add_cell(cell).expect("a probability");
    assert_eq!(empty, Tally::default());
}

#[test]
fn sums_are_closed_on_both_sides() {
    let sums = super::vectors::tally(&B).cumulative();
    assert_eq!((sums.at_most(0.5), sums.at_least(0.5)), ([5, 2], [3, 6]));
    assert_eq!((sums.at_most(-1.0), sums.at_least(-1.0)), ([0, 0], [6, 6]));
    assert_eq!((sums.at_most(1.0), sums.at_least(1.0)), ([6, 6], [0, 1]));
    let none = Tally::default().cumulative();
    assert_eq!((none.at_most(0.5), none.at_least(0.5)), ([0, 0], [0, 0]));
}

#[test]
fn values_are_rounded_beyond_the_limit_alone() {
    let value = |i: usize| (i as f64 + 0.25) / 100_000.0;
    let mut tally = Tally::of((0..EXACT_LIMIT).map(|i| (value(i), false))).expect("values");
    assert!(!tally.is_rounded());
    assert_eq!(tally.cells().len(), EXACT_LIMIT);
    tally.add(value(0), true).expect("a value");
    assert!(!tally.is_rounded(), "a value that is known");
    tally.add(value(EXACT_LIMIT), true).expect("a value");
    assert!(tally.is_rounded());
    assert_eq!(tally.count(), EXACT_LIMIT as u64 + 2);
    assert_eq!(tally.positive_count(), 2);
    let cells: Vec<_> = tally.cells().collect();
    let of_ten: Vec<_> = cells.iter().filter(|cell| cell.count() == 10).collect();
    assert!(cells.len() < EXACT_LIMIT / 8, "{}", cells.len());
    assert!((of_ten[of_ten.len() / 2].value * 10_000.0).fract().abs() < 1e-9);
}

/// What was almost certain stays so and does not become certain, so that log loss and the outermost thresholds hold.
#[test]
fn rounding_makes_nothing_certain() {
    let mut random = SplitMix64::new(7);
    let pairs: Vec<(f64, bool)> = (0..40_000)
        .map(|_| {
            let logit = 24.0 * (random.unit() - 0.5);
            let p = 1.0 / (1.0 + (-logit).exp());
            (p, random.unit() < p)
        })
        .collect();
    let tally = Tally::of(pairs.iter().copied()).expect("values");
    assert!(tally.is_rounded() && tally.cells().len() < EXACT_LIMIT);
    assert_eq!(tally.cumulative().at_least(1.0), [0, 0]);
    assert_eq!(tally.cumulative().at_most(0.0), [0, 0]);
    let exact: f64 = pairs
        .iter()
        .map(|&(p, is_true)| -(if is_true { p } else { 1.0 - p }).ln())
        .sum::<f64>()
        / pairs.len() as f64;
    let rounded = log_loss(&tally, 1e-15).expect("rows");
    assert!((rounded / exact - 1.0).abs() < 1e-3, "{rounded} {exact}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn rounding_does_not_depend_on_the_order(seed: u64, above in -60_i64..60) {
        let mut random = SplitMix64::new(seed);
        let count = EXACT_LIMIT.saturating_add_signed(above as isize);
        let mut rows: Vec<(f64, bool)> =
            (0..count).map(|_| (random.unit(), random.below(2) == 1)).collect();
        let repeated: Vec<_> = rows[..100].to_vec();
        rows.extend(repeated);
        let forward = Tally::of(rows.iter().copied()).expect("values");
        let backward = Tally::of(rows.iter().rev().copied()).expect("values");
        for i in (1..rows.len()).rev() {
            rows.swap(i, random.below(i + 1));
        }
        let shuffled = Tally::of(rows.iter().copied()).expect("values");
        prop_assert_eq!(forward.is_rounded(), EXACT_LIMIT < count);
        prop_assert_eq!(&forward, &backward);
        prop_assert_eq!(&forward, &shuffled);
    }
}
