//! `eval gate`: a report against an accepted one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::artifact::replace::replace;
use crate::artifact::{bounded, gate_rules};
use crate::cli::{End, output};
use crate::eval::gate::{self, rules, table};
use crate::report::json::{self, ReportError};
use crate::report::model::{Modes, Report};

/// The longest report that is read.
const MAX_REPORT_BYTES: u64 = 256 << 20;
/// The longest file of rules that is read.
const MAX_RULES_BYTES: u64 = 1 << 20;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Args {
    /// The report in question, as JSON.
    #[arg(value_name = "REPORT")]
    report: PathBuf,
    /// The report that it is held against.
    #[arg(long, value_name = "FILE")]
    accepted: PathBuf,
    /// Rules in TOML; without them the metrics that matter most may each be 0.01 worse, and cost 1 %.
    ///
    /// `reference gate` lists every metric and every key. A `tolerance` is in the unit of the metric; that of latency
    /// and cost is a share of the accepted value: 0.05 is 5 %. A rule with `min` or `max` is held against the accepted
    /// report only if it says `tolerance` too.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Shows what passed and what moved without being gated, too.
    #[arg(long)]
    all: bool,
    /// Writes REPORT over the accepted report, whatever the gate says.
    #[arg(long)]
    accept: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<End> {
    let (text, report) = read(&args.report)?;
    if args.accept && report.modes == Modes::default() {
        bail!(
            "`{}` has no modes; a report in which nothing is told cannot be accepted",
            args.report.display()
        );
    }
    let accepted = accepted(args)?;
    let basis = accepted.as_ref().unwrap_or(&report);
    let rules = match &args.rules {
        Some(file) => read_rules(file, [&report, basis])?,
        None => rules::defaults(basis)?,
    };
    let mut end = End::Good;
    if let Some(accepted) = &accepted {
        match gate::check(&report, accepted) {
            Ok(()) => {
                let findings = gate::judge_report(&report, accepted, &rules)?;
                if findings.gated.is_empty() {
                    nothing_gated(args)?;
                } else {
                    output::line(table::write(&report, accepted, &findings, args.all).trim_end())?;
                    if !findings.is_passed() {
                        end = End::Bad;
                    }
                }
            }
            Err(mismatch) if args.accept => output::note(&format!("not compared: {mismatch}")),
            Err(mismatch) => {
                let hint = "with --accept the report becomes the accepted one";
                return Err(output::with_hint(mismatch, hint));
            }
        }
    }
    if args.accept {
        replace(&args.accepted, text.as_bytes())
            .with_context(|| format!("cannot write `{}`", args.accepted.display()))?;
        let (new, old) = (args.report.display(), args.accepted.display());
        output::note(&format!("accepted: `{old}` now holds `{new}`"));
        end = End::Good;
    }
    Ok(end)
}

/// A gate that holds nothing would pass whatever came.
fn nothing_gated(args: &Args) -> anyhow::Result<()> {
    let why = format!(
        "nothing is gated: `{}` tells no metric that is gated without rules",
        args.accepted.display()
    );
    if args.accept {
        output::note(&why);
        return Ok(());
    }
    let hint = "accept a report over rows that can be judged, or name metrics with --rules";
    Err(output::with_hint(anyhow::anyhow!(why), hint))
}

/// The accepted report; none if there is none yet, or none that can be read by this version, and one is to be written.
fn accepted(args: &Args) -> anyhow::Result<Option<Report>> {
    let file = args.accepted.as_path();
    let is_absent = fs::metadata(file).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    if is_absent && args.accept {
        return Ok(None);
    }
    if is_absent {
        let error = anyhow::anyhow!("there is no accepted report `{}`", file.display());
        return Err(output::with_hint(error, "--accept writes the first one"));
    }
    match read(file) {
        Ok((_, report)) => Ok(Some(report)),
        Err(error) if args.accept => match error.downcast_ref::<ReportError>() {
            Some(ReportError::Version { .. }) => {
                output::note(&format!("not compared: {error}"));
                Ok(None)
            }
            Some(ReportError::Malformed { .. }) | None => Err(error),
        },
        Err(error) => Err(error),
    }
}

fn read(file: &Path) -> anyhow::Result<(String, Report)> {
    let name = file.display().to_string();
    let bytes =
        bounded::read(file, MAX_REPORT_BYTES).with_context(|| format!("cannot read `{name}`"))?;
    let Ok(text) = String::from_utf8(bytes) else {
        bail!("{name}: is not UTF-8; this is not a report");
    };
    let report = json::read(&name, &text)?;
    Ok((text, report))
}

fn read_rules(file: &Path, reports: [&Report; 2]) -> anyhow::Result<Vec<rules::Rule>> {
    let name = file.display().to_string();
    let bytes =
        bounded::read(file, MAX_RULES_BYTES).with_context(|| format!("cannot read `{name}`"))?;
    let Ok(text) = String::from_utf8(bytes) else {
        bail!("{name}: is not UTF-8");
    };
    gate_rules::read(&name, &text)
        .and_then(|written| rules::resolve(&name, written, reports))
        .map_err(|error| output::with_hint(error, "`reference gate` lists every metric and key"))
}
