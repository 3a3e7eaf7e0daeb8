//! `diagnose`: traces in, verdict rows out, in input order.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::StreamExt as _;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;

use super::settings::{self, ConfigArgs, CredentialArgs};
use super::{End, output};
use crate::artifact::lines::{self, LineError, Place};
use crate::artifact::verdict::VerdictRow;
use crate::cascade::plan::Scope;
use crate::cascade::profile::FallbackMode;
use crate::cascade::{Cascade, Request};
use crate::client::Client;
use crate::config::Overrides;
use crate::dataset::record::Record;
use crate::domain::trace::{Trace, TraceLimits};
use crate::rpc::convert;

/// Traces that are diagnosed at once.
const CONCURRENCY: usize = 8;
/// What some editors put before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Lines that are read ahead.
const LINES_AHEAD: usize = 64;

/// Diagnoses a file of traces.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A JSONL file of traces, or - for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    config: ConfigArgs,
    /// Sends the traces to this server, https://HOST:PORT, http://HOST:PORT or unix:PATH, instead of diagnosing them in
    /// process.
    #[arg(long, value_name = "URL", conflicts_with = "config")]
    endpoint: Option<String>,
    #[command(flatten)]
    credentials: CredentialArgs,
    /// The profile.
    #[arg(long, default_value = "default")]
    profile: String,
    /// Which dimensions are asked: full or retrieval.
    #[arg(long, default_value_t = Scope::Full)]
    scope: Scope,
    /// Overrides the mode of the profile: inline or none.
    #[arg(long)]
    fallback_mode: Option<FallbackMode>,
    /// The longest time for a trace, in milliseconds; the server's deadline_ms bounds it too.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    timeout_ms: Option<u64>,
}

/// How every trace is diagnosed.
struct Options {
    profile: String,
    scope: Scope,
    fallback_mode: Option<FallbackMode>,
    timeout: Option<Duration>,
}

/// Who diagnoses.
enum Target {
    InProcess {
        cascade: Arc<Cascade>,
        limits: TraceLimits,
    },
    Server(Box<Client>),
}

pub(super) async fn run(args: Args) -> anyhow::Result<End> {
    let options = Options {
        profile: args.profile,
        scope: args.scope,
        fallback_mode: args.fallback_mode,
        timeout: args.timeout_ms.map(Duration::from_millis),
    };
    let target = match &args.endpoint {
        Some(endpoint) => {
            let credentials = args.credentials.credentials();
            Target::Server(Box::new(
                Client::connect_with(endpoint, &credentials).await?,
            ))
        }
        None => in_process(args.config, &options.profile)?,
    };
    let (name, input) = open(&args.file)?;
    let (sender, receiver) = mpsc::channel(LINES_AHEAD);
    let reader = tokio::task::spawn_blocking(move || read_lines(&name, input, &sender));
    let mut verdicts = ReceiverStream::new(receiver)
        .map(|(place, line)| diagnose_line(&target, &options, place, line))
        .buffered(CONCURRENCY);
    let (mut good, mut bad) = (0_usize, 0_usize);
    let mut troubles = Troubles::default();
    while let Some(verdict) = verdicts.next().await {
        match verdict {
            Ok(row) => {
                good += 1;
                troubles.add(&row);
                output::line(&serde_json::to_string(&row)?)?;
            }
            Err(error) => {
                bad += 1;
                output::note(&format!("error: {}", output::one_line(&error.to_string())));
            }
        }
    }
    reader
        .await?
        .with_context(|| format!("cannot read `{}`", args.file.display()))?;
    troubles.tell();
    if good + bad == 0 {
        output::note("there are no traces in the input");
    }
    if bad == 0 {
        return Ok(End::Good);
    }
    output::note(&format!("{bad} of {} lines gave no verdict", good + bad));
    Ok(End::Bad)
}

/// Failed calls by judge: how many, and what the first one failed for. A failure is no error of ours, and it is no
/// reason to keep it to the rows.
#[derive(Default)]
struct Troubles(BTreeMap<String, (usize, String)>);

impl Troubles {
    fn add(&mut self, row: &VerdictRow) {
        for call in &row.judge_calls {
            let Some(reason) = call.failure_reason else {
                continue;
            };
            let detail = call.failure_detail.as_deref().unwrap_or("no detail");
            let judge = call.judge_id.to_string();
            let told = || (0, format!("{reason}: {detail}"));
            self.0.entry(judge).or_insert_with(told).0 += 1;
        }
    }

