//! Rules of thumb about retrieval: relevance of chunks and sufficiency of all of them.
//!
//! Relevance rests on the share of the question's content words that the chunk holds. It counts for three quarters if
//! no sentence with a word of the question holds a word of the kind that is asked for, and comes half as far towards 1 as
//! the share of the answer's other content words that the chunk holds. A chunk that shares no word with the question is
//! the one case that is measured: p = 0.02; unless it supports the answer or holds at least half of its other content
//! words by their weights, for then the chunk may well say in other words what was asked.
//!
//! Sufficiency is the mean of two shares of the question's content words, those in all chunks and those in the best three
//! sentences in a row, by the same three quarters. The answer has no part in it.
//!
//! A chunk is judged by its own words alone, so others beside it move nothing. Weights of words were tried and measured
//! worse (`docs/embedded-judge-tried.md`).

use std::collections::BTreeSet;
use std::ops::Range;

use super::answer_type::AnswerType;
use super::index::Index;
use super::lexicon::{Lexicon, WordId};
use super::voice::{Voice, passage};
use crate::domain::judgment::{Evidence, Judgment, JudgmentBasis};

/// P of a chunk that shares no content word with the question.
const NOTHING_SHARED: f64 = 0.02;
/// What the share of the question counts for where nothing of the kind that is asked for stands near its words.
const KIND_MISSING: f64 = 0.75;
/// How far the answer may lift the relevance of a chunk towards 1.
const LIFT_BY_ANSWER: f64 = 0.5;
/// Sentences of a window.
const WINDOW: usize = 3;

/// A question as its retriever understood it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    /// Distinct content words, sorted.
    pub(super) words: &'a [WordId],
    /// The kind of answer, if its question word tells.
    pub(super) kind: Option<AnswerType>,
}

impl Asked<'_> {
    /// Whether a word may answer the question and does not stand in it.
    pub(super) fn is_answered_by(&self, id: WordId, lexicon: &Lexicon) -> bool {
        let kind = self.kind.filter(|_| self.words.binary_search(&id).is_err());
        kind.is_some_and(|kind| kind.is_met_by(id, lexicon))
    }
}

/// What stands in one chunk.
#[derive(Debug, Clone, Default)]
struct Found {
    /// Words of the question.
    words: BTreeSet<WordId>,
    /// The first sentence with most of them, and how many.
    best: Option<(usize, usize)>,
    /// A word of the kind that is asked for stands in a sentence with one of them.
    has_kind: bool,
    /// How many words of the answer that are not of the question.
    answered: usize,
    /// What they weigh.
    answered_weight: u32,
}

/// Which words of the question stand in which chunk.
pub(super) struct Coverage<'a> {
    asked: Asked<'a>,
    index: &'a Index,
    lexicon: &'a Lexicon,
    chunks: Vec<Found>,
    /// How many words of the question stand in each sentence.
    counts: Vec<usize>,
    /// Words of the answer that are not of the question.
    answer_words: usize,
    /// What they weigh.
    answer_weight: u32,
    /// The three sentences in a row with most words of the question, and how many.
    window: Option<(Range<usize>, usize)>,
}

impl<'a> Coverage<'a> {
    /// Looks the words of the question and of the answer up; an answer that abstains says nothing of a chunk and has
    /// none.
    pub(super) fn new(
        asked: Asked<'a>,
        answer: &[WordId],
        index: &'a Index,
        lexicon: &'a Lexicon,
    ) -> Self {
        let mut coverage = Self {
            asked,
            index,
            lexicon,
            chunks: vec![Found::default(); index.chunk_count],
            counts: vec![0; index.sentences.len()],
            answer_words: 0,
            answer_weight: 0,
            window: None,
        };
        coverage.look_up_question();
        coverage.look_up_answer(answer);
        coverage
    }

