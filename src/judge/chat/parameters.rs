//! The parameters that servers of chat completions take, or do not.
//!
//! A typed refusal that names one of ours leaves it out for the life of the judge: the temperature and the seed of
//! reasoning models, the older name of the output limit, the schema of servers that only know JSON or nothing at all.

use serde::ser::SerializeMap;
use serde_json::{Map, Value, json};

use crate::judge::egress::Incoming;
use crate::judge::egress::error_body::ErrorBody;
use crate::judge::verbal::NAME;
use crate::judge::wire::Members;

/// The seed that is sent; any number will do if it stays the same.
const SEED: u64 = 7;

/// What is sent besides model and messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    temperature: bool,
    seed: bool,
    limit: Limit,
    format: Format,
}

/// A parameter that a server may not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parameter {
    Temperature,
    Seed,
    /// The limit of the output under the name that was sent.
    Limit,
    /// The form of the output as it was asked for.
    Format,
}

/// Under which name the limit of the output is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    MaxTokens,
    MaxCompletionTokens,
    Unsent,
}

/// How the form of the output is asked for; the prompt asks for it in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Schema,
    AnyJson,
    Unsent,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            temperature: true,
            seed: true,
            limit: Limit::MaxTokens,
            format: Format::Schema,
        }
    }
}

impl Parameters {
    /// The limit of the output that the configuration sets, under whichever name.
    pub(in crate::judge) fn configured_limit(extra_body: &Map<String, Value>) -> Option<u64> {
        let mut names = Limit::NAMES.iter().rev();
        names.find_map(|name| extra_body.get(*name).and_then(Value::as_u64))
    }

    /// Those of a request whose answer has no form that a service would know.
    pub(in crate::judge) fn without_form() -> Self {
        Self {
            format: Format::Unsent,
            ..Self::default()
        }
    }

    /// Adds them to a body.
    pub(in crate::judge) fn put<M: SerializeMap>(
        self,
        members: &mut Members<'_, M>,
        schema: &Value,
        max_output_tokens: u64,
    ) -> Result<(), M::Error> {
        if self.temperature {
            members.put("temperature", &0)?;
        }
        if self.seed {
            members.put("seed", &SEED)?;
        }
        // A limit of the configuration stands for both of its names.
        let is_limited = Limit::NAMES.iter().any(|name| members.replaces(name));
        if let Some(name) = self.limit.name().filter(|_| !is_limited) {
            members.put(name, &max_output_tokens)?;
        }
        match self.format {
            Format::Schema => members.put(
                "response_format",
                &json!({
                    "type": "json_schema",
                    "json_schema": { "name": NAME, "strict": true, "schema": schema },
                }),
            ),
            Format::AnyJson => members.put("response_format", &json!({ "type": "json_object" })),
            Format::Unsent => Ok(()),
        }
    }

    /// What to send instead if a server says that it does not take one of these.
    pub(in crate::judge) fn instead(self, incoming: &Incoming) -> Option<Self> {
        self.refused(incoming).map(|refused| self.without(refused))
    }

    fn without(mut self, parameter: Parameter) -> Self {
        match parameter {
            Parameter::Temperature => self.temperature = false,
            Parameter::Seed => self.seed = false,
            Parameter::Limit => {
                self.limit = match self.limit {
                    Limit::MaxTokens => Limit::MaxCompletionTokens,
                    Limit::MaxCompletionTokens | Limit::Unsent => Limit::Unsent,
                };
            }
            Parameter::Format => {
                self.format = match self.format {
                    Format::Schema => Format::AnyJson,
                    Format::AnyJson | Format::Unsent => Format::Unsent,
                };
            }
        }
        self
    }

    /// The parameter that a server says it does not take, of those that were sent.
    fn refused(self, incoming: &Incoming) -> Option<Parameter> {
        if ![400, 422].contains(&incoming.status.as_u16()) {
            return None;
        }
        let error = ErrorBody::read(&incoming.body);
        if error.is_about_the_trace() {
            return None;
        }
        let is_typed = error.is_unsupported();
        let mut sent = Vec::new();
        if self.temperature && is_typed {
            sent.push(("temperature", Parameter::Temperature));
        }
        if self.seed && is_typed {
            sent.push(("seed", Parameter::Seed));
        }
        if let Some(name) = self.limit.name().filter(|_| is_typed) {
            sent.push((name, Parameter::Limit));
        }
        if self.format != Format::Unsent {
            // Servers tell in many ways that they know no schema, and mostly untyped.
            sent.push(("response_format", Parameter::Format));
            sent.push(("json_schema", Parameter::Format));
        }
        // A message may name the parameter to use instead, after the one that is refused.
        sent.into_iter()
            .filter_map(|(name, parameter)| Some((error.place_of(name)?, parameter)))
            .min_by_key(|(place, _)| *place)
            .map(|(_, parameter)| parameter)
    }
}

impl Limit {
    const NAMES: [&'static str; 2] = ["max_tokens", "max_completion_tokens"];

    const fn name(self) -> Option<&'static str> {
        match self {
            Self::MaxTokens => Some("max_tokens"),
            Self::MaxCompletionTokens => Some("max_completion_tokens"),
            Self::Unsent => None,
        }
    }
}
