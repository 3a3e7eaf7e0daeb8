//! One service after the other, over sockets: what each does that no other does.

use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use judge_cascade::domain::failure::FailureReason;
use judge_cascade::domain::outcome::Usage;
use judge_cascade::domain::trace::Trace;
use judge_cascade::judge::chat::ChatJudge;
use judge_cascade::judge::egress::Egress;
use judge_cascade::judge::remote::{Auth, RemoteOptions, SecretSource};
use judge_cascade::judge::{Judge as _, JudgeError};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{ID, ask, chat_options, check_as_written, metrics, trace, written};
use crate::support::LIMITS;
use crate::support::fake_chat::{Arrived, FakeChat, FakeServer, edited, refused, said};

/// A chat judge over a socket.
async fn over_socket(
    fake: &Arc<FakeChat>,
    edit: impl FnOnce(&mut RemoteOptions),
) -> (ChatJudge, FakeServer) {
    let server = FakeServer::serve(fake).await;
    let mut options = chat_options(&server.base_url);
    edit(&mut options);
    let metrics = metrics();
    let model = Some(options.model.model.clone());
    let endpoint = options.endpoint.clone();
    let variable = |name: &str| (name == "JUDGE_KEY").then(|| "key-1".to_owned());
    let egress = Egress::connect(ID.into(), model, endpoint, &variable, Arc::clone(&metrics));
    let judge = ChatJudge::new(ID.into(), options, egress.unwrap(), metrics);
    (judge, server)
}

fn good() -> (u16, Value) {
    said(&written().to_string())
}

/// The failure of the one call to a service that gives this answer.
async fn failure(answer: (u16, Value)) -> JudgeError {
    let fake = FakeChat::in_turn(vec![answer]);
    let (judge, _server) = over_socket(&fake, |_| {}).await;
    let error = ask(&judge, &trace()).await.unwrap_err();
    assert_eq!(fake.arrived().len(), 1, "it is asked once");
    error
}

fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

#[tokio::test]
async fn openai_tells_tokens_and_lists_models() {
    let usage = json!({
        "prompt_tokens": 1200,
        "completion_tokens": 90,
        "prompt_tokens_details": { "cached_tokens": 1024 },
        "completion_tokens_details": { "reasoning_tokens": 0 },
    });
    let fake = FakeChat::new(move |arrived: &Arrived| {
        if arrived.method == Method::GET {
            let models = [json!({ "id": "judge-model" }), json!({ "id": "other" })];
            return (200, json!({ "object": "list", "data": models }));
        }
        edited(good(), &[("/usage", usage.clone())])
    });
    let (judge, _server) = over_socket(&fake, |_| {}).await;
    let answer = ask(&judge, &trace()).await.unwrap();
    check_as_written(&answer);
    let call = &answer.calls[0];
    assert_eq!(call.returned_model.as_deref(), Some("judge-model-2026"));
    let usage = Usage {
        input_token_count: Some(1200),
        cached_input_token_count: Some(1024),
        cache_write_input_token_count: None,
        output_token_count: Some(90),
        reasoning_token_count: Some(0),
    };
    assert_eq!(call.usage, Some(usage));
    let models = judge.models(deadline()).await.unwrap().unwrap();
    assert_eq!(models, ["judge-model", "other"]);
    let paths: Vec<_> = fake
        .arrived()
        .into_iter()
        .map(|request| request.path)
        .collect();
    assert_eq!(paths, ["/v1/chat/completions", "/v1/models"]);
}

