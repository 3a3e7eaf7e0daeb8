//! A rule of thumb about conflict: whether chunks disagree.
//!
//! Two signs. Sentences of different chunks that share at least 60 % of the content words of the shorter, numbers not
//! counted, and differ in numbers, in names or in negation: the share of words they have in common. And chunks whose
//! nearest sentences to the question hold different words of the kind that is asked for: the lesser of their shares of
//! the question's words. The first sign counts for 0.9, the second for 0.5, and together they are no less than one.
//!
//! Sentences are compared only if two of their three rarest words are the same, and then with those of nearly the same
//! length, so that the cost stays near linear.

use std::collections::{BTreeMap, BTreeSet};

use super::groundedness::is_negated;
use super::index::Index;
use super::lexicon::{Lexicon, WordId};
use super::retrieval::{Asked, Coverage};
use super::voice::{Voice, passage};
use crate::domain::judgment::Judgment;

/// Share of content words from which two sentences say something about the same.
const SAME_SUBJECT: f64 = 0.6;
/// Content words of a sentence that is compared at least.
const COMPARED_WORDS: usize = 3;
/// Rare words by which sentences to compare are found.
const RARE_WORDS: usize = 3;
/// Sentences of nearly the same length that one is compared with, for each two of its rare words.
const COMPARED_SENTENCES: usize = 8;
/// Chunks nearest to the question whose answers are compared.
const COMPARED_CHUNKS: usize = 16;
/// What sentences that differ and what answers that differ count for.
const BY_SENTENCES: f64 = 0.9;
const BY_ANSWERS: f64 = 0.5;

/// A sign and the sentence that shows it.
type Sign = Option<(f64, usize)>;

/// Whether chunks disagree.
pub(super) fn conflict(
    coverage: &Coverage<'_>,
    index: &Index,
    lexicon: &Lexicon,
    voice: &Voice<'_>,
) -> Judgment {
    let sentences = differing_sentences(index, lexicon);
    let answers = differing_answers(coverage, index, lexicon);
    let strength = |sign: Sign| sign.map_or(0.0, |(strength, _)| strength);
    let share =
        1.0 - (1.0 - BY_SENTENCES * strength(sentences)) * (1.0 - BY_ANSWERS * strength(answers));
    let shown = sentences
        .or(answers)
        .map(|(_, at)| passage(index, Some(at..at + 1)));
    voice.heuristic(share, shown)
}

/// The stronger of two signs, and of equals the earlier.
fn keep(sign: &mut Sign, strength: f64, at: usize) {
    let comes_before = |(most, first): (f64, usize)| {
        let order = strength.total_cmp(&most).then(first.cmp(&at));
        order.is_gt()
    };
    if sign.is_none_or(comes_before) {
        *sign = Some((strength, at));
    }
}

fn differing_sentences(index: &Index, lexicon: &Lexicon) -> Sign {
    let chunks = index
        .sentences
        .iter()
        .take_while(|one| one.source < index.chunk_count);
    let said: Vec<_> = (0..chunks.count())
        .map(|at| Said::of(at, index, lexicon))
        .collect();
    let mut by_rare_words: BTreeMap<[WordId; 2], Vec<&Said>> = BTreeMap::new();
    for said in said
        .iter()
        .filter(|said| COMPARED_WORDS <= said.words.len())
    {
        let rare = said.rare_words(index, lexicon);
        for (at, &first) in rare.iter().enumerate() {
            for &second in &rare[at + 1..] {
                let key = [first.min(second), first.max(second)];
                by_rare_words.entry(key).or_default().push(said);
            }
        }
    }
    let mut sign = None;
    for group in by_rare_words.values_mut() {
        group.sort_by_key(|said| said.words.len());
        for (at, said) in group.iter().enumerate() {
            for other in &group[at.saturating_sub(COMPARED_SENTENCES)..at] {
                if let Some(strength) = said.disagrees(other) {
                    keep(&mut sign, strength, said.at.max(other.at));
                }
            }
        }
    }
    sign
}

/// What a sentence says, as far as words tell. All words are sorted and distinct.
struct Said {
    at: usize,
    source: usize,
    words: Vec<WordId>,
    numbers: Vec<WordId>,
    names: Vec<WordId>,
    negated: bool,
}

