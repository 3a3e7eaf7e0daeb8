//! Agreement against krippendorff, irrCAC and scikit-learn.

use super::{close, close_to};
use crate::stats::Absent;
use crate::stats::agreement::{Ratings, gwet_ac1, kappa, krippendorff_alpha, pabak, percent};
use crate::stats::classification::MultiClass;

fn pairs(first: &[usize], second: &[usize]) -> MultiClass {
    let mut pairs = MultiClass::new(2);
    for (first, second) in first.iter().zip(second) {
        pairs.add(*first, *second, 1);
    }
    pairs
}

#[test]
fn two_raters_on_twenty_rows() {
    let human = [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1];
    let judge = [1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 0, 1];
    let pairs = pairs(&human, &judge);
    let ratings = Ratings::of_pairs(&pairs);
    close(percent(&pairs).expect("rows"), 0.85);
    close(kappa(&pairs).expect("rows"), 0.571_428_571_4);
    close(krippendorff_alpha(&ratings).expect("rows"), 0.580_645_161_3);
    close_to(5, gwet_ac1(&ratings).expect("rows"), 0.769_67);
    close(pabak(&pairs).expect("rows"), 0.7);
}

#[test]
fn a_prevailing_class_lowers_kappa_and_not_ac1() {
    let mut pairs = MultiClass::new(2);
    for (first, second, count) in [(1, 1, 92), (1, 0, 3), (0, 1, 4), (0, 0, 1)] {
        pairs.add(first, second, count);
    }
    close(percent(&pairs).expect("rows"), 0.93);
    close(kappa(&pairs).expect("rows"), 0.186_046_511_6);
    close_to(
        5,
        gwet_ac1(&Ratings::of_pairs(&pairs)).expect("rows"),
        0.923_42,
    );
}

#[test]
fn three_raters_with_gaps() {
    let raters: [[Option<usize>; 8]; 3] = [
        [
            Some(1),
            Some(0),
            Some(1),
            Some(1),
            None,
            Some(0),
            Some(1),
            Some(1),
        ],
        [
            Some(1),
            Some(0),
            Some(0),
            Some(1),
            Some(1),
            Some(0),
            None,
            Some(1),
        ],
        [
            None,
            Some(0),
            Some(1),
            Some(1),
            Some(1),
            Some(1),
            Some(1),
            Some(1),
        ],
    ];
    let mut ratings = Ratings::new(2);
    for unit in 0..8 {
        ratings.add(raters.iter().filter_map(|rater| rater[unit]));
    }
    close(krippendorff_alpha(&ratings).expect("rows"), 0.555_555_555_6);
    close_to(5, gwet_ac1(&ratings).expect("rows"), 0.733_33);
}

#[test]
fn who_rates_alone_agrees_with_nobody() {
    let mut ratings = Ratings::new(2);
    ratings.add([]);
    ratings.add([1]);
    assert_eq!(krippendorff_alpha(&ratings), Err(Absent::Empty));
    assert_eq!(gwet_ac1(&ratings), Err(Absent::Empty));
    ratings.add([1, 1]);
    assert_eq!(krippendorff_alpha(&ratings), Err(Absent::SingleClass));
    assert_eq!(gwet_ac1(&ratings), Ok(1.0));
    assert_eq!(gwet_ac1(&Ratings::new(1)), Err(Absent::ZeroDenominator));
    let none = MultiClass::new(2);
    assert_eq!(percent(&none), Err(Absent::Empty));
    assert_eq!(kappa(&none), Err(Absent::Empty));
    assert_eq!(pabak(&none), Err(Absent::Empty));
    assert_eq!(
        kappa(&pairs(&[1, 1], &[1, 1])),
        Err(Absent::ZeroDenominator)
    );
}
