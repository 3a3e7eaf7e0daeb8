//! Answers that are none: statuses, pages, numbers that are no probabilities, and bodies without an end.

use judge_cascade::domain::Vocabulary as _;
use judge_cascade::domain::dimension::Dimension;
use judge_cascade::rpc::pb::{self, FailureReason, Route};

use super::{Faulty, Rig, good};
use crate::support::faults::reply::Reply;
use crate::support::faults::{Act, FaultServer};

/// Nothing of this may be logged.
const SECRET: &str = "marmalade";

async fn fails(reply: Reply, reason: FailureReason, least_requests: usize) {
    let server = FaultServer::start([Act::Answer(reply)]);
    let rig =
        Rig::start(&Faulty::at(&server).with("[judges.faulty.breaker]\nfailure_count = 1000"));
    rig.fails_as(reason).await;
    // Three calls, of which `alone` makes two; `models` asked once at the start.
    let asked = server
        .requests()
        .iter()
        .filter(|seen| seen.head.starts_with("POST"))
        .count();
    assert!(least_requests <= asked, "{asked}");
    rig.ends_without(&[SECRET]).await;
}

#[tokio::test]
async fn a_body_that_is_no_answer_is_a_protocol_failure_and_not_tried_again() {
    for reply in [
        Reply::json(format!("{{\"answers\": {SECRET}")),
        Reply::json("[]"),
        Reply::json(r#"{"model":"m","answers":"marmalade"}"#),
        Reply::json(""),
        Reply::html(),
    ] {
        fails(reply, FailureReason::Protocol, 4).await;
    }
}

#[tokio::test]
async fn r47_a_status_is_an_ok_answer_that_says_what_is_wrong() {
    let told =
        |status| Reply::status(status).body(format!("{{\"error\":{{\"message\":\"{SECRET}\"}}}}"));
    for (status, reason) in [
        (401, FailureReason::Unauthenticated),
        (403, FailureReason::Unauthenticated),
        (400, FailureReason::Protocol),
        (404, FailureReason::Protocol),
        (422, FailureReason::Protocol),
        (413, FailureReason::TooLong),
        (500, FailureReason::Unavailable),
        (503, FailureReason::Unavailable),
        (429, FailureReason::RateLimited),
        (529, FailureReason::RateLimited),
    ] {
        fails(told(status), reason, 1).await;
    }
}

#[tokio::test]
async fn a_delay_that_does_not_fit_is_not_waited_for() {
    for delay in [
        "1000000000",
        "Fri, 31 Dec 2100 23:59:59 GMT",
        "99999999999999999999999",
    ] {
        let reply = Reply::status(429).header("retry-after", delay);
        fails(reply, FailureReason::RateLimited, 1).await;
    }
}

#[tokio::test]
async fn a_body_without_an_end_is_cut_off() {
    let server = FaultServer::start([Act::Endless]);
    let rig =
        Rig::start(&Faulty::at(&server).with("[judges.faulty.breaker]\nfailure_count = 1000"));
    rig.fails_as(FailureReason::Protocol).await;
    for reply in [Reply::gzip_bomb(1 << 30), Reply::many_headers(10_000)] {
        fails(reply, FailureReason::Protocol, 1).await;
    }
}

/// A redirect could lead a key anywhere, to the metadata service of a cloud too.
#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = FaultServer::start([Act::Answer(Reply::json(good()))]);
    for target in [elsewhere.url(), "http://169.254.169.254/latest".to_owned()] {
        fails(Reply::redirect(&target), FailureReason::Protocol, 1).await;
    }
    assert!(elsewhere.requests().is_empty());
}

/// Words alone are never taken in place of log-probabilities, and a list that was cut keeps a label from being certain.
#[tokio::test]
async fn r16_log_probabilities_that_are_missing_are_a_failure() {
    let lines: Vec<_> = (1..=8).map(|slot| format!("{slot:02} yes")).collect();
    let said = serde_json::json!({"model": "m", "choices": [{
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": lines.join("\n")},
        "logprobs": null,
    }]});
    let server = FaultServer::start([Act::Answer(Reply::json(said.to_string()))]);
    let faulty = Faulty {
        kind: "openai_logprobs",
        ..Faulty::at(&server)
    };
    let rig = Rig::start(&faulty);
    rig.fails_as(FailureReason::LogprobsUnsupported).await;
}

/// P1: one bad number fails its own question, is never clamped, and the answer can no longer pass.
#[tokio::test]
async fn a_number_that_is_no_probability_fails_its_question() {
    for bad in ["null", "\"0.97\"", "-0.01", "1.01", "1e400", "true", "{}"] {
        let whole = good();
        let from = r#""groundedness":{"type":"noul","noul":0.97}"#;
        assert!(whole.contains(from));
        let to = format!(r#""groundedness":{{"type":"noul","noul":{bad}}}"#);
        let server = FaultServer::start([Act::Answer(Reply::json(whole.replace(from, &to)))]);
        let rig = Rig::start(&Faulty::at(&server));
        let response = rig.diagnose("atomic").await;
        // 1e400 is no number of JSON that a double holds, so that answer cannot be read at all.
        assert_ne!(response.route(), Route::Auto, "{bad}");
        let groundedness = of(&response, Dimension::Groundedness);
        assert_eq!(groundedness, Some(FailureReason::Protocol), "{bad}");
    }
}

#[tokio::test]
async fn a_missing_answer_fails_its_question() {
    let whole = good();
    let gap = whole.replace(r#""groundedness":{"type":"noul","noul":0.97},"#, "");
    let server = FaultServer::start([Act::Answer(Reply::json(gap))]);
    let rig = Rig::start(&Faulty::at(&server));
    let response = rig.diagnose("atomic").await;
    assert_eq!(response.route(), Route::Fallback);
    assert_eq!(
        of(&response, Dimension::Groundedness),
        Some(FailureReason::Protocol)
    );
    assert_eq!(of(&response, Dimension::Contradiction), None);
}

#[tokio::test]
async fn an_unknown_or_repeated_answer_fails_the_whole() {
    let more = |entry: &str| good().replace(r#""answers":{"#, &format!(r#""answers":{{{entry},"#));
    for body in [
        more(r#""helpfulness":{"type":"noul","noul":0.9}"#),
        more(r#""chunk_7":{"type":"noul","noul":0.9}"#),
        more(r#""groundedness":{"type":"noul","noul":0.9}"#),
        more(r#""groundedness":{"type":"noul","noul":0.97}"#),
    ] {
        fails(Reply::json(body), FailureReason::Protocol, 1).await;
    }
}

/// Why the atomic judge did not answer a whole-trace question.
fn of(response: &pb::DiagnoseResponse, dimension: Dimension) -> Option<FailureReason> {
    let generation = response.atomic.as_ref()?.generation.as_ref()?;
    let judgment = match dimension {
        Dimension::Groundedness => generation.groundedness.as_ref(),
        Dimension::Contradiction => generation.contradiction.as_ref(),
        other => panic!("{}", other.name()),
    };
    match judgment?.outcome.as_ref()? {
        pb::judgment::Outcome::FailureReason(reason) => FailureReason::try_from(*reason).ok(),
        _ => None,
    }
}
