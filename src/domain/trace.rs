//! Traces: what a retrieval-augmented application retrieved and answered.
//!
//! A [`Trace`] is made from a [`TraceDraft`] by [`Trace::new`], which names every violation with its place; a trace that
//! exists is valid, so no judge and no rule checks one again.

mod check;

use std::fmt;
use std::sync::Arc;

use super::vocabulary;

/// Declares an identifier.
macro_rules! identifier {
    ($(#[$meta:meta])* $type:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $type(Arc<str>);

        impl $type {
            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl<T: AsRef<str>> From<T> for $type {
            fn from(id: T) -> Self {
                Self(Arc::from(id.as_ref()))
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

identifier! {
    /// The caller's identity of a trace.
    TraceId
}
identifier! {
    /// The identity of a chunk within its trace.
    ChunkId
}
identifier! {
    /// The name of a judge in the configuration.
    JudgeId
}
identifier! {
    /// The name of a profile in the configuration.
    ProfileName
}

/// The identity of an immutable input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotId {
    /// Its name.
    pub id: Arc<str>,
    /// SHA-256 of its content, hexadecimal.
    pub sha256: Arc<str>,
}

/// One question with the chunks that were retrieved for it and the answer that was given.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace(TraceDraft);

/// The parts of a trace before validation.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceDraft {
    /// The caller's identity.
    pub trace_id: TraceId,
    /// The user's question.
    pub question: String,
    /// The retrieved chunks in rank order.
    pub chunks: Vec<Chunk>,
    /// The generated answer; blank if the application answered nothing.
    pub answer: String,
    /// The reference answer.
    pub reference_answer: Option<String>,
    /// Earlier turns of the conversation, oldest first.
    pub history: Vec<Turn>,
    /// The retriever's rewrite of the question that stands alone.
    pub standalone_question: Option<String>,
    /// Whether the application retrieved anything.
    pub retrieval: RetrievalState,
    /// Free labels of the caller.
    pub tags: Vec<String>,
    /// The model that wrote the answer.
    pub generator_model: Option<String>,
    /// BCP 47 tag of the language.
    pub language: Option<String>,
    /// The statements of the answer as the caller extracted them.
    pub statements: Vec<String>,
}

/// One retrieved piece of text.
#[derive(Debug, Clone, PartialEq)]
pub struct Chunk {
    /// Identity within the trace.
    pub chunk_id: ChunkId,
    /// The text.
    pub text: String,
    /// The document that it was cut from.
    pub document_id: Option<String>,
    /// The retriever's own score in its own unit.
    pub retrieval_score: Option<f64>,
}

/// One earlier turn of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Who spoke.
    pub role: TurnRole,
    /// What was said.
    pub text: String,
}

vocabulary! {
    /// Who spoke a turn.
    "turn role"
    pub enum TurnRole {
        /// The user.
        User = "user",
        /// The assistant.
        Assistant = "assistant",
    }
}

vocabulary! {
    /// Whether the application retrieved anything.
    "retrieval state"
    pub enum RetrievalState {
        /// Retrieval ran.
        Performed = "performed",
        /// Retrieval did not run.
        NotPerformed = "not_performed",
        /// Retrieval ran but its texts were not recorded.
        TextsMissing = "texts_missing",
    }
}

/// What a trace may hold at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceLimits {
    /// Chunks.
    pub max_chunk_count: usize,
    /// Bytes of any one text.
    pub max_text_bytes: usize,
    /// Earlier turns.
    pub max_history_turns: usize,
}

impl Trace {
    /// Checks the parts of a trace and names every violation.
    pub fn new(draft: TraceDraft, limits: &TraceLimits) -> Result<Self, TraceError> {
        let violations = check::violations(&draft, limits);
        if violations.is_empty() {
            Ok(Self(draft))
        } else {
            Err(TraceError(violations))
        }
    }

    /// Whether the answer is blank.
    pub fn answer_is_blank(&self) -> bool {
        check::is_blank(&self.answer)
    }

    /// The question as the retriever saw it.
    pub fn retrieval_question(&self) -> &str {
        self.standalone_question
            .as_deref()
            .unwrap_or(&self.question)
    }
}

impl std::ops::Deref for Trace {
    type Target = TraceDraft;

    fn deref(&self) -> &TraceDraft {
        &self.0
    }
}

impl Chunk {
    /// Whether there is no text to judge.
    pub fn is_blank(&self) -> bool {
        check::is_blank(&self.text)
    }
}

/// Whether a text says nothing: white space, and characters that show nothing.
pub fn is_blank(text: &str) -> bool {
    check::is_blank(text)
}

/// Everything that is wrong with a trace.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}", list(.0))]
pub struct TraceError(pub Vec<Violation>);

/// One thing that is wrong with a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// The field, as its path in the Protobuf message.
    pub path: String,
    /// What kind of violation it is.
    pub reason: ViolationReason,
    /// What is wrong, in words.
    pub description: String,
    /// The configured limit that was passed.
    pub limit: Option<usize>,
}

vocabulary! {
    /// What is wrong with a field.
    "kind of violation"
    pub enum ViolationReason {
        /// It is missing or blank.
        Required = "REQUIRED",
        /// It is set but blank.
        Blank = "BLANK",
        /// It was used before.
        Duplicate = "DUPLICATE",
        /// Its text is too long.
        TextTooLong = "TEXT_TOO_LONG",
        /// There are too many chunks.
        TooManyChunks = "TOO_MANY_CHUNKS",
        /// There are too many entries.
        TooMany = "TOO_MANY",
        /// Its number is not finite.
        NotFinite = "NOT_FINITE",
        /// The message has no such field.
        UnknownField = "UNKNOWN_FIELD",
        /// Its value is of another type.
        WrongType = "WRONG_TYPE",
        /// Its value is not known.
        UnknownValue = "UNKNOWN_VALUE",
        /// Its value is known and not offered.
        NotOffered = "NOT_OFFERED",
    }
}

impl Violation {
    /// There are more entries in all lists together than anybody looks at.
    pub fn too_many_parts(limit: usize) -> Self {
        let description = format!("there are more than {limit} entries in all lists together");
        Self {
            limit: Some(limit),
            ..Self::new("", ViolationReason::TooMany, description)
        }
    }

    /// A violation without a configured limit.
    pub fn new(
        path: impl Into<String>,
        reason: ViolationReason,
        description: impl Into<String>,
    ) -> Self {
        Self {
            path: path.into(),
            reason,
            description: description.into(),
            limit: None,
        }
    }
}

fn list(violations: &[Violation]) -> String {
    let line = |violation: &Violation| match &*violation.path {
        "" => violation.description.clone(),
        path => format!("{path}: {}", violation.description),
    };
    let lines: Vec<_> = violations.iter().map(line).collect();
    lines.join("; ")
}

#[cfg(test)]
mod tests;
