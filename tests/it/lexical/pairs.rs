//! The rows of `fixtures/judged`: what differs by little from the truth does not pass.

use std::collections::BTreeMap;

use judge_cascade::domain::diagnosis::Diagnosis;

use super::{Row, cascade, judged, passes};

/// From here on groundedness passes, if no guard fires.
const PASS_AT: f64 = 0.9;

#[test]
fn the_rows_are_many_and_of_every_kind() {
    let (pairs, unanswerable) = (Row::all("pairs.jsonl"), Row::all("unanswerable.jsonl"));
    assert!(100 <= pairs.len() && 30 <= unanswerable.len());
    let mut kinds = BTreeMap::new();
    for row in &pairs {
        *kinds.entry(row.0.tags[0].as_str()).or_insert(0) += 1;
        let expected = row.0.expected.as_ref().unwrap();
        let is_pass = expected.diagnosis == Some(Diagnosis::Pass);
        assert_eq!(is_pass, row.is_grounded(), "{}", row.0.id);
    }
    for (kind, least) in [
        ("swapped_roles", 20),
        ("negation", 10),
        ("antonym", 10),
        ("changed_number", 10),
        ("relation_absent", 8),
        ("paraphrase", 20),
        ("quotation", 5),
    ] {
        assert!(least <= kinds[kind], "{kind}: {kinds:?}");
    }
    let grounded = pairs.iter().filter(|row| row.is_grounded()).count();
    assert!(40 <= grounded && 40 <= pairs.len() - grounded);
    assert!(!unanswerable.iter().any(Row::is_grounded));
}

#[track_caller]
fn none<T: std::fmt::Debug>(found: &[T]) {
    assert!(found.is_empty(), "{} rows: {found:#?}", found.len());
}

/// The ids and answers of rows that pass.
async fn passing(rows: impl IntoIterator<Item = Row>) -> Vec<(String, String)> {
    let cascade = cascade();
    let mut found = Vec::new();
    for row in rows {
        let outcome = row.outcome(&cascade).await;
        assert!(outcome.calls.iter().all(|call| call.failure.is_none()));
        if passes(&outcome) {
            found.push((row.0.id, row.0.answer));
        }
    }
    found
}

#[tokio::test]
async fn a_fluent_answer_that_the_context_does_not_hold_never_passes() {
    none(&passing(Row::all("unanswerable.jsonl")).await);
}

#[tokio::test]
async fn an_answer_that_is_not_supported_never_passes() {
    let rows = Row::all("pairs.jsonl").into_iter();
    let unsupported = rows.filter(|row| !row.is_grounded());
    none(&passing(unsupported).await);
}

/// R10: words that all occur do not make a relation between them.
#[tokio::test]
async fn r10_names_that_occur_without_their_relation_never_pass() {
    let mut rows = Row::all("pairs.jsonl");
    rows.retain(|row| row.has("relation_absent"));
    assert!(8 <= rows.len());
    none(&passing(rows).await);
}

/// Where the number alone would pass, a guard forbids it; the policy is not what saves these.
#[tokio::test]
async fn swapped_roles_changed_numbers_and_negations_never_pass_unguarded() {
    let kinds = [
        "swapped_roles",
        "swapped_numbers",
        "changed_number",
        "changed_date",
        "changed_unit",
        "negation",
        "antonym",
    ];
    let cascade = cascade();
    let (mut unguarded, mut count) = (Vec::new(), 0);
    for row in Row::all("pairs.jsonl") {
        if row.is_grounded() || !kinds.iter().any(|kind| row.has(kind)) {
            continue;
        }
        let outcome = row.outcome(&cascade).await;
        let Some(judged) = judged(&outcome) else {
            continue;
        };
        count += 1;
        if PASS_AT <= judged.probability.value() && !judged.vetoes_pass {
            unguarded.push((row.0.id, row.0.answer));
        }
    }
    assert!(60 <= count);
    none(&unguarded);
}

/// How many of a hundred unsupported rows of a kind a guard fires on at least, whatever the number says.
#[tokio::test]
async fn guards_see_what_words_alone_do_not() {
    let cascade = cascade();
    let mut counts = BTreeMap::from([
        ("changed_number", (0, 0)),
        ("negation", (0, 0)),
        ("swapped_roles", (0, 0)),
        ("antonym", (0, 0)),
    ]);
    for row in Row::all("pairs.jsonl") {
        let Some(count) = counts.get_mut(row.0.tags[0].as_str()) else {
            continue;
        };
        let outcome = row.outcome(&cascade).await;
        if let Some(judged) = judged(&outcome) {
            count.0 += usize::from(judged.vetoes_pass);
            count.1 += 1;
        }
    }
    for (kind, least) in [
        ("changed_number", 90),
        ("negation", 80),
        ("swapped_roles", 50),
        ("antonym", 50),
    ] {
        let (fired, all) = counts[kind];
        assert!(least * all <= 100 * fired, "{kind}: {fired} of {all}");
    }
}

/// A judge that lets nothing pass would hold all of the above.
#[tokio::test]
async fn what_is_quoted_word_by_word_passes() {
    let mut rows = Row::all("pairs.jsonl");
    rows.retain(|row| row.has("quotation"));
    let count = rows.len();
    assert_eq!(passing(rows).await.len(), count);
}

#[tokio::test]
async fn what_is_supported_is_never_called_ungrounded() {
    let cascade = cascade();
    let mut blamed = Vec::new();
    for row in Row::all("pairs.jsonl") {
        let outcome = row.outcome(&cascade).await;
        if row.is_grounded() && outcome.ruling.diagnosis == Diagnosis::GeneratorUngrounded {
            blamed.push((row.0.id, row.0.answer));
        }
    }
    none(&blamed);
}

/// The answer stands in the context, in other words than the question.
#[tokio::test]
async fn what_is_supported_is_never_called_a_miss_of_the_retriever() {
    let cascade = cascade();
    let (mut missed, mut count) = (Vec::new(), 0);
    for row in Row::all("pairs.jsonl") {
        if !row.is_grounded() && !["pair-010", "pair-044"].contains(&row.0.id.as_str()) {
            continue;
        }
        count += 1;
        let outcome = row.outcome(&cascade).await;
        if outcome.ruling.diagnosis == Diagnosis::RetrievalMiss {
            missed.push((row.0.id, row.0.answer));
        }
    }
    assert!(40 < count);
    none(&missed);
}

/// What the context calls wrong or outdated, or says of something else, does not pass for being quoted.
#[tokio::test]
async fn a_quotation_out_of_its_context_never_passes() {
    let mut rows = Row::all("pairs.jsonl");
    rows.retain(|row| row.has("quoted_out_of_context"));
    assert_eq!(rows.len(), 6);
    none(&passing(rows).await);
}
