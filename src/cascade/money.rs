//! What calls to judges cost.
//!
//! A call that failed without reporting tokens was not completed and is not billed; any other call whose price or tokens
//! are not known makes its sum unknown, never smaller.

use crate::artifact::pricing::PricingSnapshot;
use crate::domain::outcome::{Cost, JudgeCall, JudgeRole, NanoUsd};

/// The cost of one call; `None` is unknown.
pub(super) fn cost_of(call: &JudgeCall, pricing: Option<&PricingSnapshot>) -> Option<NanoUsd> {
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
pub(super) fn total(calls: &[JudgeCall]) -> Cost {
    let sum = |role| {
        calls
            .iter()
            .filter(|call| call.role == role && was_completed(call))
            .try_fold(NanoUsd::ZERO, |sum, call| Some(sum.plus(call.cost?)))
    };
    let atomic = sum(JudgeRole::Atomic);
    let was_asked = calls.iter().any(|call| call.role == JudgeRole::Fallback);
    if !was_asked {
        return Cost {
            atomic,
            fallback: None,
            total: atomic,
        };
    }
    let fallback = sum(JudgeRole::Fallback);
    let total = atomic
        .zip(fallback)
        .map(|(atomic, fallback)| atomic.plus(fallback));
    Cost {
        atomic,
        fallback,
        total,
    }
}

fn was_completed(call: &JudgeCall) -> bool {
    call.failure.is_none() || call.usage.is_some()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::failure::FailureReason;

    fn call(role: JudgeRole, cost: Option<i64>) -> JudgeCall {
        JudgeCall {
            judge_id: "j".into(),
            role,
            requested_model: None,
            returned_model: None,
            is_local: false,
            attempt_count: 1,
            usage: None,
            cost: cost.map(NanoUsd),
            latency: Duration::ZERO,
            failure: None,
            failure_detail: None,
            upstream_request_id: None,
        }
    }

    #[test]
    fn no_call_costs_nothing_and_an_unknown_one_makes_the_sum_unknown() {
        assert_eq!(total(&[]).total, Some(NanoUsd::ZERO));
        let calls = [
            call(JudgeRole::Atomic, Some(5)),
            call(JudgeRole::Fallback, None),
        ];
        let cost = total(&calls);
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
        let cost = total(&[call(JudgeRole::Atomic, Some(5)), failed]);
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
            usage: Some(crate::domain::outcome::Usage::default()),
            ..call(JudgeRole::Atomic, None)
        };
        assert_eq!(total(std::slice::from_ref(&failed)).atomic, None);
        let priced = JudgeCall {
            cost: Some(NanoUsd(7)),
            ..failed
        };
        assert_eq!(total(&[priced]).atomic, Some(NanoUsd(7)));
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
}
