//! How often the same thing is logged: at most once a minute, with how often it happened.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long the same thing is not logged again.
pub const PAUSE: Duration = Duration::from_secs(60);

/// What was logged, by kind; there must be few kinds.
#[derive(Debug)]
pub struct Throttle<K>(Mutex<BTreeMap<K, Told>>);

#[derive(Debug)]
struct Told {
    at: Instant,
    since: u64,
}

impl<K> Default for Throttle<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Ord> Throttle<K> {
    /// Counts one: how many there were since the last line of this kind, this one included; `None` if that was just now.
    pub fn count(&self, kind: K) -> Option<u64> {
        let now = Instant::now();
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match told.get_mut(&kind) {
            Some(told) if now.duration_since(told.at) < PAUSE => {
                told.since += 1;
                None
            }
            Some(told) => {
                let since = std::mem::take(&mut told.since);
                told.at = now;
                Some(since + 1)
            }
            None => {
                told.insert(kind, Told { at: now, since: 0 });
                Some(1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_kind_is_told_once_a_minute_with_its_count() {
        let throttle = Throttle::default();
        let expired = || throttle.count("expired");
        assert_eq!(expired(), Some(1));
        assert_eq!([expired(), expired()], [None, None]);
        assert_eq!(throttle.count("other"), Some(1));
        tokio::time::advance(PAUSE).await;
        assert_eq!(expired(), Some(3));
        assert_eq!(expired(), None);
    }
}
