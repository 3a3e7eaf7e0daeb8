//! One row on its way through the cascade, isolated from all others.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::Instant;

use crate::artifact::replay::ReplayRow;
use crate::cascade::plan::Scope;
use crate::cascade::profile::{FallbackMode, Profile};
use crate::cascade::{Cascade, Request};
use crate::dataset::load;
use crate::domain::failure::FailureReason;
use crate::domain::outcome::{JudgeCall, Outcome};
use crate::domain::trace::{JudgeId, Trace, TraceLimits};
use crate::eval::record;
use crate::eval::rows::Row;
use crate::eval::rows::make::{Maker, baseline_end, ends_of, failed};
use crate::report::model::Mode;
use crate::text::abstention::abstains;

/// How every row is evaluated.
pub struct Evaluation {
    /// The very same cascade that a server has.
    pub cascade: Arc<Cascade>,
    /// The name of the profile.
    pub profile: String,
    /// What a trace may hold at most.
    pub limits: TraceLimits,
    /// The modes, in order.
    pub modes: Vec<Mode>,
    /// What makes the lines.
    pub maker: Maker,
    /// Whether the answers of judges are recorded.
    pub records: bool,
    /// The judges that are asked over HTTP.
    pub live: BTreeSet<JudgeId>,
}

/// What was heard of judges over HTTP about one row.
pub(super) enum Heard {
    /// None was asked.
    Nobody,
    /// One answered.
    Answer,
    /// All that were asked failed; the first of them.
    Silence(JudgeId),
}

/// What came of one row.
pub(super) struct RowDone {
    pub(super) row: Row,
    pub(super) recorded: Vec<ReplayRow>,
    pub(super) over_limit: Option<String>,
    pub(super) panicked: Option<String>,
    pub(super) failed_calls: Vec<String>,
    pub(super) overheads: Vec<Duration>,
    pub(super) heard: Heard,
}

impl Evaluation {
    /// The longest that a row takes by the deadlines of its diagnoses, and some time to write it down.
    pub(super) fn longest(&self) -> Duration {
        let deadline = self.cascade.profile(&self.profile);
        let deadline = deadline.map_or(Duration::ZERO, |profile| profile.time.deadline);
        deadline * 2 + Duration::from_secs(1)
    }

    /// Evaluates a row; whatever happens, there is a line for it.
    pub(super) async fn row(&self, row: load::Row) -> RowDone {
        let mut done = RowDone {
            row: self.maker.row(row.index, &row.record),
            recorded: Vec::new(),
            over_limit: None,
            panicked: None,
            failed_calls: Vec::new(),
            overheads: Vec::new(),
            heard: Heard::Nobody,
        };
        let place = row.place.to_string();
        let trace = match row.record.trace(&self.limits) {
            Ok(trace) => Arc::new(trace),
            Err(error) => {
                done.over_limit = Some(format!("{place}: {error}"));
                self.fail(&mut done.row, FailureReason::TooLong);
                return done;
            }
        };
        let plain = done.row.clone();
        let asked = AssertUnwindSafe(self.ask(&place, trace, &mut done));
        if asked.catch_unwind().await.is_err() {
            done.row = plain;
            done.recorded.clear();
            done.panicked = Some(place);
            self.fail(&mut done.row, FailureReason::Unavailable);
        }
        done
    }

    /// The end of a row about which nothing can be said.
    fn fail(&self, row: &mut Row, reason: FailureReason) {
        row.ends = self
            .modes
            .iter()
            .map(|mode| (*mode, failed(reason)))
            .collect();
    }

    async fn ask(&self, place: &str, trace: Arc<Trace>, done: &mut RowDone) {
        let Some(profile) = self.cascade.profile(&self.profile) else {
            self.fail(&mut done.row, FailureReason::Unavailable);
            return;
        };
        done.row.abstains = !trace.answer_is_blank() && abstains(&trace.answer);
        let fallback_mode = if self.modes.contains(&Mode::Cascade) {
            Some(FallbackMode::Inline)
        } else {
            Some(FallbackMode::None).filter(|_| self.modes.contains(&Mode::AtomicOnly))
        };
        let baseline = if self.modes.contains(&Mode::BaselineOnly) {
            let outcome = self.baseline(profile, &trace).await;
            done.tell(place, &outcome.calls);
            done.hear(&self.live, &outcome.calls);
            done.overheads.push(outcome.timing.overhead());
            Some(outcome)
        } else {
            None
        };
        let attempt = match fallback_mode {
            Some(mode) => {
                let request = request(&trace, Some(mode));
                Some(self.cascade.attempt(profile, request).await)
            }
            None => None,
        };
        if let Some(attempt) = &attempt {
            let policy = &profile.policy.policy;
            done.row
                .ends
                .extend(ends_of(&self.modes, &trace, policy, attempt));
            done.row.atomic = self.maker.atomic_leg(attempt);
            done.tell(place, &attempt.calls);
            done.hear(&self.live, &attempt.calls);
            if let Ok(outcome) = &attempt.outcome {
                done.hear(&self.live, &outcome.calls);
                done.row.fallback = self.maker.fallback_leg(outcome);
                done.tell(place, &outcome.calls);
                done.overheads.push(outcome.timing.overhead());
            }
        }
        if let Some(outcome) = &baseline {
            done.row
                .ends
                .insert(Mode::BaselineOnly, baseline_end(outcome));
            done.row.baseline = self.maker.baseline_leg(outcome);
        }
        if self.records {
            done.recorded = record::rows(attempt.as_ref(), baseline.as_ref());
        }
    }

    async fn baseline(&self, profile: &Profile, trace: &Arc<Trace>) -> Outcome {
        self.cascade.baseline(profile, request(trace, None)).await
    }
}

impl RowDone {
    fn tell(&mut self, place: &str, calls: &[JudgeCall]) {
        for call in calls {
            let Some(reason) = call.failure else {
                continue;
            };
            let detail = call.failure_detail.as_deref().unwrap_or("no detail");
            let judge = &call.judge_id;
            self.failed_calls
                .push(format!("{place}: judge `{judge}`: {reason}: {detail}"));
        }
    }

    fn hear(&mut self, live: &BTreeSet<JudgeId>, calls: &[JudgeCall]) {
        for call in calls.iter().filter(|call| live.contains(&call.judge_id)) {
            self.heard = match (&self.heard, call.failure) {
                (Heard::Answer, _) | (_, None) => Heard::Answer,
                (Heard::Nobody, Some(_)) => Heard::Silence(call.judge_id.clone()),
                (Heard::Silence(first), Some(_)) => Heard::Silence(first.clone()),
            };
        }
    }
}

fn request(trace: &Arc<Trace>, fallback_mode: Option<FallbackMode>) -> Request {
    let now = Instant::now();
    Request {
        trace: Arc::clone(trace),
        scope: Scope::Full,
        fallback_mode,
        received: now,
        started: now,
        timeout: None,
        traceparent: None,
        skip_cache: false,
    }
}
