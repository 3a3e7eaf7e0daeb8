//! The Messages API of Anthropic: native form, a tool where there is none, its own way to tell tokens and refusals.

use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use judge_cascade::domain::failure::FailureReason;
use judge_cascade::domain::outcome::Usage;
use judge_cascade::judge::Judge as _;
use judge_cascade::judge::anthropic::AnthropicJudge;
use judge_cascade::judge::egress::Egress;
use judge_cascade::judge::remote::{HeaderSource, RemoteOptions, Wire};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{ID, ask, check_as_written, metrics, options, trace, written};
use crate::support::fake_chat::{Arrived, FakeChat, FakeServer, edited};

async fn over_socket(
    fake: &Arc<FakeChat>,
    edit: impl FnOnce(&mut RemoteOptions),
) -> (AnthropicJudge, FakeServer) {
    let server = FakeServer::serve(fake).await;
    let wire = Wire::Anthropic {
        max_output_tokens: 512,
    };
    let mut options = options(&server.base_url, "/v1/messages", wire);
    edit(&mut options);
    let metrics = metrics();
    let model = Some(options.model.model.clone());
    let endpoint = options.endpoint.clone();
    let no_variable = |_: &str| None;
    let egress = Egress::connect(
        ID.into(),
        model,
        endpoint,
        &no_variable,
        Arc::clone(&metrics),
    );
    let judge = AnthropicJudge::new(ID.into(), options, egress.unwrap(), metrics);
    (judge, server)
}

/// A message with this content.
fn message(content: Value) -> (u16, Value) {
    (
        200,
        json!({
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "model": "judge-model-2026",
            "content": content,
            "stop_reason": "end_turn",
            "usage": {
                "input_tokens": 120,
                "cache_read_input_tokens": 700,
                "cache_creation_input_tokens": 80,
                "output_tokens": 90,
            },
        }),
    )
}

fn good() -> (u16, Value) {
    message(json!([
        { "type": "thinking", "thinking": "{\"groundedness\":\"true\"}", "signature": "x" },
        { "type": "text", "text": written().to_string() },
    ]))
}

fn refused(message: &str) -> (u16, Value) {
    let error = json!({ "type": "invalid_request_error", "message": message });
    (400, json!({ "type": "error", "error": error }))
}

