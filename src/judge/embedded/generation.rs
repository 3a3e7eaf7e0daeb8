//! Rules of thumb about the answer: its relevance, contradiction and correctness.
//!
//! Relevance is the share of the question's content words in the answer, and 0 if the answer abstains.
//! Contradiction is the weighted share of a statement's words in its best sentence if a guard fires, for then a number, a
//! name, a negation or the like differs; else half that share times the share of words that are missing. A quotation
//! contradicts nothing, and neither does what no sentence is about; the highest over the statements counts.
//! Correctness is the F1 of content words with the reference answer, halved if the reference has a number that the
//! answer lacks.

use super::groundedness::Finding;
use super::index::Index;
use super::lexicon::{Lexicon, WordId};
use super::voice::{Voice, passage};
use crate::domain::judgment::{Evidence, Judgment};

/// What the missing words of a statement count for if no guard fires.
const WITHOUT_GUARD: f64 = 0.5;

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

/// Whether the answer contradicts the evidence: as its worst statement does.
pub(super) fn contradiction(findings: &[Finding], index: &Index, voice: &Voice<'_>) -> Judgment {
    let mut worst: Option<(f64, &Finding)> = None;
    for finding in findings {
        let share = contradicted(finding);
        if worst.is_none_or(|(most, _)| most < share) {
            worst = Some((share, finding));
        }
    }
    let Some((share, finding)) = worst else {
        return voice.heuristic(0.5, None);
    };
    let at = finding.matched.best.map(|(at, _)| at..at + 1);
    let guards = finding.guards.clone();
    voice.heuristic(
        share,
        Some(Evidence {
            guards,
            ..passage(index, at)
        }),
    )
}

/// How likely a statement speaks of the same as its best sentence and says something else of it.
fn contradicted(finding: &Finding) -> f64 {
    let matched = &finding.matched;
    match matched.best {
        _ if matched.quote.is_some() => 0.0,
        None => 0.0,
        Some((_, share)) if !finding.guards.is_empty() => share,
        Some((_, share)) => {
            let missing = matched.missing.len() as f64 / matched.content.len().max(1) as f64;
            WITHOUT_GUARD * share * missing
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
