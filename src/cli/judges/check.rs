//! `judges check`: one block, or one line of JSON, for every judge.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::report::{Finding, Report, usd};
use super::{Inquiry, named, needle, samples};
use crate::app::App;
use crate::cascade::Cascade;
use crate::cli::names::{Check, Format, Grade};
use crate::cli::settings::{self, ConfigArgs};
use crate::cli::{End, output};
use crate::config::judges::JudgeConfig;
use crate::config::{Config, Overrides};
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::Judgment;
use crate::domain::outcome::{JudgeRole, NanoUsd, is_model_name};
use crate::domain::question::QuestionSet;
use crate::domain::trace::Trace;
use crate::judge::remote::{RemoteOptions, SecretSource};
use crate::judge::{Answer, Judge, JudgeError, JudgeType};

/// A judge whose probabilities differ by less is told to be constant.
const LEAST_DIFFERENCE: f64 = 0.02;

/// Which judges, and how they are told.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    /// Only this judge.
    #[arg(long, value_name = "NAME")]
    judge: Option<String>,
    /// The form of the result: text, or json (one object a line).
    #[arg(long, value_name = "FORMAT", default_value_t = Format::Text)]
    format: Format,
    /// The longest time for one question to a judge, in milliseconds; the judge's own timeout_ms bounds it too.
    #[arg(long, default_value_t = 30_000, value_parser = clap::value_parser!(u64).range(1..=600_000))]
    timeout_ms: u64,
    /// Leaves out the long prompt that shows whether a judge reads as much as is declared.
    #[arg(long)]
    skip_needle: bool,
}

pub(super) async fn run(args: Args) -> anyhow::Result<End> {
    let config = args.config.load(Overrides::default())?;
    let app = settings::build(&config)?;
    let judges: Vec<&Arc<dyn Judge>> = match &args.judge {
        Some(name) => vec![named(&app, name)?],
        None => app.judges.values().collect(),
    };
    let timeout = Duration::from_millis(args.timeout_ms);
    let reports = judges.into_iter().map(async |judge| {
        let examination = Examination {
            judge: &**judge,
            options: remote(&config, &**judge),
            app: &app,
            timeout,
        };
        examination.report(!args.skip_needle).await
    });
    let mut end = End::Good;
    for report in join_all(reports).await {
        let report = report?;
        if !report.is_good {
            end = End::Bad;
        }
        output::line(&match args.format {
            Format::Text => report.text(),
            Format::Json => serde_json::to_string(&report)?,
        })?;
    }
    Ok(end)
}

fn remote<'a>(config: &'a Config, judge: &dyn Judge) -> Option<&'a RemoteOptions> {
    match config.judges.get(&judge.info().judge_id)? {
        JudgeConfig::Remote { options, .. } => Some(options),
        JudgeConfig::Embedded { .. } | JudgeConfig::Onnx(_) | JudgeConfig::Replay { .. } => None,
    }
}

/// One judge under examination.
struct Examination<'a> {
    judge: &'a dyn Judge,
    options: Option<&'a RemoteOptions>,
    app: &'a App,
    timeout: Duration,
}

