//! What a run is made of: a configuration, the cascade of a server, and the first line of the rows file.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, bail};

use super::Args;
use super::inputs::{Inputs, sha256_of};
use crate::app::App;
use crate::artifact::replay::recorded;
use crate::cascade::profile::Profile;
use crate::cli::names::ModeChoice;
use crate::cli::settings;
use crate::config::judges::JudgeConfig;
use crate::config::profiles::ProfileConfig;
use crate::config::{Config, Overrides};
use crate::dataset::load::Survey;
use crate::domain::outcome::{CalibrationState, DecisionVariant, JudgeRole};
use crate::domain::trace::{JudgeId, ProfileName};
use crate::eval::dry_run::Use;
use crate::eval::rows::make::Maker;
use crate::eval::rows::{Header, SCHEMA_VERSION, Shard};
use crate::eval::run::Evaluation;
use crate::judge::composite::Composite;
use crate::judge::decision::Decision;
use crate::judge::remote::RemoteOptions;
use crate::report::model::{DatasetInfo, JudgeInfo, Mode, PricingInfo, SnapshotInfo};
use crate::telemetry::build::VERSION;

/// Slices that a report has at most; the smallest are left out.
const MAX_SLICES: usize = 50;

/// What a run is made of.
pub(super) struct Setup {
    pub(super) config: Config,
    pub(super) app: App,
    pub(super) modes: Vec<Mode>,
    profile: ProfileName,
    live: BTreeSet<JudgeId>,
    /// The judge that takes the least requests at once, and how many these are.
    narrowest: Option<(JudgeId, usize)>,
}

impl Setup {
    /// Reads the configuration and refuses what cannot be run; nobody is asked.
    pub(super) fn new(args: &Args) -> anyhow::Result<Self> {
        let mut config = args.config.load(Overrides::default())?;
        if let Some(file) = &args.replay {
            config = config.replayed(file, &recorded::judges(file)?);
        }
        let name = ProfileName::from(&args.profile);
        let Some(profile) = config.profiles.get(&name) else {
            let known: Vec<_> = config.profiles.keys().map(ProfileName::as_str).collect();
            bail!(
                "profile `{name}` is not configured; configured are {}",
                known.join(", ")
            );
        };
        let modes = modes(args.mode);
        if profile.fallback.is_none() && modes != [Mode::AtomicOnly] {
            bail!(
                "profile `{name}` has no fallback judge, so there is nothing to evaluate in mode `{}`\n\
                 hint: --mode atomic_only evaluates its atomic judge",
                args.mode
            );
        }
        let asked = asked(profile, &modes);
        let live = live(&config, &asked);
        if !live.is_empty() && !args.live && !args.dry_run {
            bail!("{}", refusal(&name, &live, args.replay.as_deref()));
        }
        let narrowest = narrowest(&config, &asked);
        settings::wait_for_turns(&mut config);
        Ok(Self {
            app: settings::build(&config)?,
            live: live.into_iter().collect(),
            profile: name,
            modes,
            narrowest,
            config,
        })
    }

    /// How many rows are evaluated at once: no more than each judge takes, so that none waits for long.
    pub(super) fn rows_at_once(&self, args: &Args) -> usize {
        let wanted = usize::from(args.concurrency);
        let most = self.narrowest.as_ref();
        most.map_or(wanted, |(_, most)| wanted.min((*most).max(1)))
    }

    /// Why there are less rows at once than were asked for, if there are.
    pub(super) fn told_narrowest(&self, args: &Args) -> Option<String> {
        let (rows, wanted) = (self.rows_at_once(args), usize::from(args.concurrency));
        let (id, most) = self.narrowest.as_ref()?;
        (rows < wanted).then(|| {
            format!(
                "{rows} rows at once and not {wanted}: judge `{id}` takes {most} requests at once \
                 (judges.{id}.concurrency.max_in_flight)"
            )
        })
    }

