//! `[judges.NAME]`: who answers.
//!
//! The tag `type` is read first, because it says which keys the rest may have.

pub(super) mod remote;

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::raw;
use super::reader::Reader;
use crate::cascade::spend::SpendOptions;
use crate::domain::Vocabulary as _;
use crate::domain::probability::Probability;
use crate::domain::trace::JudgeId;
use crate::judge::JudgeType;
use crate::judge::embedded::{Clamp, EmbeddedOptions};
use crate::judge::onnx::OnnxOptions;
use crate::judge::remote::RemoteOptions;
use crate::judge::replay::{ReplayMatch, ReplayOptions};

/// The name of the judge that exists without being configured.
pub const EMBEDDED: &str = "embedded";

/// What a judge is made from.
#[derive(Debug, Clone, PartialEq)]
pub enum JudgeConfig {
    /// The lexical judge inside the program.
    Embedded {
        /// How it judges.
        options: EmbeddedOptions,
    },
    /// A model of the user's own.
    Onnx(OnnxOptions),
    /// A judge over HTTP.
    Remote {
        /// Where it is and how it is asked.
        options: Box<RemoteOptions>,
        /// What it may cost.
        spend: SpendOptions,
    },
    /// Answers recorded in a file.
    Replay {
        /// The file.
        file: PathBuf,
        /// How they are replayed.
        options: ReplayOptions,
    },
}

impl JudgeConfig {
    /// Its type.
    pub fn judge_type(&self) -> JudgeType {
        match self {
            Self::Embedded { .. } => JudgeType::Embedded,
            Self::Onnx(_) => JudgeType::Onnx,
            Self::Remote { options, .. } => options.wire.judge_type(),
            Self::Replay { .. } => JudgeType::Replay,
        }
    }
}

/// The judges without any configuration.
pub(super) fn default_judges() -> BTreeMap<JudgeId, JudgeConfig> {
    let options = EmbeddedOptions::default();
    BTreeMap::from([(JudgeId::from(EMBEDDED), JudgeConfig::Embedded { options })])
}

/// Reads every `[judges.NAME]` that can be read.
pub(super) fn judges(reader: &mut Reader<'_, '_>, judges: &mut BTreeMap<JudgeId, JudgeConfig>) {
    for name in reader.names(&["judges"]) {
        reader.name(&["judges", &name]);
        let judge = match judge_type(reader, &name) {
            Some(JudgeType::Embedded) => embedded(reader, &name),
            Some(JudgeType::Onnx) => onnx(reader, &name),
            Some(JudgeType::Replay) => replay(reader, &name),
            Some(
                over_http @ (JudgeType::SystemOne
                | JudgeType::OpenAiDecisions
                | JudgeType::OpenAiLogprobs
                | JudgeType::Chat
                | JudgeType::Anthropic),
            ) => remote::remote(reader, &name, over_http),
            None => None,
        };
        if let Some(judge) = judge {
            judges.insert(JudgeId::from(name), judge);
        }
    }
}

fn judge_type(reader: &mut Reader<'_, '_>, name: &str) -> Option<JudgeType> {
    let path = ["judges", name, "type"];
    let table = reader.sources.get(&["judges", name])?.get_ref();
    if !table.is_table() {
        reader.not_a_table(&path[..2], table);
        return None;
    }
    let is_embedded = name == EMBEDDED;
    let message = match reader.sources.get(&path).map(|tag| tag.get_ref()) {
        None if is_embedded => return Some(JudgeType::Embedded),
        None => {
            let names = JudgeType::ALL.iter().map(|known| format!("`{known}`"));
            format!("missing; one of {}", names.collect::<Vec<_>>().join(", "))
        }
        Some(tag) => match tag.as_str().map(JudgeType::from_name) {
            Some(Ok(JudgeType::Embedded)) => return Some(JudgeType::Embedded),
            Some(Ok(_)) if is_embedded => {
                format!(
                    "the judge `{EMBEDDED}` is of type `{}`",
                    JudgeType::Embedded
                )
            }
            Some(Ok(judge_type)) => return Some(judge_type),
            Some(Err(error)) => error.to_string(),
            None => format!("must be a string, not {}", tag.type_str()),
        },
    };
    reader.problem(&path, message);
    None
}

fn embedded(reader: &mut Reader<'_, '_>, name: &str) -> Option<JudgeConfig> {
    let written = reader.section::<raw::Embedded>(&["judges", name])?;
    let mut options = EmbeddedOptions {
        clamp: clamp(reader, name, written.clamp),
        ..EmbeddedOptions::default()
    };
    if let Some(detect_abstention) = written.detect_abstention {
        options.detect_abstention = detect_abstention;
    }
    Some(JudgeConfig::Embedded { options })
}

fn onnx(reader: &mut Reader<'_, '_>, name: &str) -> Option<JudgeConfig> {
    let written = reader.section::<raw::Onnx>(&["judges", name])?;
    let clamp = clamp(reader, name, written.clamp);
    let path = ["judges", name, "dir"];
    let Some(dir) = written.dir else {
        reader.problem(&path, "missing; the folder of the model");
        return None;
    };
    let dir = reader.file(&path, &dir);
    Some(JudgeConfig::Onnx(OnnxOptions { dir, clamp }))
}

/// The bounds of guesses, as they are written.
fn clamp(reader: &mut Reader<'_, '_>, name: &str, written: Option<[f64; 2]>) -> Clamp {
    let mut clamp = Clamp::default();
    if let Some([low, high]) = written {
        let pair = Probability::try_from(low)
            .ok()
            .zip(Probability::try_from(high).ok());
        match pair.and_then(|(low, high)| Clamp::new(low, high)) {
            Some(pair) => clamp = pair,
            None => reader.problem(
                &["judges", name, "clamp"],
                format!("`[{low}, {high}]` must be two numbers from 0 to 1, the lower one first"),
            ),
        }
    }
    clamp
}

fn replay(reader: &mut Reader<'_, '_>, name: &str) -> Option<JudgeConfig> {
    let written = reader.section::<raw::Replay>(&["judges", name])?;
    let path = ["judges", name, "file"];
    let Some(file) = written.file else {
        reader.problem(&path, "missing; the file with the recorded answers");
        return None;
    };
    Some(JudgeConfig::Replay {
        file: reader.file(&path, &file),
        options: ReplayOptions {
            model: written.model,
            matching: written.matching.unwrap_or(ReplayMatch::InputSha256),
            simulate_latency: written.simulate_latency.unwrap_or(false),
        },
    })
}
