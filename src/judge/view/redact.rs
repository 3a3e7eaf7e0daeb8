//! Redaction: what must not leave the house is replaced by placeholders that keep their meaning apart.
//!
//! The same value has the same placeholder in every part of a trace and different values have different ones, so that
//! what an answer says can still be compared with the context. Matching takes linear time and cannot fail: a pattern
//! that is no pattern is refused when it is read. Where matches overlap, all of what they cover is one value.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use regex::Regex;

use crate::domain::{Vocabulary as _, vocabulary};

vocabulary! {
    /// The patterns that have a name. They are rules of thumb: they rather cover too much than too little.
    "pattern with a name"
    pub enum BuiltIn {
        /// Addresses of e-mail.
        Email = "email",
        /// Telephone numbers that are written with a `+`, `00`, a leading zero or in the groups of North America.
        Phone = "phone",
        /// International bank account numbers, in groups of four or in one.
        Iban = "iban",
        /// Numbers of 13 to 19 digits, in groups or in one; no check digit is looked at.
        CreditCard = "credit_card",
        /// Addresses of version 4 of the Internet Protocol.
        Ipv4 = "ipv4",
    }
}

/// The label of what a pattern without a name covers.
const LABEL: &str = "REDACTED";

/// Patterns whose matches are replaced before anything is sent.
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    patterns: Vec<String>,
    rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    label: &'static str,
    spelling: Spelling,
    regex: Regex,
}

/// When two spellings are the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spelling {
    /// As written.
    Exact,
    /// In whatever case.
    AnyCase,
    /// In whatever case and grouping.
    AnyGrouping,
}

impl PartialEq for Redactor {
    fn eq(&self, other: &Self) -> bool {
        self.patterns == other.patterns
    }
}

impl Redactor {
    /// A redactor of these patterns: names of built-in ones, or regular expressions.
    ///
    /// The error is the place of the first bad pattern and what is wrong with it.
    pub fn new(patterns: &[String]) -> Result<Self, (usize, String)> {
        let rules = patterns
            .iter()
            .enumerate()
            .map(|(place, pattern)| rule(pattern).map_err(|message| (place, message)));
        Ok(Self {
            rules: rules.collect::<Result<_, _>>()?,
            patterns: patterns.to_vec(),
        })
    }

    /// The patterns as they were given.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Replaces every match in texts that belong together; the placeholders are numbered in their order.
    pub(super) fn redact<'t>(&self, texts: &[&'t str]) -> Vec<Cow<'t, str>> {
        let mut names = Names::new(&self.rules, texts);
        texts
            .iter()
            .map(|text| {
                let covered = self.covered(text);
                if covered.is_empty() {
                    return Cow::Borrowed(*text);
                }
                let mut redacted = String::with_capacity(text.len());
                let mut end = 0;
                for (range, rule) in covered {
                    redacted.push_str(&text[end..range.start]);
                    redacted.push_str(names.placeholder(&self.rules[rule], &text[range.clone()]));
                    end = range.end;
                }
                redacted.push_str(&text[end..]);
                Cow::Owned(redacted)
            })
            .collect()
    }

    /// What is covered, in order and without overlaps, each with the rule whose match was the longest.
    fn covered(&self, text: &str) -> Vec<(Range<usize>, usize)> {
        let mut found: Vec<(Range<usize>, usize)> = Vec::new();
        for (index, rule) in self.rules.iter().enumerate() {
            let matches = rule.regex.find_iter(text).filter(|found| !found.is_empty());
            found.extend(matches.map(|found| (found.range(), index)));
        }
        found.sort_by_key(|(range, rule)| (range.start, Reverse(range.end), *rule));
        let mut merged: Vec<(Range<usize>, usize)> = Vec::new();
        let mut longest = 0;
        for (range, rule) in found {
            match merged.last_mut() {
                Some(last) if range.start < last.0.end => {
                    last.0.end = last.0.end.max(range.end);
                    if longest < range.len() {
                        longest = range.len();
                        last.1 = rule;
                    }
                }
                _ => {
                    longest = range.len();
                    merged.push((range, rule));
                }
            }
        }
        merged
    }
}

