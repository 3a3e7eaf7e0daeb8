//! `policy diff`: recorded judgments under two policies.

use std::path::PathBuf;

use crate::artifact::pricing;
use crate::cli::{End, output, settings};
use crate::dataset::load::DatasetError;
use crate::eval::what_if::data::Dataset;
use crate::eval::what_if::{Roles, WhatIf, WhatIfError, compare};

mod table;

/// Tells what changes under another policy.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The policy that was: the name of a built-in one, or a file.
    #[arg(value_name = "A")]
    before: String,
    /// The policy that would be.
    #[arg(value_name = "B")]
    after: String,
    /// What was recorded: rows of `diagnose`, a rows file of `eval cascade`, or replay rows.
    #[arg(long, value_name = "FILE")]
    on: PathBuf,
    /// The dataset that was judged, for its labels; with replay rows also for what does not apply to a trace.
    #[arg(long, value_name = "DATA")]
    data: Option<PathBuf>,
    /// The judge of the replay rows that is the atomic one; may be left out if all rows are of one judge.
    #[arg(long, value_name = "NAME")]
    atomic: Option<String>,
    /// The judge of the replay rows that is the fallback judge.
    #[arg(long, value_name = "NAME", requires = "atomic")]
    fallback: Option<String>,
    /// The price table for replay rows, whose cost is unknown without one.
    #[arg(long, value_name = "FILE")]
    pricing: Option<PathBuf>,
    /// How many traces are named of each change of diagnosis.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(0..=1000))]
    examples: u16,
    /// Prints JSON instead of tables.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<End> {
    let (before, after) = (
        settings::policy(&args.before)?,
        settings::policy(&args.after)?,
    );
    let prices = match &args.pricing {
        Some(file) => {
            Some(pricing::read(&file.display().to_string(), &settings::read(file)?)?.table)
        }
        None => None,
    };
    let data = match args.data.as_deref().map(Dataset::read) {
        None => None,
        Some(Ok(data)) => Some(data),
        Some(Err(error @ (DatasetError::Lines(_) | DatasetError::Empty(_)))) => {
            output::note(&format!("error: {error}"));
            return Ok(End::Bad);
        }
        Some(Err(error)) => return Err(error.into()),
    };
    let asked = WhatIf {
        file: &args.on,
        before: &before,
        after: &after,
        data: data.as_ref(),
        roles: Roles {
            atomic: args.atomic.as_deref(),
            fallback: args.fallback.as_deref(),
        },
        prices: prices.as_ref(),
        examples: usize::from(args.examples),
    };
    match compare(&asked) {
        Ok(difference) if args.json => {
            output::line(&serde_json::to_string_pretty(&difference)?)?;
            Ok(End::Good)
        }
        Ok(difference) => {
            output::line(table::text(&difference).trim_end())?;
            Ok(End::Good)
        }
        Err(error @ (WhatIfError::Lines(_) | WhatIfError::Empty(_))) => {
            // A comparison over the other lines would mislead, so there is none.
            output::note(&format!("error: {error}"));
            Ok(End::Bad)
        }
        Err(error) => Err(error.into()),
    }
}
