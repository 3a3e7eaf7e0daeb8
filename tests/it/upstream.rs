//! Judges that go wrong, asked by the real binary in both roles: the caller has an answer in time, and never a verdict
//! that stands on a failed, partial or invalid one.

mod answers;
mod burst;
mod calls;
mod connections;

use std::fmt::Write as _;
use std::path::PathBuf;

use judge_cascade::rpc::pb::{self, Diagnosis, FailureReason, FallbackUnavailableReason, Route};
use tempfile::TempDir;

use crate::support::faults::reply::Reply;
use crate::support::faults::{Act, FaultServer, Seen};
use crate::support::process::Sidecar;
use crate::support::{request, trace};

/// The key of every judge here; it must never be seen in a log.
const KEY: &str = "sk-upstream-0123456789";

/// A System One answer to every question about [`trace`].
fn answer_of(probability: impl Fn(&str) -> f64) -> String {
    let names = [
        "chunk_0",
        "chunk_1",
        "context_sufficiency",
        "context_conflict",
        "answer_relevance",
        "groundedness",
        "contradiction",
        "correctness",
    ];
    let answers: Vec<_> = names
        .iter()
        .map(|name| format!(r#""{name}":{{"type":"noul","noul":{}}}"#, probability(name)))
        .collect();
    format!(
        r#"{{"model":"m-1","answers":{{{}}},"usage":{{"input_tokens":300,"output_tokens":70}}}}"#,
        answers.join(",")
    )
}

/// Every question is answered at its good end.
fn good() -> String {
    answer_of(|name| match name {
        "context_conflict" | "contradiction" => 0.03,
        "chunk_1" => 0.02,
        _ => 0.97,
    })
}

/// The same for the questions that are asked.
fn answer_what_is_asked(seen: &Seen) -> Reply {
    if !seen.head.starts_with("POST") {
        return Reply::status(404);
    }
    let (whole, asked) = (good(), seen.json());
    let mut answer: serde_json::Value = serde_json::from_str(&whole).unwrap();
    let answers = answer["answers"].as_object_mut().unwrap();
    answers.retain(|name, _| asked["questions"].get(name).is_some());
    Reply::json(answer.to_string())
}

/// Every question is left open.
fn unsure() -> String {
    answer_of(|_| 0.5)
}

/// A sidecar with a faulty judge in both roles: `atomic` asks it first, `fallback` asks it second.
struct Rig {
    sidecar: Sidecar,
    good: FaultServer,
    _unsure: FaultServer,
    _folder: TempDir,
}

/// Where the faulty judge is, and keys of the configuration for it alone.
#[derive(Default)]
struct Faulty {
    url: String,
    roots: Option<PathBuf>,
    /// Its type; `systemone` if empty.
    kind: &'static str,
    keys: &'static str,
}

impl Faulty {
    fn at(server: &FaultServer) -> Self {
        Self {
            url: server.url(),
            ..Self::default()
        }
    }

    fn with(self, keys: &'static str) -> Self {
        Self { keys, ..self }
    }
}

impl Rig {
    fn start(faulty: &Faulty) -> Self {
        let folder = TempDir::new().unwrap();
        let (good, unsure) = (
            FaultServer::start([Act::AnswerTo(answer_what_is_asked)]),
            FaultServer::start([Act::Answer(Reply::json(unsure()))]),
        );
        let mut toml = String::from("[time]\ndeadline_ms = 20000\natomic_timeout_ms = 2000\n\n");
        for (name, url, keys) in [
            ("good", good.url(), "timeout_ms = 15000"),
            ("unsure", unsure.url(), "timeout_ms = 15000"),
            ("faulty", faulty.url.clone(), faulty.keys),
        ] {
            let kind = match name {
                "faulty" if !faulty.kind.is_empty() => faulty.kind,
                _ => "systemone",
            };
            write!(
                toml,
                "[judges.{name}]\ntype = \"{kind}\"\nbase_url = \"{url}\"\nmodel = \"m\"\napi_key_env = \"UPSTREAM_KEY\"\ninsecure_http = true\n"
            )
            .unwrap();
            if let Some(roots) = faulty.roots.as_ref().filter(|_| name == "faulty") {
                writeln!(toml, "roots = {:?}", roots.to_str().unwrap()).unwrap();
            }
            writeln!(toml, "{keys}\n").unwrap();
        }
        toml.push_str(
            "[profiles.atomic]\natomic = \"faulty\"\nfallback = \"good\"\npolicy = \"parity-v1\"\n\n\
             [profiles.fallback]\natomic = \"unsure\"\nfallback = \"faulty\"\npolicy = \"parity-v1\"\n\n\
             [profiles.alone]\natomic = \"faulty\"\nfallback = \"faulty\"\npolicy = \"parity-v1\"\n",
        );
        let file = folder.path().join("judge-cascade.toml");
        std::fs::write(&file, toml).unwrap();
        let sidecar = Sidecar::start_with(
            &["--config", file.to_str().unwrap(), "--log-filter", "debug"],
            &[("UPSTREAM_KEY", KEY)],
        );
        Self {
            sidecar,
            good,
            _unsure: unsure,
            _folder: folder,
        }
    }

    /// The same once its first contact with the faulty judge is over; only then does the judge act like this.
    async fn start_then(server: &FaultServer, keys: &'static str, act: Act) -> Self {
        let rig = Self::start(&Faulty::at(server).with(keys));
        server
            .until("the first contact", |log| !log.requests.is_empty())
            .await;
        server.then([act]);
        rig
    }

    async fn diagnose(&self, profile: &str) -> pb::DiagnoseResponse {
        let message = pb::DiagnoseRequest {
            profile: profile.to_owned(),
            ..request(trace())
        };
        let client = Box::pin(self.sidecar.client()).await;
        Box::pin(client.diagnose(message, None)).await.unwrap()
    }

    /// Asks in both roles; the call must fail as a whole for this reason.
    ///
    /// R47: a failing judge is an OK answer, and the metric, the call and the dimensions say so.
    async fn fails_as(&self, reason: FailureReason) {
        let first = self.diagnose("atomic").await;
        assert_eq!(first.diagnosis(), Diagnosis::Pass, "{first:?}");
        assert_eq!(first.route(), Route::Fallback);
        assert_eq!(first.judge_calls[0].failure_reason(), reason, "{first:?}");
        let atomic = first.atomic.unwrap().generation.unwrap();
        let groundedness = atomic.groundedness.unwrap().outcome;
        let failed = pb::judgment::Outcome::FailureReason(reason as i32);
        assert_eq!(groundedness, Some(failed));

        let second = self.diagnose("fallback").await;
        assert_eq!(second.diagnosis(), Diagnosis::JudgeUncertain, "{second:?}");
        assert_eq!(second.route(), Route::FallbackUnavailable);
        let reached = second.fallback_unavailable_reason();
        assert_ne!(reached, FallbackUnavailableReason::Unspecified);
        let call = second.judge_calls.last().unwrap();
        assert_eq!(call.failure_reason(), reason, "{second:?}");

        let both = self.diagnose("alone").await;
        assert_eq!(both.diagnosis(), Diagnosis::JudgeUncertain, "{both:?}");
        assert_eq!(both.route(), Route::FallbackUnavailable);

        let counted = format!(
            "judge_cascade_judge_requests_total{{judge=\"faulty\",role=\"fallback\",outcome=\"{}\"}}",
            reason
                .as_str_name()
                .trim_start_matches("FAILURE_REASON_")
                .to_ascii_lowercase()
        );
        self.sidecar.reaches(&counted, 1.0).await;
        assert_eq!(self.sidecar.admin("/readyz").await.1, "ready");
        assert!(!self.good.requests().is_empty());
    }

    /// Ends the sidecar: neither the key nor a word of a body of the judge stands in its log.
    async fn ends_without(mut self, words: &[&str]) {
        self.sidecar.signal("TERM");
        assert!(self.sidecar.ended().await.success());
        let log = self.sidecar.log().join("\n");
        for word in [KEY].iter().chain(words) {
            assert!(!log.contains(word), "`{word}` stands in the log");
        }
    }
}