    fn tell(&self) {
        for (judge, (count, first)) in &self.0 {
            output::note(&format!(
                "judge `{judge}` failed {count} times, first: {}",
                output::one_line(first)
            ));
        }
    }
}

fn in_process(config: ConfigArgs, profile: &str) -> anyhow::Result<Target> {
    let config = config.load(Overrides::default())?;
    let content = settings::build(&config)?.content;
    content.cascade.profile(profile).with_context(|| {
        let known = content
            .cascade
            .profile_names()
            .collect::<Vec<_>>()
            .join(", ");
        format!("profile `{profile}` is not configured; configured are {known}")
    })?;
    Ok(Target::InProcess {
        cascade: content.cascade,
        limits: content.limits,
    })
}

fn open(path: &Path) -> anyhow::Result<(String, Box<dyn BufRead + Send>)> {
    if path == Path::new("-") {
        return Ok(("stdin".to_owned(), Box::new(BufReader::new(io::stdin()))));
    }
    let file = File::open(path).with_context(|| format!("cannot open `{}`", path.display()))?;
    Ok((path.display().to_string(), Box::new(BufReader::new(file))))
}

type Line = Result<String, &'static str>;

/// Sends every line that is not blank; stops when nobody wants more.
fn read_lines(
    file: &str,
    mut input: Box<dyn BufRead + Send>,
    sender: &mpsc::Sender<(Place, Line)>,
) -> io::Result<()> {
    for number in 1.. {
        let mut bytes = Vec::new();
        if input.read_until(b'\n', &mut bytes)? == 0 {
            break;
        }
        if number == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        let line = String::from_utf8(bytes).map_err(|_| "is not UTF-8");
        if line.as_ref().is_ok_and(|line| line.trim().is_empty()) {
            continue;
        }
        let place = Place {
            file: file.to_owned(),
            line: number,
        };
        if sender.blocking_send((place, line)).is_err() {
            break;
        }
    }
    Ok(())
}

async fn diagnose_line(
    target: &Target,
    options: &Options,
    place: Place,
    line: Line,
) -> Result<VerdictRow, LineError> {
    let line = line.map_err(|problem| place.error(problem))?;
    let record: Record = lines::parse(&place, line.trim())?;
    let limits = match target {
        Target::InProcess { limits, .. } => *limits,
        // The limits are the server's; it names what is over them.
        Target::Server(_) => TraceLimits {
            max_chunk_count: usize::MAX,
            max_text_bytes: usize::MAX,
            max_history_turns: usize::MAX,
        },
    };
    let trace = record
        .trace(&limits)
        .map_err(|error| place.error(error.to_string()))?;
    match target {
        Target::InProcess { cascade, .. } => diagnose_here(cascade, options, Arc::new(trace)).await,
        Target::Server(client) => diagnose_there(client, options, &trace).await,
    }
    .map_err(|message| place.error(message))
}

async fn diagnose_here(
    cascade: &Cascade,
    options: &Options,
    trace: Arc<Trace>,
) -> Result<VerdictRow, String> {
    let profile = cascade
        .profile(&options.profile)
        .ok_or("the profile is not configured")?;
    let now = Instant::now();
    let request = Request {
        trace,
        scope: options.scope,
        fallback_mode: options.fallback_mode,
        received: now,
        started: now,
        timeout: options.timeout,
        traceparent: None,
        skip_cache: false,
    };
    let outcome = cascade
        .diagnose(profile, request)
        .await
        .map_err(|error| error.to_string())?;
    Ok(VerdictRow::of(&outcome, &profile.policy.policy))
}

async fn diagnose_there(
    client: &Client,
    options: &Options,
    trace: &Trace,
) -> Result<VerdictRow, String> {
    let how = convert::request::How {
        skip_cache: false,
        profile: options.profile.clone(),
        scope: options.scope,
        fallback_mode: options.fallback_mode,
        include_statements: true,
    };
    let message = convert::request::message(trace, how);
    let response = client.diagnose(message, options.timeout).await;
    let response = response.map_err(|error| error.to_string())?;
    convert::verdict::row(response).map_err(|error| error.to_string())
}
