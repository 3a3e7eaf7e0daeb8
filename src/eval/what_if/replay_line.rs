//! Replay rows, as far as another policy needs them.

use std::fmt;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::parts::{Bare, ByChunk, Text, put};
use super::recorded::{Cell, Leg, Recorded, whole_slot};
use super::verdict_line::stand_in_for_unnamed_chunks;
use crate::artifact::replay::RecordedVerdict;
use crate::artifact::replay::details::{RecordedDetail, RecordedDetails};
use crate::domain::Vocabulary as _;
use crate::domain::diagnosis::{Diagnosis, Verdict};
use crate::domain::dimension::Dimension;
use crate::domain::failure::NotApplicableReason;
use crate::domain::judgment::{JudgmentSource, SeenFraction};
use crate::domain::outcome::{DecisionVariant, Usage};
use crate::pricing::PriceTable;

/// A row of one judge.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line<'a> {
    #[serde(borrow)]
    trace_id: Text<'a>,
    #[serde(default, rename = "input_sha256")]
    _input_sha256: IgnoredAny,
    #[serde(borrow)]
    judge_id: Text<'a>,
    #[serde(borrow, default, deserialize_with = "present")]
    model: Option<Text<'a>>,
    #[serde(default, deserialize_with = "present")]
    source: Option<JudgmentSource>,
    decision: Decision,
    #[serde(borrow)]
    answers: Answers<'a>,
    #[serde(default, deserialize_with = "present")]
    details: Option<Box<RecordedDetails>>,
    #[serde(rename = "latency_ms")]
    _latency_ms: IgnoredAny,
    #[serde(default, deserialize_with = "present")]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Decision {
    variant: DecisionVariant,
}

/// Whose row it is about which trace, when no more is asked.
#[derive(Deserialize)]
pub struct Names<'a> {
    /// The trace.
    #[serde(borrow)]
    pub trace_id: Text<'a>,
    /// The judge; rows of other kinds are not of one judge.
    #[serde(borrow, default)]
    pub judge_id: Option<Text<'a>>,
}

/// Absent is absent, and null is an error.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

struct Answers<'a>(Box<Leg<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Answers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AnswersVisitor).map(Answers)
    }
}

struct AnswersVisitor;

impl<'de> Visitor<'de> for AnswersVisitor {
    type Value = Box<Leg<'de>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("recorded answers")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut leg: Self::Value = Box::default();
        while let Some(Text(name)) = map.next_key::<Text<'de>>()? {
            match &*name {
                "chunk_relevance" if leg.chunks.is_empty() => {
                    let chunks: ByChunk<'de, Bare> = map.next_value()?;
                    (leg.chunk_ids, leg.chunks) = (chunks.ids, chunks.cells);
                }
                "verdict" if leg.verdict.is_none() => {
                    let verdict: RecordedVerdict = map.next_value()?;
                    leg.verdict = Some(Verdict {
                        diagnosis: verdict.diagnosis,
                        confidence: verdict.confidence,
                    });
                }
                "chunk_relevance" | "verdict" => {
                    return Err(A::Error::custom(format!("`{name}` is there twice")));
                }
                name if put::<A, Bare>(&mut leg.whole, name, &mut map)? => (),
                name => return Err(A::Error::custom(format!("`{name}` is not a dimension"))),
            }
        }
        Ok(leg)
    }
}

impl<'a> Line<'a> {
    /// Reads a row.
    pub fn read(line: &'a str) -> serde_json::Result<Self> {
        let mut line: Self = serde_json::from_str(line)?;
        line.complete().map_err(serde_json::Error::custom)?;
        Ok(line)
    }

