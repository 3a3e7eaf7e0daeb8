//! `[profiles.NAME]`: which judges, which policy, and what its verdict is worth.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::judges::{EMBEDDED, JudgeConfig};
use super::raw;
use super::reader::Reader;
use crate::artifact::policy::BUILT_IN;
use crate::cascade::profile::{FallbackMode, OnAtomicError};
use crate::domain::Vocabulary as _;
use crate::domain::dimension::{Dimension, DimensionMap};
use crate::domain::outcome::Enforcement;
use crate::domain::probability::Probability;
use crate::domain::trace::{JudgeId, ProfileName};
use crate::judge::JudgeType;
use crate::judge::view::Field;

/// The profile that always exists.
pub const DEFAULT_PROFILE: &str = "default";
/// The policy of a profile that names none.
const DEFAULT_POLICY: &str = "lexical-default";

/// How traces of a profile are judged.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileConfig {
    /// Who is asked first.
    pub atomic: AtomicBinding,
    /// Who is asked when the first judges are uncertain or fail.
    pub fallback: Option<JudgeId>,
    /// Whether the fallback judge is asked.
    pub fallback_mode: FallbackMode,
    /// What happens when the atomic judge fails as a whole.
    pub on_atomic_error: OnAtomicError,
    /// What decides.
    pub policy: PolicyRef,
    /// Whether its action is in force.
    pub enforcement: Enforcement,
    /// The share of traces for which it is, when it is.
    pub enforce_share: Probability,
}

/// Who answers which dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AtomicBinding {
    /// One judge answers all.
    One(JudgeId),
    /// At least two judges share the dimensions.
    ByDimension(DimensionMap<JudgeId>),
}

/// Where a policy comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyRef {
    /// A policy inside the program, by its name.
    BuiltIn(&'static str),
    /// A file.
    File(PathBuf),
}

impl Default for ProfileConfig {
    fn default() -> Self {
        Self {
            atomic: AtomicBinding::One(JudgeId::from(EMBEDDED)),
            fallback: None,
            fallback_mode: FallbackMode::Inline,
            on_atomic_error: OnAtomicError::Fallback,
            policy: PolicyRef::BuiltIn(DEFAULT_POLICY),
            enforcement: Enforcement::Shadow,
            enforce_share: Probability::ONE,
        }
    }
}

impl AtomicBinding {
    /// The judge of a dimension.
    pub fn judge(&self, dimension: Dimension) -> &JudgeId {
        match self {
            Self::One(judge) => judge,
            Self::ByDimension(judges) => &judges[dimension],
        }
    }

    /// The judges, each once, in the order of their names.
    pub fn judges(&self) -> BTreeSet<&JudgeId> {
        let dimensions = Dimension::ALL.iter();
        dimensions.map(|&dimension| self.judge(dimension)).collect()
    }
}

/// The profiles without any configuration.
pub(super) fn default_profiles() -> BTreeMap<ProfileName, ProfileConfig> {
    BTreeMap::from([(ProfileName::from(DEFAULT_PROFILE), ProfileConfig::default())])
}

/// Reads every `[profiles.NAME]` that can be read.
pub(super) fn profiles(
    reader: &mut Reader<'_, '_>,
    judges: &BTreeMap<JudgeId, JudgeConfig>,
    profiles: &mut BTreeMap<ProfileName, ProfileConfig>,
) {
    for name in reader.names(&["profiles"]) {
        reader.name(&["profiles", &name]);
        if let Some(written) = reader.section::<raw::Profile>(&["profiles", &name]) {
            let profile = profile(reader, &name, written);
            verbalized(reader, &name, &profile.atomic, judges);
            profiles.insert(ProfileName::from(name), profile);
        }
    }
}

/// The parts of a trace without which a judge cannot answer.
pub(super) const fn rests_on(dimension: Dimension) -> &'static [Field] {
    match dimension {
        Dimension::ChunkRelevance | Dimension::ContextSufficiency | Dimension::ContextConflict => {
            &[Field::Question, Field::Chunks]
        }
        Dimension::AnswerRelevance => &[Field::Question, Field::Answer],
        Dimension::Groundedness | Dimension::Contradiction => &[Field::Chunks, Field::Answer],
        Dimension::Correctness => &[Field::Question, Field::Answer, Field::ReferenceAnswer],
    }
}

