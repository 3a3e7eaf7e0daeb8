//! Which parts of a trace a question rests on, and what they cost in tokens.
//!
//! A retrieval question rests on chunks (relevance on its own one) and on the question that stands alone, or else on the
//! question after the history; answer relevance on question, history and answer; groundedness and contradiction on
//! chunks and answer, and on history if that is evidence; correctness on question, answer and reference answer.

use std::borrow::Cow;

use super::{Field, Redactor, ViewOptions, ViewStatement};
use crate::domain::Vocabulary as _;
use crate::domain::dimension::Dimension;
use crate::domain::question::{Question, QuestionSet};
use crate::domain::trace::{Trace, TurnRole};
use crate::judge::Ask;
use crate::judge::decision::{Decision, STATEMENT};
use crate::text::tokens::estimated_token_count;

/// Tokens for what stands around the state in a request.
const FRAME_TOKENS: u64 = 64;
/// Tokens for what stands around the words of a question: its name, its keys, the names of what it rests on.
const QUESTION_TOKENS: u64 = 32;
/// Tokens for what stands around a chunk.
const CHUNK_TOKENS: u64 = 4;
/// Tokens for what stands around a statement.
const STATEMENT_TOKENS: u64 = 4;
/// Tokens for what stands around a turn.
const TURN_TOKENS: u64 = 8;

/// The texts of a trace, redacted.
pub(super) struct Texts<'a> {
    pub(super) question: Cow<'a, str>,
    pub(super) standalone_question: Option<Cow<'a, str>>,
    pub(super) history: Vec<(TurnRole, Cow<'a, str>)>,
    pub(super) chunks: Vec<Cow<'a, str>>,
    pub(super) answer: Cow<'a, str>,
    pub(super) reference_answer: Option<Cow<'a, str>>,
    /// Those that came with the trace, if they are asked about.
    pub(super) statements: Vec<Cow<'a, str>>,
}

impl<'a> Texts<'a> {
    /// All of them together, whatever is asked: a value has one placeholder in every request about the trace.
    pub(super) fn of(trace: &'a Trace, redactor: &Redactor, asks_statements: bool) -> Self {
        let statements = trace.statements.iter().filter(|_| asks_statements);
        let mut texts = vec![trace.question.as_str(), &trace.answer];
        texts.extend(trace.standalone_question.as_deref());
        texts.extend(trace.reference_answer.as_deref());
        texts.extend(trace.history.iter().map(|turn| turn.text.as_str()));
        texts.extend(trace.chunks.iter().map(|chunk| chunk.text.as_str()));
        texts.extend(statements.clone().map(String::as_str));
        let mut redacted = if redactor.is_empty() {
            texts.into_iter().map(Cow::Borrowed).collect()
        } else {
            redactor.redact(&texts)
        }
        .into_iter();
        let mut next = || redacted.next().unwrap_or_default();
        Self {
            question: next(),
            answer: next(),
            standalone_question: trace.standalone_question.as_ref().map(|_| next()),
            reference_answer: trace.reference_answer.as_ref().map(|_| next()),
            history: trace.history.iter().map(|t| (t.role, next())).collect(),
            chunks: trace.chunks.iter().map(|_| next()).collect(),
            statements: statements.map(|_| next()).collect(),
        }
    }
}

/// What of a trace is there and may be shown.
pub(super) struct Shape {
    available: Vec<Field>,
    has_history: bool,
    history_is_evidence: bool,
}

impl Shape {
    pub(super) fn new(ask: &Ask<'_>, options: &ViewOptions) -> Self {
        let trace = ask.trace;
        let is_there = |field| match field {
            Field::StandaloneQuestion => trace.standalone_question.is_some(),
            Field::ReferenceAnswer => trace.reference_answer.is_some(),
            Field::History => !trace.history.is_empty(),
            Field::Question | Field::Chunks | Field::Answer => true,
        };
        let fields = options.send_fields.iter().copied();
        Self {
            available: fields.filter(|&field| is_there(field)).collect(),
            has_history: !trace.history.is_empty(),
            history_is_evidence: ask.history_is_evidence,
        }
    }

