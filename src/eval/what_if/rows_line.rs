//! Lines of rows files, as far as another policy needs them.

use std::fmt;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::parts::{Count, Full, InOrder, Text, put};
use super::recorded::{Decided, Leg, Recorded, Whole};
use crate::domain::Vocabulary as _;
use crate::domain::diagnosis::{Diagnosis, Verdict};
use crate::domain::judgment::JudgmentSource;
use crate::domain::outcome::NanoUsd;
use crate::eval::rows;
use crate::report::model::Mode;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    index: u64,
    #[serde(borrow)]
    trace_id: Text<'a>,
    #[serde(rename = "group")]
    _group: IgnoredAny,
    #[serde(default, rename = "slices")]
    _slices: IgnoredAny,
    #[serde(rename = "variant")]
    _variant: IgnoredAny,
    #[serde(default)]
    chunk_ids: Count,
    #[serde(default)]
    labels: Labels,
    #[serde(default)]
    abstains: bool,
    #[serde(borrow, default)]
    atomic: Option<OneLeg<'a>>,
    #[serde(borrow, default)]
    fallback: Option<OneLeg<'a>>,
    #[serde(borrow, default)]
    baseline: Option<OneLeg<'a>>,
    ends: Ends,
}

#[derive(Default, Deserialize)]
struct Labels {
    #[serde(default)]
    diagnosis: Option<Diagnosis>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowLeg<'a> {
    #[serde(borrow)]
    judge_id: Text<'a>,
    #[serde(default)]
    source: Option<JudgmentSource>,
    #[serde(borrow, default)]
    chunks: InOrder<'a>,
    #[serde(borrow, default)]
    whole: ByDimension<'a>,
    #[serde(default)]
    verdict: Option<rows::Verdict>,
    #[serde(default, rename = "calls")]
    _calls: IgnoredAny,
    #[serde(default)]
    nano_usd: Option<NanoUsd>,
    #[serde(rename = "latency_us")]
    _latency_us: IgnoredAny,
}

/// A leg where it stays, so that what holds it is small.
struct OneLeg<'a>(Box<Leg<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for OneLeg<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RowLeg::deserialize(deserializer).map(|row| Self(Box::new(leg(row))))
    }
}

#[derive(Default)]
struct ByDimension<'a>(Whole<'a>);

impl<'de: 'a, 'a> Deserialize<'de> for ByDimension<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_map(ByDimensionVisitor)
            .map(ByDimension)
    }
}

struct ByDimensionVisitor;

impl<'de> Visitor<'de> for ByDimensionVisitor {
    type Value = Whole<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("judgments by dimension")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Whole<'de>, A::Error> {
        let mut whole = Whole::default();
        while let Some(Text(name)) = map.next_key::<Text<'de>>()? {
            if !put::<A, Full<'de>>(&mut whole, &name, &mut map)? {
                return Err(A::Error::custom(format!("`{name}` is not a dimension")));
            }
        }
        Ok(whole)
    }
}

/// How the cascade ended; the other modes follow from the same answers.
#[derive(Default)]
struct Ends {
    cascade: Option<rows::End>,
    atomic_only: Option<rows::End>,
    is_assessable: bool,
}

impl<'de> Deserialize<'de> for Ends {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EndsVisitor)
    }
}

struct EndsVisitor;

impl<'de> Visitor<'de> for EndsVisitor {
    type Value = Ends;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ends by mode")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ends, A::Error> {
        let mut ends = Ends {
            cascade: None,
            atomic_only: None,
            is_assessable: true,
        };
        while let Some(Text(name)) = map.next_key::<Text<'de>>()? {
            let end: rows::End = map.next_value()?;
            ends.is_assessable &= !matches!(end, rows::End::NotAssessable { .. });
            if name == Mode::Cascade.name() {
                ends.cascade = Some(end);
            } else if name == Mode::AtomicOnly.name() {
                ends.atomic_only = Some(end);
            }
        }
        Ok(ends)
    }
}

/// Reads a row.
pub fn read(line: &str) -> serde_json::Result<Recorded<'_>> {
    let line: Line<'_> = serde_json::from_str(line)?;
    let Ends {
        cascade,
        atomic_only,
        is_assessable,
    } = line.ends;
    let atomic = line.atomic.map(|OneLeg(leg)| leg);
    // A row that the fallback judge was to help has a route, even if that came to nothing.
    let has_no_route = |end: &rows::End| matches!(end, rows::End::Failed { route: None, .. });
    let has_ended = cascade
        .as_ref()
        .or(atomic_only.as_ref())
        .is_some_and(has_no_route)
        && atomic.as_ref().is_some_and(|leg| leg.failed_as_a_whole());
    let decided = match cascade {
        Some(rows::End::Answered(end)) => Some(Decided {
            diagnosis: end.diagnosis,
            confidence: end.confidence,
            route: end.route,
            rule: end.rule,
        }),
        Some(rows::End::Failed { .. } | rows::End::NotAssessable { .. }) | None => None,
    };
    Ok(Recorded {
        index: Some(line.index),
        trace_id: line.trace_id.0,
        is_assessable,
        chunk_count: line.chunk_ids.0,
        atomic,
        fallback: line.fallback.map(|OneLeg(leg)| leg),
        baseline: line.baseline.map(|OneLeg(leg)| leg),
        abstains: Some(line.abstains),
        label: line.labels.diagnosis,
        decided,
        has_ended,
    })
}

fn leg(row: RowLeg<'_>) -> Leg<'_> {
    Leg {
        judge_id: row.judge_id.0,
        source: row.source,
        whole: row.whole.0,
        chunks: row.chunks.0,
        chunk_ids: Vec::new(),
        verdict: row.verdict.map(|verdict| Verdict {
            diagnosis: verdict.diagnosis,
            confidence: verdict.confidence,
        }),
        cost: row.nano_usd,
        absent_failed: false,
    }
}
