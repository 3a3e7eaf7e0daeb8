//! Bands: where a probability lies, about truth and not goodness.

use crate::domain::vocabulary;

vocabulary! {
    /// Where a probability lies between two thresholds.
    "band"
    pub enum Band {
        /// `p <= fail_at`.
        Negative = "negative",
        /// `fail_at < p && p < pass_at`.
        Uncertain = "uncertain",
        /// `pass_at <= p`.
        Positive = "positive",
    }
}
