//! `eval`: evaluations over labelled rows, their merging, and the gate over their reports.

mod cascade;
mod gate;
mod merge;
mod reports;

use super::End;

/// What is evaluated.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Evaluates the cascade and its judges on a labelled dataset, and writes a report.
    Cascade(Box<cascade::Args>),
    /// Makes the report of an evaluation from the rows files of its shards.
    Merge(merge::Args),
    /// Compares a report with an accepted one; exits 1 if a metric is worse.
    Gate(gate::Args),
}

pub(super) async fn run(command: Command) -> anyhow::Result<End> {
    match command {
        Command::Cascade(args) => Box::pin(cascade::run(*args)).await,
        Command::Merge(args) => merge::run(args),
        Command::Gate(args) => gate::run(&args),
    }
}
