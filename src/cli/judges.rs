//! `judges check`, `judges stability` and `judges bench`: what the configured judges are worth before anything depends on
//! them; and `judges fit`: the model of the embedded judge.

mod bench;
mod check;
mod fit;
mod needle;
mod report;
mod samples;
mod stability;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::time::Instant;

use super::End;
use crate::app::App;
use crate::domain::outcome::{DecisionVariant, JudgeRole};
use crate::domain::question::QuestionSet;
use crate::domain::trace::{JudgeId, Trace};
use crate::judge::decision::Decision;
use crate::judge::{Answer, Ask, CallContext, Judge, JudgeError};

/// Asks the configured judges to find out how good they are.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Asks every judge about two bundled traces, and tells what it can do, what it costs and what is wrong.
    Check(check::Args),
    /// Fits the model of the embedded judge to labelled datasets.
    Fit(fit::Args),
    /// Asks a judge about each trace of a file again and again, and tells how far its answers differ.
    Stability(stability::Args),
    /// Measures a judge on labelled data sets, alone and under a policy.
    Bench(bench::Args),
}

pub(super) async fn run(command: Command) -> anyhow::Result<End> {
    match command {
        Command::Check(args) => check::run(args).await,
        Command::Fit(args) => fit::run(&args),
        Command::Stability(args) => stability::run(args).await,
        Command::Bench(args) => bench::run(args).await,
    }
}

/// The judge of that name.
fn named<'a>(app: &'a App, name: &str) -> anyhow::Result<&'a Arc<dyn Judge>> {
    app.judges.get(&JudgeId::from(name)).with_context(|| {
        let known: Vec<_> = app.judges.keys().map(|id| format!("`{id}`")).collect();
        let known = known.join(", ");
        format!("judge `{name}` is not configured; configured are {known}")
    })
}

/// A question to a judge in which no cache takes part.
struct Inquiry<'a> {
    trace: &'a Arc<Trace>,
    questions: &'a QuestionSet,
    history_is_evidence: bool,
    role: JudgeRole,
    timeout: Duration,
}

impl Inquiry<'_> {
    fn ask(&self) -> Ask<'_> {
        let variant = match self.trace.reference_answer {
            Some(_) => DecisionVariant::WithReference,
            None => DecisionVariant::WithoutReference,
        };
        Ask {
            trace: self.trace,
            questions: self.questions,
            decision: Decision::of(variant),
            history_is_evidence: self.history_is_evidence,
        }
    }

    async fn of(&self, judge: &dyn Judge) -> Result<Answer, JudgeError> {
        let context = CallContext {
            skip_cache: true,
            ..CallContext::until(Instant::now() + self.timeout, self.role)
        };
        judge.judge(&self.ask(), &context).await
    }
}
