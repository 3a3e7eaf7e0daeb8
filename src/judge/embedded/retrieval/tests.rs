use super::*;
use crate::domain::judgment::Judged;
use crate::domain::outcome::JudgeRole;
use crate::judge::embedded::Clamp;
use crate::judge::embedded::answer_type;
use crate::judge::embedded::index::Source;

/// The relevance of each chunk and the sufficiency of all.
fn judged(question: &str, chunks: &[&str], answer: &str) -> (Vec<Judged>, Judged) {
    let mut lexicon = Lexicon::new(true);
    let sources: Vec<_> = chunks
        .iter()
        .map(|text| Source {
            text,
            shows_english: true,
        })
        .collect();
    let index = Index::new(&sources, &[], &mut lexicon);
    let (words, answer) = (lexicon.content(question), lexicon.content(answer));
    let asked = Asked {
        words: &words,
        kind: answer_type::expected(question),
    };
    let coverage = Coverage::new(asked, &answer, &index, &lexicon);
    let judge_id = "embedded".into();
    let voice = Voice {
        judge_id: &judge_id,
        role: JudgeRole::Atomic,
        clamp: Clamp::default(),
    };
    let each = (0..chunks.len()).map(|chunk| coverage.chunk_relevance(chunk, false, &voice));
    let each = each.map(|judgment| judgment.judged().unwrap().clone());
    (
        each.collect(),
        coverage.sufficiency(&voice).judged().unwrap().clone(),
    )
}

fn relevance(question: &str, chunk: &str, answer: &str) -> f64 {
    judged(question, &[chunk], answer).0[0].probability.value()
}

fn sufficiency(question: &str, chunks: &[&str]) -> f64 {
    judged(question, chunks, "").1.probability.value()
}

#[test]
fn a_chunk_with_the_kind_of_word_that_is_asked_for_is_more_relevant() {
    let question = "When was the ferry from Kest built?";
    let dated = relevance(question, "The ferry from Kest was built in 1954.", "");
    let undated = relevance(question, "The ferry from Kest was built of oak.", "");
    assert!((dated - 0.75).abs() < 1e-9, "{dated}");
    assert!((undated - 0.625).abs() < 1e-9, "{undated}");
    let apart = "The ferry from Kest was built of oak. Another opened in 1954.";
    assert!((relevance(question, apart, "") - 0.625).abs() < 1e-9);
    let other = "What is the ferry from Kest built of?";
    assert!((relevance(other, "The ferry from Kest was built of oak.", "") - 0.75).abs() < 1e-9);
}

#[test]
fn a_word_of_the_question_does_not_answer_it() {
    let question = "Who built the ferry in Kest in 1954?";
    let asked_only = "In 1954 the ferry was built in Kest.";
    let answered = "In 1954 the ferry was built in Kest by Orn Vale.";
    assert!((relevance(question, asked_only, "") - 0.625).abs() < 1e-9);
    assert!((relevance(question, answered, "") - 0.75).abs() < 1e-9);
}

#[test]
fn the_words_of_the_answer_lift_the_chunk_that_holds_them() {
    let question = "What drives the ferry of Kest?";
    let chunks = [
        "The ferry runs daily.",
        "A diesel engine of two cylinders moves the ferry.",
    ];
    let (without, _) = judged(question, &chunks, "");
    let (with, _) = judged(question, &chunks, "A diesel engine of two cylinders.");
    assert_eq!(without[0].probability, without[1].probability);
    assert_eq!(with[0].probability, without[0].probability);
    assert!(without[1].probability < with[1].probability);
    let (repeated, _) = judged(question, &chunks, "The ferry of Kest drives.");
    assert_eq!(repeated[1].probability, without[1].probability);
}

