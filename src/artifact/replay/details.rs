//! What a recorded probability alone does not tell, so that it replays to the same judgment.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::{RecordedAnswers, present, without_duplicates};
use crate::domain::Vocabulary as _;
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{
    Evidence, Guard, Judged, Judgment, JudgmentBasis, JudgmentSource, SeenFraction,
};
use crate::domain::probability::Probability;

/// What else is to be known about the answers of a row, by question.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedDetails {
    /// By chunk id.
    #[serde(
        skip_serializing_if = "BTreeMap::is_empty",
        default,
        deserialize_with = "without_duplicates"
    )]
    pub chunk_relevance: BTreeMap<String, RecordedDetail>,
    /// About context sufficiency.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub context_sufficiency: Option<RecordedDetail>,
    /// About context conflict.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub context_conflict: Option<RecordedDetail>,
    /// About answer relevance.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub answer_relevance: Option<RecordedDetail>,
    /// About groundedness.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub groundedness: Option<RecordedDetail>,
    /// About contradiction.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub contradiction: Option<RecordedDetail>,
    /// About correctness.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub correctness: Option<RecordedDetail>,
}

/// What else is to be known about one answer, or why there is none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedDetail {
    /// Why the judge did not answer this question; nothing else stands beside it.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub failed: Option<FailureReason>,
    /// What kind of number it is, if not that of the row.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub source: Option<JudgmentSource>,
    /// The share of the text that the judge saw, if not all of it: above 0 and at most 1.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "share"
    )]
    pub seen_fraction: Option<f64>,
    /// The probability mass on the labels.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub label_mass: Option<Probability>,
    /// How well founded it is; absent is measured.
    #[serde(
        skip_serializing_if = "Option::is_none",
        default,
        deserialize_with = "present"
    )]
    pub basis: Option<JudgmentBasis>,
    /// Whether a guard forbids an automatic PASS.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub vetoes_pass: bool,
    /// The guards that fired.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub guards: Vec<Guard>,
}

fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let share = f64::deserialize(deserializer)?;
    match SeenFraction::new(share) {
        Some(_) => Ok(Some(share)),
        None => Err(serde::de::Error::custom(format_args!(
            "`{share}` is not a share: it must lie above 0 and at most at 1"
        ))),
    }
}

impl RecordedDetails {
    /// The detail about a question: a dimension, and for chunk relevance the id of the chunk.
    pub fn get(&self, dimension: Dimension, chunk_id: Option<&str>) -> Option<&RecordedDetail> {
        match dimension {
            Dimension::ChunkRelevance => self.chunk_relevance.get(chunk_id?),
            Dimension::ContextSufficiency => self.context_sufficiency.as_ref(),
            Dimension::ContextConflict => self.context_conflict.as_ref(),
            Dimension::AnswerRelevance => self.answer_relevance.as_ref(),
            Dimension::Groundedness => self.groundedness.as_ref(),
            Dimension::Contradiction => self.contradiction.as_ref(),
            Dimension::Correctness => self.correctness.as_ref(),
        }
    }

    pub(super) fn put(
        &mut self,
        dimension: Dimension,
        chunk_id: Option<&str>,
        detail: RecordedDetail,
    ) {
        let place = match dimension {
            Dimension::ChunkRelevance => {
                if let Some(chunk_id) = chunk_id {
                    self.chunk_relevance.insert(chunk_id.to_owned(), detail);
                }
                return;
            }
            Dimension::ContextSufficiency => &mut self.context_sufficiency,
            Dimension::ContextConflict => &mut self.context_conflict,
            Dimension::AnswerRelevance => &mut self.answer_relevance,
            Dimension::Groundedness => &mut self.groundedness,
            Dimension::Contradiction => &mut self.contradiction,
            Dimension::Correctness => &mut self.correctness,
        };
        *place = Some(detail);
    }

    /// A detail is about an answer, and a question without one has failed.
    pub(super) fn check(&self, answers: &RecordedAnswers) -> Result<(), String> {
        for (id, detail) in &self.chunk_relevance {
            let is_answered = answers.chunk_relevance.contains_key(id);
            detail.check(&format!("details.chunk_relevance.{id}"), is_answered)?;
        }
        for &dimension in Dimension::ALL {
            if dimension == Dimension::ChunkRelevance {
                continue;
            }
            if let Some(detail) = self.get(dimension, None) {
                let is_answered = answers.whole().any(|(name, _)| name == dimension.name());
                detail.check(&format!("details.{dimension}"), is_answered)?;
            }
        }
        Ok(())
    }
}

impl RecordedDetail {
    /// What is to be known about a judgment besides its probability; `None` if nothing is.
    pub(super) fn of(judgment: &Judgment, source: JudgmentSource) -> Option<Self> {
        let detail = match judgment {
            Judgment::NotApplicable(_) => return None,
            Judgment::Failed(failure) => Self {
                failed: Some(failure.reason),
                ..Self::default()
            },
            Judgment::Judged(judged) => Self {
                failed: None,
                source: (judged.source != source).then_some(judged.source),
                seen_fraction: (!judged.seen_fraction.is_whole())
                    .then_some(judged.seen_fraction.value()),
                label_mass: judged.label_mass,
                basis: (judged.basis != JudgmentBasis::Measured).then_some(judged.basis),
                vetoes_pass: judged.vetoes_pass,
                guards: judged
                    .evidence
                    .as_ref()
                    .map_or_else(Vec::new, |evidence| evidence.guards.clone()),
            },
        };
        (detail != Self::default()).then_some(detail)
    }

    /// Makes a judgment of this kind of number the one that was recorded.
    pub fn complete(&self, judged: &mut Judged) {
        judged.source = self.source.unwrap_or(judged.source);
        judged.seen_fraction = self
            .seen_fraction
            .and_then(SeenFraction::new)
            .unwrap_or(SeenFraction::ALL);
        judged.label_mass = self.label_mass;
        judged.basis = self.basis.unwrap_or(JudgmentBasis::Measured);
        judged.vetoes_pass = self.vetoes_pass;
        judged.evidence = (!self.guards.is_empty()).then(|| {
            Box::new(Evidence {
                guards: self.guards.clone(),
                ..Evidence::default()
            })
        });
    }

    /// Whether it may stand beside an answer, or where there is none.
    pub fn check(&self, place: &str, is_answered: bool) -> Result<(), String> {
        let alone = Self {
            failed: self.failed,
            ..Self::default()
        };
        match self.failed {
            None if !is_answered => Err(format!("{place}: the question has no answer")),
            Some(_) if is_answered => Err(format!(
                "{place}: `failed` stands in place of an answer, not beside one"
            )),
            Some(_) if *self != alone => Err(format!("{place}: `failed` stands alone")),
            None | Some(_) => Ok(()),
        }
    }
}
