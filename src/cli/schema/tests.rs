//! Every schema knows every key of the files that the project ships.

use serde_json::{Map, json};

use super::*;
use crate::domain::Vocabulary as _;

/// Walks a value along a schema; tells the first place that the schema does not allow, as far as keys go.
struct Walker<'a>(&'a Value);

impl Walker<'_> {
    fn resolved<'s>(&'s self, schema: &'s Value) -> &'s Value {
        match schema.get("$ref").and_then(Value::as_str) {
            Some(path) => self.resolved(self.0.pointer(path.trim_start_matches('#')).unwrap()),
            None => schema,
        }
    }

    fn walk(&self, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
        let schema = self.resolved(schema);
        for choice in ["anyOf", "oneOf"] {
            if let Some(choices) = schema.get(choice).and_then(Value::as_array) {
                let walks = choices.iter().map(|one| self.walk(one, value, place));
                let walks: Vec<_> = walks.collect();
                if !walks.iter().any(Result::is_ok) {
                    return Err(format!("{place}: {walks:?}"));
                }
            }
        }
        let kind = match value {
            Value::Object(_) => "object",
            Value::Array(_) => "array",
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::String(_) => "string",
        };
        let is_of = |name: &Value| name == kind || (kind == "number" && name == "integer");
        let is_allowed = match schema.get("type") {
            Some(Value::Array(names)) => names.iter().any(is_of),
            Some(name) => is_of(name),
            None => true,
        };
        if !is_allowed {
            return Err(format!("{place}: is no {}", schema["type"]));
        }
        match value {
            Value::Object(object) => self.object(schema, object, place),
            Value::Array(items) => items.iter().try_for_each(|item| {
                self.walk(schema.get("items").unwrap_or(&Value::Null), item, place)
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn object(
        &self,
        schema: &Value,
        object: &Map<String, Value>,
        place: &str,
    ) -> Result<(), String> {
        let empty = Map::new();
        let known = schema
            .get("properties")
            .and_then(Value::as_object)
            .unwrap_or(&empty);
        let required = schema.get("required").and_then(Value::as_array);
        for key in required.into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(key) {
                return Err(format!("{place}: lacks {key}"));
            }
        }
        for (key, value) in object {
            let place = format!("{place}.{key}");
            match (known.get(key), schema.get("additionalProperties")) {
                (Some(own), _) => self.walk(own, value, &place)?,
                (None, Some(Value::Bool(false))) => return Err(format!("{place}: is unknown")),
                (None, Some(other)) => self.walk(other, value, &place)?,
                (None, None) => {}
            }
        }
        Ok(())
    }
}

fn check(name: SchemaName, row: &Value) -> Result<(), String> {
    let schema = serde_json::to_value(schema(name)).unwrap();
    Walker(&schema).walk(&schema, row, "row")
}

fn rows(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

const TRACES: [&str; 2] = [
    include_str!("../../../fixtures/traces/demo.jsonl"),
    include_str!("../../../fixtures/traces/parity.jsonl"),
];
const REPLAYS: [&str; 4] = [
    include_str!("../../../fixtures/replays/demo-atomic.jsonl"),
    include_str!("../../../fixtures/replays/demo-fallback.jsonl"),
    include_str!("../../../fixtures/replays/parity-atomic.jsonl"),
    include_str!("../../../fixtures/replays/parity-baseline.jsonl"),
];

#[test]
fn every_schema_says_what_it_is() {
    for &name in SchemaName::ALL {
        let schema = serde_json::to_value(schema(name)).unwrap();
        assert_eq!(
            schema["$schema"], "https://json-schema.org/draft/2020-12/schema",
            "{name}"
        );
        assert!(
            schema["title"].is_string() && schema["description"].is_string(),
            "{name}"
        );
    }
}

#[test]
fn every_row_that_is_shipped_is_known_to_its_schema() {
    for (name, files) in [
        (SchemaName::Dataset, TRACES.as_slice()),
        (SchemaName::Replay, REPLAYS.as_slice()),
    ] {
        for row in files.iter().flat_map(|text| rows(text)) {
            check(name, &row).unwrap();
        }
    }
}

#[test]
fn a_wrong_row_is_not() {
    let row = rows(TRACES[0]).swap_remove(0);
    for (pointer, expected) in [
        ("", "row.extra: is unknown"),
        ("/contexts/0", "row.contexts.extra: is unknown"),
        (
            "/expected/retrieval",
            "row.expected.retrieval.extra: is unknown",
        ),
    ] {
        let mut wrong = row.clone();
        let inside = wrong.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
        inside.insert("extra".to_owned(), json!(1));
        let error = check(SchemaName::Dataset, &wrong).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let mut wrong = row;
    wrong.as_object_mut().unwrap().remove("answer");
    let error = check(SchemaName::Dataset, &wrong).unwrap_err();
    assert_eq!(error, "row: lacks answer");
}

#[test]
fn the_schema_of_recorded_answers_knows_no_null() {
    for name in [SchemaName::Replay, SchemaName::Verdict] {
        let text = serde_json::to_string(&schema(name)).unwrap();
        assert!(!text.contains("null"), "{text}");
    }
}
