//! What a profile runs, as a message.

use super::{number, number_or_unspecified};
use crate::artifact::policy::PolicySnapshot;
use crate::artifact::pricing::PricingSnapshot;
use crate::cascade::profile::Profile;
use crate::domain::Vocabulary as _;
use crate::domain::dimension::Dimension;
use crate::domain::outcome::{DecisionVariant, JudgeRole};
use crate::judge::JudgeInfo;
use crate::judge::composite::Composite;
use crate::judge::decision::Decision;
use crate::policy::Policy;
use crate::rpc::pb;

/// Tells what a profile runs.
pub fn response(profile: &Profile, pricing: Option<&PricingSnapshot>) -> pb::GetPolicyResponse {
    let atomic = judges(&profile.atomic, JudgeRole::Atomic);
    let fallback = profile
        .fallback
        .iter()
        .flat_map(|judge| judges(judge, JudgeRole::Fallback));
    pb::GetPolicyResponse {
        profile: profile.name.to_string(),
        policy: Some(policy(&profile.policy)),
        decisions: DecisionVariant::ALL
            .iter()
            .map(|&variant| decision(Decision::of(variant)))
            .collect(),
        judges: atomic.into_iter().chain(fallback).collect(),
        pricing_id: pricing
            .map(|pricing| pricing.id.id.to_string())
            .unwrap_or_default(),
        pricing_sha256: pricing
            .map(|pricing| pricing.id.sha256.to_string())
            .unwrap_or_default(),
    }
}

fn policy(snapshot: &PolicySnapshot) -> pb::Policy {
    let policy = &*snapshot.policy;
    let actions = policy
        .actions
        .iter()
        .map(|(diagnosis, abstained, action)| pb::ActionRule {
            diagnosis: number(diagnosis),
            abstained,
            action: number(action),
        });
    pb::Policy {
        policy_id: snapshot.id.id.to_string(),
        sha256: snapshot.id.sha256.to_string(),
        dimensions: Dimension::ALL
            .iter()
            .map(|&dimension| row(policy, dimension))
            .collect(),
        chunk_rule: number(policy.chunk_rule),
        upstream: number(policy.upstream),
        history_is_evidence: policy.history_is_evidence,
        actions: actions.collect(),
    }
}

fn row(policy: &Policy, dimension: Dimension) -> pb::DimensionPolicy {
    let row = policy.dimensions[dimension];
    let fallback = policy.fallback.iter().filter_map(|(judge_id, pairs)| {
        pairs[dimension].map(|pair| pb::FallbackThresholds {
            judge_id: judge_id.to_string(),
            fail_at: pair.fail_at().value(),
            pass_at: pair.pass_at().value(),
        })
    });
    pb::DimensionPolicy {
        dimension: number(dimension),
        fail_at: row.thresholds.map(|pair| pair.fail_at().value()),
        pass_at: row.thresholds.map(|pair| pair.pass_at().value()),
        role: number(row.role),
        polarity: number(dimension.polarity()),
        fallback: fallback.collect(),
    }
}

fn decision(decision: &Decision) -> pb::Decision {
    let questions = decision.wordings.iter().map(|words| pb::Question {
        dimension: number(words.dimension),
        text: words.text.to_owned(),
        when_true: words.when_true.to_owned(),
        when_false: words.when_false.to_owned(),
    });
    pb::Decision {
        decision_id: decision.id.to_owned(),
        version: decision.version.to_owned(),
        variant: number(decision.variant),
        sha256: decision.sha256.clone(),
        questions: questions.collect(),
    }
}

fn judges(judge: &Composite, role: JudgeRole) -> Vec<pb::JudgeInfo> {
    judge
        .members()
        .map(|info| judge_info(&info, role))
        .collect()
}

fn judge_info(info: &JudgeInfo, role: JudgeRole) -> pb::JudgeInfo {
    pb::JudgeInfo {
        judge_id: info.judge_id.to_string(),
        role: number(role),
        r#type: info.judge_type.name().to_owned(),
        requested_model: info.requested_model.clone().unwrap_or_default(),
        dimensions: info.dimensions.iter().map(number).collect(),
        max_state_tokens: info
            .max_state_tokens
            .map(|tokens| i64::try_from(tokens).unwrap_or(i64::MAX)),
        source: number_or_unspecified(info.source),
    }
}
