//! `eval cascade`: the cascade over a labelled dataset.
//!
//! Exit codes: 0 if every row has its line (failed rows are counted, they are no error), 1 if the dataset is bad or no
//! row has a usable answer, 2 if the run cannot begin or does not come to its end; Ctrl-C ends it with 2 and says how to
//! go on.

mod dry_run;
mod files;
mod inputs;
mod progress;
mod setup;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use serde::Serialize;
use tokio::sync::oneshot;

use self::files::{Files, Opened};
use self::inputs::Inputs;
use self::progress::Progress;
use self::setup::Setup;
use super::merge::create;
use super::reports;
use crate::cli::names::ModeChoice;
use crate::cli::settings::ConfigArgs;
use crate::cli::{End, output};
use crate::dataset::load::{self, DatasetError, Survey};
use crate::eval::parity;
use crate::eval::rows::{Header, Shard};
use crate::eval::run::{Counters, OUTAGE_ROWS, RunEnd, Sink, Troubles, run as evaluate};
use crate::eval::summary::Summary;
use crate::report::model::Mode;
use crate::server::signals::Signals;

/// The rows file of a whole run.
const ROWS: &str = "rows.jsonl";
/// What differs from run to run.
const RUN: &str = "run.json";

/// Arguments.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A JSONL file of traces, with labels or without.
    #[arg(value_name = "DATA")]
    data: PathBuf,
    #[command(flatten)]
    config: ConfigArgs,
    /// The profile.
    #[arg(long, value_name = "NAME", default_value = "default")]
    profile: String,
    /// Who decides: atomic_only, baseline_only, cascade, or all three.
    #[arg(long, default_value_t = ModeChoice::Cascade)]
    mode: ModeChoice,
    /// The folder that the rows and the reports are written to.
    #[arg(
        long,
        value_name = "FOLDER",
        default_value = "evaluation",
        conflicts_with = "summary"
    )]
    out: PathBuf,
    /// Rows that are evaluated at once, as far as the judges take so many requests.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=4_096))]
    concurrency: u16,
    /// Continues a run that was stopped.
    #[arg(long, conflicts_with = "force")]
    resume: bool,
    /// Asks about rows that failed again.
    #[arg(long, requires = "resume")]
    retry_failed: bool,
    /// Begins anew even if there is a rows file already; recorded answers are never written over.
    #[arg(long)]
    force: bool,
    /// Evaluates every Nth row from row I, from 1 to N, and writes no report; `eval merge` does.
    #[arg(long, value_name = "I/N", requires = "summary")]
    shard: Option<Shard>,
    /// The rows file of the shard.
    #[arg(long, value_name = "FILE", requires = "shard")]
    summary: Option<PathBuf>,
    /// Asks judges over HTTP, which may cost money.
    #[arg(long)]
    live: bool,
    /// Takes the answers of judges over HTTP from this file of recorded answers.
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Writes what judges answered to this file of recorded answers; one that holds some needs --resume.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Tells what would be asked, sent and spent, and asks nobody.
    #[arg(long)]
    dry_run: bool,
    /// Adds the numbers by the conventions of the project that this one comes from.
    #[arg(long)]
    parity: bool,
    /// Leaves the texts of the rows that the page lists out of it.
    #[arg(long)]
    no_texts: bool,
    /// Tells nothing on the way.
    #[arg(long)]
    quiet: bool,
}

pub(super) async fn run(args: Args) -> anyhow::Result<End> {
    let setup = Setup::new(&args)?;
    let inputs = setup.inputs(&args.data)?;
    for warning in &setup.app.warnings {
        output::note(&format!("warning: {}", output::one_line(warning)));
    }
    let survey = match load::survey(&args.data) {
        Ok(survey) => survey,
        Err(error @ (DatasetError::Lines(_) | DatasetError::Empty(_))) => {
            output::note(&format!("error: {error}"));
            return Ok(End::Bad);
        }
        Err(error) => return Err(error.into()),
    };
    if args.parity {
        parity::check(survey.row_count)?;
    }
    let header = setup.header(&args, &survey)?;
    if args.dry_run {
        dry_run::tell(&args, &setup)?;
        return Ok(End::Good);
    }
    for output in outputs(&args) {
        inputs.refuse(&output)?;
    }
    let begun = begin(&args, &setup, header)?;
    Box::pin(go_on(&args, &setup, &inputs, &survey, begun)).await
}

