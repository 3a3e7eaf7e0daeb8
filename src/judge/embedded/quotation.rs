//! What counts as a quotation of a text.
//!
//! A quotation starts where a sentence of the text starts, goes on word by word and stays within the text. Words are the
//! same if their folded forms and the signs of their numbers are; English articles are not looked at. A word in capitals
//! (two letters or more) is not the same as one in small letters, nor as one of up to three letters with a capital at its
//! start; in a sentence of three words or more without any small letter, case tells nothing.
//! Symbols that answer by themselves and strikethrough must stand at the same places in both. Those between two sentences
//! count for either.
//!
//! A quotation ends where a sentence ends. In a text that shows to be English it may also end before `and`, `which`,
//! `who`, a semicolon or a spaced dash, unless the rest of that sentence holds a number, a negation or a word that takes
//! back, conditions or narrows what is said.

use std::collections::HashMap;
use std::ops::Range;

use super::lexicon::{Exact, Lexicon, Token, WordId};
use crate::text::sentences::{Passage, marker_length, sentences};

/// Symbols that answer by themselves.
const SYMBOLS: &[char] = &['✅', '❌', '✓', '✗', '✔', '✘', '👍', '👎'];
/// Put around what is taken back.
const STRIKETHROUGH: &str = "~~";

/// Texts as a row of exact words and symbols.
#[derive(Debug, Default)]
pub(super) struct Wording {
    words: Vec<Exact>,
    /// Symbols, each with the number of words before it.
    symbols: Vec<(usize, char)>,
    /// The words of each sentence that holds a letter or digit.
    sentences: Vec<Range<usize>>,
    /// Sentences by their first word.
    starts: HashMap<WordId, Vec<u32>>,
}

/// A piece of a wording.
#[derive(Debug, Default)]
pub(super) struct Quote {
    words: Vec<Exact>,
    symbols: Vec<(usize, char)>,
}

impl Wording {
    /// The pieces of a text, one for each of its statements.
    pub(super) fn statements_of(text: &str, lexicon: &mut Lexicon) -> Vec<Quote> {
        let wording = Self::of(text, lexicon);
        let pieces = wording.sentences.iter();
        pieces.map(|piece| wording.quote(piece.clone())).collect()
    }

    /// A text as one piece.
    pub(super) fn whole(text: &str, lexicon: &mut Lexicon) -> Quote {
        let wording = Self::of(text, lexicon);
        wording.quote(0..wording.words.len())
    }

    /// Adds a sentence of a text, given with its words; `false` if it holds no letter and no digit.
    pub(super) fn add(&mut self, passage: &Passage<'_>, tokens: &[Token<'_>]) -> bool {
        let marker = marker_length(passage.text);
        let first = self.words.len();
        let tokens = &tokens[tokens.partition_point(|token| token.start < marker)..];
        for (at, symbol) in symbols(passage.text) {
            let before = tokens.partition_point(|token| token.start < at);
            self.symbols.push((first + before, symbol));
        }
        self.words.extend(tokens.iter().map(|token| token.exact));
        if !passage.text[marker..].contains(char::is_alphanumeric) {
            return false;
        }
        if let Some(token) = tokens.first() {
            let number = self.sentences.len() as u32;
            self.starts.entry(token.exact.id).or_default().push(number);
        }
        self.sentences.push(first..self.words.len());
        true
    }

    /// Ends a text, so that nothing goes on in the next one.
    pub(super) fn end_text(&mut self) {
        self.words.push(Exact::END);
    }

    /// The sentences that a piece quotes, looked for in so many places at most. `may_cut` tells whether a quotation may
    /// end within a sentence.
    pub(super) fn find(
        &self,
        quote: &Quote,
        tries: usize,
        may_cut: impl Fn(usize) -> bool,
    ) -> Option<Range<usize>> {
        let starts = self.starts.get(&quote.words.first()?.id)?;
        let mut starts = starts.iter().take(tries).map(|&first| first as usize);
        starts.find_map(|first| self.quoted_from(first, quote, &may_cut))
    }

    fn quoted_from(
        &self,
        first: usize,
        quote: &Quote,
        may_cut: &impl Fn(usize) -> bool,
    ) -> Option<Range<usize>> {
        let start = self.sentences[first].start;
        let end = start + quote.words.len();
        let there = self.words.get(start..end)?;
        let mut pairs = there.iter().zip(&quote.words);
        if !pairs.all(|(one, other)| one.is_same(*other)) {
            return None;
        }
        let last = self.sentences.partition_point(|words| words.start < end) - 1;
        let rest = &self.words[end..self.sentences[last].end];
        let whole = rest.is_empty();
        let cut =
            || may_cut(last) && rest[0].opens_clause && !rest.iter().any(|word| word.restricts);
        if !(whole || cut()) {
            return None;
        }
        let same = self.symbols_in(start..self.sentences[last].end) == quote.symbols;
        same.then_some(first..last + 1)
    }

    fn of(text: &str, lexicon: &mut Lexicon) -> Self {
        let mut wording = Self::default();
        for passage in sentences(text) {
            let tokens = lexicon.tokens(passage.text);
            wording.add(&passage, &tokens);
        }
        wording
    }

    fn quote(&self, words: Range<usize>) -> Quote {
        Quote {
            words: self.words[words.clone()].to_vec(),
            symbols: self.symbols_in(words),
        }
    }

    /// The symbols within and directly around some words, with their places from the first word on.
    fn symbols_in(&self, words: Range<usize>) -> Vec<(usize, char)> {
        let from = self.symbols.partition_point(|(at, _)| *at < words.start);
        let symbols = self.symbols[from..].iter();
        symbols
            .take_while(|(at, _)| *at <= words.end)
            .map(|&(at, symbol)| (at - words.start, symbol))
            .collect()
    }
}

fn symbols(text: &str) -> Vec<(usize, char)> {
    let mut found: Vec<_> = text.match_indices(STRIKETHROUGH).collect();
    if !text.is_ascii() {
        found.extend(text.match_indices(SYMBOLS));
    }
    found.sort_unstable();
    found
        .into_iter()
        .filter_map(|(at, symbol)| Some((at, symbol.chars().next()?)))
        .collect()
}
