//! `init`: every provider's configuration is valid, and the documentation shows the same.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use judge_cascade::domain::judgment::SeenFraction;
use judge_cascade::domain::outcome::{DecisionVariant, Route};
use judge_cascade::domain::question::QuestionSet;
use judge_cascade::judge::Ask;
use judge_cascade::judge::decision::Decision;
use judge_cascade::judge::view::{View, ViewOptions};
use serde_json::{Value, json};

use super::{feed, rows};
use crate::support::fake_chat::{Arrived, FakeChat, FakeServer, said};
use crate::support::process::{command, run, stderr, stdout};

const PROVIDERS: [&str; 13] = [
    "jev",
    "openrouter",
    "vercel",
    "portkey",
    "litellm",
    "cloudflare",
    "laya",
    "azure",
    "openai",
    "vllm",
    "ollama",
    "llamacpp",
    "anthropic",
];

fn init(provider: &str, file: &Path, more: &[&str]) -> Output {
    let file = file.to_str().unwrap();
    let args = ["init", "--judge", provider, "--output", file];
    run(&[&args, more].concat())
}

/// `config check` with a value for every variable that the text names.
fn check(file: &Path, text: &str) -> Output {
    let mut check = command(&["config", "check", "--config", file.to_str().unwrap()]);
    set_variables(&mut check, text);
    check.output().unwrap()
}

fn set_variables(command: &mut Command, text: &str) {
    for part in text.split("env = \"").skip(1) {
        let variable = part.split('"').next().unwrap();
        command.env(variable, "not-a-real-key");
    }
}

/// The first `[judges.NAME]` up to the empty line behind it.
fn judge_block(text: &str) -> &str {
    let start = text.find("[judges.").unwrap();
    let length = text[start..].find("\n\n").unwrap();
    &text[start..start + length]
}

#[test]
fn every_provider_gives_a_valid_configuration() {
    let folder = tempfile::tempdir().unwrap();
    for provider in PROVIDERS {
        let file = folder.path().join(format!("{provider}.toml"));
        let output = init(provider, &file, &[]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let told = stdout(&output);
        assert!(
            told.contains("judge-cascade judges check --config "),
            "{told}"
        );
        let text = fs::read_to_string(&file).unwrap();
        let checked = check(&file, &text);
        assert_eq!(
            checked.status.code(),
            Some(0),
            "{provider}: {}",
            stderr(&checked)
        );
        assert_eq!(stderr(&checked), "", "{provider}");
    }
}

/// The judges in comments are meant to be uncommented.
#[test]
fn what_stands_in_comments_is_valid_too() {
    let folder = tempfile::tempdir().unwrap();
    for provider in PROVIDERS {
        let file = folder.path().join(format!("{provider}.toml"));
        init(provider, &file, &[]);
        let text = fs::read_to_string(&file).unwrap();
        for block in text
            .split("\n\n")
            .filter(|block| block.contains("# [judges."))
        {
            let lines = block.lines().skip_while(|line| !line.starts_with("# ["));
            let lines: Vec<_> = lines.map(|line| line.trim_start_matches("# ")).collect();
            let block = lines.join("\n");
            let file = folder.path().join("block.toml");
            fs::write(&file, &block).unwrap();
            let checked = check(&file, &block);
            assert_eq!(
                checked.status.code(),
                Some(0),
                "{provider}: {}",
                stderr(&checked)
            );
        }
    }
}

/// A limit that leaves no room for a trace would let nothing pass.
#[test]
fn a_plain_trace_is_shown_whole_within_the_limit_of_every_recipe() {
    let folder = tempfile::tempdir().unwrap();
    let trace = crate::wire::trace(3);
    let questions = QuestionSet::from_fn(3, |_| true);
    let ask = Ask {
        trace: &trace,
        questions: &questions,
        decision: Decision::of(DecisionVariant::WithReference),
        history_is_evidence: true,
    };
    for provider in PROVIDERS {
        let file = folder.path().join(format!("{provider}.toml"));
        init(provider, &file, &[]);
        let text = fs::read_to_string(&file).unwrap();
        let mut lines = text.lines();
        let limit = lines.find_map(|line| line.strip_prefix("max_state_tokens = "));
        let options = ViewOptions {
            max_state_tokens: limit.map(|limit| limit.parse().unwrap()),
            ..ViewOptions::default()
        };
        let view = View::of(&ask, &options);
        assert_eq!(
            (view.unasked, view.seen_context),
            (Vec::new(), SeenFraction::ALL)
        );
    }
}

#[test]
fn a_file_that_is_there_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    fs::write(&file, "# mine\n").unwrap();
    let output = init("jev", &file, &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("is there already"),
        "{}",
        stderr(&output)
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), "# mine\n");
    let output = init("jev", &file, &["--force"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(fs::read_to_string(&file).unwrap().contains("[judges.jev]"));
}

#[test]
fn flags_fill_in_what_only_the_user_knows() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    let flags = [
        "--base-url",
        "https://mine.openai.azure.com/openai/v1",
        "--model",
        "judge-deployment",
        "--api-key-env",
        "MY_KEY",
    ];
    let output = init("azure", &file, &flags);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let told = stdout(&output);
    assert!(told.contains("export MY_KEY=..."), "{told}");
    assert!(!told.contains("YOUR-"), "{told}");
    let mut print = command(&["config", "print", "--config", file.to_str().unwrap()]);
    let printed = stdout(&print.env("MY_KEY", "k").output().unwrap());
    for line in [
        "base_url = \"https://mine.openai.azure.com/openai\"",
        "path = \"/v1/chat/completions\"",
        "model = \"judge-deployment\"",
        "api_key_env = \"MY_KEY\"",
        "auth = \"api-key\"",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{printed}");
    }
    let unknown = init("nobody", &file, &[]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("one of jev, openrouter"));
}

