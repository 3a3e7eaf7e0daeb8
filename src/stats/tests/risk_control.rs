//! Bounds and thresholds against scipy, MAPIE and an independent walk.

use super::vectors::{g400, g400x, s2000, tally};
use super::{close, close_to};
use crate::stats::OutOfRange;
use crate::stats::interval::clopper_pearson_upper;
use crate::stats::risk_control::{
    Side, Target, Tested, binomial_p_value, class_conditional, conformal, fixed_sequence,
    hoeffding_bentkus_p_value, hoeffding_bentkus_upper, hoeffding_upper, hundredths,
    minimum_accepted, sgr,
};
use crate::stats::tally::Tally;

fn target(alpha: f64, delta: f64) -> Target {
    Target::new(alpha, delta).expect("a target")
}

#[test]
fn upper_bounds() {
    for (k, n, delta, exact, bentkus, hoeffding) in [
        (0, 30, 0.10, 0.073_881_27, 0.073_881_27, 0.195_899_00),
        (0, 30, 0.05, 0.095_033_85, 0.095_033_85, 0.223_447_69),
        (2, 100, 0.10, 0.052_345_29, 0.065_552_32, 0.127_298_30),
        (5, 100, 0.05, 0.102_253_38, 0.117_301_25, 0.172_387_34),
        (10, 500, 0.10, 0.030_646_55, 0.034_947_10, 0.067_985_26),
    ] {
        let risk = k as f64 / n as f64;
        close_to(8, clopper_pearson_upper(k, n, delta).expect("rows"), exact);
        close_to(8, hoeffding_bentkus_upper(risk, n, delta), bentkus);
        close_to(8, hoeffding_upper(risk, n, delta), hoeffding);
    }
    close(hoeffding_upper(0.0, 0, 0.1), 1.0);
    close(hoeffding_bentkus_upper(0.0, 0, 0.1), 1.0);
}

#[test]
fn p_values() {
    for (risk, k, n, alpha, exact, bentkus) in [
        (0.02, 2, 100, 0.05, 0.118_262_981_2, 0.296_918_951_2),
        (0.03, 6, 200, 0.05, 0.123_743_026_0, 0.336_368_419_0),
        (0.08, 40, 500, 0.10, 0.075_089_289_7, 0.204_113_851_6),
    ] {
        close_to(10, binomial_p_value(k, n, alpha), exact);
        close_to(10, hoeffding_bentkus_p_value(risk, n, alpha), bentkus);
    }
}

#[test]
fn what_is_no_number_shows_nothing() {
    close(binomial_p_value(0, 1000, f64::NAN), 1.0);
    for (risk, alpha) in [(f64::NAN, 0.05), (0.0, f64::NAN), (-0.1, 0.05), (1.1, 0.05)] {
        close(hoeffding_bentkus_p_value(risk, 1000, alpha), 1.0);
    }
}

#[test]
fn naive_selection_takes_more() {
    for (alpha, pass, fail) in [(0.05, 0.76, 0.24), (0.10, 0.53, 0.46)] {
        let sums = tally(&s2000()).cumulative();
        let holds = |[right, wrong]: [u64; 2]| wrong as f64 <= alpha * (right + wrong) as f64;
        let grid = hundredths();
        let is_pass = |t: &&f64| holds([sums.at_least(**t)[1], sums.at_least(**t)[0]]);
        close(*grid.iter().find(is_pass).expect("a threshold"), pass);
        let is_fail = |t: &&f64| holds(sums.at_most(**t));
        close(*grid.iter().rev().find(is_fail).expect("a threshold"), fail);
    }
}

#[test]
fn fewest_rows_that_show_a_risk() {
    let table: [(f64, [u64; 5], [u64; 5]); 5] = [
        (
            0.01,
            [299, 473, 628, 1049, 1693],
            [230, 388, 531, 926, 1538],
        ),
        (0.02, [149, 236, 313, 523, 845], [114, 194, 265, 462, 768]),
        (0.05, [59, 93, 124, 208, 336], [45, 77, 105, 184, 306]),
        (0.10, [29, 46, 61, 103, 167], [22, 38, 52, 91, 152]),
        (0.15, [19, 30, 40, 68, 110], [15, 25, 34, 60, 100]),
    ];
    for (alpha, of_05, of_10) in table {
        for (delta, expected) in [(0.05, of_05), (0.10, of_10)] {
            let found =
                [0, 1, 2, 5, 10].map(|errors| minimum_accepted(target(alpha, delta), errors));
            assert_eq!(found, expected, "alpha {alpha}, delta {delta}");
            let closed = (delta.ln() / (1.0 - alpha).ln()).ceil();
            close(found[0] as f64, closed);
        }
    }
}

