//! Calls, profiles, environment and logs of a running server.

use judge_cascade::rpc::pb::{self, CalibrationState, Diagnosis, Dimension, Route};
use tonic::{Code, Request};
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;

use super::{asked, channel, plain_client, quoted, reason, slow_judge};
use crate::support::process::{Sidecar, fixture};
use crate::support::{chunk, request, trace};

#[tokio::test]
async fn without_any_configuration_the_embedded_judge_serves() {
    let sidecar = Sidecar::start(&[]);
    let mut client = plain_client(&sidecar).await;

    let greeting = request(pb::Trace {
        question: "hi".to_owned(),
        retrieval: pb::RetrievalState::NotPerformed as i32,
        answer: "Hello! How can I help you?".to_owned(),
        ..Default::default()
    });
    let response = client.diagnose(greeting).await.unwrap().into_inner();
    assert_eq!(response.diagnosis(), Diagnosis::NotAssessable);
    assert_eq!(response.confidence, None);
    assert!(response.judge_calls.is_empty());
    let (_, metrics) = sidecar.admin("/metrics").await;
    let calls = metrics
        .lines()
        .filter(|line| line.starts_with("judge_cascade_judge_requests_total{"));
    let calls: Vec<_> = calls.collect();
    let ok =
        "judge_cascade_judge_requests_total{judge=\"embedded\",role=\"atomic\",outcome=\"ok\"} 0";
    assert!(calls.contains(&ok), "{metrics}");
    assert!(calls.iter().all(|line| line.ends_with(" 0")), "{metrics}");

    let response = client.diagnose(quoted()).await.unwrap().into_inner();
    assert_eq!(response.diagnosis(), Diagnosis::Pass);
    let covered: Vec<_> = response.pass_covers().collect();
    assert_eq!(covered, [Dimension::Groundedness]);
    assert_eq!(response.route(), Route::Auto);
    assert_eq!(response.judge_calls.len(), 1);
    let provenance = response.provenance.unwrap();
    let calibration = provenance.calibration_state();
    assert_eq!(calibration, CalibrationState::Uncalibrated);

    let unrelated = asked(
        "How long is the warranty of the coffee machine?",
        "Bicycles are parked behind the library during winter.",
        "The warranty of the coffee machine is two years.",
    );
    let response = client.diagnose(unrelated).await.unwrap().into_inner();
    assert_eq!(response.diagnosis(), Diagnosis::RetrievalMiss);

    for (series, value) in [
        (
            "diagnoses_total{profile=\"default\",diagnosis=\"PASS\",route=\"auto\"}",
            1.0,
        ),
        (
            "diagnoses_total{profile=\"default\",diagnosis=\"RETRIEVAL_MISS\",route=\"auto\"}",
            1.0,
        ),
        (
            "diagnoses_total{profile=\"default\",diagnosis=\"NOT_ASSESSABLE\",route=\"auto\"}",
            1.0,
        ),
        (
            "diagnoses_total{profile=\"default\",diagnosis=\"JUDGE_UNCERTAIN\",route=\"auto\"}",
            0.0,
        ),
        (
            "actions_total{profile=\"default\",action=\"ALLOW\",enforcement=\"shadow\"}",
            2.0,
        ),
        (
            "not_assessable_total{profile=\"default\",reason=\"retrieval_not_performed\"}",
            1.0,
        ),
        (
            "judge_requests_total{judge=\"embedded\",role=\"atomic\",outcome=\"ok\"}",
            2.0,
        ),
        (
            "rpc_requests_total{method=\"judgecascade.v1.DiagnosisService/Diagnose\",code=\"OK\"}",
            3.0,
        ),
        (
            "calibration_state{profile=\"default\",state=\"UNCALIBRATED\"}",
            1.0,
        ),
        ("inflight_traces", 0.0),
        ("open_connections", 1.0),
        ("panics_total", 0.0),
    ] {
        let series = format!("judge_cascade_{series}");
        assert_eq!(sidecar.series(&series).await, Some(value), "{series}");
    }
    for (route, expected) in [("/livez", "ok"), ("/readyz", "ready")] {
        let (status, body) = sidecar.admin(route).await;
        assert_eq!((&*status, &*body), ("HTTP/1.1 200 OK", expected));
    }
}

#[tokio::test]
async fn each_request_chooses_its_profile() {
    let config = slow_judge(1, "");
    let sidecar = Sidecar::start(&["--config", &config.path]);
    let mut client = plain_client(&sidecar).await;
    for (profile, runs, judge, policy) in [
        ("", "default", "slow", "parity-v1"),
        ("plain", "plain", "embedded", "lexical-default"),
        ("default", "default", "slow", "parity-v1"),
    ] {
        let chosen = pb::DiagnoseRequest {
            profile: profile.to_owned(),
            ..request(trace())
        };
        let response = client.diagnose(chosen).await.unwrap().into_inner();
        let provenance = response.provenance.unwrap();
        assert_eq!(provenance.profile, runs);
        assert_eq!(provenance.policy_id, policy);
        let asked: Vec<_> = response.judge_calls.iter().map(|c| &*c.judge_id).collect();
        assert_eq!(asked, [judge]);
    }
    let unknown = pb::DiagnoseRequest {
        profile: "nobody".to_owned(),
        ..request(trace())
    };
    let status = client.diagnose(unknown).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(reason(&status).as_deref(), Some("UNKNOWN_PROFILE"));
    assert!(status.message().contains("nobody"));
}