    pub(super) fn has(&self, field: Field) -> bool {
        self.available.contains(&field)
    }

    /// Whether a question is about a part, or is read with it.
    pub(super) fn uses(&self, question: Question, field: Field) -> bool {
        let stands_alone = self.has(Field::StandaloneQuestion);
        match question.dimension() {
            Dimension::ChunkRelevance
            | Dimension::ContextSufficiency
            | Dimension::ContextConflict => match field {
                Field::Chunks => true,
                Field::StandaloneQuestion => stands_alone,
                Field::Question => !stands_alone,
                Field::History => !stands_alone && self.has_history,
                Field::Answer | Field::ReferenceAnswer => false,
            },
            Dimension::AnswerRelevance => match field {
                Field::Question | Field::Answer => true,
                Field::History => self.has_history,
                Field::StandaloneQuestion | Field::Chunks | Field::ReferenceAnswer => false,
            },
            Dimension::Groundedness | Dimension::Contradiction => match field {
                Field::Chunks | Field::Answer => true,
                Field::History => self.history_is_evidence && self.has_history,
                Field::Question | Field::StandaloneQuestion | Field::ReferenceAnswer => false,
            },
            Dimension::Correctness => match field {
                Field::Question | Field::Answer | Field::ReferenceAnswer => true,
                Field::StandaloneQuestion | Field::History | Field::Chunks => false,
            },
        }
    }

    /// Whether a part is missing that a question cannot do without. History that is only read along can be missed.
    pub(super) fn lacks_for(&self, question: Question) -> bool {
        let is_evidence = matches!(
            question.dimension(),
            Dimension::Groundedness | Dimension::Contradiction
        );
        Field::ALL
            .iter()
            .filter(|&&field| self.uses(question, field) && !self.has(field))
            .any(|&field| field != Field::History || is_evidence)
    }

    /// Whether a part is shown for these questions. The question itself always is, if it may be.
    pub(super) fn shows(&self, field: Field, asked: &QuestionSet) -> bool {
        let is_used = field == Field::Question || asked.asked().any(|q| self.uses(q, field));
        is_used && self.has(field)
    }

    /// Whether a chunk is shown for these questions: all are, unless only the relevance of some is asked.
    pub(super) fn shows_chunk(&self, ordinal: usize, asked: &QuestionSet) -> bool {
        let rests_on_it = |question: Question| match question.chunk_ordinal() {
            Some(other) => other == ordinal,
            None => self.uses(question, Field::Chunks),
        };
        self.has(Field::Chunks) && asked.asked().any(rests_on_it)
    }
}

/// What the parts of a request cost in tokens.
pub(super) struct Costs<'a> {
    decision: &'a Decision,
    parts: Vec<(Field, u64)>,
    /// Of the texts of the statements that are asked about.
    statements: Vec<u64>,
    pub(super) chunks: Vec<u64>,
}

impl<'a> Costs<'a> {
    pub(super) fn of(
        texts: &Texts<'_>,
        statements: &[ViewStatement],
        decision: &'a Decision,
    ) -> Self {
        let decidable = statements.iter().filter(|own| own.is_decidable);
        let optional = |text: &Option<Cow<'_, str>>| text.as_deref().map_or(0, token_count);
        let history = texts.history.iter();
        let parts = vec![
            (Field::Question, token_count(&texts.question)),
            (
                Field::StandaloneQuestion,
                optional(&texts.standalone_question),
            ),
            (
                Field::History,
                history
                    .map(|(_, text)| TURN_TOKENS + token_count(text))
                    .sum(),
            ),
            (Field::Answer, token_count(&texts.answer)),
            (Field::ReferenceAnswer, optional(&texts.reference_answer)),
        ];
        Self {
            decision,
            parts,
            statements: decidable.map(|own| token_count(&own.shown)).collect(),
            chunks: texts.chunks.iter().map(|text| token_count(text)).collect(),
        }
    }