#[tokio::test]
async fn a_reasoning_model_of_openai_is_asked_without_what_it_refuses() {
    let fake = FakeChat::new(|arrived: &Arrived| {
        let sent = |name: &str| arrived.body.get(name).is_some();
        if sent("max_tokens") {
            let words = "Unsupported parameter: 'max_tokens' is not supported with this model. \
                         Use 'max_completion_tokens' instead.";
            return refused(400, "unsupported_parameter", "max_tokens", words);
        }
        if sent("temperature") {
            let words = "Unsupported value: 'temperature' does not support 0 with this model.";
            return refused(400, "unsupported_value", "temperature", words);
        }
        let reasoning = json!({ "reasoning_tokens": 448 });
        edited(good(), &[("/usage/completion_tokens_details", reasoning)])
    });
    let (judge, _server) = over_socket(&fake, |_| {}).await;
    for (attempts, requests) in [(3, 3), (1, 4)] {
        let answer = ask(&judge, &trace()).await.unwrap();
        check_as_written(&answer);
        assert_eq!(answer.calls.len(), 1);
        assert_eq!(answer.calls[0].attempt_count, attempts);
        assert_eq!(
            answer.calls[0].usage.unwrap().reasoning_token_count,
            Some(448)
        );
        assert_eq!(
            fake.arrived().len(),
            requests,
            "what it refuses is remembered"
        );
    }
    let last = &fake.arrived()[3].body;
    assert_eq!(last["max_completion_tokens"], 512);
    assert_eq!(last["seed"], fake.arrived()[0].body["seed"]);
}

#[tokio::test]
async fn a_service_that_refuses_everything_is_given_up() {
    let fake = FakeChat::new(|_| refused(400, "unsupported_value", "temperature", "no"));
    let (judge, _server) = over_socket(&fake, |_| {}).await;
    let error = ask(&judge, &trace()).await.unwrap_err();
    assert_eq!(error.reason, FailureReason::Protocol);
    assert_eq!(
        fake.arrived().len(),
        2,
        "what is not sent cannot be left out"
    );
    assert_eq!(error.calls[0].attempt_count, 2);
}

#[tokio::test]
async fn azure_takes_a_deployment_by_both_of_its_urls_and_names_the_model() {
    let by_header = Auth::Header("api-key".to_owned());
    for (path, auth, header, key) in [
        (
            "/openai/deployments/judge/chat/completions?api-version=2024-10-21",
            by_header,
            "api-key",
            "key-1",
        ),
        (
            "/openai/v1/chat/completions",
            Auth::Bearer,
            "authorization",
            "Bearer key-1",
        ),
    ] {
        let fake = FakeChat::new(|arrived: &Arrived| match arrived.method {
            Method::GET => (404, json!({ "error": { "code": "404", "message": "no" } })),
            _ => edited(
                good(),
                &[("/prompt_filter_results", json!([{ "prompt_index": 0 }]))],
            ),
        });
        let (judge, _server) = over_socket(&fake, |options| {
            options.endpoint.path = path.to_owned();
            options.endpoint.auth = auth.clone();
            options.endpoint.api_key = Some(SecretSource::Env("JUDGE_KEY".to_owned()));
            options.model.model = "our-deployment".to_owned();
        })
        .await;
        let answer = ask(&judge, &trace()).await.unwrap();
        check_as_written(&answer);
        let call = &answer.calls[0];
        assert_eq!(call.requested_model.as_deref(), Some("our-deployment"));
        assert_eq!(call.returned_model.as_deref(), Some("judge-model-2026"));
        assert_eq!(judge.models(deadline()).await.unwrap(), None);
        let arrived = fake.arrived();
        assert_eq!(arrived[0].path, path);
        assert_eq!(arrived[1].path, path.replace("chat/completions", "models"));
        for request in &arrived {
            let sent = ["api-key", "authorization"].map(|name| request.headers.get(name));
            assert_eq!(request.headers[header], key);
            assert_eq!(sent.iter().flatten().count(), 1, "the key is sent once");
        }
    }
}

