//! The metrics with their meanings: of a mode, of a diagnosis and of a dimension.

use super::{Better, Scale};

/// A metric below a prefix.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    pub(super) better: Better,
    pub(super) scale: Scale,
    pub(super) is_default: bool,
}

impl Row {
    const fn new(better: Better, scale: Scale, name: &'static str, meaning: &'static str) -> Self {
        Self {
            name,
            meaning,
            better,
            scale,
            is_default: false,
        }
    }

    /// The same, gated where no rules are given.
    const fn by_default(self) -> Self {
        Self {
            is_default: true,
            ..self
        }
    }
}

const fn higher(name: &'static str, meaning: &'static str) -> Row {
    Row::new(Better::Higher, Scale::Absolute, name, meaning)
}

const fn lower(name: &'static str, meaning: &'static str) -> Row {
    Row::new(Better::Lower, Scale::Absolute, name, meaning)
}

/// Money and time.
const fn share(name: &'static str, meaning: &'static str) -> Row {
    Row::new(Better::Lower, Scale::Relative, name, meaning)
}

/// Of a mode.
pub(super) const OF_MODE: [Row; 31] = [
    lower(
        "failure_rate",
        "Share of the assessable rows without a usable answer.",
    )
    .by_default(),
    higher(
        "coverage",
        "Share of the assessable rows that were decided without the fallback judge.",
    ),
    lower(
        "fallback_rate",
        "Share of the assessable rows that needed the fallback judge.",
    )
    .by_default(),
    higher(
        "diagnosis.accuracy",
        "Right among the rows with a label and an answer.",
    ),
    higher(
        "diagnosis.overall_accuracy",
        "The same where a row without a usable answer counts as wrong.",
    )
    .by_default(),
    higher(
        "diagnosis.balanced_accuracy",
        "Mean recall over the diagnoses.",
    ),
    higher("diagnosis.mcc", "Matthews' correlation over all diagnoses."),
    higher("diagnosis.macro_f1", "Mean F1 over the diagnoses."),
    higher(
        "diagnosis.failing.accuracy",
        "Of finding what is not a PASS: right among all.",
    ),
    higher(
        "diagnosis.failing.balanced_accuracy",
        "Of finding what is not a PASS: mean recall of both classes.",
    ),
    higher(
        "diagnosis.failing.precision",
        "Labelled as no PASS among those given as none.",
    ),
    higher(
        "diagnosis.failing.recall",
        "Given as no PASS among those labelled as none.",
    ),
    higher("diagnosis.failing.f1", "Harmonic mean of these two."),
    higher(
        "diagnosis.failing.mcc",
        "Matthews' correlation of finding what is not a PASS.",
    ),
    lower(
        "diagnosis.false_pass",
        "Wrong among what was given as PASS.",
    )
    .by_default(),
    lower(
        "diagnosis.false_fail",
        "Labelled PASS among what was given as a failure.",
    )
    .by_default(),
    lower(
        "diagnosis.confidence.calibration.ece",
        "How far the confidence is from the rate of right ones, on average over bins.",
    ),
    lower(
        "diagnosis.confidence.calibration.ece_equal_mass",
        "The same over bins of equal mass.",
    ),
    lower(
        "diagnosis.confidence.calibration.mce",
        "The same of the worst bin.",
    ),
    lower(
        "diagnosis.confidence.selective.aurc",
        "Mean risk over all thresholds on the confidence.",
    ),
    lower(
        "diagnosis.confidence.selective.e_aurc",
        "The same less that of a perfect order.",
    ),
    lower(
        "diagnosis.confidence.selective.augrc",
        "Mean share of rows that are accepted and wrong.",
    ),
    lower(
        "band.error",
        "Wrong among what the atomic judge left uncertain and the fallback judge answered.",
    )
    .by_default(),
    lower(
        "band.decided_error",
        "Wrong among what was decided without the fallback judge.",
    ),
    share("latency.all.mean_ms", "Mean latency of the calls of a row."),
    share(
        "latency.all.p50_ms",
        "Half of the rows are at least as fast.",
    ),
    share("latency.all.p95_ms", "95 of 100 rows are at least as fast."),
    share("latency.all.p99_ms", "99 of 100 rows are at least as fast."),
    share("latency.all.max_ms", "The slowest row."),
    share(
        "cost.total_nano_usd",
        "Cost of all rows in 1e-9 US dollars.",
    ),
    share("cost.per_row_nano_usd", "The same by assessable row.").by_default(),
];

/// Of a diagnosis in a mode, below `diagnosis.classes`.
pub(super) const OF_CLASS: [Row; 3] = [
    higher("precision", "Right among the given."),
    higher("recall", "Found among the labelled."),
    higher("f1", "Harmonic mean of the two."),
];

/// Of a dimension in a mode, below `components`.
pub(super) const OF_COMPONENT: [Row; 22] = [
    higher(
        "overall_accuracy",
        "Right at 0.5, where a judgment that failed counts as wrong.",
    )
    .by_default(),
    higher("decided.accuracy", "Right at 0.5 among the judged."),
    higher(
        "decided.balanced_accuracy",
        "Mean recall of true and false at 0.5.",
    ),
    higher(
        "decided.precision",
        "True among those taken as true at 0.5.",
    ),
    higher("decided.recall", "Taken as true at 0.5 among the true."),
    higher("decided.f1", "Harmonic mean of these two."),
    higher("decided.mcc", "Matthews' correlation at 0.5."),
    lower(
        "brier",
        "Mean squared distance of the probability from the label.",
    ),
    lower(
        "log_loss",
        "Mean negative logarithm of the probability of what is true.",
    ),
    higher(
        "auroc",
        "The chance that a true one has the higher probability than a false one.",
    )
    .by_default(),
    higher(
        "average_precision",
        "Area under the curve of precision over recall.",
    ),
    lower(
        "calibration.ece",
        "How far the probability is from the rate of true ones, on average over bins.",
    ),
    lower(
        "calibration.ece_equal_mass",
        "The same over bins of equal mass.",
    ),
    lower("calibration.mce", "The same of the worst bin."),
    lower(
        "confidence_ece",
        "How far max(p, 1 - p) is from the rate of right ones at 0.5.",
    ),
    lower(
        "selective.aurc",
        "Mean risk over all thresholds on max(p, 1 - p).",
    ),
    lower("selective.e_aurc", "The same less that of a perfect order."),
    lower(
        "selective.augrc",
        "Mean share of judgments that are accepted and wrong.",
    ),
    higher(
        "at_policy.coverage",
        "Share that the thresholds of the policy decide.",
    ),
    lower("at_policy.risk", "Wrong among the decided."),
    lower(
        "at_policy.positive_risk",
        "Labelled false among those decided as true.",
    ),
    lower(
        "at_policy.negative_risk",
        "Labelled true among those decided as false.",
    ),
];
