//! What is perfect is exactly 1, what is nothing is exactly 0: no term is added to a denominator to keep it from zero.

use super::exactly;
use super::vectors::tally;
use crate::stats::agreement::{Ratings, gwet_ac1, kappa, krippendorff_alpha, pabak, percent};
use crate::stats::calibration::{
    brier, brier_interval, ece, ece_equal_mass, ece_noise_floor, log_loss, mce, murphy, rmsce,
};
use crate::stats::classification::{Binary, MultiClass};
use crate::stats::interval::{clopper_pearson, clopper_pearson_upper, wilson};
use crate::stats::paired::{Resampling, bootstrap, mcnemar};
use crate::stats::ranking::{auroc, auroc_interval, average_precision};
use crate::stats::risk_control::{
    Target, binomial_p_value, hoeffding_bentkus_p_value, hoeffding_bentkus_upper, hoeffding_upper,
    minimum_accepted,
};
use crate::stats::selective::{augrc, aurc, e_aurc, optimal_aurc};

/// Numbers of rows whose reciprocals are not binary fractions.
const ROWS: [u64; 5] = [1, 3, 7, 10, 49];

#[test]
fn r8_yes_or_no() {
    for rows in ROWS {
        let perfect = Binary {
            true_positives: rows,
            true_negatives: 3 * rows,
            ..Binary::default()
        };
        exactly(perfect.accuracy(), 1.0);
        exactly(perfect.balanced_accuracy(), 1.0);
        exactly(perfect.precision(), 1.0);
        exactly(perfect.recall(), 1.0);
        exactly(perfect.f1(), 1.0);
        exactly(perfect.mcc(), 1.0);
        exactly(perfect.kappa(), 1.0);
        let wrong = Binary {
            false_positives: rows,
            false_negatives: rows,
            ..Binary::default()
        };
        exactly(wrong.accuracy(), 0.0);
        exactly(wrong.balanced_accuracy(), 0.0);
        exactly(wrong.precision(), 0.0);
        exactly(wrong.recall(), 0.0);
        exactly(wrong.f1(), 0.0);
        exactly(wrong.mcc(), -1.0);
        exactly(wrong.kappa(), -1.0);
        let blind = Binary {
            true_positives: rows,
            false_positives: rows,
            true_negatives: rows,
            false_negatives: rows,
        };
        exactly(blind.mcc(), 0.0);
        exactly(blind.kappa(), 0.0);
    }
}

#[test]
fn r8_many_classes() {
    for rows in ROWS {
        let (mut perfect, mut wrong) = (MultiClass::new(3), MultiClass::new(3));
        for class in 0..3 {
            perfect.add(class, class, rows + class as u64);
            wrong.add(class, (class + 1) % 3, rows);
        }
        exactly(perfect.accuracy(), 1.0);
        exactly(perfect.balanced_accuracy(), 1.0);
        exactly(perfect.macro_f1(), 1.0);
        exactly(perfect.mcc(), 1.0);
        exactly(perfect.class(1).precision(), 1.0);
        exactly(perfect.class(1).recall(), 1.0);
        exactly(perfect.class(1).f1(), 1.0);
        exactly(wrong.accuracy(), 0.0);
        exactly(wrong.balanced_accuracy(), 0.0);
        exactly(wrong.macro_f1(), 0.0);
        exactly(wrong.mcc(), -0.5);
        exactly(wrong.class(1).f1(), 0.0);
    }
}

#[test]
fn r8_agreement() {
    for rows in ROWS {
        let (mut same, mut opposite) = (MultiClass::new(2), MultiClass::new(2));
        same.add(0, 0, rows);
        same.add(1, 1, 2 * rows);
        opposite.add(0, 1, rows);
        opposite.add(1, 0, rows);
        exactly(percent(&same), 1.0);
        exactly(kappa(&same), 1.0);
        exactly(pabak(&same), 1.0);
        exactly(krippendorff_alpha(&Ratings::of_pairs(&same)), 1.0);
        exactly(gwet_ac1(&Ratings::of_pairs(&same)), 1.0);
        exactly(percent(&opposite), 0.0);
        exactly(kappa(&opposite), -1.0);
        exactly(pabak(&opposite), -1.0);
        exactly(gwet_ac1(&Ratings::of_pairs(&opposite)), -1.0);
    }
}

#[test]
fn r8_calibration() {
    for rows in ROWS {
        let (mut right, mut wrong) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            right.extend([(1.0, true), (0.0, false)]);
            wrong.extend([(0.0, true), (1.0, false)]);
        }
        let (right, wrong) = (tally(&right), tally(&wrong));
        for (tally, expected) in [(&right, 0.0), (&wrong, 1.0)] {
            exactly(brier(tally), expected);
            exactly(ece(tally, 10), expected);
            exactly(ece_equal_mass(tally, 2), expected);
            exactly(mce(tally, 10, 0), expected);
            exactly(rmsce(tally, 10), expected);
            exactly(ece_noise_floor(tally, 10, 10, 0), 0.0);
            exactly(brier_interval(tally, 0.95).map(|(low, _)| low), expected);
            exactly(brier_interval(tally, 0.95).map(|(_, high)| high), expected);
        }
        exactly(log_loss(&right, 1e-15), 0.0);
        let parts = murphy(&right, 10).expect("rows");
        exactly(Ok(parts.reliability), 0.0);
        exactly(Ok(parts.resolution), 0.25);
        exactly(Ok(parts.uncertainty), 0.25);
        exactly(Ok(parts.within_bin_variance), 0.0);
        exactly(Ok(parts.within_bin_covariance), 0.0);
        exactly(murphy(&wrong, 10).map(|parts| parts.reliability), 1.0);
    }
    let mut tenth = vec![(0.1, false); 9];
    tenth.push((0.1, true));
    exactly(ece(&tally(&tenth), 10), 0.0);
    exactly(
        murphy(&tally(&tenth), 10).map(|parts| parts.within_bin_variance),
        0.0,
    );
}

