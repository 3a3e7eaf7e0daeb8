//! Every key with its default and its meaning, read from the file that documents them.
//!
//! The comments of [`DEFAULT_FILE`] explain each key; a test holds its keys equal to those that the code knows.

#[cfg(test)]
mod tests;

use super::DEFAULT_FILE;
use super::environment::{Overrides, PREFIX};

/// A section of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionReference {
    /// Its name with dots.
    pub name: String,
    /// What it is about; empty if its keys say it all.
    pub meaning: String,
    /// Its keys in their order.
    pub keys: Vec<KeyReference>,
}

/// A key of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyReference {
    /// Its name.
    pub name: String,
    /// Its value in the documenting file, as TOML: the default, or an example.
    pub value: String,
    /// What holds without it.
    pub default: KeyDefault,
    /// The flag that sets it too.
    pub flag: Option<&'static str>,
    /// What it means, and its range.
    pub meaning: String,
}

/// What holds where a key is not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyDefault {
    /// The value of the documenting file.
    Value,
    /// Nothing; the meaning says what follows.
    Absent,
    /// It must be set.
    Required,
}

impl KeyReference {
    /// The type of its value in TOML.
    pub fn value_type(&self) -> &'static str {
        let value: Result<toml::Value, _> = toml::de::ValueDeserializer::parse(&self.value)
            .and_then(serde::Deserialize::deserialize);
        value.map_or("string", |value| value.type_str())
    }
}

/// The variable that sets a key.
pub fn variable_of(section: &str, key: &str) -> String {
    let path = format!("{section}.{key}").replace('.', "__");
    format!("{PREFIX}{}", path.to_ascii_uppercase())
}

/// Every section in the order of the file; the names `recorded` and `remote` stand for any.
pub fn sections() -> Vec<SectionReference> {
    read(DEFAULT_FILE)
}

/// A line of the file.
enum Line<'a> {
    Blank,
    Header(&'a str),
    Key {
        name: &'a str,
        value: &'a str,
        is_set: bool,
    },
    Comment(&'a str),
}

fn read(text: &str) -> Vec<SectionReference> {
    let lines: Vec<Line<'_>> = text.lines().map(line).collect();
    let mut sections: Vec<SectionReference> = Vec::new();
    let mut comment: Vec<String> = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        match *line {
            Line::Blank => comment.clear(),
            Line::Comment(text) => comment.push(text.to_owned()),
            Line::Header(name) => sections.push(SectionReference {
                name: name.to_owned(),
                meaning: std::mem::take(&mut comment).join(" "),
                keys: Vec::new(),
            }),
            Line::Key {
                name,
                value,
                is_set,
            } => {
                let Some(section) = sections.last_mut() else {
                    continue;
                };
                if !is_set && is_example(name, &lines[place + 1..]) {
                    comment.push(format!("`{name} = {value}`."));
                    continue;
                }
                // Two keys may share one comment.
                let meaning = if comment.is_empty() {
                    section
                        .keys
                        .last()
                        .map_or("", |key| &key.meaning)
                        .to_owned()
                } else {
                    std::mem::take(&mut comment).join(" ")
                };
                let key = key(&section.name, name, value, is_set, meaning);
                section.keys.push(key);
            }
        }
    }
    sections
}

fn line(line: &str) -> Line<'_> {
    let (text, is_set) = match line.strip_prefix('#') {
        Some(text) => (text.trim(), false),
        None => (line.trim(), true),
    };
    if line.is_empty() {
        return Line::Blank;
    }
    if let Some(name) = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
    {
        return Line::Header(name);
    }
    let is_name = |name: &str| {
        let mut bytes = name.bytes();
        !name.is_empty() && bytes.all(|c| c.is_ascii_lowercase() || c == b'_')
    };
    match text.split_once(" = ").filter(|(name, _)| is_name(name)) {
        Some((name, value)) => Line::Key {
            name,
            value,
            is_set,
        },
        None => Line::Comment(text),
    }
}

/// Whether the same key follows, so that the line shows another value of it.
fn is_example(name: &str, following: &[Line<'_>]) -> bool {
    let next = following.iter().find_map(|line| match line {
        Line::Key { name, .. } => Some(*name),
        Line::Header(name) => Some(*name),
        Line::Blank | Line::Comment(_) => None,
    });
    next == Some(name)
}

fn key(section: &str, name: &str, value: &str, is_set: bool, meaning: String) -> KeyReference {
    let says = |words: &str| meaning.contains(words);
    let default = if is_set {
        KeyDefault::Value
    } else if says("; required") {
        KeyDefault::Required
    } else if says("When absent") {
        KeyDefault::Absent
    } else {
        KeyDefault::Value
    };
    KeyReference {
        name: name.to_owned(),
        value: value.to_owned(),
        default,
        flag: Overrides::flag_of(section, name),
        meaning,
    }
}
