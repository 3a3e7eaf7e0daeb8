//! Models of pairs: a chunk and a statement, or a chunk and the question.
//!
//! The chunk is the premise, the statement or the question the hypothesis. A chunk that does not fit beside its
//! hypothesis is read in windows; the chunk that supports (or contradicts) a statement most decides about it, and the
//! worst statement decides about the answer. A hypothesis that leaves less than a quarter of the model's tokens to the
//! premise is too long.

use std::borrow::Cow;
use std::ops::Range;

use super::batches::Forward;
use super::judge::{Findings, Job};
use super::network::Row;
use super::scoring::{corrected, probability};
use super::verdicts::{Found, Window, deciding, statements_of};
use super::words::{Tokens, slice};
use crate::artifact::model_folder::{Aggregate, ModelKind, Order};
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::JudgmentBasis;
use crate::domain::question::Question;

/// Judges a trace by a model of pairs.
pub(super) fn judge(job: &Job, forward: &Forward<'_>) -> Result<Findings, String> {
    let trace = &job.trace;
    let is_about_answer = job.asks(Dimension::Groundedness) || job.asks(Dimension::Contradiction);
    let statements = match is_about_answer {
        true => statements_of(trace),
        false => Vec::new(),
    };
    let asked_chunks = job.asked_chunks();
    let turns = trace.history.iter().filter(|_| job.history_is_evidence);
    let turns: Vec<&str> = turns.map(|turn| turn.text.as_str()).collect();
    let chunks = trace.chunks.iter().map(|chunk| chunk.text.as_str());
    let premises: Vec<&str> = match is_about_answer {
        true => chunks.chain(turns).collect(),
        false => chunks.collect(),
    };
    let mut hypotheses: Vec<&str> = statements.iter().map(|s| s.text.as_str()).collect();
    let question = hypotheses.len();
    hypotheses.push(trace.retrieval_question());
    let mut reading = Reading::new(job, &premises, &hypotheses)?;
    let decidable = (0..question).filter(|&statement| statements[statement].is_decidable());
    for statement in decidable {
        let order = Order::PremiseFirst;
        reading.add(statement, 0..premises.len(), order)?;
    }
    for &chunk in &asked_chunks {
        let order = Order::HypothesisFirst;
        reading.add(question, chunk..chunk + 1, order)?;
    }
    reading.run(forward)?;

    let voice = job.voice();
    let measured = JudgmentBasis::Measured;
    let mut answers = job.no_answers();
    for &chunk in &asked_chunks {
        let found = reading.found(question, Dimension::ChunkRelevance, Some(chunk));
        answers[Question::chunk(chunk)] = Some(voice.judgment(found, measured, trace));
    }
    let all = |dimension| -> Vec<Found> {
        let statements = 0..question;
        statements
            .map(|statement| reading.found(statement, dimension, None))
            .collect()
    };
    if job.asks(Dimension::Contradiction) {
        let whole = deciding(&all(Dimension::Contradiction), |p, best| best < p);
        let asked = Question::about(Dimension::Contradiction);
        answers[asked] = Some(voice.judgment(whole, measured, trace));
    }
    if !job.asks(Dimension::Groundedness) {
        return Ok((answers, Vec::new()));
    }
    let each = all(Dimension::Groundedness);
    let asked = Question::about(Dimension::Groundedness);
    answers[asked] = Some(voice.groundedness(&statements, &each, trace));
    Ok((answers, voice.statements(statements, &each, trace)))
}

