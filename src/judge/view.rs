//! What a judge is shown of a trace.
//!
//! A view holds the parts that the questions rest on and that the judge may have, and nothing else: never an id, a tag or
//! a label of the caller, no answer where none is asked about. Nothing is cut silently: [`View::seen`] says how much of
//! the text in question is in it, and a question that cannot be asked is listed with its reason:
//!
//! - `undecidable`: it rests on a part that the judge may not have. What is only read along is left out instead: the
//!   standalone question, and history unless it is evidence.
//! - `too_long`: what it rests on does not fit. The context is cut down to windows; question, history, answer and
//!   reference answer never are.
//!
//! Where groundedness is asked about each statement of the answer by itself, it is one question here all the same: it
//! is `undecidable` if no statement is decidable, and `too_long` if there are too many or their questions do not fit.

mod parts;
mod rank;
mod redact;
mod statements;
mod window;

use std::borrow::Cow;

use serde::{Serialize, Serializer};

pub use self::parts::frame_token_count;
use self::parts::{Costs, Shape, Texts, asked_token_count};
use self::rank::Wanted;
pub use self::redact::{BuiltIn, Redactor};
pub use self::statements::ViewStatement;
use self::window::windows;
use super::Ask;
use super::decision::Decision;
use crate::domain::Vocabulary as _;
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::SeenFraction;
use crate::domain::question::{Question, QuestionSet};
use crate::domain::trace::{Trace, TurnRole};
use crate::domain::vocabulary;
use crate::text::injection::speaks_to_the_judge;
use crate::text::tokens::estimated_token_count;

/// What a judge may be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewOptions {
    /// The most tokens of state and questions that the judge takes; `None` is unlimited.
    pub max_state_tokens: Option<u64>,
    /// The parts of a trace that may be sent.
    pub send_fields: Vec<Field>,
    /// What is replaced by placeholders before anything is sent.
    pub redact: Redactor,
    /// The most statements of an answer that groundedness is asked about one by one; `None` asks about the whole answer.
    pub max_statements: Option<usize>,
}

vocabulary! {
    /// A part of a trace that a judge may be shown.
    "field of a trace"
    pub enum Field {
        /// The question.
        Question = "question",
        /// Its rewrite that stands alone.
        StandaloneQuestion = "standalone_question",
        /// Earlier turns.
        History = "history",
        /// The texts of the chunks.
        Chunks = "chunks",
        /// The answer.
        Answer = "answer",
        /// The reference answer.
        ReferenceAnswer = "reference_answer",
    }
}

impl Default for ViewOptions {
    fn default() -> Self {
        Self {
            max_state_tokens: None,
            send_fields: Field::ALL.to_vec(),
            redact: Redactor::default(),
            max_statements: None,
        }
    }
}

/// What a judge is shown of one trace.
#[derive(Debug, Clone, PartialEq)]
pub struct View<'a> {
    /// The user's question; empty if the judge may not have it.
    pub question: Cow<'a, str>,
    /// Its rewrite that stands alone, unless no question is about retrieval.
    pub standalone_question: Option<Cow<'a, str>>,
    /// Earlier turns, oldest first; none unless a question rests on them.
    pub history: Vec<(TurnRole, Cow<'a, str>)>,
    /// The texts of all chunks of the trace, by ordinal; empty where nothing of one is shown.
    pub chunks: Vec<Cow<'a, str>>,
    /// The answer, unless no question is about it.
    pub answer: Option<Cow<'a, str>>,
    /// The reference answer, unless no question is about it.
    pub reference_answer: Option<Cow<'a, str>>,
    /// The statements of the answer, if groundedness is to be asked about each; see [`Self::asked_statements`].
    pub statements: Vec<ViewStatement>,
    /// The questions that can be asked over this view; if there are none, nothing is to be sent.
    pub questions: QuestionSet,
    /// The questions that cannot, in order, with the reason.
    pub unasked: Vec<(Question, FailureReason)>,
    /// How much of each chunk is shown, by ordinal; `None` if nothing is.
    pub seen_chunks: Vec<Option<SeenFraction>>,
    /// How much is shown of all chunks together that the questions rest on.
    pub seen_context: SeenFraction,
    /// Whether groundedness and contradiction may rest on earlier turns too.
    pub history_is_evidence: bool,
    /// Whether a text that is shown seems to speak to the judge.
    pub has_injection_signal: bool,
}