#[test]
fn r8_ranking() {
    for rows in ROWS {
        let values = |from: f64| (0..rows).map(move |i| from + i as f64 / 200.0);
        let above: Vec<_> = values(0.6)
            .map(|p| (p, true))
            .chain(values(0.1).map(|p| (p, false)))
            .collect();
        let below: Vec<_> = above.iter().map(|(p, y)| (*p, !y)).collect();
        let level: Vec<_> = above.iter().map(|(_, y)| (0.3, *y)).collect();
        exactly(auroc(&tally(&above)), 1.0);
        exactly(auroc(&tally(&below)), 0.0);
        exactly(auroc(&tally(&level)), 0.5);
        exactly(average_precision(&tally(&above)), 1.0);
        exactly(average_precision(&tally(&level)), 0.5);
        if 1 < rows {
            assert_eq!(auroc_interval(&tally(&above), 0.95), Ok((1.0, 1.0)));
            assert_eq!(auroc_interval(&tally(&below), 0.95), Ok((0.0, 0.0)));
        }
    }
}

#[test]
fn r8_selective() {
    for rows in ROWS {
        let confidences: Vec<f64> = (0..rows).map(|i| 0.5 + i as f64 / 100.0).collect();
        let all =
            |is_right: bool| -> Vec<_> { confidences.iter().map(|c| (*c, is_right)).collect() };
        let (right, wrong) = (tally(&all(true)), tally(&all(false)));
        for area in [aurc, optimal_aurc, e_aurc, augrc] {
            exactly(area(&right), 0.0);
        }
        exactly(aurc(&wrong), 1.0);
        exactly(optimal_aurc(&wrong), 1.0);
        exactly(e_aurc(&wrong), 0.0);
        exactly(augrc(&wrong), 0.5);
        let ordered: Vec<_> = confidences.iter().map(|c| (*c, 0.6 < *c)).collect();
        exactly(e_aurc(&tally(&ordered)), 0.0);
        let tied: Vec<_> = confidences.iter().map(|_| (0.7, false)).collect();
        exactly(aurc(&tally(&tied)), 1.0);
    }
}

#[test]
fn r8_intervals() {
    for rows in ROWS {
        for interval in [wilson, clopper_pearson] {
            exactly(interval(0, rows, 0.95).map(|(low, _)| low), 0.0);
            exactly(interval(rows, rows, 0.95).map(|(_, high)| high), 1.0);
        }
        exactly(clopper_pearson_upper(rows, rows, 0.05), 1.0);
        exactly(Ok(binomial_p_value(rows, rows, 0.05)), 1.0);
        exactly(Ok(hoeffding_bentkus_p_value(1.0, rows, 0.05)), 1.0);
        exactly(Ok(hoeffding_bentkus_upper(1.0, rows, 0.05)), 1.0);
        exactly(Ok(hoeffding_upper(1.0, rows, 0.05)), 1.0);
    }
    // (1 - 0.5)^1 = 0.5: as tight as it can be.
    assert_eq!(
        minimum_accepted(Target::new(0.5, 0.5).expect("a target"), 0),
        1
    );
}

#[test]
fn r8_paired() {
    for rows in [0, 1, 3, 7, 10, 49] {
        exactly(Ok(mcnemar(rows, rows).exact), 1.0);
        exactly(Ok(mcnemar(rows, rows).mid_p), 1.0);
    }
    exactly(Ok(mcnemar(0, 2).exact), 0.5);
    exactly(Ok(mcnemar(0, 2).mid_p), 0.25);
    let resampling = Resampling {
        replicates: 99,
        seed: 5,
        level: 0.95,
    };
    let difference = |counts: &[u64; 3]| {
        let rows = counts[2] as f64;
        (0.0 < rows).then(|| counts[0] as f64 / rows - counts[1] as f64 / rows)
    };
    let same =
        bootstrap(&[[1, 1, 1], [0, 0, 1], [1, 1, 1]], resampling, difference).expect("blocks");
    for value in [same.estimate, same.low, same.high] {
        exactly(Ok(value), 0.0);
    }
    exactly(Ok(same.p), 1.0);
    let better = bootstrap(&[[1, 0, 1]; 3], resampling, difference).expect("blocks");
    for value in [better.estimate, better.low, better.high] {
        exactly(Ok(value), 1.0);
    }
    exactly(Ok(better.p), 0.01);
}
