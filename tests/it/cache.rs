//! The cache of answers: what is a hit, what is never kept, and whose time ends whose wait.

mod vetoes;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use judge_cascade::artifact::pricing::{self, PricingSnapshot};
use judge_cascade::domain::failure::FailureReason;
use judge_cascade::domain::judgment::{Judgment, JudgmentDelivery};
use judge_cascade::domain::outcome::{DecisionVariant, JudgeRole};
use judge_cascade::domain::question::{Question, QuestionSet};
use judge_cascade::domain::trace::Trace;
use judge_cascade::judge::cached::{AnswerCache, CacheOptions, Cached};
use judge_cascade::judge::composite::Composite;
use judge_cascade::judge::decision::Decision;
use judge_cascade::judge::view::ViewOptions;
use judge_cascade::judge::{Answer, Ask, CallContext, Judge, JudgeError};
use judge_cascade::rpc::convert::request::parse;
use judge_cascade::rpc::pb::{self, Diagnosis};
use judge_cascade::telemetry::metrics::Metrics;
use tokio::time::{Instant, sleep};

use crate::support::memory::InMemory;
use crate::support::paid::PaidJudge;
use crate::support::scripted::{ScriptedJudge, Step, good_but, good_without};
use crate::support::{LIMITS, Setup, chunk, request, series, trace};

/// 400 input and 100 output tokens cost 600,000 nano-dollars.
pub(crate) const PRICES: &str = r#"{"schema_version":1,"id":"p","as_of":"2026-10-01","currency":"USD","models":{
    "paid-model":{"input_usd_per_million_tokens":1,"output_usd_per_million_tokens":2}}}"#;

pub(crate) fn prices() -> Arc<PricingSnapshot> {
    Arc::new(pricing::read("p.json", PRICES).unwrap())
}

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn setup() -> Setup {
    Setup::new(ScriptedJudge::new("atomic", [good_but(&[])]))
}

fn cached(judge: Arc<dyn Judge>, metrics: &Arc<Metrics>) -> Cached {
    let options = CacheOptions {
        ttl: Duration::from_secs(60),
        max_bytes: 1 << 20,
    };
    Cached::new(judge, AnswerCache::new(options, Arc::clone(metrics)))
}

pub(crate) fn parsed(message: pb::Trace) -> Arc<Trace> {
    parse(request(message), &LIMITS).unwrap().trace
}

pub(crate) fn context(time: Duration) -> CallContext {
    CallContext::until(Instant::now() + time, JudgeRole::Atomic)
}

/// Asks every question about a trace.
pub(crate) async fn ask(
    judge: &dyn Judge,
    trace: &Arc<Trace>,
    context: &CallContext,
) -> Result<Answer, JudgeError> {
    let questions = QuestionSet::from_fn(trace.chunks.len(), |_| true);
    let ask = Ask {
        trace,
        questions: &questions,
        decision: Decision::of(DecisionVariant::WithReference),
        history_is_evidence: false,
    };
    judge.judge(&ask, context).await
}

/// The same by the judge of a profile, which keeps the deadline.
async fn ask_in_time(judge: Cached, trace: &Arc<Trace>, context: &CallContext) -> Answer {
    let metrics = Metrics::new(&Default::default()).unwrap();
    let questions = QuestionSet::from_fn(trace.chunks.len(), |_| true);
    let ask = Ask {
        trace,
        questions: &questions,
        decision: Decision::of(DecisionVariant::WithReference),
        history_is_evidence: false,
    };
    let judge = Composite::of(Arc::new(judge), metrics);
    judge.judge(&ask, context).await
}

fn results(metrics: &Metrics) -> [u64; 4] {
    ["hit", "miss", "shared", "bypass"].map(|result| {
        let name = format!("judge_cascade_cache_requests_total{{result=\"{result}\"}}");
        series(metrics, &name).unwrap() as u64
    })
}

fn is_judged(answer: &Answer) -> bool {
    let mut judgments = answer.answers.iter();
    judgments.all(|(_, judgment)| matches!(judgment, Some(Judgment::Judged(_))))
}

