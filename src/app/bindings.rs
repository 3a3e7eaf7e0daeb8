//! Who answers what in the end: what a model does not answer goes on to the embedded judge.

use anyhow::bail;

use super::Judges;
use crate::config::judges::EMBEDDED;
use crate::config::profiles::AtomicBinding;
use crate::domain::Vocabulary as _;
use crate::domain::dimension::{Dimension, DimensionMap};
use crate::domain::trace::{JudgeId, ProfileName};
use crate::judge::JudgeType;

/// The binding of a profile with a judge for every dimension.
///
/// A judge that is named for all dimensions need not answer all of them; one that is named for a dimension must.
pub(super) fn whole(
    profile: &ProfileName,
    binding: &AtomicBinding,
    judges: &Judges,
) -> anyhow::Result<AtomicBinding> {
    let answers = |id: &JudgeId, dimension: Dimension| {
        judges.get(id).is_none_or(|judge| {
            let info = judge.info();
            info.judge_type != JudgeType::Onnx || info.dimensions.contains(dimension)
        })
    };
    match binding {
        AtomicBinding::One(id) if Dimension::ALL.iter().all(|&d| answers(id, d)) => {}
        AtomicBinding::One(id) => {
            let embedded = JudgeId::from(EMBEDDED);
            return Ok(AtomicBinding::ByDimension(DimensionMap::from_fn(|d| {
                if answers(id, d) { id } else { &embedded }.clone()
            })));
        }
        AtomicBinding::ByDimension(ids) => {
            if let Some((dimension, id)) = ids.iter().find(|(d, id)| !answers(id, *d)) {
                bail!(
                    "profiles.{profile}.atomic.{dimension}: the model of the judge `{id}` does not answer it"
                );
            }
        }
    }
    Ok(binding.clone())
}
