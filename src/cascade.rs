//! The cascade: atomic judge, policy, fallback judge, policy again.
//!
//! Every diagnosis comes from here, served or offline. A judge that fails is never an error of the caller and never a
//! verdict: it leaves its questions open, and what stays open is JUDGE_UNCERTAIN.

pub mod plan;
pub mod profile;
pub mod settle;
pub mod spend;
pub mod time;

mod generator;
mod money;
mod run;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use self::generator::GeneratorWatch;
use self::plan::Scope;
use self::profile::{FallbackMode, Profile};
use self::run::Run;
use crate::artifact::pricing::PricingSnapshot;
use crate::domain::failure::FailureReason;
use crate::domain::outcome::{CalibrationState, Cost, JudgeCall, NanoUsd, Outcome, Pass};
use crate::domain::trace::{JudgeId, ProfileName, Trace};
use crate::telemetry::metrics::Metrics;

/// The profiles of one configuration, ready to diagnose.
pub struct Cascade {
    profiles: BTreeMap<ProfileName, Profile>,
    pricing: Option<Arc<PricingSnapshot>>,
    metrics: Arc<Metrics>,
    generators: GeneratorWatch,
}

/// A trace and how to diagnose it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The trace.
    pub trace: Arc<Trace>,
    /// Which dimensions are asked.
    pub scope: Scope,
    /// What to do when uncertain; `None` leaves it to the profile.
    pub fallback_mode: Option<FallbackMode>,
    /// When the request arrived; its caller waits from then on.
    pub received: Instant,
    /// When work on it began; what came before is the caller's own time.
    pub started: Instant,
    /// How long its caller waits; `None` leaves it to the profile.
    pub timeout: Option<Duration>,
    /// The W3C trace context of the caller.
    pub traceparent: Option<String>,
    /// Whether cached answers will not do.
    pub skip_cache: bool,
}

/// An outcome, or what is known where there is none.
#[derive(Debug)]
pub struct Attempt {
    /// The outcome, which holds its calls and their cost.
    pub outcome: Result<Outcome, CascadeError>,
    /// What the atomic judge said, if that is why there is no outcome.
    pub atomic: Option<Pass>,
    /// The calls that no outcome holds.
    pub calls: Vec<JudgeCall>,
    /// What these cost.
    pub cost: Cost,
}

/// Why there is no outcome.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CascadeError {
    /// Time ran out before any diagnosis.
    #[error("the deadline passed before any diagnosis, in stage `{0}`")]
    Deadline(Stage),
    /// The atomic judge failed as a whole, and the profile makes that an error.
    #[error("the atomic judge `{judge_id}` failed: {reason}")]
    AtomicFailed {
        /// The judge, or the first of several.
        judge_id: JudgeId,
        /// Why.
        reason: FailureReason,
    },
}

crate::domain::vocabulary! {
    /// How far a call had come when its time ran out.
    "stage"
    pub enum Stage {
        /// No judge was asked yet.
        Start = "start",
        /// The atomic judge had not answered.
        Atomic = "atomic",
    }
}

impl Cascade {
    /// A cascade over these profiles.
    pub fn new(
        profiles: Vec<Profile>,
        pricing: Option<Arc<PricingSnapshot>>,
        metrics: Arc<Metrics>,
    ) -> Self {
        for profile in &profiles {
            metrics.profile_loaded(
                &profile.name,
                &profile.policy.id,
                CalibrationState::Uncalibrated,
            );
        }
        if let Some(pricing) = &pricing {
            metrics.pricing_loaded(&pricing.id);
        }
        let profiles = profiles
            .into_iter()
            .map(|profile| (profile.name.clone(), profile))
            .collect();
        Self {
            profiles,
            pricing,
            metrics,
            generators: GeneratorWatch::default(),
        }
    }

    /// The profile of that name.
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.get(&ProfileName::from(name))
    }

    /// The names of all profiles.
    pub fn profile_names(&self) -> impl Iterator<Item = &str> {
        self.profiles.keys().map(ProfileName::as_str)
    }

    /// The price table, if one is loaded.
    pub fn pricing(&self) -> Option<&PricingSnapshot> {
        self.pricing.as_deref()
    }

    /// What a call cost by the price table; `None` is unknown.
    pub fn cost(&self, call: &JudgeCall) -> Option<NanoUsd> {
        money::cost_of(call, self.pricing())
    }

    /// Diagnoses one trace within its time.
    pub async fn diagnose(
        &self,
        profile: &Profile,
        request: Request,
    ) -> Result<Outcome, CascadeError> {
        self.attempt(profile, request).await.outcome
    }

    /// The same; where it ends in an error, what the atomic judge said and cost is told all the same.
    pub async fn attempt(&self, profile: &Profile, request: Request) -> Attempt {
        let attempt = Run::new(self, profile, request).attempt().await;
        if let Ok(outcome) = &attempt.outcome {
            self.metrics.diagnosis_returned(outcome);
        }
        attempt
    }

    /// Diagnoses one trace by the fallback judge alone: what the cascade is measured against.
    ///
    /// The route is `fallback`, `fallback_unavailable` if that judge gave nothing, or `auto` if no judge was needed.
    /// It is no diagnosis that anybody was given, so it counts in no metric of diagnoses.
    pub async fn baseline(&self, profile: &Profile, request: Request) -> Outcome {
        Run::new(self, profile, request).baseline().await
    }
}
