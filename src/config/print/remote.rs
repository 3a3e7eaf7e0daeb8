//! A judge over HTTP as TOML: where its secrets are, and never what they are.

use serde_json::Value;

use super::{Lines, number, path, quoted};
use crate::cascade::spend::SpendOptions;
use crate::config::judges::remote::MAX_STATEMENTS;
use crate::config::judges::remote::endpoint::is_loopback;
use crate::domain::outcome::NanoUsd;
use crate::judge::remote::{
    Auth, EndpointOptions, HeaderSource, RemoteOptions, Roots, SecretSource, Wire,
};

pub(super) fn print(out: &mut Lines, section: &str, options: &RemoteOptions, spend: &SpendOptions) {
    let endpoint = &options.endpoint;
    print_place(out, endpoint);
    out.text("model", &options.model.model);
    let expected = options.model.expect_model.as_ref();
    out.optional("expect_model", expected.map(quoted));
    let body = options.model.extra_body.clone();
    out.line("extra_body", inline(&Value::Object(body)));
    out.optional("max_state_tokens", options.view.max_state_tokens);
    out.line("send_fields", list(&options.view.send_fields));
    out.line("redact", list(options.view.redact.patterns()));
    out.line("cache", options.cache);
    match &endpoint.roots {
        Roots::Bundled => out.text("roots", "bundled"),
        Roots::System => out.text("roots", "system"),
        Roots::File(file) => out.line("roots", path(file)),
    }
    out.line("timeout_ms", endpoint.timeout.as_millis());
    out.line("attempt_timeout_ms", endpoint.attempt_timeout.as_millis());
    out.line("max_response_bytes", endpoint.max_response_bytes);
    match options.wire {
        Wire::SystemOne | Wire::OpenAiDecisions => print_statements(out, options),
        Wire::OpenAiLogprobs {
            layout,
            min_label_mass,
        } => {
            print_statements(out, options);
            out.text("layout", layout);
            out.line("min_label_mass", number(min_label_mass));
        }
        Wire::Chat { max_output_tokens } | Wire::Anthropic { max_output_tokens } => {
            out.line("max_output_tokens", max_output_tokens);
        }
    }
    print_restraint(out, section, endpoint);
    out.section(&format!("{section}.spend"));
    out.optional("usd_per_minute", spend.usd_per_minute.map(usd));
    out.optional("usd_per_day", spend.usd_per_day.map(usd));
    out.optional("calls_per_minute", spend.calls_per_minute);
    out.optional("calls_per_day", spend.calls_per_day);
}

/// An amount as a float of TOML; up to the largest cap a double holds every nano-dollar.
fn usd(amount: NanoUsd) -> String {
    format!("{:?}", amount.0 as f64 / 1e9)
}

fn print_place(out: &mut Lines, endpoint: &EndpointOptions) {
    let url = &endpoint.base_url;
    out.text("base_url", url);
    let is_insecure = url.scheme() == "http" && !is_loopback(url);
    out.line("insecure_http", is_insecure);
    out.text("path", &endpoint.path);
    let (env, file) = match &endpoint.api_key {
        Some(SecretSource::Env(variable)) => (Some(quoted(variable)), None),
        Some(SecretSource::File(file)) => (None, Some(path(file))),
        None => (None, None),
    };
    out.optional("api_key_env", env);
    out.optional("api_key_file", file);
    match &endpoint.auth {
        Auth::Bearer => out.text("auth", "bearer"),
        Auth::Header(header) => out.text("auth", header),
        Auth::None => out.text("auth", "none"),
    }
    let headers = endpoint.headers.iter().map(|(name, source)| {
        let value = match source {
            HeaderSource::Literal(text) => quoted(text),
            HeaderSource::Secret(SecretSource::Env(variable)) => {
                format!("{{ env = {} }}", quoted(variable))
            }
            HeaderSource::Secret(SecretSource::File(file)) => {
                format!("{{ file = {} }}", path(file))
            }
        };
        format!("{} = {value}", quoted(name))
    });
    out.line("headers", braces(headers));
}

fn print_statements(out: &mut Lines, options: &RemoteOptions) {
    let most = options.view.max_statements;
    out.line("statements", most.is_some());
    out.line("max_statements", most.unwrap_or(MAX_STATEMENTS));
}

fn print_restraint(out: &mut Lines, section: &str, endpoint: &EndpointOptions) {
    let retry = &endpoint.retry;
    out.section(&format!("{section}.retry"));
    out.line("max_attempts", retry.max_attempts);
    out.line("budget_share", number(retry.budget_share));
    out.line("base_delay_ms", retry.base_delay.as_millis());
    out.line("max_delay_ms", retry.max_delay.as_millis());
    out.section(&format!("{section}.breaker"));
    out.line("failure_count", endpoint.breaker.failure_count);
    out.line("open_ms", endpoint.breaker.open.as_millis());
    out.section(&format!("{section}.rate"));
    let rate = &endpoint.rate;
    out.optional("requests_per_minute", rate.requests_per_minute);
    out.optional("tokens_per_minute", rate.tokens_per_minute);
    out.section(&format!("{section}.concurrency"));
    out.line("max_in_flight", endpoint.concurrency.max_in_flight);
    out.line("max_queued", endpoint.concurrency.max_queued);
}

fn list(items: &[impl ToString]) -> String {
    let items: Vec<_> = items.iter().map(|item| quoted(item.to_string())).collect();
    format!("[{}]", items.join(", "))
}

fn braces(entries: impl Iterator<Item = String>) -> String {
    let entries: Vec<_> = entries.collect();
    if entries.is_empty() {
        "{}".to_owned()
    } else {
        format!("{{ {} }}", entries.join(", "))
    }
}

/// JSON that was read from TOML, on one line.
fn inline(value: &Value) -> String {
    match value {
        // Nothing that TOML can say becomes a null.
        Value::Null => quoted(""),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (None, Some(float)) => format!("{float:?}"),
            _ => number.to_string(),
        },
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(inline).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(entries) => braces(
            entries
                .iter()
                .map(|(key, value)| format!("{} = {}", quoted(key), inline(value))),
        ),
    }
}
