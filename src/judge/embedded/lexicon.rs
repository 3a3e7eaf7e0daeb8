//! Words as small numbers, so that texts are compared by number and each word is looked at once.
//!
//! Every word has two: one for its stem or the value of its number, and one for its exact folded form. The signs of a
//! number belong to both.
//!
//! Numbers are given in the order in which words come, so the same input gives the same numbers. The maps are only
//! looked up, never iterated. What a word is whatever its place is found out once for each way in which it is written.

use std::collections::HashMap;

use super::common_words::is_common;
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

/// What content words weigh, common ones and others.
const WEIGHTS: (u32, u32) = (1, 4);

/// What is known of a word whatever its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WordFacts {
    /// Neither a stop word nor a negation.
    pub(super) is_content: bool,
    /// A number.
    pub(super) is_number: bool,
    /// A negation.
    pub(super) negates: bool,
    /// What it weighs among content words: 4, and 1 if it is a common word.
    pub(super) weight: u32,
    /// Written with a capital within a sentence at least once.
    pub(super) is_name: bool,
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

/// What is known of a word as it is written, without what stands around it.
#[derive(Debug)]
struct Form {
    folded: Box<str>,
    case: Case,
    is_filler: bool,
    is_restriction: bool,
    opens_clause: bool,
    /// Signs around it may belong to it, for it starts or ends with a digit.
    is_signed: bool,
    /// Its numbers if no signs do, once they are needed: a word that is left out gets none.
    plain: Option<(WordId, WordId)>,
}

/// All words of a trace.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    form_numbers: HashMap<Box<str>, usize>,
    forms: Vec<Form>,
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
            let number = self.form_number(written);
            let is_letter = written == "A" && first < start && !all_capitals;
            if self.english && self.forms[number].is_filler && !is_letter {
                continue;
            }
            let (id, exact_id) = self.ids_at(number, text, start, written);
            let is_capital = first < start && !all_capitals;
            let facts = &mut self.facts[id as usize];
            facts.is_name |= is_capital && written.starts_with(char::is_uppercase);
            let is_number = facts.is_number;
            let form = &self.forms[number];
            let exact = Exact {
                id: exact_id,
                case: form.case,
                restricts: self.english && (is_number || form.is_restriction),
                opens_clause: form.opens_clause || ends_clause(&text[last_end..start]),
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

    /// The word with this stem, if it stands anywhere.
    pub(super) fn known(&self, stem: &str) -> Option<WordId> {
        self.ids.get(stem).copied()
    }

    /// The share of some words of which something holds, by their weights; 0 of none.
    pub(super) fn weighted_share(&self, words: &[WordId], holds: impl Fn(WordId) -> bool) -> f64 {
        let (mut held, mut all) = (0, 0);
        for &id in words {
            let weight = self.facts(id).weight;
            all += weight;
            held += if holds(id) { weight } else { 0 };
        }
        if all == 0 {
            0.0
        } else {
            f64::from(held) / f64::from(all)
        }
    }

    /// How many words there are.
    pub(super) fn len(&self) -> usize {
        self.facts.len()
    }

    fn form_number(&mut self, written: &str) -> usize {
        if let Some(&number) = self.form_numbers.get(written) {
            return number;
        }
        let folded = folded(written).into_boxed_str();
        self.forms.push(Form {
            case: case(written),
            is_filler: is_filler(&folded),
            is_restriction: is_restriction(&folded),
            opens_clause: opens_clause(&folded),
            is_signed: written.starts_with(char::is_numeric) || written.ends_with(char::is_numeric),
            plain: None,
            folded,
        });
        let number = self.forms.len() - 1;
        self.form_numbers.insert(written.into(), number);
        number
    }

    /// Both numbers of a word at its place.
    fn ids_at(&mut self, form: usize, text: &str, start: usize, written: &str) -> (WordId, WordId) {
        if self.forms[form].is_signed {
            let (before, after) = signs(text, start, written);
            if !(before.is_empty() && after.is_empty()) {
                return self.ids_of(form, &before, &after);
            }
        }
        if let Some(plain) = self.forms[form].plain {
            return plain;
        }
        let plain = self.ids_of(form, "", "");
        self.forms[form].plain = Some(plain);
        plain
    }

    fn ids_of(&mut self, form: usize, before: &str, after: &str) -> (WordId, WordId) {
        let folded = self.forms[form].folded.clone();
        let id = self.id(&folded, before, after);
        let count = self.exact_ids.len() as WordId;
        let key = format!("{before}{folded}{after}");
        (id, *self.exact_ids.entry(key).or_insert(count))
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
        let is_common = self.english && number.is_none() && is_common(folded);
        self.facts.push(WordFacts {
            is_content: !negates && !stops,
            is_number: number.is_some(),
            negates,
            weight: if is_common { WEIGHTS.0 } else { WEIGHTS.1 },
            is_name: false,
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
