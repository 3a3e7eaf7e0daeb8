//! Calibration against scikit-learn, torchmetrics and netcal, and the noise floor against theory.

use super::vectors::{A, B, g400, g400x, s2000, tally};
use super::{close, close_to};
use crate::stats::Absent;
use crate::stats::calibration::{
    bins, brier, brier_interval, confidence, ece, ece_equal_mass, ece_noise_floor, log_loss, mce,
    murphy, rmsce,
};
use crate::stats::tally::Tally;

/// Bins and REL, RES, UNC, WBV, WBC.
type Parts = (usize, [f64; 5]);

struct Expected {
    rows: Vec<(f64, bool)>,
    brier: f64,
    log_loss: f64,
    ece: f64,
    mce: f64,
}

#[test]
fn scores_and_errors_of_every_vector() {
    let table = [
        (A.to_vec(), 0.14194, 0.421_622_209_1, 0.292, 0.72),
        (B.to_vec(), 0.16, 0.486_461_872_1, 0.1, 0.2),
        (g400(), 0.158_064_062_5, 0.476_160_505_5, 0.0175, 0.05),
        (
            g400x(),
            0.166_563_653_1,
            0.523_116_296_1,
            0.084_124_239_6,
            0.156_913_736_2,
        ),
        (
            s2000(),
            0.077_099_993_9,
            0.249_195_964_5,
            0.003_076_840_3,
            f64::NAN,
        ),
    ];
    for (rows, brier, log_loss, ece, mce) in table {
        check(&Expected {
            rows,
            brier,
            log_loss,
            ece,
            mce,
        });
    }
}

#[track_caller]
fn check(expected: &Expected) {
    let tally = tally(&expected.rows);
    close_to(10, brier(&tally).expect("rows"), expected.brier);
    close_to(
        10,
        log_loss(&tally, 1e-15).expect("rows"),
        expected.log_loss,
    );
    close_to(10, ece(&tally, 10).expect("rows"), expected.ece);
    if !expected.mce.is_nan() {
        close_to(10, mce(&tally, 10, 0).expect("rows"), expected.mce);
    }
}

#[test]
fn the_other_errors() {
    close(rmsce(&tally(&A), 10).expect("rows"), 0.376_583_324_1);
    close(
        rmsce(&tally(&B), 10).expect("rows"),
        (0.2125_f64 / 12.0).sqrt(),
    );
    close(ece_equal_mass(&tally(&A), 5).expect("rows"), 0.136);
    close(ece_equal_mass(&tally(&B), 5).expect("rows"), 0.1);
    close_to(
        10,
        ece_equal_mass(&tally(&g400()), 10).expect("rows"),
        0.0175,
    );
    close_to(
        10,
        ece_equal_mass(&tally(&g400x()), 10).expect("rows"),
        0.079_074_632_0,
    );
    close(ece(&confidence(&tally(&A)), 10).expect("rows"), 0.17);
    close(ece(&confidence(&tally(&B)), 10).expect("rows"), 1.0 / 12.0);
}

/// Ties of many rows leave no edge where it should be; one bin of everything would call every judge calibrated.
#[test]
fn equal_mass_sees_a_miscalibrated_judge_of_two_decimals() {
    let rows = (0..20_000_usize).map(|row| {
        let p = (row % 101) as f64 / 100.0;
        // True half of the time, whatever it says.
        (p, (row / 101).is_multiple_of(2))
    });
    let tally = Tally::of(rows).expect("values");
    let (width, mass) = (
        ece(&tally, 10).expect("rows"),
        ece_equal_mass(&tally, 10).expect("rows"),
    );
    assert!((width - mass).abs() < 0.01 && 0.2 < mass, "{width} {mass}");
}

#[test]
fn a_value_on_an_edge_belongs_to_the_bin_above() {
    let values = [0.95, 0.9, 0.8, 0.7, 0.6, 0.4, 0.3, 0.2, 0.1, 0.05];
    let rows: Vec<_> = values.into_iter().zip(A.map(|(_, y)| y)).collect();
    close(ece(&tally(&rows), 10).expect("rows"), 0.29);
}

/// A library that also cuts p = 1 to 1 - epsilon adds -ln(1 - epsilon) for each of the two certain and right rows of B.
#[test]
fn only_what_would_be_infinite_is_cut() {
    let epsilon = 1e-6_f64;
    let cut_on_both_sides = 0.486_462_038_7;
    let added = 2.0 * -(-epsilon).ln_1p() / 12.0;
    close_to(
        10,
        log_loss(&tally(&B), epsilon).expect("rows") + added,
        cut_on_both_sides,
    );
    let wrong = tally(&[(1.0, false)]);
    close(log_loss(&wrong, 1e-15).expect("row"), -(1e-15_f64.ln()));
}

#[test]
fn parts_of_the_brier_score() {
    let of_a: [Parts; 2] = [
        (5, [0.03955, 0.15, 0.25, 0.00239, 0.0]),
        (10, [0.141_815, 0.25, 0.25, 0.000_125, 0.0]),
    ];
    let of_b: [Parts; 2] = [
        (5, [0.007_916_67, 0.1, 0.25, 0.002_083_33, 0.0]),
        (
            10,
            [0.017_708_33, 0.104_166_67, 0.25, 0.000_625, 0.004_166_67],
        ),
    ];
    for (rows, table) in [(A.to_vec(), of_a), (B.to_vec(), of_b)] {
        for (bins, expected) in table {
            let parts = murphy(&tally(&rows), bins).expect("rows");
            let actual = [
                parts.reliability,
                parts.resolution,
                parts.uncertainty,
                parts.within_bin_variance,
                parts.within_bin_covariance,
            ];
            for (actual, expected) in actual.into_iter().zip(expected) {
                close_to(8, actual, expected);
            }
        }
    }
}

