//! Probabilities.
//!
//! A [`Probability`] is finite and within 0..=1, so that no NaN and no 1.2 can travel further than the place where it
//! came in. An absent probability is `None`; 0 is a judgment.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A finite number from 0 to 1 inclusive.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Probability(f64);

impl Probability {
    /// Certainly false.
    pub const ZERO: Self = Self(0.0);
    /// As likely as not.
    pub const HALF: Self = Self(0.5);
    /// Certainly true.
    pub const ONE: Self = Self(1.0);

    /// The number.
    pub const fn value(self) -> f64 {
        self.0
    }

    /// The probability of the opposite, `1 - p`, without the noise that the subtraction leaves in the last digits.
    ///
    /// Probabilities are written in decimal, so `1 - 0.9` should read `0.1`; rounding to twelve decimals does that and
    /// moves no value by more than 5e-13.
    pub fn complement(self) -> Self {
        Self(((1.0 - self.0) * 1e12).round() / 1e12)
    }

    /// The smaller of two.
    pub fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }

    /// The larger of two.
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

impl TryFrom<f64> for Probability {
    type Error = NotAProbability;

    fn try_from(value: f64) -> Result<Self, NotAProbability> {
        if value.is_nan() {
            Err(NotAProbability::NotANumber)
        } else if (0.0..=1.0).contains(&value) {
            // Adding 0 turns -0 into 0.
            Ok(Self(value + 0.0))
        } else {
            Err(NotAProbability::OutOfRange(value))
        }
    }
}

impl From<Probability> for f64 {
    fn from(probability: Probability) -> Self {
        probability.0
    }
}

impl JsonSchema for Probability {
    fn schema_name() -> Cow<'static, str> {
        "Probability".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "minimum": 0, "maximum": 1})
    }
}

impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a number is not a probability.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NotAProbability {
    /// It is NaN.
    #[error("NaN is not a probability")]
    NotANumber,
    /// It is below 0, above 1 or infinite.
    #[error("`{0}` is not a probability: it must lie from 0 to 1")]
    OutOfRange(f64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_from_zero_to_one_are_probabilities() {
        for good in [0.0, f64::MIN_POSITIVE, 0.5, 1.0] {
            assert_eq!(Probability::try_from(good).map(f64::from), Ok(good));
        }
        for bad in [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -0.01,
            1.2,
            1.0 + f64::EPSILON,
        ] {
            assert!(Probability::try_from(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn minus_zero_reads_as_zero() {
        let zero = Probability::try_from(-0.0).unwrap();
        assert!(zero.value().is_sign_positive());
    }

    #[test]
    fn complement_is_exact_in_decimals() {
        for hundredths in 0..=100_u32 {
            let p = Probability::try_from(f64::from(hundredths) / 100.0).unwrap();
            let expected = Probability::try_from(f64::from(100 - hundredths) / 100.0).unwrap();
            assert_eq!(p.complement(), expected);
        }
    }

    #[test]
    fn json_holds_the_bare_number_and_refuses_others() {
        assert_eq!(serde_json::to_string(&Probability::HALF).unwrap(), "0.5");
        assert!(serde_json::from_str::<Probability>("1.5").is_err());
        assert!(serde_json::from_str::<Probability>("null").is_err());
    }
}
