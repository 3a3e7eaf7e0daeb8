//! One test for each provider of an atomic judge: its path, its quirks, its ways to fail.

use std::io::Write;
use std::sync::{Arc, Mutex};

use judge_cascade::domain::dimension::Dimension;
use judge_cascade::domain::failure::FailureReason;
use judge_cascade::judge::JudgeError;
use judge_cascade::judge::remote::{Auth, HeaderSource, RemoteOptions, SecretSource, Wire};
use serde_json::{Map, Value, json};

use super::speech::{completion_of, lines, token};
use super::{PACKED, ask, context, draft, judge_with, metrics, probability, trace, trace_of};
use crate::support::fake_judge::{FakeJudge, Said, Script, Seen};

/// Answers every question of a System One request with a number, and more members with each.
fn answers(seen: &Seen, number: f64, more: &Value) -> Value {
    let questions = seen.body["questions"].as_object().unwrap();
    let answers: Map<_, _> = questions
        .keys()
        .map(|key| {
            let mut answer = json!({"type": "noul", "noul": number});
            let more = more.as_object().unwrap().clone();
            answer.as_object_mut().unwrap().extend(more);
            (key.clone(), answer)
        })
        .collect();
    Value::Object(answers)
}

/// Asks a System One judge at a path about a trace, and gives the groundedness with the only request.
async fn ask_at(path: &str, model: &str, script: Script) -> (Option<f64>, Seen) {
    let server = FakeJudge::start(script).await;
    let judge = judge_with(Wire::SystemOne, &server, &metrics(), at(path, model));
    let answer = ask(judge.as_ref(), &trace(2)).await.unwrap();
    assert_eq!(answer.calls.len(), 1);
    let p = probability(&answer.answers, Dimension::Groundedness);
    (p, server.only())
}

async fn fail_at(path: &str, said: Said) -> JudgeError {
    let server = FakeJudge::saying([said]).await;
    let judge = judge_with(Wire::SystemOne, &server, &metrics(), at(path, "m"));
    ask(judge.as_ref(), &trace(2)).await.unwrap_err()
}

fn at(path: &str, model: &str) -> impl FnOnce(&mut RemoteOptions) {
    let (path, model) = (path.to_owned(), model.to_owned());
    move |options| {
        options.endpoint.path = path;
        options.model.model = model;
    }
}

#[tokio::test]
async fn typesafe_jev_resolves_an_alias_and_reports_usage() {
    let script = Script::new(|seen| {
        Said::json(&json!({
            "model": "jev-1.13.0",
            "answers": answers(seen, 0.94, &json!({})),
            "usage": {"input_tokens": 1271, "output_tokens": 70},
        }))
        .with("x-typesafe-request-id", "req-17")
    });
    let server = FakeJudge::start(script).await;
    let judge = judge_with(Wire::SystemOne, &server, &metrics(), |options| {
        at("/v1/systemone", "jev-latest")(options);
        options.model.expect_model = Some("jev-1.13.0".to_owned());
        options.endpoint.auth = Auth::Bearer;
        options.endpoint.api_key = Some(SecretSource::Env("JUDGE_KEY".to_owned()));
    });
    let answer = ask(judge.as_ref(), &trace(2)).await.unwrap();
    assert_eq!(
        probability(&answer.answers, Dimension::Groundedness),
        Some(0.94)
    );
    let call = &answer.calls[0];
    assert_eq!(call.requested_model.as_deref(), Some("jev-latest"));
    assert_eq!(call.returned_model.as_deref(), Some("jev-1.13.0"));
    assert_eq!(call.usage.unwrap().input_token_count, Some(1271));
    assert_eq!(call.upstream_request_id.as_deref(), Some("req-17"));
    let seen = server.only();
    assert_eq!(seen.body["model"], "jev-latest");
    assert_eq!(seen.headers["authorization"], "Bearer key-of-the-judge");
    let unknown = r#"{"detail":{"error_type":"api_usage_error","message":"unknown model"}}"#;
    let error = fail_at("/v1/systemone", Said::new(400, unknown)).await;
    assert_eq!(error.reason, FailureReason::Protocol);
    for status in [401, 403] {
        let said = Said::new(
            status,
            r#"{"detail":{"error_type":"authentication_error"}}"#,
        );
        let error = fail_at("/v1/systemone", said).await;
        assert_eq!(error.reason, FailureReason::Unauthenticated);
    }
    let overloaded = fail_at("/v1/systemone", Said::new(529, "{}")).await;
    assert_eq!(overloaded.reason, FailureReason::RateLimited);
}

