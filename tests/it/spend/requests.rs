//! An ask that is several requests: each of them counts against the caps, and none passes them.

use judge_cascade::domain::trace::Trace;
use judge_cascade::judge::remote::{RemoteOptions, Wire};

use super::*;
use crate::support::fake_chat::{FakeChat, said};
use crate::support::fake_judge::Script;
use crate::{chat, wire};

fn calls_per_minute(count: u64) -> SpendOptions {
    SpendOptions {
        calls_per_minute: Some(count),
        ..SpendOptions::default()
    }
}

fn within(
    judge: Arc<dyn Judge>,
    options: &RemoteOptions,
    caps: SpendOptions,
    metrics: &Arc<Metrics>,
) -> Result<Capped, SpendError> {
    Capped::remote(judge, options, caps, None, ledger(1), Arc::clone(metrics))
}

/// Asks so often and says how often the cap allowed it.
async fn asks(judge: &Capped, trace: &Arc<Trace>, count: usize) -> usize {
    let context = wire::context();
    let mut allowed = 0;
    for _ in 0..count {
        let result = ask(judge, trace, &context).await;
        allowed += usize::from(result.err().map(|e| e.reason) != Some(FailureReason::Budget));
    }
    allowed
}

/// R44: with a request for each question, the calls of an ask are its questions.
#[tokio::test]
async fn r44_one_request_for_each_question_is_as_many_calls() {
    let metrics = wire::metrics();
    let options = wire::options(wire::PER_QUESTION, "http://127.0.0.1:9".parse().unwrap());
    // Six questions about the whole trace and one about its chunk.
    for (cap, asked, sent) in [(6, 0, 0), (10, 1, 7), (14, 2, 14), (20, 2, 14)] {
        let script = Script::new(|seen| wire::speech::answer(wire::PER_QUESTION, seen, |_| 0.75));
        let judge = wire::played(wire::PER_QUESTION, &script, &metrics);
        let capped = within(judge, &options, calls_per_minute(cap), &metrics).unwrap();
        assert_eq!(asks(&capped, &wire::trace(1), 5).await, asked, "{cap}");
        assert_eq!(script.seen().len(), sent, "{cap}");
    }
}

/// R44: a judge in words may be asked again to repair its answer; that is a call, and if it is not needed it is free.
#[tokio::test]
async fn r44_a_repair_is_a_call() {
    let metrics = chat::metrics();
    let options = chat::chat_options("http://judge.test");
    let fake = FakeChat::new(|_| said("no answer at all"));
    let judge = Arc::new(chat::in_memory(Arc::clone(&fake) as _));
    let capped = within(judge, &options, calls_per_minute(11), &metrics).unwrap();
    assert_eq!(asks(&capped, &chat::trace(), 12).await, 5);
    assert_eq!(fake.arrived().len(), 10);
    let fake = FakeChat::new(|_| (503, serde_json::Value::Null));
    let judge = Arc::new(chat::in_memory(Arc::clone(&fake) as _));
    let capped = within(judge, &options, calls_per_minute(10), &metrics).unwrap();
    assert_eq!(asks(&capped, &chat::trace(), 12).await, 9);
    assert_eq!(fake.arrived().len(), 9);
}

/// R44: a cap that one ask may pass would never be used, which is told at the start.
#[tokio::test]
async fn r44_a_cap_below_one_ask_is_refused() {
    let metrics = chat::metrics();
    let options = chat::chat_options("http://judge.test");
    let judge = || Arc::new(chat::in_memory(FakeChat::new(|_| said("")) as _));
    let error = within(judge(), &options, calls_per_minute(1), &metrics);
    assert_eq!(
        error.err().unwrap().to_string(),
        "judges.fallback.spend.calls_per_minute: one ask may be 2 calls, and each process has 1"
    );
    assert!(within(judge(), &options, calls_per_minute(0), &metrics).is_ok());
    let one = Wire::SystemOne;
    let options = wire::options(one, "http://127.0.0.1:9".parse().unwrap());
    assert!(within(judge(), &options, calls_per_minute(1), &metrics).is_ok());
}
