//! Metrics and logs: the only place that knows their names.

pub mod build;
pub mod logging;
pub mod metrics;
pub mod throttle;
