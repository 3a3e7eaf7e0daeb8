//! Many calls at once through one judge: nothing is asked twice and nothing is mixed up.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use judge_cascade::domain::trace::Trace;
use judge_cascade::judge::remote::{Layout, Wire};

use super::{WIRES, ask, draft, metrics, played, speech, trace_of};
use crate::support::fake_judge::{Script, Seen};

/// A trace that is told by a number in each of its texts.
fn numbered(number: usize) -> Arc<Trace> {
    let mut draft = draft(2);
    let tag = format!("case-{number}-");
    for text in [&mut draft.question, &mut draft.answer] {
        text.push_str(&tag);
    }
    for text in draft.chunks.iter_mut().map(|chunk| &mut chunk.text) {
        text.push_str(&tag);
    }
    trace_of(draft)
}

fn number_in(seen: &Seen) -> usize {
    let rest = seen.text.split("case-").nth(1).unwrap();
    rest.split('-').next().unwrap().parse().unwrap()
}

/// The probability that the fake gives for everything about a trace.
fn probability_of(number: usize) -> f64 {
    (number % 89 + 5) as f64 / 100.0
}

fn numbering(wire: Wire) -> Script {
    Script::new(move |seen| speech::answer(wire, seen, |_| probability_of(number_in(seen))))
}

async fn ask_all(wire: Wire, count: usize) -> Script {
    let script = numbering(wire);
    let judge = played(wire, &script, &metrics());
    let traces: Vec<_> = (0..count).map(numbered).collect();
    let answers = join_all(traces.iter().map(|trace| ask(judge.as_ref(), trace))).await;
    for (number, answer) in answers.into_iter().enumerate() {
        let answer = answer.unwrap();
        for (question, judgment) in answer.answers.iter() {
            let judged = judgment.as_ref().unwrap().judged();
            let found = judged.unwrap_or_else(|| panic!("{number} {question:?}"));
            let distance = (found.probability.value() - probability_of(number)).abs();
            assert!(distance < 1e-9, "{wire:?} {number}");
        }
    }
    script
}

/// R34: all questions in one request, once for each of 1,000 traces at the same time.
#[tokio::test]
async fn r34_a_thousand_calls_at_once_are_a_thousand_requests() {
    for wire in [Wire::SystemOne, Wire::OpenAiDecisions, super::PACKED] {
        let script = ask_all(wire, 1000).await;
        let mut asked: BTreeMap<usize, usize> = BTreeMap::new();
        for seen in script.seen() {
            *asked.entry(number_in(&seen)).or_default() += 1;
        }
        assert_eq!(asked.len(), 1000, "{wire:?}");
        assert!(asked.values().all(|&times| times == 1), "{wire:?}");
    }
}

/// R34: where each question is a request, they run side by side and each is sent once.
#[tokio::test]
async fn r34_every_question_of_its_own_is_sent_once() {
    let script = ask_all(super::PER_QUESTION, 125).await;
    let mut asked: BTreeMap<(usize, String), usize> = BTreeMap::new();
    for seen in script.seen() {
        let slots = speech::slots(&seen);
        assert_eq!(slots.len(), 1);
        *asked
            .entry((number_in(&seen), slots[0].clone()))
            .or_default() += 1;
    }
    // Eight questions a trace; the two about its chunks read alike.
    assert_eq!(asked.len(), 125 * 7);
    for ((number, slot), times) in asked {
        let expected = if slot == "chunk_0" { 2 } else { 1 };
        assert_eq!(times, expected, "{number} {slot}");
    }
}

/// R36: one shared judge keeps nothing of a call: what it says does not depend on what else it is asked.
#[tokio::test]
async fn r36_a_shared_judge_says_the_same_alone_and_in_a_crowd() {
    for wire in WIRES {
        let script = numbering(wire);
        let judge = played(wire, &script, &metrics());
        let traces: Vec<_> = (0..16).map(numbered).collect();
        let mut alone = Vec::new();
        for trace in &traces {
            alone.push(ask(judge.as_ref(), trace).await.unwrap().answers);
        }
        let crowd = (0..8).flat_map(|_| &traces);
        let together = join_all(crowd.map(|trace| ask(judge.as_ref(), trace))).await;
        for (place, answer) in together.into_iter().enumerate() {
            assert_eq!(
                answer.unwrap().answers,
                alone[place % traces.len()],
                "{wire:?}"
            );
        }
        let requests_per_trace = match wire {
            Wire::OpenAiLogprobs {
                layout: Layout::PerQuestion,
                ..
            } => 8,
            _ => 1,
        };
        assert_eq!(script.seen().len(), 9 * 16 * requests_per_trace, "{wire:?}");
    }
}
