//! The contract of a model folder: `judge.toml` and `calibration.json`, read strictly, every problem with its line.
//!
//! It says what the model is, what stands on each side of a pair and what its output means; weights and words are not
//! read here.

mod calibration;
mod check;

use serde::Deserialize;
use toml::Spanned;

pub use self::calibration::{Calibration, Scale, read_calibration};
use self::check::Check;
use super::policy::line_of;
use crate::domain::dimension::{Dimension, DimensionSet};
use crate::domain::vocabulary;

vocabulary! {
    /// What a model takes and gives.
    "kind of model"
    pub enum ModelKind {
        /// A pair of texts in, a number for each label out.
        PairClassifier = "pair_classifier",
        /// A pair of texts in, one number out.
        PairRegressor = "pair_regressor",
        /// Context and answer in, a number for each label and token out.
        TokenClassifier = "token_classifier",
        /// One text by a template in, a number for each label at its first token out.
        PromptClassifier = "prompt_classifier",
        /// One text in, a vector out.
        Embedding = "embedding",
    }
}

vocabulary! {
    /// How numbers become probabilities.
    "activation"
    pub enum Activation {
        /// Over all labels; they exclude each other.
        Softmax = "softmax",
        /// Each number by itself.
        Sigmoid = "sigmoid",
        /// The numbers are probabilities already.
        Identity = "identity",
    }
}

vocabulary! {
    /// Which side of a pair stands first.
    "order"
    pub enum Order {
        /// The chunk, then the statement or the question.
        PremiseFirst = "premise_first",
        /// The statement or the question, then the chunk.
        HypothesisFirst = "hypothesis_first",
    }
}

vocabulary! {
    /// What stands for a chunk of several windows.
    "aggregate"
    pub enum Aggregate {
        /// The window with the greatest probability.
        Max = "max",
        /// The mean over the windows.
        Mean = "mean",
    }
}

/// What a model folder promises.
#[derive(Debug, Clone, PartialEq)]
pub struct Contract {
    /// The name of the model.
    pub name: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of `model.onnx`, hexadecimal.
    pub sha256: String,
    /// SHA-256 of `tokenizer.json`, hexadecimal.
    pub tokenizer_sha256: Option<String>,
    /// What the model takes and gives.
    pub kind: ModelKind,
    /// The names of its inputs, if they are not the usual ones.
    pub inputs: Option<Inputs>,
    /// The name of the output that counts; the only one if it is not told.
    pub output: Option<String>,
    /// How many numbers it gives for a text or a token; `None` for vectors.
    pub width: Option<usize>,
    /// The dimensions that it answers, each with the place of its number.
    pub heads: Vec<(Dimension, usize)>,
    /// How numbers become probabilities.
    pub activation: Activation,
    /// How texts are put together.
    pub template: Option<String>,
    /// Which side of a pair stands first; each dimension has a usual order.
    pub order: Option<Order>,
    /// The most tokens that the model takes.
    pub max_tokens: usize,
    /// The most tokens of a chunk in one window; what fits if it is not told.
    pub window: Option<usize>,
    /// By how many tokens the next window starts later; three quarters of a window if it is not told.
    pub stride: Option<usize>,
    /// What stands for a chunk of several windows.
    pub aggregate: Aggregate,
    /// What numbers are divided by.
    pub temperature: f64,
}

/// The names of the inputs of a model.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inputs {
    /// The tokens.
    pub input_ids: String,
    /// Which tokens are no padding.
    pub attention_mask: Option<String>,
    /// Which side of the pair each token is of.
    pub token_type_ids: Option<String>,
}

/// Everything that is wrong with a file of a model folder, each line `file:line: message`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct ModelFolderError(pub Vec<String>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Spanned<String>,
    version: Spanned<String>,
    sha256: Spanned<String>,
    tokenizer_sha256: Option<Spanned<String>>,
    kind: ModelKind,
    inputs: Option<Inputs>,
    output: Option<String>,
    labels: Option<Spanned<Vec<String>>>,
    select: Option<Spanned<String>>,
    map: Option<Spanned<toml::Table>>,
    dimensions: Option<Spanned<Vec<Dimension>>>,
    activation: Option<Spanned<Activation>>,
    template: Option<Spanned<String>>,
    order: Option<Spanned<Order>>,
    max_tokens: Spanned<i64>,
    window: Option<Spanned<i64>>,
    stride: Option<Spanned<i64>>,
    aggregate: Option<Spanned<Aggregate>>,
    temperature: Option<Spanned<f64>>,
}

impl ModelKind {
    /// The dimensions that a model of this kind can answer.
    pub fn dimensions(self) -> DimensionSet {
        let all: &[Dimension] = match self {
            Self::PairClassifier | Self::PairRegressor | Self::PromptClassifier => &[
                Dimension::ChunkRelevance,
                Dimension::Groundedness,
                Dimension::Contradiction,
            ],
            Self::TokenClassifier => &[Dimension::Groundedness],
            Self::Embedding => &[Dimension::ChunkRelevance],
        };
        all.iter().copied().collect()
    }
}

impl Contract {
    /// The dimensions that it answers.
    pub fn dimensions(&self) -> DimensionSet {
        self.heads.iter().map(|(dimension, _)| *dimension).collect()
    }

    /// The name and the version in one.
    pub fn model(&self) -> String {
        format!("{}-{}", self.name, self.version)
    }
}

/// Reads `judge.toml` and lists everything that is wrong with it.
pub fn read(file: &str, text: &str) -> Result<Contract, ModelFolderError> {
    let written: File = toml::from_str(text).map_err(|error| {
        let line = line_of(text, error.span().map_or(0, |span| span.start));
        let message = error.message().trim();
        let message = message
            .replace("unknown field", "unknown key")
            .replace("missing field", "missing key")
            .replace('\n', " ");
        ModelFolderError(vec![format!("{file}:{line}: {message}")])
    })?;
    let mut check = Check::new(text);
    let contract = check.contract(written);
    check.finish(file, contract)
}

#[cfg(test)]
mod tests;
