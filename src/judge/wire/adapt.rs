//! Services differ in the parameters that they take: what one refuses by a typed error is left out from then on.
//!
//! It is learned once for the life of the judge. The refused requests are attempts of the call that they delayed.

use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

use crate::judge::egress::{Egress, Fault, Incoming, Outgoing, Sent};
use crate::judge::{CallContext, JudgeError};

/// The most requests of one call.
const MAX_TURNS: u32 = 6;

/// The parameters that a service has been found to take.
#[derive(Debug, Default)]
pub(in crate::judge) struct Adapting<P>(Mutex<P>);

/// What a service did with a request.
enum Reaction<T, P> {
    Answered(T),
    NotTaken(P),
}

impl<P: Copy + PartialEq + Send + Sync> Adapting<P> {
    /// The parameters to begin with.
    pub(in crate::judge) const fn new(first: P) -> Self {
        Self(Mutex::new(first))
    }

    /// Sends the request with the parameters that the service is known to take, and learns which those are.
    ///
    /// `instead` says what to send instead if the service says that it does not take one of the parameters.
    pub(in crate::judge) async fn send<T>(
        &self,
        (egress, context): (&Egress, &CallContext),
        request: impl Fn(P) -> Result<Outgoing, JudgeError> + Send + Sync,
        instead: impl Fn(P, &Incoming) -> Option<P> + Send + Sync,
        read: impl Fn(&Incoming) -> Result<T, Fault> + Send + Sync,
    ) -> Result<Sent<T>, JudgeError> {
        let start = Instant::now();
        let mut attempt_count = 0;
        let mut turns_left = MAX_TURNS;
        loop {
            turns_left -= 1;
            let parameters = self.now();
            let classify = |incoming: &Incoming| match instead(parameters, incoming) {
                Some(instead) if 0 < turns_left => Ok(Reaction::NotTaken(instead)),
                _ => read(incoming).map(Reaction::Answered),
            };
            let sent = egress.send(&request(parameters)?, context, classify).await;
            let Sent { value, mut call } = sent.map_err(|mut error| {
                error.is_unsent &= attempt_count == 0;
                for call in &mut error.calls {
                    call.attempt_count += attempt_count;
                    call.latency = start.elapsed();
                }
                error
            })?;
            attempt_count += call.attempt_count;
            match value {
                Reaction::NotTaken(instead) => self.learn(parameters, instead),
                Reaction::Answered(value) => {
                    call.attempt_count = attempt_count;
                    call.latency = start.elapsed();
                    return Ok(Sent { value, call });
                }
            }
        }
    }

    fn now(&self) -> P {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another call may have learned something since `sent` was read; then the next turn tries that.
    fn learn(&self, sent: P, instead: P) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *now == sent {
            *now = instead;
        }
    }
}
