//! The evidence as an index: its sentences and the places of every word.
//!
//! Everything is built in one pass over the texts, and nothing is left out. A sentence of more than [`PIECE_WORDS`] words
//! is cut into pieces, so that a text without full stops is no window that holds everything.

use std::ops::Range;

use super::lexicon::{Lexicon, Token, WordId};
use super::quotation::{Quote, Wording};
use super::structure::Structure;
use crate::text::sentences::{Passage, sentences};

/// Words of a piece at most, fillers not counted.
const PIECE_WORDS: usize = 64;

/// A text of the evidence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    /// Its words show that it is English, or the trace says so.
    pub(super) shows_english: bool,
}

/// A sentence of the evidence, or a piece of a very long one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sentence {
    /// Which text.
    pub(super) source: usize,
    /// Where within the text, in code points.
    pub(super) span: Range<usize>,
    /// It is a row of a table, JSON or code.
    pub(super) is_structured: bool,
    /// Where within the words of the index.
    words: Range<usize>,
}

/// All evidence of a trace.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Texts from here on are no chunks.
    pub(super) chunk_count: usize,
    /// In order.
    pub(super) sentences: Vec<Sentence>,
    words: Vec<WordId>,
    sentence_of: Vec<u32>,
    places: Vec<Vec<u32>>,
    wording: Wording,
    /// The pieces of each sentence of the wording.
    pieces: Vec<Range<usize>>,
    /// Texts whose sentences a quotation may cut.
    may_cut: Vec<bool>,
}

impl Index {
    /// Reads the texts of the chunks and then other evidence, in order.
    pub(super) fn new(chunks: &[Source<'_>], others: &[Source<'_>], lexicon: &mut Lexicon) -> Self {
        let mut index = Self {
            chunk_count: chunks.len(),
            ..Self::default()
        };
        for (source, of) in chunks.iter().chain(others).enumerate() {
            let structure = Structure::of(of.text);
            for passage in sentences(of.text) {
                let is_structured = structure.holds(&passage);
                index.add(source, &passage, is_structured, lexicon);
            }
            index.wording.end_text();
            index.may_cut.push(of.shows_english && lexicon.english);
        }
        index.places.resize(lexicon.len(), Vec::new());
        for (place, &id) in index.words.iter().enumerate() {
            index.places[id as usize].push(place as u32);
        }
        index
    }

    /// The places of a word in order.
    pub(super) fn places(&self, id: WordId) -> &[u32] {
        self.places.get(id as usize).map_or(&[], Vec::as_slice)
    }

    /// The sentence at a place.
    pub(super) fn sentence_at(&self, place: u32) -> usize {
        self.sentence_of[place as usize] as usize
    }

    /// The sentences that hold a word, in order, each once.
    pub(super) fn sentences_with(&self, id: WordId) -> impl Iterator<Item = usize> {
        let places = self.places(id);
        let groups =
            places.chunk_by(|&one, &other| self.sentence_at(one) == self.sentence_at(other));
        groups.map(|group| self.sentence_at(group[0]))
    }

    /// The words of some sentences in a row.
    pub(super) fn words_of(&self, sentences: Range<usize>) -> &[WordId] {
        match self.sentences[sentences].as_ref() {
            [] => &[],
            [first, .., last] => &self.words[first.words.start..last.words.end],
            [only] => &self.words[only.words.clone()],
        }
    }

    /// The words of a sentence and of so many on each side of it within its text.
    pub(super) fn around(&self, sentence: usize, reach: usize) -> &[WordId] {
        let source = self.sentences[sentence].source;
        let first = sentence.saturating_sub(reach);
        let last = (sentence + reach).min(self.sentences.len() - 1);
        let is_same = |at: &usize| self.sentences[*at].source == source;
        let first = (first..sentence).find(is_same).unwrap_or(sentence);
        let last = (sentence..=last).rev().find(is_same).unwrap_or(sentence);
        self.words_of(first..last + 1)
    }

    /// The sentences that a piece of text quotes, looked for in so many places at most.
    pub(super) fn quoted(&self, quote: &Quote, tries: usize) -> Option<Range<usize>> {
        let source = |sentence: usize| self.sentences[self.pieces[sentence].start].source;
        let may_cut = |sentence| self.may_cut[source(sentence)];
        let quoted = self.wording.find(quote, tries, may_cut)?;
        Some(self.pieces[quoted.start].start..self.pieces[quoted.end - 1].end)
    }

    fn add(
        &mut self,
        source: usize,
        passage: &Passage<'_>,
        is_structured: bool,
        lexicon: &mut Lexicon,
    ) {
        let tokens = lexicon.tokens(passage.text);
        let first_piece = self.sentences.len();
        let mut byte = 0;
        let mut from = passage.span.start;
        let pieces: Vec<&[Token<'_>]> = match tokens.len() {
            0 => vec![&[]],
            _ => tokens.chunks(PIECE_WORDS).collect(),
        };
        for (at, piece) in pieces.iter().enumerate() {
            let next = pieces.get(at + 1).and_then(|piece| piece.first());
            let end_byte = next.map_or(passage.text.len(), |token| token.start);
            let to = from + passage.text[byte..end_byte].chars().count();
            let first = self.words.len();
            self.words.extend(piece.iter().map(|token| token.id));
            let number = self.sentences.len() as u32;
            self.sentence_of.resize(self.words.len(), number);
            self.sentences.push(Sentence {
                source,
                span: from..to,
                is_structured,
                words: first..self.words.len(),
            });
            (byte, from) = (end_byte, to);
        }
        if self.wording.add(passage, &tokens) {
            self.pieces.push(first_piece..self.sentences.len());
        }
    }
}
