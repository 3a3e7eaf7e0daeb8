//! Prompts for chat models: untrusted text goes in as data and nothing of it is ever expanded.
//!
//! The parts of a trace travel as the strings of one line of JSON, between two lines that carry a mark. The mark is a
//! keyed hash of the chunks, so the same documents keep the same prefix and no text can know it; and no text can write
//! a line, a tag or a token of a chat template, because whatever such a thing needs is escaped within the strings.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use super::view::View;
use crate::artifact::digest::{sha256, sha256_hex};

/// What both lines of a fence are called, for the instructions.
pub const FENCE_NAME: &str = "data";

/// The hexadecimal digits of a mark.
const MARK_LENGTH: usize = 32;

/// Puts the texts of a trace between delimiters that none of them can forge.
#[derive(Clone)]
pub struct Fence {
    secret: [u8; 32],
}

impl Fence {
    /// A fence with a secret of this process.
    pub fn of_process() -> Self {
        static SECRET: LazyLock<[u8; 32]> = LazyLock::new(random_secret);
        Self { secret: *SECRET }
    }

    /// A fence that is the same in every process, for recordings and tests.
    pub const fn fixed() -> Self {
        Self { secret: [0; 32] }
    }

    /// The state of a trace as one block of three lines: the opening line, JSON, the closing line.
    pub fn state(&self, view: &View<'_>) -> String {
        let chunks = view.chunks.iter().map(AsRef::as_ref);
        self.block(&self.mark(chunks), &as_data(view))
    }

    /// One text as a block of the same kind.
    pub fn text(&self, text: &str) -> String {
        self.block(&self.mark(std::iter::once(text)), &as_data(&text))
    }

    /// The mark of a fence around these texts.
    fn mark<'a>(&self, texts: impl Iterator<Item = &'a str>) -> String {
        let mut keyed = self.secret.to_vec();
        for text in texts {
            keyed.extend_from_slice(&(text.len() as u64).to_be_bytes());
            keyed.extend_from_slice(text.as_bytes());
        }
        let mut mark = sha256_hex(&keyed);
        mark.truncate(MARK_LENGTH);
        mark
    }

    fn block(&self, mark: &str, json: &str) -> String {
        // A text outside of the chunks could hold the mark if the secret were known, as that of a fixed fence is.
        let hidden: String = mark.chars().map(escape).collect();
        let json = json.replace(mark, &hidden);
        [
            "<", FENCE_NAME, "-", mark, ">\n", &json, "\n</", FENCE_NAME, "-", mark, ">",
        ]
        .concat()
    }
}

/// The value as one line of JSON in whose strings nothing looks like markup.
fn as_data(value: &impl Serialize) -> String {
    let mut json = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut json, DataFormatter);
    // Neither a vector nor a view of strings can fail; what is not written is not asked about either.
    match value.serialize(&mut serializer) {
        Ok(()) => String::from_utf8_lossy(&json).into_owned(),
        Err(_) => String::from("null"),
    }
}

/// Compact JSON that escapes more within strings.
struct DataFormatter;

impl Formatter for DataFormatter {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut kept = 0;
        for (at, c) in fragment.char_indices() {
            let next = at + c.len_utf8();
            if !looks_harmless(c, &fragment[next..]) {
                writer.write_all(&fragment.as_bytes()[kept..at])?;
                writer.write_all(escape(c).as_bytes())?;
                kept = next;
            }
        }
        writer.write_all(&fragment.as_bytes()[kept..])
    }
}

/// Whether a character may stand as it is: no tag, no entity, no token of a chat template, nothing that cannot be seen.
fn looks_harmless(c: char, rest: &str) -> bool {
    match c {
        '<' | '>' | '\u{ff1c}' | '\u{ff1e}' | '\u{fe64}' | '\u{fe65}' => false,
        // Entities, which stand for the same signs.
        '&' => !["#", "lt", "gt", "LT", "GT"]
            .iter()
            .any(|entity| rest.starts_with(entity)),
        // Tokens like those for instructions in the templates of some models.
        '[' => !rest
            .trim_start_matches('/')
            .starts_with(|c: char| c.is_ascii_uppercase()),
        // Controls, soft hyphen, ends of lines, marks of direction, and letters without a shape.
        '\u{7f}'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => false,
        _ => true,
    }
}

/// A character as JSON escapes.
fn escape(c: char) -> String {
    let mut units = [0; 2];
    c.encode_utf16(&mut units)
        .iter()
        .map(|unit| format!("\\u{unit:04x}"))
        .collect()
}

/// From the generator behind TLS, and from the standard library in case that one fails.
fn random_secret() -> [u8; 32] {
    let mut secret = [0; 32];
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    let filled = provider.secure_random.fill(&mut secret).is_ok();
    let mut seed = secret.to_vec();
    seed.push(u8::from(filled));
    for turn in 0..2_u64 {
        seed.extend_from_slice(&RandomState::new().hash_one(turn).to_be_bytes());
    }
    sha256(&seed)
}

#[cfg(test)]
mod tests;
