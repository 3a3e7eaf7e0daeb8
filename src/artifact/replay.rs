//! Replay rows: the recorded answer of one judge to one trace.
//!
//! A row is bound to its trace by the digest of everything that a judge sees; an answer that the judge did not give is
//! absent, never null.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::digest::sha256_hex;
use super::lines::{self, LineError};
use crate::domain::diagnosis::Diagnosis;
use crate::domain::judgment::JudgmentSource;
use crate::domain::outcome::{DecisionVariant, Usage};
use crate::domain::probability::Probability;
use crate::domain::trace::{JudgeId, Trace, TraceId, TurnRole};

/// The recorded answer of one judge to one trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayRow {
    /// The trace.
    pub trace_id: TraceId,
    /// Digest of what the judge saw; see [`input_sha256`].
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub input_sha256: Option<String>,
    /// The judge, by its name in the configuration.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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

/// Why a file of recorded answers cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Lines are wrong; all of them are listed.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Lines(Vec<LineError>),
    /// No row belongs to the judge.
    #[error("{file} holds no row of judge `{judge_id}`; its rows are of {}", .found.join(", "))]
    NoRows {
        /// The file.
        file: String,
        /// The judge.
        judge_id: JudgeId,
        /// The judges that it has rows of.
        found: Vec<String>,
    },
}

/// Reads the rows of one judge.
pub fn read(
    file: &str,
    text: &str,
    judge_id: &JudgeId,
) -> Result<BTreeMap<TraceId, ReplayRow>, ReplayError> {
    let mut rows: BTreeMap<TraceId, ReplayRow> = BTreeMap::new();
    let mut others = std::collections::BTreeSet::new();
    let mut errors = Vec::new();
    for (place, row) in lines::read::<ReplayRow>(file, text) {
        match row.and_then(|row| checked(row).map_err(|message| place.error(message))) {
            Ok(row) if row.judge_id != *judge_id => {
                others.insert(format!("`{}`", row.judge_id));
            }
            Ok(row) if rows.contains_key(&row.trace_id) => {
                errors.push(place.error(format!("trace `{}` has a row already", row.trace_id)));
            }
            Ok(row) => {
                rows.insert(row.trace_id.clone(), row);
            }
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(ReplayError::Lines(errors));
    }
    if rows.is_empty() {
        let found = if others.is_empty() {
            vec!["no judge".to_owned()]
        } else {
            others.into_iter().collect()
        };
        return Err(ReplayError::NoRows {
            file: file.to_owned(),
            judge_id: judge_id.clone(),
            found,
        });
    }
    Ok(rows)
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
fn without_duplicates<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, Probability>, D::Error> {
    struct Unique;

    impl<'de> Visitor<'de> for Unique {
        type Value = BTreeMap<String, Probability>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of probabilities by chunk id")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut unique = BTreeMap::new();
            while let Some((key, value)) = entries.next_entry::<String, Probability>()? {
                if unique.contains_key(&key) {
                    return Err(A::Error::custom(format_args!(
                        "chunk `{key}` is answered twice"
                    )));
                }
                unique.insert(key, value);
            }
            Ok(unique)
        }
    }

    deserializer.deserialize_map(Unique)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"{"trace_id":"t1","judge_id":"j","decision":{"id":"d","version":"1","variant":"without_reference"},"answers":{"groundedness":0.9},"latency_ms":5}"#;

    #[track_caller]
    fn check(from: &str, to: &str, expected: &str) {
        assert!(ROW.contains(from), "{from}");
        let error = read("r.jsonl", &ROW.replace(from, to), &"j".into())
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("r.jsonl:1: ") && error.contains(expected),
            "{error}"
        );
    }

    #[test]
    fn a_row_is_read_and_written_back_the_same() {
        let rows = read("r.jsonl", ROW, &"j".into()).unwrap();
        let row = &rows[&TraceId::from("t1")];
        assert_eq!(serde_json::to_string(row).unwrap(), ROW);
    }

    #[test]
    fn a_value_that_is_not_allowed_is_named_by_its_line() {
        check("0.9", "1.2", "`1.2` is not a probability");
        check("0.9", "null", "invalid type: null");
        check(
            "\"groundedness\"",
            "\"helpfulness\"",
            "unknown field `helpfulness`",
        );
        check("\"t1\"", "\"\"", "trace_id: must not be empty");
        check(
            "{\"groundedness\":0.9}",
            r#"{"chunk_relevance":{"c":0.1,"c":0.2}}"#,
            "chunk `c` is answered twice",
        );
        let both = r#"{"groundedness":0.9,"verdict":{"diagnosis":"PASS"}}"#;
        check("{\"groundedness\":0.9}", both, "in place of probabilities");
        check(
            "{\"groundedness\":0.9}",
            r#"{"verdict":{"diagnosis":"NOT_ASSESSABLE"}}"#,
            "NOT_ASSESSABLE",
        );
        check(
            "\"latency_ms\"",
            "\"input_sha256\":\"abc\",\"latency_ms\"",
            "64 lower-case hexadecimal digits",
        );
    }

    #[test]
    fn a_trace_has_one_row_and_the_judge_has_some() {
        let twice = format!("{ROW}\n{ROW}\n");
        let error = read("r.jsonl", &twice, &"j".into())
            .unwrap_err()
            .to_string();
        assert_eq!(error, "r.jsonl:2: trace `t1` has a row already");
        let error = read("r.jsonl", ROW, &"other".into())
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "r.jsonl holds no row of judge `other`; its rows are of `j`"
        );
    }
}
