//! Blocking: what keeps a rule from firing and what stands in the way of a PASS.
//!
//! A rule is held back by earlier dimensions that the policy wants known to be good, a PASS by every required dimension
//! that is not settled. An advisory dimension blocks nothing, save that a generator is never blamed for a context that
//! may be a miss.

use super::case::{Case, Value};
use crate::domain::diagnosis::{BlockCause, Rule};
use crate::domain::dimension::{Dimension, DimensionMap, DimensionRole, Polarity};
use crate::domain::judgment::Judgment;
use crate::domain::question::Question;
use crate::policy::band::Band;
use crate::policy::{ChunkRule, UpstreamRule};

use Dimension::ChunkRelevance;

/// Why each dimension stands in the way.
pub(super) type Blocking = DimensionMap<Option<BlockCause>>;

pub(super) fn nothing_blocks() -> Blocking {
    DimensionMap::from_fn(|_| None)
}

pub(super) fn is_clear(blocking: &Blocking) -> bool {
    blocking.iter().all(|(_, cause)| cause.is_none())
}

impl<'a> Case<'a> {
    /// Why an earlier dimension keeps a rule from firing; `None` if it does not.
    pub(super) fn upstream_cause(&self, rule: Rule, dimension: Dimension) -> Option<BlockCause> {
        let blames_generator = matches!(rule, Rule::Ungrounded | Rule::Incorrect);
        let must_be_good = match self.policy.upstream {
            UpstreamRule::AsListed => return None,
            UpstreamRule::Confident => {
                blames_generator && Dimension::RETRIEVAL.contains(&dimension)
            }
            UpstreamRule::Strict => true,
        };
        match self.role(dimension) {
            DimensionRole::Required if must_be_good => self.not_known_good(dimension),
            // Even where chunk relevance is advisory, a generator is blamed only for a context that is not a miss.
            DimensionRole::Advisory if blames_generator && dimension == ChunkRelevance => {
                self.chunk_cause(|value| value.band != Band::Negative)
            }
            DimensionRole::Required | DimensionRole::Advisory | DimensionRole::Off => None,
        }
    }

    /// Why a dimension is not known to be good; `None` if it is, or does not apply.
    fn not_known_good(&self, dimension: Dimension) -> Option<BlockCause> {
        if dimension == ChunkRelevance {
            return self.chunk_cause(|value| value.band == Band::Positive);
        }
        let question = Question::about(dimension);
        let claims_absence = dimension.polarity() == Polarity::BadWhenTrue;
        match self.value(question) {
            Some(value) if !value.is_good() => {
                self.open_value_cause(&value).or(Some(BlockCause::Upstream))
            }
            Some(value) if claims_absence && !value.is_whole() => Some(BlockCause::PartlySeen),
            Some(_) => None,
            None => self.open_cause(question),
        }
    }

    /// Notes why required dimensions block a PASS.
    pub(super) fn block_required(
        &self,
        dimensions: impl IntoIterator<Item = Dimension>,
        blocking: &mut Blocking,
    ) {
        for dimension in dimensions {
            if self.role(dimension) == DimensionRole::Required
                && let Some(cause) = self.pass_cause(dimension)
            {
                blocking[dimension].get_or_insert(cause);
            }
        }
    }

    /// Why a required dimension blocks a PASS; `None` if it does not.
    fn pass_cause(&self, dimension: Dimension) -> Option<BlockCause> {
        if dimension == ChunkRelevance {
            return match self.policy.chunk_rule {
                ChunkRule::All => self.open_chunk_cause(),
                ChunkRule::Best | ChunkRule::None => {
                    self.chunk_cause(|value| self.meets_chunk_rule(value))
                }
            };
        }
        let question = Question::about(dimension);
        let Some(value) = self.value(question) else {
            return self.open_cause(question);
        };
        self.open_value_cause(&value)
            .or_else(|| (!value.is_good()).then_some(BlockCause::Upstream))
    }

    /// Whether a PASS may stand on a chunk.
    pub(super) fn meets_chunk_rule(&self, value: &Value<'a>) -> bool {
        let is_relevant = match self.policy.chunk_rule {
            ChunkRule::All | ChunkRule::Best => value.band == Band::Positive,
            ChunkRule::None => value.band != Band::Negative,
        };
        is_relevant && value.is_whole() && !value.is_vetoed
    }

    /// Why no chunk meets a condition; `None` if one does, or if there is none that could.
    fn chunk_cause(&self, condition: impl Fn(&Value<'a>) -> bool) -> Option<BlockCause> {
        self.applicable(ChunkRelevance).next()?;
        if self.values(ChunkRelevance).any(|value| condition(&value)) {
            return None;
        }
        self.open_chunk_cause().or(Some(BlockCause::ChunkRule))
    }

    /// The gravest cause for which a chunk is open; the band of a chunk reads as the chunk rule.
    fn open_chunk_cause(&self) -> Option<BlockCause> {
        self.applicable(ChunkRelevance)
            .filter_map(|question| self.open_cause(question))
            .map(|cause| match cause {
                BlockCause::Band => BlockCause::ChunkRule,
                other => other,
            })
            .min_by_key(|cause| match cause {
                BlockCause::Failed(_) => 0,
                BlockCause::PartlySeen => 1,
                BlockCause::Veto => 2,
                BlockCause::Band | BlockCause::ChunkRule | BlockCause::Upstream => 3,
            })
    }

    /// Why a judgment is open, that is, could be settled by asking another judge; `None` if it is settled.
    pub(super) fn open_cause(&self, question: Question) -> Option<BlockCause> {
        match &self.judgments[question] {
            Judgment::Judged(_) => self.open_value_cause(&self.value(question)?),
            Judgment::Failed(failure) => (self.role(question.dimension()) != DimensionRole::Off)
                .then_some(BlockCause::Failed(failure.reason)),
            Judgment::NotApplicable(_) => None,
        }
    }

    fn open_value_cause(&self, value: &Value<'a>) -> Option<BlockCause> {
        if value.band == Band::Uncertain {
            Some(BlockCause::Band)
        } else if !value.is_whole() {
            Some(BlockCause::PartlySeen)
        } else if value.is_vetoed && (value.is_good() || self.counts_every_chunk(value)) {
            Some(BlockCause::Veto)
        } else {
            None
        }
    }

    /// Whether a PASS needs this chunk settled, relevant or not.
    fn counts_every_chunk(&self, value: &Value<'a>) -> bool {
        value.dimension() == ChunkRelevance && self.policy.chunk_rule == ChunkRule::All
    }
}
