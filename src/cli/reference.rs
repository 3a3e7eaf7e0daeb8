//! `reference`: the documents that are generated from the code.
//!
//! A test holds `docs/configuration.md`, `docs/metrics.md` and `docs/gate.md` equal to what this prints.

mod config;
mod gate;
mod metrics;

use super::{End, output};

/// Which reference.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {
    /// Every key of the configuration with its default and its meaning.
    Config,
    /// Every metric of a report that `eval gate` can hold, and the keys of its rules.
    Gate,
    /// Every metric with its labels and their values.
    Metrics,
}

pub(super) fn run(command: Command) -> anyhow::Result<End> {
    let text = match command {
        Command::Config => self::config::document(),
        Command::Gate => self::gate::document(),
        Command::Metrics => self::metrics::document()?,
    };
    output::line(text.trim_end())?;
    Ok(End::Good)
}

/// A row of a table; a cell cannot hold the sign between cells.
fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// The row of titles of a table, and the line below it.
fn head(titles: &[&str]) -> String {
    row(titles) + &"|---".repeat(titles.len()) + "|\n"
}