/// The state of a request: the chunks first, so that judges with a prefix cache read a document once.
impl Serialize for View<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct State<'a> {
            #[serde(skip_serializing_if = "Vec::is_empty")]
            chunks: Vec<Text<'a>>,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            history: Vec<Turn<'a>>,
            #[serde(skip_serializing_if = "str::is_empty")]
            question: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            standalone_question: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            answer: Option<&'a str>,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            statements: Vec<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            reference_answer: Option<&'a str>,
        }
        #[derive(Serialize)]
        struct Text<'a> {
            text: &'a str,
        }
        #[derive(Serialize)]
        struct Turn<'a> {
            role: TurnRole,
            text: &'a str,
        }
        let history = self.history.iter();
        let is_blind = self.chunks.iter().all(|text| text.is_empty());
        let chunks = self.chunks.iter().filter(|_| !is_blind);
        State {
            chunks: chunks.map(|text| Text { text }).collect(),
            history: history
                .map(|(role, text)| Turn { role: *role, text })
                .collect(),
            question: &self.question,
            standalone_question: self.standalone_question.as_deref(),
            answer: self.answer.as_deref(),
            statements: self.asked_statements().map(|own| &*own.shown).collect(),
            reference_answer: self.reference_answer.as_deref(),
        }
        .serialize(serializer)
    }
}

impl<'a> View<'a> {
    /// What the judge is shown to answer `ask`.
    pub fn of(ask: &Ask<'a>, options: &ViewOptions) -> Self {
        let asks_statements = options
            .max_statements
            .filter(|_| ask.questions[groundedness()]);
        let texts = Texts::of(ask.trace, &options.redact, asks_statements.is_some());
        let mut choice = Choice {
            shape: Shape::new(ask, options),
            asked: ask.questions.clone(),
            unasked: Vec::new(),
            statements: Vec::new(),
        };
        choice.drop_lacking();
        if let Some(most) = asks_statements {
            choice.statements = ViewStatement::all_of(ask.trace, &texts);
            choice.drop_statements_over(most);
        }
        let context = match options.max_state_tokens {
            None => Context::whole(&texts, &choice),
            Some(limit) => {
                let costs = Costs::of(&texts, &choice.statements, ask.decision);
                choice.fit(ask.trace, &texts, &costs, limit)
            }
        };
        let view = View {
            history_is_evidence: ask.history_is_evidence,
            ..choice.view(texts, context)
        };
        // What is not shown cannot speak to the judge, and what is kept for other traces must not depend on it.
        let has_injection_signal = view.texts().any(speaks_to_the_judge);
        View {
            has_injection_signal,
            ..view
        }
    }

    /// The statements that groundedness is asked about one by one; none if it is asked about the answer as a whole, or
    /// not at all.
    pub fn asked_statements(&self) -> impl Iterator<Item = &ViewStatement> {
        let is_asked = self.questions[groundedness()];
        let statements = self.statements.iter();
        statements.filter(move |own| is_asked && own.is_decidable)
    }

    /// How much of the text that a question rests on is shown.
    pub fn seen(&self, question: Question) -> SeenFraction {
        question
            .chunk_ordinal()
            .and_then(|ordinal| self.seen_chunks[ordinal])
            .unwrap_or(self.seen_context)
    }

    /// The estimated tokens of a request over this view: what is shown, the questions, and what stands around them.
    pub fn request_token_count(&self, decision: &Decision) -> u64 {
        let statement_count = self.asked_statements().count();
        let chunk_count = self.chunks.len();
        let frame = asked_token_count(&self.questions, statement_count, chunk_count, decision);
        frame + self.estimated_token_count()
    }

