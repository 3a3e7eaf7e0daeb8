//! Verdict rows, as far as another policy needs them.

use std::fmt;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::parts::{ByChunk, Full, Text, put};
use super::recorded::{Cell, Decided, Leg, Recorded};
use crate::artifact::verdict::SCHEMA_VERSION;
use crate::domain::diagnosis::{Diagnosis, NotAssessableReason, Rule, Verdict};
use crate::domain::failure::NotApplicableReason;
use crate::domain::outcome::{NanoUsd, Route};
use crate::domain::probability::Probability;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    schema_version: u32,
    #[serde(borrow)]
    trace_id: Text<'a>,
    diagnosis: Diagnosis,
    route: Route,
    #[serde(default)]
    confidence: Option<Probability>,
    #[serde(default, rename = "fallback_unavailable_reason")]
    _fallback_unavailable_reason: IgnoredAny,
    #[serde(default)]
    not_assessable_reason: Option<NotAssessableReason>,
    fired_rule: Fired,
    #[serde(default, rename = "pass_covers")]
    _pass_covers: IgnoredAny,
    #[serde(default)]
    answer_abstains: Option<bool>,
    #[serde(rename = "action")]
    _action: IgnoredAny,
    #[serde(rename = "would_action")]
    _would_action: IgnoredAny,
    #[serde(borrow, default)]
    atomic: Option<Pass<'a>>,
    #[serde(borrow, default)]
    fallback: Option<Pass<'a>>,
    #[serde(default, rename = "judge_calls")]
    _judge_calls: IgnoredAny,
    #[serde(rename = "provenance")]
    _provenance: IgnoredAny,
    cost: Cost,
    #[serde(rename = "timing")]
    _timing: IgnoredAny,
}

#[derive(Deserialize)]
struct Fired {
    rule: Rule,
}

#[derive(Deserialize)]
struct Cost {
    atomic_nano_usd: Option<NanoUsd>,
    fallback_nano_usd: Option<NanoUsd>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WholeVerdict {
    diagnosis: Diagnosis,
    #[serde(default)]
    confidence: Option<Probability>,
}

struct Pass<'a>(Box<Leg<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Pass<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PassVisitor).map(Pass)
    }
}

struct PassVisitor;

impl<'de> Visitor<'de> for PassVisitor {
    type Value = Box<Leg<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what a judge said")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut leg: Self::Value = Box::default();
        while let Some(Text(name)) = map.next_key::<Text<'de>>()? {
            match &*name {
                "chunk_relevance" => {
                    let chunks: ByChunk<'de, Full<'de>> = map.next_value()?;
                    (leg.chunk_ids, leg.chunks) = (chunks.ids, chunks.cells);
                }
                "statements" | "statement_summary" => {
                    map.next_value::<IgnoredAny>()?;
                }
                "verdict" => {
                    let verdict: WholeVerdict = map.next_value()?;
                    leg.verdict = Some(Verdict {
                        diagnosis: verdict.diagnosis,
                        confidence: verdict.confidence,
                    });
                }
                name if put::<A, Full<'de>>(&mut leg.whole, name, &mut map)? => (),
                name => return Err(A::Error::custom(format!("`{name}` is not a dimension"))),
            }
        }
        Ok(leg)
    }
}

/// Reads a row.
pub fn read<'a>(line: &'a str) -> serde_json::Result<Recorded<'a>> {
    let line: Line<'a> = serde_json::from_str(line)?;
    if line.schema_version != SCHEMA_VERSION {
        return Err(serde_json::Error::custom(format!(
            "schema_version is `{}`; this program reads {SCHEMA_VERSION}",
            line.schema_version
        )));
    }
    let (atomic_cost, fallback_cost) = (line.cost.atomic_nano_usd, line.cost.fallback_nano_usd);
    let with_cost = |pass: Option<Pass<'a>>, cost| {
        pass.map(|Pass(mut leg)| {
            leg.cost = cost;
            leg
        })
    };
    let mut atomic = with_cost(line.atomic, atomic_cost);
    if let Some(leg) = &mut atomic {
        stand_in_for_unnamed_chunks(leg);
    }
    Ok(Recorded {
        index: None,
        trace_id: line.trace_id.0,
        is_assessable: line.not_assessable_reason.is_none(),
        chunk_count: atomic.as_ref().map_or(0, |leg| leg.chunks.len()),
        atomic,
        fallback: with_cost(line.fallback, fallback_cost),
        baseline: None,
        // Where the cascade did not look, it took the action of an answer that does not abstain.
        abstains: Some(line.answer_abstains == Some(true)),
        label: None,
        decided: Some(Decided {
            diagnosis: line.diagnosis,
            confidence: line.confidence,
            route: line.route,
            rule: line.fired_rule.rule,
        }),
        has_ended: false,
    })
}

/// A row names only chunks about which something was said. Where nothing was, there are chunks all the same unless the
/// row says that there is no context; one that nobody judged stands for them.
pub fn stand_in_for_unnamed_chunks(leg: &mut Leg<'_>) {
    let has_no_context = leg
        .whole
        .iter()
        .any(|cell| matches!(cell, Cell::NotApplicable(NotApplicableReason::NoContext)));
    if leg.chunks.is_empty() && !has_no_context {
        leg.chunks.push(Cell::Absent);
        leg.chunk_ids.push("".into());
    }
}
