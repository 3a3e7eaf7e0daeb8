//! JSON lines: one object a line, blank lines skipped, every error with its file and line.
//!
//! A file of any length is read one line at a time, and no error repeats a text of it.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, BufRead};

use serde::Deserializer;
use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};

/// The most bytes of a line.
pub const MAX_LINE_BYTES: usize = 64 * 1024 * 1024;
/// The most errors that are listed; of the others only the number is told.
pub const MAX_LISTED_ERRORS: usize = 100;

/// The most characters of a part of an error that comes from the file.
const SHOWN_CHARS: usize = 300;

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

/// What is wrong with the lines of a file: the first errors in the order of the lines, and how many more there are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LineErrors {
    listed: BTreeMap<(usize, u64), LineError>,
    count: u64,
}

impl LineErrors {
    /// One more is wrong, wherever it stands.
    pub fn add(&mut self, error: LineError) {
        self.listed.insert((error.place.line, self.count), error);
        self.count += 1;
        if MAX_LISTED_ERRORS < self.listed.len() {
            self.listed.pop_last();
        }
    }

    /// Whether nothing is wrong.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The errors that are listed.
    pub fn listed(&self) -> impl Iterator<Item = &LineError> {
        self.listed.values()
    }

    /// How many there are beyond those.
    pub fn more(&self) -> u64 {
        self.count - self.listed.len() as u64
    }
}

impl From<LineError> for LineErrors {
    fn from(error: LineError) -> Self {
        let mut errors = Self::default();
        errors.add(error);
        errors
    }
}

impl fmt::Display for LineErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.listed().enumerate() {
            let end = if index == 0 { "" } else { "\n" };
            write!(f, "{end}{error}")?;
        }
        match self.more() {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

/// Reads lines one at a time and remembers where they stand.
pub struct LineReader<R> {
    reader: R,
    file: String,
    line: usize,
    offset: u64,
    buffer: Vec<u8>,
    /// Whether a line that is not blank was read.
    has_begun: bool,
    /// Whether there is no use in reading on.
    is_over: bool,
}

/// A line that is not blank.
#[derive(Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Where it stands.
    pub place: Place,
    /// Where its text begins, in bytes from the beginning of the file.
    pub offset: u64,
    /// Its text, without the end of the line.
    pub text: &'a str,
}

impl<R: BufRead> LineReader<R> {
    /// Reads from the beginning of a file of this name.
    pub const fn new(file: String, reader: R) -> Self {
        Self {
            reader,
            file,
            line: 0,
            offset: 0,
            buffer: Vec::new(),
            has_begun: false,
            is_over: false,
        }
    }

    /// The next line that is not blank, or what is wrong with it; `None` at the end.
    pub fn next_line(&mut self) -> io::Result<Option<Result<Line<'_>, LineError>>> {
        loop {
            if self.is_over {
                return Ok(None);
            }
            let start = self.offset;
            self.buffer.clear();
            let (read, is_whole) = take_line(&mut self.reader, &mut self.buffer, MAX_LINE_BYTES)?;
            if read == 0 {
                return Ok(None);
            }
            self.line += 1;
            self.offset += read;
            let is_blank = is_whole && self.buffer.trim_ascii().is_empty();
            if !is_blank {
                return Ok(Some(self.line(start, is_whole)));
            }
        }
    }

    fn line(&mut self, start: u64, is_whole: bool) -> Result<Line<'_>, LineError> {
        let place = Place {
            file: self.file.clone(),
            line: self.line,
        };
        if !is_whole {
            return Err(place.error(format!("is longer than {MAX_LINE_BYTES} bytes")));
        }
        let line = str::from_utf8(&self.buffer).map_err(|error| {
            place.error(format!("is not UTF-8 (byte {})", error.valid_up_to() + 1))
        })?;
        // Some editors put a byte order mark before UTF-8 text.
        let unmarked = match self.line {
            1 => line.strip_prefix('\u{feff}').unwrap_or(line),
            _ => line,
        };
        if !self.has_begun {
            self.has_begun = true;
            if let Err(error) = check_first(&place, unmarked) {
                self.is_over = true;
                return Err(error);
            }
        }
        Ok(Line {
            place,
            offset: start + (line.len() - unmarked.len()) as u64,
            text: unmarked.trim_end_matches(['\n', '\r']),
        })
    }

    /// What the lines were read from.
    pub fn into_inner(self) -> R {
        self.reader
    }
}

