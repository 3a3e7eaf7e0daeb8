//! What the wires of judges have in common: bodies, words of questions, and what is known of an answer before its content.
//!
//! A body is written straight from what it is made of. What a judge used and which model answered is kept whatever
//! comes of the content, because it is billed all the same.

pub(super) mod adapt;
pub(super) mod models;
pub(super) mod native;
pub(super) mod scalar;
pub(super) mod usage;

use bytes::Bytes;
use http::Method;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use super::egress::{Fault, Outgoing, Sent};
use super::remote::RemoteOptions;
use super::reply::Reply;
use super::view::{View, was_truncated};
use super::{Answer, Ask, CallContext, JudgeError, JudgeInfo, decision};
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{Answers, StatementJudgment};
use crate::domain::outcome::{JudgeCall, Usage};
use crate::domain::question::Question;
use crate::text::tokens::estimated_token_count;

/// The members of a body; those of the configuration replace ours of the same name.
pub(super) struct Members<'a, M> {
    map: M,
    extra: &'a Map<String, Value>,
}

/// A question as it is put: its name and its words.
pub(super) struct Asked {
    /// See [`decision::key`].
    pub(super) key: String,
    /// The question, when the answer is yes, when it is no.
    pub(super) words: [String; 3],
}

/// A message of a chat.
#[derive(serde::Serialize)]
pub(super) struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

/// What is known of an answer before its content is.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Billed {
    /// The tokens, if the judge said how many.
    pub(super) usage: Option<Usage>,
    /// The model, if the judge said which.
    pub(super) model: Option<String>,
}

/// What an answer is held against.
pub(super) struct Expected<'a> {
    pub(super) options: &'a RemoteOptions,
    /// The estimated tokens of what was sent.
    pub(super) estimated_token_count: u64,
    /// The limit of the output and what it is called.
    pub(super) output_limit: String,
}

/// How an answer came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The model was done.
    Done,
    /// The model or a filter would not have it said.
    Refused(&'static str),
    /// The limit of the output was reached.
    Limit,
    /// The end of the context window was reached.
    Window,
    /// Something else stopped it, so it is not known whether it is whole.
    Stopped,
}

/// An answer that was read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) answers: Answers,
    pub(super) statements: Vec<StatementJudgment>,
    pub(super) billed: Billed,
}

impl<'a, M: SerializeMap> Members<'a, M> {
    /// A body without members.
    pub(super) fn begin<S: Serializer<SerializeMap = M>>(
        serializer: S,
        extra: &'a Map<String, Value>,
    ) -> Result<Self, S::Error> {
        let map = serializer.serialize_map(None)?;
        Ok(Self { map, extra })
    }

    /// Adds a member of ours.
    pub(super) fn put<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), M::Error> {
        if self.extra.contains_key(name) {
            return Ok(());
        }
        self.map.serialize_entry(name, value)
    }

    /// Whether the configuration has a member of this name.
    pub(super) fn replaces(&self, name: &str) -> bool {
        self.extra.contains_key(name)
    }

    /// Adds those of the configuration.
    pub(super) fn end(mut self) -> Result<M::Ok, M::Error> {
        for (name, value) in self.extra {
            self.map.serialize_entry(name, value)?;
        }
        self.map.end()
    }
}

impl<'a> Message<'a> {
    /// What the system says.
    pub(super) const fn system(content: &'a str) -> Self {
        Self {
            role: "system",
            content,
        }
    }

    /// What the user says.
    pub(super) const fn user(content: &'a str) -> Self {
        Self {
            role: "user",
            content,
        }
    }
}

/// A body as bytes.
pub(super) fn encode(info: &JudgeInfo, body: &impl Serialize) -> Result<Bytes, JudgeError> {
    let bytes = serde_json::to_vec(body).map_err(|error| {
        let detail = format!("the request cannot be written: {error}");
        JudgeError::unsent(&info.judge_id, FailureReason::Protocol, detail)
    })?;
    Ok(bytes.into())
}

/// A request at the path of the judge.
pub(super) fn post(body: Bytes, estimated_token_count: u64) -> Outgoing {
    Outgoing {
        method: Method::POST,
        path: None,
        headers: Vec::new(),
        body,
        estimated_token_count,
    }
}

/// A request at another path, which costs nothing.
pub(super) fn get(path: String) -> Outgoing {
    Outgoing {
        method: Method::GET,
        path: Some(path),
        headers: Vec::new(),
        body: Bytes::new(),
        estimated_token_count: 0,
    }
}

/// What is asked over a view.
pub(super) fn asked(ask: &Ask<'_>, view: &View<'_>) -> Vec<Asked> {
    let asked = view.questions.asked();
    asked
        .flat_map(|question| asked_about(ask, (question, question), view))
        .collect()
}

/// What is asked about one question, which is `within` in the view: one thing, or one about each statement.
pub(super) fn asked_about(
    ask: &Ask<'_>,
    (question, within): (Question, Question),
    view: &View<'_>,
) -> Vec<Asked> {
    let statement_count = view.asked_statements().count();
    if question.dimension() == Dimension::Groundedness && 0 < statement_count {
        let asked = (0..statement_count).map(|ordinal| Asked {
            key: decision::statement_key(ordinal),
            words: decision::STATEMENT.over_statement(ordinal, view),
        });
        return asked.collect();
    }
    vec![Asked {
        key: decision::key(question),
        words: words(ask, within, view),
    }]
}

