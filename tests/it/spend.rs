//! Spend caps: nothing passes them, whatever is asked at once, cancelled, restarted or mispriced.

mod odd;
mod requests;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use futures_util::future::join_all;
use judge_cascade::cascade::spend::{
    Capped, Clock, Ledger, LedgerOptions, SpendError, SpendOptions,
};
use judge_cascade::domain::failure::FailureReason;
use judge_cascade::domain::outcome::{JudgeRole, NanoUsd, Usage};
use judge_cascade::judge::Judge;
use judge_cascade::judge::composite::Composite;
use judge_cascade::rpc::pb::{self, Diagnosis, FallbackUnavailableReason, Route};
use judge_cascade::telemetry::metrics::Metrics;
use judge_cascade::telemetry::metrics::money::SpendWindow;
use tokio::time::{sleep, timeout};

use crate::cache::{ask, context, ms, parsed, prices};
use crate::support::memory::InMemory;
use crate::support::paid::{MODEL, PaidJudge};
use crate::support::scripted::{ScriptedJudge, Step, good_but};
use crate::support::{Setup, request, series, trace};

/// What a call of the paid judge costs.
const PRICE: i64 = 600_000;
const DAY_SECONDS: u64 = 24 * 60 * 60;

fn setup() -> Setup {
    Setup::new(ScriptedJudge::new(
        "atomic",
        [good_but(&[("groundedness", 0.5)])],
    ))
}

fn clock(seconds: &Arc<AtomicU64>) -> Clock {
    let seconds = Arc::clone(seconds);
    Arc::new(move || UNIX_EPOCH + Duration::from_secs(seconds.load(Ordering::SeqCst)))
}

fn noon() -> Arc<AtomicU64> {
    Arc::new(AtomicU64::new(20_000 * DAY_SECONDS + DAY_SECONDS / 2))
}

fn ledger(fleet_size: u32) -> Arc<Ledger> {
    let options = LedgerOptions {
        fleet_size,
        state_file: None,
    };
    Ledger::new(options, clock(&noon())).unwrap()
}

fn capped(
    judge: Arc<dyn Judge>,
    options: SpendOptions,
    ledger: Arc<Ledger>,
    metrics: &Arc<Metrics>,
) -> Capped {
    Capped::new(judge, options, Some(prices()), ledger, Arc::clone(metrics)).unwrap()
}

fn calls_per_day(count: u64) -> SpendOptions {
    SpendOptions {
        calls_per_day: Some(count),
        ..SpendOptions::default()
    }
}

/// Asks until the cap is reached and says how often it was not.
async fn asks_within(judge: &dyn Judge, at_most: usize) -> usize {
    let trace = parsed(trace());
    for count in 0..at_most {
        if let Err(error) = ask(judge, &trace, &context(ms(1000))).await {
            assert_eq!(error.reason, FailureReason::Budget);
            return count;
        }
    }
    at_most
}

/// R44: a thousand calls at once cannot pass a cap together, and the cap is used up in the end.
#[tokio::test(start_paused = true)]
async fn r44_a_thousand_calls_at_once_cannot_pass_a_cap() {
    let setup = setup();
    let mut judge = PaidJudge::new("atomic", &setup.metrics);
    judge.delay = ms(100);
    let judge = Arc::new(judge);
    let cap = 100_000_000;
    let options = SpendOptions {
        usd_per_minute: Some(NanoUsd(cap)),
        ..SpendOptions::default()
    };
    let capped = capped(
        Arc::clone(&judge) as Arc<dyn Judge>,
        options,
        ledger(1),
        &setup.metrics,
    );
    let trace = parsed(trace());
    let time = context(ms(1000));
    let results = join_all((0..1000).map(|_| ask(&capped, &trace, &time))).await;
    let refused = results.iter().filter_map(|result| result.as_ref().err());
    for error in refused {
        assert_eq!(error.reason, FailureReason::Budget);
        assert_eq!(
            error.detail.as_deref(),
            Some("spend.usd_per_minute is used up")
        );
    }
    assert!((10..200).contains(&judge.begun()), "{}", judge.begun());
    // What was set aside and not spent is free again, down to what one call may cost.
    asks_within(&capped, 1000).await;
    let spent = judge.begun() as i64 * PRICE;
    assert!((cap * 9 / 10..=cap).contains(&spent), "{spent}");
    let used = "judge_cascade_spend_cap_used_ratio{judge=\"atomic\",window=\"minute\"}";
    let ratio = series(&setup.metrics, used).unwrap();
    assert!((ratio - spent as f64 / cap as f64).abs() < 1e-9, "{ratio}");
    sleep(Duration::from_secs(61)).await;
    assert_eq!(asks_within(&capped, 1).await, 1);
}