#[test]
fn what_would_not_load_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    for (flags, told) in [
        (["--model", ""], "judges.openai.model: must not be empty"),
        (
            ["--base-url", "http://judge.example"],
            "judges.openai.base_url: `http://judge.example` is neither https",
        ),
        (
            ["--base-url", "judge"],
            "judges.openai.base_url: is not a URL",
        ),
        (["--api-key-env", "A B"], "--api-key-env: must be the name"),
        (
            ["--api-key-env", "sk-7f3a"],
            "--api-key-env: must be the name",
        ),
        (["--api-key-env", ""], "--api-key-env: must be the name"),
    ] {
        let output = init("openai", &file, &flags);
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(stderr(&output).contains(told), "{}", stderr(&output));
        assert!(!stderr(&output).contains("sk-7f3a"));
        assert!(!file.exists(), "{flags:?}");
    }
    let output = init("openai", folder.path(), &["--force"]);
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert!(told.contains("is not a file"), "{told}");

    let spaced = folder.path().join("my judge.toml");
    let told = stdout(&init("openai", &spaced, &[]));
    let hint = format!("check --config '{}'", spaced.display());
    assert!(told.contains(&hint), "{told}");
}

#[test]
fn what_is_missing_is_told_by_the_names_of_its_variables() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("c.toml");
    init("portkey", &file, &[]);
    let output = run(&["config", "check", "--config", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert!(
        told.contains("judges.portkey.headers.x-portkey-api-key: "),
        "{told}"
    );
    assert!(told.contains("`PORTKEY_API_KEY`"), "{told}");
}

#[test]
fn the_documentation_shows_what_init_writes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let document = fs::read_to_string(root.join("docs/judges.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for provider in PROVIDERS {
        let file = folder.path().join(format!("{provider}.toml"));
        init(provider, &file, &[]);
        let text = fs::read_to_string(&file).unwrap();
        let block = judge_block(&text);
        assert!(document.contains(block), "{provider}:\n{block}");
        assert!(
            document.contains(&format!("init --judge {provider}`")),
            "{provider}"
        );
    }
    let mut count = 0;
    for part in document.split("```toml\n").skip(1) {
        let block = part.split("```").next().unwrap();
        let file = folder.path().join("block.toml");
        fs::write(&file, block).unwrap();
        fs::write(folder.path().join("judge-key"), "not-a-real-key").unwrap();
        let checked = check(&file, block);
        assert_eq!(
            checked.status.code(),
            Some(0),
            "{block}\n{}",
            stderr(&checked)
        );
        count += 1;
    }
    assert!(PROVIDERS.len() <= count);
}

/// A deployment that finds everything right unless the text is about sourdough.
fn deployment(arrived: &Arrived) -> (u16, Value) {
    let schema = &arrived.body["response_format"]["json_schema"]["schema"];
    let Some(asked) = schema["properties"].as_object() else {
        return (404, json!({"error": {"message": "no such route"}}));
    };
    let is_right = !arrived.body["messages"].to_string().contains("sourdough");
    let label = |is_true: bool| json!(if is_true { "true" } else { "false" });
    let labels = asked.keys().map(|key| {
        let value = match key.as_str() {
            "chunks" => json!([{"id": "chunk_0", "label": label(is_right)}]),
            "unsupported_sentences" => json!([]),
            "context_conflict" | "contradiction" => label(false),
            _ => label(is_right),
        };
        (key.clone(), value)
    });
    let labels: serde_json::Map<_, _> = labels.collect();
    said(&Value::Object(labels).to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newcomer_gets_from_init_to_a_diagnosis_over_an_azure_like_endpoint() {
    let fake = FakeChat::new(deployment);
    let server = FakeServer::serve(&fake).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("judge-cascade.toml");
    let base_url = format!("{}/openai/v1", server.base_url);
    let flags = ["--base-url", &base_url, "--model", "judge-deployment"];
    assert!(init("azure", &file, &flags).status.success());
    let with_key = |args: &[&str]| {
        let mut command = command(args);
        command.arg("--config").arg(&file);
        command.env("AZURE_OPENAI_API_KEY", "not-a-real-key");
        command
    };

    let mut check = with_key(&["judges", "check", "--judge", "azure"]);
    let check = tokio::task::spawn_blocking(move || check.output().unwrap());
    let check = check.await.unwrap();
    assert_eq!(check.status.code(), Some(0), "{}", stdout(&check));
    assert!(stdout(&check).starts_with("azure: good\n"));

    let trace = json!({
        "id": "t1",
        "question": "When does the museum open?",
        "contexts": [{"id": "c1", "text": "The museum opens at nine and the last entry is one hour before closing."}],
        "answer": "The museum opens at nine and visitors should arrive before closing.",
    });
    let diagnose = with_key(&["diagnose", "-"]);
    let line = trace.to_string();
    let diagnosed = tokio::task::spawn_blocking(move || feed(diagnose, line.as_bytes()));
    let diagnosed = diagnosed.await.unwrap();
    assert_eq!(diagnosed.status.code(), Some(0), "{}", stderr(&diagnosed));
    assert_eq!(rows(&diagnosed)[0].route, Route::Fallback);
    for arrived in fake.arrived() {
        assert!(arrived.path.starts_with("/openai/v1/"), "{}", arrived.path);
        assert_eq!(arrived.headers["api-key"], "not-a-real-key");
        assert!(!arrived.headers.contains_key("authorization"));
    }
}
