//! What the service manager (systemd, `Type=notify`) is told; without one, nothing is.
//!
//! The manager names its socket and its watchdog in the environment, which `sd_notify` reads by itself.
//! A message that cannot be sent is a warning: calls are served all the same.

use sd_notify::NotifyState;
use tokio::time::{MissedTickBehavior, interval};

/// Tells that calls are served, and where.
pub fn ready(status: &str) {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
}

/// Tells that the end has begun.
pub fn stopping(status: &str) {
    tell(&[NotifyState::Stopping, NotifyState::Status(status)]);
}

/// Gives the watchdog two signs of life in its time, for as long as this is polled; ends at once if there is none.
///
/// It runs among the tasks that serve, so that it falls silent when they hang.
pub async fn keep_alive() {
    let time = sd_notify::watchdog_enabled();
    let Some(time) = time.filter(|time| !time.is_zero()) else {
        return;
    };
    let mut ticks = interval(time / 2);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        tell(&[NotifyState::Watchdog]);
    }
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "the service manager cannot be told");
    }
}
