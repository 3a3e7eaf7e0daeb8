//! Judges that are models of the user's own, run inside the program (cargo feature `onnx`).
//!
//! A model answers only the dimensions of its `judge.toml`; the others go on to the embedded judge, which is how a
//! profile is put together and no business of this module. No text is ever cut: what is too long for the model is read
//! in windows, and what cannot be read so fails as too long. A number that is none is a failure, never a probability.

#[cfg(feature = "onnx")]
mod batches;
#[cfg(feature = "onnx")]
mod embedding;
#[cfg(feature = "onnx")]
mod engine;
#[cfg(feature = "onnx")]
mod judge;
#[cfg(feature = "onnx")]
mod network;
#[cfg(feature = "onnx")]
mod pairs;
#[cfg(feature = "onnx")]
mod scoring;
#[cfg(feature = "onnx")]
mod token_labels;
#[cfg(feature = "onnx")]
mod verdicts;
#[cfg(feature = "onnx")]
mod words;

use std::path::PathBuf;
use std::sync::Arc;

use super::Judge;
use super::embedded::Clamp;
use crate::domain::trace::JudgeId;

/// Which model, and how far its guesses may go.
#[derive(Debug, Clone, PartialEq)]
pub struct OnnxOptions {
    /// The folder of the model.
    pub dir: PathBuf,
    /// The range of what is only guessed at: the likeness of vectors that nothing calibrates.
    pub clamp: Clamp,
}

/// Why a model folder is refused: what is wrong, with the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OnnxError(pub String);

/// Reads a model folder, checks it and runs the model once.
#[cfg(feature = "onnx")]
pub fn open(judge_id: &JudgeId, options: &OnnxOptions) -> Result<Arc<dyn Judge>, OnnxError> {
    let engine = engine::Engine::open(&options.dir)?;
    Ok(Arc::new(judge::OnnxJudge::new(
        judge_id.clone(),
        engine,
        options.clamp,
    )))
}

/// This build cannot run models.
#[cfg(not(feature = "onnx"))]
pub fn open(_judge_id: &JudgeId, _options: &OnnxOptions) -> Result<Arc<dyn Judge>, OnnxError> {
    Err(OnnxError(
        "this build runs no models; build it with `cargo build --release --features onnx`"
            .to_owned(),
    ))
}

#[cfg(test)]
mod tests;