/// A first line of a file that is JSON in another layout says so once, in place of an error in every line.
pub fn check_first(place: &Place, line: &str) -> Result<(), LineError> {
    let line = line.trim();
    let what = if line.starts_with('[') {
        "a JSON array"
    } else if line == "{" {
        "an object over several lines"
    } else {
        return Ok(());
    };
    Err(place.error(format!(
        "this is {what}; each line must hold one whole object"
    )))
}

/// Reads a line with its end, of which at most `max` bytes are kept: how long it is, and whether all of it was kept.
fn take_line(reader: &mut impl BufRead, line: &mut Vec<u8>, max: usize) -> io::Result<(u64, bool)> {
    let (mut read, mut is_whole) = (0, true);
    loop {
        let bytes = match reader.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let part = &bytes[..end.map_or(bytes.len(), |end| end + 1)];
        is_whole &= line.len() + part.len() <= max;
        if is_whole {
            line.extend_from_slice(part);
        }
        let length = part.len();
        reader.consume(length);
        read += length as u64;
        if end.is_some() || length == 0 {
            return Ok((read, is_whole));
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
    serde_json::from_str(line).map_err(|error| {
        let path = path_of::<T>(line, &error);
        place.error(path + &without_line(&error))
    })
}

/// The place within the object as `path: `, or nothing where it is the whole object; the line is read once more.
fn path_of<T: DeserializeOwned>(line: &str, error: &serde_json::Error) -> String {
    if !error.is_data() {
        return String::new();
    }
    let mut reader = serde_json::Deserializer::from_str(line);
    let Err(found) = serde_path_to_error::deserialize::<_, T>(&mut reader) else {
        return String::new();
    };
    let message = found.inner().to_string();
    // A field that is named by the message itself is not named twice.
    let names_itself = ["unknown field ", "duplicate field "]
        .iter()
        .any(|kind| message.starts_with(kind));
    let mut segments: Vec<String> = found.path().iter().map(ToString::to_string).collect();
    if names_itself
        && segments
            .last()
            .is_some_and(|last| message.contains(&format!("`{last}`")))
    {
        segments.pop();
    }
    let mut path = String::new();
    for segment in segments {
        if !path.is_empty() && !segment.starts_with('[') {
            path.push('.');
        }
        path.extend(segment.chars().take(SHOWN_CHARS));
    }
    if path.is_empty() {
        return path;
    }
    path + ": "
}

/// The parser counts lines within the one line that it sees, which would mislead; its column is right.
pub fn without_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let message = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(message, _)| message);
    let hint = if error.is_eof() {
        "; each line must hold one whole object"
    } else {
        ""
    };
    format!(
        "{} (column {}){hint}",
        without_text(message),
        error.column()
    )
}

/// The parser repeats a string that stands where something else should, and that may be a text of a trace.
fn without_text(message: &str) -> String {
    for kind in ["invalid type: string ", "invalid value: string "] {
        if let Some((_, expected)) = message
            .strip_prefix(kind)
            .and_then(|rest| rest.rsplit_once("\", expected "))
        {
            return format!("{}, expected {expected}", kind.trim_end());
        }
    }
    message.chars().take(SHOWN_CHARS).collect()
}

/// Reads an object by chunk id and refuses an id that stands twice, which most parsers let pass: it is `said` twice.
pub fn by_chunk<'de, D: Deserializer<'de>, T: serde::Deserialize<'de>>(
    deserializer: D,
    said: &'static str,
) -> Result<BTreeMap<String, T>, D::Error> {
    struct Unique<T>(&'static str, std::marker::PhantomData<T>);

    impl<'de, T: serde::Deserialize<'de>> Visitor<'de> for Unique<T> {
        type Value = BTreeMap<String, T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object by chunk id")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            let mut unique = BTreeMap::new();
            while let Some((key, value)) = entries.next_entry::<String, T>()? {
                if unique.contains_key(&key) {
                    let said = self.0;
                    return Err(A::Error::custom(format_args!(
                        "chunk `{key}` is {said} twice"
                    )));
                }
                unique.insert(key, value);
            }
            Ok(unique)
        }
    }

    deserializer.deserialize_map(Unique(said, std::marker::PhantomData))
}

#[cfg(test)]
mod tests;
