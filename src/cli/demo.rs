//! `demo`: the cascade at work on bundled traces, through the program's own server and client.
//!
//! The answers of both judges are recorded and were written for the demonstration: their latencies, tokens and prices
//! illustrate a fast judge and a slow one, and no judge is called.

mod explain;
mod tally;

use std::io;
use std::path::Path;

use anyhow::{Context as _, ensure};
use futures_util::StreamExt as _;

use self::tally::{Alternative, Tally};
use super::serve::OTHER_ADDRESSES;
use super::settings::ServerArgs;
use super::{End, output};
use crate::app;
use crate::artifact::verdict::VerdictRow;
use crate::cascade::plan::Scope;
use crate::client::Client;
use crate::config::{self, Overrides};
use crate::dataset::record::Record;
use crate::domain::diagnosis::Diagnosis;
use crate::domain::trace::{Trace, TraceLimits};
use crate::rpc::convert::{self, request::How};
use crate::server::BoundServer;
use crate::server::signals::Signals;
use crate::telemetry::logging;

/// The files of the demonstration, as the configuration names them.
const FILES: [(&str, &str); 3] = [
    (
        "replays/demo-atomic.jsonl",
        include_str!("../../fixtures/replays/demo-atomic.jsonl"),
    ),
    (
        FALLBACK_FILE,
        include_str!("../../fixtures/replays/demo-fallback.jsonl"),
    ),
    (
        PRICING_FILE,
        include_str!("../../fixtures/pricing/demo.json"),
    ),
];
const FALLBACK_FILE: &str = "replays/demo-fallback.jsonl";
const PRICING_FILE: &str = "pricing/demo.json";
const CONFIG: &str = include_str!("../../fixtures/demo.toml");
const TRACES: &str = include_str!("../../fixtures/traces/demo.jsonl");
/// The profile with the recorded judges.
const PROFILE: &str = "demo";
/// Traces that are under way at once.
const CONCURRENCY: usize = 8;
/// A free port.
const ANY_PORT: &str = "127.0.0.1:0";

/// Shows the cascade at work.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    server: ServerArgs,
    /// Ends after the bundled traces instead of going on to serve; listens on free ports unless told otherwise.
    #[arg(long)]
    once: bool,
}

/// A bundled trace and the diagnosis that is true of it.
struct Sample {
    trace: Trace,
    label: Option<Diagnosis>,
}

pub(super) async fn run(args: Args) -> anyhow::Result<End> {
    let config = configuration(args.server.overrides(), args.once)?;
    let _log = logging::init(&config.log)?;
    let is_open = config.server.tls.is_none() && config.server.auth.is_none();
    ensure!(
        is_open,
        "the demonstration calls itself in clear text and without a token; leave server.tls and server.auth out"
    );
    let app = app::build(&config, app::Files::Texts(&bundled), &config::variable)?;
    let samples = samples(&config.limits)?;
    let mut signals = Signals::catch()?;
    let server = BoundServer::bind(&config.server, config.admin.listen)
        .await
        .map_err(|error| output::with_hint(error, OTHER_ADDRESSES))?;
    let endpoint = server.place().to_string();
    let admin = server.admin_place().to_string();
    let http = server.http_place().map(ToString::to_string);
    let running = server.start(app.content).await?;

    let is_done = tokio::select! {
        shown = show(&endpoint, &samples) => {
            shown?;
            output::line(&format!(
                "gRPC     {endpoint}  (judgecascade.v1.DiagnosisService, with reflection and health)\n\
                 metrics  http://{admin}/metrics\n\
                 probes   http://{admin}/livez  http://{admin}/readyz"
            ))?;
            if let Some(http) = http {
                output::line(&format!("HTTP     http://{http}/v1/diagnose"))?;
            }
            args.once
        }
        _ = signals.next() => true,
    };
    if !is_done {
        output::line("\nServing the embedded judge as profile `default` until Ctrl-C.")?;
        signals.next().await;
    }
    signals.unless_repeated(running.drain()).await;
    Ok(End::Good)
}

fn configuration(mut overrides: Overrides, once: bool) -> anyhow::Result<config::Config> {
    // One of the recorded judges fails on purpose, and the demonstration says so itself.
    overrides
        .log_filter
        .get_or_insert_with(|| "warn,judge_cascade::telemetry::metrics::judges=error".to_owned());
    overrides
        .log_format
        .get_or_insert_with(|| "text".to_owned());
    if once {
        if overrides.uds.is_none() {
            overrides.listen.get_or_insert_with(|| ANY_PORT.to_owned());
        }
        overrides
            .admin_listen
            .get_or_insert_with(|| ANY_PORT.to_owned());
    }
    Ok(config::load(
        Some(("demo.toml", CONFIG)),
        &config::environment()?,
        overrides,
    )?)
}

/// Sends every trace and prints what came back, then the totals.
async fn show(endpoint: &str, samples: &[Sample]) -> anyhow::Result<()> {
    output::line(
        "Recorded answers of two judges, written for this demonstration; no judge is called.\n\
         Each trace: id, diagnosis, confidence, route, time, cost; question, answer, cause.\n",
    )?;
    let client = Client::connect(endpoint).await?;
    let mut tally = Tally::default();
    let mut verdicts = futures_util::stream::iter(samples)
        .map(|sample| diagnose(&client, &sample.trace))
        .buffered(CONCURRENCY);
    for sample in samples {
        let row = verdicts.next().await.context("a verdict is missing")??;
        output::line(&explain::verdict(&sample.trace, &row, sample.label))?;
        tally.add(&row, sample.label);
    }
    let text = |name| {
        FILES
            .iter()
            .find(|(known, _)| *known == name)
            .map_or("", |(_, text)| text)
    };
    let alternative = Alternative::read(text(FALLBACK_FILE), text(PRICING_FILE))?;
    output::line(&tally.summary(&alternative))?;
    Ok(())
}

fn bundled(path: &Path) -> io::Result<String> {
    let found = FILES.iter().find(|(name, _)| Path::new(name) == path);
    found
        .map(|(_, text)| (*text).to_owned())
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn samples(limits: &TraceLimits) -> anyhow::Result<Vec<Sample>> {
    let samples = TRACES.lines().map(|line| {
        let record: Record = serde_json::from_str(line)?;
        let label = record
            .expected
            .as_ref()
            .and_then(|expected| expected.diagnosis);
        Ok(Sample {
            trace: record.trace(limits)?,
            label,
        })
    });
    samples.collect()
}

async fn diagnose(client: &Client, trace: &Trace) -> anyhow::Result<VerdictRow> {
    let how = How {
        skip_cache: false,
        profile: PROFILE.to_owned(),
        scope: Scope::Full,
        fallback_mode: None,
        include_statements: false,
    };
    let response = client
        .diagnose(convert::request::message(trace, how), None)
        .await?;
    Ok(convert::verdict::row(response)?)
}