/// R40, R48: the same texts under other ids are a hit; it costs nothing, and what it saves is told apart.
#[tokio::test]
async fn r40_a_hit_costs_nothing_and_its_price_is_avoided() {
    let mut setup = setup();
    setup.pricing = Some(prices());
    let judge = Arc::new(PaidJudge::new("atomic", &setup.metrics));
    let cached = cached(Arc::clone(&judge) as Arc<dyn Judge>, &setup.metrics);
    let atomic = Composite::of(Arc::new(cached), Arc::clone(&setup.metrics));
    let server = InMemory::serve(setup.content_of(atomic, None)).await;
    let first = server.diagnose(request(trace())).await.unwrap();
    let mut other = pb::Trace {
        trace_id: "t2".to_owned(),
        tags: vec!["again".to_owned()],
        ..trace()
    };
    other.chunks[0].chunk_id = "other".to_owned();
    let second = server.diagnose(request(other)).await.unwrap();
    assert_eq!(judge.begun(), 1);
    assert_eq!(second.diagnosis(), Diagnosis::Pass);
    let (call, cost) = (&second.judge_calls[0], second.cost.as_ref().unwrap());
    assert_eq!((call.attempt_count, call.cost_nano_usd), (0, Some(0)));
    assert_eq!(call.usage.unwrap().input_token_count, Some(400));
    assert_eq!(call.returned_model, "paid-model");
    assert_eq!(
        (cost.total_nano_usd, cost.avoided_nano_usd),
        (Some(0), Some(600_000))
    );
    let groundedness = second.atomic.unwrap().generation.unwrap().groundedness;
    let Some(pb::judgment::Outcome::Judged(judged)) = groundedness.unwrap().outcome else {
        panic!("not judged");
    };
    assert_eq!(judged.delivery(), pb::JudgmentDelivery::Cache);
    let cost = first.cost.unwrap();
    assert_eq!(
        (cost.total_nano_usd, cost.avoided_nano_usd),
        (Some(600_000), None)
    );
    for (name, value) in [
        (
            "judge_cascade_tokens_total{judge=\"atomic\",role=\"atomic\",type=\"input\"}",
            400.0,
        ),
        (
            "judge_cascade_judge_requests_total{judge=\"atomic\",role=\"atomic\",outcome=\"ok\"}",
            1.0,
        ),
        (
            "judge_cascade_cost_nano_usd_total{judge=\"atomic\",role=\"atomic\"}",
            600_000.0,
        ),
        (
            "judge_cascade_avoided_cost_nano_usd_total{reason=\"cache\"}",
            600_000.0,
        ),
    ] {
        assert_eq!(series(&setup.metrics, name), Some(value), "{name}");
    }
    assert_eq!(results(&setup.metrics), [1, 1, 0, 0]);
}

/// R48: no failure, no part of an answer and no broken number is ever kept.
#[tokio::test]
async fn r48_only_whole_answers_are_kept() {
    use FailureReason::*;
    let failures = [
        Unavailable,
        RateLimited,
        Protocol,
        Refused,
        OutputTruncated,
        TruncatedByJudge,
        ModelMismatch,
        Timeout,
        Budget,
    ];
    let mut steps: Vec<Step> = failures.into_iter().map(Step::Fail).collect();
    steps.push(good_without("groundedness"));
    steps.push(good_but(&[("groundedness", f64::NAN)]));
    steps.push(good_but(&[("helpfulness", 0.5)]));
    let poison = steps.len();
    steps.push(good_but(&[]));
    let setup = Setup::new(ScriptedJudge::new("atomic", steps));
    let cached = cached(Arc::clone(&setup.atomic) as Arc<dyn Judge>, &setup.metrics);
    let trace = parsed(trace());
    for count in 1..=poison {
        let result = ask(&cached, &trace, &context(ms(1000))).await;
        assert!(!result.is_ok_and(|answer| is_judged(&answer)), "{count}");
        assert_eq!(setup.atomic.begun(), count);
    }
    for _ in 0..2 {
        let answer = ask(&cached, &trace, &context(ms(1000))).await.unwrap();
        assert!(is_judged(&answer));
    }
    assert_eq!(setup.atomic.begun(), poison + 1);
}

