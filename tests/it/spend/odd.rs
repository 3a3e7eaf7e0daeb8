//! What judges report without measure: names that are none, more names than a table holds, counts beyond any number.

use super::*;

async fn diagnosed(judge: PaidJudge, setup: &Setup) -> pb::DiagnoseResponse {
    let atomic = Composite::of(Arc::new(judge), Arc::clone(&setup.metrics));
    let server = InMemory::serve(setup.content_of(atomic, None)).await;
    server.diagnose(request(trace())).await.unwrap()
}

fn named(name: &str, setup: &Setup) -> PaidJudge {
    let mut judge = PaidJudge::new("atomic", &setup.metrics);
    judge.model = name.to_owned();
    judge
}

fn names_told(metrics: &Metrics) -> usize {
    let text = metrics.render();
    let series = text.lines();
    series
        .filter(|line| line.starts_with("judge_cascade_judge_model_info{"))
        .count()
}

#[tokio::test]
async fn a_text_that_is_no_name_of_a_model_is_none() {
    let setup = setup();
    for name in ["m".repeat(257).as_str(), "a\nb", "\u{1b}[2J", ""] {
        let response = diagnosed(named(name, &setup), &setup).await;
        assert_eq!(response.judge_calls[0].returned_model, "");
        assert_eq!(names_told(&setup.metrics), 0);
    }
    let longest = "m".repeat(256);
    let response = diagnosed(named(&longest, &setup), &setup).await;
    assert_eq!(response.judge_calls[0].returned_model, longest);
    assert_eq!(names_told(&setup.metrics), 1);
}

#[tokio::test]
async fn a_judge_with_a_new_name_in_every_answer_fills_no_table() {
    let setup = setup();
    for index in 0..40 {
        diagnosed(named(&format!("model-{index}"), &setup), &setup).await;
    }
    assert_eq!(names_told(&setup.metrics), 17, "16 names and `other`");
}

#[tokio::test]
async fn counts_without_measure_break_nothing_and_cost_nobody_knows() {
    let mut setup = setup();
    setup.pricing = Some(prices());
    for count in [u64::MAX, 1 << 63] {
        let mut judge = PaidJudge::new("atomic", &setup.metrics);
        judge.usage = Some(Usage {
            input_token_count: Some(count),
            cached_input_token_count: Some(count),
            cache_write_input_token_count: Some(count),
            output_token_count: Some(count),
            reasoning_token_count: Some(count),
        });
        let options = SpendOptions {
            usd_per_day: Some(NanoUsd(10_000_000_000)),
            ..SpendOptions::default()
        };
        let capped = capped(Arc::new(judge), options, ledger(1), &setup.metrics);
        let atomic = Composite::of(Arc::new(capped), Arc::clone(&setup.metrics));
        let server = InMemory::serve(setup.content_of(atomic, None)).await;
        for _ in 0..3 {
            let response = server.diagnose(request(trace())).await.unwrap();
            let call = &response.judge_calls[0];
            assert_eq!(call.usage.unwrap().input_token_count, None);
            assert_eq!(response.cost.unwrap().total_nano_usd, None);
        }
    }
    let tokens = "judge_cascade_tokens_total{judge=\"atomic\",role=\"atomic\",type=\"input\"}";
    assert!(series(&setup.metrics, tokens).is_none_or(|sum| sum == 0.0));
}
