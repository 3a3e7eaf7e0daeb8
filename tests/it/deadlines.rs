//! Deadlines and cancellation, with time that the test moves.

use std::time::Duration;

use judge_cascade::rpc::pb::{Diagnosis, FailureReason, FallbackUnavailableReason as Why, Route};
use tonic::Code;
use tonic_types::StatusExt as _;

use crate::support::memory::InMemory;
use crate::support::scripted::{ScriptedJudge, Step, good_but};
use crate::support::{Setup, request, series, trace};

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn call(timeout: Duration) -> tonic::Request<judge_cascade::rpc::pb::DiagnoseRequest> {
    let mut call = tonic::Request::new(request(trace()));
    call.set_timeout(timeout);
    call
}

#[tokio::test(start_paused = true)]
async fn a_judge_that_is_stopped_by_its_slice_has_failed_and_the_call_is_ok() {
    let setup = Setup::new(ScriptedJudge::new("atomic", [Step::Hang]));
    let server = InMemory::serve(setup.content()).await;
    let response = server.diagnose(request(trace())).await.unwrap();
    assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain);
    assert_eq!(
        response.judge_calls[0].failure_reason(),
        FailureReason::Timeout
    );
    assert_eq!(setup.atomic.cancelled(), 1);
    let timing = response.timing.unwrap();
    assert_eq!(timing.judge_wait.unwrap().seconds, 1);
    assert!(timing.overhead.unwrap().seconds == 0);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_waits_less_than_the_judge_gets_deadline_exceeded_and_not_cancelled() {
    for timeout in [ms(1), ms(5), ms(50), ms(500)] {
        let setup = Setup::new(ScriptedJudge::new("atomic", [Step::Hang]));
        let server = InMemory::serve(setup.content()).await;
        let status = server.diagnose(call(timeout)).await.unwrap_err();
        assert_eq!(
            status.code(),
            Code::DeadlineExceeded,
            "{timeout:?}: {status}"
        );
        let info = status.get_error_details().error_info().unwrap().clone();
        assert_eq!(info.reason, "DEADLINE_TOO_SHORT");
        assert_eq!(info.metadata["stage"], "atomic");
        assert_eq!(setup.atomic.cancelled(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_has_passed_asks_no_judge() {
    let setup = Setup::new(ScriptedJudge::new("atomic", [good_but(&[])]));
    let server = InMemory::serve(setup.content()).await;
    let mut call = tonic::Request::new(request(trace()));
    call.metadata_mut()
        .insert("grpc-timeout", "0m".parse().unwrap());
    let status = server.diagnose(call).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded);
    let info = status.get_error_details().error_info().unwrap().clone();
    assert_eq!(info.metadata["stage"], "start");
    assert_eq!(setup.atomic.begun(), 0);
    let errors = "judge_cascade_diagnose_errors_total{profile=\"\",code=\"DEADLINE_EXCEEDED\",reason=\"DEADLINE_TOO_SHORT\"}";
    assert_eq!(series(&setup.metrics, errors), Some(1.0));
}

#[tokio::test(start_paused = true)]
async fn a_fallback_that_is_late_gives_the_partial_result_in_time() {
    let setup = Setup::new(
        ScriptedJudge::new("atomic", [good_but(&[("groundedness", 0.5)])]).after(ms(100)),
    )
    .fallback(ScriptedJudge::new("fallback", [Step::Hang]));
    let server = InMemory::serve(setup.content()).await;
    let start = tokio::time::Instant::now();
    let response = server.diagnose(call(ms(1000))).await.unwrap();
    assert_eq!(start.elapsed(), ms(990));
    assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain);
    assert_eq!(response.route(), Route::FallbackUnavailable);
    assert_eq!(response.fallback_unavailable_reason(), Why::Deadline);
    assert!(
        response
            .atomic
            .unwrap()
            .generation
            .unwrap()
            .groundedness
            .is_some()
    );
    assert_eq!(setup.fallback.as_ref().unwrap().cancelled(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_fallback_without_its_minimum_of_time_is_not_asked() {
    let judge = || ScriptedJudge::new("atomic", [good_but(&[("groundedness", 0.5)])]);
    // 500 ms less 10 ms of reserve less 190 ms of atomic judge are 300 ms, which is not more than the minimum.
    for (delay, asked) in [(ms(190), 0), (ms(189), 1)] {
        let setup = Setup::new(judge().after(delay))
            .fallback(ScriptedJudge::new("fallback", [good_but(&[])]));
        let server = InMemory::serve(setup.content()).await;
        let response = server.diagnose(call(ms(500))).await.unwrap();
        assert_eq!(setup.fallback.as_ref().unwrap().begun(), asked, "{delay:?}");
        let route = if asked == 0 {
            Route::FallbackUnavailable
        } else {
            Route::Fallback
        };
        assert_eq!(response.route(), route);
    }
}

#[tokio::test(start_paused = true)]
async fn the_answer_of_the_atomic_judge_counts_to_the_last_millisecond() {
    let setup = Setup::new(ScriptedJudge::new("atomic", [good_but(&[])]).after(ms(489)));
    let server = InMemory::serve(setup.content()).await;
    let response = server.diagnose(call(ms(500))).await.unwrap();
    assert_eq!(response.diagnosis(), Diagnosis::Pass);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_its_caller_drops_stops_its_judge_call() {
    let setup = Setup::new(ScriptedJudge::new("atomic", [Step::Hang]));
    let server = InMemory::serve(setup.content()).await;
    let dropped = tokio::time::timeout(ms(20), server.diagnose(request(trace()))).await;
    assert!(dropped.is_err());
    // The reset of the stream has to travel through the pipe.
    tokio::time::sleep(ms(20)).await;
    assert_eq!((setup.atomic.begun(), setup.atomic.cancelled()), (1, 1));
    assert_eq!(server.admission.available_permits(), 8);
    let cancelled = "judge_cascade_rpc_requests_total{method=\"judgecascade.v1.DiagnosisService/Diagnose\",code=\"CANCELLED\"}";
    assert_eq!(series(&setup.metrics, cancelled), Some(1.0));
    assert_eq!(
        series(&setup.metrics, "judge_cascade_inflight_traces"),
        Some(0.0)
    );
}

#[tokio::test(start_paused = true)]
async fn the_server_bounds_a_call_whose_caller_would_wait_for_ever() {
    let setup = Setup::new(ScriptedJudge::new(
        "atomic",
        [good_but(&[("groundedness", 0.5)])],
    ))
    .fallback(ScriptedJudge::new("fallback", [Step::Hang]));
    let server = InMemory::serve(setup.content()).await;
    let start = tokio::time::Instant::now();
    let response = server.diagnose(request(trace())).await.unwrap();
    assert_eq!(start.elapsed(), ms(2990));
    assert_eq!(response.fallback_unavailable_reason(), Why::Deadline);
}

/// overhead = total - judge wait, over both judges; what came before the work began is the caller's own time.
#[tokio::test(start_paused = true)]
async fn the_time_of_a_call_is_told_apart() {
    let open = good_but(&[("groundedness", 0.5)]);
    let setup = Setup::new(ScriptedJudge::new("atomic", [open]).after(ms(100)))
        .fallback(ScriptedJudge::new("fallback", [good_but(&[])]).after(ms(200)));
    let content = setup.content();
    let parsed =
        judge_cascade::rpc::convert::request::parse(request(trace()), &crate::support::LIMITS);
    let trace = parsed.unwrap().trace;
    let received = tokio::time::Instant::now();
    tokio::time::advance(ms(700)).await;
    let started = tokio::time::Instant::now();
    tokio::time::advance(ms(50)).await;
    let call = judge_cascade::cascade::Request {
        trace,
        scope: judge_cascade::cascade::plan::Scope::Full,
        fallback_mode: None,
        received,
        started,
        timeout: None,
        traceparent: None,
        skip_cache: false,
    };
    let profile = content.cascade.profile("default").unwrap();
    let outcome = content.cascade.diagnose(profile, call).await.unwrap();
    assert_eq!(outcome.timing.total, ms(350));
    assert_eq!(outcome.timing.judge_wait, ms(300));
    assert_eq!(outcome.timing.overhead(), ms(50));
    assert_eq!(
        series(&setup.metrics, "judge_cascade_overhead_seconds_sum"),
        Some(0.05)
    );
    let duration = "judge_cascade_diagnose_duration_seconds_sum{route=\"fallback\"}";
    assert_eq!(series(&setup.metrics, duration), Some(0.35));
}

/// The time limit of the server must never come before the partial result, however small the reserve is.
#[tokio::test(start_paused = true)]
async fn a_small_reply_reserve_still_gives_the_partial_result() {
    for reserve in [ms(1), ms(2), ms(5), ms(50)] {
        let mut setup = Setup::new(ScriptedJudge::new(
            "atomic",
            [good_but(&[("groundedness", 0.5)])],
        ))
        .fallback(ScriptedJudge::new("fallback", [Step::Hang]));
        setup.time.reply_reserve = reserve;
        let server = InMemory::serve(setup.content()).await;
        for timeout in [None, Some(ms(1000))] {
            let mut call = tonic::Request::new(request(trace()));
            if let Some(timeout) = timeout {
                call.set_timeout(timeout);
            }
            let response = server.diagnose(call).await.unwrap();
            assert_eq!(
                response.fallback_unavailable_reason(),
                Why::Deadline,
                "{reserve:?}"
            );
        }
    }
}

/// A caller that is slow to send its message loses its own time and nothing else.
#[tokio::test(start_paused = true)]
async fn a_message_that_never_comes_is_deadline_exceeded_and_not_cancelled() {
    let setup = Setup::new(ScriptedJudge::new("atomic", [good_but(&[])]));
    let server = InMemory::serve(setup.content()).await;
    let mut sender = server.http().await;
    for (timeout, reason) in [(Some("20m"), "caller"), (None, "server")] {
        let (_unsent, body) = tonic_body_that_waits();
        let mut request =
            http::Request::post("http://in.memory/judgecascade.v1.DiagnosisService/Diagnose")
                .header("content-type", "application/grpc")
                .header("te", "trailers");
        if let Some(timeout) = timeout {
            request = request.header("grpc-timeout", timeout);
        }
        let response = sender
            .send_request(request.body(body).unwrap())
            .await
            .unwrap();
        let code = Code::from_bytes(response.headers()["grpc-status"].as_bytes());
        assert_eq!(code, Code::DeadlineExceeded, "{reason}");
    }
    assert_eq!(setup.atomic.begun(), 0);
}

/// A body that sends nothing for as long as the first part lives.
fn tonic_body_that_waits() -> (tokio::sync::mpsc::Sender<()>, tonic::body::Body) {
    use futures_util::StreamExt as _;
    let (sender, receiver) = tokio::sync::mpsc::channel::<()>(1);
    let frames = tokio_stream::wrappers::ReceiverStream::new(receiver).map(|()| {
        Ok::<_, std::convert::Infallible>(hyper::body::Frame::data(hyper::body::Bytes::new()))
    });
    (
        sender,
        tonic::body::Body::new(http_body_util::StreamBody::new(frames)),
    )
}
