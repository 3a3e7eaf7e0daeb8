//! A configuration over recorded answers, and what of it would be asked over a network.

use std::collections::BTreeSet;
use std::path::Path;

use super::Config;
use super::judges::JudgeConfig;
use crate::domain::trace::{JudgeId, ProfileName};
use crate::judge::replay::{ReplayMatch, ReplayOptions};

impl Config {
    /// The same with the answers in `file` in place of every judge over HTTP that is among `recorded`.
    ///
    /// Such a judge keeps its name and its model, so that a policy and a price table apply to it as before.
    #[must_use]
    pub fn replayed(mut self, file: &Path, recorded: &BTreeSet<JudgeId>) -> Self {
        for (id, judge) in &mut self.judges {
            let JudgeConfig::Remote { options, .. } = judge else {
                continue;
            };
            if recorded.contains(id) {
                let options = ReplayOptions {
                    model: Some(options.model.model.clone()),
                    matching: ReplayMatch::InputSha256,
                    simulate_latency: false,
                };
                *judge = JudgeConfig::Replay {
                    file: file.to_owned(),
                    options,
                };
            }
        }
        self
    }

    /// The judges over HTTP that a profile binds, in the order of their names.
    pub fn live_judges(&self, profile: &ProfileName) -> Vec<JudgeId> {
        let Some(profile) = self.profiles.get(profile) else {
            return Vec::new();
        };
        let mut bound = profile.atomic.judges();
        bound.extend(&profile.fallback);
        let is_live = |id: &&JudgeId| match self.judges.get(*id) {
            Some(JudgeConfig::Remote { .. }) => true,
            Some(
                JudgeConfig::Embedded { .. } | JudgeConfig::Onnx(_) | JudgeConfig::Replay { .. },
            )
            | None => false,
        };
        bound.into_iter().filter(is_live).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::{self, Overrides};

    const TEXT: &str = "[judges.fast]\ntype = 'systemone'\nbase_url = 'https://j.example'\nmodel = 'm1'\n\
        [judges.slow]\ntype = 'chat'\nbase_url = 'https://j.example'\nmodel = 'm2'\n\
        [profiles.p]\natomic = 'fast'\nfallback = 'slow'\n[profiles.q]\natomic = 'embedded'\nfallback = 'slow'";

    fn loaded() -> Config {
        config::load(
            Some(("c.toml", TEXT)),
            &BTreeMap::new(),
            Overrides::default(),
        )
        .unwrap()
    }

    #[test]
    fn a_judge_with_recorded_answers_keeps_its_name_and_model_and_is_not_live() {
        let config = loaded();
        assert_eq!(
            config.live_judges(&"p".into()),
            [JudgeId::from("fast"), "slow".into()]
        );
        let recorded = BTreeSet::from(["fast".into(), "embedded".into(), "unknown".into()]);
        let replayed = config.clone().replayed(Path::new("r.jsonl"), &recorded);
        assert_eq!(replayed.live_judges(&"p".into()), ["slow".into()]);
        assert_eq!(replayed.live_judges(&"q".into()), ["slow".into()]);
        assert_eq!(replayed.live_judges(&"none".into()), []);
        let JudgeConfig::Replay { file, options } = &replayed.judges[&"fast".into()] else {
            panic!("it is not replayed");
        };
        assert_eq!(file, Path::new("r.jsonl"));
        assert_eq!(options.model.as_deref(), Some("m1"));
        assert_eq!(options.matching, ReplayMatch::InputSha256);
        for same in ["slow", "embedded"] {
            assert_eq!(replayed.judges[&same.into()], config.judges[&same.into()]);
        }
    }
}
