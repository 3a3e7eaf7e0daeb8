//! What was diagnosed, how, and what kept the atomic judge from deciding.

use metrics::{Counter, Gauge, Histogram};

use super::Metrics;
use super::family::{Axis, Family, Registry, as_f64, count};
use super::info::Info;
use crate::domain::Vocabulary as _;
use crate::domain::diagnosis::{Action, BlockCause, Diagnosis, FiredRule, NotAssessableReason};
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::outcome::{
    CalibrationState, Enforcement, FallbackReason, FallbackUnavailableReason, Outcome, Pass, Route,
};
use crate::domain::trace::{ProfileName, SnapshotId};

/// The causes of uncertainty besides the reasons of failures, in the order of [`cause_place`].
const BLOCK_CAUSES: [&str; 5] = ["band", "partly_seen", "veto", "chunk_rule", "upstream"];

/// Families about diagnoses.
pub(super) struct DiagnosisMetrics {
    diagnoses: Family<Counter>,
    actions: Family<Counter>,
    uncertain: Family<Counter>,
    fallback_requested: Family<Counter>,
    fallback_unavailable: Family<Counter>,
    abstained: Family<Counter>,
    not_assessable: Family<Counter>,
    duration: Family<Histogram>,
    overhead: Family<Histogram>,
    atomic_probability: Family<Histogram>,
    trace_chunks: Family<Histogram>,
    trace_input_tokens: Family<Histogram>,
    calibration_state: Family<Gauge>,
    policy_info: Info,
}

impl DiagnosisMetrics {
    pub(super) fn new(r: &Registry<'_>) -> Self {
        let causes = BLOCK_CAUSES
            .into_iter()
            .chain(FailureReason::ALL.iter().map(|reason| reason.name()));
        Self {
            diagnoses: r.present(
                "judge_cascade_diagnoses_total",
                "Diagnoses returned, by what they say and how they were reached: routes auto + fallback + \
                 fallback_unavailable are all of them; errors are counted apart.",
                vec![
                    r.profiles(),
                    Axis::of::<Diagnosis>("diagnosis"),
                    Axis::of::<Route>("route"),
                ],
            ),
            actions: r.present(
                "judge_cascade_actions_total",
                "Actions that the policies ask for: under enforce callers got them, in shadow they got ALLOW.",
                vec![
                    r.profiles(),
                    Axis::of::<Action>("action"),
                    Axis::of::<Enforcement>("enforcement"),
                ],
            ),
            uncertain: r.family(
                "judge_cascade_uncertain_total",
                "Dimensions that kept the atomic judge from deciding, by cause; a failure is told by its reason.",
                vec![
                    r.profiles(),
                    Axis::of::<Dimension>("dimension"),
                    Axis::named("cause", causes),
                ],
            ),
            fallback_requested: r.present(
                "judge_cascade_fallback_requested_total",
                "Traces that needed the fallback judge, asked or not.",
                vec![r.profiles(), Axis::of::<FallbackReason>("reason")],
            ),
            fallback_unavailable: r.present(
                "judge_cascade_fallback_unavailable_total",
                "Traces that needed the fallback judge and got nothing from it.",
                vec![
                    r.profiles(),
                    Axis::of::<FallbackUnavailableReason>("reason"),
                ],
            ),
            abstained: r.present(
                "judge_cascade_abstained_total",
                "Traces whose answer declines to answer.",
                vec![r.profiles()],
            ),
            not_assessable: r.present(
                "judge_cascade_not_assessable_total",
                "Traces that cannot be judged; leave them out of the denominator of the fallback rate.",
                vec![r.profiles(), Axis::of::<NotAssessableReason>("reason")],
            ),
            calibration_state: r.present(
                "judge_cascade_calibration_state",
                "1 for the calibration state of a profile, 0 for the others.",
                vec![r.profiles(), Axis::of::<CalibrationState>("state")],
            ),
            policy_info: r.info(
                "judge_cascade_policy_info",
                "1 for a policy that is in force.",
                &[Axis::ids("id"), Axis::ids("sha256")],
            ),
            duration: r.present(
                "judge_cascade_diagnose_duration_seconds",
                "Time from a decoded trace to its diagnosis.",
                vec![Axis::of::<Route>("route")],
            ),
            overhead: r.present(
                "judge_cascade_overhead_seconds",
                "Time per diagnosis less the time spent waiting for judges.",
                vec![],
            ),
            atomic_probability: r.present(
                "judge_cascade_atomic_probability",
                "P(true) as the atomic judge gave it.",
                vec![Axis::of::<Dimension>("dimension")],
            ),
            trace_chunks: r.present("judge_cascade_trace_chunks", "Chunks of a trace.", vec![]),
            trace_input_tokens: r.present(
                "judge_cascade_trace_input_tokens",
                "Estimated tokens of all texts of a trace.",
                vec![],
            ),
        }
    }
}

