//! Phrases: rows of fragments that stand in one text in a given order.
//!
//! `a…(b|c) d` is the fragments `a` and then `b d` or `c d`. Rows and texts are compared in their plain forms, and a
//! fragment starts with no word of the text begun. Every search reads a text once for each row at most.

use std::collections::{BTreeMap, BTreeSet};

use super::fold::folded;

/// What stands for a blank line in a plain text.
pub(super) const PARAGRAPH: char = '\u{2029}';
/// The most characters between two fragments that stand near each other.
const NEAR: usize = 32;

/// The folded form of a text in which a line goes on with the next one, as phrases are looked for in it.
pub(super) fn plain(text: &str) -> String {
    without_breaks(&lines(text))
}

/// A text of [`lines`] with spaces for its line breaks; every place stays where it is.
pub(super) fn without_breaks(lines: &str) -> String {
    lines.replace('\n', " ")
}

/// The folded form of a text with its white space in one form: a space, a line break, or a [`PARAGRAPH`].
/// Marks of quotes, comments and headings at the start of a line belong to its break.
pub(super) fn lines(text: &str) -> String {
    let folded = folded(text);
    let mut lines = String::with_capacity(folded.len());
    let mut gap: Option<usize> = None;
    let mut before = ' ';
    for c in folded.chars() {
        let breaks = match c {
            '\n' if before == '\r' => 0,
            '\n' | '\r' | '\u{85}' | '\u{2028}' => 1,
            PARAGRAPH => 2,
            _ => 0,
        };
        before = c;
        if c.is_whitespace() {
            gap = Some(gap.unwrap_or_default() + breaks);
            continue;
        }
        if matches!(c, '>' | '#' | '*' | '/' | '|') && gap.is_some_and(|breaks| 0 < breaks) {
            continue;
        }
        push_gap(&mut lines, gap.take());
        lines.push(c);
    }
    push_gap(&mut lines, gap);
    lines
}

fn push_gap(lines: &mut String, breaks: Option<usize>) {
    match breaks {
        None => {}
        Some(0) => lines.push(' '),
        Some(1) => lines.push('\n'),
        Some(_) => lines.push(PARAGRAPH),
    }
}

/// Whether a character belongs to a word within which no fragment starts; scripts without spaces have no such bound.
fn is_spaced(c: char) -> bool {
    c < '\u{2e80}' && c.is_alphanumeric()
}

/// The places of a plain text where a fragment may start, with their characters.
pub(super) fn starts(plain: &str, from: usize) -> impl Iterator<Item = (usize, char)> {
    let mut in_word = plain[..from].ends_with(is_spaced);
    plain[from..].char_indices().filter_map(move |(at, c)| {
        let was_in_word = in_word;
        in_word = is_spaced(c);
        (!was_in_word || !in_word).then_some((from + at, c))
    })
}

/// Parts that follow one another; each part is any of its choices.
struct Fragment {
    parts: Vec<Vec<String>>,
    /// Whether it can begin with a byte, so that most places are passed quickly.
    by_first_byte: Vec<bool>,
}

impl Fragment {
    fn new(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, (choices, after))) = rest
            .split_once('(')
            .and_then(|(before, group)| Some((before, group.split_once(')')?)))
        {
            parts.push(vec![before.to_owned()]);
            parts.push(choices.split('|').map(str::to_owned).collect());
            rest = after;
        }
        parts.push(vec![rest.to_owned()]);
        parts.retain(|choices| choices.iter().any(|choice| !choice.is_empty()));
        let mut fragment = Self {
            parts,
            by_first_byte: vec![false; 1 << u8::BITS],
        };
        for letter in fragment.first_letters() {
            let byte = letter.encode_utf8(&mut [0; 4]).as_bytes()[0];
            fragment.by_first_byte[usize::from(byte)] = true;
        }
        fragment
    }

    fn first_letters(&self) -> BTreeSet<char> {
        let mut letters = BTreeSet::new();
        for choices in &self.parts {
            letters.extend(choices.iter().filter_map(|choice| choice.chars().next()));
            if choices.iter().all(|choice| !choice.is_empty()) {
                break;
            }
        }
        letters
    }

    fn can_start_at(&self, plain: &str, at: usize) -> bool {
        let byte = plain.as_bytes().get(at);
        byte.is_some_and(|&byte| self.by_first_byte[usize::from(byte)])
    }

    fn end(&self, plain: &str, at: usize) -> Option<usize> {
        end_of_parts(&self.parts, plain, at, &Some)
    }

    /// Where the first occurrence from a place on ends.
    fn first_end(&self, plain: &str, from: usize) -> Option<usize> {
        let mut starts = starts(plain, from).filter(|(at, _)| self.can_start_at(plain, *at));
        starts.find_map(|(at, _)| self.end(plain, at))
    }
}

/// The first end of the parts that `then` takes.
fn end_of_parts(
    parts: &[Vec<String>],
    plain: &str,
    at: usize,
    then: &dyn Fn(usize) -> Option<usize>,
) -> Option<usize> {
    let Some((choices, others)) = parts.split_first() else {
        return then(at);
    };
    let rest = &plain.as_bytes()[at..];
    for choice in choices {
        if rest.starts_with(choice.as_bytes())
            && let Some(end) = end_of_parts(others, plain, at + choice.len(), then)
        {
            return Some(end);
        }
    }
    None
}

/// The fragments of a phrase.
pub(super) struct Row(Vec<Fragment>);

