//! Models of vectors: a chunk is as relevant as its best window is like the question.
//!
//! A vector is the one that the model gives, or the mean over the tokens. Likeness is a rule of thumb, kept within the
//! clamp, unless `calibration.json` says what it is worth.

use super::batches::Forward;
use super::judge::{Findings, Job};
use super::scoring::corrected;
use super::verdicts::Window;
use super::words::Tokens;
use crate::artifact::model_folder::Aggregate;
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::JudgmentBasis;
use crate::domain::question::Question;

/// Judges a trace by a model of vectors.
pub(super) fn judge(job: &Job, forward: &Forward<'_>) -> Result<Findings, String> {
    let asked = job.asked_chunks();
    let mut answers = job.no_answers();
    if asked.is_empty() {
        return Ok((answers, Vec::new()));
    }
    let engine = &job.engine;
    let trace = &job.trace;
    let question = engine.words.tokens(trace.retrieval_question())?;
    let chunks = asked.iter().map(|&chunk| &trace.chunks[chunk].text);
    let chunks = chunks.map(|text| engine.words.tokens(text));
    let chunks: Vec<Tokens> = chunks.collect::<Result<_, _>>()?;
    let likenesses = likenesses(job, forward, &question, &chunks)?;
    let scale = engine.calibration.of(Dimension::ChunkRelevance);
    let basis = match scale {
        Some(_) => JudgmentBasis::Measured,
        None => JudgmentBasis::Heuristic,
    };
    for ((&chunk, found), tokens) in asked.iter().zip(likenesses).zip(&chunks) {
        let found = found.map(|(likeness, window)| {
            let half = (1.0 + likeness) / 2.0;
            let p = match scale {
                Some(_) => corrected(half, scale),
                None => half.clamp(job.clamp.low().value(), job.clamp.high().value()),
            };
            let place = tokens.place(&window);
            (p, Some(Window { chunk, place }))
        });
        let judgment = job.voice().judgment(found, basis, trace);
        answers[Question::chunk(chunk)] = Some(judgment);
    }
    Ok((answers, Vec::new()))
}

/// The likeness of each chunk to the question, with the window that is most like it.
type Likeness = Result<(f64, std::ops::Range<usize>), FailureReason>;

fn likenesses(
    job: &Job,
    forward: &Forward<'_>,
    question: &Tokens,
    chunks: &[Tokens],
) -> Result<Vec<Likeness>, String> {
    let engine = &job.engine;
    let contract = &engine.contract;
    let overhead = engine.words.single(&Tokens::default(), &(0..0))?.ids.len();
    let room = contract.max_tokens.saturating_sub(overhead);
    if room < question.len() {
        return Ok(vec![Err(FailureReason::TooLong); chunks.len()]);
    }
    let width = contract.window.map_or(room, |window| window.min(room));
    let windows: Vec<_> = chunks
        .iter()
        .map(|tokens| tokens.windows(width, contract.stride))
        .collect();
    let mut texts = vec![(question, 0..question.len())];
    for (tokens, windows) in chunks.iter().zip(&windows) {
        texts.extend(windows.iter().map(|window| (tokens, window.clone())));
    }
    let lengths: Vec<usize> = texts.iter().map(|(_, w)| w.len() + overhead).collect();
    let mut vectors = vec![Vec::new(); texts.len()];
    forward.run(
        &lengths,
        |index| {
            let (tokens, window) = &texts[index];
            engine.words.single(tokens, window)
        },
        |index, row, numbers| vectors[index] = numbers.mean(row.ids.len()),
    )?;
    let mut vectors = vectors.iter();
    let asked = vectors.next().map(Vec::as_slice).unwrap_or_default();
    let mut likenesses = Vec::with_capacity(chunks.len());
    for windows in windows {
        let vectors: Vec<_> = vectors.by_ref().take(windows.len()).collect();
        let each = vectors.iter().map(|vector| likeness(asked, vector));
        let each: Result<Vec<f64>, FailureReason> = each.collect();
        likenesses.push(each.and_then(|each| {
            let best = (0..each.len()).max_by(|&a, &b| each[a].total_cmp(&each[b]));
            let best = best.ok_or(FailureReason::Undecidable)?;
            let likeness = match contract.aggregate {
                Aggregate::Max => each[best],
                Aggregate::Mean => each.iter().sum::<f64>() / each.len() as f64,
            };
            Ok((likeness, windows[best].clone()))
        }));
    }
    Ok(likenesses)
}

/// The cosine of two vectors; an empty one was not made in time.
fn likeness(a: &[f64], b: &[f64]) -> Result<f64, FailureReason> {
    if a.is_empty() || b.is_empty() {
        return Err(FailureReason::Timeout);
    }
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let cosine = product(a, b) / (product(a, a) * product(b, b)).sqrt();
    if cosine.is_finite() {
        Ok(cosine.clamp(-1.0, 1.0))
    } else {
        Err(FailureReason::Protocol)
    }
}
