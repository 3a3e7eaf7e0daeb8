//! What calls to judges cost.
//!
//! A call that failed without reporting tokens was not completed and is not billed; any other call whose price or tokens
//! are not known makes its sum unknown, never smaller. What was never sent costs nothing, nor does an answer from the
//! cache; what that would have cost is a sum of its own.

use crate::artifact::pricing::PricingSnapshot;
use crate::domain::judgment::JudgmentDelivery;
use crate::domain::outcome::{Cost, JudgeCall, JudgeRole, NanoUsd};

/// The cost of one call; `None` is unknown.
pub(super) fn cost_of(call: &JudgeCall, pricing: Option<&PricingSnapshot>) -> Option<NanoUsd> {
    match call.delivery {
        JudgmentDelivery::Cache => Some(NanoUsd::ZERO),
        JudgmentDelivery::Live if call.is_unsent() => Some(NanoUsd::ZERO),
        JudgmentDelivery::Live | JudgmentDelivery::Replay => price_of(call, pricing),
    }
}

/// What an answer from the cache would have cost; `None` if the call is none, or its price is unknown.
pub(super) fn avoided_by(call: &JudgeCall, pricing: Option<&PricingSnapshot>) -> Option<NanoUsd> {
    match call.delivery {
        JudgmentDelivery::Cache if call.failure.is_none() => price_of(call, pricing),
        JudgmentDelivery::Cache | JudgmentDelivery::Live | JudgmentDelivery::Replay => None,
    }
}

/// The tokens of a call times the prices of the model that answered, or else of the one that was asked for.
fn price_of(call: &JudgeCall, pricing: Option<&PricingSnapshot>) -> Option<NanoUsd> {
    if call.is_local {
        return Some(NanoUsd::ZERO);
    }
    let (usage, table) = (call.usage.as_ref()?, &pricing?.table);
    let models = [&call.returned_model, &call.requested_model];
    let model = models
        .into_iter()
        .flatten()
        .find(|model| table.models.contains_key(*model))?;
    table.cost(model, usage)
}

/// The cost of all calls about one trace.
pub(super) fn total(calls: &[JudgeCall], pricing: Option<&PricingSnapshot>) -> Cost {
    let sum = |role| {
        calls
            .iter()
            .filter(|call| call.role == role && was_completed(call))
            .try_fold(NanoUsd::ZERO, |sum, call| Some(sum.plus(call.cost?)))
    };
    let atomic = sum(JudgeRole::Atomic);
    let was_asked = calls.iter().any(|call| call.role == JudgeRole::Fallback);
    let fallback = if was_asked {
        sum(JudgeRole::Fallback)
    } else {
        None
    };
    let total = if was_asked {
        let both = atomic.zip(fallback);
        both.map(|(atomic, fallback)| atomic.plus(fallback))
    } else {
        atomic
    };
    Cost {
        atomic,
        fallback,
        total,
        avoided: avoided(calls, pricing),
    }
}

/// What the answers from the cache would have cost together; `None` if there are none or one has no known price.
fn avoided(calls: &[JudgeCall], pricing: Option<&PricingSnapshot>) -> Option<NanoUsd> {
    let is_hit = |call: &&JudgeCall| call.delivery == JudgmentDelivery::Cache;
    let mut hits = calls
        .iter()
        .filter(is_hit)
        .filter(|call| call.failure.is_none())
        .peekable();
    hits.peek()?;
    hits.try_fold(NanoUsd::ZERO, |sum, call| {
        Some(sum.plus(avoided_by(call, pricing)?))
    })
}

