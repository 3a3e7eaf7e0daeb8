//! `judges stability`: whether a judge says the same when it is asked the same again.
//!
//! The flip rate of a dimension is the share of traces with a question whose band under the policy changes over the
//! repeats; the spread of a question is the distance between its highest and its lowest probability. A failure is
//! neither: it is counted by itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use futures_util::StreamExt as _;
use serde::Serialize;

use super::{Inquiry, named};
use crate::artifact::lines::{self, LineError, Place};
use crate::cascade::plan::{Plan, Scope, plan};
use crate::cascade::profile::Profile;
use crate::cli::names::Format;
use crate::cli::settings::{self, ConfigArgs};
use crate::cli::{End, output};
use crate::config::Overrides;
use crate::dataset::record::Record;
use crate::domain::Vocabulary as _;
use crate::domain::dimension::Dimension;
use crate::domain::judgment::{Answers, Judged, Judgment};
use crate::domain::outcome::JudgeRole;
use crate::domain::probability::Probability;
use crate::domain::question::{Question, QuestionSet};
use crate::domain::trace::{JudgeId, Trace, TraceLimits};
use crate::judge::composite::Composite;
use crate::judge::{Judge, JudgeError};
use crate::policy::Policy;

/// Questions that are with the judge at once.
const CONCURRENCY: usize = 4;

/// Which judge, which traces and how often.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// A JSONL file of traces.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    config: ConfigArgs,
    /// The judge.
    #[arg(long, value_name = "NAME")]
    judge: String,
    /// How often each trace is asked about.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=1_000))]
    repeat: u32,
    /// The profile whose policy says what a band is.
    #[arg(long, default_value = "default")]
    profile: String,
    /// Exits 1 if the flip rate of a dimension is above this, a number from 0 to 1.
    #[arg(long, value_parser = share)]
    max_flip_rate: Option<f64>,
    /// The form of the result: text, or json (one object a line).
    #[arg(long, value_name = "FORMAT", default_value_t = Format::Text)]
    format: Format,
    /// The longest time for one question to the judge, in milliseconds.
    #[arg(long, default_value_t = 30_000, value_parser = clap::value_parser!(u64).range(1..=600_000))]
    timeout_ms: u64,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text
        .parse()
        .ok()
        .and_then(|number: f64| Probability::try_from(number).ok());
    let share = share.ok_or_else(|| "must be a number from 0 to 1".to_owned())?;
    Ok(share.value())
}

pub(super) async fn run(args: Args) -> anyhow::Result<End> {
    let config = args.config.load(Overrides::default())?;
    let app = settings::build(&config)?;
    let judge = named(&app, &args.judge)?;
    let profile = app.content.cascade.profile(&args.profile);
    let profile =
        profile.with_context(|| format!("profile `{}` is not configured", args.profile))?;
    let (traces, bad_lines) = read(&args.file, &config.limits)?;
    let trial = Trial {
        judge,
        policy: &profile.policy.policy,
        role: role(profile, &judge.info().judge_id),
        timeout: Duration::from_millis(args.timeout_ms),
    };
    let mut tallies = Tallies::default();
    let mut first_failure = None;
    for trace in &traces {
        let Some(questions) = trial.questions(trace) else {
            continue;
        };
        let mut answers = Vec::new();
        let mut repeats = futures_util::stream::iter(0..args.repeat)
            .map(|_| trial.ask(trace, &questions))
            .buffer_unordered(CONCURRENCY);
        while let Some(answer) = repeats.next().await {
            match answer {
                Ok(answer) => answers.push(Some(answer)),
                Err(error) => {
                    answers.push(None);
                    first_failure.get_or_insert(error);
                }
            }
        }
        tallies.add(trial.policy, &questions, &answers);
    }
    let rows = tallies.rows();
    tell(&args, traces.len(), &rows)?;
    if let Some(failure) = first_failure {
        let failure = failure.to_string();
        output::note(&format!(
            "the first failure: {}",
            output::one_line(&failure)
        ));
    }
    if rows.iter().all(|row| row.trace_count == 0) {
        output::note("nothing was answered twice, so nothing can be compared");
        return Ok(End::Bad);
    }
    let silent = rows.iter().filter(|row| row.answer_count == 0);
    let mut is_silent = false;
    for row in silent {
        is_silent = true;
        output::note(&format!(
            "{} was never answered: {} of {} failed",
            row.dimension, row.failure_count, row.failure_count
        ));
    }
    let flips = args.max_flip_rate.is_some_and(|max| {
        rows.iter()
            .any(|row| row.flip_rate.is_some_and(|rate| max < rate))
    });
    Ok(if flips || is_silent || bad_lines > 0 {
        End::Bad
    } else {
        End::Good
    })
}

/// The traces of a file; what is wrong with a line is told at once.
fn read(file: &PathBuf, limits: &TraceLimits) -> anyhow::Result<(Vec<Arc<Trace>>, usize)> {
    let name = file.display().to_string();
    let text = fs::read_to_string(file).with_context(|| format!("cannot read `{name}`"))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let (mut traces, mut bad) = (Vec::new(), 0);
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let place = Place {
            file: name.clone(),
            line: index + 1,
        };
        let trace = lines::parse(&place, line.trim()).and_then(|record: Record| {
            let trace = record.trace(limits);
            trace.map_err(|error| -> LineError { place.error(error.to_string()) })
        });
        match trace {
            Ok(trace) => traces.push(Arc::new(trace)),
            Err(error) => {
                bad += 1;
                output::note(&format!("error: {}", output::one_line(&error.to_string())));
            }
        }
    }
    if traces.is_empty() {
        return Err(anyhow!("there are no traces in `{name}`"));
    }
    Ok((traces, bad))
}

