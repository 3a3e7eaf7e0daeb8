//! The fitted model: from the features of a statement to the probability that the evidence supports it.
//!
//! z = intercept + sum coefficient (feature - mean) / scale, and p = 1 / (1 + exp(-(slope z + offset))): a logistic
//! regression whose coefficients may not have the wrong sign, and the scaling of Platt (1999) over its answers.
//! p is at most 0.04 + s^2, s being the weighted share of content words that stand together: of the statements of
//! FaithDial and BEGIN that share less than a quarter of them, 1 to 4 of 100 are supported, which the balanced pairs of
//! FEVER-Symmetric hide from the fit. The square keeps chance hits in a long context small.
//! `exp` is that of the `libm` crate, so that the bits are the same on every machine.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::features::{Features, NAMES};
use crate::domain::Vocabulary as _;
use crate::domain::dimension::Dimension;

/// The shape of the file.
pub const SCHEMA_VERSION: u32 = 1;

/// P of a statement that shares nothing.
const LEAST: f64 = 0.04;

static BUILT_IN: LazyLock<Model> = LazyLock::new(|| {
    #[expect(
        clippy::expect_used,
        reason = "a test reads the file that is compiled in"
    )]
    read(include_str!("lexical-v1.json")).expect("the model that is compiled in is one")
});

/// A model with what it was fitted on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The shape of the file.
    pub schema_version: u32,
    /// The name of the model.
    pub version: String,
    /// The command that fits it.
    pub command: String,
    /// The datasets that it was fitted on.
    pub data: Vec<DataCard>,
    /// What was fitted for each dimension, by its name.
    pub dimensions: BTreeMap<String, Fitted>,
}

/// A dataset that a model was fitted on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataCard {
    /// The name of the file.
    pub file: String,
    /// SHA-256 of its bytes.
    pub sha256: String,
    /// Rows.
    pub row_count: u64,
    /// Rows with a label that were used.
    pub used_count: u64,
    /// Those of them whose label is true.
    pub positive_count: u64,
}

/// What was fitted for one dimension.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fitted {
    /// The intercept.
    pub intercept: f64,
    /// What each feature counts.
    pub features: Vec<Weight>,
    /// The scaling of Platt over z: its slope.
    pub platt_slope: f64,
    /// Its offset.
    pub platt_offset: f64,
}

/// What a feature counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    /// Its name.
    pub name: String,
    /// The coefficient of the standardised feature.
    pub coefficient: f64,
    /// The mean that is taken off.
    pub mean: f64,
    /// The scale that it is divided by.
    pub scale: f64,
}

/// Reads a model; its features must be those of this program.
pub fn read(text: &str) -> Result<Model, String> {
    let model: Model = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if model.schema_version != SCHEMA_VERSION {
        return Err(format!(
            "schema_version `{}` is not known",
            model.schema_version
        ));
    }
    let fitted = model.dimensions.get(Dimension::Groundedness.name());
    let names = fitted.map(|fitted| fitted.features.iter().map(|weight| weight.name.as_str()));
    match names.is_some_and(|names| names.eq(NAMES)) {
        true => Ok(model),
        false => Err(format!(
            "groundedness must have the features {}",
            NAMES.join(", ")
        )),
    }
}

impl Fitted {
    /// The logit of a statement before the scaling.
    pub fn logit(&self, features: &Features) -> f64 {
        let terms = self.features.iter().zip(features);
        terms.fold(self.intercept, |sum, (weight, value)| {
            sum + weight.coefficient * (value - weight.mean) / weight.scale
        })
    }

    /// The probability that the evidence supports a statement.
    pub fn probability(&self, features: &Features) -> f64 {
        let z = self.platt_slope * self.logit(features) + self.platt_offset;
        let most = LEAST + features[0];
        (1.0 / (1.0 + libm::exp(-z))).min(most)
    }
}

/// The probability of a statement by the model that is compiled in.
pub(super) fn groundedness(features: &Features) -> f64 {
    let fitted = BUILT_IN.dimensions.get(Dimension::Groundedness.name());
    fitted.map_or(0.0, |fitted| fitted.probability(features))
}

#[cfg(test)]
mod tests {
    use super::super::features::{COUNT, SUPPORTING_COUNT};
    use super::*;

    #[test]
    fn the_model_that_is_compiled_in_is_one_and_no_coefficient_has_the_wrong_sign() {
        let model = read(include_str!("lexical-v1.json")).unwrap();
        assert_eq!(model.version, crate::judge::embedded::MODEL);
        let files = model.data.iter().map(|card| card.file.as_str());
        assert!(files.eq(["faithdial-audit.jsonl", "fever-symmetric.jsonl"]));
        let fitted = &model.dimensions[Dimension::Groundedness.name()];
        let (supporting, opposing) = fitted.features.split_at(SUPPORTING_COUNT);
        assert!(supporting.iter().all(|weight| 0.0 <= weight.coefficient));
        assert!(opposing.iter().all(|weight| weight.coefficient <= 0.0));
    }

    /// Words alone never reach the threshold of a PASS, 0.9, and nothing shared always reaches that of a failure, 0.1.
    #[test]
    fn probabilities_lie_between_the_thresholds_that_only_quotations_pass() {
        let mut all = [0.0; COUNT];
        assert!(groundedness(&all) <= 0.05);
        all[..SUPPORTING_COUNT].fill(1.0);
        let most = groundedness(&all);
        assert!(0.75 < most && most < 0.9, "{most}");
    }

    #[test]
    fn a_model_with_other_features_or_of_another_shape_is_refused() {
        let text = include_str!("lexical-v1.json");
        for (from, to) in [
            ("\"schema_version\": 1", "\"schema_version\": 2"),
            ("\"antonym\"", "\"synonym\""),
            ("\"platt_slope\"", "\"slope\""),
        ] {
            assert!(
                text.contains(from) && read(&text.replacen(from, to, 1)).is_err(),
                "{from}"
            );
        }
    }
}
