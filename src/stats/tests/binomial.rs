//! The binomial distribution against exact sums and another library.

use proptest::prelude::*;
use statrs::distribution::{Beta, Binomial, ContinuousCDF as _, DiscreteCDF as _};

use super::close;
use crate::stats::binomial::{at_most, point, upper};

/// k, n, p, P(X <= k), P(X = k), summed with 60 decimal digits.
const EXACT: [(u64, u64, f64, f64, f64); 9] = [
    (
        3,
        20,
        0.3,
        1.070_868_045_037_31e-1,
        7.160_367_220_526_233e-2,
    ),
    (
        15,
        20,
        0.3,
        9.999_944_497_469_218e-1,
        3.738_976_887_529_294e-5,
    ),
    (
        49_500,
        1_000_000,
        0.05,
        1.087_217_658_964_502e-2,
        1.312_572_056_391_319e-4,
    ),
    (
        50_500,
        1_000_000,
        0.05,
        9.890_910_762_719_394e-1,
        1.321_986_630_706_616_5e-4,
    ),
    (
        45_000,
        1_000_000,
        0.05,
        1.492_207_027_230_149_4e-120,
        1.565_182_269_106_146_3e-121,
    ),
    (
        9,
        1_000_000,
        1e-5,
        4.579_290_889_181_287e-1,
        1.251_105_361_641_120_2e-1,
    ),
    (
        19,
        178,
        0.5,
        5.146_644_025_024_771e-29,
        4.540_208_331_271_378e-29,
    ),
    (
        1,
        100_000,
        0.001,
        3.577_455_034_984_971e-42,
        3.542_069_758_101_536_6e-42,
    ),
    (
        990,
        1000,
        0.95,
        9.999_999_999_994_758e-1,
        2.273_530_647_711_636e-12,
    ),
];

#[test]
fn tails_are_precise_for_many_rows() {
    for (k, n, p, tail, chance) in EXACT {
        close(at_most(k, n, p), tail);
        close(point(k, n, p), chance);
    }
}

#[test]
fn a_bound_is_the_chance_that_has_this_tail() {
    for (k, n, p, tail, _) in EXACT {
        // Near 1 a tail says too little about p.
        if tail < 0.9 {
            close(upper(k, n, tail), p);
        }
    }
}

#[test]
fn certain_chances_have_certain_tails() {
    for (k, n, p, tail, chance) in [
        (0, 5, 0.0, 1.0, 1.0),
        (1, 5, 0.0, 1.0, 0.0),
        (5, 5, 1.0, 1.0, 1.0),
        (4, 5, 1.0, 0.0, 0.0),
        (0, 0, 0.5, 1.0, 1.0),
        (6, 5, 0.5, 1.0, 0.0),
    ] {
        assert_eq!(
            at_most(k, n, p).to_bits(),
            f64::to_bits(tail),
            "{k} of {n} at {p}"
        );
        assert_eq!(
            point(k, n, p).to_bits(),
            f64::to_bits(chance),
            "{k} of {n} at {p}"
        );
    }
    assert_eq!(upper(5, 5, 0.1).to_bits(), 1.0_f64.to_bits());
    assert_eq!(upper(0, 0, 0.1).to_bits(), 1.0_f64.to_bits());
    assert_eq!(upper(2, 5, 0.0).to_bits(), 1.0_f64.to_bits());
    assert_eq!(upper(2, 5, 1.0).to_bits(), 0.0_f64.to_bits());
}

proptest! {
    #[test]
    fn another_library_says_the_same(n in 1_u64..400, share in 0.0..1.0_f64, p in 0.001..0.999_f64) {
        let k = (share * n as f64) as u64;
        let theirs = Binomial::new(p, n).expect("parameters").cdf(k);
        prop_assert!((at_most(k, n, p) - theirs).abs() < 1e-11);
        let bound = upper(k, n, p);
        let beta = Beta::new(k as f64 + 1.0, (n - k) as f64).expect("parameters");
        prop_assert!((beta.cdf(bound) - (1.0 - p)).abs() < 1e-11);
    }

    #[test]
    fn a_tail_is_the_sum_of_its_points(n in 1_u64..60, p in 0.0..=1.0_f64) {
        let mut sum = 0.0;
        for k in 0..=n {
            sum += point(k, n, p);
            prop_assert!((at_most(k, n, p) - sum).abs() < 1e-12);
        }
    }
}
