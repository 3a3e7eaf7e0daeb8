//! Answers that contradict themselves, that something stopped, or that lack their evidence: none of them is read.

use judge_cascade::domain::dimension::Dimension;
use judge_cascade::domain::failure::FailureReason;
use judge_cascade::domain::judgment::Judgment;
use judge_cascade::domain::question::Question;
use serde_json::{Value, json};

use super::{ask, in_memory, trace, written};
use crate::support::fake_chat::{FakeChat, edited, said};

/// What becomes of a chat completion, and of how many requests.
async fn outcome(completion: (u16, Value)) -> (Result<(), FailureReason>, usize) {
    let fake = FakeChat::in_turn(vec![completion]);
    let result = ask(&in_memory(std::sync::Arc::clone(&fake) as _), &trace()).await;
    let result = result.map(|_| ()).map_err(|error| error.reason);
    (result, fake.arrived().len())
}

#[tokio::test]
async fn an_answer_that_something_stopped_is_not_read() {
    let whole = || said(&written().to_string());
    assert_eq!(outcome(whole()).await, (Ok(()), 1));
    let choice = "/choices/0";
    let filtered = json!({ "hate": { "filtered": true }, "violence": { "filtered": false } });
    let declined = json!([{ "type": "refusal", "refusal": "no" }]);
    for (pointer, value, reason) in [
        ("finish_reason", json!("error"), FailureReason::Protocol),
        ("finish_reason", json!("abort"), FailureReason::Protocol),
        ("finish_reason", json!(7), FailureReason::Protocol),
        (
            "error",
            json!({ "message": "boom" }),
            FailureReason::Protocol,
        ),
        ("finish_reason", json!("SAFETY"), FailureReason::Refused),
        ("content_filter_results", filtered, FailureReason::Refused),
        ("message/content", declined, FailureReason::Refused),
        (
            "finish_reason",
            json!("MAX_TOKENS"),
            FailureReason::OutputTruncated,
        ),
        (
            "finish_reason",
            json!("model_length"),
            FailureReason::OutputTruncated,
        ),
    ] {
        let place = format!("{choice}/{pointer}");
        let stopped = edited(whole(), &[(&place, value.clone())]);
        assert_eq!(
            outcome(stopped).await,
            (Err(reason), 1),
            "{pointer} {value}"
        );
    }
    let failed = edited(whole(), &[("/error", json!({ "message": "boom" }))]);
    assert_eq!(outcome(failed).await.0, Err(FailureReason::Protocol));
    for status in [202, 206] {
        let partial = (status, whole().1);
        assert_eq!(
            outcome(partial).await.0,
            Err(FailureReason::Protocol),
            "{status}"
        );
    }
}

/// One repair is asked for, and the same again is a protocol failure.
#[tokio::test]
async fn r17_words_that_contradict_themselves_are_no_answer() {
    let whole = written().to_string();
    for text in [
        format!("{{\"verdicts\": {whole}, \"final\": {{\"groundedness\":\"fal"),
        format!("{whole}\nOn reflection:\n{{\"groundedness\": \"fal"),
        format!("{whole} {whole}"),
        format!("If all were fine I would have written {whole} but it is not."),
        format!("[THINK]{whole}[/THINK] I cannot judge this."),
        format!("<|channel|>analysis<|message|>{whole}<|end|>"),
    ] {
        let result = outcome(said(&text)).await;
        assert_eq!(result, (Err(FailureReason::Protocol), 2), "{text}");
    }
}

/// What is far longer than the judge was allowed to write is not sent back to it.
#[tokio::test]
async fn an_endless_answer_is_not_repaired() {
    let endless = said(&"never mind the form ".repeat(5_000));
    assert_eq!(outcome(endless).await, (Err(FailureReason::Protocol), 1));
}

#[tokio::test]
async fn groundedness_is_true_only_with_its_evidence() {
    let about = Question::about(Dimension::Groundedness);
    for (label, sentences, is_read) in [
        ("true", Some(json!([])), true),
        ("true", None, false),
        ("false", None, true),
        ("false", Some(json!(["e"])), false),
        ("false", Some(json!(["A ticket costs 6 euros."])), true),
    ] {
        let mut said_so = written();
        said_so["groundedness"] = json!(label);
        let object = said_so.as_object_mut().unwrap();
        match sentences.clone() {
            Some(sentences) => object.insert("unsupported_sentences".to_owned(), sentences),
            None => object.remove("unsupported_sentences"),
        };
        let fake = FakeChat::in_turn(vec![said(&said_so.to_string())]);
        let answer = ask(&in_memory(fake), &trace()).await.unwrap();
        let judgment = answer.answers[about].as_ref().unwrap();
        assert_eq!(
            judgment.judged().is_some(),
            is_read,
            "{label} {sentences:?}"
        );
        if let Judgment::Failed(failure) = judgment {
            assert_eq!(failure.reason, FailureReason::Protocol);
        }
    }
}
