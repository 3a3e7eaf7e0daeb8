//! R22 and R23: a long answer is read to its end, and one bad sentence in it is found wherever it stands.

use judge_cascade::domain::diagnosis::Diagnosis;
use judge_cascade::domain::judgment::{Guard, SeenFraction};
use judge_cascade::domain::outcome::Outcome;

use super::{Row, cascade, judged, passes};

const TOWNS: [&str; 20] = [
    "Harl", "Skerry", "Brune", "Tolm", "Lissen", "Corvell", "Tarrin", "Pellham", "Welm", "Orsk",
    "Vastra", "Merrow", "Norrin", "Calder", "Hollin", "Stavely", "Lumo", "Ordin", "Alder",
    "Kestrel",
];
const THINGS: [&str; 20] = [
    "bridge", "library", "harbour", "market", "school", "theatre", "garden", "station", "clinic",
    "museum", "mill", "quarry", "tower", "square", "ferry", "bakery", "chapel", "canal", "stadium",
    "archive",
];
const PLANTED: &str = "Swimmers juggle purple walruses overnight.";
/// Sentences of ten words.
const SENTENCES: usize = 400;

/// Sentences of a long answer, no two alike, all of which the context holds.
fn sentences() -> Vec<String> {
    let one = |ordinal: usize| {
        let (town, thing) = (TOWNS[ordinal % 20], THINGS[ordinal / 20]);
        let visitors = 1000 + 37 * ordinal;
        format!("The {thing} of {town} counted {visitors} visitors in the summer.")
    };
    (0..SENTENCES).map(one).collect()
}

fn row(answer: &[String]) -> Row {
    let question = "How many visitors did each place of each town count in the summer?";
    Row::of(question, &sentences().join(" "), &answer.join(" "))
}

/// The statement that the whole answer is judged by, and the diagnosis.
fn worst(outcome: &Outcome) -> (String, f64) {
    let statements = &outcome.atomic.as_ref().unwrap().statements;
    let judged = statements.iter().filter_map(|statement| {
        let p = statement.groundedness.judged()?.probability.value();
        Some((statement.text.clone(), p))
    });
    judged
        .min_by(|one, other| one.1.total_cmp(&other.1))
        .unwrap()
}

#[tokio::test]
async fn a_long_answer_that_holds_passes() {
    let answer = sentences();
    let words: usize = answer.iter().map(|text| text.split(' ').count()).sum();
    assert!(4000 <= words);
    let outcome = row(&answer).outcome(&cascade()).await;
    assert!(passes(&outcome), "{:?}", outcome.ruling);
}

/// R23: at the beginning, in the middle and at the end of 4,000 words.
#[tokio::test]
async fn r23_one_bad_sentence_of_a_long_answer_is_found() {
    let cascade = cascade();
    for place in [0, SENTENCES / 2, SENTENCES - 1, SENTENCES] {
        let mut answer = sentences();
        answer.insert(place, PLANTED.to_owned());
        let outcome = row(&answer).outcome(&cascade).await;
        assert_eq!(
            outcome.ruling.diagnosis,
            Diagnosis::GeneratorUngrounded,
            "at {place}"
        );
        let (text, p) = worst(&outcome);
        assert_eq!(text, PLANTED);
        let whole = judged(&outcome).unwrap().probability.value();
        assert_eq!(whole.to_bits(), p.to_bits());
    }
}

/// R23: a bad sentence that differs from a good one by its number alone.
#[tokio::test]
async fn r23_one_wrong_number_in_a_long_answer_is_found() {
    let cascade = cascade();
    for place in [0, SENTENCES / 2, SENTENCES - 1] {
        let mut answer = sentences();
        answer[place] = answer[place].replace(" visitors", "7 visitors");
        let outcome = row(&answer).outcome(&cascade).await;
        assert!(!passes(&outcome), "at {place}");
        assert_eq!(worst(&outcome).0, answer[place]);
        let evidence = judged(&outcome).unwrap().evidence.as_ref().unwrap();
        assert!(
            evidence.guards.contains(&Guard::MissingNumber),
            "at {place}"
        );
    }
}

/// R22: no statement is missing, none is cut, and what the judge says it saw is everything.
#[tokio::test]
async fn r22_no_text_of_an_answer_is_left_out() {
    let answer = sentences();
    let row = row(&answer);
    let outcome = row.outcome(&cascade()).await;
    let atomic = outcome.atomic.as_ref().unwrap();
    let texts: Vec<_> = atomic
        .statements
        .iter()
        .map(|statement| statement.text.clone())
        .collect();
    assert_eq!(texts, answer);
    let characters: Vec<char> = row.0.answer.chars().collect();
    for statement in &atomic.statements {
        let span = statement.span.clone().unwrap();
        assert_eq!(characters[span].iter().collect::<String>(), statement.text);
    }
    let last = atomic.statements.last().unwrap();
    assert_eq!(last.span.as_ref().unwrap().end, characters.len());
    for (_, judgment) in atomic.answers.iter() {
        if let Some(judged) = judgment.as_ref().and_then(|judgment| judgment.judged()) {
            assert_eq!(judged.seen_fraction, SeenFraction::ALL);
        }
    }
}

/// R22: the last word of one sentence without an end counts as much as the first.
#[tokio::test]
async fn r22_the_end_of_one_endless_sentence_counts() {
    let chunk = sentences().join(" ");
    let endless = chunk.replace(". The", " and the");
    let question = "How many visitors did each place of each town count in the summer?";
    let cascade = cascade();
    let plain = Row::of(question, &endless, &endless)
        .outcome(&cascade)
        .await;
    assert!(passes(&plain), "{:?}", plain.ruling);
    let wrong = endless.replace("15763 visitors", "15764 visitors");
    assert_ne!(endless, wrong);
    let outcome = Row::of(question, &endless, &wrong).outcome(&cascade).await;
    assert!(!passes(&outcome));
}
