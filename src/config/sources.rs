//! The layers of a configuration in one table that remembers where every value came from.
//!
//! The spans of the file are offsets in its text. Each variable and flag gets a range of offsets of its own behind the
//! text, so that one number tells the place of any value whatever layer it is from, and numbers sort by place.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::environment::{Overrides, path_of};
use super::problem::{ConfigError, Origin, Problem};
use crate::artifact::lines::Place;
use crate::artifact::policy::line_of;

/// The name of the file when there is none.
const NO_FILE: &str = "defaults";

/// A file, the environment and flags, merged.
pub(super) struct Sources<'a> {
    file: &'a str,
    text: &'a str,
    root: DeTable<'a>,
    /// Where the range of each variable and flag begins.
    overlays: Vec<(usize, Origin)>,
    /// Where the next one begins.
    end: usize,
}

/// A problem with its offset, by which problems are sorted.
pub(super) type PlacedProblem = (usize, Problem);

impl<'a> Sources<'a> {
    /// Parses the file; one that is not TOML has no further problems.
    pub(super) fn parse(file: Option<(&'a str, &'a str)>) -> Result<Self, ConfigError> {
        let (file, text) = file.unwrap_or((NO_FILE, ""));
        let mut sources = Self {
            file,
            text,
            root: DeTable::new(),
            overlays: Vec::new(),
            end: text.len() + 1,
        };
        match DeTable::parse(text) {
            Ok(root) => {
                sources.root = root.into_inner();
                Ok(sources)
            }
            Err(error) => {
                let offset = error.span().map_or(0, |span| span.start);
                let problem = Problem {
                    origin: sources.origin(offset),
                    path: String::new(),
                    message: error.message().trim().replace('\n', " "),
                };
                Err(ConfigError(vec![problem]))
            }
        }
    }

    /// Lays the environment over the file.
    pub(super) fn overlay_environment(
        &mut self,
        env: &'a BTreeMap<String, String>,
    ) -> Vec<PlacedProblem> {
        let mut problems = Vec::new();
        for (variable, text) in env {
            let path = match path_of(variable) {
                None => continue,
                Some(Ok(path)) => path,
                Some(Err(problem)) => {
                    problems.push((self.end, problem));
                    self.end += 1;
                    continue;
                }
            };
            let value = DeValue::parse(text)
                .unwrap_or_else(|_| Spanned::new(0..text.len(), DeValue::String(text.into())));
            let origin = Origin::Environment(variable.clone());
            problems.extend(self.overlay(origin, &path, value, text.len()));
        }
        problems
    }

    /// Lays the flags over the file and the environment.
    pub(super) fn overlay_flags(&mut self, flags: Overrides) -> Vec<PlacedProblem> {
        let mut problems = Vec::new();
        for (flag, path, value) in flags.into_values() {
            let Some(value) = value else { continue };
            let path = path.map(str::to_owned);
            let value = Spanned::new(0..0, value);
            problems.extend(self.overlay(Origin::Flag(flag), &path, value, 0));
        }
        problems
    }

    fn overlay(
        &mut self,
        origin: Origin,
        path: &[String],
        value: Spanned<DeValue<'a>>,
        length: usize,
    ) -> Option<PlacedProblem> {
        let start = self.end;
        self.end += length + 1;
        self.overlays.push((start, origin.clone()));
        let blocked = insert(&mut self.root, path, start, moved(value, start)).err()?;
        let blocked = path.len() - blocked;
        let message = format!("`{}` is not a table", dotted(&path[..blocked]));
        let path = dotted(path);
        Some((
            start,
            Problem {
                origin,
                path,
                message,
            },
        ))
    }

    /// The merged table.
    pub(super) fn root(&self) -> &DeTable<'a> {
        &self.root
    }

    /// The value at a path.
    pub(super) fn get(&self, path: &[&str]) -> Option<&Spanned<DeValue<'a>>> {
        let (first, rest) = path.split_first()?;
        let mut value = self.root.get(*first)?;
        for key in rest {
            value = value.get_ref().as_table()?.get(*key)?;
        }
        Some(value)
    }

    /// The offset of the value at a path, or of the innermost table on the way that exists.
    pub(super) fn offset(&self, path: &[&str]) -> usize {
        let found = (1..=path.len()).rev().find_map(|n| self.get(&path[..n]));
        found.map_or(0, |value| value.span().start)
    }

    /// Where an offset lies.
    pub(super) fn origin(&self, offset: usize) -> Origin {
        let after = self.overlays.partition_point(|(start, _)| *start <= offset);
        match after
            .checked_sub(1)
            .and_then(|index| self.overlays.get(index))
        {
            Some((_, origin)) => origin.clone(),
            None => Origin::File(Place {
                file: self.file.to_owned(),
                line: line_of(self.text, offset),
            }),
        }
    }

    /// The path of the innermost key or value that an offset lies in.
    pub(super) fn path_at(&self, offset: usize) -> Option<String> {
        locate(&self.root, offset).map(|path| dotted(&path))
    }
}

/// Keys joined by dots, quoted where TOML asks for it.
pub(super) fn dotted(path: &[impl AsRef<str>]) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let keys = path.iter().map(|key| {
        let key = key.as_ref();
        if !key.is_empty() && key.chars().all(bare) {
            key.to_owned()
        } else {
            format!("{key:?}")
        }
    });
    keys.collect::<Vec<_>>().join(".")
}

/// Sets the value at a path; a value on the way that is no table is an error that tells how many keys were left.
fn insert<'a>(
    table: &mut DeTable<'a>,
    path: &[String],
    at: usize,
    value: Spanned<DeValue<'a>>,
) -> Result<(), usize> {
    let key = |key: &String| Spanned::new(at..at, Cow::Owned(key.clone()));
    match path {
        [] => Ok(()),
        [last] => {
            table.insert(key(last), value);
            Ok(())
        }
        [first, rest @ ..] => {
            let inner = table
                .entry(key(first))
                .or_insert_with(|| Spanned::new(at..at, DeValue::Table(DeTable::new())));
            match inner.get_mut() {
                DeValue::Table(inner) => insert(inner, rest, at, value),
                _ => Err(rest.len()),
            }
        }
    }
}

/// The value with all its spans moved.
fn moved<'a>(value: Spanned<DeValue<'a>>, by: usize) -> Spanned<DeValue<'a>> {
    let shift = |span: Range<usize>| span.start + by..span.end + by;
    let span = shift(value.span());
    let inner = match value.into_inner() {
        DeValue::Array(items) => {
            let mut array = DeArray::new();
            for item in items {
                array.push(moved(item, by));
            }
            DeValue::Array(array)
        }
        DeValue::Table(entries) => {
            let entries = entries.into_iter().map(|(key, value)| {
                let span = shift(key.span());
                (Spanned::new(span, key.into_inner()), moved(value, by))
            });
            DeValue::Table(entries.collect())
        }
        other => other,
    };
    Spanned::new(span, inner)
}

fn locate(table: &DeTable<'_>, offset: usize) -> Option<Vec<String>> {
    let within = |span: Range<usize>| span.start == offset || span.contains(&offset);
    for (key, value) in table {
        let inner = value.get_ref().as_table();
        let name = key.get_ref().to_string();
        if let Some(inner) = inner.and_then(|table| locate(table, offset)) {
            return Some([vec![name], inner].concat());
        }
        if within(key.span()) || within(value.span()) {
            return Some(vec![name]);
        }
    }
    None
}
