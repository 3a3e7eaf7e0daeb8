//! `[judges.NAME]` of a judge over HTTP.
//!
//! Nothing secret stands in a configuration: a key is named by its variable or its file, and what looks like one is
//! refused without being repeated.

mod body;
pub(in crate::config) mod endpoint;
mod secret;
mod spend;

use super::JudgeConfig;
use crate::config::raw::remote::Remote;
use crate::config::reader::Reader;
use crate::domain::Vocabulary as _;
use crate::domain::outcome::is_model_name;
use crate::domain::probability::Probability;
use crate::judge::JudgeType;
use crate::judge::remote::{Layout, ModelOptions, RemoteOptions, Wire};
use crate::judge::view::{Field, Redactor, ViewOptions};

/// The keys of every judge over HTTP.
const KEYS: [&str; 24] = [
    "type",
    "base_url",
    "insecure_http",
    "path",
    "model",
    "expect_model",
    "api_key_env",
    "api_key_file",
    "auth",
    "headers",
    "extra_body",
    "max_state_tokens",
    "send_fields",
    "redact",
    "cache",
    "roots",
    "timeout_ms",
    "attempt_timeout_ms",
    "max_response_bytes",
    "retry",
    "breaker",
    "rate",
    "concurrency",
    "spend",
];
/// The least probability mass on the labels unless the configuration says another.
const MIN_LABEL_MASS: f64 = 0.5;
/// The most tokens that a judge may write unless the configuration says another.
const MAX_OUTPUT_TOKENS: u32 = 2_048;
/// The most statements that a judge is asked about one by one unless the configuration says another.
pub(in crate::config) const MAX_STATEMENTS: usize = 50;
/// The largest number of tokens that anything may be set to.
const MANY_TOKENS: i64 = 100_000_000;

/// Reads a judge over HTTP.
pub(super) fn remote(
    reader: &mut Reader<'_, '_>,
    name: &str,
    judge_type: JudgeType,
) -> Option<JudgeConfig> {
    if !has_known_keys(reader, name, judge_type) {
        return None;
    }
    let written = reader.section::<Remote>(&["judges", name])?;
    let wire = wire(reader, name, judge_type, &written)?;
    let endpoint = endpoint::endpoint(reader, name, wire, &written);
    let model = model(reader, name, &written);
    let view = view(reader, name, &written);
    let spend = spend::spend(reader, name, &written.spend);
    let options = Box::new(RemoteOptions {
        wire,
        endpoint: endpoint?,
        model: model?,
        view,
        cache: written.cache.unwrap_or(true),
    });
    Some(JudgeConfig::Remote { options, spend })
}

/// The keys that only some types have.
const fn own_keys(judge_type: JudgeType) -> &'static [&'static str] {
    match judge_type {
        JudgeType::SystemOne | JudgeType::OpenAiDecisions => &["statements", "max_statements"],
        JudgeType::OpenAiLogprobs => &["statements", "max_statements", "layout", "min_label_mass"],
        JudgeType::Chat | JudgeType::Anthropic => &["max_output_tokens"],
        JudgeType::Embedded | JudgeType::Onnx | JudgeType::Replay => &[],
    }
}

/// Notes every key that a judge of this type does not have.
fn has_known_keys(reader: &mut Reader<'_, '_>, name: &str, judge_type: JudgeType) -> bool {
    let known = || KEYS.iter().chain(own_keys(judge_type));
    let mut all_known = true;
    for key in reader.names(&["judges", name]) {
        if known().any(|known| *known == key) {
            continue;
        }
        all_known = false;
        let message = if secret::is_key_of_a_judge(&key) {
            format!(
                "unknown key `{key}`; no secret stands here: `api_key_env` names its variable, `api_key_file` its file"
            )
        } else {
            let known: Vec<_> = known().map(|known| format!("`{known}`")).collect();
            format!("unknown key `{key}`, expected one of {}", known.join(", "))
        };
        reader.problem(&["judges", name, &key], message);
    }
    all_known
}

fn wire(
    reader: &mut Reader<'_, '_>,
    name: &str,
    judge_type: JudgeType,
    written: &Remote,
) -> Option<Wire> {
    let mut min_label_mass = Probability::try_from(MIN_LABEL_MASS).ok()?;
    let path = ["judges", name, "min_label_mass"];
    reader.share(&path, written.min_label_mass, &mut min_label_mass);
    let mut max_output_tokens = MAX_OUTPUT_TOKENS;
    reader.number(
        &["judges", name, "max_output_tokens"],
        written.max_output_tokens,
        1..=1_000_000,
        &mut max_output_tokens,
    );
    Some(match judge_type {
        JudgeType::SystemOne => Wire::SystemOne,
        JudgeType::OpenAiDecisions => Wire::OpenAiDecisions,
        JudgeType::OpenAiLogprobs => Wire::OpenAiLogprobs {
            layout: written.layout.unwrap_or(Layout::Packed),
            min_label_mass,
        },
        JudgeType::Chat => Wire::Chat { max_output_tokens },
        JudgeType::Anthropic => Wire::Anthropic { max_output_tokens },
        JudgeType::Embedded | JudgeType::Onnx | JudgeType::Replay => return None,
    })
}

fn model(reader: &mut Reader<'_, '_>, name: &str, written: &Remote) -> Option<ModelOptions> {
    for (key, model) in [
        ("model", &written.model),
        ("expect_model", &written.expect_model),
    ] {
        let path = ["judges", name, key];
        match model {
            Some(model) if model.trim().is_empty() => reader.problem(&path, "must not be empty"),
            // No answer of a judge is taken to name such a model.
            Some(model) if !is_model_name(model) => {
                reader.problem(
                    &path,
                    "must be at most 256 bytes without control characters",
                );
            }
            Some(_) | None => {}
        }
    }
    let extra_body = body::extra_body(reader, name, &written.extra_body);
    let Some(model) = written.model.clone() else {
        reader.problem(
            &["judges", name, "model"],
            "missing; the model to ask, or the deployment where there are such",
        );
        return None;
    };
    Some(ModelOptions {
        model,
        expect_model: written.expect_model.clone(),
        extra_body,
    })
}

fn view(reader: &mut Reader<'_, '_>, name: &str, written: &Remote) -> ViewOptions {
    let max_state_tokens = reader.optional(
        &["judges", name, "max_state_tokens"],
        written.max_state_tokens,
        1..=MANY_TOKENS,
    );
    let send_fields = written.send_fields.as_ref().map(|fields| {
        if fields.is_empty() {
            reader.problem(&["judges", name, "send_fields"], "must not be empty");
        }
        let fields = Field::ALL.iter().filter(|field| fields.contains(field));
        fields.copied().collect()
    });
    let redact = Redactor::new(&written.redact).unwrap_or_else(|(_, message)| {
        reader.problem(&["judges", name, "redact"], message);
        Redactor::default()
    });
    let mut max_statements = MAX_STATEMENTS;
    reader.number(
        &["judges", name, "max_statements"],
        written.max_statements,
        1..=1024,
        &mut max_statements,
    );
    ViewOptions {
        max_statements: written
            .statements
            .unwrap_or(false)
            .then_some(max_statements),
        max_state_tokens,
        send_fields: send_fields.unwrap_or_else(|| Field::ALL.to_vec()),
        redact,
    }
}