impl Row {
    fn new(phrase: &str) -> Self {
        let fragments = phrase.split('…').map(|part| Fragment::new(&folded(part)));
        Self(fragments.collect())
    }

    /// Where the phrase ends that starts at a place, with short gaps within one clause between its fragments.
    pub(super) fn end_near(&self, plain: &str, at: usize) -> Option<usize> {
        end_of_near(&self.0, plain, at)
    }
}

fn end_of_near(fragments: &[Fragment], plain: &str, at: usize) -> Option<usize> {
    let (fragment, others) = fragments.split_first()?;
    end_of_parts(&fragment.parts, plain, at, &|end| match others {
        [] => Some(end),
        [next, ..] => {
            let mut starts = near(plain, end).filter(|&start| next.can_start_at(plain, start));
            starts.find_map(|start| end_of_near(others, plain, start))
        }
    })
}

/// The places after a fragment where the next may start.
fn near(plain: &str, end: usize) -> impl Iterator<Item = usize> {
    let mut in_clause = true;
    let chars = plain[end..].chars().take(NEAR + 1);
    let mut at = end;
    let mut in_word = plain[..end].ends_with(is_spaced);
    let places = chars.map_while(move |c| {
        let place = in_clause.then_some(at)?;
        let was_in_word = in_word;
        in_word = is_spaced(c);
        in_clause = !ends_clause(c);
        at += c.len_utf8();
        Some(Some(place).filter(|_| !was_in_word || !in_word))
    });
    places.flatten()
}

fn ends_clause(c: char) -> bool {
    matches!(
        c,
        '.' | '!' | '?' | ';' | ',' | PARAGRAPH | '。' | '！' | '？' | '।' | '؟'
    )
}

/// Many phrases, found by the letters with which they begin.
pub(super) struct Rows {
    all: Vec<Row>,
    by_first_letter: BTreeMap<char, Vec<usize>>,
}

impl Rows {
    /// Reads phrases.
    pub(super) fn new<'p>(phrases: impl IntoIterator<Item = &'p str>) -> Self {
        let all: Vec<_> = phrases.into_iter().map(Row::new).collect();
        let mut by_first_letter: BTreeMap<char, Vec<usize>> = BTreeMap::new();
        for (place, row) in all.iter().enumerate() {
            for letter in row.0.first().into_iter().flat_map(Fragment::first_letters) {
                by_first_letter.entry(letter).or_default().push(place);
            }
        }
        Self {
            all,
            by_first_letter,
        }
    }

    /// The phrases that can begin with a letter.
    pub(super) fn with_first(&self, letter: char) -> impl Iterator<Item = &Row> {
        self.places(letter).map(|place| &self.all[place])
    }

    fn places(&self, letter: char) -> impl Iterator<Item = usize> {
        let places = self.by_first_letter.get(&letter);
        places.into_iter().flatten().copied()
    }

    /// Whether one of the phrases stands anywhere in a plain sentence, with anything between its fragments.
    pub(super) fn stand_in(&self, sentence: &str) -> bool {
        // What does not follow the first occurrence of a beginning does not follow a later one.
        let mut is_begun = vec![false; self.all.len()];
        starts(sentence, 0).any(|(at, letter)| {
            self.places(letter).any(|place| {
                let fragments = &self.all[place].0;
                let begun = fragments.first().filter(|_| !is_begun[place]);
                let Some(end) = begun.and_then(|first| first.end(sentence, at)) else {
                    return false;
                };
                is_begun[place] = true;
                let mut others = fragments[1..].iter();
                let last = others.try_fold(end, |end, other| other.first_end(sentence, end));
                last.is_some()
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_near(phrase: &str, text: &str, expected: bool) {
        let row = Row::new(phrase);
        let text = plain(text);
        let found = starts(&text, 0).any(|(at, _)| row.end_near(&text, at).is_some());
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn white_space_is_a_space_a_line_break_or_a_paragraph() {
        assert_eq!(lines("A \t\u{3000}b\r\n c"), "a b\nc");
        assert_eq!(
            lines("a\n\n b \r\n\r\nc\u{2029}d"),
            "a\u{2029}b\u{2029}c\u{2029}d"
        );
        assert_eq!(lines("> a\n> b\n  // c\n>\n> d"), "> a\nb\nc\u{2029}d");
    }

    #[test]
    fn fragments_stand_near_each_other_in_one_clause() {
        let phrase = "(drop |leave )(|all )…(box|crate)";
        check_near(phrase, "Leave all the\nred boxes", true);
        check_near(phrase, "drop\tcrate", true);
        check_near(phrase, "Leave all.\nThe box", false);
        check_near(phrase, "Leave all\n\nthe box", false);
        check_near(phrase, "leave the inbox", false);
        check_near(phrase, "xleave the box", false);
        let gap = "я".repeat(NEAR - 1);
        check_near(phrase, &format!("drop {gap} box"), true);
        check_near(phrase, &format!("drop {gap}я box"), false);
        check_near(phrase, "箱drop 箱crate", true);
    }

    #[test]
    fn any_gap_is_allowed_in_a_sentence() {
        let rows = Rows::new(["(red|blue)…box…lid", "crate"]);
        let far = format!("the blue {} box has a lid", "very ".repeat(50));
        assert!(rows.stand_in(&plain(&far)));
        assert!(!rows.stand_in(&plain("the lid of the blue box")));
        assert!(rows.stand_in(&plain("A Crate")));
    }
}
