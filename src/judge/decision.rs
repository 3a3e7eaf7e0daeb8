//! Decisions: the versioned sets of questions that judges are asked.
//!
//! With a reference answer there are seven questions, without one six: correctness is then not asked and not guessed.
//! Each question names the parts of the trace that it may rest on. Any change of a word is a new version.

use std::sync::LazyLock;

use super::view::View;
use crate::artifact::digest::sha256_hex;
use crate::domain::Vocabulary as _;
use crate::domain::dimension::Dimension;
use crate::domain::outcome::DecisionVariant;
use crate::domain::question::Question;

/// The version of both sets of questions.
const VERSION: &str = "2";
/// What the name of a question about a statement begins with.
pub const STATEMENT_KEY: &str = "groundedness_";
/// The words of groundedness where it is asked about each statement of the answer by itself; the sets of questions hold
/// those about the answer as a whole.
pub const STATEMENT: Wording = Wording {
    dimension: Dimension::Groundedness,
    text: "Is everything that `statements[i]` claims, read as a part of `answer`, supported by `chunks`?",
    when_true: "Every claim of `statements[i]` is stated in `chunks` or follows from them.",
    when_false: "At least one claim of `statements[i]` is neither stated in `chunks` nor follows from them.",
};

/// A versioned set of questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Its id.
    pub id: &'static str,
    /// Its version.
    pub version: &'static str,
    /// With or without correctness.
    pub variant: DecisionVariant,
    /// SHA-256 of its wordings, `dimension: text`, `true: when_true` and `false: when_false` a line, hexadecimal.
    pub sha256: String,
    /// The wordings in the order of the dimensions.
    pub wordings: Vec<Wording>,
}

/// The words of the question about a dimension.
///
/// They name the parts of a trace by their paths. `chunks[i]` stands for the chunk that is asked about, `statements[i]`
/// for the statement, and
/// `retrieval_question` for `standalone_question` if there is one, else for `question`, read after `history`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wording {
    /// The dimension.
    pub dimension: Dimension,
    /// The question.
    pub text: &'static str,
    /// When the answer is yes.
    pub when_true: &'static str,
    /// When the answer is no.
    pub when_false: &'static str,
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
        let wordings: Vec<_> = Dimension::ALL
            .iter()
            .filter(|&&dimension| asks_correctness || dimension != Dimension::Correctness)
            .map(|&dimension| wording(dimension))
            .collect();
        let lines: String = wordings
            .iter()
            .map(|words| {
                let Wording {
                    dimension,
                    text,
                    when_true,
                    when_false,
                } = words;
                format!("{dimension}: {text}\ntrue: {when_true}\nfalse: {when_false}\n")
            })
            .collect();
        Self {
            id,
            version: VERSION,
            variant,
            sha256: sha256_hex(lines.as_bytes()),
            wordings,
        }
    }
}

impl Wording {
    /// The words of one question over one view: text, when true, when false.
    pub fn over(&self, question: Question, view: &View<'_>) -> [String; 3] {
        let ordinal = question.chunk_ordinal();
        let path = ordinal.map(|ordinal| ("chunks[i]", format!("chunks[{ordinal}]")));
        self.put(path, view)
    }

    /// The words of the question about one of the statements that are asked about, by its ordinal among these.
    pub fn over_statement(&self, ordinal: usize, view: &View<'_>) -> [String; 3] {
        let path = ("statements[i]", format!("statements[{ordinal}]"));
        self.put(Some(path), view)
    }

    fn put(&self, path: Option<(&str, String)>, view: &View<'_>) -> [String; 3] {
        let retrieval_question = match (&view.standalone_question, view.history.is_empty()) {
            (Some(_), _) => "`standalone_question`",
            (None, true) => "`question`",
            (None, false) => "`question` (read after `history`)",
        };
        let history_is_evidence = view.history_is_evidence
            && !view.history.is_empty()
            && matches!(
                self.dimension,
                Dimension::Groundedness | Dimension::Contradiction
            );
        [self.text, self.when_true, self.when_false].map(|words| {
            let mut words = words.replace("`retrieval_question`", retrieval_question);
            if let Some((any, one)) = &path {
                words = words.replace(any, one);
            }
            if history_is_evidence {
                words = words.replace("`chunks`", "`chunks` and `history`");
            }
            words
        })
    }
}

/// The name of a question on a wire: that of its dimension, or `chunk_` with the ordinal of its chunk.
pub fn key(question: Question) -> String {
    match question.chunk_ordinal() {
        Some(ordinal) => format!("chunk_{ordinal}"),
        None => question.dimension().name().to_owned(),
    }
}

/// The name of the question about one of the statements that are asked about, by its ordinal among these.
pub fn statement_key(ordinal: usize) -> String {
    format!("{STATEMENT_KEY}{ordinal}")
}

/// The words of the question about a dimension.
pub const fn wording(dimension: Dimension) -> Wording {
    let [text, when_true, when_false] = match dimension {
        Dimension::ChunkRelevance => [
            "Does `chunks[i].text` contain information that is relevant to `retrieval_question`?",
            "It holds a fact, definition or step that helps to answer `retrieval_question`, if only in part.",
            "It is about something else, or shares only its topic or its words with `retrieval_question`.",
        ],
        Dimension::ContextSufficiency => [
            "Do `chunks`, taken together, contain everything that is needed to answer `retrieval_question`?",
            "Every part of the answer to `retrieval_question` is stated in `chunks`.",
            "Something that the answer needs is not stated in `chunks`.",
        ],
        Dimension::ContextConflict => [
            "Do `chunks` contain statements that materially conflict with each other on what `retrieval_question` asks?",
            "Two passages of `chunks` give answers to `retrieval_question` that cannot both be true.",
            "The passages of `chunks` agree, are about different things, or differ only on what was not asked.",
        ],
        Dimension::AnswerRelevance => [
            "Does `answer` directly address what `question` asks, read after `history`?",
            "`answer` responds to what was asked, whether or not it is right.",
            "`answer` declines, evades, or responds to something else.",
        ],
        Dimension::Groundedness => [
            "Is everything that `answer` claims supported by `chunks`?",
            "Every claim of `answer` is stated in `chunks` or follows from them.",
            "At least one claim of `answer` is neither stated in `chunks` nor follows from them.",
        ],
        Dimension::Contradiction => [
            "Does `answer` contradict `chunks`?",
            "At least one claim of `answer` cannot be true if `chunks` are.",
            "No claim of `answer` is ruled out by `chunks`, whether or not it is supported.",
        ],
        Dimension::Correctness => [
            "Is `answer` consistent with `reference_answer`?",
            "`answer` says the same on what `question` asks as `reference_answer`, in whatever words.",
            "`answer` differs from `reference_answer` on what `question` asks, or leaves an essential part out.",
        ],
    };
    Wording {
        dimension,
        text,
        when_true,
        when_false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correctness_is_asked_only_with_a_reference() {
        let with = Decision::of(DecisionVariant::WithReference);
        let without = Decision::of(DecisionVariant::WithoutReference);
        assert_eq!(with.wordings.len(), 7);
        assert_eq!(without.wordings.len(), 6);
        assert!(
            without
                .wordings
                .iter()
                .all(|words| words.dimension != Dimension::Correctness)
        );
        assert_ne!(with.sha256, without.sha256);
    }
}
