use super::*;
use crate::domain::judgment::Answers;
use crate::telemetry::metrics::MetricNames;

fn answer(statement: &str) -> Answer {
    let text = statement.to_owned();
    let groundedness =
        Judgment::NotApplicable(crate::domain::failure::NotApplicableReason::NoContext);
    Answer {
        answers: Answers::from_fn(1, |_| None),
        statements: vec![StatementJudgment {
            text,
            span: None,
            groundedness,
        }],
        verdict: None,
        calls: Vec::new(),
    }
}

#[tokio::test]
async fn the_cache_never_holds_more_bytes_than_it_may() {
    let options = CacheOptions {
        ttl: Duration::from_secs(60),
        max_bytes: 64 * 1024,
    };
    let cache = AnswerCache::new(options, Metrics::new(&MetricNames::default()).unwrap());
    for index in 0..200_u8 {
        let answer = answer(&"a statement".repeat(100));
        let entry = Entry {
            bytes: bytes_of(&answer),
            since: Instant::now(),
            answer,
        };
        cache.entries.insert([index; 32], Arc::new(entry)).await;
    }
    cache.entries.run_pending_tasks().await;
    let size = cache.entries.weighted_size();
    assert!((1..=64 * 1024).contains(&size), "{size}");
}

#[test]
fn the_tokens_of_several_calls_add_up_or_are_unknown() {
    let usage = |input, cached| Usage {
        input_token_count: input,
        cached_input_token_count: cached,
        output_token_count: Some(1),
        ..Usage::default()
    };
    let call = |usage| JudgeCall {
        judge_id: "j".into(),
        role: crate::domain::outcome::JudgeRole::Atomic,
        requested_model: None,
        returned_model: None,
        is_local: false,
        delivery: JudgmentDelivery::Live,
        attempt_count: 1,
        usage,
        cost: None,
        latency: Duration::ZERO,
        failure: None,
        failure_detail: None,
        upstream_request_id: None,
        may_be_billed: false,
    };
    let sum = |usages: &[Option<Usage>]| {
        let calls: Vec<_> = usages.iter().map(|usage| call(*usage)).collect();
        usage_of(&calls)
    };
    let (some, more) = (usage(Some(3), None), usage(Some(4), Some(2)));
    let both = Usage {
        output_token_count: Some(2),
        ..usage(Some(7), Some(2))
    };
    assert_eq!(sum(&[Some(some), Some(more)]), Some(both));
    assert_eq!(sum(&[Some(some), None]), None);
    let unknown = sum(&[Some(some), Some(usage(None, None))]).unwrap();
    assert_eq!(unknown.input_token_count, None);
    assert_eq!(sum(&[]), None);
    let most = usage(Some(u64::MAX), Some(u64::MAX));
    assert_eq!(
        sum(&[Some(most), Some(most)]).unwrap().input_token_count,
        Some(u64::MAX)
    );
}