/// Every file that the run writes.
fn outputs(args: &Args) -> Vec<PathBuf> {
    let files = match &args.summary {
        Some(file) => vec![file.clone()],
        None => {
            let names = [ROWS, RUN].into_iter().chain(reports::NAMES);
            names.map(|name| args.out.join(name)).collect()
        }
    };
    files.into_iter().chain(args.record.clone()).collect()
}

/// A run whose files are open.
struct Begun {
    header: Header,
    rows: PathBuf,
    opened: Opened,
    summary: Option<Summary>,
    counters: Counters,
}

fn begin(args: &Args, setup: &Setup, header: Header) -> anyhow::Result<Begun> {
    let rows = match &args.summary {
        Some(file) => file.clone(),
        None => {
            create(&args.out)?;
            args.out.join(ROWS)
        }
    };
    let policy = &setup.profile()?.policy.policy;
    let mut summary = args
        .summary
        .is_none()
        .then(|| Summary::new(header.clone(), policy));
    let counters = Counters::default();
    let files = Files {
        rows: &rows,
        record: args.record.as_deref(),
        resume: args.resume,
        retry_failed: args.retry_failed,
        force: args.force,
    };
    let opened = files.open(&header, |row| {
        counters.count(row);
        if let Some(summary) = &mut summary {
            summary.add(row);
        }
    })?;
    if args.resume {
        tell_resumed(&counters, opened.retried);
    }
    Ok(Begun {
        header,
        rows,
        opened,
        summary,
        counters,
    })
}

/// What a run that is continued begins with.
fn tell_resumed(counters: &Counters, retried: u64) {
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (done, failed) = (read(&counters.done), read(&counters.failed));
    if 0 < retried {
        output::note(&format!(
            "{retried} rows had failed and are asked about again"
        ));
    }
    let hint = match failed {
        0 => "",
        _ => "; --retry-failed asks about these again",
    };
    output::note(&format!(
        "{done} rows are there already, {failed} of them failed{hint}"
    ));
}

async fn go_on(
    args: &Args,
    setup: &Setup,
    inputs: &Inputs,
    survey: &Survey,
    begun: Begun,
) -> anyhow::Result<End> {
    let total = begun.header.shard.row_count(survey.row_count);
    let resumed = begun.opened.seen.count();
    #[expect(clippy::disallowed_methods, reason = "when a run was, for its reader")]
    let started = SystemTime::now();
    let start = Instant::now();
    let (end, summary, rows, dead) = Box::pin(all_rows(args, setup, total, begun)).await?;
    tell(&end);
    let done = resumed + end.row_count;
    if let Some(judge) = &end.silent_judge {
        bail!(
            "stopped after {done} of {total} rows: judge `{judge}` gave nothing {OUTAGE_ROWS} times in a row\n\
             hint: once it answers, the same command with --resume --retry-failed goes on"
        );
    }
    if end.is_stopped {
        bail!("stopped after {done} of {total} rows\nhint: the same command with --resume goes on");
    }
    if done != total {
        bail!("{done} rows were evaluated and not {total}: the dataset changed meanwhile");
    }
    inputs.unchanged()?;
    let Some(summary) = summary else {
        output::note(&format!("wrote {}", rows.display()));
        return Ok(ended(&setup.modes, &dead));
    };
    let seconds = start.elapsed().as_secs_f64();
    let texts = (!args.no_texts).then_some(args.data.as_path());
    let words = reports::write(&args.out, summary, texts)?;
    write_run(
        &args.out,
        &RunFile::of(setup.rows_at_once(args), &end, resumed, seconds, started),
    )?;
    output::line(words.trim_end())?;
    Ok(ended(&setup.modes, &dead))
}

/// A run in which nobody answered is bad; with an answer in one mode at least it is good.
fn ended(modes: &[Mode], dead: &[Mode]) -> End {
    for mode in dead {
        output::note(&format!("no row has a usable answer in mode `{mode}`"));
    }
    if dead.len() < modes.len() {
        return End::Good;
    }
    output::note("error: no row has a usable answer in any mode, so there is nothing to evaluate");
    End::Bad
}

