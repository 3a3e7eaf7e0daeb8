//! The metrics against their definitions, on rows that nobody chose.

use proptest::prelude::*;

use super::vectors::tally;
use crate::stats::calibration::{
    brier, confidence, ece, ece_equal_mass, ece_noise_floor, log_loss, mce, murphy, rmsce,
};
use crate::stats::ranking::{auroc, auroc_interval, average_precision};
use crate::stats::risk_control::{Side, Target, binomial_p_value, fixed_sequence, hundredths};
use crate::stats::selective::{augrc, aurc, optimal_aurc};
use crate::stats::tally::Tally;

/// Rows whose values tie often and lie on edges.
fn rows(most: usize) -> impl Strategy<Value = Vec<(f64, bool)>> {
    let value = prop_oneof![
        (0..=10_u32).prop_map(|tenth| f64::from(tenth) / 10.0),
        0.0..=1.0_f64
    ];
    prop::collection::vec((value, any::<bool>()), 1..=most)
}

/// Every metric, as bits.
fn all(tally: &Tally) -> Vec<Option<u64>> {
    let parts = murphy(tally, 10).expect("rows");
    let confidences = confidence(tally);
    let interval = auroc_interval(tally, 0.95);
    [
        brier(tally),
        log_loss(tally, 1e-15),
        ece(tally, 10),
        ece_equal_mass(tally, 4),
        mce(tally, 10, 0),
        rmsce(tally, 10),
        ece_noise_floor(tally, 10, 20, 3),
        Ok(parts.reliability),
        Ok(parts.within_bin_covariance),
        auroc(tally),
        interval.map(|(low, _)| low),
        interval.map(|(_, high)| high),
        average_precision(tally),
        aurc(&confidences),
        augrc(&confidences),
    ]
    .map(|metric| metric.ok().map(f64::to_bits))
    .to_vec()
}

/// The mean AURC over every order of the ties.
fn aurc_of_all_orders(rows: &[(f64, bool)]) -> f64 {
    fn visit(left: &mut Vec<(f64, bool)>, wrong: f64, taken: f64, sum: f64) -> (f64, f64) {
        let Some(surest) = left.iter().map(|(c, _)| *c).reduce(f64::max) else {
            return (sum / taken, 1.0);
        };
        let mut total = (0.0, 0.0);
        for i in 0..left.len() {
            if left[i].0 < surest {
                continue;
            }
            let row = left.remove(i);
            let wrong = wrong + f64::from(!row.1);
            let (area, orders) = visit(left, wrong, taken + 1.0, sum + wrong / (taken + 1.0));
            total = (total.0 + area, total.1 + orders);
            left.insert(i, row);
        }
        total
    }
    let (sum, orders) = visit(&mut rows.to_vec(), 0.0, 0.0, 0.0);
    sum / orders
}

proptest! {
    #[test]
    fn a_shuffle_changes_no_bit(rows in rows(60), seed: u64) {
        let mut random = crate::stats::random::SplitMix64::new(seed);
        let mut shuffled = rows.clone();
        for i in (1..shuffled.len()).rev() {
            shuffled.swap(i, random.below(i + 1));
        }
        prop_assert_eq!(all(&tally(&rows)), all(&tally(&shuffled)));
    }

    #[test]
    fn errors_lie_between_0_and_1(rows in rows(60), bins in 1_usize..20) {
        let tally = tally(&rows);
        for metric in [
            brier(&tally),
            ece(&tally, bins),
            ece_equal_mass(&tally, bins),
            mce(&tally, bins, 0),
            rmsce(&tally, bins),
            ece_noise_floor(&tally, bins, 5, 1),
        ] {
            let value = metric.expect("rows");
            prop_assert!((0.0..=1.0).contains(&value), "{}", value);
        }
        let order = [ece(&tally, bins), rmsce(&tally, bins), mce(&tally, bins, 0)].map(Result::unwrap);
        prop_assert!(order[0] <= order[1] + 1e-12 && order[1] <= order[2] + 1e-12, "{:?}", order);
    }

    #[test]
    fn the_brier_score_is_the_sum_of_its_parts(rows in rows(60), bins in 1_usize..20) {
        let tally = tally(&rows);
        let parts = murphy(&tally, bins).expect("rows");
        let sum = parts.reliability - parts.resolution + parts.uncertainty
            + parts.within_bin_variance - parts.within_bin_covariance;
        prop_assert!((brier(&tally).expect("rows") - sum).abs() < 1e-12);
        let plain = rows.iter().map(|(p, y)| (p - f64::from(*y)).powi(2)).sum::<f64>() / rows.len() as f64;
        prop_assert!((plain - sum).abs() < 1e-12);
    }

    #[test]
    fn auroc_is_the_share_of_won_pairs(rows in rows(40)) {
        let (mut won, mut pairs) = (0.0, 0.0);
        for (p, _) in rows.iter().filter(|(_, y)| *y) {
            for (n, _) in rows.iter().filter(|(_, y)| !y) {
                pairs += 1.0;
                won += if n < p { 1.0 } else if p < n { 0.0 } else { 0.5 };
            }
        }
        match auroc(&tally(&rows)) {
            Ok(area) => prop_assert!((area - won / pairs).abs() < 1e-12),
            Err(_) => prop_assert!(pairs < 1.0),
        }
    }

    #[test]
    fn aurc_is_the_mean_over_the_orders_of_ties(
        rows in prop::collection::vec((6..=8_u32, any::<bool>()), 1..=6)
    ) {
        let rows: Vec<_> = rows.into_iter().map(|(c, y)| (f64::from(c) / 10.0, y)).collect();
        let area = aurc(&tally(&rows)).expect("rows");
        prop_assert!((area - aurc_of_all_orders(&rows)).abs() < 1e-12);
        prop_assert!(optimal_aurc(&tally(&rows)).expect("rows") <= area + 1e-12);
    }

    #[test]
    fn every_stricter_threshold_of_a_walk_was_shown(rows in rows(200), minimum in 0_u64..60) {
        let tally = tally(&rows);
        let target = Target::new(0.3, 0.2).expect("a target");
        for side in [Side::Pass, Side::Fail] {
            let walk = fixed_sequence(&tally, side, target, minimum, &hundredths());
            let loosest = walk.selected.map(|tested| tested.threshold);
            for threshold in hundredths() {
                let is_accepted = |p: f64| match side {
                    Side::Pass => threshold <= p,
                    Side::Fail => p <= threshold,
                };
                let is_within = loosest.is_some_and(|loosest| match side {
                    Side::Pass => loosest <= threshold,
                    Side::Fail => threshold <= loosest,
                });
                let accepted: Vec<_> = rows.iter().filter(|(p, _)| is_accepted(*p)).collect();
                let count = accepted.len() as u64;
                let errors = accepted.iter().filter(|(_, y)| *y == (side == Side::Fail)).count();
                if is_within && minimum <= count {
                    prop_assert!(binomial_p_value(errors as u64, count, 0.3) <= 0.2);
                }
            }
            if let Some(stopped) = walk.stopped {
                prop_assert!(0.2 < stopped.p_value);
            }
        }
    }
}