/// R44: the call that shows what calls really cost is the last one that is taken for cheap.
#[tokio::test(start_paused = true)]
async fn r44_a_call_that_was_dearer_than_estimated_counts_in_full() {
    let setup = setup();
    let mut judge = PaidJudge::new("atomic", &setup.metrics);
    judge.usage = Some(Usage {
        input_token_count: Some(1_000_000),
        output_token_count: Some(100),
        ..Usage::default()
    });
    let options = SpendOptions {
        usd_per_day: Some(NanoUsd(2_500_000_000)),
        ..SpendOptions::default()
    };
    let capped = capped(Arc::new(judge), options, ledger(1), &setup.metrics);
    assert_eq!(asks_within(&capped, 10).await, 2);
}

/// R44: a call that was cancelled or timed out may have been billed, so it keeps what was set aside for it.
#[tokio::test(start_paused = true)]
async fn r44_a_call_that_never_ended_keeps_its_reservation() {
    let setup = setup();
    let mut judge = PaidJudge::new("atomic", &setup.metrics);
    judge.delay = ms(5000);
    let options = SpendOptions {
        usd_per_minute: Some(NanoUsd(5_000_000)),
        ..SpendOptions::default()
    };
    let slow = capped(Arc::new(judge), options, ledger(1), &setup.metrics);
    let trace = parsed(trace());
    let time = context(ms(100));
    assert!(timeout(ms(100), ask(&slow, &trace, &time)).await.is_err());
    assert_eq!(asks_within(&slow, 1).await, 0);
    sleep(Duration::from_secs(61)).await;
    assert_eq!(asks_within(&slow, 1).await, 1);

    for (reason, is_kept) in [
        (FailureReason::Timeout, true),
        (FailureReason::Protocol, true),
        (FailureReason::Unavailable, false),
        (FailureReason::RateLimited, false),
    ] {
        let judge = ScriptedJudge::new("atomic", [Step::Fail(reason)]).asking_for(MODEL);
        let capped = capped(Arc::new(judge), options, ledger(1), &setup.metrics);
        ask(&capped, &trace, &context(ms(1000))).await.unwrap_err();
        let error = ask(&capped, &trace, &context(ms(1000))).await.unwrap_err();
        let expected = if is_kept {
            FailureReason::Budget
        } else {
            reason
        };
        assert_eq!(error.reason, expected);
    }
}

/// R44: caps on calls need no price, and a fleet shares each cap.
#[tokio::test(start_paused = true)]
async fn r44_a_fleet_shares_each_cap() {
    let setup = setup();
    let judge = || Arc::new(PaidJudge::new("atomic", &setup.metrics)) as Arc<dyn Judge>;
    let four = Capped::new(
        judge(),
        calls_per_day(10),
        None,
        ledger(4),
        Arc::clone(&setup.metrics),
    );
    assert_eq!(asks_within(&four.unwrap(), 10).await, 2);
    let error = Capped::new(
        judge(),
        calls_per_day(3),
        None,
        ledger(4),
        Arc::clone(&setup.metrics),
    );
    assert_eq!(
        error.err().unwrap().to_string(),
        "judges.atomic.spend.calls_per_day: nothing is left of it for each of 4 processes"
    );
    let options = SpendOptions {
        calls_per_minute: Some(3),
        ..SpendOptions::default()
    };
    let minute = capped(judge(), options, ledger(1), &setup.metrics);
    assert_eq!(asks_within(&minute, 10).await, 3);
    sleep(Duration::from_secs(61)).await;
    assert_eq!(asks_within(&minute, 10).await, 3);
}

/// R44: a cap in money with a model that has no price is refused at the start.
#[test]
fn r44_a_cap_without_a_price_is_refused() {
    let setup = setup();
    let options = SpendOptions {
        usd_per_day: Some(NanoUsd(1)),
        ..SpendOptions::default()
    };
    let judge: Arc<dyn Judge> = Arc::new(PaidJudge::new("atomic", &setup.metrics));
    let metrics = || Arc::clone(&setup.metrics);
    let error = Capped::new(Arc::clone(&judge), options, None, ledger(1), metrics());
    let expected = "judges.atomic.spend: a cap in US dollars needs a price of model `paid-model`";
    assert_eq!(error.err().unwrap().to_string(), expected);
    assert!(Capped::new(judge, options, Some(prices()), ledger(1), metrics()).is_ok());
}

/// A ledger over a file, and a judge capped at three calls a day.
fn opened(file: &std::path::Path, clock: Clock, setup: &Setup) -> Result<Capped, SpendError> {
    let options = LedgerOptions {
        fleet_size: 1,
        state_file: Some(file.to_owned()),
    };
    let ledger = Ledger::new(options, clock)?;
    let judge = Arc::new(PaidJudge::new("atomic", &setup.metrics));
    Ok(capped(judge, calls_per_day(3), ledger, &setup.metrics))
}

