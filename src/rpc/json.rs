//! The messages of the API as proto3 JSON, by the same descriptors as reflection.
//!
//! Reading takes the names of fields in both spellings and refuses what the message does not have; writing shows every
//! field that has a value or cannot be unset, so that a zero is told apart from what is unset.

mod shape;

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions};
use serde::de::DeserializeSeed as _;

use super::pb;
use super::status::CallError;
use crate::domain::trace::{TraceError, Violation, ViolationReason};

/// The descriptors of the messages that are read and written.
#[derive(Debug, Clone)]
pub struct JsonMessages {
    diagnose_request: MessageDescriptor,
    diagnose_response: MessageDescriptor,
    policy_response: MessageDescriptor,
}

/// The compiled descriptors cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DescriptorError {
    /// They cannot be read.
    #[error("the descriptors of the API cannot be read")]
    Pool(#[from] prost_reflect::DescriptorError),
    /// A message is not among them.
    #[error("the descriptors of the API hold no message `{0}`")]
    Missing(&'static str),
}

/// A message that its descriptor does not describe, which is a broken invariant.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// It is another message.
    #[error("the message does not match its descriptor")]
    Transcode(#[from] prost::DecodeError),
    /// A value has no JSON form.
    #[error("the message has no JSON form")]
    Json(#[from] serde_json::Error),
}

impl JsonMessages {
    /// The messages of the API.
    pub fn new() -> Result<Self, DescriptorError> {
        let pool = DescriptorPool::decode(pb::FILE_DESCRIPTOR_SET)?;
        let message = |name| {
            pool.get_message_by_name(name)
                .ok_or(DescriptorError::Missing(name))
        };
        Ok(Self {
            diagnose_request: message("judgecascade.v1.DiagnoseRequest")?,
            diagnose_response: message("judgecascade.v1.DiagnoseResponse")?,
            policy_response: message("judgecascade.v1.GetPolicyResponse")?,
        })
    }

    /// Reads a request; everything that does not fit the message is named at once.
    pub fn read_request(&self, body: &[u8]) -> Result<pb::DiagnoseRequest, CallError> {
        let text =
            std::str::from_utf8(body).map_err(|error| not_utf8(body, error.valid_up_to()))?;
        let violations =
            shape::check(text, &self.diagnose_request).map_err(|error| not_json(&error))?;
        if !violations.is_empty() {
            return Err(CallError::Invalid(TraceError(violations)));
        }
        let mut json = serde_json::Deserializer::from_str(text);
        let message = self.diagnose_request.clone().deserialize(&mut json);
        // The text of such an error may quote the trace.
        message
            .ok()
            .and_then(|message| message.transcode_to().ok())
            .ok_or_else(|| {
                let description = "does not fit the message";
                let violation = Violation::new("", ViolationReason::WrongType, description);
                CallError::Invalid(TraceError(vec![violation]))
            })
    }

    /// Writes a diagnosis.
    pub fn write_diagnosis(&self, message: &pb::DiagnoseResponse) -> Result<Vec<u8>, WriteError> {
        write(&self.diagnose_response, message)
    }

    /// Writes what a profile runs.
    pub fn write_policy(&self, message: &pb::GetPolicyResponse) -> Result<Vec<u8>, WriteError> {
        write(&self.policy_response, message)
    }
}

fn write(descriptor: &MessageDescriptor, message: &impl Message) -> Result<Vec<u8>, WriteError> {
    let mut dynamic = DynamicMessage::new(descriptor.clone());
    dynamic.transcode_from(message)?;
    let mut json = serde_json::Serializer::new(Vec::new());
    let options = SerializeOptions::new().skip_default_fields(false);
    dynamic.serialize_with_options(&mut json, &options)?;
    Ok(json.into_inner())
}

fn not_utf8(body: &[u8], valid: usize) -> CallError {
    let before = &body[..valid];
    let line_start = before.iter().rposition(|&byte| byte == b'\n');
    CallError::NotJson {
        problem: "it is not UTF-8".to_owned(),
        line: before.iter().filter(|&&byte| byte == b'\n').count() + 1,
        column: valid - line_start.map_or(0, |at| at + 1) + 1,
    }
}

/// The parser's own words about syntax quote nothing of the text.
fn not_json(error: &serde_json::Error) -> CallError {
    let text = error.to_string();
    let problem = text.split(" at line ").next().unwrap_or_default();
    CallError::NotJson {
        problem: problem.to_owned(),
        line: error.line(),
        column: error.column(),
    }
}

#[cfg(test)]
mod tests;