    /// The estimated tokens of everything that is shown.
    pub fn estimated_token_count(&self) -> u64 {
        let texts = self.texts();
        texts.map(|text| estimated_token_count(text) as u64).sum()
    }

    /// Every text that is shown.
    fn texts(&self) -> impl Iterator<Item = &str> {
        let history = self.history.iter().map(|(_, text)| text);
        let optional = [
            &self.standalone_question,
            &self.answer,
            &self.reference_answer,
        ];
        std::iter::once(&self.question)
            .chain(&self.chunks)
            .chain(history)
            .chain(optional.into_iter().flatten())
            .map(|text| &**text)
            .chain(self.asked_statements().map(|own| &*own.shown))
    }
}

/// The question that may be asked about each statement by itself.
fn groundedness() -> Question {
    Question::about(Dimension::Groundedness)
}

/// Which questions are asked, on the way to a view.
struct Choice {
    shape: Shape,
    asked: QuestionSet,
    unasked: Vec<(Question, FailureReason)>,
    statements: Vec<ViewStatement>,
}

/// What is shown of the chunks.
struct Context<'a> {
    chunks: Vec<Cow<'a, str>>,
    seen_chunks: Vec<Option<SeenFraction>>,
    seen: Option<SeenFraction>,
}

impl Choice {
    fn drop(&mut self, reason: FailureReason, is_dropped: impl Fn(&Shape, Question) -> bool) {
        let dropped: Vec<_> = self.asked.asked().collect();
        for question in dropped {
            if is_dropped(&self.shape, question) {
                self.asked[question] = false;
                self.unasked.push((question, reason));
            }
        }
    }

    fn drop_lacking(&mut self) {
        self.drop(FailureReason::Undecidable, |shape, question| {
            shape.lacks_for(question)
        });
    }

    fn drop_using(&mut self, field: Field) {
        self.drop(FailureReason::TooLong, |shape, question| {
            shape.uses(question, field)
        });
    }

    /// Drops the question about the statements if none can be asked about, or more than `most`.
    fn drop_statements_over(&mut self, most: usize) {
        let decidable = self.statements.iter().filter(|own| own.is_decidable);
        let count = decidable.count();
        if count == 0 {
            self.drop(FailureReason::Undecidable, |_, question| {
                question == groundedness()
            });
        } else if most < count {
            self.drop_statements();
        }
    }

    /// Drops the question about the statements, which do not fit.
    fn drop_statements(&mut self) {
        self.drop(FailureReason::TooLong, |_, question| {
            question == groundedness()
        });
    }

    /// Drops questions until the rest fits, and cuts the context down to what is left.
    fn fit<'a>(
        &mut self,
        trace: &Trace,
        texts: &Texts<'a>,
        costs: &Costs<'_>,
        limit: u64,
    ) -> Context<'a> {
        loop {
            let fixed = costs.fixed(&self.asked, &self.shape);
            let Some(room) = limit.checked_sub(fixed) else {
                if costs.are_statements_largest(&self.asked, &self.shape) {
                    self.drop_statements();
                    continue;
                }
                match costs.largest(&self.asked, &self.shape) {
                    Some(field) => self.drop_using(field),
                    None => {
                        self.drop(FailureReason::TooLong, |_, _| true);
                        return Context::whole(texts, self);
                    }
                }
                continue;
            };
            let shown = costs.chunks.iter().enumerate();
            let shown = shown.filter(|(ordinal, _)| self.shape.shows_chunk(*ordinal, &self.asked));
            if shown.map(|(_, cost)| cost).sum::<u64>() <= room {
                return Context::whole(texts, self);
            }
            let context = Context::cut(trace, texts, self, room);
            if context.seen.is_none() {
                // The rest of the questions may have room without the statements.
                if !self.statements.is_empty() && self.asked[groundedness()] {
                    self.drop_statements();
                } else {
                    self.drop_using(Field::Chunks);
                }
                continue;
            }
            self.drop(FailureReason::TooLong, |_, question| {
                let ordinal = question.chunk_ordinal();
                ordinal.is_some_and(|ordinal| context.seen_chunks[ordinal].is_none())
            });
            return context;
        }
    }

    fn view<'a>(mut self, texts: Texts<'a>, context: Context<'a>) -> View<'a> {
        self.unasked.sort_unstable();
        let shows = |field| self.shape.shows(field, &self.asked);
        let standalone_question = texts.standalone_question;
        let reference_answer = texts.reference_answer;
        View {
            question: Some(texts.question)
                .filter(|_| shows(Field::Question))
                .unwrap_or_default(),
            standalone_question: standalone_question.filter(|_| shows(Field::StandaloneQuestion)),
            history: Some(texts.history)
                .filter(|_| shows(Field::History))
                .unwrap_or_default(),
            answer: Some(texts.answer).filter(|_| shows(Field::Answer)),
            reference_answer: reference_answer.filter(|_| shows(Field::ReferenceAnswer)),
            chunks: context.chunks,
            seen_chunks: context.seen_chunks,
            seen_context: context.seen.unwrap_or(SeenFraction::ALL),
            statements: self.statements,
            questions: self.asked,
            unasked: self.unasked,
            history_is_evidence: false,
            has_injection_signal: false,
        }
    }
}

