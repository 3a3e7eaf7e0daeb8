//! What is measured of a statement: ten numbers from 0 to 1.
//!
//! All of them look at the best sentence of the evidence and its neighbours alone, and content words weigh what a fixed
//! list says, so that unrelated text beside the evidence moves them little. Shares of words and of letters count by their
//! square for the same reason: in a long context some sentence shares a few words with any statement by chance.
//!
//! Speaking for the statement: `window` (weighted share of its content words in the best sentence and one on each side,
//! squared), `containment` (share of them within four sentences on each side, squared), `pairs` (share of its pairs of
//! neighbouring words in the best sentence), `order` (longest common subsequence of words with the best sentence as an
//! F1), `letters` (share of its runs of four letters in the best sentence, squared).
//! Speaking against it: `missing_names` and `missing_numbers` (share of its capitalised words and of its numbers that the
//! best sentence and its neighbours lack), `number_conflict` (the best sentence has numbers, but not one of the
//! statement's), `negation` (the best sentence is about the same, but one of the two is negated), `antonym` (the opposite
//! of one of its words stands in the best sentence).

use std::collections::BTreeSet;

use super::antonyms::opposites;
use super::groundedness::{SAME_SUBJECT, is_negated};
use super::index::Index;
use super::lexicon::{Lexicon, WordId};
use super::matching::Match;

/// How many features there are.
pub const COUNT: usize = 10;

/// Their names, in order.
pub const NAMES: [&str; COUNT] = [
    "window",
    "containment",
    "pairs",
    "order",
    "letters",
    "missing_names",
    "missing_numbers",
    "number_conflict",
    "negation",
    "antonym",
];

/// The features of a statement.
pub type Features = [f64; COUNT];

/// So many of them speak for the statement; the others speak against it.
pub const SUPPORTING_COUNT: usize = 5;

/// Sentences on each side of the best one in which words count.
const WINDOW: usize = 1;
/// Sentences on each side of the best one in which containment is measured.
const SURROUNDINGS: usize = 4;
/// Words whose order is compared at most, of the statement and of the sentence.
const COMPARED_WORDS: usize = 64;
/// Letters that are compared at most.
const COMPARED_LETTERS: usize = 1_024;
/// Letters of a run.
const RUN: usize = 4;

/// A statement as far as it is measured.
pub(super) struct Measured<'a> {
    /// Its words without fillers, in order.
    pub(super) words: &'a [WordId],
    /// Its capitalised words.
    pub(super) names: &'a [WordId],
    /// What was found of it.
    pub(super) matched: &'a Match,
}

impl Measured<'_> {
    /// The features.
    pub(super) fn features(&self, index: &Index, lexicon: &Lexicon) -> Features {
        let Some((best, share)) = self.matched.best else {
            return self.nothing_found(lexicon);
        };
        let sentence = index.words_of(best..best + 1);
        let there: BTreeSet<WordId> = sentence.iter().copied().collect();
        let near: BTreeSet<WordId> = index.around(best, WINDOW).iter().copied().collect();
        let content = &self.matched.content;
        let numbers = self.numbers(lexicon);
        let has_numbers = sentence.iter().any(|&id| lexicon.facts(id).is_number);
        let conflicts = has_numbers && numbers.iter().any(|id| !there.contains(id));
        let differs = is_negated(self.words, lexicon) != is_negated(sentence, lexicon);
        [
            squared(lexicon.weighted_share(content, |id| near.contains(&id))),
            squared(self.containment(best, index)),
            share_of_pairs(self.words, sentence),
            common_order(self.words, sentence),
            squared(share_of_runs(self.words, sentence, lexicon)),
            ratio(
                self.names.iter().filter(|id| !near.contains(id)).count(),
                self.names.len(),
            ),
            ratio(
                numbers.iter().filter(|id| !near.contains(id)).count(),
                numbers.len(),
            ),
            f64::from(u8::from(conflicts)),
            f64::from(u8::from(SAME_SUBJECT <= share && differs)),
            f64::from(u8::from(has_opposite(content, &there, lexicon))),
        ]
    }

    fn nothing_found(&self, lexicon: &Lexicon) -> Features {
        let mut features = [0.0; COUNT];
        let lacks_all = |is_empty: bool| f64::from(u8::from(!is_empty));
        features[SUPPORTING_COUNT] = lacks_all(self.names.is_empty());
        features[SUPPORTING_COUNT + 1] = lacks_all(self.numbers(lexicon).is_empty());
        features
    }

    fn numbers(&self, lexicon: &Lexicon) -> BTreeSet<WordId> {
        let words = self.words.iter().copied();
        words.filter(|&id| lexicon.facts(id).is_number).collect()
    }

    fn containment(&self, best: usize, index: &Index) -> f64 {
        let around: BTreeSet<WordId> = index.around(best, SURROUNDINGS).iter().copied().collect();
        let content = &self.matched.content;
        let found = content.iter().filter(|id| around.contains(id)).count();
        ratio(found, content.len())
    }
}