fn was_completed(call: &JudgeCall) -> bool {
    call.failure.is_none() || call.usage.is_some()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::artifact::pricing;
    use crate::domain::failure::FailureReason;
    use crate::domain::outcome::Usage;

    fn call(role: JudgeRole, cost: Option<i64>) -> JudgeCall {
        JudgeCall {
            judge_id: "j".into(),
            role,
            requested_model: None,
            returned_model: None,
            is_local: false,
            delivery: JudgmentDelivery::Live,
            attempt_count: 1,
            usage: None,
            cost: cost.map(NanoUsd),
            latency: Duration::ZERO,
            failure: None,
            failure_detail: None,
            upstream_request_id: None,
            may_be_billed: false,
        }
    }

    #[test]
    fn no_call_costs_nothing_and_an_unknown_one_makes_the_sum_unknown() {
        assert_eq!(total(&[], None).total, Some(NanoUsd::ZERO));
        let calls = [
            call(JudgeRole::Atomic, Some(5)),
            call(JudgeRole::Fallback, None),
        ];
        let cost = total(&calls, None);
        assert_eq!(
            (cost.atomic, cost.fallback, cost.total),
            (Some(NanoUsd(5)), None, None)
        );
    }

    #[test]
    fn a_failed_call_is_not_billed() {
        let failed = JudgeCall {
            failure: Some(FailureReason::Unavailable),
            ..call(JudgeRole::Fallback, None)
        };
        let cost = total(&[call(JudgeRole::Atomic, Some(5)), failed], None);
        assert_eq!(
            (cost.fallback, cost.total),
            (Some(NanoUsd::ZERO), Some(NanoUsd(5)))
        );
    }

    /// A judge that answered nonsense was paid for all the same.
    #[test]
    fn a_failed_call_that_reports_tokens_is_billed_or_unknown() {
        let failed = JudgeCall {
            failure: Some(FailureReason::Protocol),
            usage: Some(Usage::default()),
            ..call(JudgeRole::Atomic, None)
        };
        assert_eq!(total(std::slice::from_ref(&failed), None).atomic, None);
        let priced = JudgeCall {
            cost: Some(NanoUsd(7)),
            ..failed
        };
        assert_eq!(total(&[priced], None).atomic, Some(NanoUsd(7)));
    }

    #[test]
    fn a_local_judge_costs_nothing_without_any_price() {
        let local = JudgeCall {
            is_local: true,
            ..call(JudgeRole::Atomic, None)
        };
        assert_eq!(cost_of(&local, None), Some(NanoUsd::ZERO));
        assert_eq!(cost_of(&call(JudgeRole::Atomic, None), None), None);
    }

    const TABLE: &str = r#"{"schema_version":1,"id":"p1","as_of":"2026-10-01","currency":"USD","models":{
        "m":{"input_usd_per_million_tokens":2,"output_usd_per_million_tokens":4}}}"#;

    /// R40: an answer from the cache costs nothing, and its price goes where no bill is.
    #[test]
    fn r40_a_hit_costs_nothing_and_its_price_is_avoided() {
        let prices = pricing::read("p.json", TABLE).unwrap();
        let live = JudgeCall {
            returned_model: Some("m".to_owned()),
            usage: Some(Usage {
                input_token_count: Some(10),
                output_token_count: Some(1),
                ..Usage::default()
            }),
            ..call(JudgeRole::Atomic, None)
        };
        let hit = JudgeCall {
            delivery: JudgmentDelivery::Cache,
            attempt_count: 0,
            ..live.clone()
        };
        let priced = |call: JudgeCall| JudgeCall {
            cost: cost_of(&call, Some(&prices)),
            ..call
        };
        let cost = total(&[priced(live)], Some(&prices));
        assert_eq!((cost.total, cost.avoided), (Some(NanoUsd(24_000)), None));
        let unknown = JudgeCall {
            usage: None,
            ..hit.clone()
        };
        let cost = total(&[priced(hit.clone())], Some(&prices));
        assert_eq!(
            (cost.total, cost.avoided),
            (Some(NanoUsd::ZERO), Some(NanoUsd(24_000)))
        );
        let cost = total(&[priced(hit), priced(unknown)], Some(&prices));
        assert_eq!((cost.total, cost.avoided), (Some(NanoUsd::ZERO), None));
    }

    #[test]
    fn what_was_never_sent_costs_nothing() {
        for failure in [None, Some(FailureReason::Budget)] {
            let unsent = JudgeCall {
                attempt_count: 0,
                failure,
                ..call(JudgeRole::Atomic, None)
            };
            assert_eq!(cost_of(&unsent, None), Some(NanoUsd::ZERO));
            let cost = cost_of(&unsent, None);
            let total = total(&[JudgeCall { cost, ..unsent }], None);
            assert_eq!(total.total, Some(NanoUsd::ZERO));
        }
    }

    /// R40: the failure of another caller's call, shared by the cache, is nobody's second bill and no saving.
    #[test]
    fn r40_a_shared_failure_costs_and_saves_nothing() {
        let shared = JudgeCall {
            delivery: JudgmentDelivery::Cache,
            failure: Some(FailureReason::Unavailable),
            ..call(JudgeRole::Atomic, Some(0))
        };
        let cost = total(&[shared], None);
        assert_eq!((cost.total, cost.avoided), (Some(NanoUsd::ZERO), None));
    }
}
