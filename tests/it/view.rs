//! What a judge was not shown never helps a PASS, whatever the judge says.

use std::sync::Arc;

use judge_cascade::domain::Vocabulary as _;
use judge_cascade::judge::composite::Composite;
use judge_cascade::judge::view::{Field, Redactor, ViewOptions};
use judge_cascade::rpc::pb::{self, Diagnosis};

use crate::support::memory::InMemory;
use crate::support::paid::PaidJudge;
use crate::support::scripted::{ScriptedJudge, good_but};
use crate::support::{Setup, chunk, request, series, trace};

/// The response for a trace whose judge finds everything good and is shown only what `options` allow.
async fn diagnosed(options: ViewOptions, trace: pb::Trace) -> (Setup, pb::DiagnoseResponse) {
    let setup = Setup::new(ScriptedJudge::new("unused", [good_but(&[])]));
    let mut judge = PaidJudge::new("atomic", &setup.metrics);
    judge.view = options;
    let atomic = Composite::of(Arc::new(judge), Arc::clone(&setup.metrics));
    let server = InMemory::serve(setup.content_of(atomic, None)).await;
    let response = server.diagnose(request(trace)).await.unwrap();
    (setup, response)
}

fn limited(max_state_tokens: u64) -> ViewOptions {
    ViewOptions {
        max_state_tokens: Some(max_state_tokens),
        ..ViewOptions::default()
    }
}

fn failure(judgment: Option<pb::Judgment>) -> Option<pb::FailureReason> {
    match judgment?.outcome? {
        pb::judgment::Outcome::FailureReason(reason) => pb::FailureReason::try_from(reason).ok(),
        _ => None,
    }
}

/// R22: the context was cut down for the judge, so nothing that it says is a PASS.
#[tokio::test]
async fn r22_a_context_that_was_cut_is_never_a_pass() {
    let long: String = (0..900)
        .map(|n| format!("On day {n} the pool opens at eight. "))
        .collect();
    let padded = pb::Trace {
        chunks: vec![
            chunk("c1", &long),
            chunk("c2", "On Sundays the pool opens at eight."),
        ],
        ..trace()
    };
    let (_, whole) = diagnosed(ViewOptions::default(), padded.clone()).await;
    assert_eq!(whole.diagnosis(), Diagnosis::Pass);
    let (setup, cut) = diagnosed(limited(2_500), padded).await;
    assert_eq!(cut.diagnosis(), Diagnosis::JudgeUncertain);
    let uncertain = "judge_cascade_uncertain_total{profile=\"default\",dimension=\"groundedness\",cause=\"partly_seen\"}";
    assert_eq!(series(&setup.metrics, uncertain), Some(1.0));
}

/// R26: an answer over the limit of a judge is a failure with its reason and never a verdict.
#[tokio::test]
async fn r26_an_answer_over_the_limit_is_too_long_and_never_a_verdict() {
    let long = pb::Trace {
        answer: "It opens at eight. ".repeat(900),
        ..trace()
    };
    let (_, response) = diagnosed(limited(2_500), long).await;
    assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain);
    let generation = response.atomic.unwrap().generation.unwrap();
    for judgment in [
        generation.answer_relevance,
        generation.groundedness,
        generation.contradiction,
        generation.correctness,
    ] {
        assert_eq!(failure(judgment), Some(pb::FailureReason::TooLong));
    }
}

#[tokio::test]
async fn a_field_that_is_not_sent_is_never_judged_and_never_a_pass() {
    for field in [
        Field::Question,
        Field::Chunks,
        Field::Answer,
        Field::ReferenceAnswer,
    ] {
        let fields = Field::ALL.iter().copied();
        let options = ViewOptions {
            send_fields: fields.filter(|&other| other != field).collect(),
            ..ViewOptions::default()
        };
        let (_, response) = diagnosed(options, trace()).await;
        assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain, "{field}");
        let generation = response.atomic.unwrap().generation.unwrap();
        let correctness = failure(generation.correctness);
        let undecidable = (field != Field::Chunks).then_some(pb::FailureReason::Undecidable);
        assert_eq!(correctness, undecidable, "{field}");
    }
}

#[tokio::test]
async fn a_redacted_trace_is_judged_like_any_other() {
    let options = ViewOptions {
        redact: Redactor::new(&["email".to_owned()]).unwrap(),
        ..ViewOptions::default()
    };
    let (_, response) = diagnosed(options, trace()).await;
    assert_eq!(response.diagnosis(), Diagnosis::Pass);
}
