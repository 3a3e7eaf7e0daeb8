//! Words as small numbers, so that texts are compared by number and each word is looked at once.
//!
//! Every word has two: one for its stem or the value of its number, and one for its exact folded form. The signs of a
//! number belong to both.
//!
//! Numbers are given in the order in which words come, so the same input gives the same numbers. The map is only looked
//! up, never iterated.

use std::collections::HashMap;

use crate::text::fold::folded;
use crate::text::numbers::{number, plain_signs, sign_start, unit_end};
use crate::text::sentences::marker_length;
use crate::text::words::{
    is_filler, is_negation, is_restriction, is_stop_word, opens_clause, stem, words,
};

/// A word, by the order of its first occurrence.
pub(super) type WordId = u32;

/// Words from which on a sentence without small letters is one in which case tells nothing.
const SHOUTED_WORDS: usize = 3;

/// What is known of a word whatever its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WordFacts {
    /// Neither a stop word nor a negation.
    pub(super) is_content: bool,
    /// A number.
    pub(super) is_number: bool,
    /// A negation.
    pub(super) negates: bool,
}

/// Which case a word is written in, as far as it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    /// Two capitals or more and no small letter.
    Capitals,
    /// Small letters; up to three letters may start with a capital.
    Small,
    /// Anything else.
    Free,
}

/// A word as a quotation must repeat it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exact {
    /// Its folded form with the signs of a number.
    pub(super) id: WordId,
    case: Case,
    /// A number, a negation or a word that takes back, conditions or narrows what stands before it.
    pub(super) restricts: bool,
    /// What stands before it is complete without what follows.
    pub(super) opens_clause: bool,
}

impl Exact {
    /// The same as no word.
    pub(super) const END: Self = Self {
        id: WordId::MAX,
        case: Case::Free,
        restricts: true,
        opens_clause: false,
    };

    /// Whether one may stand for the other in a quotation.
    pub(super) fn is_same(self, other: Self) -> bool {
        let cases = [self.case, other.case];
        let cases_differ = cases.contains(&Case::Capitals) && cases.contains(&Case::Small);
        self.id == other.id && !cases_differ
    }
}

/// A word at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) id: WordId,
    pub(super) exact: Exact,
    /// Byte offset within the text.
    pub(super) start: usize,
    /// As written.
    pub(super) written: &'a str,
}

/// All words of a trace.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    ids: HashMap<String, WordId>,
    exact_ids: HashMap<String, WordId>,
    facts: Vec<WordFacts>,
    spellings: Vec<Box<str>>,
    /// Whether the English lists and the stemmer apply.
    pub(super) english: bool,
}

impl Lexicon {
    /// An empty one; without `english`, words are told apart by their folded form alone and none is a filler.
    pub(super) fn new(english: bool) -> Self {
        Self {
            english,
            ..Self::default()
        }
    }

    /// The words of a sentence without fillers. A capital `A` is none unless it stands first or no small letter does.
    pub(super) fn tokens<'a>(&mut self, text: &'a str) -> Vec<Token<'a>> {
        let marker = marker_length(text);
        let first = text[marker..].find(char::is_alphanumeric).unwrap_or(0) + marker;
        let all_capitals = !text.contains(char::is_lowercase);
        let mut tokens: Vec<Token<'a>> = Vec::new();
        let mut last_end = 0;
        for (start, written) in words(text) {
            let word = folded(written);
            let is_letter = written == "A" && first < start && !all_capitals;
            if self.english && is_filler(&word) && !is_letter {
                continue;
            }
            let (before, after) = signs(text, start, written);
            let id = self.id(&word, &before, &after);
            let key = before + &word + &after;
            let count = self.exact_ids.len() as WordId;
            let is_number = self.facts(id).is_number;
            let exact = Exact {
                id: *self.exact_ids.entry(key).or_insert(count),
                case: case(written),
                restricts: self.english && (is_number || is_restriction(&word)),
                opens_clause: opens_clause(&word) || ends_clause(&text[last_end..start]),
            };
            last_end = start + written.len();
            tokens.push(Token {
                id,
                exact,
                start,
                written,
            });
        }
        if all_capitals && SHOUTED_WORDS <= tokens.len() {
            for token in &mut tokens {
                token.exact.case = Case::Free;
            }
        }
        tokens
    }

    /// The distinct content words of a text as sorted numbers.
    pub(super) fn content(&mut self, text: &str) -> Vec<WordId> {
        let tokens = self.tokens(text);
        let ids = tokens.iter().map(|token| token.id);
        let mut ids: Vec<_> = ids.filter(|&id| self.facts(id).is_content).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// What is known of a word.
    pub(super) fn facts(&self, id: WordId) -> WordFacts {
        self.facts[id as usize]
    }

    /// A word as it was spelled first, folded.
    pub(super) fn spelling(&self, id: WordId) -> &str {
        &self.spellings[id as usize]
    }

    /// How many words there are.
    pub(super) fn len(&self) -> usize {
        self.facts.len()
    }

    fn id(&mut self, folded: &str, before: &str, after: &str) -> WordId {
        let number = number(folded);
        let word = match &number {
            Some(number) => number,
            None if self.english => stem(folded),
            None => folded,
        };
        let key = format!("{before}{word}{after}");
        if let Some(&id) = self.ids.get(&key) {
            return id;
        }
        let id = self.facts.len() as WordId;
        let negates = self.english && is_negation(folded);
        let stops = self.english && is_stop_word(folded);
        self.facts.push(WordFacts {
            is_content: !negates && !stops,
            is_number: number.is_some(),
            negates,
        });
        self.ids.insert(key, id);
        let spelling = format!("{before}{folded}{after}");
        self.spellings.push(spelling.into_boxed_str());
        id
    }
}

/// The signs before and after a word that starts or ends with a digit.
fn signs(text: &str, start: usize, written: &str) -> (String, String) {
    let end = start + written.len();
    let before = if written.starts_with(char::is_numeric) {
        &text[sign_start(text, start)..start]
    } else {
        ""
    };
    let after = if written.ends_with(char::is_numeric) {
        &text[end..unit_end(text, end)]
    } else {
        ""
    };
    (plain_signs(before), plain_signs(after))
}

/// Whether what stands between two words parts a sentence.
fn ends_clause(between: &str) -> bool {
    between.contains(';') || between.contains(" – ") || between.contains(" — ")
}

fn case(written: &str) -> Case {
    let letters = || written.chars().filter(|c| c.is_alphabetic());
    let has_small = letters().any(char::is_lowercase);
    let is_long = 4 <= letters().count();
    if 2 <= letters().count() && letters().all(char::is_uppercase) {
        Case::Capitals
    } else if has_small && !(is_long && written.starts_with(char::is_uppercase)) {
        Case::Small
    } else {
        Case::Free
    }
}
