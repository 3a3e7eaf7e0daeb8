//! Texts that are no texts: no panic, no number that is no probability, and sizes at which anything quadratic would hang.

use std::sync::Arc;

use judge_cascade::cascade::Cascade;
use judge_cascade::domain::outcome::Outcome;
use unicode_normalization::UnicodeNormalization as _;

use super::{Row, cascade, failure, groundedness, judged, passes};

const QUESTION: &str = "When does the Tarn pool open on Sundays?";
const CHUNK: &str = "The Tarn pool opens at eight on Sundays.";

/// A name, and a text that no writer writes.
fn oddities() -> Vec<(&'static str, String)> {
    vec![
        ("one token of 50 KB", "a".repeat(50_000)),
        ("one token again and again", "pool ".repeat(10_000)),
        ("no space in 1 MB", "ab1".repeat(350_000)),
        (
            "no space in 360 KB, no Latin letter",
            "プール".repeat(40_000),
        ),
        ("numbers only", "8 8 8.8 1,8 ".repeat(8_000)),
        ("one number of 50 KB", "9".repeat(50_000)),
        ("ends of sentences only", ". ! ? ".repeat(10_000)),
        ("one word a sentence", "Pool. ".repeat(10_000)),
        ("one word a line", "- pool\n".repeat(10_000)),
        ("emoji", "🏊‍♀️🏊🏽 👩‍👩‍👧‍👦 🇳🇴 ".repeat(2_000)),
        (
            "right to left",
            "\u{202e}يفتح المسبح في الثامنة\u{202c} שלום ".repeat(2_000),
        ),
        (
            "combining marks",
            format!("poo{}l ", "\u{301}\u{323}".repeat(20_000)),
        ),
        ("NUL", "The\0pool\0opens at\0eight. \0".repeat(2_000)),
        (
            "controls",
            "\u{1}\u{7}\u{1b}[31m\u{7f}\u{feff}\u{fffe}\u{200b}pool ".repeat(2_000),
        ),
        ("open brackets", "{[(\"".repeat(20_000)),
        ("a table of bars", "|---|---|\n".repeat(5_000)),
        ("fences", "```\n".repeat(10_000)),
    ]
}

/// Judges the row and checks what must hold of any text.
async fn check(cascade: &Cascade, name: &str, row: &Row) -> Outcome {
    let outcome = row.outcome(cascade).await;
    let atomic = outcome.atomic.as_ref().unwrap();
    assert!(
        outcome.calls.iter().all(|call| call.failure.is_none()),
        "{name}"
    );
    for (question, judgment) in atomic.answers.iter() {
        if let Some(judged) = judgment.as_ref().and_then(|judgment| judgment.judged()) {
            let p = judged.probability.value();
            assert!((0.0..=1.0).contains(&p), "{name}: {question:?} is {p}");
        }
    }
    outcome
}

#[tokio::test]
async fn an_odd_answer_is_judged_and_does_not_pass() {
    let cascade = cascade();
    for (name, text) in oddities() {
        let outcome = check(&cascade, name, &Row::of(QUESTION, CHUNK, &text)).await;
        assert!(!passes(&outcome), "{name}");
    }
}

#[tokio::test]
async fn an_odd_context_is_read_and_supports_nothing_else() {
    let cascade = cascade();
    for (name, text) in oddities() {
        let answer = "Swimmers juggle purple walruses overnight.";
        let outcome = check(&cascade, name, &Row::of(QUESTION, &text, answer)).await;
        assert!(!passes(&outcome), "{name}");
    }
}

#[tokio::test]
async fn an_odd_question_is_read() {
    let cascade = cascade();
    for (name, text) in oddities() {
        check(&cascade, name, &Row::of(&text, CHUNK, CHUNK)).await;
    }
}