/// R21: however a refusal is told, it is a refusal: the judge is well and the answer is no number.
#[tokio::test]
async fn r21_every_form_of_a_refusal_is_a_refusal() {
    let error = |status, error: Value| (status, json!({ "error": error }));
    let forms = [
        error(
            400,
            json!({ "code": "content_filter", "param": "prompt", "status": 400, "message": "x" }),
        ),
        error(
            400,
            json!({ "code": "BadRequest", "innererror": { "code": "ResponsibleAIPolicyViolation" } }),
        ),
        error(
            400,
            json!({ "code": 400, "type": "ContentPolicyViolationError", "message": "x" }),
        ),
        edited(
            good(),
            &[
                ("/choices/0/finish_reason", json!("content_filter")),
                ("/choices/0/message/content", json!("")),
            ],
        ),
        edited(
            good(),
            &[
                (
                    "/choices/0/message/refusal",
                    json!("I cannot help with that."),
                ),
                ("/choices/0/message/content", Value::Null),
            ],
        ),
    ];
    for form in forms {
        let error = failure(form.clone()).await;
        assert_eq!(error.reason, FailureReason::Refused, "{}", form.1);
        assert_eq!(error.calls[0].failure, Some(FailureReason::Refused));
        assert!(!error.to_string().contains("cannot help"));
    }
}

#[tokio::test]
async fn a_model_that_is_not_the_expected_one_is_refused_with_its_tokens() {
    let fake = FakeChat::in_turn(vec![good()]);
    let (judge, _server) = over_socket(&fake, |options| {
        options.model.expect_model = Some("judge-model-2025".to_owned());
    })
    .await;
    let error = ask(&judge, &trace()).await.unwrap_err();
    assert_eq!(error.reason, FailureReason::ModelMismatch);
    let call = &error.calls[0];
    assert_eq!(call.returned_model.as_deref(), Some("judge-model-2026"));
    assert_eq!(call.usage.unwrap().input_token_count, Some(900));
}

#[tokio::test]
async fn vllm_may_reason_without_an_answer_and_is_never_read_by_its_thoughts() {
    let thoughts = written().to_string();
    for key in ["reasoning_content", "reasoning"] {
        for (finish, expected) in [
            ("stop", FailureReason::Protocol),
            ("length", FailureReason::OutputTruncated),
        ] {
            let pointer = format!("/choices/0/message/{key}");
            let answer = edited(
                good(),
                &[
                    ("/choices/0/message/content", Value::Null),
                    (&pointer, json!(thoughts)),
                    ("/choices/0/finish_reason", json!(finish)),
                ],
            );
            assert_eq!(failure(answer).await.reason, expected);
        }
    }
    let fake = FakeChat::in_turn(vec![edited(
        good(),
        &[(
            "/choices/0/message/reasoning_content",
            json!("{\"groundedness\": \"true\"}"),
        )],
    )]);
    let (judge, _server) = over_socket(&fake, |options| {
        let extra = json!({ "chat_template_kwargs": { "enable_thinking": false } });
        options.model.extra_body = extra.as_object().unwrap().clone();
    })
    .await;
    check_as_written(&ask(&judge, &trace()).await.unwrap());
    let kwargs = &fake.arrived()[0].body["chat_template_kwargs"];
    assert_eq!(*kwargs, json!({ "enable_thinking": false }));
}

#[tokio::test]
async fn vllm_says_that_a_prompt_is_too_long() {
    let message = "This model's maximum context length is 4096 tokens. Please reduce the length.";
    let body =
        json!({ "object": "error", "message": message, "type": "BadRequestError", "code": 400 });
    assert_eq!(failure((400, body)).await.reason, FailureReason::TooLong);
}

fn long_trace() -> Arc<Trace> {
    let mut draft = (**trace()).clone();
    draft.chunks[0].text = "The lid of the filter is closed with two screws. ".repeat(400);
    Arc::new(Trace::new(draft, &LIMITS).unwrap())
}

#[tokio::test]
async fn ollama_and_llama_cpp_are_caught_when_they_cut_the_prompt() {
    let fake = FakeChat::in_turn(vec![
        edited(good(), &[("/usage/prompt_tokens", json!(2048))]),
        edited(good(), &[("/usage/prompt_tokens", json!(4900))]),
    ]);
    let (judge, _server) = over_socket(&fake, |options| {
        let extra = json!({ "options": { "num_ctx": 2048 } });
        options.model.extra_body = extra.as_object().unwrap().clone();
    })
    .await;
    let error = ask(&judge, &long_trace()).await.unwrap_err();
    assert_eq!(error.reason, FailureReason::TruncatedByJudge);
    assert_eq!(error.calls[0].usage.unwrap().input_token_count, Some(2048));
    check_as_written(&ask(&judge, &long_trace()).await.unwrap());
}

