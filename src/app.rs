//! Wiring: from a configuration to a cascade that diagnoses.
//!
//! Everything that runs a cascade gets it from here, so that what is served and what is evaluated is the same.

mod bindings;
mod remote;
pub mod replayed;
pub mod warm;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};

use self::remote::Remote;
use crate::artifact::policy::PolicySnapshot;
use crate::artifact::pricing::PricingSnapshot;
use crate::artifact::replay::recorded::{self, Recorded};
use crate::artifact::{policy, pricing};
use crate::cascade::Cascade;
use crate::cascade::profile::Profile;
use crate::cascade::spend::Ledger;
use crate::config::Config;
use crate::config::judges::JudgeConfig;
use crate::config::profiles::{AtomicBinding, PolicyRef, ProfileConfig};
use crate::domain::Vocabulary as _;
use crate::domain::dimension::DimensionMap;
use crate::domain::outcome::JudgeRole;
use crate::domain::trace::{JudgeId, ProfileName};
use crate::judge::Judge;
use crate::judge::composite::Composite;
use crate::judge::embedded::EmbeddedJudge;
use crate::judge::onnx;
use crate::judge::replay::ReplayJudge;
use crate::rpc::status::{ErrorReason, code_names};
use crate::server::Content;
use crate::server::layers::METHODS;
use crate::telemetry::metrics::{MetricNames, Metrics};

/// Where the files are that a configuration names.
#[derive(Clone, Copy)]
pub enum Files<'a> {
    /// On this machine; recorded answers are read from there as they are needed.
    Disk,
    /// In memory, by name.
    Texts(&'a dyn Fn(&Path) -> io::Result<String>),
}

/// Looks up a variable of the environment that holds a secret.
pub type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The judges by their names.
pub type Judges = BTreeMap<JudgeId, Arc<dyn Judge>>;

/// What a configuration runs, and what is odd about it.
pub struct App {
    /// What a server serves.
    pub content: Content,
    /// Every judge that is configured, whether or not a profile asks it.
    pub judges: Judges,
    /// What judges with caps have cost; it is flushed at the end.
    pub ledger: Option<Arc<Ledger>>,
    /// What works and is hardly meant.
    pub warnings: Vec<String>,
}

/// Reads every file and variable that the configuration names and builds what it describes.
pub fn build(config: &Config, files: Files<'_>, variable: Variable<'_>) -> anyhow::Result<App> {
    let metrics = Metrics::new(&metric_names(config)).context("cannot set metrics up")?;
    metrics.bounds_loaded(config.time.deadline, config.server.max_in_flight_traces);
    let mut problems = Problems(Vec::new());
    let pricing = config.pricing_file.as_ref();
    let pricing =
        pricing.and_then(|file| problems.keep(files.pricing(file).context("pricing.file")));
    let shared = Remote::new(config, variable, pricing.clone(), &metrics)?;
    let builder = Builder {
        config,
        files,
        remote: &shared,
        metrics: &metrics,
    };
    let mut judges = Judges::new();
    for (id, options) in &config.judges {
        if let Some(judge) = problems.keep(builder.judge(id, options)) {
            judges.insert(id.clone(), judge);
        }
    }
    let mut policies = Vec::new();
    for (name, options) in &config.profiles {
        let policy = files.policy(&options.policy);
        let policy = policy.with_context(|| format!("profiles.{name}.policy"));
        policies.extend(problems.keep(policy).map(|policy| (name, options, policy)));
    }
    problems.none()?;

    let mut warnings: Vec<_> = config.warnings.iter().map(ToString::to_string).collect();
    let mut profiles = Vec::new();
    for (name, options, policy) in policies {
        let atomic = bindings::whole(name, &options.atomic, &judges)?;
        let options = &ProfileConfig {
            atomic,
            ..options.clone()
        };
        let odd = config.policy_warnings(options, &policy.policy);
        warnings.extend(odd.into_iter().map(|odd| format!("profiles.{name}: {odd}")));
        profiles.push(builder.profile(name, options, policy, &judges)?);
    }
    let content = Content {
        cascade: Arc::new(Cascade::new(profiles, pricing, Arc::clone(&metrics))),
        limits: config.limits,
        time: config.time,
        metrics,
    };
    Ok(App {
        content,
        judges,
        ledger: shared.ledger,
        warnings,
    })
}

/// What is wrong with the files, so that all of it can be told at once.
struct Problems(Vec<String>);

impl Problems {
    fn keep<T>(&mut self, result: anyhow::Result<T>) -> Option<T> {
        result
            .map_err(|error| self.0.push(format!("{error:#}")))
            .ok()
    }

    fn none(self) -> anyhow::Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        bail!("{}", self.0.join("\n"))
    }
}

