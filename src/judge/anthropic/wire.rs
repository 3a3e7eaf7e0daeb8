//! Answers of the Messages API: what was said, by which model, for how many tokens, or why nothing was said.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::outcome::Usage;
use crate::judge::egress::error_body::ErrorBody;
use crate::judge::egress::{Fault, Incoming};
use crate::judge::verbal::NAME;
use crate::judge::verbal::completion::Completion;
use crate::judge::wire::{Billed, Ending};

/// What is sent besides model, limit and messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Whether a temperature is sent.
    pub temperature: bool,
    /// How the form of the answer is asked for.
    pub format: Format,
}

/// How the form of the answer is asked for; the prompt asks for it in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// By a schema of the output.
    Schema,
    /// By a tool that must be used.
    Tool,
    /// By the prompt alone.
    Unsent,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            temperature: true,
            format: Format::Schema,
        }
    }
}

impl Parameters {
    /// What to send instead if the service says that it does not take one of these.
    pub fn instead(self, incoming: &Incoming) -> Option<Self> {
        if ![400, 422].contains(&incoming.status.as_u16()) {
            return None;
        }
        let error = ErrorBody::read(&incoming.body);
        if error.is_about_the_trace() {
            return None;
        }
        let names = |names: &[&str]| names.iter().any(|name| error.place_of(name).is_some());
        let next = match self.format {
            Format::Schema if names(&["output_config", "output_format", "json_schema"]) => {
                Format::Tool
            }
            Format::Tool if names(&["tools", "tool_choice", "tool"]) => Format::Unsent,
            Format::Schema | Format::Tool | Format::Unsent => self.format,
        };
        if next != self.format {
            return Some(Self {
                format: next,
                ..self
            });
        }
        let has_temperature = self.temperature && error.is_unsupported() && names(&["temperature"]);
        has_temperature.then_some(Self {
            temperature: false,
            ..self
        })
    }
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    r#type: Option<String>,
    #[serde(default)]
    model: Option<String>,
    content: Vec<Block>,
    #[serde(default)]
    stop_reason: Option<String>,
    #[serde(default)]
    usage: Value,
}

#[derive(Deserialize)]
struct Block {
    r#type: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    name: String,
    /// As it was written, so that a repeated key is seen.
    #[serde(default)]
    input: Option<Box<RawValue>>,
}

impl Block {
    /// What it says to the reader.
    fn words(&self) -> Option<&str> {
        match self.r#type.as_str() {
            "text" => Some(&self.text),
            "tool_use" if self.name == NAME => self.input.as_deref().map(RawValue::get),
            _ => None,
        }
    }
}

/// Reads an answer.
pub fn completion(incoming: &Incoming) -> Result<Completion, Fault> {
    if !incoming.is_answer() {
        return Err(Fault::of_status(incoming));
    }
    let body: Body = serde_json::from_slice(&incoming.body)
        .map_err(|_| Fault::within(incoming, "its answer is no message"))?;
    if body.r#type.as_deref().is_some_and(|kind| kind != "message") {
        return Err(Fault::within(incoming, "its answer is no message"));
    }
    let ending = match body.stop_reason.as_deref() {
        Some("refusal") => Ending::Refused("it declined to answer"),
        Some("max_tokens") => Ending::Limit,
        Some("model_context_window_exceeded") => Ending::Window,
        None | Some("end_turn" | "stop_sequence" | "tool_use") => Ending::Done,
        Some(_) => Ending::Stopped,
    };
    // All of it, so that what contradicts itself is seen.
    let words: Vec<_> = body.content.iter().filter_map(Block::words).collect();
    Ok(Completion {
        text: words.join("\n"),
        has_thoughts: !body.content.is_empty(),
        ending,
        billed: Billed {
            usage: usage(&body.usage),
            model: body.model,
        },
    })
}

/// Token counts. Input that came from the cache or went into it is not in `input_tokens`.
fn usage(told: &Value) -> Option<Usage> {
    let cached = told["cache_read_input_tokens"].as_u64();
    let written = told["cache_creation_input_tokens"].as_u64();
    let input = told["input_tokens"].as_u64().map(|fresh| {
        let others = [cached, written].into_iter().flatten();
        others.fold(fresh, u64::saturating_add)
    });
    let usage = Usage {
        input_token_count: input,
        cached_input_token_count: cached,
        cache_write_input_token_count: written,
        output_token_count: told["output_tokens"].as_u64(),
        reasoning_token_count: None,
    };
    (usage != Usage::default()).then_some(usage)
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, StatusCode};

    use super::*;

    #[track_caller]
    fn check(content: &str, stop_reason: &str, text: &str, ending: Ending) {
        let body =
            format!(r#"{{"type":"message","content":[{content}],"stop_reason":"{stop_reason}"}}"#);
        let read = completion(&Incoming {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            body: body.into(),
        });
        let read = read.unwrap();
        assert_eq!((read.text.as_str(), read.ending), (text, ending));
    }

    /// A key that stands twice is seen by whoever reads the words, and so is a text beside a tool.
    #[test]
    fn everything_that_a_message_says_is_read_together() {
        let tool =
            |input: &str| format!(r#"{{"type":"tool_use","name":"judgment","input":{input}}}"#);
        let twice = r#"{"groundedness":"false","groundedness":"true"}"#;
        check(&tool(twice), "tool_use", twice, Ending::Done);
        let both = format!(r#"{{"type":"text","text":"no"}},{}"#, tool("{}"));
        check(&both, "end_turn", "no\n{}", Ending::Done);
        let two = format!("{},{}", tool("{}"), tool("[1]"));
        check(&two, "pause_turn", "{}\n[1]", Ending::Stopped);
    }
}
