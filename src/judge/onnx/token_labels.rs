//! Models that mark the tokens of an answer: groundedness is one less the greatest probability of "not supported".
//!
//! The context with the question is the first side, the answer the second. A context that does not fit is read in
//! windows, and a token is supported if one of them supports it; an answer that does not fit is read in windows too, and
//! a token that stands in two of them is as bad as the worse says.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;

use super::batches::Forward;
use super::judge::{Findings, Job};
use super::scoring::{corrected, probability};
use super::verdicts::{Found, Statement, statements_of};
use super::words::{Tokens, filled, slice};
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;

use crate::domain::question::Question;

/// The first side, unless the contract has another.
const TEMPLATE: &str = "{context}\n\n{question}";
/// Tokens by which a text may come out longer once it stands in a template.
const MARGIN: usize = 8;

/// Judges a trace by a model that marks tokens.
pub(super) fn judge(job: &Job, forward: &Forward<'_>) -> Result<Findings, String> {
    let mut answers = job.no_answers();
    if !job.asks(Dimension::Groundedness) {
        return Ok((answers, Vec::new()));
    }
    let trace = &job.trace;
    let statements = statements_of(trace);
    let context = Context::new(job)?;
    let mut found: Vec<Found> = Vec::with_capacity(statements.len());
    if trace.statements.is_empty() {
        let marks = Marks::read(&context, &trace.answer, forward)?;
        for statement in &statements {
            found.push(match statement.is_decidable() {
                true => marks.of(&in_bytes(&trace.answer, statement)),
                false => Err(FailureReason::Undecidable),
            });
        }
    } else {
        for statement in &statements {
            found.push(match statement.is_decidable() {
                true => {
                    let marks = Marks::read(&context, &statement.text, forward)?;
                    marks.of(&(0..statement.text.len()))
                }
                false => Err(FailureReason::Undecidable),
            });
        }
    }
    let scale = job.engine.calibration.of(Dimension::Groundedness);
    for (p, _) in found.iter_mut().flatten() {
        *p = corrected(*p, scale);
    }
    let voice = job.voice();
    let whole = voice.groundedness(&statements, &found, trace);
    answers[Question::about(Dimension::Groundedness)] = Some(whole);
    Ok((answers, voice.statements(statements, &found, trace)))
}

/// The first side.
struct Context<'a> {
    job: &'a Job,
    template: String,
    text: String,
    tokens: Tokens,
    /// Tokens of the template without the context.
    around: usize,
}

/// How likely each token of a text is not supported, or why that is not known.
struct Marks {
    tokens: Tokens,
    unsupported: Result<Vec<f64>, FailureReason>,
}

impl<'a> Context<'a> {
    fn new(job: &'a Job) -> Result<Self, String> {
        let trace = &job.trace;
        let turns = trace.history.iter().filter(|_| job.history_is_evidence);
        let turns = turns.map(|turn| turn.text.as_str());
        let chunks = trace.chunks.iter().map(|chunk| chunk.text.as_str());
        let texts: Vec<&str> = chunks.chain(turns).collect();
        let template = job.engine.contract.template.as_deref().unwrap_or(TEMPLATE);
        let text = if template.contains("{passages}") {
            let numbered = texts.iter().zip(1..);
            let numbered = numbered.map(|(text, number)| format!("passage {number}: {text}"));
            numbered.collect::<Vec<_>>().join("\n")
        } else {
            texts.join("\n\n")
        };
        let words = &job.engine.words;
        let tokens = words.tokens(&text)?;
        let mut context = Self {
            job,
            template: template.to_owned(),
            text,
            tokens,
            around: 0,
        };
        context.around = words.tokens(&context.around(&(0..0)))?.len() + MARGIN;
        Ok(context)
    }

    /// The first side with a window of the context.
    fn around(&self, window: &Range<usize>) -> String {
        let stretch = match window.is_empty() {
            true => "",
            false => slice(&self.text, &self.tokens.place(window)),
        };
        let trace = &self.job.trace;
        let texts = [
            ("{context}", stretch),
            ("{passages}", stretch),
            ("{question}", trace.question.as_str()),
            ("{passage_count}", &trace.chunks.len().to_string()),
        ];
        filled(&self.template, &texts)
    }
}