#[test]
fn a_chunk_off_the_question_that_holds_half_of_the_answer_is_not_called_irrelevant() {
    let question = "How long do I have to send something back?";
    let answer = "You may return the kettle within 30 days of delivery.";
    let of = |chunk: &str| {
        let (each, _) = judged(question, &[chunk], answer);
        (each[0].basis, each[0].probability.value())
    };
    let (basis, p) = of("Returns: 30 days from delivery.");
    assert_eq!(basis, JudgmentBasis::Heuristic);
    assert!(0.25 < p);
    let (basis, p) = of("Delivery is free.");
    assert_eq!(basis, JudgmentBasis::Measured);
    assert!((p - NOTHING_SHARED).abs() < 1e-9);
    let (each, _) = judged(question, &["Delivery is free."], "");
    assert_eq!(each[0].basis, JudgmentBasis::Measured);
}

#[test]
fn other_chunks_move_the_relevance_of_a_chunk_by_nothing() {
    let question = "How many seats has the ferry?";
    let chunk = "The ferry has 48 seats.";
    let padding = "Glaciers store most of the water that is not salt. ".repeat(1_000);
    let (alone, enough) = judged(question, &[chunk], "48");
    let (padded, still) = judged(question, &[&padding, chunk, &padding], "48");
    assert_eq!(alone[0].probability, padded[1].probability);
    assert_eq!(enough.probability, still.probability);
    assert!(padded[0].probability.value() <= 0.02);
}

#[test]
fn sufficiency_is_of_the_set_and_of_what_stands_together() {
    let question = "What do the ferry and the tram cost?";
    let together = ["The ferry and the tram cost six crowns."];
    let in_two = ["The ferry is cheap.", "The tram may cost six crowns."];
    let half = ["The ferry is cheap.", "The ferry is blue."];
    let none = ["Glaciers store water.", "Ice is cold."];
    let shares = [
        sufficiency(question, &together),
        sufficiency(question, &in_two),
        sufficiency(question, &half),
        sufficiency(question, &none),
    ];
    assert!(shares.is_sorted_by(|one, other| one > other), "{shares:?}");
    assert!((shares[0] - 0.75).abs() < 1e-9 && (shares[3] - 0.25).abs() < 1e-9);
}

#[test]
fn sufficiency_does_not_depend_on_the_order_of_chunks() {
    let question = "When does the ferry of Kest leave on Sundays?";
    let chunks = [
        "The ferry leaves early.",
        "Kest is a port. On Sundays it sleeps.",
        "Trams are blue.",
    ];
    let turned = [chunks[2], chunks[1], chunks[0]];
    assert_eq!(
        judged(question, &chunks, "").1.probability,
        judged(question, &turned, "").1.probability
    );
}

#[test]
fn evidence_names_the_best_sentences_and_the_missing_words() {
    let question = "When does the ferry of Kest sink?";
    let chunks = [
        "Trams are blue.",
        "Trams go. The ferry leaves. Kest is a port.",
    ];
    let (each, whole) = judged(question, &chunks, "");
    let shown = each[1].evidence.as_ref().unwrap();
    assert_eq!((shown.chunk, shown.span.clone()), (Some(1), 10..27));
    assert_eq!(shown.missing_terms, ["sink"]);
    let shown = whole.evidence.as_ref().unwrap();
    assert_eq!((shown.chunk, shown.span.clone()), (Some(1), 10..43));
    assert_eq!(shown.missing_terms, ["sink"]);
}

#[test]
fn a_window_ends_with_its_chunk() {
    let (_, whole) = judged(
        "ferry tram?",
        &["The ferry leaves.", "The tram leaves."],
        "",
    );
    let shown = whole.evidence.unwrap();
    assert_eq!((shown.chunk, shown.span), (Some(0), 0..17));
    assert!(shown.missing_terms.is_empty());
}

#[test]
fn a_question_without_content_words_tells_nothing() {
    let (each, whole) = judged("What is it?", &["The ferry leaves."], "The ferry");
    assert!((each[0].probability.value() - 0.5).abs() < 1e-9);
    assert!((whole.probability.value() - 0.5).abs() < 1e-9);
    let (each, whole) = judged("Which ferry?", &[], "");
    assert!(each.is_empty());
    assert!((whole.probability.value() - 0.25).abs() < 1e-9);
}
