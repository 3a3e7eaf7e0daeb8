//! Folding: one spelling for what a reader takes as the same word.
//!
//! Canonical decomposition (so that NFC equals NFD), lower case, full-width forms narrowed, typographic apostrophes
//! straightened, invisible characters dropped. Compatibility forms are kept, for they may mean something else: a
//! superscript is not a digit of the number before it.

use unicode_normalization::UnicodeNormalization as _;

/// The folded form of a word or a text.
pub fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.nfd().map(narrow).flat_map(char::to_lowercase) {
        match c {
            '\u{ad}'
            | '\u{640}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2060}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' => {}
            '\u{2018}' | '\u{2019}' | '\u{2bc}' => out.push('\''),
            'ς' => out.push('σ'),
            'ß' => out.push_str("ss"),
            _ => out.push(c),
        }
    }
    out
}

/// The plain form of a full-width letter, digit or sign.
fn narrow(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(one: &str, other: &str) {
        assert_eq!(folded(one), folded(other));
    }

    #[test]
    fn composed_and_decomposed_spellings_are_the_same() {
        check("Café", "CAFE\u{301}");
        check("Việt", "vie\u{323}\u{302}t");
        check("한글", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}");
        check("が", "か\u{3099}");
        check("йод", "и\u{306}од");
        check("آب", "ا\u{653}ب");
    }

    #[test]
    fn case_width_and_apostrophes_do_not_matter() {
        check("STRASSE", "straße");
        check("ＡＢＣ１", "abc1");
        check("don’t", "DON'T");
        check("ΟΔΟΣ", "οδος");
    }

    #[test]
    fn different_marks_stay_different() {
        assert_ne!(folded("ö"), folded("o"));
        assert_ne!(folded("か"), folded("が"));
    }
}