impl<'a> Context<'a> {
    /// All of every chunk that a question rests on.
    fn whole(texts: &Texts<'a>, choice: &Choice) -> Self {
        let chunks = texts.chunks.iter().enumerate();
        let (chunks, seen_chunks) = chunks
            .map(
                |(ordinal, text)| match choice.shape.shows_chunk(ordinal, &choice.asked) {
                    true => (text.clone(), Some(SeenFraction::ALL)),
                    false => (Cow::default(), None),
                },
            )
            .unzip();
        Self {
            chunks,
            seen_chunks,
            seen: Some(SeenFraction::ALL),
        }
    }

    /// So much of them as fits into `room`; `seen` is absent if that is nothing. A blank chunk hides nothing.
    fn cut(trace: &Trace, texts: &Texts<'a>, choice: &Choice, room: u64) -> Self {
        let shape = &choice.shape;
        let is_read = |field| shape.shows(field, &choice.asked);
        let question = texts.standalone_question.as_ref();
        let question = question.filter(|_| is_read(Field::StandaloneQuestion));
        let question = question.unwrap_or(&texts.question);
        let answer = Some(&texts.answer).filter(|_| is_read(Field::Answer));
        let wanted = Wanted::of(std::iter::once(question).chain(answer).map(|text| &**text));
        let chunks = texts.chunks.iter().enumerate();
        let needed: Vec<Option<&str>> = chunks
            .map(|(ordinal, text)| {
                let is_needed = shape.shows_chunk(ordinal, &choice.asked);
                Some(&**text).filter(|_| is_needed && !trace.chunks[ordinal].is_blank())
            })
            .collect();
        let windows = windows(&needed, &wanted, room);
        let shown = windows.iter().map(|window| window.shown).sum();
        let total = windows.iter().map(|window| window.total).sum();
        let seen_chunks = windows.iter().zip(&needed).enumerate();
        let seen_chunks = seen_chunks.map(|(ordinal, (window, needed))| match needed {
            Some(_) => share(window.shown, window.total),
            None if trace.chunks[ordinal].is_blank() => Some(SeenFraction::ALL),
            None => None,
        });
        Self {
            seen_chunks: seen_chunks.collect(),
            seen: share(shown, total),
            chunks: windows.into_iter().map(|w| w.text.into()).collect(),
        }
    }
}

fn share(shown: usize, total: usize) -> Option<SeenFraction> {
    SeenFraction::new(shown as f64 / total as f64)
}

/// Whether a judge reports so few input tokens that it cannot have read all that was sent.
///
/// The estimate errs by a fifth on prose, and more on short or odd texts: half of it is far below, and little is not
/// judged at all.
pub fn was_truncated(estimated_token_count: u64, reported: Option<u64>) -> bool {
    const LEAST: u64 = 256;
    reported.is_some_and(|reported| {
        LEAST <= estimated_token_count && reported.saturating_mul(2) < estimated_token_count
    })
}

#[cfg(test)]
mod tests;
