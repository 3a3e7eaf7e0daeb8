//! Dataset rows: a trace in a file, with or without labels.
//!
//! These rows are camelCase, as their users have them; every other file is snake_case.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::artifact::lines;
use crate::domain::diagnosis::Diagnosis;
use crate::domain::trace::{
    Chunk, RetrievalState, Trace, TraceDraft, TraceError, TraceLimits, Turn, TurnRole,
};

/// One row: a trace and what is known to be true of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a trace: one JSON object on one line"
)]
pub struct Record {
    /// The name of the trace; no other row of the file has it, and it is not blank.
    pub id: String,
    /// The user's question; not blank.
    pub question: String,
    /// The retrieved chunks in rank order.
    pub contexts: Vec<Context>,
    /// The generated answer; blank if the application answered nothing.
    pub answer: String,
    /// The reference answer; without one, correctness is not asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reference_answer: Option<String>,
    /// The retriever's rewrite of the question.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub standalone_question: Option<String>,
    /// Whether the application retrieved anything; absent is performed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retrieval: Option<RetrievalState>,
    /// Earlier turns, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub history: Vec<HistoryTurn>,
    /// Names for grouping: each is a slice of a report.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub tags: Vec<String>,
    /// The model that wrote the answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub generator_model: Option<String>,
    /// BCP 47 tag of the language.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub language: Option<String>,
    /// The statements of the answer; without them the judge splits the answer.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub statements: Vec<String>,
    /// What is true of the trace; never shown to a judge.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub expected: Option<Expected>,
}

/// One retrieved piece of text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a chunk: an object with `id` and `text`"
)]
pub struct Context {
    /// Identity within the row; no other chunk of the row has it.
    pub id: String,
    /// The text.
    pub text: String,
    /// The document that it was cut from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub document_id: Option<String>,
    /// The retriever's own score.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retrieval_score: Option<f64>,
}

/// One earlier turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a turn: an object with `role` and `text`"
)]
pub struct HistoryTurn {
    /// Who spoke.
    pub role: TurnRole,
    /// What was said.
    pub text: String,
}

/// What is true of a trace; an absent label is not labelled, never false.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with `diagnosis`, `retrieval` and `generation`"
)]
pub struct Expected {
    /// The diagnosis.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub diagnosis: Option<Diagnosis>,
    /// About retrieval.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub retrieval: Option<ExpectedRetrieval>,
    /// About the answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub generation: Option<ExpectedGeneration>,
}

/// What is true of the retrieved context.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "an object of labels"
)]
pub struct ExpectedRetrieval {
    /// Whether each chunk is relevant, by its id; every id is that of a chunk of the row.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        default,
        deserialize_with = "labels_by_chunk"
    )]
    pub chunk_relevance: BTreeMap<String, bool>,
    /// Whether the context suffices.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub context_sufficiency: Option<bool>,
    /// Whether the context conflicts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub context_conflict: Option<bool>,
}

/// What is true of the answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "an object of labels"
)]
pub struct ExpectedGeneration {
    /// Whether it addresses the question.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer_relevance: Option<bool>,
    /// Whether the context supports it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub groundedness: Option<bool>,
    /// Whether it contradicts the context.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub contradiction: Option<bool>,
    /// Whether it agrees with the reference answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub correctness: Option<bool>,
}

impl Record {
    /// The trace of the row; violations are named by the fields of the row.
    pub fn trace(self, limits: &TraceLimits) -> Result<Trace, TraceError> {
        let draft = TraceDraft {
            trace_id: self.id.as_str().into(),
            question: self.question,
            chunks: self.contexts.into_iter().map(chunk).collect(),
            answer: self.answer,
            reference_answer: self.reference_answer,
            history: self.history.into_iter().map(turn).collect(),
            standalone_question: self.standalone_question,
            retrieval: self.retrieval.unwrap_or(RetrievalState::Performed),
            tags: self.tags,
            generator_model: self.generator_model,
            language: self.language,
            statements: self.statements,
        };
        Trace::new(draft, limits).map_err(|TraceError(violations)| {
            let renamed = violations.into_iter().map(|mut violation| {
                violation.path = field_of_row(&violation.path);
                violation
            });
            TraceError(renamed.collect())
        })
    }
}

fn chunk(context: Context) -> Chunk {
    Chunk {
        chunk_id: context.id.into(),
        text: context.text,
        document_id: context.document_id,
        retrieval_score: context.retrieval_score,
    }
}

fn turn(turn: HistoryTurn) -> Turn {
    Turn {
        role: turn.role,
        text: turn.text,
    }
}

fn labels_by_chunk<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, bool>, D::Error> {
    lines::by_chunk(deserializer, "labelled")
}

/// From the path in the Protobuf message to the path in the row.
fn field_of_row(path: &str) -> String {
    let path = path.strip_prefix("trace.").unwrap_or(path);
    path.replace("trace_id", "id")
        .replace("chunks", "contexts")
        .replace("chunk_id", "id")
        .replace("document_id", "documentId")
        .replace("retrieval_score", "retrievalScore")
        .replace("reference_answer", "referenceAnswer")
        .replace("standalone_question", "standaloneQuestion")
        .replace("generator_model", "generatorModel")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: TraceLimits = TraceLimits {
        max_chunk_count: 8,
        max_text_bytes: 1000,
        max_history_turns: 8,
    };

    #[test]
    fn violations_are_named_by_the_fields_of_the_row() {
        let row = r#"{"id":"r1","question":" ","contexts":[{"id":"c1","text":"x"},{"id":"c1","text":"y"}],"answer":"z","referenceAnswer":""}"#;
        let record: Record = serde_json::from_str(row).unwrap();
        let TraceError(violations) = record.trace(&LIMITS).unwrap_err();
        let paths: Vec<_> = violations
            .iter()
            .map(|violation| violation.path.as_str())
            .collect();
        assert_eq!(paths, ["question", "contexts[1].id", "referenceAnswer"]);
    }

    #[test]
    fn an_unknown_field_is_an_error_at_every_level() {
        for row in [
            r#"{"id":"r1","question":"q","contexts":[],"answer":"a","Answer":"b"}"#,
            r#"{"id":"r1","question":"q","contexts":[{"id":"c","text":"t","score":1}],"answer":"a"}"#,
            r#"{"id":"r1","question":"q","contexts":[],"answer":"a","expected":{"retrieval":{"sufficiency":true}}}"#,
        ] {
            assert!(serde_json::from_str::<Record>(row).is_err(), "{row}");
        }
    }

    #[test]
    fn every_bundled_row_is_read_and_written_back_the_same() {
        for text in [
            include_str!("../../fixtures/traces/demo.jsonl"),
            include_str!("../../fixtures/traces/parity.jsonl"),
        ] {
            assert!(text.lines().count() >= 9);
            for line in text.lines() {
                let record: Record = serde_json::from_str(line).unwrap();
                assert_eq!(
                    serde_json::to_value(&record).unwrap(),
                    serde_json::from_str::<serde_json::Value>(line).unwrap()
                );
            }
        }
    }
}
