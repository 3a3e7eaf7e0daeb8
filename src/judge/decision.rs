//! Decisions: the versioned sets of questions that judges are asked.
//!
//! With a reference answer there are seven questions, without one six: correctness is then not asked and not guessed.
//! Each question names the parts of the trace that it may rest on. Any change of a word is a new version.

use std::sync::LazyLock;

use crate::artifact::digest::sha256_hex;
use crate::domain::Vocabulary as _;
use crate::domain::dimension::Dimension;
use crate::domain::outcome::DecisionVariant;

/// The version of both sets of questions.
const VERSION: &str = "1";

/// A versioned set of questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Its id.
    pub id: &'static str,
    /// Its version.
    pub version: &'static str,
    /// With or without correctness.
    pub variant: DecisionVariant,
    /// SHA-256 of its questions, one `dimension: words` a line, hexadecimal.
    pub sha256: String,
    /// The questions in the order of the dimensions.
    pub questions: Vec<(Dimension, &'static str)>,
}

impl Decision {
    /// The questions for a trace with or without a reference answer.
    pub fn of(variant: DecisionVariant) -> &'static Self {
        static WITH: LazyLock<Decision> =
            LazyLock::new(|| Decision::new(DecisionVariant::WithReference));
        static WITHOUT: LazyLock<Decision> =
            LazyLock::new(|| Decision::new(DecisionVariant::WithoutReference));
        match variant {
            DecisionVariant::WithReference => &WITH,
            DecisionVariant::WithoutReference => &WITHOUT,
        }
    }

    fn new(variant: DecisionVariant) -> Self {
        let (id, asks_correctness) = match variant {
            DecisionVariant::WithReference => ("judge-cascade.rag.with-reference", true),
            DecisionVariant::WithoutReference => ("judge-cascade.rag.without-reference", false),
        };
        let questions: Vec<_> = Dimension::ALL
            .iter()
            .filter(|&&dimension| asks_correctness || dimension != Dimension::Correctness)
            .map(|&dimension| (dimension, words(dimension)))
            .collect();
        let lines: String = questions
            .iter()
            .map(|(dimension, words)| format!("{dimension}: {words}\n"))
            .collect();
        Self {
            id,
            version: VERSION,
            variant,
            sha256: sha256_hex(lines.as_bytes()),
            questions,
        }
    }
}

/// The words of a question. `chunks[i]` stands for the chunk that is asked about.
const fn words(dimension: Dimension) -> &'static str {
    match dimension {
        Dimension::ChunkRelevance => {
            "Does `chunks[i].text` contain information that is relevant to `retrieval_question`?"
        }
        Dimension::ContextSufficiency => {
            "Do `chunks`, taken together, contain everything that is needed to answer `retrieval_question`?"
        }
        Dimension::ContextConflict => {
            "Do `chunks` contain statements that materially conflict with each other on what `retrieval_question` asks?"
        }
        Dimension::AnswerRelevance => {
            "Does `answer` directly address what `question` asks, read after `history`?"
        }
        Dimension::Groundedness => "Is everything that `answer` claims supported by `chunks`?",
        Dimension::Contradiction => "Does `answer` contradict `chunks`?",
        Dimension::Correctness => "Is `answer` consistent with `reference_answer`?",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correctness_is_asked_only_with_a_reference() {
        let with = Decision::of(DecisionVariant::WithReference);
        let without = Decision::of(DecisionVariant::WithoutReference);
        assert_eq!(with.questions.len(), 7);
        assert_eq!(without.questions.len(), 6);
        assert!(
            without
                .questions
                .iter()
                .all(|(dimension, _)| *dimension != Dimension::Correctness)
        );
        assert_ne!(with.sha256, without.sha256);
    }
}
