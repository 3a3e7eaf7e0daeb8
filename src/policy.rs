//! Policies: from judgments to a diagnosis, purely and deterministically.
//!
//! A policy is thresholds, roles and a precedence of rules. It sees one probability per judgment and nothing else: no
//! clock, no judge, no configuration. The same judgments give the same ruling, bit for bit.

pub mod action;
pub mod band;
mod rules;
pub mod thresholds;

use std::collections::BTreeMap;

use self::action::ActionTable;
use self::band::Band;
use self::thresholds::Thresholds;
use crate::domain::dimension::Dimension;
use crate::domain::dimension::{DimensionMap, DimensionRole};
use crate::domain::judgment::Judged;
use crate::domain::outcome::JudgeRole;
use crate::domain::trace::JudgeId;
use crate::domain::vocabulary;

pub use self::rules::{diagnose, open_questions};

/// Thresholds, roles and options.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Its name.
    pub id: String,
    /// Thresholds and role of each dimension.
    pub dimensions: DimensionMap<DimensionPolicy>,
    /// Thresholds for judgments that one judge gave in the fallback role, where they differ.
    pub fallback: BTreeMap<JudgeId, DimensionMap<Option<Thresholds>>>,
    /// Which chunks must be outside the uncertain band for a PASS.
    pub chunk_rule: ChunkRule,
    /// What must be known to be good before a rule may fire.
    pub upstream: UpstreamRule,
    /// Whether groundedness and contradiction may rest on earlier turns too.
    pub history_is_evidence: bool,
    /// What the caller should do.
    pub actions: ActionTable,
}

/// Thresholds and role of a dimension.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DimensionPolicy {
    /// Its thresholds; without them it is off.
    pub thresholds: Option<Thresholds>,
    /// Its role.
    pub role: DimensionRole,
}

vocabulary! {
    /// Which chunks must be outside the uncertain band for a PASS, while chunk relevance is required.
    "chunk rule"
    pub enum ChunkRule {
        /// All of them.
        All = "all",
        /// The most relevant one, which must be positive.
        Best = "best",
        /// None, but one must be known to be above `fail_at`.
        None = "none",
    }
}

vocabulary! {
    /// What must be known to be good before a rule may fire.
    "upstream rule"
    pub enum UpstreamRule {
        /// Nothing: the rules fire as listed.
        AsListed = "as_listed",
        /// Retrieval, before a generator is blamed.
        Confident = "confident",
        /// Every earlier dimension, before any rule fires.
        Strict = "strict",
    }
}

impl Policy {
    /// The role of a dimension; without thresholds it is off.
    pub fn role(&self, dimension: Dimension) -> DimensionRole {
        let DimensionPolicy { thresholds, role } = self.dimensions[dimension];
        thresholds.map_or(DimensionRole::Off, |_| role)
    }

    /// The thresholds that a judgment is held against; `None` for a dimension that is off.
    pub fn thresholds(&self, dimension: Dimension, judged: &Judged) -> Option<Thresholds> {
        self.pair(dimension, judged.role, &judged.judge_id)
    }

    /// The thresholds for the answers of a judge in a role; `None` for a dimension that is off.
    pub fn pair(
        &self,
        dimension: Dimension,
        role: JudgeRole,
        judge_id: &JudgeId,
    ) -> Option<Thresholds> {
        if self.role(dimension) == DimensionRole::Off {
            return None;
        }
        let own = match role {
            JudgeRole::Atomic => None,
            JudgeRole::Fallback => self
                .fallback
                .get(judge_id)
                .and_then(|pairs| pairs[dimension]),
        };
        own.or(self.dimensions[dimension].thresholds)
    }

    /// Where a judgment lies; `None` for a dimension that is off.
    pub fn band(&self, dimension: Dimension, judged: &Judged) -> Option<Band> {
        self.thresholds(dimension, judged)
            .map(|thresholds| thresholds.band(judged.probability))
    }
}