impl Files<'_> {
    fn file(&self, path: &Path) -> anyhow::Result<String> {
        let text = match self {
            Self::Disk => fs::read_to_string(path),
            Self::Texts(read) => read(path),
        };
        let text = text.with_context(|| format!("cannot read `{}`", path.display()))?;
        // Some editors put a byte order mark before UTF-8 text.
        Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
    }

    fn policy(&self, reference: &PolicyRef) -> anyhow::Result<PolicySnapshot> {
        match reference {
            PolicyRef::BuiltIn(name) => {
                let known = policy::built_in(name);
                Ok(known.ok_or_else(|| anyhow!("`{name}` is not a built-in policy"))??)
            }
            PolicyRef::File(file) => Ok(policy::read(
                &file.display().to_string(),
                &self.file(file)?,
            )?),
        }
    }

    fn answers(&self, file: &Path, judge_id: &JudgeId) -> anyhow::Result<Recorded> {
        Ok(match self {
            Self::Disk => recorded::open(file, judge_id)?,
            Self::Texts(_) => {
                recorded::read(&file.display().to_string(), &self.file(file)?, judge_id)?
            }
        })
    }

    fn pricing(&self, file: &Path) -> anyhow::Result<Arc<PricingSnapshot>> {
        let text = self.file(file)?;
        Ok(Arc::new(pricing::read(&file.display().to_string(), &text)?))
    }
}

struct Builder<'a> {
    config: &'a Config,
    files: Files<'a>,
    remote: &'a Remote<'a>,
    metrics: &'a Arc<Metrics>,
}

impl Builder<'_> {
    fn judge(&self, judge_id: &JudgeId, options: &JudgeConfig) -> anyhow::Result<Arc<dyn Judge>> {
        Ok(match options {
            JudgeConfig::Embedded { options } => {
                Arc::new(EmbeddedJudge::new(judge_id.clone(), *options))
            }
            JudgeConfig::Onnx(options) => {
                let Files::Disk = self.files else {
                    bail!("judges.{judge_id}.dir: a model is read from a disk");
                };
                onnx::open(judge_id, options).with_context(|| format!("judges.{judge_id}.dir"))?
            }
            JudgeConfig::Remote { options, spend } => {
                self.remote.judge(judge_id, options, spend)?
            }
            JudgeConfig::Replay { file, options } => {
                let rows = self.files.answers(file, judge_id);
                let rows = rows.with_context(|| format!("judges.{judge_id}.file"))?;
                Arc::new(ReplayJudge::new(
                    judge_id.clone(),
                    rows,
                    options.clone(),
                    Arc::clone(self.metrics),
                ))
            }
        })
    }

    fn profile(
        &self,
        name: &ProfileName,
        options: &ProfileConfig,
        policy: PolicySnapshot,
        judges: &Judges,
    ) -> anyhow::Result<Profile> {
        let judge = |id: &JudgeId| {
            let judge = judges.get(id).map(Arc::clone);
            judge.ok_or_else(|| anyhow!("profiles.{name}: judge `{id}` is not configured"))
        };
        let metrics = || Arc::clone(self.metrics);
        let composite = |binding: &AtomicBinding, role| -> anyhow::Result<Composite> {
            Ok(match binding {
                AtomicBinding::One(id) => {
                    self.metrics.judge_bound(id, role);
                    Composite::of(judge(id)?, metrics())
                }
                AtomicBinding::ByDimension(ids) => {
                    for (_, id) in ids.iter() {
                        judge(id)?;
                        self.metrics.judge_bound(id, role);
                    }
                    let judges =
                        DimensionMap::from_fn(|dimension| Arc::clone(&judges[&ids[dimension]]));
                    Composite::by_dimension(&judges, metrics())
                }
            })
        };
        let atomic = composite(&options.atomic, JudgeRole::Atomic)?;
        let fallback = match &options.fallback {
            Some(id) => {
                let binding = AtomicBinding::One(id.clone());
                let whole = bindings::whole(name, &binding, judges)?;
                Some(composite(&whole, JudgeRole::Fallback)?)
            }
            None => None,
        };
        Ok(Profile {
            name: name.clone(),
            atomic,
            fallback,
            fallback_mode: options.fallback_mode,
            on_atomic_error: options.on_atomic_error,
            policy,
            enforcement: options.enforcement,
            enforce_share: options.enforce_share,
            time: self.config.time,
        })
    }
}

/// What closes the label sets of the metrics under a configuration.
pub fn metric_names(config: &Config) -> MetricNames {
    MetricNames {
        profiles: config.profiles.keys().cloned().collect(),
        judges: config.judges.keys().cloned().collect(),
        methods: METHODS.to_vec(),
        codes: code_names(),
        error_reasons: ErrorReason::ALL
            .iter()
            .map(|reason| reason.name())
            .collect(),
    }
}
