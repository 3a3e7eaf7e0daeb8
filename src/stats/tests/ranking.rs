//! Ranking against scikit-learn, its interval against the structural components.

use super::vectors::{A, B, g400, g400x, s2000, tally};
use super::{close, close_to};
use crate::stats::Absent;
use crate::stats::ranking::{auroc, auroc_interval, average_precision};
use crate::stats::tally::Tally;

#[test]
fn areas_of_every_vector() {
    let table = [
        (A.to_vec(), 0.88, 0.902_857_142_9),
        (B.to_vec(), 0.833_333_333_3, 0.772_222_222_2),
        (g400(), 0.850_616_388_7, 0.847_329_245_5),
        (g400x(), 0.850_616_388_7, 0.847_329_245_5),
        (s2000(), 0.962_141, 0.963_416_901_4),
    ];
    for (rows, area, precision) in table {
        close_to(10, auroc(&tally(&rows)).expect("both"), area);
        close_to(
            10,
            average_precision(&tally(&rows)).expect("both"),
            precision,
        );
    }
}

/// The structural components row by row.
#[test]
fn the_interval_of_the_area_is_that_of_delong() {
    for rows in [A.to_vec(), B.to_vec(), g400()] {
        let values = |is_positive: bool| -> Vec<f64> {
            rows.iter()
                .filter(|(_, y)| *y == is_positive)
                .map(|(p, _)| *p)
                .collect()
        };
        let (positives, negatives) = (values(true), values(false));
        let wins = |p: f64, n: f64| {
            if n < p {
                1.0
            } else {
                f64::from(p <= n && n <= p) / 2.0
            }
        };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let v10: Vec<f64> = positives
            .iter()
            .map(|p| mean(&negatives.iter().map(|n| wins(*p, *n)).collect::<Vec<_>>()))
            .collect();
        let v01: Vec<f64> = negatives
            .iter()
            .map(|n| mean(&positives.iter().map(|p| wins(*p, *n)).collect::<Vec<_>>()))
            .collect();
        let variance_of_mean = |values: &[f64]| {
            let centre = mean(values);
            let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
            squares / (values.len() - 1) as f64 / values.len() as f64
        };
        let spread = (variance_of_mean(&v10) + variance_of_mean(&v01)).sqrt();
        let (low, high) = auroc_interval(&tally(&rows), 0.95).expect("both");
        close(low, mean(&v10) - 1.959_963_984_540_054 * spread);
        close(high, (mean(&v10) + 1.959_963_984_540_054 * spread).min(1.0));
    }
}

#[test]
fn one_class_has_no_order() {
    let positive = tally(&[(0.2, true), (0.3, true)]);
    let negative = tally(&[(0.2, false)]);
    assert_eq!(auroc(&Tally::default()), Err(Absent::Empty));
    assert_eq!(auroc(&positive), Err(Absent::SingleClass));
    assert_eq!(auroc(&negative), Err(Absent::SingleClass));
    assert_eq!(auroc_interval(&positive, 0.95), Err(Absent::SingleClass));
    assert_eq!(average_precision(&Tally::default()), Err(Absent::Empty));
    assert_eq!(average_precision(&negative), Err(Absent::NoPositives));
    assert_eq!(average_precision(&positive), Ok(1.0));
    let one_each = tally(&[(0.2, true), (0.3, false)]);
    assert_eq!(
        auroc_interval(&one_each, 0.95),
        Err(Absent::ZeroDenominator)
    );
}
