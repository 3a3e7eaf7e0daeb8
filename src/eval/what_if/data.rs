//! What a dataset tells about recorded rows: labels, and for replay rows what does not apply.
//!
//! Rows are matched by trace id. Texts are not kept.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::recorded::{Cell, Recorded};
use crate::cascade::plan::{Plan, Scope, plan};
use crate::dataset::load::{self, DatasetError};
use crate::domain::diagnosis::Diagnosis;
use crate::domain::dimension::{DimensionMap, DimensionRole};
use crate::domain::failure::NotApplicableReason;
use crate::domain::judgment::Judgment;
use crate::domain::question::PerQuestion;
use crate::domain::trace::TraceLimits;
use crate::policy::action::ActionTable;
use crate::policy::{ChunkRule, DimensionPolicy, Policy, UpstreamRule};
use crate::text;

/// A trace that was judged is not turned away here.
const UNLIMITED: TraceLimits = TraceLimits {
    max_chunk_count: usize::MAX,
    max_text_bytes: usize::MAX,
    max_history_turns: usize::MAX,
};

/// The dataset by trace id.
#[derive(Debug)]
pub struct Dataset(HashMap<Box<str>, Known>);

/// What is kept of one row.
#[derive(Debug)]
struct Known {
    label: Option<Diagnosis>,
    abstains: bool,
    /// What does not apply whatever the policy; `None` if the trace cannot be judged.
    structure: Option<PerQuestion<Option<NotApplicableReason>>>,
    chunk_ids: Box<[Box<str>]>,
}

impl Dataset {
    /// Reads a dataset.
    pub fn read(path: &Path) -> Result<Self, DatasetError> {
        let everything = everything();
        let mut known = HashMap::new();
        for row in load::rows(path)? {
            let row = row?;
            let label = row.record.expected.as_ref().and_then(|e| e.diagnosis);
            let place = row.place;
            let trace = row
                .record
                .trace(&UNLIMITED)
                .map_err(|error| DatasetError::Lines(place.error(error.to_string()).into()))?;
            let structure = match plan(&trace, &everything, Scope::Full) {
                Plan::NotAssessable(_) => None,
                Plan::Judge { base, .. } => Some(base.map(|_, judgment| match judgment {
                    Judgment::NotApplicable(reason) => Some(*reason),
                    Judgment::Judged(_) | Judgment::Failed(_) => None,
                })),
            };
            let ids = trace
                .chunks
                .iter()
                .map(|chunk| chunk.chunk_id.as_str().into());
            let entry = Known {
                label,
                abstains: !trace.answer_is_blank() && text::abstention::abstains(&trace.answer),
                structure,
                chunk_ids: ids.collect(),
            };
            known.insert(trace.trace_id.as_str().into(), entry);
        }
        Ok(Self(known))
    }

    /// Adds the label of a row; whether the dataset has the row.
    pub fn label(&self, row: &mut Recorded<'_>) -> bool {
        let known = self.0.get(&*row.trace_id);
        row.label = known.and_then(|known| known.label);
        known.is_some()
    }

    /// Adds everything that a replay row does not tell about its trace; whether the dataset has the row. A chunk that the
    /// trace does not have is the error.
    pub fn complete<'a>(&'a self, row: &mut Recorded<'a>) -> Result<bool, String> {
        let Some(known) = self.0.get(&*row.trace_id) else {
            return Ok(false);
        };
        row.label = known.label;
        row.abstains = Some(known.abstains);
        row.is_assessable = known.structure.is_some();
        let (Some(structure), Some(leg)) = (&known.structure, &mut row.atomic) else {
            return Ok(true);
        };
        let mut cells: Vec<_> = (0..known.chunk_ids.len()).map(|_| Cell::Absent).collect();
        for (id, cell) in leg.chunk_ids.iter().zip(leg.chunks.drain(..)) {
            match known.chunk_ids.iter().position(|known| **known == **id) {
                Some(ordinal) => cells[ordinal] = cell,
                None if matches!(cell, Cell::Absent) => (),
                None => {
                    return Err(format!(
                        "chunk `{id}` is not one of the trace in the dataset"
                    ));
                }
            }
        }
        leg.chunk_ids = known.chunk_ids.iter().map(|id| (&**id).into()).collect();
        leg.chunks = cells;
        row.chunk_count = leg.chunks.len();
        for (question, reason) in structure.iter() {
            if let Some(reason) = reason {
                *leg.cell_mut(question) = Cell::NotApplicable(*reason);
            }
        }
        Ok(true)
    }
}

/// A policy that asks everything, so that only the trace itself can tell what does not apply.
fn everything() -> Policy {
    Policy {
        id: String::new(),
        dimensions: DimensionMap::from_fn(|_| DimensionPolicy {
            thresholds: None,
            role: DimensionRole::Required,
        }),
        fallback: BTreeMap::new(),
        chunk_rule: ChunkRule::Best,
        upstream: UpstreamRule::Confident,
        history_is_evidence: false,
        actions: ActionTable::default(),
    }
}
