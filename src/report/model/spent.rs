//! What time and money the judges took.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Measure;
use crate::domain::outcome::Route;

/// Latency in milliseconds: what was recorded of the calls to judges; a judge inside the program counts nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencyReport {
    /// Over all rows that asked a judge, failed ones too.
    pub all: Latency,
    /// By route; none in a slice.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub routes: BTreeMap<Route, Latency>,
}

/// A distribution of latencies in milliseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Rows.
    pub count: u64,
    /// Mean.
    pub mean_ms: Measure,
    /// Half of the rows are at least as fast.
    pub p50_ms: Measure,
    /// 95 of 100 rows are at least as fast.
    pub p95_ms: Measure,
    /// 99 of 100 rows are at least as fast.
    pub p99_ms: Measure,
    /// The slowest.
    pub max_ms: Measure,
}

/// Cost in 1e-9 US dollars. A sum over calls of which one has no known cost is absent; what is known stands beside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CostReport {
    /// Rows on which a judge was asked, in one leg or both.
    pub row_count: u64,
    /// Of these, rows of which a leg has no known cost.
    pub unknown_count: u64,
    /// Of both legs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub total_nano_usd: Option<i64>,
    /// Of the first judge that is asked: the atomic one, or the fallback judge alone in `baseline_only`.
    pub first: LegCost,
    /// Of the fallback judge after the atomic one.
    pub second: LegCost,
    /// Total by assessable row.
    pub per_row_nano_usd: Measure,
}

/// What one leg cost and used.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LegCost {
    /// Rows that it was asked about.
    pub row_count: u64,
    /// Of these, rows whose cost is not known.
    pub unknown_count: u64,
    /// The cost of all; absent if one is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub nano_usd: Option<i64>,
    /// The cost of those that are known.
    pub known_nano_usd: i64,
    /// Input tokens of the calls that told.
    pub input_token_count: u64,
    /// Output tokens of the calls that told.
    pub output_token_count: u64,
    /// Calls that failed, those that could not be sent too.
    pub failed_call_count: u64,
    /// Calls that were sent and did not tell their tokens.
    pub untold_count: u64,
}
