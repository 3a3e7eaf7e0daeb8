//! `schema`: the JSON Schema of a file that the program reads or writes; of a file of lines, of one line.

use schemars::Schema;
use schemars::transform::{RecursiveTransform, Transform as _};
use serde_json::Value;

use super::names::SchemaName;
use super::{End, output};
use crate::artifact::replay::ReplayRow;
use crate::artifact::verdict::VerdictRow;
use crate::dataset::record::Record;
use crate::report::bench::Bench;
use crate::report::model::Report;

/// Prints a schema.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Of what: dataset, replay, verdict, report or bench.
    name: SchemaName,
}

pub(super) fn run(args: &Args) -> anyhow::Result<End> {
    output::line(&serde_json::to_string_pretty(&schema(args.name))?)?;
    Ok(End::Good)
}

fn schema(name: SchemaName) -> Schema {
    match name {
        SchemaName::Dataset => schemars::schema_for!(Record),
        SchemaName::Replay => without_null(schemars::schema_for!(ReplayRow)),
        SchemaName::Verdict => without_null(schemars::schema_for!(VerdictRow)),
        SchemaName::Report => schemars::schema_for!(Report),
        SchemaName::Bench => schemars::schema_for!(Bench),
    }
}

/// In these files what is absent is left out and never null, which a type does not tell.
fn without_null(mut schema: Schema) -> Schema {
    RecursiveTransform(|schema: &mut Schema| {
        if let Some(Value::Array(types)) = schema.get_mut("type") {
            types.retain(|name| name != "null");
            if let [one] = types.as_slice() {
                let one = one.clone();
                schema.insert("type".to_owned(), one);
            }
        }
        if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
            choices.retain(|choice| choice.get("type") != Some(&Value::from("null")));
        }
        if schema.get("default") == Some(&Value::Null) {
            schema.remove("default");
        }
    })
    .transform(&mut schema);
    schema
}

#[cfg(test)]
mod tests;
