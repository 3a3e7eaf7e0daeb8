//! The real binary over real sockets: order and outcomes, with time only as a generous guard.

mod addresses;
mod connections;
mod drain;
mod logs;
mod notify;
mod serving;

use std::fs;

use judge_cascade::rpc::pb;
use judge_cascade::rpc::pb::diagnosis_service_client::DiagnosisServiceClient;
use serde_json::json;
use tempfile::TempDir;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};
use tonic_types::StatusExt as _;

use crate::support::process::Sidecar;

/// A configuration in a folder of its own.
pub(crate) struct ConfigFile {
    _folder: TempDir,
    pub(crate) path: String,
}

/// The profile `default` with a recorded judge that takes its time for [`crate::support::trace`], and the profile
/// `plain` with the embedded judge.
pub(crate) fn slow_judge(latency_ms: u64, server: &str) -> ConfigFile {
    let folder = tempfile::tempdir().unwrap();
    let row = json!({
        "trace_id": "t1",
        "judge_id": "slow",
        "decision": {"id": "judge-cascade.rag.with-reference", "version": "2", "variant": "with_reference"},
        "answers": {
            "chunk_relevance": {"c1": 0.97, "c2": 0.02},
            "context_sufficiency": 0.95,
            "context_conflict": 0.05,
            "answer_relevance": 0.95,
            "groundedness": 0.95,
            "contradiction": 0.05,
            "correctness": 0.95,
        },
        "latency_ms": latency_ms,
    });
    fs::write(folder.path().join("slow.jsonl"), row.to_string()).unwrap();
    let text = format!(
        "[server]\n{server}\n\
         [time]\ndeadline_ms = 600000\natomic_timeout_ms = 600000\n\
         [judges.slow]\ntype = 'replay'\nfile = 'slow.jsonl'\nmatch = 'trace_id'\nsimulate_latency = true\n\
         [profiles.default]\natomic = 'slow'\npolicy = 'parity-v1'\n\
         [profiles.plain]\n"
    );
    let path = folder.path().join("slow.toml");
    fs::write(&path, text).unwrap();
    ConfigFile {
        path: path.to_str().unwrap().to_owned(),
        _folder: folder,
    }
}

async fn channel(sidecar: &Sidecar) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{}", sidecar.endpoint)).unwrap();
    endpoint.connect().await.unwrap()
}

/// A client that retries nothing.
pub(crate) async fn plain_client(sidecar: &Sidecar) -> DiagnosisServiceClient<Channel> {
    DiagnosisServiceClient::new(channel(sidecar).await)
}

/// A trace without a reference answer.
fn asked(question: &str, chunk_text: &str, answer: &str) -> pb::DiagnoseRequest {
    crate::support::request(pb::Trace {
        question: question.to_owned(),
        chunks: vec![crate::support::chunk("c1", chunk_text)],
        answer: answer.to_owned(),
        ..Default::default()
    })
}

/// An answer that quotes its only chunk.
pub(crate) fn quoted() -> pb::DiagnoseRequest {
    let text = "The pool opens at eight on Sundays.";
    asked("When does the pool open on Sundays?", text, text)
}

fn reason(status: &Status) -> Option<String> {
    let details = status.get_error_details();
    details.error_info().map(|info| info.reason.clone())
}