/// Whether the opposite of a word stands there and the word itself does not.
pub(super) fn has_opposite(
    content: &[WordId],
    there: &BTreeSet<WordId>,
    lexicon: &Lexicon,
) -> bool {
    let absent = content.iter().filter(|id| !there.contains(id));
    let mut opposites = absent.flat_map(|&id| opposites(lexicon.spelling(id)));
    opposites.any(|stem| lexicon.known(stem).is_some_and(|id| there.contains(&id)))
}

fn squared(share: f64) -> f64 {
    share * share
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}

fn share_of_pairs(words: &[WordId], sentence: &[WordId]) -> f64 {
    let there: BTreeSet<_> = sentence.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let pairs = words.windows(2).map(|pair| (pair[0], pair[1]));
    let found = pairs.filter(|pair| there.contains(pair)).count();
    ratio(found, words.len().saturating_sub(1))
}

/// ROUGE-L (Lin 2004): twice the length of the longest common subsequence over the words of both.
fn common_order(words: &[WordId], sentence: &[WordId]) -> f64 {
    let words = &words[..words.len().min(COMPARED_WORDS)];
    let sentence = &sentence[..sentence.len().min(COMPARED_WORDS)];
    let both = words.len() + sentence.len();
    ratio(2 * common_subsequence(words, sentence), both)
}

/// The length of the longest common subsequence.
pub(super) fn common_subsequence(one: &[WordId], other: &[WordId]) -> usize {
    let mut lengths = vec![0_usize; other.len() + 1];
    for word in one {
        let mut diagonal = 0;
        for (at, there) in other.iter().enumerate() {
            let above = lengths[at + 1];
            lengths[at + 1] = if word == there {
                diagonal + 1
            } else {
                above.max(lengths[at])
            };
            diagonal = above;
        }
    }
    lengths[other.len()]
}

fn share_of_runs(words: &[WordId], sentence: &[WordId], lexicon: &Lexicon) -> f64 {
    let wanted = runs(words, lexicon);
    let there = runs(sentence, lexicon);
    let found = wanted.iter().filter(|run| there.binary_search(run).is_ok());
    ratio(found.count(), wanted.len())
}

/// The distinct runs of letters of some words, sorted; words are parted by a space.
fn runs(words: &[WordId], lexicon: &Lexicon) -> Vec<[char; RUN]> {
    let mut letters = Vec::new();
    for &id in words {
        if COMPARED_LETTERS <= letters.len() {
            break;
        }
        if !letters.is_empty() {
            letters.push(' ');
        }
        letters.extend(lexicon.spelling(id).chars().take(COMPARED_LETTERS));
    }
    letters.truncate(COMPARED_LETTERS);
    let mut runs: Vec<[char; RUN]> = letters
        .windows(RUN)
        .filter_map(|run| run.try_into().ok())
        .collect();
    runs.sort_unstable();
    runs.dedup();
    runs
}
