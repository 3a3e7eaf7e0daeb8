//! The statements of an answer, and which of them can be decided.
//!
//! The statements that came with an answer are taken as they are. Else they are its sentences without list markers, one
//! for each list item and each line that does not go on.
//!
//! A statement with fewer than three content words says too little to be supported or not. Content words are the words
//! of Unicode without the stop words, if the answer as a whole is English, and without the numbers of citation markers.
//! In a script without spaces a word is what segmentation gives, mostly a sign.
//! A statement claims something if it has a content word and does not say that nothing was found.

use std::ops::Range;

use super::abstention::sentence_abstains;
use super::fold::folded;
use super::language::LanguageTally;
use super::sentences::{Passage, marker_length, sentences};
use super::words::{is_stop_word, words};

/// Content words from which a statement is decidable.
pub const DECIDABLE_WORDS: usize = 3;
/// The digits of the number of a source at most; `(1998)` is a year.
const CITATION_DIGITS: usize = 3;

/// A statement of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement<'a> {
    /// The statement.
    pub text: &'a str,
    /// Where it stands in the answer, in code points; `None` if it came with the answer.
    pub span: Option<Range<usize>>,
    /// Whether it says enough to be supported or not.
    pub is_decidable: bool,
    /// Whether it claims anything at all.
    pub is_claim: bool,
}

/// The statements of an answer by themselves: its sentences that hold a word, without list markers.
pub fn statements(answer: &str) -> Vec<Passage<'_>> {
    sentences(answer)
        .into_iter()
        .map(without_marker)
        .filter(|passage| passage.text.chars().any(char::is_alphanumeric))
        .collect()
}

/// The statements that came with an answer, else its own, each with whether it is decidable.
pub fn decidable_statements<'a>(given: &'a [String], answer: &'a str) -> Vec<Statement<'a>> {
    let placed: Vec<(&str, Option<Range<usize>>)> = if given.is_empty() {
        let own = statements(answer).into_iter();
        own.map(|passage| (passage.text, Some(passage.span)))
            .collect()
    } else {
        given.iter().map(|text| (text.as_str(), None)).collect()
    };
    let mut language = LanguageTally::default();
    for (text, _) in &placed {
        language.add(text);
    }
    let is_english = language.is_english();
    placed
        .into_iter()
        .map(|(text, span)| {
            let count = content_word_count(text, is_english);
            Statement {
                is_decidable: DECIDABLE_WORDS <= count,
                is_claim: 0 < count && !sentence_abstains(text),
                text,
                span,
            }
        })
        .collect()
}

/// The words of a statement that say something; stop words count where the text is not English.
pub fn content_word_count(statement: &str, is_english: bool) -> usize {
    let citations = citations(statement);
    let mut citations = citations.into_iter().peekable();
    let said = words(statement).filter(|&(start, _)| {
        while citations
            .next_if(|citation| citation.end <= start)
            .is_some()
        {}
        let is_cited = citations
            .peek()
            .is_some_and(|citation| citation.start <= start);
        !is_cited
    });
    said.filter(|(_, word)| !(is_english && is_stop_word(&folded(word))))
        .count()
}

/// Where citation markers stand, in bytes: brackets around nothing but numbers of sources, as `[1]`, `(2)`, `[3, 4]`
/// and `[5-7]`.
fn citations(text: &str) -> Vec<Range<usize>> {
    let mut citations = Vec::new();
    for (start, open) in text.match_indices(['[', '(', '【', '［', '（']) {
        let inner = start + open.len();
        let rest = &text[inner..];
        let length = rest.find(|c| !stands_in_citation(c)).unwrap_or(rest.len());
        let is_closed = rest[length..].starts_with([']', ')', '】', '］', '）']);
        if is_closed && names_sources(&rest[..length]) {
            citations.push(start..inner + length);
        }
    }
    citations
}

fn stands_in_citation(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, ' ' | ',' | ';' | '-' | '–' | '^')
}

/// Whether there are numbers here, each short enough for one of a source.
fn names_sources(inner: &str) -> bool {
    let numbers = inner.split(|c: char| !c.is_ascii_digit());
    let mut numbers = numbers.filter(|digits| !digits.is_empty()).peekable();
    numbers.peek().is_some() && numbers.all(|digits| digits.len() <= CITATION_DIGITS)
}

