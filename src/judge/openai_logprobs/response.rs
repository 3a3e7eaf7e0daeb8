//! The body of a response: one choice with its tokens.
//!
//! An answer that was cut off, declined, or came without log-probabilities is not read at all: its words alone are
//! never taken in place of probabilities.

use serde::Deserialize;

use super::slots::{self, Slot};
use super::tokens::{Text, Token};
use crate::domain::failure::FailureReason;
use crate::judge::chat::response::{self, Response};
use crate::judge::egress::{Fault, Incoming};
use crate::judge::wire::{Billed, Expected};

/// A completion.
#[derive(Debug)]
pub(super) struct Completion(Response<Logprobs>);

/// The token that carries a label; `None` if it shares it with other text.
pub(super) type Labelled<'a> = Option<&'a Token>;

/// Reads an answer.
pub(super) fn read(incoming: &Incoming) -> Result<Completion, Fault> {
    response::read(incoming).map(Completion)
}

impl Completion {
    /// The tokens of the labels of all slots.
    pub(super) fn labels(&self, slot_count: usize) -> Result<Vec<Labelled<'_>>, Fault> {
        let tokens = self.tokens()?;
        let content = self.0.choice.text();
        let content = content.trim();
        let protocol = |detail| self.billed().fault(FailureReason::Protocol, detail);
        if content.is_empty() {
            return Err(protocol("its answer is empty"));
        }
        let text = Text::of(tokens);
        let written = slots::find(content, slot_count).map_err(protocol)?;
        let slots = slots_in(&text, content, slot_count).map_err(protocol)?;
        let same = |a: &[Slot], b: &[Slot]| a.iter().map(|s| s.label).eq(b.iter().map(|s| s.label));
        if !same(&written, &slots) {
            return Err(protocol("its tokens say something else than its text"));
        }
        let token = |slot: Slot| {
            let token = &tokens[text.token_at(&slot.place)?];
            (token.label() == Some(slot.label)).then_some(token)
        };
        Ok(slots.into_iter().map(token).collect())
    }

    /// What is known of it before its content is.
    pub(super) const fn billed(&self) -> &Billed {
        &self.0.billed
    }

    /// Whether the answer is whole and an answer.
    pub(super) fn check(&self, expected: &Expected<'_>) -> Result<(), Fault> {
        self.0.billed.check(self.0.choice.ending(), expected)
    }

    fn tokens(&self) -> Result<&[Token], Fault> {
        let logprobs = self.0.choice.logprobs.0.as_ref();
        let tokens = logprobs.and_then(|logprobs| logprobs.content.as_deref());
        let tokens = tokens.filter(|tokens| !tokens.is_empty());
        tokens.ok_or_else(|| {
            let detail = "its answer has no log-probabilities";
            self.billed()
                .fault(FailureReason::LogprobsUnsupported, detail)
        })
    }
}

/// The slots within the tokens, in the part of them that is the content.
fn slots_in(text: &Text, content: &str, slot_count: usize) -> Result<Vec<Slot>, &'static str> {
    // Reasoning has log-probabilities too at some services, and stands before the content.
    let Some(start) = text.text.rfind(content) else {
        return slots::find(&text.text, slot_count);
    };
    let mut slots = slots::find(content, slot_count)?;
    for slot in &mut slots {
        slot.place = slot.place.start + start..slot.place.end + start;
    }
    Ok(slots)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Logprobs {
    content: Option<Vec<Token>>,
}
