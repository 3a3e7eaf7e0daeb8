//! Judges that answer in words: labels, one flat JSON schema, and what the words are worth.
//!
//! Prompt, schema and parser are made from [`Label`] and from the questions that are asked, so none of them can know a
//! word that another does not. Words are 1, 0.5 and 0, and are said to be that: their source is `verbalized`.

pub mod completion;
pub mod exchange;
pub mod extract;
pub mod prompt;
pub mod read;

use serde_json::{Map, Value, json};

use super::decision;
use super::view::View;
use crate::domain::Vocabulary as _;
use crate::domain::dimension::Dimension;
use crate::domain::question::Question;
use crate::domain::vocabulary;

/// The key under which chunks are labelled.
pub const CHUNKS: &str = "chunks";
/// The key of a chunk's name.
pub const ID: &str = "id";
/// The key of a chunk's label.
pub const LABEL: &str = "label";
/// The key of the sentences of the answer that nothing supports.
pub const UNSUPPORTED: &str = "unsupported_sentences";
/// What the object is called where a wire wants a name for it.
pub const NAME: &str = "judgment";

vocabulary! {
    /// What a judge in words may say to a question.
    "label"
    pub enum Label {
        /// Yes.
        True = "true",
        /// No.
        False = "false",
        /// It cannot tell.
        Unsure = "unsure",
    }
}

impl Label {
    /// What it is worth as P(true).
    pub const fn number(self) -> f64 {
        match self {
            Self::True => 1.0,
            Self::Unsure => 0.5,
            Self::False => 0.0,
        }
    }
}

/// What a judge in words is asked for: the questions of one view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// The questions about whole traces.
    pub whole: Vec<Question>,
    /// The questions about chunks.
    pub chunks: Vec<Question>,
}

impl Form {
    /// The questions that can be asked over a view.
    pub fn of(view: &View<'_>) -> Self {
        let (chunks, whole) = view
            .questions
            .asked()
            .partition(|question| question.chunk_ordinal().is_some());
        Self { whole, chunks }
    }

    /// Whether the sentences that nothing supports are asked for.
    pub fn asks_for_sentences(&self) -> bool {
        self.whole
            .contains(&Question::about(Dimension::Groundedness))
    }

    /// Whether an object with this key can be meant as an answer.
    pub fn knows(&self, key: &str) -> bool {
        let is_whole = self
            .whole
            .iter()
            .any(|&question| decision::key(question) == key);
        is_whole
            || (key == CHUNKS && !self.chunks.is_empty())
            || (key == UNSUPPORTED && self.asks_for_sentences())
    }

    /// The JSON schema of an answer: flat, strict, without unions.
    pub fn schema(&self) -> Value {
        let labels: Vec<_> = Label::ALL.iter().map(|label| label.name()).collect();
        let label = json!({ "type": "string", "enum": labels });
        let mut properties = Map::new();
        for &question in &self.whole {
            properties.insert(decision::key(question), label.clone());
        }
        if !self.chunks.is_empty() {
            let ids: Vec<_> = self.chunks.iter().copied().map(decision::key).collect();
            let id = json!({ "type": "string", "enum": ids });
            let chunk = object(Map::from_iter([
                (ID.to_owned(), id),
                (LABEL.to_owned(), label),
            ]));
            properties.insert(
                CHUNKS.to_owned(),
                json!({ "type": "array", "items": chunk }),
            );
        }
        if self.asks_for_sentences() {
            let sentences = json!({ "type": "array", "items": { "type": "string" } });
            properties.insert(UNSUPPORTED.to_owned(), sentences);
        }
        object(properties)
    }
}

/// An object with exactly these properties.
fn object(properties: Map<String, Value>) -> Value {
    let required: Vec<_> = properties.keys().cloned().collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}

#[cfg(test)]
mod tests;