    /// The profile.
    pub(super) fn profile(&self) -> anyhow::Result<&Profile> {
        let profile = self.app.content.cascade.profile(self.profile.as_str());
        profile.context("the profile is not there")
    }

    /// The options of a judge over HTTP.
    pub(super) fn remote(&self, judge_id: &JudgeId) -> Option<RemoteOptions> {
        match self.config.judges.get(judge_id)? {
            JudgeConfig::Remote { options, .. } => Some((**options).clone()),
            JudgeConfig::Embedded { .. } | JudgeConfig::Onnx(_) | JudgeConfig::Replay { .. } => {
                None
            }
        }
    }

    /// The first line of the rows file.
    pub(super) fn header(&self, args: &Args, survey: &Survey) -> anyhow::Result<Header> {
        let profile = self.profile()?;
        let pricing = self.app.content.cascade.pricing();
        let mut slices: Vec<(&String, u64)> = survey.slices.iter().map(|(n, c)| (n, *c)).collect();
        slices.sort_by(|(name, count), (other, more)| more.cmp(count).then(name.cmp(other)));
        let left_out = slices.len().saturating_sub(MAX_SLICES) as u64;
        slices.truncate(MAX_SLICES);
        let mut slices: Vec<String> = slices.into_iter().map(|(name, _)| name.clone()).collect();
        slices.sort_unstable();
        Ok(Header {
            schema_version: SCHEMA_VERSION,
            program_version: VERSION.to_owned(),
            dataset: DatasetInfo {
                file: survey.file.clone(),
                sha256: survey.sha256.clone(),
                row_count: survey.row_count,
                labelled_diagnosis_count: survey.labelled_diagnosis_count,
            },
            shard: args.shard.unwrap_or(Shard::WHOLE),
            modes: self.modes.clone(),
            is_live: !self.live.is_empty(),
            profile: self.profile.to_string(),
            policy: SnapshotInfo {
                id: profile.policy.id.id.to_string(),
                sha256: profile.policy.id.sha256.to_string(),
            },
            policy_text: profile.policy.text.to_string(),
            calibration_state: CalibrationState::Uncalibrated,
            decision_version: Decision::of(DecisionVariant::WithReference)
                .version
                .to_owned(),
            pricing: pricing.map(|pricing| PricingInfo {
                id: pricing.id.id.to_string(),
                sha256: pricing.id.sha256.to_string(),
                as_of: pricing.as_of.clone(),
            }),
            judges: self.judges(profile)?,
            parity: args.parity,
            slices,
            slices_left_out: left_out,
        })
    }

    /// Every judge of the profile, with the digest of what it is replayed from.
    fn judges(&self, profile: &Profile) -> anyhow::Result<Vec<JudgeInfo>> {
        let mut judges = judges(profile);
        for judge in &mut judges {
            let id = JudgeId::from(&judge.judge_id);
            if let Some(JudgeConfig::Replay { file, .. }) = self.config.judges.get(&id) {
                let digest = sha256_of(file);
                let digest = digest.with_context(|| format!("cannot read `{}`", file.display()))?;
                judge.answers_sha256 = Some(digest);
            }
        }
        Ok(judges)
    }

    /// The files that a run reads from its first row to its last.
    pub(super) fn inputs(&self, data: &Path) -> anyhow::Result<Inputs> {
        let replayed = self.config.judges.values().filter_map(|judge| match judge {
            JudgeConfig::Replay { file, .. } => Some(file.clone()),
            JudgeConfig::Embedded { .. } | JudgeConfig::Onnx(_) | JudgeConfig::Remote { .. } => {
                None
            }
        });
        Inputs::of(replayed.chain([data.to_owned()]))
    }