/// The placeholders that were given out for one trace.
struct Names {
    /// Numbers of placeholders that the texts hold already.
    taken: BTreeSet<(&'static str, u64)>,
    last: BTreeMap<&'static str, u64>,
    by_value: BTreeMap<(&'static str, String), String>,
}

impl Names {
    fn new(rules: &[Rule], texts: &[&str]) -> Self {
        let labels: BTreeSet<_> = rules.iter().map(|rule| rule.label).collect();
        let mut taken = BTreeSet::new();
        for label in labels {
            let head = format!("[{label}_");
            for text in texts {
                for (at, _) in text.match_indices(&head) {
                    let rest = &text[at + head.len()..];
                    let number = rest.split(']').next().and_then(|n| n.parse().ok());
                    taken.extend(number.map(|number| (label, number)));
                }
            }
        }
        Self {
            taken,
            last: BTreeMap::new(),
            by_value: BTreeMap::new(),
        }
    }

    fn placeholder(&mut self, rule: &Rule, value: &str) -> &str {
        let (label, value) = (rule.label, rule.spelling.plain(value));
        let (taken, last) = (&self.taken, &mut self.last);
        self.by_value.entry((label, value)).or_insert_with(|| {
            let number = last.entry(label).or_insert(0);
            *number += 1;
            while taken.contains(&(label, *number)) {
                *number += 1;
            }
            format!("[{label}_{number}]")
        })
    }
}

impl Spelling {
    fn plain(self, value: &str) -> String {
        match self {
            Self::Exact => value.to_owned(),
            Self::AnyCase => value.to_lowercase(),
            Self::AnyGrouping => {
                let plain = value.chars().filter(|c| c.is_alphanumeric());
                plain.flat_map(char::to_lowercase).collect()
            }
        }
    }
}

fn rule(pattern: &str) -> Result<Rule, String> {
    if let Ok(built_in) = pattern.parse::<BuiltIn>() {
        let (label, spelling, expression) = built_in.parts();
        return Ok(Rule {
            label,
            spelling,
            regex: compiled(expression)?,
        });
    }
    // A name with a typing error is a valid expression that covers nothing.
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if pattern.bytes().all(is_word) {
        let names: Vec<_> = BuiltIn::ALL.iter().map(|known| known.name()).collect();
        let names = names.join(", ");
        return Err(format!(
            "`{pattern}` is not one of {names}; a word as such is written `({pattern})`"
        ));
    }
    let regex = compiled(pattern)?;
    if regex.is_match("") {
        return Err(format!("`{pattern}` matches an empty text"));
    }
    Ok(Rule {
        label: LABEL,
        spelling: Spelling::Exact,
        regex,
    })
}

fn compiled(pattern: &str) -> Result<Regex, String> {
    Regex::new(pattern).map_err(|error| {
        let text = error.to_string();
        let last = text.lines().last().unwrap_or_default();
        let cause = last.strip_prefix("error: ").unwrap_or(last);
        format!("`{pattern}` is not a regular expression: {cause}")
    })
}

impl BuiltIn {
    const fn parts(self) -> (&'static str, Spelling, &'static str) {
        match self {
            Self::Email => (
                "EMAIL",
                Spelling::AnyCase,
                r"[\p{L}\p{N}.!#$%&'*+/=?^_`{|}~-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+",
            ),
            Self::Phone => (
                "PHONE",
                Spelling::AnyGrouping,
                concat!(
                    r"(?:\+|\b00)[1-9](?:[ ./()-]{0,3}[0-9]){6,14}\b",
                    r"|\b0[0-9]{2,5}[ ./-]{1,3}[0-9](?:[ ./-]?[0-9]){3,10}\b",
                    r"|\b0[1-9](?:[ .-]?[0-9]{2}){4}[0-9]?\b",
                    r"|\(0?[0-9]{2,5}\)[ ./-]{0,2}[0-9](?:[ ./-]?[0-9]){4,10}\b",
                    r"|\b[0-9]{3}[ .-][0-9]{3}[ .-][0-9]{4}\b",
                ),
            ),
            Self::Iban => (
                "IBAN",
                Spelling::AnyGrouping,
                r"\b[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?\b",
            ),
            Self::CreditCard => (
                "CREDIT_CARD",
                Spelling::AnyGrouping,
                r"\b[0-9](?:[ -]?[0-9]){12,18}\b",
            ),
            Self::Ipv4 => (
                "IPV4",
                Spelling::Exact,
                r"\b(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})(?:\.(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})){3}\b",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(patterns: &[&str]) -> Redactor {
        let patterns: Vec<_> = patterns.iter().map(|p| (*p).to_owned()).collect();
        Redactor::new(&patterns).unwrap()
    }

    #[track_caller]
    fn check(patterns: &[&str], texts: &[&str], expected: &[&str]) {
        assert_eq!(redactor(patterns).redact(texts), expected);
    }

    #[test]
    fn the_same_value_has_the_same_placeholder_everywhere() {
        check(
            &["email", "phone"],
            &[
                "Does Ada.Lund@mill.example answer on +49 30 901820?",
                "Write to ada.lund@mill.example or bo@mill.example, or call +49 (30) 90-1820.",
                "It is bo@mill.example.",
            ],
            &[
                "Does [EMAIL_1] answer on [PHONE_1]?",
                "Write to [EMAIL_1] or [EMAIL_2], or call [PHONE_1].",
                "It is [EMAIL_2].",
            ],
        );
    }

    #[test]
    fn every_built_in_pattern_covers_its_kind_and_no_plain_number() {
        check(
            &["iban", "credit_card", "ipv4", "phone"],
            &[
                "Pay DE44 5001 0517 5407 3249 31 or NL91ABNA0417164300.",
                "Card 4000 0012 3456 7899, host 10.20.30.40, 030 5550199, (555) 010-4477, 555-010-4477.",
                "In 2026 the 12,500 seats cost 19.99 each; section 4.2.1, 2026-11-30, 01.12.2026.",
            ],
            &[
                "Pay [IBAN_1] or [IBAN_2].",
                "Card [CREDIT_CARD_1], host [IPV4_1], [PHONE_1], [PHONE_2], [PHONE_2].",
                "In 2026 the 12,500 seats cost 19.99 each; section 4.2.1, 2026-11-30, 01.12.2026.",
            ],
        );
    }

    #[test]
    fn overlapping_matches_are_one_value() {
        check(
            &[r"ticket T-\d+", r"T-\d+ of \w+"],
            &["See ticket T-77 of Bruno, and ticket T-9."],
            &["See [REDACTED_1], and [REDACTED_2]."],
        );
        // Equal matches belong to the pattern that stands first.
        check(
            &[r"\d{16}", "credit_card"],
            &["4000001234567899"],
            &["[REDACTED_1]"],
        );
    }

    #[test]
    fn a_text_that_holds_a_placeholder_cannot_collide_with_one() {
        check(
            &["email"],
            &[
                "Mail [EMAIL_1], [EMAIL_02] or x@y.example.",
                "[EMAIL_3] [EMAIL_x] z@y.example",
            ],
            &[
                "Mail [EMAIL_1], [EMAIL_02] or [EMAIL_4].",
                "[EMAIL_3] [EMAIL_x] [EMAIL_5]",
            ],
        );
    }

    #[test]
    fn a_bad_pattern_is_named_by_its_place() {
        let bad = |pattern: &str| {
            let patterns = ["email".to_owned(), pattern.to_owned()];
            Redactor::new(&patterns).unwrap_err()
        };
        let (place, message) = bad("(a");
        assert_eq!(
            (place, message.as_str()),
            (1, "`(a` is not a regular expression: unclosed group")
        );
        assert!(bad("a*").1.contains("matches an empty text"));
        let (_, message) = bad("emial");
        assert!(
            message.contains("email, phone, iban, credit_card, ipv4"),
            "{message}"
        );
        assert!(Redactor::new(&["(emial)".to_owned()]).is_ok());
    }

    #[test]
    fn redactors_of_the_same_patterns_are_the_same() {
        assert_eq!(redactor(&["email"]), redactor(&["email"]));
        assert_ne!(redactor(&["email"]), Redactor::default());
        assert!(Redactor::default().is_empty());
    }
}
