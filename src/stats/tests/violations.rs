//! Whether the promise is kept: in how many of many worlds the true risk is above the promised one.

use crate::stats::random::SplitMix64;
use crate::stats::risk_control::{Side, Target, fixed_sequence, hundredths, minimum_accepted};
use crate::stats::tally::Tally;

const WORLDS: u32 = 300;
const ROWS: u32 = 1000;
const ALPHA: f64 = 0.05;
const DELTA: f64 = 0.10;

/// The chance that a row of this value is negative, for values spread evenly over 0..1.
fn chance_of_error(value: f64) -> f64 {
    0.6 * (1.0 - value).powi(2)
}

/// Its mean over what a threshold accepts: at most alpha from 0.5 on.
fn true_risk(threshold: f64) -> f64 {
    0.2 * (1.0 - threshold).powi(2)
}

fn world(seed: u64) -> Tally {
    let mut random = SplitMix64::new(seed);
    let rows = (0..ROWS).map(|_| {
        let value = random.unit();
        (value, chance_of_error(value) <= random.unit())
    });
    Tally::of(rows).expect("probabilities")
}

/// The loosest threshold whose risk on the labelled rows is at most alpha.
fn naive(tally: &Tally) -> Option<f64> {
    let sums = tally.cumulative();
    hundredths().into_iter().find(|threshold| {
        let [wrong, right] = sums.at_least(*threshold);
        0 < wrong + right && wrong as f64 <= ALPHA * (wrong + right) as f64
    })
}

#[test]
fn fixed_sequence_testing_keeps_its_promise_and_naive_selection_does_not() {
    let target = Target::new(ALPHA, DELTA).expect("a target");
    let minimum = minimum_accepted(target, 0);
    let (mut walked, mut violated, mut violated_by_naive) = (0, 0, 0);
    for seed in 0..WORLDS {
        let tally = world(u64::from(seed));
        let walk = fixed_sequence(&tally, Side::Pass, target, minimum, &hundredths());
        if let Some(selected) = walk.selected {
            walked += 1;
            violated += u32::from(ALPHA < true_risk(selected.threshold));
        }
        let threshold = naive(&tally);
        violated_by_naive += u32::from(threshold.is_some_and(|t| ALPHA < true_risk(t)));
    }
    let share = |count: u32| f64::from(count) / f64::from(WORLDS);
    let allowed = DELTA + 3.0 * (DELTA * (1.0 - DELTA) / f64::from(WORLDS)).sqrt();
    assert!(share(violated) <= allowed, "{violated}");
    assert!(0.2 < share(violated_by_naive), "{violated_by_naive}");
    // Or the promise would be kept by promising nothing.
    assert!(0.5 < share(walked), "{walked}");
}
