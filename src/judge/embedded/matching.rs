//! How well one statement is matched by the evidence.
//!
//! The weight of a content word is 1 + floor(log2(1 + sentences / occurrences)) in whole numbers, so that it is the same
//! on every machine. Measured are the share of distinct content words
//! found anywhere (containment), the weighted share found in the best three sentences in a row (window), the share of
//! neighbouring word pairs found side by side (pairs), and whether the whole statement is a quotation.
//!
//! The search for the best window visits the places of rare words first and stops at an allowance, so that the cost
//! stays near linear; the window found is then counted exactly. A stopped search can only lower the numbers.

use std::collections::BTreeSet;
use std::ops::Range;

use super::index::Index;
use super::lexicon::{Lexicon, WordId};
use super::quotation::Quote;

/// Sentences of a window.
const WINDOW: usize = 3;
/// Places that all searches of a trace may visit together.
const TOTAL_ALLOWANCE: usize = 40_000_000;
/// Places that a search may visit at least.
const LEAST_ALLOWANCE: usize = 512;

/// What was found of a statement.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Match {
    /// Distinct content words of the statement.
    pub(super) content_count: usize,
    /// Those found nowhere, in the order of the lexicon.
    pub(super) missing: Vec<WordId>,
    /// Share of content words found anywhere.
    pub(super) containment: f64,
    /// Weighted share found in the best window.
    pub(super) window: f64,
    /// Share of pairs found side by side.
    pub(super) pairs: f64,
    /// The best sentence and the weighted share of content words in it.
    pub(super) best: Option<(usize, f64)>,
    /// All words stand in the best sentence.
    pub(super) in_one_sentence: bool,
    /// The sentences that the statement quotes.
    pub(super) quote: Option<Range<usize>>,
}

/// Matches statements one after the other.
pub(super) struct Matcher<'a> {
    index: &'a Index,
    lexicon: &'a Lexicon,
    allowance: usize,
    windows: Scores,
    sentences: Scores,
}

/// Sums by number of a sentence, with the entries in use, so that clearing costs only those.
struct Scores {
    sums: Vec<f64>,
    used: Vec<usize>,
    last_word: Vec<u32>,
}

impl<'a> Matcher<'a> {
    /// Over an index, for so many statements.
    pub(super) fn new(index: &'a Index, lexicon: &'a Lexicon, statement_count: usize) -> Self {
        let size = index.sentences.len();
        Self {
            index,
            lexicon,
            allowance: (TOTAL_ALLOWANCE / statement_count.max(1)).max(LEAST_ALLOWANCE),
            windows: Scores::new(size),
            sentences: Scores::new(size),
        }
    }

    /// Matches one statement, given by its words in order and as a quotation.
    pub(super) fn find(&mut self, words: &[WordId], quote: &Quote) -> Match {
        let mut content: Vec<_> = words.to_vec();
        content.retain(|&id| self.lexicon.facts(id).is_content);
        content.sort_unstable();
        content.dedup();
        let tries = (self.allowance / words.len().max(1)).max(LEAST_ALLOWANCE);
        let quote = self.index.quoted(quote, tries);
        if content.is_empty() {
            return Match {
                quote,
                ..Match::default()
            };
        }
        let missing: Vec<_> = content
            .iter()
            .copied()
            .filter(|&id| self.index.places(id).is_empty())
            .collect();
        let found = content.len() - missing.len();
        let (window, best) = self.search(&content);
        let pairs = words.windows(2).map(|pair| (pair[0], pair[1]));
        let pair_count = words.len().saturating_sub(1);
        let paired = pairs.filter(|&pair| self.index.has_pair(pair)).count();
        let in_one_sentence = best.is_some_and(|(sentence, _)| {
            let there: BTreeSet<_> = self.index.words_of(sentence..sentence + 1).iter().collect();
            words.iter().all(|id| there.contains(id))
        });
        Match {
            content_count: content.len(),
            containment: found as f64 / content.len() as f64,
            missing,
            window,
            pairs: if pair_count == 0 {
                0.0
            } else {
                paired as f64 / pair_count as f64
            },
            best,
            in_one_sentence,
            quote,
        }
    }

    /// The weighted shares in the best window and in the best sentence.
    fn search(&mut self, content: &[WordId]) -> (f64, Option<(usize, f64)>) {
        let mut rare_first = content.to_vec();
        rare_first.sort_by_key(|&id| (self.index.places(id).len(), id));
        let mut left = self.allowance;
        for (rank, &id) in rare_first.iter().enumerate() {
            let places = self.index.places(id);
            if left < places.len() {
                // A word too common to search for on its own places the window only if nothing rarer did.
                if self.windows.used.is_empty() {
                    self.visit(rank as u32 + 1, id, &places[..left.max(1)]);
                }
                break;
            }
            left -= places.len();
            self.visit(rank as u32 + 1, id, places);
        }
        let window = self.windows.take_best();
        let best = self.sentences.take_best();
        let total: f64 = content.iter().map(|&id| self.weight(id)).sum();
        let window = window.map_or(0.0, |start| {
            self.weight_in(content, start..self.window_end(start)) / total
        });
        let best = best.map(|at| (at, self.weight_in(content, at..at + 1) / total));
        (window, best)
    }

    fn visit(&mut self, mark: u32, id: WordId, places: &[u32]) {
        let weight = self.weight(id);
        for &place in places {
            let at = self.index.sentence_at(place);
            if !self.sentences.add(at, mark, weight) {
                continue;
            }
            let source = self.index.sentences[at].source;
            for start in at.saturating_sub(WINDOW - 1)..=at {
                if self.index.sentences[start].source == source {
                    self.windows.add(start, mark, weight);
                }
            }
        }
    }

    fn window_end(&self, start: usize) -> usize {
        let sentences = &self.index.sentences;
        let same = sentences[start..]
            .iter()
            .take(WINDOW)
            .take_while(|sentence| sentence.source == sentences[start].source);
        start + same.count()
    }

    fn weight_in(&self, content: &[WordId], sentences: Range<usize>) -> f64 {
        let there: BTreeSet<_> = self.index.words_of(sentences).iter().collect();
        let found = content.iter().filter(|id| there.contains(id));
        found.map(|&id| self.weight(id)).sum()
    }

    fn weight(&self, id: WordId) -> f64 {
        let occurrences = self.index.places(id).len().max(1);
        let ratio = self.index.sentences.len() / occurrences;
        f64::from(1 + (ratio + 1).ilog2())
    }
}

impl Scores {
    fn new(size: usize) -> Self {
        Self {
            sums: vec![0.0; size],
            used: Vec::new(),
            last_word: vec![0; size],
        }
    }

    /// Adds the weight of a word once; `false` if it was there already.
    fn add(&mut self, at: usize, mark: u32, weight: f64) -> bool {
        if self.last_word[at] == mark {
            return false;
        }
        if self.last_word[at] == 0 {
            self.used.push(at);
        }
        self.last_word[at] = mark;
        self.sums[at] += weight;
        true
    }

    /// The entry with the largest sum, of equal ones the first; clears all.
    fn take_best(&mut self) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        for at in self.used.drain(..) {
            let sum = std::mem::take(&mut self.sums[at]);
            self.last_word[at] = 0;
            let better = best.is_none_or(|(first, most)| most < sum || (most <= sum && at < first));
            if better {
                best = Some((at, sum));
            }
        }
        best.map(|(at, _)| at)
    }
}
