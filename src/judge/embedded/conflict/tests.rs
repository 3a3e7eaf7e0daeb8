use super::*;
use crate::domain::judgment::Judged;
use crate::domain::outcome::JudgeRole;
use crate::judge::embedded::Clamp;
use crate::judge::embedded::answer_type;
use crate::judge::embedded::index::Source;

fn judged(question: &str, chunks: &[&str]) -> Judged {
    let mut lexicon = Lexicon::new(true);
    let sources: Vec<_> = chunks
        .iter()
        .map(|text| Source {
            text,
            shows_english: true,
        })
        .collect();
    let index = Index::new(&sources, &[], &mut lexicon);
    let words = lexicon.content(question);
    let asked = Asked {
        words: &words,
        kind: answer_type::expected(question),
    };
    let coverage = Coverage::new(asked, &[], &index, &lexicon);
    let judge_id = "embedded".into();
    let voice = Voice {
        judge_id: &judge_id,
        role: JudgeRole::Atomic,
        clamp: Clamp::default(),
    };
    let judgment = conflict(&coverage, &index, &lexicon, &voice);
    judgment.judged().unwrap().clone()
}

fn p(question: &str, chunks: &[&str]) -> f64 {
    judged(question, chunks).probability.value()
}

const OPEN: &str = "What is said of the Tarn pool?";

#[test]
fn near_equal_sentences_that_differ_are_a_sign() {
    #[track_caller]
    fn check(one: &str, other: &str, expected: f64) {
        let found = p(OPEN, &[one, other]);
        assert!((found - expected).abs() < 1e-9, "{found}: {one} {other}");
        assert!((p(OPEN, &[other, one]) - expected).abs() < 1e-9);
    }
    let said = "The Tarn pool opens at 8 for visitors on Sundays.";
    check(
        said,
        "The Tarn pool opens at 9 for visitors on Sundays.",
        0.7,
    );
    check(
        said,
        "The Tarn pool never opens at 8 for visitors on Sundays.",
        0.7,
    );
    // Four words of six are in both.
    check(
        "The pool of Tarn opens for visitors on Sundays.",
        "The pool of Kest opens for visitors on Sundays.",
        0.25 + 0.5 * 0.9 * 4.0 / 6.0,
    );
    check(said, said, 0.25);
    check(
        said,
        "The Tarn pool opens at eight for visitors on Sundays.",
        0.25,
    );
    check(said, "The Tarn pool opens for visitors on Sundays.", 0.25);
    check(said, "A ticket costs 9 crowns.", 0.25);
}

#[test]
fn sentences_of_one_chunk_do_not_disagree() {
    let both = "The Tarn pool opens at 8 for visitors. The Tarn pool opens at 9 for visitors.";
    assert!((p(OPEN, &[both, "Glaciers store water."]) - 0.25).abs() < 1e-9);
}

#[test]
fn different_answers_of_the_kind_that_is_asked_for_are_a_weaker_sign() {
    let question = "When was the pool built?";
    let one = "The pool was built in 1954.";
    let other = "They say workers built that old pool beside a mill around 1961.";
    assert!((p(question, &[one, other]) - 0.5).abs() < 1e-9);
    let same = "They say workers built that old pool beside a mill around 1954.";
    assert!((p(question, &[one, same]) - 0.25).abs() < 1e-9);
    let half = "They say a mill was built around 1961.";
    assert!((p(question, &[one, half]) - 0.375).abs() < 1e-9);
    assert!((p("Is the pool built?", &[one, other]) - 0.25).abs() < 1e-9);
}

#[test]
fn the_sentence_that_differs_is_shown() {
    let chunks = [
        "The Tarn pool opens at 8 for visitors.",
        "Water is cold. The Tarn pool opens at 9 for visitors.",
    ];
    let shown = judged(OPEN, &chunks).evidence.unwrap();
    assert_eq!((shown.chunk, shown.span), (Some(1), 15..53));
    assert!(judged(OPEN, &chunks[..1]).evidence.is_none());
}

#[test]
fn unrelated_chunks_move_nothing() {
    let question = "When was the Tarn pool built?";
    let pair = [
        "The Tarn pool was built in 1954 by the town.",
        "The Tarn pool was built in 1961 by the town.",
    ];
    let padding = "Glaciers store most of the water that is not salt. ".repeat(500);
    let padded = [padding.as_str(), pair[0], padding.as_str(), pair[1]];
    assert_eq!(
        judged(question, &pair).probability,
        judged(question, &padded).probability
    );
    let padded = [padding.as_str(), pair[0], padding.as_str()];
    assert!((p(question, &padded) - 0.25).abs() < 1e-9);
}

#[test]
fn no_chunks_disagree_about_nothing() {
    assert!((p("", &[]) - 0.25).abs() < 1e-9);
    assert!((p("When?", &["", "1954"]) - 0.25).abs() < 1e-9);
}
