//! The same bits on every run and at any concurrency.

use std::sync::Arc;

use judge_cascade::domain::outcome::Outcome;
use tokio::task::JoinSet;

use super::padding::after_padding;
use super::{Row, cascade};

/// Everything that the judge said of the trace; numbers are told to the last bit.
fn said(outcome: &Outcome) -> String {
    let atomic = outcome.atomic.as_ref().unwrap();
    let bits: Vec<_> = atomic
        .answers
        .iter()
        .map(|(_, judgment)| {
            let judged = judgment.as_ref().and_then(|judgment| judgment.judged());
            judged.map(|judged| judged.probability.value().to_bits())
        })
        .collect();
    format!(
        "{bits:?} {:?} {:?} {:?}",
        atomic.answers, atomic.statements, outcome.ruling
    )
}

/// Rows that are judged at once, and some that are long enough for a thread of their own.
fn rows() -> Vec<Row> {
    let rows = Row::all("pairs.jsonl").into_iter().enumerate();
    rows.map(|(ordinal, row)| {
        if ordinal % 20 == 0 {
            after_padding(&row)
        } else {
            row
        }
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixty_four_tasks_say_the_same_as_one() {
    let first = cascade();
    let mut alone = Vec::new();
    for row in rows() {
        alone.push(said(&row.outcome(&first).await));
    }
    let rows = Arc::new(rows());
    // Two judges, so that nothing that one of them keeps decides.
    let judges = [first, cascade()];
    let count = rows.len();
    let mut tasks = JoinSet::new();
    for task in 0..64 {
        let (rows, judge) = (Arc::clone(&rows), Arc::clone(&judges[task % 2]));
        tasks.spawn(async move {
            let mut found = Vec::new();
            // Each task takes a part of the rows, so that every row is judged by several of them.
            for step in 0..8 {
                let at = (task * 5 + step * 19) % rows.len();
                found.push((at, said(&rows[at].outcome(&judge).await)));
            }
            found
        });
    }
    let mut seen = vec![0; count];
    for found in tasks.join_all().await {
        for (at, said) in found {
            assert_eq!(said, alone[at], "{}", rows[at].0.id);
            seen[at] += 1;
        }
    }
    assert!(
        count / 2 < seen.iter().filter(|&&times| 1 < times).count(),
        "{seen:?}"
    );
}
