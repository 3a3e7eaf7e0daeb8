//! The body of a response: answers by name, usage, model, bare or in an envelope.
//!
//! Names are kept as often as they stand there, so that a repeated one is seen. What a server adds is ignored, its
//! confidence too: it is another number at every server.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;

use crate::domain::failure::FailureReason;
use crate::judge::egress::error_body::ErrorBody;
use crate::judge::egress::{Fault, Incoming};
use crate::judge::wire::Billed;
use crate::judge::wire::native::{Response, Said};
use crate::judge::wire::scalar::{Object, Scalar};
use crate::judge::wire::usage::{self, RawUsage};

/// The answer to one question.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answer {
    #[serde(rename = "type")]
    kind: Scalar,
    noul: Scalar,
}

impl Answer {
    /// What it says to a question of our type.
    fn said(&self) -> Said {
        let is_noul = self.kind == Scalar::Null || self.kind.text() == Some("noul");
        let number = self.noul.number().filter(|_| is_noul);
        number.map_or(Said::Nothing, Said::Probability)
    }
}

/// Reads what came back.
pub(super) fn read(incoming: &Incoming) -> Result<Response, Fault> {
    if !incoming.is_answer() {
        return Err(Fault::of_status(incoming));
    }
    let body: Body = serde_json::from_slice(&incoming.body).map_err(|_| {
        let detail = "its answer is not JSON, or repeats a member";
        Fault::new(FailureReason::Protocol, detail)
    })?;
    // A server may add a member of that name to a bare answer, so what decides is where the answers are.
    let content = match (&body.answers, body.result.0) {
        (None, Some(result)) => result,
        _ => Content {
            answers: body.answers,
            model: body.model,
            usage: body.usage,
        },
    };
    let billed = Billed {
        usage: usage::of(&content.usage),
        model: content.model.text().map(str::to_owned),
    };
    let has_errors = !body.error.is_null() || body.errors.as_array().is_some_and(|e| !e.is_empty());
    if has_errors || ![Scalar::Null, Scalar::Flag(true)].contains(&body.success) {
        let meaning = ErrorBody::read(&incoming.body).meaning(incoming.status.as_u16());
        let (reason, what) = meaning.unwrap_or((FailureReason::Unavailable, "it says so"));
        return Err(billed.fault(reason, format!("it did not succeed: {what}")));
    }
    match content.answers {
        Some(Answers(answers)) => Ok(Response { answers, billed }),
        None => Err(billed.fault_of(Fault::within(incoming, "its answer has no `answers`"))),
    }
}

/// An envelope, or the content itself.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    success: Scalar,
    error: Value,
    errors: Value,
    result: Object<Content>,
    answers: Option<Answers>,
    model: Scalar,
    usage: Object<RawUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Content {
    answers: Option<Answers>,
    model: Scalar,
    usage: Object<RawUsage>,
}

#[derive(Debug)]
struct Answers(Vec<(String, Said)>);

impl<'de> Deserialize<'de> for Answers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(AnswersVisitor)
    }
}

struct AnswersVisitor;

impl<'de> Visitor<'de> for AnswersVisitor {
    type Value = Answers;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("answers by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Answers, A::Error> {
        let mut answers = Vec::new();
        while let Some((key, answer)) = map.next_entry::<String, Object<Answer>>()? {
            answers.push((key, answer.0.unwrap_or_default().said()));
        }
        Ok(Answers(answers))
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, StatusCode};

    use super::*;

    fn respond(body: &str) -> Result<Response, Fault> {
        read(&Incoming {
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            body: body.to_owned().into(),
        })
    }

    #[track_caller]
    fn number(answer: &str) -> Option<f64> {
        let response = respond(&format!(r#"{{"answers":{{"k":{answer}}}}}"#)).unwrap();
        match response.answers[0].1 {
            Said::Probability(number) => Some(number),
            Said::Refusal | Said::Nothing => None,
        }
    }

    #[test]
    fn only_a_number_for_a_noul_is_taken() {
        assert_eq!(
            number(r#"{"type":"noul","noul":0.94,"confidence":0.2}"#),
            Some(0.94)
        );
        assert_eq!(number(r#"{"type":"noul","noul":1}"#), Some(1.0));
        assert_eq!(number(r#"{"type":"noul","noul":-1}"#), Some(-1.0));
        for nothing in [
            r#"{"type":"noul","noul":"0.94"}"#,
            r#"{"type":"noul","noul":null}"#,
            r#"{"type":"noul","noul":true}"#,
            r#"{"type":"noul","noul":[0.9]}"#,
            r#"{"type":"noul"}"#,
            r#"{"type":"choice","choice":"yes","noul":0.9}"#,
            r#"{"type":7,"noul":0.9}"#,
            "0.9",
            "null",
            "[]",
        ] {
            assert_eq!(number(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_repeated_name_is_kept_and_a_repeated_member_is_refused() {
        let twice = r#"{"answers":{"k":{"noul":0.1},"k":{"noul":0.9}}}"#;
        assert_eq!(respond(twice).unwrap().answers.len(), 2);
        for refused in [
            r#"{"answers":{"k":{"noul":0.1,"noul":0.9}}}"#,
            r#"{"answers":{},"answers":{"k":{"noul":0.9}}}"#,
            r#"{"answers":[]}"#,
            r#"{"answers":{"k":{"noul":NaN}}}"#,
            r#"{"answers":{"k":{"noul":0.9}}"#,
            "",
            "<html></html>",
        ] {
            let fault = respond(refused).unwrap_err();
            assert_eq!(fault.reason, FailureReason::Protocol, "{refused}");
        }
    }

    #[test]
    fn an_envelope_is_unwrapped_where_the_answers_are_in_it() {
        let wrapped = r#"{"success":true,"errors":[],"messages":[],
            "result":{"model":"clef","answers":{"k":{"noul":0.5}},"usage":{"input_tokens":3}}}"#;
        let response = respond(wrapped).unwrap();
        assert_eq!(response.answers.len(), 1);
        assert_eq!(response.billed.model.as_deref(), Some("clef"));
        assert_eq!(response.billed.usage.unwrap().input_token_count, Some(3));
        let bare = r#"{"answers":{"k":{"noul":0.5}},"result":"ok","success":true,"usage":7}"#;
        assert_eq!(respond(bare).unwrap().billed, Billed::default());
        let failed =
            r#"{"success":false,"result":null,"errors":[{"code":7003,"message":"no route"}]}"#;
        assert_eq!(
            respond(failed).unwrap_err().reason,
            FailureReason::Unavailable
        );
        let long = r#"{"success":false,"errors":[{"code":5,"message":"context window is full"}]}"#;
        assert_eq!(respond(long).unwrap_err().reason, FailureReason::TooLong);
        assert_eq!(respond("{}").unwrap_err().reason, FailureReason::Protocol);
    }
}
