//! `judges bench`: what a judge is worth on labelled data sets, alone and under a policy.
//!
//! Exit codes: 0 if every set was measured, 1 if a data set is bad, no row was answered or a stored value is not held,
//! 2 if the command cannot run. A row that fails is a count.

mod clock;
mod context;
mod set;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};

use self::context::Excluded;
use self::set::{Measured, Trial};
use super::named;
use crate::app::App;
use crate::artifact::policy::PolicySnapshot;
use crate::artifact::replace::replace;
use crate::cli::settings::{self, ConfigArgs};
use crate::cli::{End, output};
use crate::config::judges::JudgeConfig;
use crate::config::{Config, Overrides};
use crate::dataset::load::{self, DatasetError, Survey};
use crate::domain::outcome::CalibrationState;
use crate::domain::trace::JudgeId;
use crate::eval::bench;
use crate::judge::JudgeInfo;
use crate::report::bench::{Bench, BenchFile, BenchJudge, SCHEMA_VERSION, block, json, words};
use crate::report::model::SnapshotInfo;
use crate::telemetry::build::VERSION;

/// What is measured, and where the numbers go.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// JSONL files of traces with labels.
    #[arg(
        value_name = "DATA",
        required_unless_present = "from",
        conflicts_with = "from"
    )]
    data: Vec<PathBuf>,
    #[command(flatten)]
    config: ConfigArgs,
    /// The judge.
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "from",
        conflicts_with = "from"
    )]
    judge: Option<String>,
    /// The profile whose policy decides.
    #[arg(
        long,
        value_name = "NAME",
        default_value = "default",
        conflicts_with = "from"
    )]
    profile: String,
    /// Another policy in its place: the name of a built-in one, or a file.
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "from")]
    policy: Option<String>,
    /// Leaves out the rows of every other data set that share a context with this file of traces.
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    exclude_contexts_of: Vec<PathBuf>,
    /// Asks a judge over HTTP, which may cost money.
    #[arg(long, conflicts_with = "from")]
    live: bool,
    /// Rows that are with a judge over HTTP at once; one inside the program is asked one after another.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=4_096))]
    concurrency: u16,
    /// The longest time for one row, in milliseconds.
    #[arg(long, default_value_t = 30_000, value_parser = clap::value_parser!(u64).range(1..=600_000))]
    timeout_ms: u64,
    /// Takes the numbers from this file, which --json wrote, and asks nobody.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Writes the numbers to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Writes a short table between the lines `<!-- bench:start -->` and `<!-- bench:end -->` of this Markdown file.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Exits 1 if the AUROC of groundedness on a set is more than 0.01 below that of this file, which --json wrote.
    #[arg(long, value_name = "FILE")]
    accepted: Option<PathBuf>,
}

pub(super) async fn run(args: Args) -> anyhow::Result<End> {
    args.refuse_overwriting()?;
    let stored = args.accepted.as_deref().map(read_bench).transpose()?;
    let table = args.table.as_deref().map(read_table).transpose()?;
    let measured = match &args.from {
        Some(file) => Some(read_bench(file)?),
        None => measure(&args).await?,
    };
    let Some(measured) = measured else {
        return Ok(End::Bad);
    };
    output::line(words::write(&measured).trim_end())?;
    if let Some(file) = &args.json {
        put(file, &json::write(&measured)?)?;
    }
    if let (Some(file), Some(text)) = (&args.table, table) {
        put(file, &block::replaced(&text, &measured)?)?;
    }
    match (&stored, &args.accepted) {
        (Some(stored), Some(file)) => hold(&measured, stored, file),
        _ => Ok(End::Good),
    }
}

impl Args {
    /// No file that is read is written to, but for the one whose block is replaced.
    fn refuse_overwriting(&self) -> anyhow::Result<()> {
        let inputs = [&self.data[..], &self.exclude_contexts_of].concat();
        let inputs = inputs.into_iter().chain(self.accepted.clone());
        let real = |path: &Path| path.canonicalize().ok();
        let inputs: Vec<_> = inputs.filter_map(|path| real(&path)).collect();
        for file in [&self.json, &self.table].into_iter().flatten() {
            if real(file).is_some_and(|real| inputs.contains(&real)) {
                bail!("`{}` is read, so it cannot be written to", file.display());
            }
        }
        Ok(())
    }
}

fn read_bench(file: &Path) -> anyhow::Result<Bench> {
    Ok(json::read(
        &file.display().to_string(),
        &settings::read(file)?,
    )?)
}

/// The text of a file with a block, refused before anything is measured for it.
fn read_table(file: &Path) -> anyhow::Result<String> {
    let text = settings::read(file)?;
    block::around(&text).with_context(|| format!("`{}`", file.display()))?;
    Ok(text)
}

fn put(file: &Path, text: &str) -> anyhow::Result<()> {
    let name = file.display();
    replace(file, text.as_bytes()).with_context(|| format!("cannot write `{name}`"))?;
    output::note(&format!("wrote {name}"));
    Ok(())
}

/// Tells what is not held of a stored bench.
fn hold(measured: &Bench, stored: &Bench, file: &Path) -> anyhow::Result<End> {
    let name = file.display();
    if measured.judge.judge_id != stored.judge.judge_id {
        bail!(
            "`{name}` is of judge `{}` and not of `{}`",
            stored.judge.judge_id,
            measured.judge.judge_id
        );
    }
    let compared = bench::compared(measured, stored);
    for left_out in &compared.left_out {
        output::note(&format!("`{left_out}` of `{name}` was not measured"));
    }
    if compared.set_count == 0 {
        bail!("`{name}` has no data set with an AUROC of groundedness that was measured");
    }
    for fallen in &compared.fallen {
        output::note(&format!("error: {}", output::one_line(fallen)));
    }
    Ok(if compared.fallen.is_empty() {
        output::note(&format!(
            "every AUROC of groundedness of `{name}` is held, of {} data sets",
            compared.set_count
        ));
        End::Good
    } else {
        End::Bad
    })
}

