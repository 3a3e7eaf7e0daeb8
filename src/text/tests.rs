//! Texts made to take long: every function reads them in a time that grows with their length.
//!
//! No time is asserted. A search that took the square of such a length would not end while somebody waits.

use super::abstention::{abstains, sentence_abstains};
use super::fold::folded;
use super::injection::speaks_to_the_judge;
use super::language::LanguageTally;
use super::numbers::{number, numbers, plain_signs, sign_start, unit_end};
use super::sentences::{marker_length, sentences};
use super::statements::{decidable_statements, statements};
use super::tokens::estimated_token_count;
use super::words::{
    is_filler, is_negation, is_restriction, is_stop_word, opens_clause, stem, words,
};

/// The most bytes of the texts of a trace.
const BYTES: usize = 256 * 1024;

/// Runs every public function over a text that starts with `start`, goes on with `unit` and ends with `end`.
fn read(start: &str, unit: &str, end: &str) {
    let text = format!("{start}{}{end}", unit.repeat(BYTES / unit.len()));
    for passage in sentences(&text) {
        assert!(!passage.text.is_empty());
    }
    for passage in statements(&text) {
        marker_length(passage.text);
    }
    assert!(decidable_statements(&[], &text).len() <= text.len());
    abstains(&text);
    sentence_abstains(&text);
    speaks_to_the_judge(&text);
    LanguageTally::of(&text).is_english();
    numbers(&text);
    marker_length(&text);
    assert!(0 < estimated_token_count(&text));
    for (at, word) in words(&text) {
        sign_start(&text, at);
        unit_end(&text, at + word.len());
    }
    let word = folded(&text);
    number(&word);
    plain_signs(&word);
    stem(&word);
    let lists = [
        is_stop_word,
        is_filler,
        is_negation,
        is_restriction,
        opens_clause,
    ];
    assert!(!lists.iter().any(|is_listed| is_listed(&word)));
}

#[test]
fn runs_of_white_space_are_read_once() {
    for unit in [" ", "\t", "\u{3000}", "\n", "\r\n", " \n", "\n> "] {
        read("It ends.", unit, "Then it goes on");
    }
    read("", " ", "");
    read("Dr. ", " ", "J. ");
}

#[test]
fn runs_of_signs_are_read_once() {
    for unit in [
        ".", ". ", "\"", ".\"", ")", "([", "[1", "[1]", "-", "1.", ",", "。", "\0",
    ] {
        read("It ends. ", unit, "then it goes on");
    }
    read("It ends.", ")\u{93e}", "x");
    read("It ends.", "\"\u{ff9e}", "x");
}

#[test]
fn runs_of_marks_and_unseen_characters_are_read_once() {
    for unit in [
        "\u{301}",
        "\u{301}\u{323}",
        "\u{93e}",
        "\u{200d}",
        "\u{ad}",
        "\u{1f1e6}",
        "\u{1f469}\u{200d}",
        ":\u{301}",
    ] {
        read("It ends.a", unit, "b");
    }
}

#[test]
fn runs_of_words_are_read_once() {
    for unit in ["a", "J. ", "x\n", "1,", "01 no\n", "字"] {
        read("", unit, ".");
    }
}

#[test]
fn begun_phrases_are_read_once() {
    for unit in [
        "ignore all ",
        "note to the ",
        "前の指示",
        "(\"label\" ",
        "the documents do not ",
    ] {
        read("", unit, ".");
    }
}