#[tokio::test]
async fn openrouter_rounds_and_adds_members() {
    let script = Script::new(|seen| {
        Said::json(&json!({
            "id": "gen-1", "provider": "TypeSafe", "model": "typesafe/jev-1.13",
            "answers": answers(seen, 0.07, &json!({"confidence": 0.86})),
            "usage": {"input_tokens": 1300, "output_tokens": 70, "cost": 0.00005},
            "cost": 0.00005,
        }))
    });
    let (p, seen) = ask_at("/api/v1/systemone", "~typesafe/jev-latest", script).await;
    assert_eq!(p, Some(0.07));
    assert_eq!(seen.path, "/api/v1/systemone");
    assert_eq!(seen.body["model"], "~typesafe/jev-latest");
    let no_credit = Said::new(
        402,
        r#"{"error":{"code":402,"message":"Insufficient credits"}}"#,
    );
    let error = fail_at("/api/v1/systemone", no_credit).await;
    assert_eq!(error.reason, FailureReason::Budget);
}

#[tokio::test]
async fn vercel_has_its_own_path_and_list_of_models() {
    let path = "/typesafe/v1/systemone";
    let script = Script::new(|seen| {
        if seen.path.ends_with("/models") {
            return Said::json(&json!({"models": [{"name": "typesafe-ai/jev"}]}));
        }
        Said::json(&json!({"model": "typesafe-ai/jev", "answers": answers(seen, 0.9, &json!({}))}))
    });
    let server = FakeJudge::start(script).await;
    let judge = judge_with(
        Wire::SystemOne,
        &server,
        &metrics(),
        at(path, "typesafe-ai/jev"),
    );
    let models = judge.models(context().deadline).await.unwrap().unwrap();
    assert_eq!(models, ["typesafe-ai/jev"]);
    let answer = ask(judge.as_ref(), &trace(2)).await.unwrap();
    assert_eq!(answer.calls[0].usage, None);
    let paths: Vec<_> = server.seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(paths, ["/typesafe/v1/models", path]);
    let no_card = r#"{"error":{"type":"customer_verification_required","message":"add a card"}}"#;
    let error = fail_at(path, Said::new(403, no_card)).await;
    assert_eq!(error.reason, FailureReason::Unauthenticated);
}

#[tokio::test]
async fn portkey_takes_the_same_body_at_another_path() {
    let script = Script::new(|seen| {
        Said::json(&json!({"model": "jev-1.13.0", "answers": answers(seen, 0.9, &json!({}))}))
    });
    let server = FakeJudge::start(script).await;
    let judge = judge_with(Wire::SystemOne, &server, &metrics(), |options| {
        at("/v1/decisions", "jev-1.13.0")(options);
        let provider = HeaderSource::Literal("typesafe".to_owned());
        options
            .endpoint
            .headers
            .insert("x-portkey-provider".to_owned(), provider);
        options.endpoint.auth = Auth::Header("x-portkey-api-key".to_owned());
        options.endpoint.api_key = Some(SecretSource::Env("JUDGE_KEY".to_owned()));
    });
    ask(judge.as_ref(), &trace(2)).await.unwrap();
    let seen = server.only();
    assert_eq!(seen.path, "/v1/decisions");
    assert_eq!(seen.headers["x-portkey-provider"], "typesafe");
    assert_eq!(seen.headers["x-portkey-api-key"], "key-of-the-judge");
    assert!(!seen.headers.contains_key("authorization"));
    assert!(seen.body["questions"].is_object());
}

#[tokio::test]
async fn litellm_denies_a_team_and_runs_out_of_budget() {
    let path = "/typesafe/v1/systemone";
    let script = Script::new(|seen| {
        Said::json(&json!({"model": "jev-1.13.0", "answers": answers(seen, 0.9, &json!({}))}))
    });
    let (p, seen) = ask_at(path, "jev-1.13.0", script).await;
    assert_eq!((p, seen.path.as_str()), (Some(0.9), path));
    let denied = r#"{"error":{"message":"team not allowed","type":"team_model_access_denied","param":"model","code":"403"}}"#;
    for (said, reason) in [
        (Said::new(403, denied), FailureReason::Unauthenticated),
        (Said::new(402, "{}"), FailureReason::Budget),
        (
            Said::new(
                400,
                r#"{"error":{"type":"budget_exceeded","message":"Budget has been exceeded!","code":"400"}}"#,
            ),
            FailureReason::Budget,
        ),
    ] {
        assert_eq!(fail_at(path, said).await.reason, reason);
    }
}