/// The pairs of a trace and what the model made of them.
struct Reading<'a> {
    job: &'a Job,
    premises: Vec<(Cow<'a, str>, Tokens)>,
    hypotheses: Vec<(Cow<'a, str>, Tokens)>,
    pairs: Vec<Pair>,
    /// Hypotheses that do not fit.
    too_long: Vec<usize>,
}

/// A window of a premise beside a hypothesis.
struct Pair {
    hypothesis: usize,
    premise: usize,
    window: Range<usize>,
    order: Order,
    length: usize,
    numbers: Option<Vec<f32>>,
}

impl<'a> Reading<'a> {
    fn new(job: &'a Job, premises: &[&'a str], hypotheses: &[&'a str]) -> Result<Self, String> {
        let words = &job.engine.words;
        let read = |texts: &[&'a str]| -> Result<Vec<(Cow<'a, str>, Tokens)>, String> {
            let texts = texts.iter().map(|text| {
                let text = words.plain(text);
                let tokens = words.tokens(&text)?;
                Ok((text, tokens))
            });
            texts.collect()
        };
        Ok(Self {
            job,
            premises: read(premises)?,
            hypotheses: read(hypotheses)?,
            pairs: Vec::new(),
            too_long: Vec::new(),
        })
    }

    /// Puts a hypothesis beside every window of these premises.
    fn add(
        &mut self,
        hypothesis: usize,
        premises: Range<usize>,
        usual: Order,
    ) -> Result<(), String> {
        let contract = &self.job.engine.contract;
        let words = &self.job.engine.words;
        let (text, tokens) = &self.hypotheses[hypothesis];
        let room = match (contract.kind, &contract.template) {
            (ModelKind::PromptClassifier, Some(template)) => {
                words.room(template, text, contract.max_tokens)?
            }
            _ => contract
                .max_tokens
                .checked_sub(words.pair_overhead() + tokens.len()),
        };
        let Some(room) = room.filter(|&room| contract.max_tokens <= room.saturating_mul(4)) else {
            self.too_long.push(hypothesis);
            return Ok(());
        };
        let width = contract.window.map_or(room, |window| window.min(room));
        let taken = contract.max_tokens - room;
        for premise in premises {
            for window in self.premises[premise].1.windows(width, contract.stride) {
                self.pairs.push(Pair {
                    hypothesis,
                    premise,
                    length: taken + window.len(),
                    window,
                    order: contract.order.unwrap_or(usual),
                    numbers: None,
                });
            }
        }
        Ok(())
    }

    fn run(&mut self, forward: &Forward<'_>) -> Result<(), String> {
        let lengths: Vec<usize> = self.pairs.iter().map(|pair| pair.length).collect();
        let max_tokens = self.job.engine.contract.max_tokens;
        let mut taken: Vec<(usize, Vec<f32>)> = Vec::new();
        let mut grown = Vec::new();
        forward.run(
            &lengths,
            |index| self.row(&self.pairs[index]),
            |index, row, numbers| {
                if row.ids.len() <= max_tokens {
                    taken.push((index, numbers.at(0).to_vec()));
                } else {
                    grown.push(self.pairs[index].hypothesis);
                }
            },
        )?;
        for (index, numbers) in taken {
            self.pairs[index].numbers = Some(numbers);
        }
        self.too_long.append(&mut grown);
        Ok(())
    }

    fn row(&self, pair: &Pair) -> Result<Row, String> {
        let words = &self.job.engine.words;
        let contract = &self.job.engine.contract;
        let (premise_text, premise) = &self.premises[pair.premise];
        let (hypothesis_text, hypothesis) = &self.hypotheses[pair.hypothesis];
        if let (ModelKind::PromptClassifier, Some(template)) = (contract.kind, &contract.template) {
            let premise = slice(premise_text, &premise.place(&pair.window));
            return words.prompt(template, premise, hypothesis_text);
        }
        let premise = (premise, pair.window.clone());
        let hypothesis = (hypothesis, 0..hypothesis.len());
        Ok(match pair.order {
            Order::PremiseFirst => words.pair(premise, hypothesis)?.row,
            Order::HypothesisFirst => words.pair(hypothesis, premise)?.row,
        })
    }

    /// What the premises, or the one of them, say of a hypothesis.
    fn found(&self, hypothesis: usize, dimension: Dimension, only: Option<usize>) -> Found {
        if self.too_long.contains(&hypothesis) {
            return Err(FailureReason::TooLong);
        }
        if self.hypotheses[hypothesis].1.is_empty() {
            return Err(FailureReason::Undecidable);
        }
        let is_asked = |pair: &&Pair| {
            pair.hypothesis == hypothesis && only.is_none_or(|premise| pair.premise == premise)
        };
        let pairs: Vec<&Pair> = self.pairs.iter().filter(is_asked).collect();
        let mut best: Option<(f64, &Pair)> = None;
        for windows in pairs.chunk_by(|a, b| a.premise == b.premise) {
            let (p, pair) = self.of_windows(windows, dimension)?;
            if best.is_none_or(|(best, _)| best < p) {
                best = Some((p, pair));
            }
        }
        let (p, pair) = best.ok_or(FailureReason::Undecidable)?;
        let window = Window {
            chunk: pair.premise,
            place: self.premises[pair.premise].1.place(&pair.window),
        };
        Ok((p, Some(window)))
    }

    /// What stands for a premise of several windows, and the window that says it most.
    fn of_windows<'p>(
        &self,
        windows: &[&'p Pair],
        dimension: Dimension,
    ) -> Result<(f64, &'p Pair), FailureReason> {
        let contract = &self.job.engine.contract;
        let scale = self.job.engine.calibration.of(dimension);
        let heads = contract.heads.iter();
        let place = heads.filter(|(of, _)| *of == dimension);
        let place = place.map(|(_, place)| *place).next().unwrap_or_default();
        let mut best: Option<(f64, &'p Pair)> = None;
        let mut sum = 0.0;
        for pair in windows {
            let numbers = pair.numbers.as_ref().ok_or(FailureReason::Timeout)?;
            let p = probability(contract, scale, numbers, place).ok_or(FailureReason::Protocol)?;
            sum += p;
            if best.is_none_or(|(best, _)| best < p) {
                best = Some((p, pair));
            }
        }
        let (greatest, pair) = best.ok_or(FailureReason::Undecidable)?;
        let p = match contract.aggregate {
            Aggregate::Max => greatest,
            Aggregate::Mean => sum / windows.len() as f64,
        };
        Ok((corrected(p, scale), pair))
    }
}
