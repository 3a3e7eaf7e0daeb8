//! Replay rows: the recorded answer of one judge to one trace.
//!
//! A row is bound to its trace by the digest of everything that a judge sees; an answer that the judge did not give is
//! absent, never null.

pub mod details;
mod of;
pub mod recorded;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use self::details::RecordedDetails;
use super::digest::sha256_hex;
use super::lines;
use crate::domain::diagnosis::Diagnosis;
use crate::domain::judgment::JudgmentSource;
use crate::domain::outcome::{DecisionVariant, Usage};
use crate::domain::probability::Probability;
use crate::domain::trace::{JudgeId, Trace, TraceId, TurnRole};

/// The recorded answer of one judge to one trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplayRow {
    /// The trace.
    #[schemars(with = "String")]
    pub trace_id: TraceId,
    /// Digest of what the judge saw; see [`input_sha256`].
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub input_sha256: Option<String>,
    /// The judge, by its name in the configuration.
    #[schemars(with = "String")]
    pub judge_id: JudgeId,
    /// The model that answered.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub model: Option<String>,
    /// What kind of numbers its probabilities are; absent is native.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub source: Option<JudgmentSource>,
    /// The set of questions that it was asked.
    pub decision: RecordedDecision,
    /// What it answered.
    pub answers: RecordedAnswers,
    /// What else is to be known about its answers, and why it did not answer a question.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub details: Option<Box<RecordedDetails>>,
    /// How long it took.
    pub latency_ms: u64,
    /// The tokens that it reported.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub usage: Option<Usage>,
}

/// The name of a set of questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedDecision {
    /// Its id.
    pub id: String,
    /// Its version.
    pub version: String,
    /// With or without correctness.
    pub variant: DecisionVariant,
}

/// What a judge answered: probabilities, or a whole diagnosis.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedAnswers {
    /// By chunk id.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        default,
        deserialize_with = "without_duplicates"
    )]
    pub chunk_relevance: BTreeMap<String, Probability>,
    /// Whether the context suffices.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub context_sufficiency: Option<Probability>,
    /// Whether the context conflicts.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub context_conflict: Option<Probability>,
    /// Whether the answer addresses the question.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub answer_relevance: Option<Probability>,
    /// Whether the context supports the answer.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub groundedness: Option<Probability>,
    /// Whether the answer contradicts the context.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub contradiction: Option<Probability>,
    /// Whether the answer agrees with the reference answer.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub correctness: Option<Probability>,
    /// A whole diagnosis in place of probabilities.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub verdict: Option<RecordedVerdict>,
}

/// A whole diagnosis.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedVerdict {
    /// The diagnosis.
    pub diagnosis: Diagnosis,
    /// Its confidence.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub confidence: Option<Probability>,
}

impl RecordedAnswers {
    /// The answers about whole-trace dimensions, by name.
    pub fn whole(&self) -> impl Iterator<Item = (&'static str, Probability)> {
        [
            ("context_sufficiency", self.context_sufficiency),
            ("context_conflict", self.context_conflict),
            ("answer_relevance", self.answer_relevance),
            ("groundedness", self.groundedness),
            ("contradiction", self.contradiction),
            ("correctness", self.correctness),
        ]
        .into_iter()
        .filter_map(|(name, answer)| Some((name, answer?)))
    }
}

fn checked(row: ReplayRow) -> Result<ReplayRow, String> {
    if let Some(digest) = &row.input_sha256
        && !(digest.len() == 64
            && digest
                .bytes()
                .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
    {
        return Err("input_sha256: must be 64 lower-case hexadecimal digits".to_owned());
    }
    let answers = &row.answers;
    if answers.verdict.is_some()
        && (!answers.chunk_relevance.is_empty() || answers.whole().next().is_some())
    {
        return Err(
            "answers: a verdict stands in place of probabilities, not beside them".to_owned(),
        );
    }
    if row.trace_id.as_str().is_empty() {
        return Err("trace_id: must not be empty".to_owned());
    }
    if row
        .answers
        .verdict
        .is_some_and(|verdict| verdict.diagnosis == Diagnosis::NotAssessable)
    {
        return Err(
            "answers.verdict.diagnosis: NOT_ASSESSABLE is not a verdict of a judge".to_owned(),
        );
    }
    if let Some(details) = &row.details {
        details.check(&row.answers)?;
    }
    Ok(row)
}

/// SHA-256 of compact JSON with sorted keys of everything in a trace that a judge sees.
///
/// The keys are `answer`, `chunks` (of `chunk_id` and `text`), `history` (of `role` and `text`), `question`,
/// `reference_answer` and `standalone_question`; a part that the trace does not have is left out.
pub fn input_sha256(trace: &Trace) -> String {
    #[derive(Serialize)]
    struct Input<'a> {
        answer: &'a str,
        chunks: Vec<InputChunk<'a>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        history: Vec<InputTurn<'a>>,
        question: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        reference_answer: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        standalone_question: Option<&'a str>,
    }
    #[derive(Serialize)]
    struct InputChunk<'a> {
        chunk_id: &'a str,
        text: &'a str,
    }
    #[derive(Serialize)]
    struct InputTurn<'a> {
        role: TurnRole,
        text: &'a str,
    }
    let input = Input {
        answer: &trace.answer,
        chunks: trace
            .chunks
            .iter()
            .map(|chunk| InputChunk {
                chunk_id: chunk.chunk_id.as_str(),
                text: &chunk.text,
            })
            .collect(),
        history: trace
            .history
            .iter()
            .map(|turn| InputTurn {
                role: turn.role,
                text: &turn.text,
            })
            .collect(),
        question: &trace.question,
        reference_answer: trace.reference_answer.as_deref(),
        standalone_question: trace.standalone_question.as_deref(),
    };
    #[expect(
        clippy::expect_used,
        reason = "strings and lists of strings always serialise"
    )]
    let json = serde_json::to_vec(&input).expect("strings and lists of strings always serialise");
    sha256_hex(&json)
}

/// A key that is there has a value: absent is absent, and null is an error.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// JSON allows a key twice and most parsers keep the last; here that would hide an answer.
fn without_duplicates<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    lines::by_chunk(deserializer, "answered")
}

#[cfg(test)]
mod tests;
