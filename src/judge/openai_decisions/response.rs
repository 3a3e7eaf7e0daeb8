//! The body of a response: a list of answers by name, usage, model.

use serde::Deserialize;
use serde_json::Value;

use crate::domain::failure::FailureReason;
use crate::judge::egress::{Fault, Incoming};
use crate::judge::wire::Billed;
use crate::judge::wire::native::{Response, Said};
use crate::judge::wire::scalar::{Object, Scalar};
use crate::judge::wire::usage::{self, RawUsage};

/// Reads what came back.
pub(super) fn read(incoming: &Incoming) -> Result<Response, Fault> {
    if !incoming.is_answer() {
        return Err(Fault::of_status(incoming));
    }
    let body: Body = serde_json::from_slice(&incoming.body).map_err(|_| {
        let detail = "its answer is not JSON, or repeats a member";
        Fault::new(FailureReason::Protocol, detail)
    })?;
    let billed = Billed {
        usage: usage::of(&body.usage),
        model: body.model.text().map(str::to_owned),
    };
    let is_complete = body.status == Scalar::Null || body.status.text() == Some("completed");
    if !body.error.is_null() || !is_complete {
        return Err(billed.fault_of(Fault::within(incoming, "its answer is not complete")));
    }
    let Some(answers) = body.answers else {
        return Err(billed.fault_of(Fault::within(incoming, "its answer has no `answers`")));
    };
    let answers = answers.into_iter().map(|Object(raw)| {
        let raw = raw.unwrap_or_default();
        let said = match (raw.kind.text(), raw.probability.number()) {
            (Some("predicate"), Some(number)) => Said::Probability(number),
            (Some("refusal"), _) => Said::Refusal,
            _ => Said::Nothing,
        };
        (raw.name.text().unwrap_or_default().to_owned(), said)
    });
    Ok(Response {
        answers: answers.collect(),
        billed,
    })
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    error: Value,
    status: Scalar,
    answers: Option<Vec<Object<RawAnswer>>>,
    model: Scalar,
    usage: Object<RawUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawAnswer {
    #[serde(rename = "type")]
    kind: Scalar,
    name: Scalar,
    probability: Scalar,
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

    #[test]
    fn every_answer_says_a_number_a_refusal_or_nothing() {
        let body = r#"{"model":"luna","answers":[
            {"type":"predicate","name":"a","probability":0.25},
            {"type":"refusal","name":"b"},
            {"type":"predicate","name":"c","probability":"0.5"},
            {"type":"choice","name":"d","choice":"yes","probability":0.5},
            {"name":null,"type":"predicate","probability":0.5},
            7
        ]}"#;
        let response = respond(body).unwrap();
        let expected = [
            ("a", Said::Probability(0.25)),
            ("b", Said::Refusal),
            ("c", Said::Nothing),
            ("d", Said::Nothing),
            ("", Said::Probability(0.5)),
            ("", Said::Nothing),
        ];
        let expected = expected.map(|(name, said)| (name.to_owned(), said));
        assert_eq!(response.answers, expected);
        assert_eq!(response.billed.model.as_deref(), Some("luna"));
    }

    #[test]
    fn an_answer_without_a_list_is_refused() {
        for body in [
            "{}",
            r#"{"answers":{}}"#,
            "[",
            r#"{"answers":[],"answers":[]}"#,
        ] {
            assert_eq!(respond(body).unwrap_err().reason, FailureReason::Protocol);
        }
    }
}
