//! The bytes of messages that are being received, over all connections and both transports.
//!
//! A message is decoded before its call is let in, so admission does not bound what peers make the server hold by
//! messages that they do not finish; this does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::rpc::status::CallError;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::server::ShedReason;

/// How many bytes may be held at once.
pub(super) struct Receiving {
    limit: usize,
    left: AtomicUsize,
    metrics: Arc<Metrics>,
}

/// The bytes of one message; they are given back when this is dropped.
pub(super) struct Received {
    receiving: Arc<Receiving>,
    bytes: usize,
}

impl Receiving {
    pub(super) const fn new(limit: usize, metrics: Arc<Metrics>) -> Self {
        Self {
            limit,
            left: AtomicUsize::new(limit),
            metrics,
        }
    }

    /// Nothing yet of a message.
    pub(super) fn begin(self: &Arc<Self>) -> Received {
        Received {
            receiving: Arc::clone(self),
            bytes: 0,
        }
    }
}

impl Received {
    /// Adds bytes that arrived; an error is counted as a call that was turned away.
    pub(super) fn add(&mut self, bytes: usize) -> Result<(), CallError> {
        let left = &self.receiving.left;
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            left.checked_sub(bytes)
        });
        if taken.is_err() {
            self.receiving.metrics.call_shed(ShedReason::ReceivingBytes);
            let limit = self.receiving.limit;
            return Err(CallError::ReceivingTooMuch { limit });
        }
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        self.receiving.left.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::metrics::MetricNames;

    #[test]
    fn what_does_not_fit_takes_nothing_and_all_is_given_back() {
        let metrics = Metrics::new(&MetricNames::default()).unwrap();
        let receiving = Arc::new(Receiving::new(10, Arc::clone(&metrics)));
        let (mut first, mut second) = (receiving.begin(), receiving.begin());
        assert_eq!(first.add(6), Ok(()));
        assert_eq!(
            second.add(5),
            Err(CallError::ReceivingTooMuch { limit: 10 })
        );
        assert_eq!(second.add(4), Ok(()));
        drop(first);
        assert_eq!(second.add(6), Ok(()));
        drop(second);
        assert_eq!(receiving.left.load(Ordering::Relaxed), 10);
        let shed = "judge_cascade_shed_total{reason=\"receiving_bytes\"} 1";
        assert!(metrics.render().contains(shed));
    }
}