#[tokio::test]
async fn anthropic_is_asked_for_its_native_form_and_tells_input_in_three_parts() {
    let fake = FakeChat::new(|arrived: &Arrived| {
        if arrived.method == Method::GET {
            return (
                200,
                json!({ "data": [{ "type": "model", "id": "judge-model" }], "has_more": false }),
            );
        }
        good()
    });
    let (judge, _server) = over_socket(&fake, |_| {}).await;
    let answer = ask(&judge, &trace()).await.unwrap();
    check_as_written(&answer);
    let usage = Usage {
        input_token_count: Some(900),
        cached_input_token_count: Some(700),
        cache_write_input_token_count: Some(80),
        output_token_count: Some(90),
        reasoning_token_count: None,
    };
    assert_eq!(answer.calls[0].usage, Some(usage));
    let deadline = Instant::now() + Duration::from_secs(20);
    let models = judge.models(deadline).await.unwrap().unwrap();
    assert_eq!(models, ["judge-model"]);

    let arrived = fake.arrived();
    let paths: Vec<_> = arrived
        .iter()
        .map(|request| request.path.as_str())
        .collect();
    assert_eq!(paths, ["/v1/messages", "/v1/models"]);
    for request in &arrived {
        assert_eq!(request.headers["anthropic-version"], "2023-06-01");
    }
    let body = &arrived[0].body;
    let format = &body["output_config"]["format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(format["schema"]["additionalProperties"], false);
    assert_eq!(
        (&body["max_tokens"], &body["temperature"]),
        (&json!(512), &json!(0))
    );
    let user = body["messages"][0]["content"].as_str().unwrap();
    assert!(user.starts_with("<data-"), "the documents stand first");
    assert!(!body["system"].to_string().contains("Tarn"));
}

#[tokio::test]
async fn a_configured_version_of_the_api_is_not_sent_twice() {
    let fake = FakeChat::in_turn(vec![good()]);
    let (judge, _server) = over_socket(&fake, |options| {
        let version = HeaderSource::Literal("2025-01-01".to_owned());
        options
            .endpoint
            .headers
            .insert("anthropic-version".to_owned(), version);
    })
    .await;
    ask(&judge, &trace()).await.unwrap();
    let headers = &fake.arrived()[0].headers;
    let versions: Vec<_> = headers.get_all("anthropic-version").iter().collect();
    assert!(versions.len() <= 1 && !versions.iter().any(|version| *version == "2023-06-01"));
}

#[tokio::test]
async fn a_service_without_native_form_is_given_a_tool_and_then_the_prompt_alone() {
    let fake = FakeChat::new(|arrived: &Arrived| {
        let body = &arrived.body;
        if body.get("temperature").is_some() {
            return refused("`temperature` is deprecated for this model.");
        }
        if body.get("output_config").is_some() {
            return refused("output_config: Extra inputs are not permitted");
        }
        assert_eq!(body["tool_choice"]["name"], body["tools"][0]["name"]);
        let tool =
            json!({ "type": "tool_use", "id": "u1", "name": "judgment", "input": written() });
        edited(
            message(json!([tool])),
            &[("/stop_reason", json!("tool_use"))],
        )
    });
    let (judge, _server) = over_socket(&fake, |_| {}).await;
    for (attempts, requests) in [(3, 3), (1, 4)] {
        let answer = ask(&judge, &trace()).await.unwrap();
        check_as_written(&answer);
        assert_eq!(answer.calls[0].attempt_count, attempts);
        assert_eq!(
            fake.arrived().len(),
            requests,
            "what it refuses is remembered"
        );
    }

    let fake = FakeChat::new(|arrived: &Arrived| {
        if arrived.body.get("output_config").is_some() {
            return refused("output_config is not supported");
        }
        if arrived.body.get("tools").is_some() {
            return refused("tool_choice: thinking may not be enabled when tool use is forced");
        }
        good()
    });
    let (judge, _server) = over_socket(&fake, |_| {}).await;
    check_as_written(&ask(&judge, &trace()).await.unwrap());
    assert_eq!(fake.arrived().len(), 3);
}

#[tokio::test]
async fn anthropic_ends_in_its_own_ways() {
    for (answer, expected) in [
        (
            edited(good(), &[("/stop_reason", json!("max_tokens"))]),
            FailureReason::OutputTruncated,
        ),
        (
            edited(
                good(),
                &[("/stop_reason", json!("model_context_window_exceeded"))],
            ),
            FailureReason::OutputTruncated,
        ),
        (
            edited(
                good(),
                &[("/stop_reason", json!("refusal")), ("/content", json!([]))],
            ),
            FailureReason::Refused,
        ),
        (
            message(json!([{ "type": "thinking", "thinking": "hm" }])),
            FailureReason::Protocol,
        ),
        (
            refused("prompt is too long: 210000 tokens > 200000 maximum"),
            FailureReason::TooLong,
        ),
        (
            refused("messages: at least one message is required"),
            FailureReason::Protocol,
        ),
        (
            (
                529,
                json!({ "type": "error", "error": { "type": "overloaded_error" } }),
            ),
            FailureReason::RateLimited,
        ),
        ((200, json!({ "type": "message" })), FailureReason::Protocol),
    ] {
        let fake = FakeChat::in_turn(vec![answer.clone()]);
        let (judge, _server) = over_socket(&fake, |_| {}).await;
        let error = ask(&judge, &trace()).await.unwrap_err();
        assert_eq!(error.reason, expected, "{}", answer.1);
        if expected == FailureReason::OutputTruncated && answer.1["stop_reason"] == "max_tokens" {
            assert!(error.to_string().contains("`max_output_tokens` = 512"));
            assert_eq!(error.calls[0].usage.unwrap().input_token_count, Some(900));
        }
    }
}
