//! The traces that every judge is asked about.
//!
//! They share question and reference: whatever a judge makes of the words, the first must come out better than the
//! second on every dimension of [`TOLD_APART`].

use std::sync::Arc;

use crate::dataset::record::{Context, Record};
use crate::domain::dimension::Dimension;
use crate::domain::trace::{Trace, TraceError, TraceLimits};

/// The dimensions on which the two traces differ.
pub(super) const TOLD_APART: [Dimension; 5] = [
    Dimension::ChunkRelevance,
    Dimension::ContextSufficiency,
    Dimension::AnswerRelevance,
    Dimension::Groundedness,
    Dimension::Correctness,
];

/// These traces are ours, so nothing limits them.
const UNLIMITED: TraceLimits = TraceLimits {
    max_chunk_count: usize::MAX,
    max_text_bytes: usize::MAX,
    max_history_turns: usize::MAX,
};

const QUESTION: &str = "At what time does the harbour museum close on Fridays?";
const REFERENCE: &str = "At six in the evening.";

/// A trace in which all is right.
pub(super) fn right() -> Result<Arc<Trace>, TraceError> {
    let text = "On Fridays the harbour museum closes at six in the evening.";
    trace(QUESTION, vec![text.to_owned()], text, Some(REFERENCE))
}

/// The same question over a chunk about something else, with an answer to neither.
pub(super) fn wrong() -> Result<Arc<Trace>, TraceError> {
    let chunk = "A sourdough starter is fed once a day with flour and water.";
    let answer = "Bicycles can be rented next to the northern gate for nine crowns.";
    trace(QUESTION, vec![chunk.to_owned()], answer, Some(REFERENCE))
}

/// A trace of chunks in this order.
pub(super) fn trace(
    question: &str,
    chunks: Vec<String>,
    answer: &str,
    reference: Option<&str>,
) -> Result<Arc<Trace>, TraceError> {
    let contexts = chunks
        .into_iter()
        .enumerate()
        .map(|(ordinal, text)| Context {
            id: format!("c{ordinal}"),
            text,
            document_id: None,
            retrieval_score: None,
        });
    let record = Record {
        id: "judges-check".to_owned(),
        question: question.to_owned(),
        contexts: contexts.collect(),
        answer: answer.to_owned(),
        reference_answer: reference.map(str::to_owned),
        standalone_question: None,
        retrieval: None,
        history: Vec::new(),
        tags: Vec::new(),
        generator_model: None,
        language: Some("en".to_owned()),
        statements: Vec::new(),
        expected: None,
    };
    record.trace(&UNLIMITED).map(Arc::new)
}