/// R44: what was spent today is spent after a restart too; another day begins at zero.
#[tokio::test]
async fn r44_the_counters_of_a_day_outlive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("spend.json");
    let (setup, seconds) = (setup(), noon());
    let first = opened(&file, clock(&seconds), &setup).unwrap();
    assert_eq!(asks_within(&first, 2).await, 2);
    drop(first);
    let second = opened(&file, clock(&seconds), &setup).unwrap();
    assert_eq!(asks_within(&second, 10).await, 1);
    // A clock that steps back over midnight gives nothing out again, the next day does.
    seconds.fetch_sub(DAY_SECONDS * 3 / 4, Ordering::SeqCst);
    assert_eq!(asks_within(&second, 10).await, 0);
    seconds.fetch_add(DAY_SECONDS * 7 / 4, Ordering::SeqCst);
    assert_eq!(asks_within(&second, 10).await, 3);
    drop(second);
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(names.len(), 1, "no half of a file is left");
    seconds.fetch_add(DAY_SECONDS, Ordering::SeqCst);
    let third = opened(&file, clock(&seconds), &setup).unwrap();
    assert_eq!(asks_within(&third, 10).await, 3);
}

/// R44: a state file that is torn, of somebody else or out of reach is an error at the start that names it.
#[tokio::test]
async fn r44_a_state_file_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("spend.json");
    let (setup, seconds) = (setup(), noon());
    let open = |file: &PathBuf| opened(file, clock(&seconds), &setup);
    drop(open(&file).unwrap());
    let whole = fs::read_to_string(&file).unwrap();
    for bad in ["", &whole[..whole.len() / 2], "{\"kind\":\"other\"}", "[1]"] {
        fs::write(&file, bad).unwrap();
        let error = open(&file).err().unwrap().to_string();
        assert!(
            error.contains("spend.json") && error.contains("remove it"),
            "{error}"
        );
        assert_eq!(
            fs::read_to_string(&file).unwrap(),
            bad,
            "it is left as it is"
        );
    }
    let nowhere = folder.path().join("missing").join("spend.json");
    let error = open(&nowhere).err().unwrap().to_string();
    assert!(error.contains("cannot be written"), "{error}");
}

/// R44: at its cap a fallback judge is unavailable for want of budget, and an atomic judge fails as a whole.
#[tokio::test]
async fn r44_a_judge_at_its_cap_fails_as_budget_in_both_roles() {
    let setup = setup();
    let judge = |id| {
        let judge = Arc::new(PaidJudge::new(id, &setup.metrics));
        let capped = capped(judge, calls_per_day(0), ledger(1), &setup.metrics);
        Composite::of(Arc::new(capped), Arc::clone(&setup.metrics))
    };
    let uncertain = Composite::of(
        Arc::clone(&setup.atomic) as Arc<dyn Judge>,
        Arc::clone(&setup.metrics),
    );
    let server = InMemory::serve(setup.content_of(uncertain, Some(judge("fallback")))).await;
    let response = server.diagnose(request(trace())).await.unwrap();
    assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain);
    assert_eq!(response.route(), Route::FallbackUnavailable);
    assert_eq!(
        response.fallback_unavailable_reason(),
        FallbackUnavailableReason::Budget
    );

    let server = InMemory::serve(setup.content_of(judge("atomic"), None)).await;
    let response = server.diagnose(request(trace())).await.unwrap();
    assert_eq!(response.diagnosis(), Diagnosis::JudgeUncertain);
    assert_eq!(
        response.judge_calls[0].failure_reason(),
        pb::FailureReason::Budget
    );
    let requested =
        "judge_cascade_fallback_requested_total{profile=\"default\",reason=\"atomic_failed\"}";
    assert_eq!(series(&setup.metrics, requested), Some(1.0));
}

/// A model that judges its own answers is counted, however its name is written.
#[tokio::test]
async fn a_judge_of_its_own_models_answers_is_counted() {
    let setup = setup();
    let judge = Arc::new(PaidJudge::new("atomic", &setup.metrics));
    let atomic = Composite::of(judge, Arc::clone(&setup.metrics));
    let server = InMemory::serve(setup.content_of(atomic, None)).await;
    for model in ["other-model", " Paid-Model", "", "paid-model-2"] {
        let generated = pb::Trace {
            generator_model: model.to_owned(),
            ..trace()
        };
        server.diagnose(request(generated)).await.unwrap();
    }
    let judged = "judge_cascade_generator_judged_total{judge=\"atomic\",role=\"atomic\"}";
    assert_eq!(series(&setup.metrics, judged), Some(1.0));
}

/// R38: a judge that is in no configuration makes no series, and no model does outside of the info gauges.
#[tokio::test]
async fn r38_money_is_counted_under_configured_names_only() {
    let setup = setup();
    let count = || setup.metrics.render().lines().count();
    let before = count();
    for index in 0..200 {
        let judge = format!("judge-{index}").as_str().into();
        let metrics = &setup.metrics;
        metrics.spend_cap_used(&judge, SpendWindow::Day, 0.5);
        metrics.generator_judged(&judge, JudgeRole::Atomic);
    }
    assert_eq!(count(), before);
}