#[test]
fn a_small_bin_has_no_say_where_ten_rows_are_asked_for() {
    let mut rows = vec![(0.95, false)];
    rows.extend([(0.25, false); 10]);
    close(mce(&tally(&rows), 10, 0).expect("rows"), 0.95);
    close(mce(&tally(&rows), 10, 10).expect("rows"), 0.25);
    assert_eq!(mce(&tally(&rows), 10, 11), Err(Absent::Empty));
}

#[test]
fn empty_bins_are_listed() {
    let listed = bins(&tally(&[(0.0, false), (0.99, true), (1.0, true)]), 10);
    assert_eq!(listed.len(), 10);
    assert_eq!((listed[0].low, listed[0].high), (0.0, 0.1));
    assert_eq!(
        (listed[0].negatives, listed[0].positives, listed[0].mean),
        (1, 0, Ok(0.0))
    );
    assert_eq!((listed[4].negatives, listed[4].positives), (0, 0));
    assert_eq!(listed[4].mean, Err(Absent::Empty));
    assert_eq!((listed[9].positives, listed[9].mean), (2, Ok(0.995)));
    assert_eq!(bins(&Tally::default(), 0).len(), 1);
}

#[test]
fn the_interval_of_the_brier_score_is_that_of_a_mean() {
    let errors: Vec<f64> = A.iter().map(|(p, y)| (p - f64::from(*y)).powi(2)).collect();
    let mean = errors.iter().sum::<f64>() / 10.0;
    let variance = errors
        .iter()
        .map(|error| (error - mean).powi(2))
        .sum::<f64>()
        / 9.0;
    let half = 1.959_963_984_540_054 * (variance / 10.0).sqrt();
    let (low, high) = brier_interval(&tally(&A), 0.95).expect("rows");
    close(low, (mean - half).max(0.0));
    close(high, mean + half);
    assert_eq!(
        brier_interval(&tally(&A[..1]), 0.95),
        Err(Absent::ZeroDenominator)
    );
}

/// The mean of |sum p - K| by the distribution of K, bin by bin.
fn exact_floor(rows: &[(f64, bool)], bins: usize) -> f64 {
    let mut total = 0.0;
    for bin in 0..bins {
        let in_bin = |p: &f64| ((p * bins as f64) as usize).min(bins - 1) == bin;
        let values: Vec<f64> = rows.iter().map(|(p, _)| *p).filter(in_bin).collect();
        let mut chances = vec![1.0];
        for p in &values {
            chances.push(0.0);
            for k in (0..chances.len()).rev() {
                let one_less = if k == 0 { 0.0 } else { chances[k - 1] * p };
                chances[k] = chances[k] * (1.0 - p) + one_less;
            }
        }
        let sum: f64 = values.iter().sum();
        let gaps = chances
            .iter()
            .enumerate()
            .map(|(k, chance)| chance * (sum - k as f64).abs());
        total += gaps.sum::<f64>();
    }
    total / rows.len() as f64
}

#[test]
fn the_noise_floor_is_the_mean_that_theory_says() {
    // S2000 has two bins with far more than 200 rows, G400 none.
    for rows in [g400(), s2000()] {
        let floor = ece_noise_floor(&tally(&rows), 10, 1000, 7).expect("rows");
        let exact = exact_floor(&rows, 10);
        assert!(
            (floor - exact).abs() < 0.03 * exact,
            "{floor} is not {exact}"
        );
    }
    let once = ece_noise_floor(&tally(&A), 10, 100, 1);
    assert_eq!(once, ece_noise_floor(&tally(&A), 10, 100, 1));
    assert_ne!(once, ece_noise_floor(&tally(&A), 10, 100, 2));
    assert_eq!(ece_noise_floor(&tally(&A), 10, 0, 1), Err(Absent::Empty));
}

#[test]
fn a_confidence_is_that_of_the_likelier_answer() {
    let confidences = confidence(&tally(&[
        (0.7, true),
        (0.3, false),
        (0.3, true),
        (0.5, false),
    ]));
    let cells: Vec<_> = confidences
        .cells()
        .map(|cell| (cell.value, cell.negatives, cell.positives))
        .collect();
    assert_eq!(cells, [(0.5, 1, 0), (0.7, 1, 2)]);
}

#[test]
fn no_rows_have_no_calibration() {
    let none = Tally::default();
    for metric in [
        brier(&none),
        log_loss(&none, 1e-15),
        ece(&none, 10),
        ece_equal_mass(&none, 10),
        mce(&none, 10, 0),
        rmsce(&none, 10),
        ece_noise_floor(&none, 10, 10, 0),
    ] {
        assert_eq!(metric, Err(Absent::Empty));
    }
    assert_eq!(murphy(&none, 10), Err(Absent::Empty));
    assert_eq!(brier_interval(&none, 0.95), Err(Absent::Empty));
}
