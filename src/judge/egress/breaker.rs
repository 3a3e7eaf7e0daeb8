//! The breaker: leaves a judge alone that keeps failing.
//!
//! Closed, it counts failures in a row; at the limit it opens. Open, it turns every call away until its time is up;
//! then it is half-open and lets exactly one probe through, whose end closes or opens it again. A probe that says
//! nothing about the judge, or is dropped, makes room for the next. It is a pure state machine: time is an argument,
//! and the end of a call that began before the breaker last changed says nothing any more.

use tokio::time::Instant;

use crate::judge::remote::BreakerOptions;
use crate::telemetry::metrics::egress::BreakerState;

/// Decides whether a judge is asked.
#[derive(Debug, Clone)]
pub struct Breaker {
    options: BreakerOptions,
    state: State,
    generation: u64,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Closed { failure_count: u32 },
    Open { until: Instant },
    HalfOpen { is_probed: bool },
}

/// The right to send one attempt; its end is told with [`Breaker::on`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    generation: u64,
}

/// What the end of an attempt says about the judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// It answered.
    Answered,
    /// It is down or too slow.
    Failed,
    /// Nothing: it is over its rate, refused the credentials or this one trace, or the caller went away.
    Neutral,
}

impl Breaker {
    /// A closed breaker.
    pub const fn new(options: BreakerOptions) -> Self {
        Self {
            options,
            state: State::Closed { failure_count: 0 },
            generation: 0,
        }
    }

    /// The state, as metrics show it.
    pub const fn state(&self) -> BreakerState {
        match self.state {
            State::Closed { .. } => BreakerState::Closed,
            State::Open { .. } => BreakerState::Open,
            State::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    /// Whether a call would be turned away now.
    pub fn is_refusing(&self, now: Instant) -> bool {
        match self.state {
            State::Closed { .. } => false,
            State::Open { until } => now < until,
            State::HalfOpen { is_probed } => is_probed,
        }
    }

    /// Lets an attempt through, or turns it away.
    pub fn admit(&mut self, now: Instant) -> Option<Ticket> {
        if self.is_refusing(now) {
            return None;
        }
        match self.state {
            State::Closed { .. } => {}
            State::Open { .. } | State::HalfOpen { .. } => {
                self.enter(State::HalfOpen { is_probed: true });
            }
        }
        Some(Ticket {
            generation: self.generation,
        })
    }

    /// An attempt that was let through ended.
    pub fn on(&mut self, ticket: Ticket, event: Event, now: Instant) {
        if ticket.generation != self.generation {
            return;
        }
        let open = State::Open {
            until: now + self.options.open,
        };
        match (self.state, event) {
            (State::Closed { .. }, Event::Answered) => {
                self.state = State::Closed { failure_count: 0 };
            }
            (State::Closed { failure_count }, Event::Failed) => {
                if failure_count + 1 < self.options.failure_count {
                    self.state = State::Closed {
                        failure_count: failure_count + 1,
                    };
                } else {
                    self.enter(open);
                }
            }
            (State::HalfOpen { .. }, Event::Answered) => {
                self.enter(State::Closed { failure_count: 0 });
            }
            (State::HalfOpen { .. }, Event::Failed) => self.enter(open),
            (State::HalfOpen { .. }, Event::Neutral) => {
                self.enter(State::HalfOpen { is_probed: false });
            }
            (State::Closed { .. }, Event::Neutral) | (State::Open { .. }, _) => {}
        }
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.generation += 1;
    }
}

#[cfg(test)]
mod tests;