#[test]
fn a_target_lies_within_its_bounds() {
    for (alpha, delta, wrong) in [
        (0.0, 0.1, 0.0),
        (1.0, 0.1, 1.0),
        (0.1, 0.0, 0.0),
        (0.1, 1.5, 1.5),
    ] {
        assert_eq!(Target::new(alpha, delta), Err(OutOfRange(wrong)));
    }
    assert!(Target::new(f64::NAN, 0.1).is_err());
    assert_eq!(target(0.05, 0.10).divided(2), target(0.05, 0.05));
}

/// Threshold, rows, errors.
type Expected = Option<(f64, u64, u64)>;

#[track_caller]
fn plain(tested: Option<Tested>) -> Expected {
    tested.map(|tested| (tested.threshold, tested.row_count, tested.error_count))
}

#[track_caller]
fn check_walk(rows: &[(f64, bool)], alpha: f64, delta: f64, pass: Expected, fail: Expected) {
    let (tally, target) = (tally(rows), target(alpha, delta));
    for (side, expected) in [(Side::Pass, pass), (Side::Fail, fail)] {
        let minimum = minimum_accepted(target, 0);
        let walk = fixed_sequence(&tally, side, target, minimum, &hundredths());
        assert_eq!(plain(walk.selected), expected, "{side:?} {alpha} {delta}");
    }
}

#[test]
fn fixed_sequence_of_every_vector() {
    let s = s2000();
    check_walk(&s, 0.05, 0.05, Some((0.83, 742, 26)), Some((0.17, 742, 26)));
    check_walk(&s, 0.05, 0.10, Some((0.81, 763, 30)), Some((0.19, 763, 29)));
    check_walk(&s, 0.02, 0.10, Some((0.95, 545, 6)), Some((0.05, 545, 6)));
    check_walk(&s, 0.10, 0.10, Some((0.59, 939, 80)), Some((0.40, 933, 79)));
    let g = g400();
    check_walk(&g, 0.05, 0.10, None, None);
    check_walk(&g, 0.10, 0.10, None, Some((0.08, 32, 0)));
    check_walk(&g, 0.15, 0.10, Some((0.95, 20, 0)), Some((0.25, 100, 10)));
    let x = g400x();
    check_walk(&x, 0.15, 0.10, Some((0.93, 86, 8)), Some((0.10, 100, 10)));
    check_walk(&x, 0.15, 0.05, None, Some((0.07, 86, 7)));
}

/// One side of a vector at alpha and delta, with the p-value and the bound.
#[track_caller]
fn check_numbers(rows: &[(f64, bool)], side: Side, levels: [f64; 2], p_value: f64, upper: f64) {
    let target = target(levels[0], levels[1]);
    let minimum = minimum_accepted(target, 0);
    let walk = fixed_sequence(&tally(rows), side, target, minimum, &hundredths());
    let selected = walk.selected.expect("a threshold");
    close_to(10, selected.p_value, p_value);
    close_to(10, selected.upper, upper);
}

#[test]
fn a_walk_shows_its_numbers() {
    let (pass, fail) = (Side::Pass, Side::Fail);
    let s = s2000();
    check_numbers(&s, pass, [0.05, 0.05], 0.032_104_976_2, 0.048_289_386_8);
    check_numbers(&s, fail, [0.05, 0.05], 0.032_104_976_2, 0.048_289_386_8);
    check_numbers(&s, pass, [0.05, 0.10], 0.098_740_155_5, 0.049_941_246_1);
    check_numbers(&s, fail, [0.05, 0.10], 0.071_088_211_9, 0.048_489_645_9);
    check_numbers(&s, pass, [0.02, 0.10], 0.080_705_583_3, 0.019_244_586_2);
    check_numbers(&s, pass, [0.10, 0.10], 0.070_034_378_3, 0.098_070_440_0);
    check_numbers(&s, fail, [0.10, 0.10], 0.063_477_906_0, 0.097_560_101_7);
    let g = g400();
    check_numbers(&g, fail, [0.10, 0.10], 0.034_336_838_2, 0.069_427_959_1);
    check_numbers(&g, fail, [0.15, 0.10], 0.099_447_400_5, 0.149_882_592_3);
    let of = |rows: &[(f64, bool)], side, levels: [f64; 2]| {
        let target = target(levels[0], levels[1]);
        let minimum = minimum_accepted(target, 0);
        let walk = fixed_sequence(&tally(rows), side, target, minimum, &hundredths());
        walk.selected.expect("a threshold").p_value
    };
    close_to(10, of(&g, pass, [0.15, 0.10]), 0.038_759_531_1);
    close_to(10, of(&g400x(), pass, [0.15, 0.10]), 0.086_357_780_3);
    close_to(10, of(&g400x(), fail, [0.15, 0.05]), 0.043_878_567_6);
}