/// The answer where no question can be asked over a view: nothing is sent, and each says why.
pub(super) fn unsent(
    reply: Reply<'_>,
    view: &View<'_>,
    info: &JudgeInfo,
    context: &CallContext,
) -> Answer {
    let (answers, statements) = reply.findings();
    let first = view.unasked.first();
    let detail = "no question can be asked over what the judge may be shown";
    let call = JudgeCall {
        failure: first.map(|(_, reason)| *reason),
        failure_detail: first.map(|_| detail.to_owned()),
        ..info.call(context.role)
    };
    Answer {
        answers,
        statements,
        verdict: None,
        calls: vec![call],
    }
}

/// The words of one question over one view.
fn words(ask: &Ask<'_>, question: Question, view: &View<'_>) -> [String; 3] {
    let dimension = question.dimension();
    let wordings = &ask.decision.wordings;
    let wording = wordings.iter().find(|words| words.dimension == dimension);
    wording.map_or_else(
        || decision::wording(dimension).over(question, view),
        |wording| wording.over(question, view),
    )
}

/// The estimated tokens of a view with what is asked over it, as text alone.
///
/// What fits is reckoned with what stands around the texts; a service that counts less than that has not cut anything.
pub(super) fn estimate(view: &View<'_>, asked: &[Asked]) -> u64 {
    let words = asked.iter().flat_map(|asked| &asked.words);
    let words: usize = words.map(|text| estimated_token_count(text)).sum();
    view.estimated_token_count() + words as u64
}

impl Billed {
    /// The content is no answer.
    pub(super) fn fault(&self, reason: FailureReason, detail: impl Into<String>) -> Fault {
        Fault {
            usage: self.usage,
            returned_model: self.model.clone(),
            ..Fault::new(reason, detail)
        }
    }

    /// The same with a fault that another place found.
    pub(super) fn fault_of(&self, fault: Fault) -> Fault {
        self.fault(fault.reason, fault.detail)
    }

    /// The same with a refusal of what the answer says.
    pub(super) fn refusal(&self, error: JudgeError) -> Fault {
        self.fault(error.reason, error.detail.unwrap_or_default())
    }

    /// Whether the right model was willing and done, over all that was sent.
    pub(super) fn check(&self, ending: Ending, expected: &Expected<'_>) -> Result<(), Fault> {
        // Filters may report hardly any tokens, so that is looked at first.
        if let Ending::Refused(detail) = ending {
            return Err(self.fault(FailureReason::Refused, detail));
        }
        if let Some(model) = &expected.options.model.expect_model
            && self.model.as_ref() != Some(model)
        {
            let detail = match &self.model {
                Some(_) => format!("another model than `{model}` answered"),
                None => format!("`{model}` is expected and no model is named"),
            };
            return Err(self.fault(FailureReason::ModelMismatch, detail));
        }
        let estimate = expected.estimated_token_count;
        let reported = self.usage.and_then(|usage| usage.input_token_count);
        if was_truncated(estimate, reported) {
            let reported = reported.unwrap_or_default();
            let detail = format!(
                "it read {reported} tokens of an estimated {estimate}; set max_state_tokens"
            );
            return Err(self.fault(FailureReason::TruncatedByJudge, detail));
        }
        let detail = match ending {
            Ending::Done | Ending::Refused(_) => return Ok(()),
            Ending::Limit => format!("its answer was cut off at {}", expected.output_limit),
            Ending::Window => "its answer was cut off at the end of its context window".to_owned(),
            Ending::Stopped => {
                let detail = "its answer did not end as an answer does";
                return Err(self.fault(FailureReason::Protocol, detail));
            }
        };
        Err(self.fault(FailureReason::OutputTruncated, detail))
    }

    /// Enters it into the call that brought it.
    pub(super) fn enter(self, call: &mut JudgeCall) {
        call.usage = self.usage;
        call.returned_model = self.model;
    }
}

/// The answer of a judge that needs one call.
pub(super) fn answer(sent: Sent<Read>) -> Answer {
    let Read {
        answers,
        statements,
        billed,
    } = sent.value;
    let mut call = sent.call;
    billed.enter(&mut call);
    Answer {
        answers,
        statements,
        verdict: None,
        calls: vec![call],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Body<'a>(&'a Map<String, Value>);

    impl Serialize for Body<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut members = Members::begin(serializer, self.0)?;
            members.put("model", "m")?;
            members.put("seed", &1)?;
            members.end()
        }
    }

    #[test]
    fn members_of_the_configuration_replace_ours() {
        let Value::Object(extra) = json!({"seed": 7, "provider": {"only": ["x"]}}) else {
            unreachable!()
        };
        let text = serde_json::to_string(&Body(&extra)).unwrap();
        assert_eq!(text.matches("seed").count(), 1, "{text}");
        let body: Value = serde_json::from_str(&text).unwrap();
        let expected = json!({"model": "m", "seed": 7, "provider": {"only": ["x"]}});
        assert_eq!(body, expected);
    }
}
