//! What a model said, once it is known that it said it: willing, done, the right model, over the whole prompt.

use crate::domain::failure::FailureReason;
use crate::judge::egress::Fault;
use crate::judge::wire::{Billed, Ending, Expected};

/// What was said.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    pub(in crate::judge) text: String,
    /// Whether there is text besides that is no answer.
    pub(in crate::judge) has_thoughts: bool,
    pub(in crate::judge) ending: Ending,
    pub(in crate::judge) billed: Billed,
}

impl Completion {
    /// What was said, or why it is no answer.
    pub(super) fn checked(self, expected: &Expected<'_>) -> Result<Self, Fault> {
        self.billed.check(self.ending, expected)?;
        if !self.text.trim().is_empty() {
            return Ok(self);
        }
        let detail = if self.has_thoughts {
            "it reasoned and did not answer"
        } else {
            "its answer is empty"
        };
        Err(self.billed.fault(FailureReason::Protocol, detail))
    }
}
