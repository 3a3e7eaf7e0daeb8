//! Reads sections and checks values; collects what is wrong instead of stopping.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use toml::de::{DeValue, ValueDeserializer};

use super::problem::{Problem, Warning};
use super::sources::{PlacedProblem, Sources, dotted};
use crate::domain::probability::Probability;

/// The merged table, and what was found to be wrong with it.
pub(super) struct Reader<'s, 'a> {
    pub(super) sources: &'s Sources<'a>,
    folder: &'s Path,
    problems: Vec<PlacedProblem>,
    warnings: Vec<PlacedProblem>,
}

impl<'s, 'a> Reader<'s, 'a> {
    /// A reader that takes file names in values as relative to a folder.
    pub(super) fn new(
        sources: &'s Sources<'a>,
        folder: &'s Path,
        problems: Vec<PlacedProblem>,
    ) -> Self {
        Self {
            sources,
            folder,
            problems,
            warnings: Vec::new(),
        }
    }

    /// The warnings, or the problems if there are any; both sorted by place.
    pub(super) fn finish(self) -> Result<Vec<Warning>, Vec<Problem>> {
        let sorted = |mut placed: Vec<PlacedProblem>| {
            placed.sort_by_key(|(offset, _)| *offset);
            placed.into_iter().map(|(_, problem)| problem)
        };
        if self.problems.is_empty() {
            Ok(sorted(self.warnings).map(Warning).collect())
        } else {
            Err(sorted(self.problems).collect())
        }
    }

    /// Notes a problem with the value at a path.
    pub(super) fn problem(&mut self, path: &[&str], message: impl Into<String>) {
        let problem = self.placed(path, message.into());
        self.problems.push(problem);
    }

    /// Notes a warning about the value at a path.
    pub(super) fn warning(&mut self, path: &[&str], message: impl Into<String>) {
        let warning = self.placed(path, message.into());
        self.warnings.push(warning);
    }

    /// Notes that something else stands where a table is wanted.
    pub(super) fn not_a_table(&mut self, path: &[&str], value: &DeValue<'_>) {
        self.problem(path, format!("must be a table, not {}", value.type_str()));
    }

    fn placed(&self, path: &[&str], message: String) -> PlacedProblem {
        let offset = self.sources.offset(path);
        let (origin, path) = (self.sources.origin(offset), dotted(path));
        let problem = Problem {
            origin,
            path,
            message,
        };
        (offset, problem)
    }

    /// The section at a path as it is written, empty if it is absent; `None` after noting why it cannot be read.
    pub(super) fn section<T: DeserializeOwned + Default>(&mut self, path: &[&str]) -> Option<T> {
        let Some(value) = self.sources.get(path) else {
            return Some(T::default());
        };
        if !value.get_ref().is_table() {
            self.not_a_table(path, value.get_ref());
            return None;
        }
        let error = match T::deserialize(ValueDeserializer::from(value.clone())) {
            Ok(section) => return Some(section),
            Err(error) => error,
        };
        let offset = error.span().unwrap_or_else(|| value.span()).start;
        let problem = Problem {
            origin: self.sources.origin(offset),
            path: self.sources.path_at(offset).unwrap_or_else(|| dotted(path)),
            message: in_our_words(error.message()),
        };
        self.problems.push((offset, problem));
        None
    }

    /// The names in the table at a path.
    pub(super) fn names(&mut self, path: &[&str]) -> Vec<String> {
        let Some(value) = self.sources.get(path) else {
            return Vec::new();
        };
        match value.get_ref().as_table() {
            Some(table) => table.keys().map(|key| key.get_ref().to_string()).collect(),
            None => {
                self.not_a_table(path, value.get_ref());
                Vec::new()
            }
        }
    }

    /// A number within a range.
    pub(super) fn number<T: TryFrom<i64>>(
        &mut self,
        path: &[&str],
        written: Option<i64>,
        range: RangeInclusive<i64>,
        slot: &mut T,
    ) {
        let Some(number) = written else { return };
        match T::try_from(number) {
            Ok(value) if range.contains(&number) => *slot = value,
            _ => {
                let (low, high) = (range.start(), range.end());
                self.problem(path, format!("`{number}` must be from {low} to {high}"));
            }
        }
    }

    /// A number within a range that need not be there.
    pub(super) fn optional<T: TryFrom<i64> + Default>(
        &mut self,
        path: &[&str],
        written: Option<i64>,
        range: RangeInclusive<i64>,
    ) -> Option<T> {
        let mut slot = T::default();
        self.number(path, written, range, &mut slot);
        written.map(|_| slot)
    }

    /// A time in milliseconds.
    pub(super) fn millis(
        &mut self,
        path: &[&str],
        written: Option<i64>,
        max: i64,
        slot: &mut Duration,
    ) {
        let mut number: u64 = 0;
        self.number(path, written, 1..=max, &mut number);
        if number > 0 {
            *slot = Duration::from_millis(number);
        }
    }

    /// A number from 0 to 1.
    pub(super) fn share(&mut self, path: &[&str], written: Option<f64>, slot: &mut Probability) {
        let Some(number) = written else { return };
        match Probability::try_from(number) {
            Ok(share) => *slot = share,
            Err(_) => self.problem(path, format!("`{number}` must be from 0 to 1")),
        }
    }

    /// An address with its port.
    pub(super) fn address(&mut self, path: &[&str], written: Option<&str>, slot: &mut SocketAddr) {
        let Some(text) = written else { return };
        match text.parse() {
            Ok(address) => *slot = address,
            Err(_) => self.problem(
                path,
                format!("`{text}` is not an IP address and port such as `127.0.0.1:50051`"),
            ),
        }
    }

    /// The name of a file, relative to the folder of the configuration.
    pub(super) fn file(&mut self, path: &[&str], written: &str) -> PathBuf {
        if written.is_empty() {
            self.problem(path, "must not be empty");
        }
        self.folder.join(written)
    }

    /// The name of a variable. It is not repeated in the message: where a name is wanted, a secret may stand.
    pub(super) fn variable(&mut self, path: &[&str], written: &str) {
        let known = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
        let starts = written.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !starts || !written.bytes().all(known) {
            self.problem(
                path,
                "must be the name of a variable, of letters, digits and `_`",
            );
        }
    }

    /// The name of a judge or a profile.
    pub(super) fn name(&mut self, path: &[&str]) {
        let name = path.last().copied().unwrap_or_default();
        let known = |c: u8| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        if name.is_empty() || name.len() > 64 || !name.bytes().all(known) {
            let message =
                format!("`{name}` must be 1 to 64 of `a` to `z`, `0` to `9`, `_` and `-`");
            self.problem(path, message);
        }
    }
}

/// A message of the parser, without the names of Rust types.
fn in_our_words(message: &str) -> String {
    [
        ("unknown field", "unknown key"),
        ("unknown variant", "unknown value"),
        ("expected i64", "expected an integer"),
        ("expected f64", "expected a number"),
        ("\n", " "),
    ]
    .iter()
    .fold(message.trim().to_owned(), |message, (theirs, ours)| {
        message.replace(theirs, ours)
    })
}
