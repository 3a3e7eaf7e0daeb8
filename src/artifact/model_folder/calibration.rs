//! `calibration.json`: what corrects the probabilities of one model, a row for each dimension.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Activation, Contract, ModelFolderError};
use crate::domain::dimension::Dimension;

/// The corrections by their dimensions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Calibration(BTreeMap<Dimension, Scale>);

/// One correction: numbers are divided by `temperature`, then `p` becomes `sigmoid(slope * logit(p) + intercept)`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scale {
    /// In place of that of `judge.toml`.
    pub temperature: Option<f64>,
    /// Above 0, so that no order changes.
    pub slope: f64,
    /// Above 0 makes true more likely.
    pub intercept: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    model_sha256: String,
    dimensions: BTreeMap<Dimension, Scale>,
}

impl Default for Scale {
    fn default() -> Self {
        Self {
            temperature: None,
            slope: 1.0,
            intercept: 0.0,
        }
    }
}

impl Calibration {
    /// The correction of a dimension, if it has one.
    pub fn of(&self, dimension: Dimension) -> Option<Scale> {
        self.0.get(&dimension).copied()
    }
}

/// Reads `calibration.json`, which must be of the model of the contract.
pub fn read_calibration(
    file: &str,
    text: &str,
    contract: &Contract,
) -> Result<Calibration, ModelFolderError> {
    let written: File = serde_json::from_str(text).map_err(|error| {
        let message = error.to_string().replace("unknown field", "unknown key");
        let message = message
            .split(" at line ")
            .next()
            .unwrap_or_default()
            .to_owned();
        ModelFolderError(vec![format!("{file}:{}: {message}", error.line())])
    })?;
    let mut wrong = Vec::new();
    if written.model_sha256 != contract.sha256 {
        wrong.push(format!(
            "{file}: model_sha256: it is of another model than `sha256` of judge.toml"
        ));
    }
    for (dimension, scale) in &written.dimensions {
        let mut add =
            |message: String| wrong.push(format!("{file}: dimensions.{dimension}: {message}"));
        if !contract.dimensions().contains(*dimension) {
            add("the model does not answer it".to_owned());
        }
        let above_zero = |value: f64| value.is_finite() && 0.0 < value;
        if !scale.temperature.is_none_or(above_zero) || !above_zero(scale.slope) {
            add("temperature and slope must be above 0".to_owned());
        }
        if !scale.intercept.is_finite() {
            add("intercept must be a number".to_owned());
        }
        if contract.activation == Activation::Identity && scale.temperature.is_some() {
            add("numbers that are probabilities or vectors have no temperature".to_owned());
        }
    }
    if wrong.is_empty() {
        Ok(Calibration(written.dimensions))
    } else {
        Err(ModelFolderError(wrong))
    }
}
