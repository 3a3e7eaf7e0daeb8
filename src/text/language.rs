//! Whether a text is English enough for the English word lists.
//!
//! Two signs: the script of the letters, and the share of function words. A short text in Latin script counts as
//! English unless at least two function words of another language outnumber those of English: tables, code and
//! identifiers hold the odd one by chance.

use super::fold::folded;
use super::words::words;

/// English function words that are rare as words of other languages, sorted.
const ENGLISH: &[&str] = &[
    "and", "are", "be", "been", "by", "can", "does", "for", "from", "has", "have", "how", "if",
    "is", "it", "its", "may", "must", "not", "of", "or", "that", "the", "their", "there", "they",
    "this", "to", "was", "were", "what", "when", "which", "who", "will", "with", "you", "your",
];

/// Function words of German, French, Spanish, Italian, Portuguese, Dutch, Swedish, Polish and Turkish that are not
/// English words, sorted.
const OTHER: &[&str] = &[
    "aan", "alla", "ao", "att", "auch", "auf", "aus", "av", "avec", "bei", "bir", "ce", "cette",
    "che", "como", "con", "da", "dal", "dans", "das", "de", "dei", "del", "della", "dem", "den",
    "der", "des", "di", "du", "ein", "eine", "el", "em", "en", "er", "es", "est", "et", "ett",
    "gli", "hasta", "het", "ich", "il", "ile", "ist", "ja", "je", "jest", "kein", "keine", "la",
    "las", "le", "les", "los", "mit", "na", "nach", "nei", "nel", "nicht", "nie", "non", "nous",
    "och", "oder", "os", "ou", "para", "pas", "pela", "pelo", "por", "pour", "que", "qui", "seu",
    "sie", "sin", "sind", "som", "sono", "sont", "su", "sua", "sur", "um", "uma", "un", "una",
    "und", "une", "uno", "van", "ve", "von", "voor", "vous", "wie", "zu", "zum", "zur",
];

/// Letters of the longest word of both lists.
const LONGEST: usize = 5;

/// From so many words on, English must show by its function words.
const LONG_TEXT_WORDS: usize = 25;

/// Counts of signs over one or more texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LanguageTally {
    words: usize,
    foreign_script: usize,
    english: usize,
    other: usize,
}

impl LanguageTally {
    /// The signs of one text.
    pub fn of(text: &str) -> Self {
        let mut tally = Self::default();
        tally.add(text);
        tally
    }

    /// Adds the signs of a text.
    pub fn add(&mut self, text: &str) {
        for (_, word) in words(text) {
            let Some(letter) = word.chars().find(|c| c.is_alphabetic()) else {
                continue;
            };
            self.words += 1;
            if !is_latin(letter) {
                self.foreign_script += 1;
                continue;
            }
            // Most plain words are longer than those of the lists.
            if word.is_ascii() {
                let mut low = [0; LONGEST];
                if let Some(low) = low.get_mut(..word.len()) {
                    low.copy_from_slice(word.as_bytes());
                    low.make_ascii_lowercase();
                    self.count(low);
                }
            } else if word.len() <= 8 {
                self.count(folded(word).as_bytes());
            }
        }
    }

    fn count(&mut self, folded: &[u8]) {
        let is_in = |list: &[&str]| {
            list.binary_search_by(|word| word.as_bytes().cmp(folded))
                .is_ok()
        };
        self.english += usize::from(is_in(ENGLISH));
        self.other += usize::from(is_in(OTHER));
    }

    /// Adds the signs of another tally.
    pub fn merge(&mut self, other: Self) {
        self.words += other.words;
        self.foreign_script += other.foreign_script;
        self.english += other.english;
        self.other += other.other;
    }

    /// Whether the English lists apply. A text without words has no language and passes.
    pub fn is_english(self) -> bool {
        let few = self.words < LONG_TEXT_WORDS;
        let latin = self.foreign_script * 4 <= self.words;
        let outnumbered = 2 <= self.other && self.english < self.other;
        // A tenth of running English are function words of the list even in telegraphic style; tables and code have
        // next to none, so the absence alone decides only together with signs of another language or great length.
        let shows = self.words <= self.english * 20
            || (self.other == 0 && self.words < 4 * LONG_TEXT_WORDS);
        latin && !outnumbered && (few || shows)
    }

    /// Whether function words show the text to be English; the absence of other signs is not enough.
    pub fn shows_english(self) -> bool {
        self.is_english() && self.other < self.english
    }
}

fn is_latin(c: char) -> bool {
    matches!(c, 'A'..='Z' | 'a'..='z' | '\u{aa}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' | '\u{ff21}'..='\u{ff5a}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: bool) {
        assert_eq!(LanguageTally::of(text).is_english(), expected, "{text}");
    }

    #[test]
    fn the_lists_are_sorted() {
        assert!(ENGLISH.is_sorted() && OTHER.is_sorted());
        let lengths = ENGLISH.iter().chain(OTHER).map(|word| word.len());
        assert_eq!(lengths.max(), Some(LONGEST));
    }

    #[test]
    fn english_texts_are_english() {
        check("The bin is emptied every two weeks.", true);
        check("Solveig tulips: 15 cm deep", true);
        check("Three at most.", true);
        check("x y", true);
        check(
            "| Plan | Price per month |\n|---|---|\n| Pro | $29 |\n| Solo | $9 |",
            true,
        );
        check("", true);
    }

    #[test]
    fn other_languages_are_not() {
        check(
            "Sie haben nach dem Einzug vierzehn Tage Zeit, und das ist kostenlos.",
            false,
        );
        check(
            "Quel engrais faut-il donner à un citronnier en pot au mois de juin ?",
            false,
        );
        check(
            "O pedido pode ser enviado em até doze meses depois da consulta, pelo aplicativo.",
            false,
        );
        check("O prazo para o pedido de reembolso é de doze meses.", false);
        check("はい、持ち込めます。", false);
        check("يفتح المتحف يوم الجمعة", false);
        check("दो कप चावल", false);
        check("住院津贴每天三百元", false);
    }
}