/// Cuts the list marker off.
fn without_marker(passage: Passage<'_>) -> Passage<'_> {
    let (marker, rest) = passage.text.split_at(marker_length(passage.text));
    Passage {
        text: rest,
        span: passage.span.start + marker.chars().count()..passage.span.end,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_normalization::UnicodeNormalization as _;

    use super::*;

    #[track_caller]
    fn check(answer: &str, expected: &[&str]) {
        let found = statements(answer);
        let texts: Vec<_> = found.iter().map(|passage| passage.text).collect();
        assert_eq!(texts, expected);
        for passage in &found {
            let length = passage.span.len();
            let there = answer.chars().skip(passage.span.start).take(length);
            assert_eq!(there.collect::<String>(), passage.text);
        }
    }

    #[track_caller]
    fn decided(answer: &str, expected: &[bool]) {
        let found = decidable_statements(&[], answer);
        let found: Vec<_> = found
            .iter()
            .map(|statement| statement.is_decidable)
            .collect();
        assert_eq!(found, expected, "{answer}");
    }

    #[test]
    fn list_items_and_lines_are_statements_without_their_markers() {
        check(
            "Steps:\n- Drain it\n* Dry it\n1. Close it\n2) Lock it\nThe lamp goes out",
            &[
                "Steps:",
                "Drain it",
                "Dry it",
                "Close it",
                "Lock it",
                "The lamp goes out",
            ],
        );
    }

    #[test]
    fn nothing_to_read_is_no_statement() {
        check("", &[]);
        check(" \n\0 🙂 ...", &[]);
    }

    #[test]
    fn three_content_words_make_a_statement_decidable() {
        decided(
            "The lid closes. The red lid closes. It is what it is.",
            &[false, true, false],
        );
        decided("Yes.", &[false]);
        decided("Lids close [1] (2) [3, 4] [5–7] [^8].", &[false]);
        decided("Lids close (1998).", &[true]);
        decided("Lids close [1", &[true]);
    }

    #[test]
    fn stop_words_are_english_only() {
        let german = "Der Deckel ist zu, und er ist nicht offen. Das war so am Tag davor, und das ist es auch noch.";
        decided(german, &[true, true]);
        decided("Lid so it is.", &[false]);
    }

    #[test]
    fn given_statements_are_taken_as_they_are() {
        let given = ["- a red lid closes. It opens.", "Yes"].map(str::to_owned);
        let found = decidable_statements(&given, "Something else is said here.");
        let expected = [(given[0].as_str(), true), ("Yes", false)];
        let expected = expected.map(|(text, is_decidable)| Statement {
            text,
            span: None,
            is_decidable,
            is_claim: is_decidable,
        });
        assert_eq!(found, expected);
    }

    /// R30: an answer without spaces has statements, and they can be decided.
    #[test]
    fn r30_scripts_without_spaces_have_statements() {
        decided("プールは八時に開きます。サウナは休みです。", &[true, true]);
        decided("游泳池八点开门！真的？", &[true, false]);
        decided("สระเปิดเวลาแปดโมง", &[true]);
        decided("लिफ्ट सोमवार को बंद है। वह मंगलवार को खुली है।", &[true, true]);
        decided(
            "المسبح يفتح في الثامنة. الساونا مغلقة اليوم؟",
            &[true, true],
        );
        decided("はい。", &[false]);
    }

    /// R30: the same answer in another normal form has the same statements.
    #[test]
    fn r30_composed_and_decomposed_answers_have_the_same_statements() {
        for answer in [
            "Le café ouvre à huit heures. É. Orné dîne là-bas.",
            "プールは八時に開きます。サウナがぬるいです。",
            "수영장은 여덟 시에 엽니다. 네.",
            "Bể bơi mở cửa lúc tám giờ. Ờ.",
        ] {
            same_in_both_forms(answer);
        }
    }

    #[track_caller]
    fn same_in_both_forms(answer: &str) {
        let (nfc, nfd): (String, String) = (answer.nfc().collect(), answer.nfd().collect());
        let shape = |answer: &str| -> Vec<(String, bool)> {
            let found = decidable_statements(&[], answer);
            let found = found.into_iter();
            found
                .map(|own| (own.text.nfc().collect(), own.is_decidable))
                .collect()
        };
        assert_eq!(shape(&nfc), shape(&nfd));
    }

    proptest! {
        #[test]
        fn r30_any_answer_has_the_same_statements_in_both_forms(
            answer in "([a-zA-Zéàñőờがプ한글.。!?؟। \n\\[\\]()0-9-]){0,60}",
        ) {
            same_in_both_forms(&answer);
        }

        /// R7: the statements given are the statements found, and spans of others stand in the answer.
        #[test]
        fn r7_no_statement_is_lost(answer in "(\\PC|[a-z .。\n\\[1\\]-]){0,60}", given in prop::collection::vec("\\PC{1,12}", 0..4)) {
            let found = decidable_statements(&given, &answer);
            if given.is_empty() {
                prop_assert_eq!(found.len(), statements(&answer).len());
                for own in &found {
                    let span = own.span.clone().unwrap();
                    let there: String = answer.chars().skip(span.start).take(span.len()).collect();
                    prop_assert_eq!(there, own.text);
                }
            } else {
                let texts: Vec<_> = found.iter().map(|own| own.text).collect();
                prop_assert!(given.iter().eq(texts));
            }
        }
    }
}