#[tokio::test]
async fn a_service_that_tells_no_tokens_is_not_said_to_have_used_none() {
    let fake = FakeChat::in_turn(vec![
        edited(good(), &[("/usage", Value::Null)]),
        edited(
            good(),
            &[(
                "/usage",
                json!({ "prompt_tokens": -4, "completion_tokens": "8" }),
            )],
        ),
    ]);
    let (judge, _server) = over_socket(&fake, |_| {}).await;
    for _ in 0..2 {
        assert_eq!(ask(&judge, &trace()).await.unwrap().calls[0].usage, None);
    }
}

#[tokio::test]
async fn bedrock_through_litellm_is_asked_without_a_seed() {
    let fake = FakeChat::new(|arrived: &Arrived| {
        if arrived.body.get("seed").is_some() {
            let message = "litellm.UnsupportedParamsError: bedrock does not support parameters: ['seed'], for model=x.";
            return (
                400,
                json!({ "error": { "message": message, "type": null, "param": null, "code": "400" } }),
            );
        }
        edited(
            good(),
            &[
                (
                    "/usage/prompt_tokens_details",
                    json!({ "cached_tokens": 300 }),
                ),
                ("/usage/cache_creation_input_tokens", json!(200)),
            ],
        )
    });
    let (judge, _server) = over_socket(&fake, |_| {}).await;
    let answer = ask(&judge, &trace()).await.unwrap();
    check_as_written(&answer);
    let usage = answer.calls[0].usage.unwrap();
    assert_eq!(usage.cached_input_token_count, Some(300));
    assert_eq!(usage.cache_write_input_token_count, Some(200));
    let last = &fake.arrived()[1].body;
    assert!(last.get("seed").is_none() && last["temperature"] == 0);
}

#[tokio::test]
async fn vertex_through_litellm_is_asked_by_the_prompt_if_it_knows_no_schema() {
    let fake = FakeChat::new(|arrived: &Arrived| {
        match arrived.body["response_format"]["type"].as_str() {
            Some("json_schema") => refused(
                400,
                "invalid_request",
                "response_format",
                "no json_schema here",
            ),
            Some(_) => {
                let detail = json!([{ "loc": ["body", "response_format"], "msg": "Extra inputs are not permitted", "type": "extra_forbidden" }]);
                (422, json!({ "detail": detail }))
            }
            None => said(&format!("```json\n{}\n```", written())),
        }
    });
    let (judge, _server) = over_socket(&fake, |_| {}).await;
    let answer = ask(&judge, &trace()).await.unwrap();
    check_as_written(&answer);
    assert_eq!(answer.calls[0].attempt_count, 3);
    ask(&judge, &trace()).await.unwrap();
    assert_eq!(fake.arrived().len(), 4);
}

#[tokio::test]
async fn a_gateway_may_tell_an_error_within_a_successful_answer() {
    for (code, expected) in [
        (json!(402), FailureReason::Budget),
        (json!(429), FailureReason::RateLimited),
        (json!(502), FailureReason::Unavailable),
        (json!("odd"), FailureReason::Protocol),
    ] {
        let body = json!({ "error": { "code": code, "message": "secret words" } });
        let error = failure((200, body)).await;
        assert_eq!(error.reason, expected);
        assert!(!error.to_string().contains("secret"));
    }
    let error = failure((200, json!("<html>fine</html>"))).await;
    assert_eq!(error.reason, FailureReason::Protocol);
}

#[tokio::test]
async fn parts_of_a_message_that_are_thoughts_are_left_out() {
    let parts = json!([
        { "type": "thinking", "thinking": [{ "type": "text", "text": "{\"groundedness\":\"true\"}" }] },
        { "type": "text", "text": written().to_string() },
    ]);
    let fake = FakeChat::in_turn(vec![edited(
        good(),
        &[("/choices/0/message/content", parts)],
    )]);
    let (judge, _server) = over_socket(&fake, |_| {}).await;
    check_as_written(&ask(&judge, &trace()).await.unwrap());
}