/// Evaluates the rows that are not done, until the last or a signal.
async fn all_rows(
    args: &Args,
    setup: &Setup,
    total: u64,
    begun: Begun,
) -> anyhow::Result<(RunEnd, Option<Summary>, PathBuf, Vec<Mode>)> {
    let (opened, shard, counters) = (begun.opened, begun.header.shard, begun.counters);
    let todo = load::rows(&args.data)?.filter(|row| {
        let row = row.as_ref().ok();
        row.is_none_or(|row| shard.holds(row.index) && !opened.seen.contains(row.index))
    });
    let mut sink = Sink {
        rows: opened.rows,
        recorder: opened.recorder,
        summary: begun.summary,
    };
    let mut signals = Signals::catch()?;
    let (sender, stopped) = oneshot::channel::<()>();
    let twice = async {
        let signal = signals.next().await;
        output::note(&format!("{signal}: waiting for the rows in flight"));
        drop(sender);
        signals.next().await
    };
    let stop = async {
        stopped.await.ok();
    };
    let evaluation = Arc::new(setup.evaluation(args, &begun.header)?);
    let progress = Progress::new(&counters, total, args.quiet);
    let concurrency = setup.rows_at_once(args);
    if let Some(told) = setup.told_narrowest(args) {
        output::note(&told);
    }
    let end = tokio::select! {
        end = evaluate(&evaluation, todo, concurrency, &mut sink, &counters, stop) => end,
        never = progress.tell() => match never {},
        signal = twice => bail!("{signal} again: what was in flight is lost\nhint: the same command with --resume goes on"),
    };
    if let Some(ledger) = &setup.app.ledger {
        ledger.flush();
    }
    let dead = counters.without_answer();
    Ok((end?, sink.summary, begun.rows, dead))
}

/// What went wrong in single rows; none of it is an error of the run.
fn tell(end: &RunEnd) {
    let kinds = [
        (&end.over_limit, "rows are over a limit and failed"),
        (&end.panicked, "rows failed by a fault of this program"),
        (&end.failed_calls, "calls to judges failed"),
    ];
    for (Troubles { count, first }, what) in kinds {
        if let Some(first) = first {
            let first = output::one_line(first);
            output::note(&format!("{count} {what}, the first: {first}"));
        }
    }
}

/// What a run tells that no report may tell, because it differs from run to run.
#[derive(Serialize)]
struct RunFile {
    started_unix_seconds: u64,
    elapsed_seconds: f64,
    concurrency: usize,
    evaluated_row_count: u64,
    resumed_row_count: u64,
    rows_per_second: f64,
    over_limit_row_count: u64,
    panicked_row_count: u64,
    failed_call_count: u64,
    diagnosis_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_overhead_us: Option<f64>,
    max_overhead_us: u128,
}

impl RunFile {
    fn of(
        concurrency: usize,
        end: &RunEnd,
        resumed: u64,
        seconds: f64,
        started: SystemTime,
    ) -> Self {
        let since = started.duration_since(UNIX_EPOCH).unwrap_or_default();
        let diagnoses = end.diagnosis_count;
        let mean = end.overhead.as_secs_f64() * 1e6 / diagnoses as f64;
        Self {
            started_unix_seconds: since.as_secs(),
            elapsed_seconds: seconds,
            concurrency,
            evaluated_row_count: end.row_count,
            resumed_row_count: resumed,
            rows_per_second: end.row_count as f64 / seconds.max(1e-9),
            over_limit_row_count: end.over_limit.count,
            panicked_row_count: end.panicked.count,
            failed_call_count: end.failed_calls.count,
            diagnosis_count: diagnoses,
            mean_overhead_us: (0 < diagnoses).then_some(mean),
            max_overhead_us: end.max_overhead.as_micros(),
        }
    }
}

fn write_run(out: &Path, run: &RunFile) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(run).context("run.json")? + "\n";
    reports::put(&out.join(RUN), text.as_bytes())
}
