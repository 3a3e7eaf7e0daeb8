//! How much a passage has to do with what is asked: the words and numbers that it shares with question and answer.
//!
//! A word that stands in few passages tells more than one that stands in many, so a text that repeats the words of the
//! question does not push the evidence out; a passage that says the same as an earlier one counts for nothing.
//! A passage between two that matter matters a little: it may hold what they refer to.

use std::collections::{BTreeMap, BTreeSet};

use crate::text::fold::folded;
use crate::text::numbers::number;
use crate::text::words::{is_stop_word, stem, words};

/// What a number weighs beside a word.
const NUMBER_WEIGHT: u64 = 2;
/// What a passage itself weighs beside a neighbour.
const OWN_WEIGHT: u64 = 8;

/// The words and numbers that are looked for.
pub(super) struct Wanted(BTreeMap<String, u64>);

impl Wanted {
    /// Those of these texts.
    pub(super) fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        Self(texts.into_iter().flat_map(terms).collect())
    }

    fn found_in(&self, passage: &str) -> BTreeSet<&str> {
        let found = terms(passage);
        let found = found.filter_map(|(term, _)| self.0.get_key_value(&term));
        found.map(|(term, _)| term.as_str()).collect()
    }

    /// A score for each passage; those of one chunk stand together, and a chunk ends before each of `starts`.
    pub(super) fn scores(&self, passages: &[&str], starts: &BTreeSet<usize>) -> Vec<u64> {
        let mut known = BTreeSet::new();
        let found: Vec<_> = passages
            .iter()
            .map(|passage| {
                let found = self.found_in(passage);
                let is_new = found.is_empty() || known.insert(folded(passage.trim()));
                if is_new { found } else { BTreeSet::new() }
            })
            .collect();
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for term in found.iter().flatten() {
            *counts.entry(term).or_default() += 1;
        }
        let total = passages.len() as u64;
        let own: Vec<u64> = found
            .iter()
            .map(|terms| {
                let weights = terms.iter().map(|term| {
                    let rarity = (total / counts[term]).max(1).ilog2();
                    self.0[*term] * (1 + u64::from(rarity))
                });
                weights.sum()
            })
            .collect();
        let neighbour = |index: Option<usize>| index.and_then(|i| own.get(i)).copied();
        (0..own.len())
            .map(|index| {
                let before = index.checked_sub(1).filter(|_| !starts.contains(&index));
                let after = Some(index + 1).filter(|next| !starts.contains(next));
                let near = [neighbour(before), neighbour(after)];
                OWN_WEIGHT * own[index] + near.into_iter().flatten().sum::<u64>()
            })
            .collect()
    }
}

/// The content words of a text in their stems and its numbers in their one spelling, each with its weight.
fn terms(text: &str) -> impl Iterator<Item = (String, u64)> {
    words(text)
        .map(|(_, word)| folded(word))
        .filter(|word| !is_stop_word(word))
        .map(|word| match number(&word) {
            Some(number) => (number, NUMBER_WEIGHT),
            None => (stem(&word).to_owned(), 1),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn best(wanted: &str, passages: &[&str]) -> usize {
        let scores = Wanted::of([wanted]).scores(passages, &BTreeSet::from([0]));
        let best = scores.iter().max().unwrap();
        scores.iter().position(|score| score == best).unwrap()
    }

    #[test]
    fn what_shares_rare_words_and_numbers_comes_first() {
        let passages = [
            "The ferry is blue.",
            "The ferry is green.",
            "Tickets for the ferry cost twelve crowns.",
            "The ferry has a bar.",
        ];
        assert_eq!(best("The ferry ticket costs 12 crowns", &passages), 2);
    }

    #[test]
    fn repeated_words_of_the_question_do_not_push_the_evidence_out() {
        let padding = "Ferry ticket ferry ticket.";
        let mut passages = vec![padding; 40];
        passages.push("A ticket is 12 crowns.");
        let scores = Wanted::of(["What is a ferry ticket? 12 crowns."])
            .scores(&passages, &BTreeSet::from([0]));
        assert!(scores[..39].iter().all(|score| *score < scores[40]));
        assert_eq!(scores[20], 0);
    }

    #[test]
    fn a_neighbour_counts_only_within_its_chunk() {
        let passages = ["The bar opens at nine.", "It is on deck two."];
        let wanted = Wanted::of(["When does the bar open?"]);
        let together = wanted.scores(&passages, &BTreeSet::from([0]));
        let apart = wanted.scores(&passages, &BTreeSet::from([0, 1]));
        assert!(0 < together[1]);
        assert_eq!(apart[1], 0);
    }
}
