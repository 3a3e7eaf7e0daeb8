use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::artifact::pricing;
use crate::domain::judgment::{Answers, JudgmentDelivery};
use crate::domain::outcome::{DecisionVariant, JudgeRole, Usage};
use crate::domain::trace::{Chunk, RetrievalState, Trace, TraceDraft, TraceLimits};
use crate::judge::decision::Decision;

const TABLE: &str = r#"{"schema_version":1,"id":"p1","as_of":"2026-10-01","currency":"USD","models":{
    "m":{"input_usd_per_million_tokens":2,"output_usd_per_million_tokens":4}}}"#;

fn bounds() -> Bounds {
    Bounds {
        models: vec!["m".to_owned()],
        max_state_tokens: None,
        requests: Requests::One,
        max_output_tokens: None,
        max_statements: None,
    }
}

fn call(attempt_count: u32, failure: Option<FailureReason>, may_be_billed: bool) -> JudgeCall {
    JudgeCall {
        judge_id: "j".into(),
        role: JudgeRole::Atomic,
        requested_model: Some("m".to_owned()),
        returned_model: None,
        is_local: false,
        delivery: JudgmentDelivery::Live,
        attempt_count,
        usage: None,
        cost: None,
        latency: Duration::ZERO,
        failure,
        failure_detail: None,
        upstream_request_id: None,
        may_be_billed,
    }
}

/// What is known, whether it may be more, and how many calls that makes.
fn billed(calls: Vec<JudgeCall>) -> (i64, bool, u64) {
    let answer = Answer {
        answers: Answers::from_fn(0, |_| None),
        statements: Vec::new(),
        verdict: None,
        calls,
    };
    let prices = pricing::read("p.json", TABLE).unwrap();
    let bill = bounds().bill(&Ok(answer), Some(&prices));
    (bill.known.0, bill.may_be_more, bill.call_count)
}

#[test]
fn a_failed_call_costs_nothing_only_if_it_was_surely_not_served() {
    let unavailable = Some(FailureReason::Unavailable);
    assert_eq!(billed(vec![call(2, unavailable, false)]), (0, false, 2));
    assert_eq!(billed(vec![call(1, unavailable, true)]), (0, true, 1));
    let late = Some(FailureReason::Timeout);
    assert_eq!(billed(vec![call(0, late, false)]), (0, false, 0));
    assert_eq!(billed(vec![call(1, late, true)]), (0, true, 1));
    assert_eq!(billed(vec![call(1, None, false)]), (0, true, 1));
}

#[test]
fn an_attempt_that_broke_off_before_one_that_did_not_may_be_billed_too() {
    let told = |may_be_billed| JudgeCall {
        usage: Some(Usage {
            input_token_count: Some(10),
            output_token_count: Some(1),
            ..Usage::default()
        }),
        ..call(2, None, may_be_billed)
    };
    assert_eq!(billed(vec![told(false)]), (24_000, false, 2));
    assert_eq!(billed(vec![told(true)]), (24_000, true, 2));
}

#[test]
fn tokens_without_measure_are_not_known_to_cost_anything() {
    let most = Some(u64::MAX);
    let told = JudgeCall {
        usage: Some(Usage {
            input_token_count: most,
            cached_input_token_count: most,
            cache_write_input_token_count: most,
            output_token_count: most,
            reasoning_token_count: most,
        }),
        ..call(1, None, false)
    };
    assert_eq!(billed(vec![told.clone(), told]), (0, true, 2));
}

#[test]
fn every_statement_that_is_asked_about_is_reckoned_with() {
    let draft = TraceDraft {
        trace_id: "t".into(),
        question: "When does the gate close?".to_owned(),
        chunks: vec![Chunk {
            chunk_id: "c".into(),
            text: "The gate closes at seven.".to_owned(),
            document_id: None,
            retrieval_score: None,
        }],
        answer: "The north gate closes at seven. Yes. ".repeat(10),
        reference_answer: None,
        history: Vec::new(),
        standalone_question: None,
        retrieval: RetrievalState::Performed,
        tags: Vec::new(),
        generator_model: None,
        language: None,
        statements: Vec::new(),
    };
    let limits = TraceLimits {
        max_chunk_count: 1,
        max_text_bytes: 1000,
        max_history_turns: 0,
    };
    let trace = Arc::new(Trace::new(draft, &limits).unwrap());
    let questions = QuestionSet::from_fn(1, |_| true);
    let ask = Ask {
        trace: &trace,
        questions: &questions,
        decision: Decision::of(DecisionVariant::WithoutReference),
        history_is_evidence: false,
    };
    let table = pricing::read("p.json", TABLE).unwrap().table;
    let whole = bounds().estimate(&ask, &table).unwrap();
    let by_statement = Bounds {
        max_statements: Some(10),
        ..bounds()
    };
    // Ten questions more of at least 60 tokens each, with a quarter more, and their answers.
    let more = 10 * 60 * 2_000 * 5 / 4 + 10 * QUESTION_TOKENS as i64 * 4_000;
    assert!(whole.0 + more < by_statement.estimate(&ask, &table).unwrap().0);
}
