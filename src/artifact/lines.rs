//! JSON lines: one object a line, blank lines skipped, every error with its file and line.

use std::fmt;

use serde::de::DeserializeOwned;

/// A line that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct LineError {
    /// Where it stands.
    pub place: Place,
    /// What is wrong with it.
    pub message: String,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as it was named.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Place {
    /// Something is wrong here.
    pub fn error(&self, message: impl Into<String>) -> LineError {
        LineError {
            place: self.clone(),
            message: message.into(),
        }
    }
}

/// Reads every line of a text that is not blank.
pub fn read<'a, T: DeserializeOwned>(
    file: &'a str,
    text: &'a str,
) -> impl Iterator<Item = (Place, Result<T, LineError>)> + 'a {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(index, line)| {
            let place = Place {
                file: file.to_owned(),
                line: index + 1,
            };
            let row = parse(&place, line);
            (place, row)
        })
}

/// Reads one line.
pub fn parse<T: DeserializeOwned>(place: &Place, line: &str) -> Result<T, LineError> {
    serde_json::from_str(line).map_err(|error| place.error(without_line(&error)))
}

/// The parser counts lines within the one line that it sees, which would mislead; its column is right.
fn without_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text);
    let hint = if error.is_eof() {
        "; each line must hold one whole object"
    } else {
        ""
    };
    format!("{message} (column {}){hint}", error.column())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_is_named_and_the_others_are_read() {
        let rows: Vec<_> = read::<u32>("numbers.jsonl", "1\n\n\"two\"\n3\n").collect();
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0].1, Ok(1));
        let error = rows[1].1.clone().unwrap_err();
        assert_eq!(
            error.to_string(),
            "numbers.jsonl:3: invalid type: string \"two\", expected u32 (column 5)"
        );
        assert_eq!(rows[2].1, Ok(3));
    }
}