impl Said {
    fn of(at: usize, index: &Index, lexicon: &Lexicon) -> Self {
        let all = index.words_of(at..at + 1);
        let content = all
            .iter()
            .copied()
            .filter(|&id| lexicon.facts(id).is_content);
        let content: BTreeSet<_> = content.collect();
        let (numbers, words) = content
            .into_iter()
            .partition(|&id| lexicon.facts(id).is_number);
        let words: Vec<_> = words;
        let names = words
            .iter()
            .copied()
            .filter(|&id| lexicon.facts(id).is_name);
        Self {
            at,
            source: index.sentences[at].source,
            names: names.collect(),
            words,
            numbers,
            negated: is_negated(all, lexicon),
        }
    }

    /// The rarest words that stand elsewhere too. Equally rare ones follow their letters, so that the order of chunks
    /// does not matter.
    fn rare_words(&self, index: &Index, lexicon: &Lexicon) -> Vec<WordId> {
        let counted = self
            .words
            .iter()
            .map(|&id| (index.places(id).len(), lexicon.spelling(id), id));
        let mut repeated: Vec<_> = counted.filter(|(count, ..)| 2 <= *count).collect();
        repeated.sort_unstable();
        repeated
            .into_iter()
            .take(RARE_WORDS)
            .map(|(.., id)| id)
            .collect()
    }

    /// The share of words that two sentences of different chunks have in common, if they disagree.
    fn disagrees(&self, other: &Self) -> Option<f64> {
        if self.source == other.source {
            return None;
        }
        let differ = both_lack(&self.numbers, &other.numbers)
            || both_lack(&self.names, &other.names)
            || self.negated != other.negated;
        let shared = shared(&self.words, &other.words);
        let (one, two) = (self.words.len(), other.words.len());
        let is_same = SAME_SUBJECT * one.min(two) as f64 <= shared as f64;
        (differ && is_same).then(|| shared as f64 / (one + two - shared) as f64)
    }
}

/// How many words are in both; both are sorted.
fn shared(words: &[WordId], other: &[WordId]) -> usize {
    let is_there = |id: &&WordId| other.binary_search(id).is_ok();
    words.iter().filter(is_there).count()
}

/// Whether each has a word that the other has not; both are sorted.
fn both_lack(words: &[WordId], other: &[WordId]) -> bool {
    let shared = shared(words, other);
    shared < words.len() && shared < other.len()
}

fn differing_answers(coverage: &Coverage<'_>, index: &Index, lexicon: &Lexicon) -> Sign {
    let asked = coverage.asked();
    let mut nearest: Vec<(f64, usize)> = Vec::new();
    for at in 0..index.sentences.len() {
        let source = index.sentences[at].source;
        let share = coverage.share_in(at);
        if share == 0.0 || !holds_answer(at, asked, index, lexicon) {
            continue;
        }
        match nearest.last_mut() {
            Some(last) if index.sentences[last.1].source == source => {
                if last.0 < share {
                    *last = (share, at);
                }
            }
            _ => nearest.push((share, at)),
        }
    }
    nearest.sort_by(|one, other| other.0.total_cmp(&one.0));
    nearest.truncate(COMPARED_CHUNKS);
    let answers: Vec<_> = nearest
        .iter()
        .map(|&(_, at)| answers_in(at, asked, index, lexicon))
        .collect();
    let mut sign = None;
    for (second, &(share, at)) in nearest.iter().enumerate() {
        let differs = |other: &BTreeSet<WordId>| answers[second].is_disjoint(other);
        if answers[..second].iter().any(differs) {
            keep(&mut sign, share, at);
        }
    }
    sign
}

fn holds_answer(at: usize, asked: Asked<'_>, index: &Index, lexicon: &Lexicon) -> bool {
    let mut words = index.words_of(at..at + 1).iter();
    words.any(|&id| asked.is_answered_by(id, lexicon))
}

/// The words of a sentence that may answer the question.
fn answers_in(at: usize, asked: Asked<'_>, index: &Index, lexicon: &Lexicon) -> BTreeSet<WordId> {
    let words = index.words_of(at..at + 1).iter().copied();
    words
        .filter(|&id| asked.is_answered_by(id, lexicon))
        .collect()
}

#[cfg(test)]
mod tests;