    /// How every row is evaluated.
    pub(super) fn evaluation(&self, args: &Args, header: &Header) -> anyhow::Result<Evaluation> {
        let profile = self.profile()?;
        let first = |composite: Option<&Composite>| {
            let member = composite.and_then(|composite| composite.members().next());
            member.map_or_else(String::new, |info| info.judge_id.to_string())
        };
        let (atomic, fallback) = (
            first(Some(&profile.atomic)),
            first(profile.fallback.as_ref()),
        );
        Ok(Evaluation {
            cascade: std::sync::Arc::clone(&self.app.content.cascade),
            profile: self.profile.to_string(),
            limits: self.config.limits,
            modes: self.modes.clone(),
            maker: Maker::new(&header.slices, atomic, fallback),
            records: args.record.is_some(),
            live: self.live.clone(),
        })
    }
}

/// The modes in order.
fn modes(choice: ModeChoice) -> Vec<Mode> {
    match choice {
        ModeChoice::AtomicOnly => vec![Mode::AtomicOnly],
        ModeChoice::BaselineOnly => vec![Mode::BaselineOnly],
        ModeChoice::Cascade => vec![Mode::Cascade],
        ModeChoice::All => vec![Mode::AtomicOnly, Mode::BaselineOnly, Mode::Cascade],
    }
}

/// The judges that are asked.
fn asked(profile: &ProfileConfig, modes: &[Mode]) -> BTreeSet<JudgeId> {
    let roles: Vec<_> = Use::of(modes).into_iter().map(Use::role).collect();
    let mut asked = BTreeSet::new();
    if roles.contains(&JudgeRole::Atomic) {
        asked.extend(profile.atomic.judges().into_iter().cloned());
    }
    if roles.contains(&JudgeRole::Fallback) {
        asked.extend(profile.fallback.clone());
    }
    asked
}

/// Those of them that are asked over HTTP.
fn live(config: &Config, asked: &BTreeSet<JudgeId>) -> Vec<JudgeId> {
    let is_live = |id: &&JudgeId| match config.judges.get(*id) {
        Some(JudgeConfig::Remote { .. }) => true,
        Some(JudgeConfig::Embedded { .. } | JudgeConfig::Onnx(_) | JudgeConfig::Replay { .. })
        | None => false,
    };
    asked.iter().filter(is_live).cloned().collect()
}

/// The judge that takes the least requests at once.
fn narrowest(config: &Config, asked: &BTreeSet<JudgeId>) -> Option<(JudgeId, usize)> {
    let limits = asked.iter().filter_map(|id| match config.judges.get(id)? {
        JudgeConfig::Remote { options, .. } => {
            Some((id.clone(), options.endpoint.concurrency.max_in_flight))
        }
        JudgeConfig::Embedded { .. } | JudgeConfig::Onnx(_) | JudgeConfig::Replay { .. } => None,
    });
    limits.min_by_key(|(_, most)| *most)
}

fn refusal(profile: &ProfileName, live: &[JudgeId], replay: Option<&Path>) -> String {
    let names: Vec<_> = live.iter().map(|id| format!("`{id}`")).collect();
    let mut told = format!(
        "profile `{profile}` would ask judges over HTTP, which may cost money: {}",
        names.join(", ")
    );
    if let Some(replay) = replay {
        // Writing to a string cannot fail.
        write!(told, "; `{}` holds no answers of these", replay.display()).ok();
    }
    told + "\nhint: --live asks them, --replay FILE takes their answers from a recording"
}

fn judges(profile: &Profile) -> Vec<JudgeInfo> {
    let of = |composite: &Composite, role| {
        let members = composite.members();
        let infos = members.map(|info| JudgeInfo {
            judge_id: info.judge_id.to_string(),
            role,
            judge_type: info.judge_type.to_string(),
            requested_model: info.requested_model,
            returned_models: Vec::new(),
            answers_sha256: None,
        });
        infos.collect::<Vec<_>>()
    };
    let mut judges = of(&profile.atomic, JudgeRole::Atomic);
    if let Some(fallback) = &profile.fallback {
        judges.extend(of(fallback, JudgeRole::Fallback));
    }
    judges
}