#[tokio::test]
async fn cloudflare_clef_answers_in_an_envelope() {
    let path = "/client/v4/accounts/acct/ai/run/@cf/cloudflare/clef";
    let script = Script::new(|seen| {
        Said::json(&json!({
            "success": true, "errors": [], "messages": [],
            "result": {"model": "clef", "answers": answers(seen, 0.9375, &json!({})), "usage": {"input_tokens": 1400}},
        }))
    });
    let (p, seen) = ask_at(path, "clef", script).await;
    assert_eq!((p, seen.path.as_str()), (Some(0.9375), path));
    let failed = json!({"success": false, "result": null, "messages": [], "errors": [{"code": 7009, "message": "upstream"}]});
    let error = fail_at(path, Said::json(&failed)).await;
    assert_eq!(error.reason, FailureReason::Unavailable);
    let error = fail_at(path, Said::new(429, &failed.to_string())).await;
    assert_eq!(error.reason, FailureReason::RateLimited);
}

#[tokio::test]
async fn laya_class_servers_need_no_key_and_their_silent_cut_is_found() {
    let path = "/v1/systemone";
    let more = json!({"confidence": 0.4, "x_jev_confidence": 0.8, "action": "none"});
    let script = Script::new(move |seen| {
        Said::json(&json!({
            "model": "laya", "routing": {"to": "small"}, "latency_ms": 12,
            "answers": answers(seen, 0.9, &more), "usage": {"input_tokens": 512, "output_tokens": 9},
        }))
    });
    let (p, seen) = ask_at(path, "laya", script.clone()).await;
    assert_eq!(p, Some(0.9));
    assert!(!seen.headers.contains_key("authorization"));
    let server = FakeJudge::start(script).await;
    let judge = judge_with(Wire::SystemOne, &server, &metrics(), at(path, "laya"));
    let mut long = draft(2);
    long.chunks[0].text = "The north gate of the old harbour closes at seven. ".repeat(200);
    let error = ask(judge.as_ref(), &trace_of(long)).await.unwrap_err();
    assert_eq!(error.reason, FailureReason::TruncatedByJudge);
    assert_eq!(error.calls[0].usage.unwrap().input_token_count, Some(512));
    for (said, reason) in [
        (
            Said::new(400, r#"{"detail":"too many options"}"#),
            FailureReason::Protocol,
        ),
        (
            Said::new(413, r#"{"detail":"state too large"}"#),
            FailureReason::TooLong,
        ),
        (
            Said::new(422, r#"{"detail":"questions: at most 64"}"#),
            FailureReason::Protocol,
        ),
        (
            Said::new(503, r#"{"detail":"busy"}"#).with("retry-after", "1"),
            FailureReason::Unavailable,
        ),
    ] {
        let error = fail_at(path, said).await;
        assert_eq!(error.reason, reason);
        let detail = error.detail.unwrap_or_default();
        assert!(
            !detail.contains("busy") && !detail.contains("options"),
            "{detail}"
        );
    }
}

/// Everything that is logged on this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn vllm_takes_template_options_and_processed_numbers_are_warned_of_once() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let processed: Vec<_> = lines(&[0.9; 7])
        .into_iter()
        .map(|one| match one["token"].as_str() {
            Some(" yes") => token(" yes", &[(" yes", 1.0), (" no", 0.0), (" maybe", 0.0)]),
            _ => one,
        })
        .collect();
    let mut end = processed;
    end.push(json!({"token": "<|im_end|>", "logprob": 0.0, "bytes": [], "top_logprobs": []}));
    let mut body = completion_of(&end);
    let content = body["choices"][0]["message"]["content"].as_str().unwrap();
    body["choices"][0]["message"]["content"] = json!(content.replace("<|im_end|>", ""));
    body["choices"][0]["message"]["reasoning_content"] = json!("01 no");
    let server = FakeJudge::saying([Said::json(&body)]).await;
    let judge = judge_with(PACKED, &server, &metrics(), |options| {
        let extra = json!({"chat_template_kwargs": {"enable_thinking": false}});
        options.model.extra_body = extra.as_object().unwrap().clone();
    });
    for _ in 0..2 {
        let answer = ask(judge.as_ref(), &trace(1)).await.unwrap();
        let p = probability(&answer.answers, Dimension::Groundedness).unwrap();
        assert!(0.999 < p && p < 1.0, "{p}");
    }
    drop(guard);
    let thinking = &server.seen()[0].body["chat_template_kwargs"]["enable_thinking"];
    assert_eq!(thinking, false);
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert_eq!(log.matches("look processed").count(), 1, "{log}");
    assert!(!log.contains("north gate"), "{log}");
}
