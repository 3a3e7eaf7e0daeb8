//! A chat model that answers in words, over an OpenAI-compatible API.
//!
//! What a server says it does not take is left out from then on; what it answers is read only if it says that it was
//! done, was willing, and was the model that is expected.

pub mod parameters;
pub(super) mod response;

use serde::de::IgnoredAny;
use serde::ser::{Serialize, Serializer};

use self::parameters::Parameters;
use super::egress::{Fault, Incoming};
use super::verbal::completion::Completion;
use super::verbal::exchange::{Api, Saying, VerbalJudge};
use super::wire::{Members, Message};

/// A chat model that answers in words, over an OpenAI-compatible API.
pub type ChatJudge = VerbalJudge<ChatCompletions>;

/// Chat completions as OpenAI brought them up.
pub struct ChatCompletions;

impl Api for ChatCompletions {
    type Parameters = Parameters;

    fn body(saying: Saying<'_>, parameters: Parameters) -> impl Serialize {
        Body { saying, parameters }
    }

    fn instead(parameters: Parameters, incoming: &Incoming) -> Option<Parameters> {
        parameters.instead(incoming)
    }

    fn read(incoming: &Incoming) -> Result<Completion, Fault> {
        let response = response::read::<IgnoredAny>(incoming)?;
        Ok(Completion {
            text: response.choice.text(),
            ending: response.choice.ending(),
            has_thoughts: response.choice.has_thoughts(),
            billed: response.billed,
        })
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
        let messages = [Message::system(&prompt.system), Message::user(&prompt.user)];
        members.put("messages", &messages)?;
        let limit = self.saying.max_output_tokens();
        self.parameters.put(&mut members, &prompt.schema, limit)?;
        members.end()
    }
}