impl Metrics {
    /// A profile is configured.
    pub fn profile_loaded(
        &self,
        profile: &ProfileName,
        policy: &SnapshotId,
        state: CalibrationState,
    ) {
        self.diagnosis
            .policy_info
            .set(&[&policy.id], &policy.sha256);
        for &other in CalibrationState::ALL {
            let gauge = self
                .diagnosis
                .calibration_state
                .named(profile.as_str(), &[other.index()]);
            if let Some(gauge) = gauge {
                gauge.set(if other == state { 1.0 } else { 0.0 });
            }
        }
    }

    /// A trace is looked at; its tokens are estimated.
    pub fn trace_measured(&self, token_count: usize) {
        self.diagnosis
            .trace_input_tokens
            .at(&[])
            .record(as_f64(token_count));
        self.sampled();
    }

    /// No rule decided on what the atomic judge said.
    pub fn uncertain(&self, profile: &ProfileName, fired: &FiredRule) {
        for (dimension, cause) in fired.blocking.iter() {
            if let Some(cause) = cause {
                let places = [dimension.index(), cause_place(*cause)];
                count(self.diagnosis.uncertain.named(profile.as_str(), &places));
            }
        }
    }

    /// The fallback judge is needed.
    pub fn fallback_requested(&self, profile: &ProfileName, reason: FallbackReason) {
        count(
            self.diagnosis
                .fallback_requested
                .named(profile.as_str(), &[reason.index()]),
        );
    }

    /// A trace is diagnosed.
    pub fn diagnosis_returned(&self, outcome: &Outcome) {
        let families = &self.diagnosis;
        let profile = outcome.provenance.profile.as_str();
        let diagnosis = outcome.ruling.diagnosis;
        count(
            families
                .diagnoses
                .named(profile, &[diagnosis.index(), outcome.route.index()]),
        );
        count(families.actions.named(
            profile,
            &[outcome.would_action.index(), outcome.enforcement.index()],
        ));
        if let Some(reason) = outcome.fallback_unavailable {
            count(
                families
                    .fallback_unavailable
                    .named(profile, &[reason.index()]),
            );
        }
        if let Some(reason) = outcome.not_assessable {
            count(families.not_assessable.named(profile, &[reason.index()]));
        }
        if outcome.answer_abstains == Some(true) {
            count(families.abstained.named(profile, &[]));
        }
        families
            .duration
            .at(&[outcome.route.index()])
            .record(outcome.timing.total);
        families.overhead.at(&[]).record(outcome.timing.overhead());
        families
            .trace_chunks
            .at(&[])
            .record(as_f64(outcome.trace.chunks.len()));
        if let Some(pass) = &outcome.atomic {
            self.atomic_probabilities(pass);
        }
        tracing::debug!(
            trace_id = outcome.trace.trace_id.as_str(),
            diagnosis = diagnosis.name(),
            route = outcome.route.name(),
            total_ms = outcome.timing.total.as_secs_f64() * 1e3,
            "diagnosed"
        );
    }

    fn atomic_probabilities(&self, pass: &Pass) {
        for (question, judgment) in pass.answers.iter() {
            if let Some(judged) = judgment.as_ref().and_then(|judgment| judgment.judged()) {
                let histogram = self
                    .diagnosis
                    .atomic_probability
                    .at(&[question.dimension().index()]);
                histogram.record(judged.probability.value());
            }
        }
    }
}

const fn cause_place(cause: BlockCause) -> usize {
    match cause {
        BlockCause::Band => 0,
        BlockCause::PartlySeen => 1,
        BlockCause::Veto => 2,
        BlockCause::ChunkRule => 3,
        BlockCause::Upstream => 4,
        BlockCause::Failed(reason) => BLOCK_CAUSES.len() + reason as usize,
    }
}
