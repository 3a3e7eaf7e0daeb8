//! The body of a request: model, input, a list of predicates.

use serde::ser::{Error as _, Serialize, Serializer};

use crate::judge::remote::ModelOptions;
use crate::judge::view::View;
use crate::judge::wire::{Asked, Members};

/// The body of a request.
pub(super) struct Request<'a> {
    pub(super) options: &'a ModelOptions,
    pub(super) view: &'a View<'a>,
    pub(super) asked: &'a [Asked],
}

impl Serialize for Request<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The input is text on this wire, so the state goes in as the text of its JSON.
        let state = serde_json::to_string(self.view).map_err(S::Error::custom)?;
        let questions: Vec<_> = self.asked.iter().map(Predicate::of).collect();
        let mut members = Members::begin(serializer, &self.options.extra_body)?;
        members.put("model", &self.options.model)?;
        members.put("input", &state)?;
        members.put("questions", &questions)?;
        members.end()
    }
}

#[derive(serde::Serialize)]
struct Predicate<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    instructions: String,
}

impl<'a> Predicate<'a> {
    fn of(asked: &'a Asked) -> Self {
        let [text, when_true, when_false] = &asked.words;
        Self {
            name: &asked.key,
            kind: "predicate",
            instructions: format!("{text}\nIf true: {when_true}\nIf false: {when_false}"),
        }
    }
}
