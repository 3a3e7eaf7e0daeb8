//! What was found out about a judge, for people and as JSON.

use serde::Serialize;

use crate::cli::names::{Check, Grade};
use crate::cli::output::one_line;
use crate::domain::dimension::Dimension;
use crate::domain::judgment::JudgmentSource;
use crate::domain::outcome::NanoUsd;
use crate::judge::JudgeType;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) check: Check,
    pub(super) result: Grade,
    pub(super) detail: String,
}

impl Finding {
    pub(super) fn new(check: Check, result: Grade, detail: impl Into<String>) -> Self {
        Self {
            check,
            result,
            detail: detail.into(),
        }
    }
}

/// What was found out about a judge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Report {
    pub(super) judge: String,
    #[serde(rename = "type")]
    pub(super) judge_type: JudgeType,
    pub(super) is_good: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) requested_model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answered_model: Option<String>,
    pub(super) dimensions: Vec<Dimension>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source: Option<JudgmentSource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_state_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) latency_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost_per_trace_nano_usd: Option<i64>,
    pub(super) findings: Vec<Finding>,
}

impl Report {
    /// Adds what was found.
    pub(super) fn add(&mut self, finding: Finding) {
        self.is_good &= finding.result != Grade::Bad;
        self.findings.push(finding);
    }

    /// A block for people.
    pub(super) fn text(&self) -> String {
        let state = if self.is_good { "good" } else { "BAD" };
        let mut lines = vec![format!("{}: {state}", self.judge)];
        let mut line =
            |name: &str, value: String| lines.push(format!("  {name:<11} {}", one_line(&value)));
        line("type", self.judge_type.to_string());
        if let Some(endpoint) = &self.endpoint {
            line("endpoint", endpoint.clone());
        }
        if let Some(model) = &self.requested_model {
            let answered = match &self.answered_model {
                Some(answered) => format!("{model} (answered: {answered})"),
                None => format!("{model} (answered: not told)"),
            };
            line("model", answered);
        }
        let dimensions = self.dimensions.iter().map(ToString::to_string);
        line("dimensions", dimensions.collect::<Vec<_>>().join(", "));
        let source = self.source.map(|source| source.to_string());
        line("source", source.unwrap_or_else(|| "as recorded".to_owned()));
        let limit = self.max_state_tokens.map(|limit| format!("{limit} tokens"));
        line("limit", limit.unwrap_or_else(|| "none declared".to_owned()));
        if let Some(latency) = self.latency_ms {
            line("latency", format!("{latency} ms"));
        }
        for finding in &self.findings {
            let (check, result) = (finding.check.to_string(), finding.result);
            line(&check, format!("{result}: {}", finding.detail));
        }
        lines.join("\n")
    }
}

/// An amount in dollars, with every digit that counts.
pub(super) fn usd(amount: NanoUsd) -> String {
    let (whole, rest) = (amount.0 / 1_000_000_000, amount.0 % 1_000_000_000);
    let digits = format!("{whole}.{rest:09}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits} USD")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_have_the_digits_that_count() {
        for (amount, text) in [
            (0, "0 USD"),
            (11_382, "0.000011382 USD"),
            (1_500_000_000, "1.5 USD"),
            (10_000_000_000, "10 USD"),
        ] {
            assert_eq!(usd(NanoUsd(amount)), text);
        }
    }
}
