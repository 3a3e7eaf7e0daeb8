//! Sentences.
//!
//! Sentences are those of UAX #29, with three repairs: an abbreviation ends none, a list marker is none, and a line that
//! goes on in lower case goes on with its sentence. Ends of lines end a sentence otherwise, so list items and table rows
//! stand by themselves.

use std::ops::Range;

use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation as _;

use super::numbers::sign_start;

/// Abbreviations that end in a full stop and end no sentence.
const ABBREVIATIONS: &[&str] = &[
    "approx.", "art.", "bzw.", "ca.", "cf.", "dr.", "e.g.", "etc.", "fig.", "i.e.", "inc.", "jr.",
    "ltd.", "max.", "min.", "mr.", "mrs.", "ms.", "nr.", "p.", "pp.", "prof.", "sec.", "sr.",
    "st.", "u.k.", "u.s.", "vs.",
];

/// So many characters other than letters and digits after a full stop end its sentence, whatever follows.
const LONGEST_TAIL: usize = 64;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage<'a> {
    /// The piece.
    pub text: &'a str,
    /// Where it stands, in code points.
    pub span: Range<usize>,
}

/// The sentences of a text in order, without surrounding white space.
pub fn sentences(text: &str) -> Vec<Passage<'_>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for stretch in stretches(text) {
        for (at, piece) in text[stretch.clone()].split_sentence_bound_indices() {
            let start = stretch.start + at;
            match ranges.last_mut() {
                Some(last) if goes_on(&text[last.clone()], piece) => last.end = start + piece.len(),
                _ => ranges.push(start..start + piece.len()),
            }
        }
    }
    passages(text, ranges)
}

/// The stretches of a text that are segmented by themselves. Segmentation looks from each space, quote and bracket
/// after a full stop for the next letter, so a long tail of them takes its length squared.
fn stretches(text: &str) -> Vec<Range<usize>> {
    let mut stretches = Vec::new();
    let mut start = 0;
    let mut tail = None;
    for (at, c) in text.char_indices() {
        tail = match tail {
            _ if is_full_stop(c) => Some(0),
            None => None,
            _ if ends_tail(c) => None,
            Some(LONGEST_TAIL) => {
                stretches.push(start..at);
                start = at;
                None
            }
            Some(length) => Some(length + 1),
        };
    }
    stretches.push(start..text.len());
    stretches
}

/// The full stops of UAX #29, which end a sentence only if no lower case follows.
fn is_full_stop(c: char) -> bool {
    matches!(c, '.' | '\u{2024}' | '\u{fe52}' | '\u{ff0e}')
}

/// Whether no character after this one belongs to a full stop before it: line breaks, letters and digits, but no marks.
fn ends_tail(c: char) -> bool {
    let is_mark = is_combining_mark(c) || matches!(c, '\u{ff9e}' | '\u{ff9f}');
    is_line_break(c) || (c.is_alphanumeric() && !is_mark)
}

fn is_line_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether a sentence that seems to end with `before` goes on with `after`.
fn goes_on(before: &str, after: &str) -> bool {
    let shown = before.trim_end();
    let new_line = before.ends_with(is_line_break);
    if new_line {
        let one_line = before[shown.len()..].matches('\n').count() <= 1;
        let ends = shown.ends_with(['.', '!', '?', ':', ';', '。', '！', '？', '।', '؟', '|']);
        let starts_low = after.trim_start().starts_with(char::is_lowercase);
        return one_line
            && !ends
            && starts_low
            && !shown.is_empty()
            && !after.starts_with(['\n', '\r']);
    }
    let last = shown
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default()
        .trim_start_matches(|c: char| !c.is_alphanumeric());
    is_initial(last) || is_ordinal_marker(shown) || {
        let low = last.to_lowercase();
        ABBREVIATIONS.binary_search(&low.as_str()).is_ok()
    }
}

/// `J.`, but not `I.`, which is more often the pronoun at an end.
fn is_initial(word: &str) -> bool {
    let mut chars = word.chars().filter(|&c| !is_combining_mark(c));
    matches!((chars.next(), chars.next(), chars.next()), (Some(c), Some('.'), None) if c.is_uppercase() && c != 'I')
}