/// Warns of atomic judges whose probabilities are words.
fn verbalized(
    reader: &mut Reader<'_, '_>,
    name: &str,
    atomic: &AtomicBinding,
    judges: &BTreeMap<JudgeId, JudgeConfig>,
) {
    for id in atomic.judges() {
        let judge_type = judges.get(id).map(JudgeConfig::judge_type);
        if let Some(judge_type @ (JudgeType::Chat | JudgeType::Anthropic)) = judge_type {
            let message = format!(
                "`{id}` is of type `{judge_type}`: its judgments are verbalized (1, 0.5 or 0) and uncalibrated"
            );
            reader.warning(&["profiles", name, "atomic"], message);
        }
    }
}

fn profile(reader: &mut Reader<'_, '_>, name: &str, written: raw::Profile) -> ProfileConfig {
    let default = ProfileConfig::default();
    let policy = written.policy.map(|value| policy(reader, name, &value));
    let mut profile = ProfileConfig {
        atomic: written
            .atomic
            .map_or(default.atomic, |value| atomic(reader, name, value)),
        fallback: written.fallback.map(JudgeId::from),
        fallback_mode: written.fallback_mode.unwrap_or(default.fallback_mode),
        on_atomic_error: written.on_atomic_error.unwrap_or(default.on_atomic_error),
        policy: policy.unwrap_or(default.policy),
        enforcement: written.enforcement.unwrap_or(default.enforcement),
        enforce_share: default.enforce_share,
    };
    let path = ["profiles", name, "enforce_share"];
    reader.share(&path, written.enforce_share, &mut profile.enforce_share);
    if let Some(fallback) = &profile.fallback {
        let path = ["profiles", name, "fallback"];
        known_judge(reader, &path, fallback.as_str());
        if profile.atomic == AtomicBinding::One(fallback.clone()) {
            let message =
                format!("`{fallback}` is the only atomic judge too; it would be asked twice");
            reader.warning(&path, message);
        }
    }
    profile
}

fn atomic(reader: &mut Reader<'_, '_>, name: &str, written: raw::Atomic) -> AtomicBinding {
    let path = ["profiles", name, "atomic"];
    let written = match written {
        raw::Atomic::One(judge) => {
            known_judge(reader, &path, &judge);
            return AtomicBinding::One(JudgeId::from(judge));
        }
        raw::Atomic::ByDimension(written) => written,
    };
    for (dimension, judge) in &written {
        let dimension = dimension.to_string();
        known_judge(reader, &[path[0], path[1], path[2], &dimension], judge);
    }
    let judges = DimensionMap::from_fn(|dimension| {
        JudgeId::from(written.get(&dimension).map_or(EMBEDDED, String::as_str))
    });
    let binding = AtomicBinding::ByDimension(judges);
    let names = binding.judges();
    match names.first() {
        Some(&only) if names.len() == 1 => AtomicBinding::One(only.clone()),
        _ => binding,
    }
}

fn known_judge(reader: &mut Reader<'_, '_>, path: &[&str], judge: &str) {
    if judge == EMBEDDED || reader.sources.get(&["judges", judge]).is_some() {
        return;
    }
    let configured = reader
        .sources
        .get(&["judges"])
        .and_then(|value| value.get_ref().as_table());
    let mut known: BTreeSet<&str> = BTreeSet::from([EMBEDDED]);
    known.extend(
        configured
            .into_iter()
            .flat_map(|table| table.keys().map(|key| &**key.get_ref())),
    );
    let known: Vec<_> = known.into_iter().map(|name| format!("`{name}`")).collect();
    reader.problem(
        path,
        format!(
            "`{judge}` is not a configured judge; one of {}",
            known.join(", ")
        ),
    );
}

fn policy(reader: &mut Reader<'_, '_>, name: &str, written: &str) -> PolicyRef {
    if written.contains('/') || written.ends_with(".toml") {
        return PolicyRef::File(reader.file(&["profiles", name, "policy"], written));
    }
    match BUILT_IN.into_iter().find(|(known, _)| *known == written) {
        Some((known, _)) => PolicyRef::BuiltIn(known),
        None => {
            let known = BUILT_IN.map(|(known, _)| format!("`{known}`")).join(", ");
            let message = format!(
                "`{written}` is not a built-in policy; one of {known}, or a file with `/` or the ending `.toml`"
            );
            reader.problem(&["profiles", name, "policy"], message);
            PolicyRef::BuiltIn(DEFAULT_POLICY)
        }
    }
}
