//! `eval merge`: one report from the rows files of several shards.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::reports;
use crate::artifact::policy;
use crate::cli::{End, output};
use crate::dataset::load;
use crate::eval::merge::{MergeError, Shards};
use crate::eval::summary::Summary;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The rows files of all shards, in any order.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The dataset; with it the page shows the texts of the rows that it lists.
    #[arg(long, value_name = "DATA")]
    data: Option<PathBuf>,
    /// The folder that the reports are written to.
    #[arg(long, value_name = "FOLDER", default_value = "evaluation")]
    out: PathBuf,
}

pub(super) fn run(args: Args) -> anyhow::Result<End> {
    let shards = Shards::open(args.files)?.context("there is no rows file")?;
    let header = &shards.header;
    if let Some(data) = &args.data {
        let found = load::survey(data)?.sha256;
        if found != header.dataset.sha256 {
            bail!(
                "{}: its SHA-256 is `{found}`; the rows are of a dataset with `{}`",
                data.display(),
                header.dataset.sha256
            );
        }
    }
    let policy = policy::read(&header.policy.id, &header.policy_text)?;
    if *policy.id.sha256 != *header.policy.sha256 {
        bail!(
            "the policy in the rows files has another digest than they say: `{}`, not `{}`",
            policy.id.sha256,
            header.policy.sha256
        );
    }
    let mut summary = Summary::new(header.clone(), &policy.policy);
    match shards.each_row(|row| summary.add(row)) {
        Ok(()) => (),
        Err(error @ (MergeError::Twice { .. } | MergeError::Missing(_))) => {
            output::note(&format!("error: {error}"));
            return Ok(End::Bad);
        }
        Err(error) => return Err(error.into()),
    }
    create(&args.out)?;
    let words = reports::write(&args.out, summary, args.data.as_deref())?;
    output::line(words.trim_end())?;
    Ok(End::Good)
}

/// Makes a folder, with those above it.
pub(super) fn create(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", folder.display()))
}
