//! A report as JSON: canonical bytes out, strict and versioned in.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::model::{Report, SCHEMA_VERSION};

/// Why a file is no report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// It is not the JSON of a report.
    #[error("{file}: {message}")]
    Malformed {
        /// The file.
        file: String,
        /// What is wrong with it.
        message: String,
    },
    /// It is of another version.
    #[error("{file}: schema_version is `{found}`; this program reads {known}")]
    Version {
        /// The file.
        file: String,
        /// Its version.
        found: u64,
        /// The version that is read.
        known: u32,
    },
}

/// The report as indented JSON with a final line end; the same report gives the same bytes.
///
/// What holds no other list or object stands on one line, so that a difference of two reports is a difference of lines.
pub fn write(report: &Report) -> serde_json::Result<String> {
    document(report)
}

/// The same for anything.
pub(super) fn document(value: &impl Serialize) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(value)?;
    Ok(joined(&text))
}

/// Indented JSON with its innermost lists and objects on one line each.
fn joined(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    // The lines since a list or an object was opened that has held no other so far.
    let mut held: Vec<&str> = Vec::new();
    let keep = |joined: &mut String, held: &mut Vec<&str>| {
        for line in held.drain(..) {
            joined.push_str(line);
            joined.push('\n');
        }
    };
    for line in text.lines() {
        if line.ends_with(['[', '{']) {
            keep(&mut joined, &mut held);
            held.push(line);
        } else if held.is_empty() {
            keep(&mut joined, &mut vec![line]);
        } else if line.trim_start().starts_with([']', '}']) {
            let parts: Vec<_> = held[1..].iter().map(|part| part.trim()).collect();
            let whole = format!("{}{}{}", held[0], parts.join(" "), line.trim());
            held.clear();
            keep(&mut joined, &mut vec![&whole]);
        } else {
            held.push(line);
        }
    }
    keep(&mut joined, &mut held);
    joined
}

/// Reads a report and refuses what is not exactly one.
pub fn read(file: &str, text: &str) -> Result<Report, ReportError> {
    versioned(file, text, SCHEMA_VERSION, "report")
}

/// Reads what has a version, as `what` names it.
pub(super) fn versioned<T: DeserializeOwned>(
    file: &str,
    text: &str,
    known: u32,
    what: &str,
) -> Result<T, ReportError> {
    let malformed = |error: serde_json::Error| ReportError::Malformed {
        file: file.to_owned(),
        message: error.to_string(),
    };
    let value: serde_json::Value = serde_json::from_str(text).map_err(malformed)?;
    match value
        .get("schema_version")
        .and_then(serde_json::Value::as_u64)
    {
        Some(version) if version == u64::from(known) => (),
        Some(found) => {
            return Err(ReportError::Version {
                file: file.to_owned(),
                found,
                known,
            });
        }
        None => {
            return Err(ReportError::Malformed {
                file: file.to_owned(),
                message: format!("schema_version: missing; this is not a {what}"),
            });
        }
    }
    serde_json::from_str(text).map_err(malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_no_other_list_or_object_stands_on_one_line() {
        let value = serde_json::json!({
            "empty": [], "list": [1, 2, 3], "measure": {"high": 1.0, "value": 0.5},
            "text": "a { and a [", "within": {"deep": {"x": "}"}, "flat": 1}
        });
        let text = joined(&serde_json::to_string_pretty(&value).unwrap());
        let lines = [
            "{",
            "  \"empty\": [],",
            "  \"list\": [1, 2, 3],",
            "  \"measure\": {\"high\": 1.0, \"value\": 0.5},",
            "  \"text\": \"a { and a [\",",
            "  \"within\": {",
            "    \"deep\": {\"x\": \"}\"},",
            "    \"flat\": 1",
            "  }",
            "}",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), lines);
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read, value);
    }
}
