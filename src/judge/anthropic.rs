//! A model that answers in words, over the Messages API of Anthropic.
//!
//! The answer is bound to the schema by native structured output; where a service does not know that, by a tool, and by
//! the prompt alone where it knows neither. Input tokens from and into its cache are told apart there and are one sum here.

pub mod wire;

use http::{HeaderName, HeaderValue};
use serde::ser::{Serialize, Serializer};
use serde_json::json;

use self::wire::{Format, Parameters};
use super::egress::{Fault, Incoming};
use super::remote::RemoteOptions;
use super::verbal::NAME;
use super::verbal::completion::Completion;
use super::verbal::exchange::{Api, Saying, VerbalJudge};
use super::wire::{Members, Message};

/// The header that names the version of the API.
const VERSION_HEADER: &str = "anthropic-version";
/// The version that is spoken here.
const VERSION: &str = "2023-06-01";

/// A model that answers in words, over the Messages API of Anthropic.
pub type AnthropicJudge = VerbalJudge<Messages>;

/// The Messages API.
pub struct Messages;

impl Api for Messages {
    type Parameters = Parameters;

    /// The version of the API, unless the configuration names one.
    fn headers(options: &RemoteOptions) -> Vec<(HeaderName, HeaderValue)> {
        if options.endpoint.headers.contains_key(VERSION_HEADER) {
            return Vec::new();
        }
        vec![(
            HeaderName::from_static(VERSION_HEADER),
            HeaderValue::from_static(VERSION),
        )]
    }

    fn body(saying: Saying<'_>, parameters: Parameters) -> impl Serialize {
        Body { saying, parameters }
    }

    fn instead(parameters: Parameters, incoming: &Incoming) -> Option<Parameters> {
        parameters.instead(incoming)
    }

    fn read(incoming: &Incoming) -> Result<Completion, Fault> {
        wire::completion(incoming)
    }
}

/// The body of a request.
struct Body<'a> {
    saying: Saying<'a>,
    parameters: Parameters,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Saying { options, prompt } = self.saying;
        let mut members = Members::begin(serializer, &options.model.extra_body)?;
        members.put("model", &options.model.model)?;
        members.put("max_tokens", &self.saying.max_output_tokens())?;
        members.put("system", &prompt.system)?;
        members.put("messages", &[Message::user(&prompt.user)])?;
        if self.parameters.temperature {
            members.put("temperature", &0)?;
        }
        match self.parameters.format {
            Format::Schema => {
                let format = json!({ "type": "json_schema", "schema": prompt.schema });
                members.put("output_config", &json!({ "format": format }))?;
            }
            Format::Tool => {
                let tool = json!({
                    "name": NAME,
                    "description": "Takes the judgment.",
                    "input_schema": prompt.schema,
                });
                members.put("tools", &[tool])?;
                members.put("tool_choice", &json!({ "type": "tool", "name": NAME }))?;
            }
            Format::Unsent => {}
        }
        members.end()
    }
}
