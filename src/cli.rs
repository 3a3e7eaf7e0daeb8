//! The command line: one file a command.
//!
//! Results go to standard output, everything else to standard error.
//! Exit codes: 0 is success, 1 is bad data, 2 is a usage, configuration or I/O error.

mod config;
mod demo;
mod diagnose;
mod eval;
mod healthcheck;
mod init;
mod judges;
pub mod names;
mod output;
mod policy;
mod reference;
mod schema;
mod serve;
mod settings;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::telemetry::build::VERSION_AND_REVISION;

/// Diagnoses the answers of RAG applications with a fast atomic judge and a fallback judge.
#[derive(Debug, Parser)]
#[command(name = "judge-cascade", version = VERSION_AND_REVISION.as_str())]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves Diagnose over gRPC until SIGTERM or SIGINT.
    Serve(serve::Args),
    /// Shows the cascade at work on bundled traces, then serves the embedded judge.
    Demo(demo::Args),
    /// Diagnoses the traces of a JSONL file and writes a verdict row for each.
    Diagnose(diagnose::Args),
    /// Asks a running server whether it serves; exits 0 only if it does.
    Healthcheck(healthcheck::Args),
    /// Checks or prints the configuration.
    #[command(subcommand)]
    Config(config::Command),
    /// Checks the judges, or how much their answers vary.
    #[command(subcommand)]
    Judges(judges::Command),
    /// Writes a configuration for a provider of judges.
    Init(init::Args),
    /// Evaluates on labelled data, merges shards, and gates reports.
    #[command(subcommand)]
    Eval(eval::Command),
    /// Tells what another policy would have decided.
    #[command(subcommand)]
    Policy(policy::Command),
    /// Prints the JSON Schema of a file.
    Schema(schema::Args),
    /// Prints a reference as Markdown.
    #[command(subcommand)]
    Reference(reference::Command),
}

/// How a command ended when nothing kept it from running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// All is well.
    Good,
    /// Some of the data is bad, or the answer is no.
    Bad,
}

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli.command) {
        Ok(End::Good) => ExitCode::SUCCESS,
        Ok(End::Bad) => ExitCode::from(1),
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::error(&error);
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> anyhow::Result<End> {
    match command {
        Command::Serve(args) => block_on(serve::run(args)),
        Command::Demo(args) => block_on(demo::run(args)),
        Command::Diagnose(args) => block_on(diagnose::run(args)),
        Command::Healthcheck(args) => block_on(healthcheck::run(args)),
        Command::Config(command) => config::run(command),
        Command::Judges(command) => block_on(judges::run(command)),
        Command::Init(args) => init::run(&args),
        Command::Eval(command) => block_on(eval::run(command)),
        Command::Policy(command) => policy::run(command),
        Command::Schema(args) => schema::run(&args),
        Command::Reference(command) => reference::run(command),
    }
}

/// Runs a command to its end and waits for nothing else: what it left behind ends with the process.
fn block_on(command: impl Future<Output = anyhow::Result<End>>) -> anyhow::Result<End> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let end = runtime.block_on(command);
    runtime.shutdown_background();
    end
}
