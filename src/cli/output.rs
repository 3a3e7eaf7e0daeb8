//! The only place that writes to standard output and standard error.
//!
//! What judges, servers and files say may hold anything: no character that a terminal obeys is ever printed as it is.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write as _};

/// A line of the result, or several.
pub(super) fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(shown(text).as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// A line beside the result, or several; where nobody reads it, it is lost.
pub(super) fn note(text: &str) {
    writeln!(io::stderr(), "{}", shown(text)).ok();
}

/// A text from outside as a part of one line.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_obeyed(c) || matches!(c, '\n' | '\t'))
}

/// Our own text, whose lines are kept.
fn shown(text: &str) -> Cow<'_, str> {
    escaped(text, is_obeyed)
}

/// Every character of a kind as JSON escapes it, so that a line of JSON keeps its meaning.
fn escaped(text: &str, is_of_it: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_of_it) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_of_it(c) {
            // Writing to a string cannot fail.
            write!(escaped, "\\u{:04x}", u32::from(c)).ok();
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// What moves the cursor, changes colours or turns the order of letters around; line ends and tabs are ours.
fn is_obeyed(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => c.is_control(),
    }
}

/// Why a command did not run, with every cause.
pub(super) fn error(error: &anyhow::Error) {
    note(&format!("error: {error:#}"));
}

/// The same error with a line that tells what to do about it.
pub(super) fn with_hint(error: impl Into<anyhow::Error>, hint: &str) -> anyhow::Error {
    anyhow::anyhow!("{:#}\nhint: {hint}", error.into())
}

/// Whether the reader of standard output went away, as `head` does; that is no error of ours.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_shown_and_not_sent() {
        let odd = "m\u{1b}[31m\u{7f}\u{9b}\u{202e}\r\n\tend é料";
        assert_eq!(
            one_line(odd),
            "m\\u001b[31m\\u007f\\u009b\\u202e\\u000d\\u000a\\u0009end é料"
        );
        assert_eq!(
            shown(odd),
            "m\\u001b[31m\\u007f\\u009b\\u202e\\u000d\n\tend é料"
        );
        assert!(matches!(one_line("plain"), Cow::Borrowed("plain")));
    }

    #[test]
    fn a_line_of_json_keeps_its_meaning() {
        let value = serde_json::json!({"model": "m\u{1b}\u{9b}\u{202e}\n"});
        let line = value.to_string();
        let read: serde_json::Value = serde_json::from_str(&shown(&line)).unwrap();
        assert_eq!(read, value);
    }
}
