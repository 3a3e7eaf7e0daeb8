//! Rules of thumb about the answer: its relevance, contradiction and correctness.
//!
//! Relevance is the share of the question's content words in the answer, and 0 if the answer abstains.
//! Contradiction is the share 0.9 if a statement and its best sentence agree in most words but not in numbers or
//! negation, 0.5 if no sentence is about the same, else 0.2; the highest over the statements counts.
//! Correctness is the F1 of content words with the reference answer, halved if the reference has a number that the
//! answer lacks.

use super::groundedness::{Finding, SAME_SUBJECT};
use super::index::Index;
use super::lexicon::{Lexicon, WordId};
use super::voice::{Voice, passage};
use crate::domain::judgment::{Evidence, Guard, Judgment};

/// Shares for a sign of contradiction, for nothing comparable and for agreement.
const CONTRADICTS: f64 = 0.9;
const NOTHING_COMPARABLE: f64 = 0.5;
const AGREES: f64 = 0.2;

/// Whether the answer addresses the question; both by their distinct content words, sorted.
pub(super) fn relevance(
    question: &[WordId],
    answer: &[WordId],
    abstains: bool,
    lexicon: &Lexicon,
    voice: &Voice<'_>,
) -> Judgment {
    if abstains {
        return voice.heuristic(0.0, None);
    }
    if question.is_empty() {
        return voice.heuristic(0.5, None);
    }
    let missing = difference(question, answer);
    let found = question.len() - missing.len();
    let shown = terms(&missing, lexicon);
    voice.heuristic(found as f64 / question.len() as f64, Some(shown))
}

/// Whether the answer contradicts the evidence.
pub(super) fn contradiction(
    findings: &[Finding],
    index: &Index,
    lexicon: &Lexicon,
    voice: &Voice<'_>,
) -> Judgment {
    let mut worst: Option<(f64, Option<usize>, Vec<Guard>)> = None;
    for finding in findings {
        let best = finding.matched.best;
        let share = match best {
            _ if finding.matched.quote.is_some() => AGREES,
            Some((best, share)) if SAME_SUBJECT <= share => {
                let negation = finding.guards.contains(&Guard::NegationParity);
                if negation || numbers_differ(finding, best, index, lexicon) {
                    CONTRADICTS
                } else {
                    AGREES
                }
            }
            _ => NOTHING_COMPARABLE,
        };
        if worst.as_ref().is_none_or(|(most, ..)| *most < share) {
            let at = best.map(|(at, _)| at);
            worst = Some((share, at, finding.guards.clone()));
        }
    }
    match worst {
        None => voice.heuristic(NOTHING_COMPARABLE, None),
        Some((share, at, guards)) => {
            let shown = passage(index, at.map(|at| at..at + 1));
            voice.heuristic(share, Some(Evidence { guards, ..shown }))
        }
    }
}

/// Whether the answer agrees with the reference answer; both by their distinct content words, sorted.
pub(super) fn correctness(
    answer: &[WordId],
    reference: &[WordId],
    lexicon: &Lexicon,
    voice: &Voice<'_>,
) -> Judgment {
    let both = answer.len() + reference.len();
    if answer.is_empty() || reference.is_empty() {
        return voice.heuristic(0.5, None);
    }
    let missing = difference(reference, answer);
    let shared = reference.len() - missing.len();
    let f1 = 2.0 * shared as f64 / both as f64;
    let lacks_number = missing.iter().any(|&id| lexicon.facts(id).is_number);
    let share = if lacks_number { f1 / 2.0 } else { f1 };
    voice.heuristic(share, Some(terms(&missing, lexicon)))
}

/// Both have numbers, and one of the statement is not in the sentence.
fn numbers_differ(finding: &Finding, best: usize, index: &Index, lexicon: &Lexicon) -> bool {
    let there = index.words_of(best..best + 1);
    let is_number = |id: &&WordId| lexicon.facts(**id).is_number;
    let has_numbers = there.iter().any(|id| is_number(&id));
    let mut said = finding.statement.words.iter().filter(is_number);
    has_numbers && said.any(|id| !there.contains(id))
}

/// What is in the first and not in the second; both sorted.
fn difference(from: &[WordId], other: &[WordId]) -> Vec<WordId> {
    from.iter()
        .copied()
        .filter(|id| other.binary_search(id).is_err())
        .collect()
}

fn terms(missing: &[WordId], lexicon: &Lexicon) -> Evidence {
    let words = missing.iter().map(|&id| lexicon.spelling(id).to_owned());
    Evidence {
        missing_terms: words.collect(),
        ..Evidence::default()
    }
}