impl Marks {
    /// Marks every token of a text.
    fn read(context: &Context<'_>, text: &str, forward: &Forward<'_>) -> Result<Self, String> {
        let engine = &context.job.engine;
        let (contract, words) = (&engine.contract, &engine.words);
        let tokens = words.tokens(text)?;
        let answer_windows = tokens.windows(contract.max_tokens / 2, None);
        let longest = answer_windows.iter().map(Range::len).max().unwrap_or(0);
        let taken = words.pair_overhead() + context.around + longest;
        let room = contract.max_tokens.checked_sub(taken);
        let room = room.filter(|room| contract.max_tokens <= room.saturating_mul(8));
        let Some(room) = room else {
            let unsupported = Err(FailureReason::TooLong);
            return Ok(Self {
                tokens,
                unsupported,
            });
        };
        let width = contract.window.map_or(room, |window| window.min(room));
        let contexts = context.tokens.windows(width, contract.stride);
        let both = |row: usize| (row / contexts.len(), row % contexts.len());
        let always = taken - longest;
        let lengths: Vec<usize> = answer_windows
            .iter()
            .flat_map(|answer| contexts.iter().map(|c| always + c.len() + answer.len()))
            .collect();
        // Where the tokens of the answer stand in the rows that are on their way.
        let places = RefCell::new(BTreeMap::new());
        let make = |row: usize| {
            let (answer, window) = both(row);
            let first = words.tokens(&context.around(&contexts[window]))?;
            let second = answer_windows[answer].clone();
            let pair = words.pair((&first, 0..first.len()), (&tokens, second))?;
            places.borrow_mut().insert(row, pair.second);
            Ok(pair.row)
        };
        let place = contract.heads.first().map_or(0, |(_, place)| *place);
        let scale = engine.calibration.of(Dimension::Groundedness);
        let mut least = vec![vec![f64::INFINITY; tokens.len()]; answer_windows.len()];
        let mut done = 0;
        let mut failure = None;
        forward.run(&lengths, make, |row, made, numbers| {
            done += 1;
            if contract.max_tokens < made.ids.len() {
                failure = Some(FailureReason::TooLong);
            }
            let (answer, _) = both(row);
            let places = places.borrow_mut().remove(&row).unwrap_or_default();
            for (token, place_in_row) in answer_windows[answer].clone().zip(places) {
                match probability(contract, scale, numbers.at(place_in_row), place) {
                    Some(p) => least[answer][token] = least[answer][token].min(p),
                    None => failure = Some(FailureReason::Protocol),
                }
            }
        })?;
        let late = (done < lengths.len()).then_some(FailureReason::Timeout);
        let unsupported = match failure.or(late) {
            Some(reason) => Err(reason),
            None => Ok((0..tokens.len())
                .map(|token| {
                    let windows = least.iter().map(|window| window[token]);
                    windows.filter(|p| p.is_finite()).fold(-1.0, f64::max)
                })
                .collect()),
        };
        Ok(Self {
            tokens,
            unsupported,
        })
    }

    /// Groundedness of a stretch of the text, in bytes.
    fn of(&self, stretch: &Range<usize>) -> Found {
        let unsupported = self.unsupported.as_ref().map_err(|reason| *reason)?;
        let tokens = self.tokens.within(stretch);
        let worst = tokens.map(|token| unsupported[token]).fold(-1.0, f64::max);
        // A stretch without a marked token, or a trace without a context.
        if worst < 0.0 {
            return Err(FailureReason::Undecidable);
        }
        Ok((1.0 - worst, None))
    }
}

/// The place of a statement within the answer in bytes.
fn in_bytes(answer: &str, statement: &Statement) -> Range<usize> {
    let Some(span) = &statement.span else {
        return 0..answer.len();
    };
    let at = |place: usize| {
        let mut places = answer.char_indices().map(|(at, _)| at);
        places.nth(place).unwrap_or(answer.len())
    };
    at(span.start)..at(span.end)
}