/// The worst for whatever compares everything with everything: all texts are long and alike.
#[tokio::test]
async fn odd_texts_on_all_sides_are_judged() {
    let cascade = cascade();
    for (name, text) in oddities() {
        let mut row = Row::of(&text, &text, &text);
        row.0.reference_answer = Some(text.clone());
        check(&cascade, name, &row).await;
        row.0.answer = format!("{text} {CHUNK}");
        row.0.statements = vec![text, CHUNK.to_owned()];
        check(&cascade, name, &row).await;
    }
}

#[tokio::test]
async fn ten_thousand_chunks_are_read() {
    let chunk = |ordinal| {
        format!("The pool of house {ordinal} opens at eight on Sundays. It closes at nine.")
    };
    let chunks: Vec<String> = (0..10_000).map(chunk).collect();
    let cascade = cascade();
    for answer in [
        "The pool of house 9999 opens at eight on Sundays.".to_owned(),
        chunks[..500].join(" "),
    ] {
        let row = Row::of(QUESTION, "The Tarn pool is closed.", &answer)
            .between(chunks.clone(), Vec::new());
        let outcome = check(&cascade, "10,000 chunks", &row).await;
        assert!(judged(&outcome).is_some());
    }
}

#[tokio::test]
async fn many_near_equal_sentences_that_differ_in_a_number_are_compared() {
    let sentence =
        |ordinal| format!("The pool counted {ordinal} visitors in the summer of last year. ");
    let text: String = (0..8_000).map(sentence).collect();
    let outcome = check(
        &cascade(),
        "near-equal sentences",
        &Row::of(QUESTION, &text, &text),
    )
    .await;
    assert!(judged(&outcome).is_some());
}

/// The same letters, composed or not, are the same text.
#[tokio::test]
async fn composed_and_decomposed_letters_are_the_same() {
    let cascade = cascade();
    let (question, chunk, answer) = (
        "When does the café of Ångby open, and what is served?",
        "The café of Ångby opens at eight on Sundays. Señor Núñez serves crème brûlée and jalapeños there.",
        "The café of Ångby opens at eight on Sundays, and Señor Núñez serves jalapeños.",
    );
    let composed = |text: &str| text.nfc().collect::<String>();
    let decomposed = |text: &str| text.nfd().collect::<String>();
    assert_ne!(composed(answer), decomposed(answer));
    let mut seen = Vec::new();
    for chunk in [composed(chunk), decomposed(chunk)] {
        for answer in [composed(answer), decomposed(answer)] {
            for question in [composed(question), decomposed(question)] {
                let outcome = Row::of(&question, &chunk, &answer).outcome(&cascade).await;
                let judged = judged(&outcome).unwrap();
                let guards = judged.evidence.as_ref().unwrap().guards.clone();
                seen.push((
                    judged.probability.value().to_bits(),
                    guards,
                    outcome.ruling.diagnosis,
                ));
            }
        }
    }
    assert!(seen.iter().all(|one| *one == seen[0]), "{seen:?}");
}

#[tokio::test]
async fn an_answer_of_marks_alone_has_no_number() {
    let cascade = cascade();
    for text in ["!?", "...", "—", "🏊‍♀️", "\u{301}", "| | |", "{}", "```\n```"] {
        let outcome = check(&cascade, text, &Row::of(QUESTION, CHUNK, text)).await;
        assert!(failure(groundedness(&outcome)).is_some(), "{text}");
    }
}

/// A judge that is given up on does not stay behind: the next one is served.
#[tokio::test]
async fn a_caller_that_leaves_blocks_nobody() {
    let cascade = Arc::clone(&cascade());
    let row = Row::of(QUESTION, &"ab1 ".repeat(100_000), CHUNK);
    for _ in 0..2 {
        let leaving = row.outcome(&cascade);
        assert!(
            tokio::time::timeout(std::time::Duration::from_millis(1), leaving)
                .await
                .is_err()
        );
    }
    assert!(passes(
        &Row::of(QUESTION, CHUNK, CHUNK).outcome(&cascade).await
    ));
}
