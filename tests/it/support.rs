//! What the tests share: a judge that follows a script, profiles, and a server without a socket.

pub(crate) mod authority;
pub(crate) mod fake_judge;
pub(crate) mod fake_chat;
pub(crate) mod faults;
pub(crate) mod generated;
pub(crate) mod memory;
pub(crate) mod paid;
pub(crate) mod process;
pub(crate) mod scripted;

use std::sync::Arc;
use std::time::Duration;

use judge_cascade::artifact::policy::{self, PolicySnapshot};
use judge_cascade::artifact::pricing::PricingSnapshot;
use judge_cascade::cascade::Cascade;
use judge_cascade::cascade::profile::{FallbackMode, OnAtomicError, Profile};
use judge_cascade::cascade::time::TimeOptions;
use judge_cascade::domain::Vocabulary as _;
use judge_cascade::domain::outcome::Enforcement;
use judge_cascade::domain::probability::Probability;
use judge_cascade::domain::trace::{JudgeId, TraceLimits};
use judge_cascade::judge::Judge;
use judge_cascade::judge::composite::Composite;
use judge_cascade::rpc::pb;
use judge_cascade::rpc::status::{ErrorReason, code_names};
use judge_cascade::server::Content;
use judge_cascade::server::layers::METHODS;
use judge_cascade::telemetry::metrics::{MetricNames, Metrics};

use self::scripted::ScriptedJudge;

/// What a trace may hold in tests.
pub(crate) const LIMITS: TraceLimits = TraceLimits {
    max_chunk_count: 64,
    max_text_bytes: 65536,
    max_history_turns: 8,
};

/// Time in tests; most of them run it by hand.
pub(crate) const TIME: TimeOptions = TimeOptions {
    deadline: Duration::from_millis(3000),
    reply_reserve: Duration::from_millis(10),
    atomic_timeout: Duration::from_millis(1000),
    fallback_min: Duration::from_millis(300),
};

/// A profile with scripted judges, and everything around it.
pub(crate) struct Setup {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) atomic: Arc<ScriptedJudge>,
    pub(crate) fallback: Option<Arc<ScriptedJudge>>,
    pub(crate) policy: PolicySnapshot,
    pub(crate) on_atomic_error: OnAtomicError,
    pub(crate) enforcement: Enforcement,
    pub(crate) enforce_share: Probability,
    pub(crate) time: TimeOptions,
    pub(crate) pricing: Option<Arc<PricingSnapshot>>,
}

impl Setup {
    /// One atomic judge under `parity-v1`.
    pub(crate) fn new(atomic: ScriptedJudge) -> Self {
        let names = |names: &[&str]| names.iter().map(JudgeId::from).collect();
        let metrics = Metrics::new(&MetricNames {
            profiles: vec!["default".into()],
            judges: names(&[
                "atomic",
                "fallback",
                "embedded",
                "parity-atomic",
                "parity-baseline",
            ]),
            methods: METHODS.to_vec(),
            codes: code_names(),
            error_reasons: ErrorReason::ALL
                .iter()
                .map(|reason| reason.name())
                .collect(),
        })
        .unwrap();
        Self {
            metrics: Arc::clone(&metrics),
            atomic: Arc::new(atomic.with(&metrics)),
            fallback: None,
            policy: built_in("parity-v1"),
            on_atomic_error: OnAtomicError::Fallback,
            enforcement: Enforcement::Shadow,
            enforce_share: Probability::ONE,
            time: TIME,
            pricing: None,
        }
    }

    pub(crate) fn fallback(mut self, judge: ScriptedJudge) -> Self {
        self.fallback = Some(Arc::new(judge.with(&self.metrics)));
        self
    }

    pub(crate) fn content(&self) -> Content {
        let composite = |judge: &Arc<ScriptedJudge>| {
            Composite::of(
                Arc::clone(judge) as Arc<dyn Judge>,
                Arc::clone(&self.metrics),
            )
        };
        let fallback = self.fallback.as_ref().map(composite);
        self.content_of(composite(&self.atomic), fallback)
    }

    /// The same around judges that are not scripted.
    pub(crate) fn content_of(&self, atomic: Composite, fallback: Option<Composite>) -> Content {
        let profile = Profile {
            name: "default".into(),
            atomic,
            fallback,
            fallback_mode: FallbackMode::Inline,
            on_atomic_error: self.on_atomic_error,
            policy: self.policy.clone(),
            enforcement: self.enforcement,
            enforce_share: self.enforce_share,
            time: self.time,
        };
        Content {
            cascade: Arc::new(Cascade::new(
                vec![profile],
                self.pricing.clone(),
                Arc::clone(&self.metrics),
            )),
            limits: LIMITS,
            time: self.time,
            metrics: Arc::clone(&self.metrics),
        }
    }
}

pub(crate) fn built_in(name: &str) -> PolicySnapshot {
    policy::built_in(name).unwrap().unwrap()
}

/// A trace with two chunks and a reference answer.
pub(crate) fn trace() -> pb::Trace {
    pb::Trace {
        trace_id: "t1".to_owned(),
        question: "When does the pool open on Sundays?".to_owned(),
        chunks: vec![
            chunk("c1", "On Sundays the pool opens at eight."),
            chunk("c2", "The sauna is closed in August."),
        ],
        answer: "It opens at eight.".to_owned(),
        reference_answer: Some("At eight.".to_owned()),
        ..Default::default()
    }
}

pub(crate) fn chunk(id: &str, text: &str) -> pb::Chunk {
    pb::Chunk {
        chunk_id: id.to_owned(),
        text: text.to_owned(),
        ..Default::default()
    }
}

pub(crate) fn request(trace: pb::Trace) -> pb::DiagnoseRequest {
    pb::DiagnoseRequest {
        trace: Some(trace),
        ..Default::default()
    }
}

/// The value of one series, or nothing if there is none.
pub(crate) fn series(metrics: &Metrics, name_and_labels: &str) -> Option<f64> {
    let text = metrics.render();
    let line = text.lines().find(|line| {
        line.strip_prefix(name_and_labels)
            .is_some_and(|rest| rest.starts_with(' '))
    });
    line.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
}
