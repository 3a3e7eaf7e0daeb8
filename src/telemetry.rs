//! Metrics and logs: the only place that knows their names.

pub mod logging;
pub mod metrics;