/// The role in which a profile asks the judge; it decides which thresholds hold.
fn role(profile: &Profile, judge: &JudgeId) -> JudgeRole {
    let is = |composite: &Composite| composite.members().any(|info| info.judge_id == *judge);
    match &profile.fallback {
        Some(fallback) if is(fallback) && !is(&profile.atomic) => JudgeRole::Fallback,
        Some(_) | None => JudgeRole::Atomic,
    }
}

/// How the judge is asked.
struct Trial<'a> {
    judge: &'a Arc<dyn Judge>,
    policy: &'a Policy,
    role: JudgeRole,
    timeout: Duration,
}

impl Trial<'_> {
    /// What is asked about a trace; `None` if that is nothing.
    fn questions(&self, trace: &Trace) -> Option<QuestionSet> {
        match plan(trace, self.policy, Scope::Full) {
            Plan::NotAssessable(_) => None,
            Plan::Judge { questions, .. } => {
                let questions = questions.restricted_to(self.judge.info().dimensions);
                (!questions.is_empty()).then_some(questions)
            }
        }
    }

    async fn ask(
        &self,
        trace: &Arc<Trace>,
        questions: &QuestionSet,
    ) -> Result<Answers, JudgeError> {
        let inquiry = Inquiry {
            trace,
            questions,
            history_is_evidence: self.policy.history_is_evidence,
            role: self.role,
            timeout: self.timeout,
        };
        inquiry.of(&**self.judge).await.map(|answer| answer.answers)
    }
}

/// What came of all repeats, by dimension.
#[derive(Debug, Default)]
struct Tallies(BTreeMap<Dimension, Tally>);

#[derive(Debug, Default)]
struct Tally {
    trace_count: usize,
    flipped_count: usize,
    answer_count: usize,
    failure_count: usize,
    spreads: Vec<f64>,
}

/// A dimension in the result. What nothing was measured of is absent.
#[derive(Debug, PartialEq, Serialize)]
struct Row {
    dimension: Dimension,
    trace_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    flip_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spread_mean: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spread_max: Option<f64>,
    /// The questions that were answered, over all repeats.
    answer_count: usize,
    failure_count: usize,
}

impl Tallies {
    /// Adds the answers to one trace; `None` is a call that failed as a whole.
    fn add(&mut self, policy: &Policy, questions: &QuestionSet, answers: &[Option<Answers>]) {
        for dimension in questions.dimensions().iter() {
            let tally = self.0.entry(dimension).or_default();
            let of_it = questions.asked().filter(|q| q.dimension() == dimension);
            let (mut is_compared, mut is_flipped) = (false, false);
            for question in of_it {
                let given = answers.iter().flatten();
                let judged: Vec<_> = given.filter_map(|given| judged(given, question)).collect();
                tally.answer_count += judged.len();
                tally.failure_count += answers.len() - judged.len();
                let (Some(first), 2..) = (judged.first(), judged.len()) else {
                    continue;
                };
                is_compared = true;
                let band = policy.band(dimension, first);
                is_flipped |= judged
                    .iter()
                    .any(|other| policy.band(dimension, other) != band);
                let values = || judged.iter().map(|judged| judged.probability.value());
                let (low, high) = (values().fold(1.0, f64::min), values().fold(0.0, f64::max));
                tally.spreads.push(high - low);
            }
            tally.trace_count += usize::from(is_compared);
            tally.flipped_count += usize::from(is_flipped);
        }
    }

    fn rows(&self) -> Vec<Row> {
        let row = |(&dimension, tally): (&Dimension, &Tally)| {
            let count = tally.spreads.len() as f64;
            let measured = tally.trace_count > 0;
            Row {
                dimension,
                trace_count: tally.trace_count,
                flip_rate: measured.then(|| tally.flipped_count as f64 / tally.trace_count as f64),
                spread_mean: measured.then(|| tally.spreads.iter().sum::<f64>() / count),
                spread_max: tally.spreads.iter().copied().reduce(f64::max),
                answer_count: tally.answer_count,
                failure_count: tally.failure_count,
            }
        };
        self.0.iter().map(row).collect()
    }
}

fn judged(answers: &Answers, question: Question) -> Option<&Judged> {
    answers[question].as_ref().and_then(Judgment::judged)
}

fn tell(args: &Args, trace_count: usize, rows: &[Row]) -> anyhow::Result<()> {
    if args.format == Format::Json {
        for row in rows {
            output::line(&serde_json::to_string(row)?)?;
        }
        return Ok(());
    }
    let width = Dimension::ALL.iter().map(|d| d.name().len()).max();
    let width = width.unwrap_or_default();
    output::line(&format!(
        "judge {}, {trace_count} traces, asked {} times each",
        args.judge, args.repeat
    ))?;
    output::line(&format!(
        "{:<width$}  traces  flip rate  spread mean  spread max  failures",
        "dimension"
    ))?;
    for row in rows {
        let number = |number: Option<f64>| {
            number.map_or_else(|| "-".to_owned(), |number| format!("{number:.3}"))
        };
        output::line(&format!(
            "{:<width$}  {:>6}  {:>9}  {:>11}  {:>10}  {:>8}",
            row.dimension.name(),
            row.trace_count,
            number(row.flip_rate),
            number(row.spread_mean),
            number(row.spread_max),
            row.failure_count,
        ))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
