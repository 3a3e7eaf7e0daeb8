//! The body of a request: model, state, questions.
//!
//! Only the one form of question that every server of this wire takes is used: `noul` with a string of instructions
//! and criteria for both sides. The name of a question is not shown to the model, so its words name the paths.

use serde::ser::{Serialize, SerializeMap, Serializer};

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
        let mut members = Members::begin(serializer, &self.options.extra_body)?;
        members.put("model", &self.options.model)?;
        members.put("state", self.view)?;
        members.put("questions", &Questions(self.asked))?;
        members.end()
    }
}

struct Questions<'a>(&'a [Asked]);

impl Serialize for Questions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for asked in self.0 {
            let [instructions, when_true, when_false] = &asked.words;
            let question = Noul {
                kind: "noul",
                instructions,
                criteria: Criteria {
                    when_true,
                    when_false,
                },
            };
            map.serialize_entry(&asked.key, &question)?;
        }
        map.end()
    }
}

#[derive(serde::Serialize)]
struct Noul<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    instructions: &'a str,
    criteria: Criteria<'a>,
}

#[derive(serde::Serialize)]
struct Criteria<'a> {
    #[serde(rename = "true")]
    when_true: &'a str,
    #[serde(rename = "false")]
    when_false: &'a str,
}