/// A line that is only `12.` so far.
fn is_ordinal_marker(line: &str) -> bool {
    line.strip_suffix('.').is_some_and(|digits| {
        (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
    })
}

/// The bytes of `-`, `*`, `#`, `>`, `1.` and `2)` at the start of a sentence; the sign of a number is no marker.
pub fn marker_length(sentence: &str) -> usize {
    let is_marker =
        |c: char| c.is_whitespace() || matches!(c, '-' | '*' | '•' | '#' | '>' | '–' | '+');
    let bare = sentence.trim_start_matches(is_marker);
    let bare = if bare.starts_with(char::is_numeric) {
        &sentence[sign_start(sentence, sentence.len() - bare.len())..]
    } else {
        bare
    };
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let after = &bare[digits..];
    let numbered =
        (1..=3).contains(&digits) && (after.starts_with(". ") || after.starts_with(") "));
    let rest = if numbered {
        after[2..].trim_start()
    } else {
        bare
    };
    sentence.len() - rest.len()
}

/// Byte ranges in order as passages without surrounding white space; blank ones go.
fn passages(text: &str, ranges: Vec<Range<usize>>) -> Vec<Passage<'_>> {
    let mut passages = Vec::with_capacity(ranges.len());
    let mut byte = 0;
    let mut chars = 0;
    for range in ranges {
        let whole = &text[range.clone()];
        let start = range.end - whole.trim_start().len();
        let shown = whole.trim();
        if shown.is_empty() {
            continue;
        }
        chars += text[byte..start].chars().count();
        let length = shown.chars().count();
        passages.push(Passage {
            text: shown,
            span: chars..chars + length,
        });
        chars += length;
        byte = start + shown.len();
    }
    passages
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found = sentences(text);
        let texts: Vec<_> = found.iter().map(|passage| passage.text).collect();
        assert_eq!(texts, expected);
        for passage in &found {
            let length = passage.span.len();
            let there = text.chars().skip(passage.span.start).take(length);
            assert_eq!(there.collect::<String>(), passage.text);
        }
    }

    #[test]
    fn sentences_end_in_every_script() {
        check(
            "One is here. Two is there!",
            &["One is here.", "Two is there!"],
        );
        check(
            "犬は可能です。猫も可能です。",
            &["犬は可能です。", "猫も可能です。"],
        );
        check("पहला वाक्य। दूसरा वाक्य।", &["पहला वाक्य।", "दूसरा वाक्य।"]);
        check(
            "هل هو مفتوح؟ نعم هو مفتوح.",
            &["هل هو مفتوح؟", "نعم هو مفتوح."],
        );
    }

    #[test]
    fn abbreviations_and_decimals_end_no_sentence() {
        check(
            "Dr. Vale paid 2.50 to J. Orn.",
            &["Dr. Vale paid 2.50 to J. Orn."],
        );
        check("Use oil, e.g. Olive oil.", &["Use oil, e.g. Olive oil."]);
        check("By \u{c9}. Orn.", &["By \u{c9}. Orn."]);
        check("By E\u{301}. Orn.", &["By E\u{301}. Orn."]);
    }

    #[test]
    fn a_long_tail_of_a_full_stop_ends_its_sentence() {
        let spaces = " ".repeat(100);
        check(&format!("One.{spaces}Two.{spaces}"), &["One.", "Two."]);
        check(&format!("One.{spaces}two"), &["One.", "two"]);
        check("One.      two", &["One.      two"]);
        check(&format!("Dr.{spaces}Vale"), &[&format!("Dr.{spaces}Vale")]);
        check(&format!("It{spaces}is."), &[&format!("It{spaces}is.")]);
    }

    proptest! {
        #[test]
        fn stretches_change_no_sentence_of_an_ordinary_text(text in "([a-zA-Zé0-9.。!?\"’) \n\r\u{301},]|\\PC){0,60}") {
            prop_assert_eq!(stretches(&text).len(), 1);
        }
    }

    #[test]
    fn a_wrapped_line_goes_on() {
        check(
            "The lid must be\nclosed first.\nNext",
            &["The lid must be\nclosed first.", "Next"],
        );
    }
}
