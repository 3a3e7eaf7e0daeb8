//! What a judge may not have is sent over no wire, and where nothing is left to ask nothing is sent.

use std::sync::Arc;

use judge_cascade::domain::failure::FailureReason;
use judge_cascade::domain::judgment::Judgment;
use judge_cascade::domain::outcome::DecisionVariant;
use judge_cascade::domain::question::QuestionSet;
use judge_cascade::judge::Ask;
use judge_cascade::judge::composite::Composite;
use judge_cascade::judge::decision::Decision;
use judge_cascade::judge::remote::Wire;
use judge_cascade::judge::view::{Field, Redactor};

use super::{WIRES, ask, context, draft, metrics, played_with, trace, trace_of};
use crate::support::fake_judge::{Said, Script};

const CHAT: Wire = Wire::Chat {
    max_output_tokens: 64,
};
const ANTHROPIC: Wire = Wire::Anthropic {
    max_output_tokens: 64,
};

fn all_wires() -> impl Iterator<Item = Wire> {
    WIRES.into_iter().chain([CHAT, ANTHROPIC])
}

fn failing() -> Script {
    Script::new(|_| Said::new(500, "{}"))
}

#[tokio::test]
async fn where_nothing_can_be_asked_nothing_is_sent_and_every_question_says_why() {
    for wire in all_wires() {
        let (script, metrics) = (failing(), metrics());
        let judge = played_with(wire, &script, &metrics, |options| {
            options.view.send_fields = vec![Field::ReferenceAnswer];
        });
        let trace = trace(2);
        let answer = ask(judge.as_ref(), &trace).await.unwrap();
        let composite = Composite::of(Arc::clone(&judge), metrics);
        let questions = QuestionSet::from_fn(2, |_| true);
        let ask = Ask {
            trace: &trace,
            questions: &questions,
            decision: Decision::of(DecisionVariant::WithReference),
            history_is_evidence: false,
        };
        let recorded = composite.judge(&ask, &context()).await;
        for answer in [answer, recorded] {
            for (question, judgment) in answer.answers.iter() {
                let Some(Judgment::Failed(failure)) = judgment else {
                    panic!("{wire:?} {question:?}");
                };
                assert_eq!(failure.reason, FailureReason::Undecidable, "{wire:?}");
            }
            assert_eq!(answer.calls.len(), 1, "{wire:?}");
            let call = &answer.calls[0];
            assert!(call.is_unsent(), "{wire:?}");
            assert_eq!(call.failure, Some(FailureReason::Undecidable), "{wire:?}");
        }
        assert!(script.seen().is_empty(), "{wire:?}");
    }
}

#[tokio::test]
async fn what_is_redacted_stands_in_no_request() {
    const SECRET: &str = "ada@mill.example";
    let mut draft = draft(2);
    let texts = [
        &mut draft.question,
        &mut draft.answer,
        draft.reference_answer.as_mut().unwrap(),
        draft.standalone_question.as_mut().unwrap(),
        &mut draft.history[0].text,
        &mut draft.chunks[1].text,
    ];
    for text in texts {
        text.push_str(&format!(" Write to {SECRET}."));
    }
    draft.statements = vec![format!("One writes to {SECRET}.")];
    let trace = trace_of(draft);
    for wire in all_wires() {
        let script = failing();
        let judge = played_with(wire, &script, &metrics(), |options| {
            options.view.redact = Redactor::new(&["email".to_owned()]).unwrap();
        });
        // Whether there is an answer does not matter here.
        let sent = ask(judge.as_ref(), &trace).await;
        assert!(sent.is_err() || 1 < script.seen().len(), "{wire:?}");
        assert!(!script.seen().is_empty(), "{wire:?}");
        let redacted = script.seen().into_iter().inspect(|seen| {
            assert!(!seen.text.contains("ada@"), "{wire:?}: {}", seen.text);
        });
        let count = redacted
            .filter(|seen| seen.text.contains("EMAIL_1]"))
            .count();
        assert!(0 < count, "{wire:?}");
    }
}
