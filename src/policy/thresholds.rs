//! Two-sided thresholds.
//!
//! Both ends are decided: a confident negative is not an uncertain result.

use super::band::Band;
use crate::domain::probability::Probability;

/// A pair `fail_at < pass_at`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    fail_at: Probability,
    pass_at: Probability,
}

/// Why two numbers are not a pair of thresholds.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ThresholdError {
    /// One of them is not a probability.
    #[error("{name} = `{value}` must be a number from 0 to 1")]
    NotAProbability {
        /// Which one.
        name: &'static str,
        /// The number.
        value: f64,
    },
    /// They stand in the wrong order.
    #[error("fail_at = `{fail_at}` must be below pass_at = `{pass_at}`")]
    NotBelow {
        /// The lower one.
        fail_at: f64,
        /// The upper one.
        pass_at: f64,
    },
}

impl Thresholds {
    /// A pair of finite numbers with `0 <= fail_at < pass_at <= 1`.
    pub fn new(fail_at: f64, pass_at: f64) -> Result<Self, ThresholdError> {
        let probability = |name, value| {
            Probability::try_from(value)
                .map_err(|_| ThresholdError::NotAProbability { name, value })
        };
        let pair = Self {
            fail_at: probability("fail_at", fail_at)?,
            pass_at: probability("pass_at", pass_at)?,
        };
        if pair.fail_at < pair.pass_at {
            Ok(pair)
        } else {
            Err(ThresholdError::NotBelow { fail_at, pass_at })
        }
    }

    /// At or below it a probability is negative.
    pub const fn fail_at(self) -> Probability {
        self.fail_at
    }

    /// At or above it a probability is positive.
    pub const fn pass_at(self) -> Probability {
        self.pass_at
    }

    /// Where a probability lies.
    pub fn band(self, p: Probability) -> Band {
        if p <= self.fail_at {
            Band::Negative
        } else if self.pass_at <= p {
            Band::Positive
        } else {
            Band::Uncertain
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_probability_on_a_threshold_is_decided() {
        let pair = Thresholds::new(0.2, 0.8).unwrap();
        let cases = [
            (0.0, Band::Negative),
            (0.19, Band::Negative),
            (0.2, Band::Negative),
            (0.21, Band::Uncertain),
            (0.79, Band::Uncertain),
            (0.8, Band::Positive),
            (0.81, Band::Positive),
            (1.0, Band::Positive),
        ];
        for (p, band) in cases {
            assert_eq!(pair.band(Probability::try_from(p).unwrap()), band, "{p}");
        }
    }

    #[test]
    fn only_ordered_pairs_of_probabilities_are_thresholds() {
        assert!(Thresholds::new(0.0, 1.0).is_ok());
        for (fail_at, pass_at) in [
            (0.5, 0.5),
            (0.8, 0.2),
            (f64::NAN, 0.8),
            (0.2, f64::INFINITY),
            (-0.1, 0.8),
            (0.2, 1.1),
        ] {
            assert!(
                Thresholds::new(fail_at, pass_at).is_err(),
                "{fail_at} {pass_at}"
            );
        }
    }

    proptest! {
        /// Every probability lies in exactly one band, and a larger one never in a lower band.
        #[test]
        fn bands_partition_and_rise(f in 0.0..1.0_f64, g in 0.0..=1.0_f64, p in 0.0..=1.0_f64, q in 0.0..=1.0_f64) {
            prop_assume!(f < g);
            let pair = Thresholds::new(f, g).unwrap();
            let (low, high) = if p <= q { (p, q) } else { (q, p) };
            let band = |p| pair.band(Probability::try_from(p).unwrap());
            prop_assert!(band(low) <= band(high));
        }
    }
}
