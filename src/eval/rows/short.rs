//! Reading the parts of a row that take several shapes: what stands in it tells which one it is, in one pass.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use super::{Answered, Cell, End};
use crate::domain::diagnosis::{Diagnosis, NotAssessableReason, Rule};
use crate::domain::dimension::Dimension;
use crate::domain::failure::{FailureReason, NotApplicableReason};
use crate::domain::judgment::JudgmentSource;
use crate::domain::outcome::{FallbackUnavailableReason, Route};
use crate::domain::probability::Probability;

/// Every key of a cell that is an object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a probability or an object")]
struct CellKeys {
    #[serde(default)]
    probability: Option<Probability>,
    #[serde(default)]
    judge_id: Option<String>,
    #[serde(default)]
    source: Option<JudgmentSource>,
    #[serde(default)]
    seen_fraction: Option<f64>,
    #[serde(default)]
    vetoes_pass: bool,
    #[serde(default)]
    not_applicable: Option<NotApplicableReason>,
    #[serde(default)]
    failed: Option<FailureReason>,
}

impl CellKeys {
    fn cell(self) -> Result<Cell, &'static str> {
        let is_bare = self.judge_id.is_none()
            && self.source.is_none()
            && self.seen_fraction.is_none()
            && !self.vetoes_pass;
        match (self.probability, self.not_applicable, self.failed) {
            (Some(probability), None, None) => Ok(Cell::Judged {
                probability,
                judge_id: self.judge_id,
                source: self.source,
                seen_fraction: self.seen_fraction,
                vetoes_pass: self.vetoes_pass,
            }),
            (None, Some(not_applicable), None) if is_bare => {
                Ok(Cell::NotApplicable { not_applicable })
            }
            (None, None, Some(failed)) if is_bare => Ok(Cell::Failed { failed }),
            _ => Err("must have exactly one of `probability`, `not_applicable` and `failed`"),
        }
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Cell;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a probability or an object")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Cell, E> {
        let probability = Probability::try_from(value).map_err(E::custom)?;
        Ok(Cell::Plain(probability))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Cell, E> {
        match value {
            0 => Ok(Cell::Plain(Probability::ZERO)),
            1 => Ok(Cell::Plain(Probability::ONE)),
            _ => Err(E::invalid_value(Unexpected::Unsigned(value), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Cell, A::Error> {
        let keys = CellKeys::deserialize(MapAccessDeserializer::new(map))?;
        keys.cell().map_err(A::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CellVisitor)
    }
}

/// Every key of an end.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an end of a row")]
struct EndKeys {
    #[serde(default)]
    failed: Option<FailureReason>,
    #[serde(default)]
    not_assessable: Option<NotAssessableReason>,
    #[serde(default)]
    diagnosis: Option<Diagnosis>,
    #[serde(default)]
    confidence: Option<Probability>,
    #[serde(default)]
    route: Option<Route>,
    #[serde(default)]
    fallback_unavailable: Option<FallbackUnavailableReason>,
    #[serde(default)]
    rule: Option<Rule>,
    #[serde(default)]
    dimension: Option<Dimension>,
    #[serde(default)]
    value: Option<Probability>,
    #[serde(default)]
    threshold: Option<Probability>,
}

impl EndKeys {
    fn end(self) -> Result<End, &'static str> {
        let has_ruling = self.diagnosis.is_some()
            || self.confidence.is_some()
            || self.rule.is_some()
            || self.dimension.is_some()
            || self.value.is_some()
            || self.threshold.is_some();
        match (self.failed, self.not_assessable) {
            (Some(failed), None) if !has_ruling => Ok(End::Failed {
                failed,
                route: self.route,
                fallback_unavailable: self.fallback_unavailable,
            }),
            (None, Some(not_assessable))
                if !has_ruling && self.route.is_none() && self.fallback_unavailable.is_none() =>
            {
                Ok(End::NotAssessable { not_assessable })
            }
            (None, None) => match (self.diagnosis, self.route, self.rule) {
                (Some(diagnosis), Some(route), Some(rule)) => Ok(End::Answered(Answered {
                    diagnosis,
                    confidence: self.confidence,
                    route,
                    fallback_unavailable: self.fallback_unavailable,
                    rule,
                    dimension: self.dimension,
                    value: self.value,
                    threshold: self.threshold,
                })),
                _ => Err("an end without `failed` has `diagnosis`, `route` and `rule`"),
            },
            _ => Err("an end has exactly one of `failed`, `not_assessable` and `diagnosis`"),
        }
    }
}

impl<'de> Deserialize<'de> for End {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        EndKeys::deserialize(deserializer)?
            .end()
            .map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn same<T: serde::Serialize + for<'de> Deserialize<'de> + PartialEq + fmt::Debug>(json: &str) {
        let value: T = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&value).unwrap(), json);
    }

    #[test]
    fn every_shape_is_read_and_written_back_the_same() {
        for json in [
            "0.25",
            "0.0",
            r#"{"probability":0.5,"seen_fraction":0.75}"#,
            r#"{"probability":0.5,"judge_id":"j","source":"native","vetoes_pass":true}"#,
            r#"{"not_applicable":"no_context"}"#,
            r#"{"failed":"timeout"}"#,
        ] {
            same::<Cell>(json);
        }
        for json in [
            r#"{"failed":"timeout","route":"fallback_unavailable","fallback_unavailable":"deadline"}"#,
            r#"{"not_assessable":"texts_missing"}"#,
            r#"{"diagnosis":"PASS","confidence":0.9,"route":"auto","rule":"pass"}"#,
        ] {
            same::<End>(json);
        }
        let whole: Cell = serde_json::from_str("1").unwrap();
        assert_eq!(whole, Cell::Plain(Probability::ONE));
    }

    #[test]
    fn what_is_no_shape_is_refused() {
        for json in [
            "1.5",
            "-0.5",
            "2",
            "-1",
            "null",
            r#""0.5""#,
            "{}",
            r#"{"probability":0.5,"failed":"timeout"}"#,
            r#"{"failed":"timeout","vetoes_pass":true}"#,
            r#"{"probability":0.5,"score":1}"#,
        ] {
            assert!(serde_json::from_str::<Cell>(json).is_err(), "{json}");
        }
        for json in [
            "{}",
            r#"{"failed":"timeout","diagnosis":"PASS"}"#,
            r#"{"not_assessable":"texts_missing","route":"auto"}"#,
            r#"{"diagnosis":"PASS","route":"auto"}"#,
        ] {
            assert!(serde_json::from_str::<End>(json).is_err(), "{json}");
        }
    }
}