/// Asks the judge about every row; `None` if a data set is bad or nothing was answered, which is told.
async fn measure(args: &Args) -> anyhow::Result<Option<Bench>> {
    let mut config = args.config.load(Overrides::default())?;
    settings::wait_for_turns(&mut config);
    let app = settings::build(&config)?;
    let name = args.judge.as_deref().unwrap_or_default();
    let judge = named(&app, name)?;
    let concurrency = concurrency(args, &config, &judge.info().judge_id)?;
    let policy = policy(args, &app)?;
    let asked = bench::asking_all(&policy.policy);
    let Some(excluded) = survey_all(&args.exclude_contexts_of)? else {
        return Ok(None);
    };
    let contexts = Excluded::of(&args.exclude_contexts_of)?;
    let Some(sets) = survey_all(&args.data)? else {
        return Ok(None);
    };
    let trial = Trial {
        judge,
        policy: &policy.policy,
        asked: &asked,
        limits: &config.limits,
        excluded: &contexts,
        timeout: Duration::from_millis(args.timeout_ms),
        concurrency,
    };
    let mut bench = empty(
        judge.info(),
        &policy,
        excluded.iter().map(file_of).collect(),
    );
    let mut answered_count = 0;
    for (path, name, survey) in named_sets(&args.data, &sets)? {
        let is_excluded = excluded.iter().any(|other| other.sha256 == survey.sha256);
        let measured = Box::pin(trial.measure(path, is_excluded)).await?;
        measured.tell(&name);
        answered_count += measured.counts.answered_count();
        let Measured { counts, times, .. } = measured;
        bench.latency.extend(
            times
                .report(concurrency)
                .map(|report| (name.clone(), report)),
        );
        bench.sets.push(counts.report(name, file_of(survey)));
    }
    if answered_count == 0 {
        output::note("error: no row was answered, so there is nothing to tell");
        return Ok(None);
    }
    Ok(Some(bench))
}

/// Rows that are with the judge at once; refuses one over HTTP unless that is asked for.
fn concurrency(args: &Args, config: &Config, judge_id: &JudgeId) -> anyhow::Result<usize> {
    match config.judges.get(judge_id) {
        Some(JudgeConfig::Remote { .. }) if !args.live => bail!(
            "judge `{judge_id}` is asked over HTTP, which may cost money\nhint: --live asks it"
        ),
        Some(JudgeConfig::Remote { options, .. }) => {
            let most = options.endpoint.concurrency.max_in_flight.max(1);
            Ok(usize::from(args.concurrency).min(most))
        }
        Some(JudgeConfig::Embedded { .. } | JudgeConfig::Onnx(_) | JudgeConfig::Replay { .. })
        | None => Ok(1),
    }
}

fn policy(args: &Args, app: &App) -> anyhow::Result<Arc<PolicySnapshot>> {
    if let Some(name) = &args.policy {
        return Ok(Arc::new(settings::policy(name)?));
    }
    let profile = app.content.cascade.profile(&args.profile);
    let profile =
        profile.with_context(|| format!("profile `{}` is not configured", args.profile))?;
    Ok(Arc::new(profile.policy.clone()))
}

/// Checks files of traces; `None` if one is bad, which is told.
fn survey_all(files: &[PathBuf]) -> anyhow::Result<Option<Vec<Survey>>> {
    let mut surveys = Vec::new();
    let mut is_bad = false;
    for file in files {
        match load::survey(file) {
            Ok(survey) => surveys.push(survey),
            Err(error @ (DatasetError::Lines(_) | DatasetError::Empty(_))) => {
                is_bad = true;
                output::note(&format!("error: {error}"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok((!is_bad).then_some(surveys))
}

/// Every set with the name of its file without the ending, by which sets are told apart.
fn named_sets<'a>(
    files: &'a [PathBuf],
    surveys: &'a [Survey],
) -> anyhow::Result<Vec<(&'a Path, String, &'a Survey)>> {
    let mut seen = BTreeMap::new();
    let mut sets = Vec::new();
    for (path, survey) in files.iter().zip(surveys) {
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        let name = stem.to_string_lossy().into_owned();
        if let Some(other) = seen.insert(name.clone(), path) {
            bail!(
                "`{}` and `{}` have the same name, by which data sets are told apart",
                other.display(),
                path.display()
            );
        }
        sets.push((path.as_path(), name, survey));
    }
    Ok(sets)
}

fn file_of(survey: &Survey) -> BenchFile {
    BenchFile {
        file: survey.file.clone(),
        sha256: survey.sha256.clone(),
    }
}

fn empty(judge: &JudgeInfo, policy: &PolicySnapshot, excluded: Vec<BenchFile>) -> Bench {
    Bench {
        schema_version: SCHEMA_VERSION,
        program_version: VERSION.to_owned(),
        judge: BenchJudge {
            judge_id: judge.judge_id.to_string(),
            judge_type: judge.judge_type.to_string(),
            model: judge.requested_model.clone(),
        },
        policy: SnapshotInfo {
            id: policy.id.id.to_string(),
            sha256: policy.id.sha256.to_string(),
        },
        calibration_state: CalibrationState::Uncalibrated,
        conventions: bench::conventions(),
        excluded,
        sets: Vec::new(),
        latency: BTreeMap::new(),
    }
}
