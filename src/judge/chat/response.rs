//! Answers of chat completions: what was said, by which model, for how many tokens, or why nothing was said.
//!
//! Filters and refusals are told in several ways and are all one thing; thoughts are never read as an answer; tokens
//! that are not told are unknown.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::domain::failure::FailureReason;
use crate::judge::egress::{Fault, Incoming};
use crate::judge::wire::scalar::{Object, Scalar};
use crate::judge::wire::usage::{self, RawUsage};
use crate::judge::wire::{Billed, Ending};

/// A completion with log-probabilities of the form `L`.
#[derive(Debug)]
pub(in crate::judge) struct Response<L> {
    pub(in crate::judge) billed: Billed,
    pub(in crate::judge) choice: Choice<L>,
}

/// The first choice of a completion.
#[derive(Debug, Deserialize)]
#[serde(default, bound = "L: Deserialize<'de>")]
pub(in crate::judge) struct Choice<L> {
    finish_reason: Scalar,
    error: Value,
    content_filter_results: Value,
    message: Object<Message>,
    pub(in crate::judge) logprobs: Object<L>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message {
    content: Value,
    refusal: Scalar,
    reasoning_content: Value,
    reasoning: Value,
}

#[derive(Deserialize)]
#[serde(default, bound = "L: Deserialize<'de>")]
struct Body<L> {
    choices: Option<Vec<Object<Choice<L>>>>,
    error: Value,
    model: Scalar,
    usage: Object<RawUsage>,
}

impl<L> Default for Choice<L> {
    fn default() -> Self {
        Self {
            finish_reason: Scalar::default(),
            error: Value::Null,
            content_filter_results: Value::Null,
            message: Object::default(),
            logprobs: Object::default(),
        }
    }
}

impl<L> Default for Body<L> {
    fn default() -> Self {
        Self {
            choices: None,
            error: Value::Null,
            model: Scalar::default(),
            usage: Object::default(),
        }
    }
}

/// Reads an answer.
pub(in crate::judge) fn read<L: DeserializeOwned>(
    incoming: &Incoming,
) -> Result<Response<L>, Fault> {
    if !incoming.is_answer() {
        return Err(Fault::of_status(incoming));
    }
    let body: Body<L> = serde_json::from_slice(&incoming.body).map_err(|_| {
        let detail = "its answer is no chat completion, or repeats a member";
        Fault::new(FailureReason::Protocol, detail)
    })?;
    let billed = Billed {
        usage: usage::of(&body.usage),
        model: body.model.text().map(str::to_owned),
    };
    if !body.error.is_null() {
        return Err(billed.fault_of(Fault::within(incoming, "its answer tells an error")));
    }
    match body.choices.into_iter().flatten().next() {
        Some(Object(Some(choice))) => Ok(Response { billed, choice }),
        _ => Err(billed.fault_of(Fault::within(incoming, "its answer holds no choice"))),
    }
}

impl<L> Choice<L> {
    /// What was said.
    pub(in crate::judge) fn text(&self) -> String {
        let message = self.message.0.as_ref();
        message.map_or_else(String::new, |message| text_of(&message.content))
    }

    /// Whether there is text that is no answer.
    pub(in crate::judge) fn has_thoughts(&self) -> bool {
        self.message.0.as_ref().is_some_and(|message| {
            let thoughts = [&message.reasoning_content, &message.reasoning];
            thoughts.iter().any(|text| !text_of(text).is_empty())
        })
    }

    /// How it came to its end.
    pub(in crate::judge) fn ending(&self) -> Ending {
        let message = self.message.0.as_ref();
        let declines = message.is_some_and(Message::declines);
        let reason = self.finish_reason.text().map(str::to_ascii_lowercase);
        let filters = self.content_filter_results.as_object();
        let is_filtered = |filter: &Value| filter["filtered"] == true;
        match reason.as_deref() {
            Some("content_filter" | "refusal" | "safety" | "prohibited_content" | "recitation") => {
                Ending::Refused("a content filter stopped it")
            }
            _ if filters.is_some_and(|filters| filters.values().any(is_filtered)) => {
                Ending::Refused("a content filter stopped it")
            }
            _ if declines => Ending::Refused("it declined to answer"),
            _ if !self.error.is_null() => Ending::Stopped,
            Some("length" | "max_tokens" | "model_length") => Ending::Limit,
            None if self.finish_reason == Scalar::Null => Ending::Done,
            Some("stop" | "stop_sequence" | "eos" | "eos_token" | "end_turn") => Ending::Done,
            Some(_) | None => Ending::Stopped,
        }
    }
}

impl Message {
    /// Whether it says that it will not answer.
    fn declines(&self) -> bool {
        let refusal = self.refusal.text().unwrap_or_default();
        let mut parts = self.content.as_array().into_iter().flatten();
        !refusal.is_empty() || parts.any(|part| part["type"] == "refusal")
    }
}

/// A text, or the texts of a list of parts; other parts, such as thoughts, are none.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter(|part| part["type"] == "text")
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}
