//! Risk and coverage against an independent script.

use super::close_to;
use super::vectors::{A, B, g400, g400x, s2000, tally};
use crate::stats::Absent;
use crate::stats::calibration::confidence;
use crate::stats::selective::{
    Accepted, accepted, augrc, aurc, curve, e_aurc, optimal_aurc, round_confidence, sides,
};
use crate::stats::tally::Tally;

#[test]
fn areas_of_every_vector() {
    let of = |rows: &[(f64, bool)]| confidence(&tally(rows));
    let a = of(&A);
    close_to(10, aurc(&a).expect("rows"), 0.081_507_936_5);
    close_to(10, optimal_aurc(&a).expect("rows"), 0.031_111_111_1);
    close_to(10, e_aurc(&a).expect("rows"), 0.050_396_825_4);
    close_to(10, augrc(&a).expect("rows"), 0.06);
    let b = of(&B);
    close_to(10, aurc(&b).expect("rows"), 0.136_399_711_4);
    close_to(10, optimal_aurc(&b).expect("rows"), 0.044_318_181_8);
    close_to(10, e_aurc(&b).expect("rows"), 0.092_081_529_5);
    close_to(10, augrc(&b).expect("rows"), 0.083_333_333_3);
    for rows in [g400(), g400x()] {
        let confidences = of(&rows);
        close_to(10, aurc(&confidences).expect("rows"), 0.108_004_657_1);
        close_to(10, e_aurc(&confidences).expect("rows"), 0.078_307_704_6);
        close_to(10, augrc(&confidences).expect("rows"), 0.074_731_25);
    }
    let s = of(&s2000());
    close_to(10, aurc(&s).expect("rows"), 0.023_205_934_1);
    close_to(10, augrc(&s).expect("rows"), 0.018_929_5);
}

/// acc (1 - acc)(1 - AUROC of being right) + (1 - acc)^2 / 2.
#[test]
fn augrc_is_its_closed_form() {
    for rows in [A.to_vec(), B.to_vec(), s2000()] {
        let confidences = confidence(&tally(&rows));
        let right = confidences.positive_count() as f64 / confidences.count() as f64;
        let area = crate::stats::ranking::auroc(&confidences).expect("both");
        let expected = right * (1.0 - right) * (1.0 - area) + (1.0 - right).powi(2) / 2.0;
        close_to(12, augrc(&confidences).expect("rows"), expected);
    }
}

#[test]
fn mirrored_probabilities_are_one_confidence() {
    // As floating point numbers 1 - 0.9 is below 0.1.
    let low = 1.0 - 0.9_f64;
    assert!(low < 0.1);
    assert_eq!(round_confidence(low).to_bits(), 0.1_f64.to_bits());
    let unrounded = tally(&[(low, false), (0.1, true)]);
    assert_eq!(curve(&unrounded).len(), 1);
    assert_eq!(accepted(&unrounded, 0.1), Accepted { count: 2, wrong: 1 });
}

#[test]
fn one_point_a_confidence() {
    let points = curve(&tally(&[
        (0.9, true),
        (0.9, false),
        (0.8, true),
        (0.5, false),
    ]));
    let plain: Vec<_> = points
        .iter()
        .map(|point| (point.confidence, point.coverage, point.risk))
        .collect();
    assert_eq!(
        plain,
        [(0.9, 0.5, 0.5), (0.8, 0.75, 1.0 / 3.0), (0.5, 1.0, 0.5)]
    );
    assert!(curve(&Tally::default()).is_empty());
}

#[test]
fn sides_are_closed_at_every_hundredth() {
    for rows in [A.to_vec(), B.to_vec(), g400(), s2000()] {
        let sides = sides(&tally(&rows));
        assert_eq!(sides.at_or_above.len(), 101);
        for j in 0..=100_u32 {
            let threshold = f64::from(j) / 100.0;
            let count = |accept: &dyn Fn(f64) -> bool, label: Option<bool>| {
                let meant =
                    |row: &&(f64, bool)| accept(row.0) && label.is_none_or(|label| label == row.1);
                rows.iter().filter(meant).count() as u64
            };
            let above = |p: f64| threshold <= p;
            let below = |p: f64| p <= threshold;
            let j = j as usize;
            assert_eq!(sides.at_or_above[j], count(&above, None));
            assert_eq!(sides.at_or_above_wrong[j], count(&above, Some(false)));
            assert_eq!(sides.at_or_below[j], count(&below, None));
            assert_eq!(sides.at_or_below_wrong[j], count(&below, Some(true)));
        }
    }
}

#[test]
fn no_rows_have_no_risk() {
    let none = Tally::default();
    for metric in [
        aurc(&none),
        optimal_aurc(&none),
        e_aurc(&none),
        augrc(&none),
    ] {
        assert_eq!(metric, Err(Absent::Empty));
    }
    assert_eq!(accepted(&none, 0.0), Accepted::default());
    assert_eq!(sides(&none).at_or_above, [0; 101]);
}