    /// Checks what a row as a whole must hold to, and adds the details to the answers.
    fn complete(&mut self) -> Result<(), String> {
        if self.trace_id.0.is_empty() {
            return Err("trace_id: must not be empty".to_owned());
        }
        let leg = &mut *self.answers.0;
        if let Some(verdict) = leg.verdict {
            let is_absent = |cell: &Cell<'_>| matches!(cell, Cell::Absent);
            if !leg.chunks.is_empty() || !leg.whole.iter().all(is_absent) {
                let problem =
                    "answers: a verdict stands in place of probabilities, not beside them";
                return Err(problem.to_owned());
            }
            if verdict.diagnosis == Diagnosis::NotAssessable {
                let problem =
                    "answers.verdict.diagnosis: NOT_ASSESSABLE is not a verdict of a judge";
                return Err(problem.to_owned());
            }
        }
        self.details
            .take()
            .map_or(Ok(()), |details| detail(leg, &details))
    }

    /// The judge.
    pub fn judge_id(&self) -> &str {
        &self.judge_id.0
    }

    /// The trace.
    pub fn trace_id(&self) -> &str {
        &self.trace_id.0
    }

    /// What the judge said and what it cost.
    pub fn leg(self, prices: Option<&PriceTable>) -> Box<Leg<'a>> {
        let cost = self
            .model
            .as_ref()
            .zip(self.usage.as_ref())
            .zip(prices)
            .and_then(|((model, usage), prices)| prices.cost(&model.0, usage));
        let mut leg = self.answers.0;
        leg.judge_id = self.judge_id.0;
        leg.source = self.source;
        leg.cost = cost;
        leg.absent_failed = true;
        leg
    }

    /// The answers of the atomic judge as a row. A trace that the row tells nothing about is taken to have an answer and
    /// a context; that there is no reference answer stands in the variant.
    pub fn recorded(self, prices: Option<&PriceTable>) -> Recorded<'a> {
        let has_reference = self.decision.variant == DecisionVariant::WithReference;
        let trace_id = self.trace_id.0.clone();
        let mut leg = self.leg(prices);
        stand_in_for_unnamed_chunks(&mut leg);
        if !has_reference && let Some(slot) = whole_slot(Dimension::Correctness.name()) {
            leg.whole[slot] = Cell::NotApplicable(NotApplicableReason::NoReference);
        }
        Recorded {
            trace_id,
            is_assessable: true,
            chunk_count: leg.chunks.len(),
            atomic: Some(leg),
            ..Recorded::default()
        }
    }
}

/// Makes the answers of a row the judgments that were recorded.
fn detail(leg: &mut Leg<'_>, details: &RecordedDetails) -> Result<(), String> {
    for (id, detail) in &details.chunk_relevance {
        let place = format!("details.chunk_relevance.{id}");
        let known = leg.chunk_ids.iter().position(|known| **known == **id);
        let ordinal = known.unwrap_or(leg.chunks.len());
        if known.is_none() {
            leg.chunk_ids.push(id.clone().into());
            leg.chunks.push(Cell::Absent);
        }
        apply(&mut leg.chunks[ordinal], detail, &place)?;
    }
    for (dimension, cell) in Dimension::ALL[1..].iter().zip(&mut leg.whole) {
        if let Some(detail) = details.get(*dimension, None) {
            apply(cell, detail, &format!("details.{dimension}"))?;
        }
    }
    Ok(())
}

/// The rules heed neither the mass on the labels nor the basis nor which guards fired, only whether one forbids a PASS.
fn apply(cell: &mut Cell<'_>, detail: &RecordedDetail, place: &str) -> Result<(), String> {
    detail.check(place, matches!(cell, Cell::Judged(_)))?;
    match (cell, detail.failed) {
        (Cell::Judged(judged), _) => {
            judged.source = detail.source;
            judged.seen = detail
                .seen_fraction
                .and_then(SeenFraction::new)
                .unwrap_or(SeenFraction::ALL);
            judged.vetoes_pass = detail.vetoes_pass;
        }
        (cell, Some(reason)) => *cell = Cell::Failed(reason),
        (Cell::Absent | Cell::NotApplicable(_) | Cell::Failed(_), None) => (),
    }
    Ok(())
}