/// R48: what a judge said about texts that were cut down for it is not kept.
#[tokio::test]
async fn r48_an_answer_about_cut_texts_is_not_kept() {
    let setup = setup();
    let mut judge = PaidJudge::new("atomic", &setup.metrics);
    judge.view = ViewOptions {
        max_state_tokens: Some(2_500),
        ..ViewOptions::default()
    };
    let judge = Arc::new(judge);
    let cached = cached(Arc::clone(&judge) as Arc<dyn Judge>, &setup.metrics);
    let long = "The pool has a slide and a bar. ".repeat(900);
    let trace = parsed(pb::Trace {
        chunks: vec![chunk("c1", &long)],
        ..trace()
    });
    for count in 1..=2 {
        ask(&cached, &trace, &context(ms(1000))).await.unwrap();
        assert_eq!(judge.begun(), count);
    }
}

/// R48: everything that an answer rests on is in the key.
#[tokio::test]
async fn r48_another_input_is_another_key() {
    let setup = setup();
    let judge = Arc::new(PaidJudge::new("atomic", &setup.metrics));
    let cached = cached(Arc::clone(&judge) as Arc<dyn Judge>, &setup.metrics);
    let text = |text: &str| text.to_owned();
    let turn = pb::Turn {
        role: pb::TurnRole::User as i32,
        text: text("Hello."),
    };
    let mut swapped = trace();
    swapped.chunks.reverse();
    let others = [
        trace(),
        swapped,
        pb::Trace {
            question: text("When?"),
            ..trace()
        },
        pb::Trace {
            answer: text("At nine."),
            ..trace()
        },
        pb::Trace {
            reference_answer: Some(text("At nine.")),
            ..trace()
        },
        pb::Trace {
            standalone_question: text("When?"),
            ..trace()
        },
        pb::Trace {
            history: vec![turn],
            ..trace()
        },
        pb::Trace {
            chunks: vec![chunk("c1", "It is open.")],
            ..trace()
        },
    ];
    for (count, message) in others.into_iter().enumerate() {
        let trace = parsed(message);
        for _ in 0..2 {
            ask(&cached, &trace, &context(ms(1000))).await.unwrap();
        }
        assert_eq!(judge.begun(), count + 1);
    }
    // The words and the number of the questions count too.
    let trace = parsed(trace());
    let all = QuestionSet::from_fn(2, |_| true);
    let one = QuestionSet::from_fn(2, |question| question == Question::chunk(1));
    let known = judge.begun();
    for (count, (questions, variant, history_is_evidence)) in [
        (&all, DecisionVariant::WithReference, false),
        (&one, DecisionVariant::WithReference, false),
        (&all, DecisionVariant::WithoutReference, false),
        (&all, DecisionVariant::WithReference, true),
    ]
    .into_iter()
    .enumerate()
    {
        let ask = Ask {
            trace: &trace,
            questions,
            decision: Decision::of(variant),
            history_is_evidence,
        };
        cached.judge(&ask, &context(ms(1000))).await.unwrap();
        assert_eq!(judge.begun(), known + count);
    }
}

/// R48: an answer is good for its time, and a caller who wants none of the cache renews it.
#[tokio::test(start_paused = true)]
async fn r48_an_answer_is_kept_for_its_time_and_a_bypass_renews_it() {
    let setup = setup();
    let judge = Arc::new(PaidJudge::new("atomic", &setup.metrics));
    let cached = cached(Arc::clone(&judge) as Arc<dyn Judge>, &setup.metrics);
    let trace = parsed(trace());
    let fresh = |skip_cache| CallContext {
        skip_cache,
        ..context(ms(1000))
    };
    // Kept at 0 s, renewed at 40 s, good at 99 s, too old at 100 s.
    for (pause, skip_cache, begun) in [(0, false, 1), (40, true, 2), (59, false, 2), (1, false, 3)]
    {
        sleep(Duration::from_secs(pause)).await;
        ask(&cached, &trace, &fresh(skip_cache)).await.unwrap();
        assert_eq!(judge.begun(), begun, "{pause}");
    }
    assert_eq!(results(&setup.metrics), [1, 2, 0, 1]);
}