async fn list_services(sidecar: &Sidecar) -> Result<Vec<String>, Code> {
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
    let mut client = ServerReflectionClient::new(channel(sidecar).await);
    let list = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let lists = Request::new(tokio_stream::once(list));
    let answers = client.server_reflection_info(lists).await;
    let mut answers = answers.map_err(|status| status.code())?.into_inner();
    let answer = answers.message().await.map_err(|status| status.code())?;
    match answer.unwrap().message_response.unwrap() {
        MessageResponse::ListServicesResponse(list) => Ok(list
            .service
            .into_iter()
            .map(|service| service.name)
            .collect()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_environment_overrides_the_file_that_it_names() {
    let config = slow_judge(1, "reflection = true");
    let named = ("JUDGE_CASCADE_CONFIG", &*config.path);
    let by_file = Sidecar::start_with(&[], &[named]);
    let services = list_services(&by_file).await.unwrap();
    let ours = "judgecascade.v1.DiagnosisService".to_owned();
    assert!(services.contains(&ours), "{services:?}");
    let policy = by_file.client().await.policy("plain").await.unwrap();
    assert_eq!(policy.profile, "plain");

    let overridden = Sidecar::start_with(
        &[],
        &[
            named,
            ("JUDGE_CASCADE__SERVER__REFLECTION", "false"),
            ("JUDGE_CASCADE__PROFILES__PLAIN__POLICY", "parity-v1"),
        ],
    );
    assert_eq!(list_services(&overridden).await, Err(Code::Unimplemented));
    let mut client = plain_client(&overridden).await;
    let plain = pb::DiagnoseRequest {
        profile: "plain".to_owned(),
        ..request(trace())
    };
    let response = client.diagnose(plain).await.unwrap().into_inner();
    assert_eq!(response.provenance.unwrap().policy_id, "parity-v1");
}

/// Words that stand in no other text.
const SECRETS: [&str; 7] = [
    "zanzibarquestion",
    "zanzibarchunk",
    "zanzibaranswer",
    "zanzibarreference",
    "zanzibarhistory",
    "zanzibarstandalone",
    "zanzibarstatement",
];

fn secret_trace() -> pb::Trace {
    let [
        question,
        text,
        answer,
        reference,
        history,
        standalone,
        statement,
    ] = SECRETS;
    pb::Trace {
        trace_id: "t1".to_owned(),
        question: format!("What is the {question}?"),
        chunks: vec![
            chunk("c1", &format!("The {question} is the {text}.")),
            chunk("c2", &format!("Nobody knows the {text}.")),
        ],
        answer: format!("The {question} is the {answer}, not the {text}."),
        reference_answer: Some(format!("The {reference}.")),
        standalone_question: format!("Is there a {standalone}?"),
        history: vec![pb::Turn {
            role: pb::TurnRole::User as i32,
            text: format!("About the {history}."),
        }],
        statements: vec![format!("The {statement} is the {answer}.")],
        ..Default::default()
    }
}

#[tokio::test]
async fn no_text_of_a_trace_is_logged_at_any_level() {
    let config = slow_judge(1, "");
    let mut sidecar = Sidecar::start(&["--config", &config.path, "--log-filter", "trace"]);
    let mut client = plain_client(&sidecar).await;
    for profile in ["plain", "default"] {
        let good = pb::DiagnoseRequest {
            profile: profile.to_owned(),
            options: Some(pb::DiagnoseOptions {
                skip_cache: false,
                include_statements: true,
            }),
            ..request(secret_trace())
        };
        client.diagnose(good).await.unwrap();
    }
    let duplicate = pb::Trace {
        chunks: vec![chunk("c1", SECRETS[1]), chunk("c1", SECRETS[1])],
        ..secret_trace()
    };
    client.diagnose(request(duplicate)).await.unwrap_err();
    let blank = pb::Trace {
        question: " ".to_owned(),
        ..secret_trace()
    };
    client.diagnose(request(blank)).await.unwrap_err();
    let long = pb::Trace {
        answer: SECRETS[2].repeat(100_000),
        ..secret_trace()
    };
    client.diagnose(request(long)).await.unwrap_err();
    let mut impatient = Request::new(request(secret_trace()));
    impatient.set_timeout(std::time::Duration::from_nanos(1));
    client.diagnose(impatient).await.unwrap_err();
    sidecar.signal("TERM");
    assert_eq!(sidecar.ended().await.code(), Some(0));
    let log = sidecar.log();
    assert!(100 < log.len(), "{} lines", log.len());
    assert!(log.iter().any(|line| line.contains("INVALID_TRACE")));
    for line in &log {
        assert!(!line.contains("zanzibar"), "{line}");
    }
}

#[tokio::test]
async fn many_clients_at_once_all_get_their_own_rows() {
    let sidecar = Sidecar::start_with(
        &["--config", &fixture("demo.toml")],
        &[(
            "JUDGE_CASCADE__JUDGES__DEMO-ATOMIC__SIMULATE_LATENCY",
            "false",
        )],
    );
    let clients = (0..16).map(|client| {
        let sidecar = &sidecar;
        async move {
            let mut connection = plain_client(sidecar).await;
            for call in 0..8 {
                let id = format!("client-{client}-{call}");
                let mut own = quoted();
                own.trace.as_mut().unwrap().trace_id.clone_from(&id);
                let response = connection.diagnose(own).await.unwrap().into_inner();
                assert_eq!(response.trace_id, id);
                assert_eq!(response.diagnosis(), Diagnosis::Pass);
            }
        }
    });
    futures_util::future::join_all(clients).await;
    let passes =
        "judge_cascade_diagnoses_total{profile=\"default\",diagnosis=\"PASS\",route=\"auto\"}";
    assert_eq!(sidecar.series(passes).await, Some(128.0));
}
