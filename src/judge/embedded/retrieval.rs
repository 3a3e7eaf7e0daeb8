//! Rules of thumb about retrieval: relevance of chunks, sufficiency and conflict.
//!
//! Relevance and sufficiency rest on the share of the question's content words that the chunk, or all chunks together,
//! hold. A chunk that shares none is the one case that is measured: p = 0.02; unless the answer stands in it, for then
//! the chunk may well say in other words what was asked, and the share is 0.
//! Conflict looks for two sentences of different chunks that share at least 60 % of their content words, numbers not
//! counted, and differ in numbers or in negation: share 0.9 if there are any, else 0.3.

use std::collections::{BTreeMap, BTreeSet};

use super::groundedness::is_negated;
use super::index::Index;
use super::lexicon::{Lexicon, WordId};
use super::voice::{Voice, passage};
use crate::domain::judgment::{Evidence, Judgment, JudgmentBasis};

/// P of a chunk that shares no content word with the question.
const NOTHING_SHARED: f64 = 0.02;
/// Share of content words from which two sentences say something about the same.
const SAME_SUBJECT: f64 = 0.6;
/// Content words of a sentence that is compared at least.
const COMPARED_WORDS: usize = 3;
/// Earlier sentences with the same rare words that a sentence is compared with.
const COMPARED_SENTENCES: usize = 8;
/// Share for a sign of conflict and for none.
const CONFLICT: (f64, f64) = (0.9, 0.3);

/// Which words of the question stand in which chunk.
pub(super) struct Coverage<'a> {
    index: &'a Index,
    lexicon: &'a Lexicon,
    question: &'a [WordId],
    found: Vec<BTreeSet<WordId>>,
    best: Vec<Option<(usize, usize)>>,
}

impl<'a> Coverage<'a> {
    /// Looks the distinct content words of the question up.
    pub(super) fn new(question: &'a [WordId], index: &'a Index, lexicon: &'a Lexicon) -> Self {
        let mut found = vec![BTreeSet::new(); index.chunk_count];
        let mut counts = vec![0_usize; index.sentences.len()];
        for &id in question {
            let mut last = None;
            for &place in index.places(id) {
                let at = index.sentence_at(place);
                if last == Some(at) {
                    continue;
                }
                last = Some(at);
                counts[at] += 1;
                if let Some(found) = found.get_mut(index.sentences[at].source) {
                    found.insert(id);
                }
            }
        }
        let mut best: Vec<Option<(usize, usize)>> = vec![None; index.chunk_count];
        for (at, &count) in counts.iter().enumerate() {
            if let Some(best) = best.get_mut(index.sentences[at].source)
                && best.map_or(0, |(_, most)| most) < count
            {
                *best = Some((at, count));
            }
        }
        Self {
            index,
            lexicon,
            question,
            found,
            best,
        }
    }

    /// Whether a chunk shares a content word with the question; a question without any cannot tell.
    pub(super) fn is_on_topic(&self, chunk: usize) -> bool {
        self.question.is_empty() || !self.found[chunk].is_empty()
    }

    /// Relevance of one chunk, which supports the answer or does not.
    pub(super) fn chunk_relevance(
        &self,
        chunk: usize,
        supports: bool,
        voice: &Voice<'_>,
    ) -> Judgment {
        if self.question.is_empty() {
            return voice.heuristic(0.5, None);
        }
        let shown = self.evidence(chunk);
        match self.found[chunk].len() {
            0 if !supports => {
                voice.judged(NOTHING_SHARED, JudgmentBasis::Measured, false, Some(shown))
            }
            count => voice.heuristic(count as f64 / self.question.len() as f64, Some(shown)),
        }
    }

    /// Whether all chunks together hold what is asked for.
    pub(super) fn sufficiency(&self, voice: &Voice<'_>) -> Judgment {
        if self.question.is_empty() {
            return voice.heuristic(0.5, None);
        }
        let found: BTreeSet<_> = self.found.iter().flatten().collect();
        let shown = Evidence {
            missing_terms: self.missing(|id| found.contains(&id)),
            ..Evidence::default()
        };
        voice.heuristic(found.len() as f64 / self.question.len() as f64, Some(shown))
    }

    fn evidence(&self, chunk: usize) -> Evidence {
        let best = self.best[chunk].map(|(at, _)| at..at + 1);
        Evidence {
            chunk: Some(chunk),
            missing_terms: self.missing(|id| self.found[chunk].contains(&id)),
            ..passage(self.index, best)
        }
    }

    fn missing(&self, is_found: impl Fn(WordId) -> bool) -> Vec<String> {
        let missing = self.question.iter().filter(|&&id| !is_found(id));
        missing
            .map(|&id| self.lexicon.spelling(id).to_owned())
            .collect()
    }
}

/// Whether chunks disagree.
pub(super) fn conflict(index: &Index, lexicon: &Lexicon, voice: &Voice<'_>) -> Judgment {
    let mut by_rare_words: BTreeMap<(WordId, WordId), Vec<Said>> = BTreeMap::new();
    for at in 0..index.sentences.len() {
        if index.chunk_count <= index.sentences[at].source {
            break;
        }
        let said = Said::of(at, index, lexicon);
        let Some(key) = said.rare_words(index) else {
            continue;
        };
        let group = by_rare_words.entry(key).or_default();
        let earlier = group.iter().rev().take(COMPARED_SENTENCES);
        for other in earlier {
            if other.source != said.source && other.disagrees(&said) {
                return voice.heuristic(CONFLICT.0, Some(passage(index, Some(at..at + 1))));
            }
        }
        group.push(said);
    }
    voice.heuristic(CONFLICT.1, None)
}

/// What a sentence says, as far as words tell.
struct Said {
    source: usize,
    words: BTreeSet<WordId>,
    numbers: BTreeSet<WordId>,
    negated: bool,
}

impl Said {
    fn of(at: usize, index: &Index, lexicon: &Lexicon) -> Self {
        let words = index.words_of(at..at + 1);
        let content = words
            .iter()
            .copied()
            .filter(|&id| lexicon.facts(id).is_content);
        let (numbers, others) = content.partition(|&id| lexicon.facts(id).is_number);
        Self {
            source: index.sentences[at].source,
            words: others,
            numbers,
            negated: is_negated(words, lexicon),
        }
    }

    /// The two rarest words that stand elsewhere too.
    fn rare_words(&self, index: &Index) -> Option<(WordId, WordId)> {
        if self.words.len() < COMPARED_WORDS {
            return None;
        }
        let mut repeated: Vec<_> = self
            .words
            .iter()
            .map(|&id| (index.places(id).len(), id))
            .filter(|(count, _)| 2 <= *count)
            .collect();
        repeated.sort_unstable();
        match repeated.as_slice() {
            [(_, first), (_, second), ..] => Some((*first, *second)),
            _ => None,
        }
    }

    fn disagrees(&self, other: &Self) -> bool {
        let shared = self.words.intersection(&other.words).count() as f64;
        let shorter = self.words.len().min(other.words.len()) as f64;
        let numbers_differ =
            !self.numbers.is_subset(&other.numbers) && !other.numbers.is_subset(&self.numbers);
        SAME_SUBJECT * shorter <= shared && (numbers_differ || self.negated != other.negated)
    }
}
