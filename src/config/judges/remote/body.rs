//! `extra_body`: what is added to every request, as JSON.

use serde_json::{Map, Number, Value};

use super::secret;
use crate::config::reader::Reader;

/// What a request is made of; replacing it would ask something else.
const OURS: [&str; 6] = ["model", "messages", "input", "state", "questions", "stream"];

/// The keys as JSON; what JSON cannot say is a problem.
pub(super) fn extra_body(
    reader: &mut Reader<'_, '_>,
    name: &str,
    written: &toml::Table,
) -> Map<String, Value> {
    let mut path = vec!["judges", name, "extra_body"];
    for key in written.keys().filter(|key| OURS.contains(&key.as_str())) {
        path.push(key);
        reader.problem(&path, format!("`{key}` cannot be replaced"));
        path.pop();
    }
    object(reader, &mut path, written)
}

fn object<'p>(
    reader: &mut Reader<'_, '_>,
    path: &mut Vec<&'p str>,
    table: &'p toml::Table,
) -> Map<String, Value> {
    let mut object = Map::new();
    for (key, value) in table {
        path.push(key);
        if value.is_str() && secret::is_value(key) {
            reader.problem(
                path,
                "looks like a secret, and none stands in a configuration; \
                 `headers` takes `{ env = \"NAME\" }` and `{ file = \"PATH\" }`",
            );
        } else {
            object.insert(key.clone(), json(reader, path, value));
        }
        path.pop();
    }
    object
}

fn json<'p>(reader: &mut Reader<'_, '_>, path: &mut Vec<&'p str>, value: &'p toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text.clone()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Boolean(value) => Value::Bool(*value),
        toml::Value::Float(number) => match Number::from_f64(*number) {
            Some(number) => Value::Number(number),
            None => {
                reader.problem(path, format!("`{number}` is not a number in JSON"));
                Value::Null
            }
        },
        toml::Value::Datetime(date) => {
            reader.problem(path, format!("`{date}` is not a value in JSON; quote it"));
            Value::Null
        }
        toml::Value::Array(items) => {
            let items = items.iter().map(|item| json(reader, path, item));
            Value::Array(items.collect())
        }
        toml::Value::Table(table) => Value::Object(object(reader, path, table)),
    }
}
