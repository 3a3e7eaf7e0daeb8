//! `policy`: what another policy would have decided.

mod diff;

use super::End;

/// What is done with policies.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Tells what changes under another policy, from recorded judgments and without a judge.
    Diff(diff::Args),
}

pub(super) fn run(command: Command) -> anyhow::Result<End> {
    match command {
        Command::Diff(args) => diff::run(&args),
    }
}
