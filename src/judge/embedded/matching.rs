//! Where the words of one statement stand in the evidence.
//!
//! The best sentence is the one with the largest weighted share of the statement's content words, of equal ones the
//! shortest and then the first.
//! Weights are whole numbers from fixed lists, so that the search is the same on every machine and no other text of the
//! request makes a word weigh more or less.
//!
//! The search visits the places of rare words first and stops at an allowance, so that the cost stays near linear; the
//! sentence found is then counted exactly. A stopped search can only lower the numbers.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use super::index::Index;
use super::lexicon::{Lexicon, WordId};
use super::quotation::Quote;

/// Places that all searches of a trace may visit together.
const TOTAL_ALLOWANCE: usize = 40_000_000;
/// Places that a search may visit at least.
const LEAST_ALLOWANCE: usize = 512;

/// What was found of a statement.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Match {
    /// Distinct content words of the statement, sorted.
    pub(super) content: Vec<WordId>,
    /// Those found nowhere, in the order of the lexicon.
    pub(super) missing: Vec<WordId>,
    /// The best sentence and the weighted share of content words in it.
    pub(super) best: Option<(usize, f64)>,
    /// The sentences that the statement quotes.
    pub(super) quote: Option<Range<usize>>,
}

/// Matches statements one after the other.
pub(super) struct Matcher<'a> {
    index: &'a Index,
    lexicon: &'a Lexicon,
    allowance: usize,
    sentences: Scores,
}

/// Sums by number of a sentence, with the entries in use, so that clearing costs only those.
struct Scores {
    sums: Vec<u32>,
    used: Vec<usize>,
    last_word: Vec<u32>,
}

impl<'a> Matcher<'a> {
    /// Over an index, for so many statements.
    pub(super) fn new(index: &'a Index, lexicon: &'a Lexicon, statement_count: usize) -> Self {
        Self {
            index,
            lexicon,
            allowance: (TOTAL_ALLOWANCE / statement_count.max(1)).max(LEAST_ALLOWANCE),
            sentences: Scores::new(index.sentences.len()),
        }
    }

    /// Matches one statement, given by its words in order and as a quotation.
    pub(super) fn find(&mut self, words: &[WordId], quote: &Quote) -> Match {
        let mut content: Vec<_> = words.to_vec();
        content.retain(|&id| self.lexicon.facts(id).is_content);
        content.sort_unstable();
        content.dedup();
        let tries = (self.allowance / words.len().max(1)).max(LEAST_ALLOWANCE);
        let missing = content.iter().copied();
        let missing = missing.filter(|&id| self.index.places(id).is_empty());
        Match {
            missing: missing.collect(),
            best: self.search(&content),
            quote: self.index.quoted(quote, tries),
            content,
        }
    }

    /// The best sentence and the weighted share in it.
    fn search(&mut self, content: &[WordId]) -> Option<(usize, f64)> {
        let mut rare_first = content.to_vec();
        rare_first.sort_by_key(|&id| (self.index.places(id).len(), id));
        let mut left = self.allowance;
        for (rank, &id) in rare_first.iter().enumerate() {
            let places = self.index.places(id);
            if left < places.len() {
                // A word too common to search for on its own places the sentence only if nothing rarer did.
                if self.sentences.used.is_empty() {
                    self.visit(rank as u32 + 1, id, &places[..left.max(1)]);
                }
                break;
            }
            left -= places.len();
            self.visit(rank as u32 + 1, id, places);
        }
        let index = self.index;
        let best = self
            .sentences
            .take_best(|at| index.words_of(at..at + 1).len())?;
        let there: BTreeSet<_> = self.index.words_of(best..best + 1).iter().collect();
        let share = self
            .lexicon
            .weighted_share(content, |id| there.contains(&id));
        Some((best, share))
    }

    fn visit(&mut self, mark: u32, id: WordId, places: &[u32]) {
        let weight = self.lexicon.facts(id).weight;
        for &place in places {
            self.sentences
                .add(self.index.sentence_at(place), mark, weight);
        }
    }
}

impl Scores {
    fn new(size: usize) -> Self {
        Self {
            sums: vec![0; size],
            used: Vec::new(),
            last_word: vec![0; size],
        }
    }

    /// Adds the weight of a word once.
    fn add(&mut self, at: usize, mark: u32, weight: u32) {
        if self.last_word[at] == mark {
            return;
        }
        if self.last_word[at] == 0 {
            self.used.push(at);
        }
        self.last_word[at] = mark;
        self.sums[at] += weight;
    }

    /// The entry with the largest sum, of equal ones the shortest and then the first; clears all.
    fn take_best(&mut self, length: impl Fn(usize) -> usize) -> Option<usize> {
        let mut best = None;
        for at in self.used.drain(..) {
            let sum = std::mem::take(&mut self.sums[at]);
            self.last_word[at] = 0;
            let key = (sum, Reverse(length(at)), Reverse(at));
            best = best.max(Some((key, at)));
        }
        best.map(|(_, at)| at)
    }
}