impl Examination<'_> {
    async fn report(&self, with_needle: bool) -> anyhow::Result<Report> {
        let info = self.judge.info();
        let endpoint = self.options.map(|options| options.endpoint.place());
        let mut report = Report {
            judge: info.judge_id.to_string(),
            judge_type: info.judge_type,
            is_good: true,
            endpoint,
            requested_model: info.requested_model.clone(),
            answered_model: None,
            dimensions: info.dimensions.iter().collect(),
            source: info.source,
            max_state_tokens: info.max_state_tokens,
            latency_ms: None,
            cost_per_trace_nano_usd: None,
            findings: Vec::new(),
        };
        if info.judge_type == JudgeType::Replay {
            let detail = "it repeats recorded answers, so nothing is asked";
            report.add(Finding::new(Check::Direction, Grade::Unknown, detail));
            return Ok(report);
        }
        if self.options.is_some() {
            report.add(self.models().await);
        }
        let is_answering = self.direction(&mut report).await?;
        if with_needle && is_answering && self.options.is_some() {
            report.add(needle::check(self.judge, self.options, self.timeout).await);
        }
        Ok(report)
    }

    async fn models(&self) -> Finding {
        let deadline = tokio::time::Instant::now() + self.timeout;
        let (result, detail) = match self.judge.models(deadline).await {
            Ok(None) => (Grade::Unknown, "there is no list".to_owned()),
            Ok(Some(models)) => {
                let model = self
                    .judge
                    .info()
                    .requested_model
                    .as_deref()
                    .unwrap_or_default();
                if models.iter().any(|listed| listed == model) {
                    (Grade::Good, format!("`{model}` is listed"))
                } else {
                    let detail = format!("`{model}` is not among the {} listed", models.len());
                    (Grade::Unknown, detail)
                }
            }
            Err(error) => (Grade::Unknown, self.told(&error)),
        };
        Finding::new(Check::Models, result, detail)
    }

    /// Asks about both traces; whether both were answered.
    async fn direction(&self, report: &mut Report) -> anyhow::Result<bool> {
        let start = Instant::now();
        let trace = samples::right()?;
        let asked = self.questions(&trace);
        let right = self.ask(&trace).await;
        let latency = start.elapsed();
        let bad = |detail| Finding::new(Check::Direction, Grade::Bad, detail);
        let right = match right {
            Ok(right) => right,
            Err(error) => {
                report.add(bad(self.told(&error)));
                return Ok(false);
            }
        };
        report.latency_ms = u64::try_from(latency.as_millis()).ok();
        report.answered_model = right
            .calls
            .iter()
            .find_map(|call| call.returned_model.clone())
            .filter(|name| is_model_name(name));
        self.price(&right, report);
        let wrong = match self.ask(&samples::wrong()?).await {
            Ok(wrong) => wrong,
            Err(error) => {
                report.add(bad(self.told(&error)));
                return Ok(false);
            }
        };
        report.add(told_apart(&asked, &right, &wrong));
        Ok(true)
    }

    /// Everything that the judge can be asked about a trace.
    fn questions(&self, trace: &Trace) -> QuestionSet {
        let all = QuestionSet::from_fn(trace.chunks.len(), |_| true);
        all.restricted_to(self.judge.info().dimensions)
    }

    async fn ask(&self, trace: &Arc<Trace>) -> Result<Answer, JudgeError> {
        let questions = self.questions(trace);
        let inquiry = Inquiry {
            trace,
            questions: &questions,
            history_is_evidence: false,
            role: JudgeRole::Atomic,
            timeout: self.timeout,
        };
        inquiry.of(self.judge).await
    }

    fn price(&self, answer: &Answer, report: &mut Report) {
        let cascade: &Cascade = &self.app.content.cascade;
        let mut calls = answer.calls.iter();
        let total = calls.try_fold(NanoUsd::ZERO, |sum, call| {
            Some(sum.plus(cascade.cost(call)?))
        });
        let (result, detail) = match total {
            Some(total) => {
                report.cost_per_trace_nano_usd = Some(total.0);
                (Grade::Good, format!("{} for a short trace", usd(total)))
            }
            None if answer.calls.iter().all(|call| call.usage.is_none()) => {
                (Grade::Unknown, "the judge reports no tokens".to_owned())
            }
            None if cascade.pricing().is_none() => {
                (Grade::Unknown, "pricing.file is not set".to_owned())
            }
            None => {
                let detail = "the price snapshot does not price the model or what it used";
                (Grade::Unknown, detail.to_owned())
            }
        };
        report.add(Finding::new(Check::Price, result, detail));
    }

    /// A failure; a refused key with where it is from.
    fn told(&self, error: &JudgeError) -> String {
        let mut told = error.reason.to_string();
        if let Some(detail) = &error.detail {
            told = format!("{told}: {detail}");
        }
        let key = self
            .options
            .and_then(|options| options.endpoint.api_key.as_ref());
        if error.reason != FailureReason::Unauthenticated {
            return told;
        }
        match key {
            Some(SecretSource::Env(variable)) => format!("{told}; key from env {variable}"),
            Some(SecretSource::File(file)) => format!("{told}; key from file {}", file.display()),
            None if self.options.is_some() => format!("{told}; no key is set"),
            None => told,
        }
    }
}

/// Whether the right trace comes out better than the wrong one. Both have one chunk, so both are asked the same.
fn told_apart(asked: &QuestionSet, right: &Answer, wrong: &Answer) -> Finding {
    let probability = |answer: &Answer, dimension: Dimension| {
        let judgment = answer.answers.of(dimension).first()?.as_ref()?;
        judgment.judged().map(|judged| judged.probability.value())
    };
    let mut differences = Vec::new();
    for dimension in samples::TOLD_APART {
        let pair = probability(right, dimension).zip(probability(wrong, dimension));
        differences.extend(pair.map(|(right, wrong)| (dimension, right - wrong)));
    }
    let mean = differences.iter().map(|(_, d)| d).sum::<f64>() / differences.len().max(1) as f64;
    let is_constant = differences.iter().all(|(_, d)| d.abs() < LEAST_DIFFERENCE);
    let lacking = lacking(asked, [right, wrong]);
    let bad = |detail: String| Finding::new(Check::Direction, Grade::Bad, detail);
    if differences.is_empty() {
        let mut detail = "no question was answered about both traces".to_owned();
        if !lacking.is_empty() {
            detail = format!("{detail}: {}", lacking.join(", "));
        }
        bad(detail)
    } else if is_constant {
        bad("constant: a right and a wrong trace get the same probabilities".to_owned())
    } else if mean < 0.0 {
        bad("inverted: a wrong trace gets better probabilities than a right one".to_owned())
    } else if !lacking.is_empty() {
        bad(format!("not answered: {}", lacking.join(", ")))
    } else {
        let weak = differences.iter().filter(|(_, d)| *d <= 0.0);
        let weak: Vec<_> = weak.map(|(dimension, _)| dimension.to_string()).collect();
        let mut detail = "a right and a wrong trace are told apart".to_owned();
        if !weak.is_empty() {
            detail = format!("{detail}, but not on {}", weak.join(", "));
        }
        Finding::new(Check::Direction, Grade::Good, detail)
    }
}

/// What was asked and has no answer, each once, with the reason.
fn lacking(asked: &QuestionSet, answers: [&Answer; 2]) -> Vec<String> {
    let mut lacking = Vec::new();
    for question in asked.asked() {
        let why = answers
            .iter()
            .find_map(|answer| match &answer.answers[question] {
                Some(Judgment::Failed(failure)) => Some(failure.reason.to_string()),
                Some(Judgment::Judged(_) | Judgment::NotApplicable(_)) => None,
                None => Some("no answer".to_owned()),
            });
        lacking.extend(why.map(|why| format!("{} ({why})", question.dimension())));
    }
    lacking
}

#[cfg(test)]
mod tests;