    fn look_up_question(&mut self) {
        let mut hits = Vec::new();
        for &id in self.asked.words {
            for at in self.index.sentences_with(id) {
                let Some(found) = self.chunks.get_mut(self.index.sentences[at].source) else {
                    break;
                };
                found.words.insert(id);
                self.counts[at] += 1;
                hits.push((at, id));
            }
        }
        for (at, &count) in self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| 0 < **count)
        {
            let found = &mut self.chunks[self.index.sentences[at].source];
            if found.best.is_none_or(|(_, most)| most < count) {
                found.best = Some((at, count));
            }
            if !found.has_kind {
                let mut words = self.index.words_of(at..at + 1).iter();
                found.has_kind = words.any(|&id| self.asked.is_answered_by(id, self.lexicon));
            }
        }
        self.window = best_window(self.index, hits);
    }

    fn look_up_answer(&mut self, answer: &[WordId]) {
        let is_new = |id: &&WordId| self.asked.words.binary_search(id).is_err();
        for &id in answer.iter().filter(is_new) {
            let weight = self.lexicon.facts(id).weight;
            self.answer_words += 1;
            self.answer_weight += weight;
            let mut last = None;
            for at in self.index.sentences_with(id) {
                let source = self.index.sentences[at].source;
                if last != Some(source)
                    && let Some(found) = self.chunks.get_mut(source)
                {
                    found.answered += 1;
                    found.answered_weight += weight;
                }
                last = Some(source);
            }
        }
    }

    /// Whether a chunk shares a content word with the question; a question without any cannot tell.
    pub(super) fn is_on_topic(&self, chunk: usize) -> bool {
        self.asked.words.is_empty() || !self.chunks[chunk].words.is_empty()
    }

    /// The question.
    pub(super) fn asked(&self) -> Asked<'a> {
        self.asked
    }

    /// The share of the question's words that stand in one sentence.
    pub(super) fn share_in(&self, sentence: usize) -> f64 {
        self.counts[sentence] as f64 / self.asked.words.len().max(1) as f64
    }

    /// Relevance of one chunk, which supports the answer or does not.
    pub(super) fn chunk_relevance(
        &self,
        chunk: usize,
        supports: bool,
        voice: &Voice<'_>,
    ) -> Judgment {
        if self.asked.words.is_empty() {
            return voice.heuristic(0.5, None);
        }
        let shown = self.evidence(chunk);
        let found = &self.chunks[chunk];
        if found.words.is_empty() && !supports && !self.holds_answer(found) {
            return voice.judged(NOTHING_SHARED, JudgmentBasis::Measured, false, Some(shown));
        }
        let covered = self.by_kind(self.share_of(found.words.len()), found.has_kind);
        let answered = found.answered as f64 / self.answer_words.max(1) as f64;
        let share = 1.0 - (1.0 - covered) * (1.0 - LIFT_BY_ANSWER * answered);
        voice.heuristic(share, Some(shown))
    }

    /// Whether half of what the answer says beyond the question stands in the chunk.
    fn holds_answer(&self, found: &Found) -> bool {
        0 < self.answer_weight && self.answer_weight <= 2 * found.answered_weight
    }

    /// Whether all chunks together hold what is asked for.
    pub(super) fn sufficiency(&self, voice: &Voice<'_>) -> Judgment {
        if self.asked.words.is_empty() {
            return voice.heuristic(0.5, None);
        }
        let found: BTreeSet<_> = self.chunks.iter().flat_map(|chunk| &chunk.words).collect();
        let together = self.window.as_ref().map_or(0, |(_, count)| *count);
        let window = self.window.as_ref().map(|(window, _)| window.clone());
        let has_kind = self.chunks.iter().any(|chunk| chunk.has_kind);
        let covered = (self.share_of(found.len()) + self.share_of(together)) / 2.0;
        let shown = Evidence {
            missing_terms: self.missing(|id| found.contains(&id)),
            ..passage(self.index, window)
        };
        voice.heuristic(self.by_kind(covered, has_kind), Some(shown))
    }

    fn share_of(&self, count: usize) -> f64 {
        count as f64 / self.asked.words.len() as f64
    }

    fn by_kind(&self, share: f64, has_kind: bool) -> f64 {
        if has_kind || self.asked.kind.is_none() {
            share
        } else {
            KIND_MISSING * share
        }
    }

    fn evidence(&self, chunk: usize) -> Evidence {
        let found = &self.chunks[chunk];
        let best = found.best.map(|(at, _)| at..at + 1);
        Evidence {
            chunk: Some(chunk),
            missing_terms: self.missing(|id| found.words.contains(&id)),
            ..passage(self.index, best)
        }
    }

    fn missing(&self, is_found: impl Fn(WordId) -> bool) -> Vec<String> {
        let missing = self.asked.words.iter().filter(|&&id| !is_found(id));
        missing
            .map(|&id| self.lexicon.spelling(id).to_owned())
            .collect()
    }
}

/// The first three sentences in a row of one text that hold most of the words, given by the sentences they stand in. A
/// window that holds most may always start with a sentence that holds one.
fn best_window(index: &Index, mut hits: Vec<(usize, WordId)>) -> Option<(Range<usize>, usize)> {
    hits.sort_unstable();
    let mut best: Option<(Range<usize>, usize)> = None;
    let mut from = 0;
    for group in hits.chunk_by(|one, other| one.0 == other.0) {
        let start = group[0].0;
        let is_same = |at: &usize| {
            let sentence = index.sentences.get(*at);
            sentence.is_some_and(|one| one.source == index.sentences[start].source)
        };
        let end = start + (start..start + WINDOW).take_while(is_same).count();
        let to = from + hits[from..].partition_point(|(at, _)| *at < end);
        let words: BTreeSet<_> = hits[from..to].iter().map(|(_, id)| id).collect();
        if best.as_ref().is_none_or(|(_, most)| *most < words.len()) {
            best = Some((start..end, words.len()));
        }
        from += group.len();
    }
    best
}

#[cfg(test)]
mod tests;