#[test]
fn a_walk_says_where_it_stopped() {
    let stop = |rows: &[(f64, bool)], side, alpha, delta| {
        let target = target(alpha, delta);
        let minimum = minimum_accepted(target, 0);
        let walk = fixed_sequence(&tally(rows), side, target, minimum, &hundredths());
        walk.stopped.expect("a stop")
    };
    let stopped = stop(&s2000(), Side::Pass, 0.05, 0.05);
    assert_eq!(plain(Some(stopped)), Some((0.82, 753, 28)));
    close_to(10, stopped.p_value, 0.058_302_795_6);
    close(stop(&s2000(), Side::Fail, 0.05, 0.05).threshold, 0.18);
    let stopped = stop(&g400(), Side::Pass, 0.05, 0.10);
    assert_eq!(plain(Some(stopped)), Some((0.88, 48, 2)));
    close_to(10, stopped.p_value, 0.567_045_635_4);
    assert_eq!(
        plain(Some(stop(&g400(), Side::Pass, 0.10, 0.10))),
        Some((0.94, 24, 1))
    );
}

#[test]
fn a_walk_does_not_go_on_where_the_risk_dips_again() {
    // 1 wrong of 60 above 0.9 fails, 400 right ones at 0.5 would mend it.
    let mut rows = vec![(0.95, true); 59];
    rows.push((0.95, false));
    rows.extend([(0.5, true); 400]);
    let target = target(0.05, 0.05);
    let walk = fixed_sequence(&tally(&rows), Side::Pass, target, 59, &hundredths());
    assert_eq!(walk.selected, None);
    close(walk.stopped.expect("a stop").threshold, 0.95);
    let late = fixed_sequence(&tally(&rows), Side::Pass, target, 100, &hundredths());
    assert_eq!(plain(late.selected), Some((0.0, 460, 1)));
    assert_eq!(late.stopped, None);
}

#[test]
fn no_rows_certify_nothing() {
    let none = Tally::default();
    let target = target(0.05, 0.10);
    for side in [Side::Pass, Side::Fail] {
        assert_eq!(
            fixed_sequence(&none, side, target, 0, &hundredths()).selected,
            None
        );
        assert_eq!(
            class_conditional(&none, side, target, &hundredths()).selected,
            None
        );
        assert_eq!(conformal(&none, side, 0.05, &hundredths()), None);
        assert_eq!(sgr(&none, side, target), None);
    }
}

#[test]
fn selection_with_guaranteed_risk() {
    let tally = tally(&s2000());
    let pass = sgr(&tally, Side::Pass, target(0.05, 0.10)).expect("a threshold");
    close_to(10, pass.threshold, 0.847_655_674_3);
    close_to(10, pass.upper, 0.049_148_112_7);
    assert_eq!((pass.row_count, pass.error_count), (722, 22));
    let fail = sgr(&tally, Side::Fail, target(0.05, 0.10)).expect("a threshold");
    close_to(10, 1.0 - fail.threshold, 0.852_636_332_0);
    assert_eq!((fail.row_count, fail.error_count), (716, 22));
}

#[test]
fn conformal_risk_control() {
    for (rows, alpha, pass, fail) in [
        (s2000(), 0.01, 0.87, 0.13),
        (s2000(), 0.02, 0.76, 0.24),
        (g400(), 0.01, 0.86, 0.16),
        (g400(), 0.02, 0.80, 0.22),
        (g400(), 0.05, 0.69, 0.33),
    ] {
        for (side, expected) in [(Side::Pass, pass), (Side::Fail, fail)] {
            let found = conformal(&tally(&rows), side, alpha, &hundredths()).expect("a threshold");
            close(found.threshold, expected);
            assert!(found.bound <= alpha);
            assert!(found.error_count < found.accepted_count);
        }
    }
    // It needs n of at least 1 / alpha - 1.
    let right = |rows| vec![(0.9, true); rows];
    assert_eq!(
        conformal(&tally(&right(18)), Side::Pass, 0.05, &hundredths()),
        None
    );
    assert!(conformal(&tally(&right(19)), Side::Pass, 0.05, &hundredths()).is_some());
}

#[test]
fn class_conditional_risk() {
    for (rows, alpha, pass, fail) in [
        (s2000(), 0.05, 0.76, 0.24),
        (s2000(), 0.10, 0.57, 0.43),
        (g400(), 0.05, 0.83, 0.20),
    ] {
        for (side, expected) in [(Side::Pass, pass), (Side::Fail, fail)] {
            let walk = class_conditional(&tally(&rows), side, target(alpha, 0.10), &hundredths());
            close(walk.selected.expect("a threshold").threshold, expected);
        }
    }
}