    /// Everything but the texts of the chunks.
    pub(super) fn fixed(&self, asked: &QuestionSet, shape: &Shape) -> u64 {
        let parts = self.parts.iter();
        let parts = parts.filter(|(field, _)| shape.shows(*field, asked));
        let statement_count = self.asked_statements(asked).len();
        let frame = asked_token_count(asked, statement_count, self.chunks.len(), self.decision);
        let statements: u64 = self.asked_statements(asked).iter().sum();
        frame + statements + parts.map(|(_, cost)| cost).sum::<u64>()
    }

    /// Whether the statements with their questions cost more than every part that some questions can do without.
    pub(super) fn are_statements_largest(&self, asked: &QuestionSet, shape: &Shape) -> bool {
        let statements = self.asked_statements(asked);
        let texts: u64 = statements.iter().sum();
        let cost = texts + statement_frame_token_count(statements.len());
        let largest = self.largest(asked, shape);
        let mut parts = self.parts.iter();
        let other = largest.and_then(|field| parts.find(|(other, _)| *other == field));
        !statements.is_empty() && other.is_none_or(|(_, other)| *other < cost)
    }

    fn asked_statements(&self, asked: &QuestionSet) -> &[u64] {
        let is_asked = asked[Question::about(Dimension::Groundedness)];
        if is_asked { &self.statements } else { &[] }
    }

    /// The largest of the parts that some questions can do without.
    pub(super) fn largest(&self, asked: &QuestionSet, shape: &Shape) -> Option<Field> {
        let optional = [Field::ReferenceAnswer, Field::Answer, Field::History];
        let parts = self.parts.iter();
        let shown = parts
            .filter(|(field, _)| optional.contains(field) && shape.shows(*field, asked))
            .max_by_key(|(_, cost)| *cost);
        shown.map(|(field, _)| *field)
    }
}

/// The estimated tokens of the questions and of what stands around the texts.
pub fn frame_token_count(asked: &QuestionSet, chunk_count: usize, decision: &Decision) -> u64 {
    let questions = asked.asked().map(|question| {
        let mut wordings = decision.wordings.iter();
        let words = wordings.find(|words| words.dimension == question.dimension());
        let words: u64 = words.map_or(0, |words| {
            let texts = [words.text, words.when_true, words.when_false];
            texts.map(token_count).iter().sum()
        });
        QUESTION_TOKENS + words
    });
    FRAME_TOKENS + CHUNK_TOKENS * chunk_count as u64 + questions.sum::<u64>()
}

/// The same where groundedness is asked about so many statements one by one, unless there are none.
pub(super) fn asked_token_count(
    asked: &QuestionSet,
    statement_count: usize,
    chunk_count: usize,
    decision: &Decision,
) -> u64 {
    let groundedness = Question::about(Dimension::Groundedness);
    let is_whole = |question| statement_count == 0 || question != groundedness;
    let whole = asked.map(|question, is_asked| *is_asked && is_whole(question));
    let frame = frame_token_count(&whole, chunk_count, decision);
    frame + statement_frame_token_count(statement_count)
}

/// The estimated tokens of so many questions about statements and of what stands around these.
fn statement_frame_token_count(count: usize) -> u64 {
    let texts = [STATEMENT.text, STATEMENT.when_true, STATEMENT.when_false];
    let words: u64 = texts.map(token_count).iter().sum();
    count as u64 * (QUESTION_TOKENS + STATEMENT_TOKENS + words)
}

/// The estimated tokens of a text as a value of JSON, where quotes and controls are written longer.
pub(super) fn token_count(text: &str) -> u64 {
    let longer: usize = text
        .bytes()
        .map(|byte| match byte {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 1,
            0..=0x1f => 5,
            _ => 0,
        })
        .sum();
    (estimated_token_count(text) + longer.div_ceil(4)) as u64
}
