//! The breaker against a model that remembers everything and derives its state from that.

use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use super::{Breaker, Event, Ticket};
use crate::judge::remote::BreakerOptions;
use crate::telemetry::metrics::egress::BreakerState;

const OPEN: Duration = Duration::from_secs(5);

fn breaker(failure_count: u32) -> Breaker {
    Breaker::new(BreakerOptions {
        failure_count,
        open: OPEN,
    })
}

/// A breaker that has just been opened.
fn opened(now: Instant) -> Breaker {
    let mut breaker = breaker(1);
    let ticket = breaker.admit(now).unwrap();
    breaker.on(ticket, Event::Failed, now);
    assert_eq!(breaker.state(), BreakerState::Open);
    breaker
}

#[test]
fn it_opens_at_so_many_failures_in_a_row() {
    let (mut breaker, now) = (breaker(3), Instant::now());
    let mut end = |event| {
        let ticket = breaker.admit(now).unwrap();
        breaker.on(ticket, event, now);
        breaker.state()
    };
    for event in [Event::Failed, Event::Failed, Event::Answered] {
        assert_eq!(end(event), BreakerState::Closed);
    }
    for event in [Event::Failed, Event::Neutral, Event::Failed] {
        assert_eq!(end(event), BreakerState::Closed);
    }
    assert_eq!(end(Event::Failed), BreakerState::Open);
}

#[test]
fn it_turns_away_until_its_time_is_up_and_then_lets_one_probe_through() {
    let now = Instant::now();
    let mut breaker = opened(now);
    assert!(
        breaker
            .admit(now + OPEN - Duration::from_nanos(1))
            .is_none()
    );
    assert!(breaker.admit(now + OPEN).is_some());
    assert!(breaker.admit(now + OPEN).is_none());
    assert!(breaker.admit(now + 9 * OPEN).is_none());
}

#[test]
fn the_probe_decides() {
    let now = Instant::now();
    let later = now + OPEN;
    for (event, state, admits) in [
        (Event::Answered, BreakerState::Closed, true),
        (Event::Failed, BreakerState::Open, false),
        (Event::Neutral, BreakerState::HalfOpen, true),
    ] {
        let mut breaker = opened(now);
        let probe = breaker.admit(later).unwrap();
        breaker.on(probe, event, later);
        assert_eq!(breaker.state(), state);
        assert_eq!(breaker.admit(later).is_some(), admits);
    }
}

#[test]
fn the_end_of_a_call_from_before_a_change_says_nothing() {
    let now = Instant::now();
    let mut breaker = breaker(1);
    let (first, late) = (breaker.admit(now).unwrap(), breaker.admit(now).unwrap());
    breaker.on(first, Event::Failed, now);
    breaker.on(late, Event::Answered, now);
    assert_eq!(breaker.state(), BreakerState::Open);
    let probe = breaker.admit(now + OPEN).unwrap();
    breaker.on(late, Event::Failed, now + OPEN);
    assert_eq!(breaker.state(), BreakerState::HalfOpen);
    breaker.on(probe, Event::Answered, now + OPEN);
    breaker.on(late, Event::Failed, now + OPEN);
    assert_eq!(breaker.state(), BreakerState::Closed);
}

/// What happens to the breaker.
#[derive(Debug, Clone, Copy)]
enum Step {
    Ask,
    End(usize, Event),
    Wait(u64),
}

/// The same rules told by history: all ends that counted since the last change, and who is the probe.
#[derive(Default)]
struct Model {
    failure_count: u32,
    run: Vec<Event>,
    opened_at: Option<Instant>,
    probe: Option<u64>,
    tickets_since_change: Vec<u64>,
    next: u64,
}

impl Model {
    fn admits(&self, now: Instant) -> bool {
        match self.opened_at {
            None => true,
            Some(at) => at + OPEN <= now && self.probe.is_none(),
        }
    }

    fn admit(&mut self, now: Instant) -> Option<u64> {
        if !self.admits(now) {
            return None;
        }
        self.next += 1;
        if self.opened_at.is_some() {
            self.probe = Some(self.next);
        } else {
            self.tickets_since_change.push(self.next);
        }
        Some(self.next)
    }

    fn end(&mut self, id: u64, event: Event, now: Instant) {
        if self.probe == Some(id) {
            self.probe = None;
            match event {
                Event::Answered => self.opened_at = None,
                Event::Failed => self.opened_at = Some(now),
                Event::Neutral => {}
            }
            return;
        }
        if self.opened_at.is_some() || !self.tickets_since_change.contains(&id) {
            return;
        }
        self.run.push(event);
        let counted = self.run.iter().rev().filter(|e| **e != Event::Neutral);
        let failures = counted.take_while(|e| **e == Event::Failed).count();
        if self.failure_count as usize <= failures {
            self.opened_at = Some(now);
            self.run.clear();
            self.tickets_since_change.clear();
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let event = prop_oneof![
        1 => Just(Event::Answered),
        4 => Just(Event::Failed),
        1 => Just(Event::Neutral),
    ];
    let step = prop_oneof![
        4 => Just(Step::Ask),
        4 => (0..8_usize, event).prop_map(|(which, event)| Step::End(which, event)),
        1 => (0..6_000_u64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 0..120)
}

proptest! {
    #[test]
    fn it_does_what_the_model_does(failure_count in 1..4_u32, steps in steps()) {
        let mut now = Instant::now();
        let mut breaker = breaker(failure_count);
        let mut model = Model { failure_count, ..Model::default() };
        let mut out: Vec<(Ticket, u64)> = Vec::new();
        for step in steps {
            match step {
                Step::Ask => {
                    prop_assert_eq!(!breaker.is_refusing(now), model.admits(now));
                    match (breaker.admit(now), model.admit(now)) {
                        (Some(ticket), Some(id)) => out.push((ticket, id)),
                        (None, None) => {}
                        (ours, theirs) => prop_assert!(false, "{:?} {:?}", ours, theirs),
                    }
                }
                Step::End(which, event) if !out.is_empty() => {
                    let (ticket, id) = out.remove(which % out.len());
                    breaker.on(ticket, event, now);
                    model.end(id, event, now);
                }
                Step::End(..) => {}
                Step::Wait(ms) => now += Duration::from_millis(ms),
            }
        }
    }
}