#[tokio::test]
async fn an_answer_is_served_in_the_role_of_its_caller() {
    let setup = setup();
    let judge = Arc::new(PaidJudge::new("atomic", &setup.metrics));
    let cached = cached(judge, &setup.metrics);
    let trace = parsed(trace());
    ask(&cached, &trace, &context(ms(1000))).await.unwrap();
    let fallback = CallContext {
        role: JudgeRole::Fallback,
        ..context(ms(1000))
    };
    let answer = ask(&cached, &trace, &fallback).await.unwrap();
    assert_eq!(answer.calls[0].role, JudgeRole::Fallback);
    for (_, judgment) in answer.answers.iter() {
        let judged = judgment.as_ref().unwrap().judged().unwrap();
        let provenance = (judged.role, judged.delivery);
        assert_eq!(provenance, (JudgeRole::Fallback, JudgmentDelivery::Cache));
    }
}

#[tokio::test(start_paused = true)]
async fn callers_who_ask_the_same_at_once_share_one_call() {
    let setup = setup();
    let mut judge = PaidJudge::new("atomic", &setup.metrics);
    judge.delay = ms(100);
    let judge = Arc::new(judge);
    let cached = cached(Arc::clone(&judge) as Arc<dyn Judge>, &setup.metrics);
    let trace = parsed(trace());
    let context = context(ms(1000));
    let answers = join_all((0..1000).map(|_| ask(&cached, &trace, &context))).await;
    assert_eq!(judge.begun(), 1);
    assert!(
        answers
            .iter()
            .all(|answer| is_judged(answer.as_ref().unwrap()))
    );
    assert_eq!(results(&setup.metrics), [0, 1, 999, 0]);
}

/// The deadline of the caller who asked first is not that of those who wait for it.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_leader_is_never_that_of_its_followers() {
    let setup = setup();
    let mut judge = PaidJudge::new("atomic", &setup.metrics);
    judge.delay = ms(1000);
    let judge = Arc::new(judge);
    let cache = AnswerCache::new(
        CacheOptions {
            ttl: Duration::from_secs(60),
            max_bytes: 1 << 20,
        },
        Arc::clone(&setup.metrics),
    );
    let cached = || Cached::new(Arc::clone(&judge) as Arc<dyn Judge>, Arc::clone(&cache));
    let trace = parsed(trace());
    let start = Instant::now();
    let (hasty, patient, impatient) = (context(ms(300)), context(ms(5000)), context(ms(200)));
    let (leader, follower, late) = tokio::join!(
        ask_in_time(cached(), &trace, &hasty),
        ask_in_time(cached(), &trace, &patient),
        ask_in_time(cached(), &trace, &impatient),
    );
    // The patient one took over at 300 ms; the other had waited for its own 200 ms and no longer.
    assert!(!is_judged(&leader) && !is_judged(&late));
    assert!(is_judged(&follower));
    assert_eq!(start.elapsed(), ms(1300));
    assert_eq!(judge.begun(), 2);
    for answer in [leader, late] {
        assert_eq!(answer.calls[0].failure, Some(FailureReason::Timeout));
    }
}

/// A time-out that the judge reports of itself is the leader's too; any other failure is shared and forgotten.
#[tokio::test(start_paused = true)]
async fn a_time_out_is_not_shared_and_another_failure_is() {
    for (reason, begun) in [(FailureReason::Timeout, 2), (FailureReason::Unavailable, 1)] {
        let steps = [Step::Fail(reason), good_but(&[])];
        let setup = Setup::new(ScriptedJudge::new("atomic", steps).after(ms(100)));
        let judge = cached(Arc::clone(&setup.atomic) as Arc<dyn Judge>, &setup.metrics);
        let trace = parsed(trace());
        let time = context(ms(1000));
        let (first, second) = tokio::join!(ask(&judge, &trace, &time), ask(&judge, &trace, &time));
        assert_eq!(first.unwrap_err().reason, reason);
        assert_eq!(setup.atomic.begun(), begun);
        match second {
            Ok(answer) => assert!(is_judged(&answer)),
            Err(error) => {
                assert_eq!((error.reason, begun), (reason, 1));
                let call = &error.calls[0];
                assert_eq!(
                    (call.delivery, call.attempt_count),
                    (JudgmentDelivery::Cache, 0)
                );
            }
        }
        let third = ask(&judge, &trace, &time).await.unwrap();
        assert!(is_judged(&third));
        assert_eq!(setup.atomic.begun(), 2);
    }
}
