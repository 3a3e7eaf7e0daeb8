//! From what a model wrote to the JSON object that it means.
//!
//! Models put JSON into fences and prose, think aloud before it, leave commas and quote with the wrong marks. What is
//! meant is the one whole object behind its thoughts and its prose that has a key of the form. Where there are two, or
//! where the text goes on after it or breaks off, nothing is meant: nothing is ever completed and nothing is chosen.

use std::ops::Range;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::judge::thoughts;

/// An object as it was written: its entries in order, repeated keys too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written(pub Vec<(String, Entry)>);

/// A value of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A text; true and false without quotes count as texts.
    Text(String),
    /// A list.
    List(Vec<Entry>),
    /// An object.
    Object(Written),
    /// Anything else.
    Other,
}

/// How deep an answer may nest; one is flat but for its chunks.
const MAX_DEPTH: usize = 4;

/// The one object in `text` that has a key for which `knows` holds; `None` if it is not plain which one is meant.
pub fn the_object(text: &str, knows: impl Fn(&str) -> bool) -> Option<Written> {
    let spoken = &text[thoughts::end(text)?..];
    let is_meant = |written: &Written| written.0.iter().any(|(key, _)| knows(key));
    [&['"'][..], &['"', '\'']].iter().find_map(|marks| {
        let objects = whole_objects(spoken, marks)?.into_iter();
        let mut meant = objects
            .filter_map(|place| Some((place.end, read(&spoken[place])?)))
            .filter(|(_, written)| is_meant(written));
        let (end, written) = meant.next()?;
        (meant.next().is_none() && says_nothing(&spoken[end..])).then_some(written)
    })
}

/// Whether nothing but marks and tokens of a template stands here: words after an answer may take it back.
fn says_nothing(text: &str) -> bool {
    let mut rest = text;
    while let Some((before, token)) = rest.split_once("<|") {
        let Some((_, after)) = token.split_once("|>") else {
            break;
        };
        if before.contains(char::is_alphanumeric) {
            return false;
        }
        rest = after;
    }
    rest.trim_start_matches("```")
        .chars()
        .all(|c| !c.is_alphanumeric())
}

/// Where the objects in a text are that stand in no other, in order; `None` if one of them does not end. Within them
/// `marks` quote.
fn whole_objects(text: &str, marks: &[char]) -> Option<Vec<Range<usize>>> {
    let mut objects = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    let mut quote = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some(_), '\\') => {
                chars.next();
            }
            (Some(mark), c) if c == mark => quote = None,
            (Some(_), _) => {}
            (None, '{') => {
                if depth == 0 {
                    start = at;
                }
                depth += 1;
            }
            (None, '}') => {
                depth = depth.saturating_sub(1);
                if depth == 0 && start <= at && text[start..].starts_with('{') {
                    objects.push(start..at + 1);
                    start = at + 1;
                }
            }
            (None, c) if depth > 0 && marks.contains(&c) => quote = Some(c),
            (None, _) => {}
        }
    }
    (depth == 0).then_some(objects)
}

fn read(object: &str) -> Option<Written> {
    let strict = serde_json::from_str(object);
    strict
        .or_else(|_| serde_json::from_str(&mended(object)))
        .ok()
}

/// The same with double quotes, without commas before an end, and with true and false in lower case.
fn mended(object: &str) -> String {
    let mut out = String::with_capacity(object.len());
    let mut rest = object;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            '"' | '\'' => mend_string(c, after, &mut out),
            ',' if after.trim_start().starts_with(['}', ']']) => after,
            _ if rest.starts_with("True") => {
                out.push_str("true");
                &rest[4..]
            }
            _ if rest.starts_with("False") => {
                out.push_str("false");
                &rest[5..]
            }
            _ => {
                out.push(c);
                after
            }
        };
    }
    out
}

/// Copies a string up to its closing mark; what follows is returned.
fn mend_string<'a>(mark: char, text: &'a str, out: &mut String) -> &'a str {
    out.push('"');
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, '\'')) => out.push('\''),
                Some((_, escaped)) => out.extend(['\\', escaped]),
                None => {}
            },
            c if c == mark => {
                out.push('"');
                return &text[at + c.len_utf8()..];
            }
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c => out.push(c),
        }
    }
    ""
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries { depth: 1 })
    }
}

/// Reads an object with all its entries.
struct Entries {
    depth: usize,
}

impl<'de> Visitor<'de> for Entries {
    type Value = Written;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Written, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key()? {
            let value = map.next_value_seed(One { depth: self.depth })?;
            entries.push((key, value));
        }
        Ok(Written(entries))
    }
}

/// Reads one value.
struct One {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for One {
    type Value = Entry;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Entry, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for One {
    type Value = Entry;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Entry, E> {
        Ok(Entry::Text(text.to_owned()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Entry, E> {
        Ok(Entry::Text(value.to_string()))
    }

    fn visit_unit<E>(self) -> Result<Entry, E> {
        Ok(Entry::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Entry, E> {
        Ok(Entry::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Entry, E> {
        Ok(Entry::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Entry, E> {
        Ok(Entry::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Entry, A::Error> {
        let depth = self.deeper()?;
        let mut entries = Vec::new();
        while let Some(entry) = seq.next_element_seed(One { depth })? {
            entries.push(entry);
        }
        Ok(Entry::List(entries))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Entry, A::Error> {
        let depth = self.deeper()?;
        Entries { depth }.visit_map(map).map(Entry::Object)
    }
}

impl One {
    fn deeper<E: serde::de::Error>(&self) -> Result<usize, E> {
        if self.depth < MAX_DEPTH {
            Ok(self.depth + 1)
        } else {
            Err(E::custom("it nests too deep"))
        }
    }
}
