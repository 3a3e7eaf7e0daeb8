//! Words by Unicode segmentation, the English stop list and a light English stemmer.
//!
//! Words that carry a relation (before, after, only, not, may, must, from ...) are not on the stop list of
//! [`is_filler`], so that a change of one of them is seen as a change.

use unicode_segmentation::UnicodeSegmentation as _;

/// English words without content of their own, sorted.
const STOP_WORDS: &[&str] = &[
    "a", "about", "again", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because",
    "been", "being", "both", "but", "by", "can", "could", "did", "do", "does", "doing", "each",
    "for", "from", "further", "get", "got", "had", "has", "have", "having", "he", "hello", "her",
    "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "just", "let",
    "many", "may", "me", "might", "mine", "much", "must", "my", "of", "on", "once", "or", "other",
    "our", "ours", "own", "please", "shall", "she", "should", "so", "some", "such", "than", "that",
    "the", "their", "theirs", "them", "then", "there", "these", "they", "this", "those", "to",
    "too", "us", "very", "was", "we", "were", "what", "when", "where", "which", "while", "who",
    "whom", "whose", "why", "will", "with", "would", "yes", "you", "your", "yours",
];

/// English articles, which may come and go without changing what is said, sorted.
const FILLERS: &[&str] = &["a", "an", "the"];

/// English negations, sorted. Words in `n't` count too.
const NEGATIONS: &[&str] = &[
    "cannot",
    "false",
    "impossible",
    "neither",
    "never",
    "no",
    "nobody",
    "none",
    "nor",
    "not",
    "nothing",
    "nowhere",
    "untrue",
    "without",
];

/// English words that take back, condition or narrow what stands before them, sorted.
const RESTRICTIONS: &[&str] = &[
    "after",
    "alleged",
    "allegedly",
    "almost",
    "although",
    "as",
    "assuming",
    "barely",
    "because",
    "before",
    "between",
    "but",
    "claimed",
    "denied",
    "during",
    "except",
    "excluding",
    "for",
    "from",
    "half",
    "hardly",
    "however",
    "if",
    "might",
    "nearly",
    "only",
    "partly",
    "per",
    "provided",
    "rarely",
    "rumoured",
    "seldom",
    "since",
    "sometimes",
    "supposedly",
    "than",
    "though",
    "till",
    "unless",
    "until",
    "when",
    "where",
    "while",
    "within",
    "would",
];

/// The words of a text with their byte offsets. `C#` and `C++` are words of their own.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.unicode_word_indices().map(|(start, word)| {
        let end = start + word.len();
        let signs = text[end..]
            .bytes()
            .take(2)
            .take_while(|b| b"#+".contains(b))
            .count();
        let goes_on = text[end + signs..].starts_with(|c: char| c.is_alphanumeric() || c == '+');
        let end = if goes_on { end } else { end + signs };
        (start, &text[start..end])
    })
}

/// Whether a folded word is on the English stop list.
pub fn is_stop_word(folded: &str) -> bool {
    STOP_WORDS.binary_search(&folded).is_ok()
}

/// Whether a folded English word may come and go without changing what is said.
pub fn is_filler(folded: &str) -> bool {
    FILLERS.binary_search(&folded).is_ok()
}

/// Whether a folded English word negates.
pub fn is_negation(folded: &str) -> bool {
    folded.ends_with("n't") || NEGATIONS.binary_search(&folded).is_ok()
}

/// Whether a folded English word negates, takes back, conditions or narrows what stands before it.
pub fn is_restriction(folded: &str) -> bool {
    is_negation(folded) || RESTRICTIONS.binary_search(&folded).is_ok()
}

/// Whether what stands before a folded English word is complete without what follows.
pub fn opens_clause(folded: &str) -> bool {
    ["and", "which", "who"].contains(&folded)
}

/// The stem of a folded English word: no possessive, plural, `-ed`, `-ing` or final `e`. Other words stay as they are.
pub fn stem(folded: &str) -> &str {
    let word = folded.strip_suffix("'s").unwrap_or(folded);
    if word.len() <= 3 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return word;
    }
    let word = without_plural(word);
    for suffix in ["ing", "ed"] {
        if let Some(rest) = word.strip_suffix(suffix)
            && 3 <= rest.len()
            && rest.bytes().any(|b| b"aeiouy".contains(&b))
        {
            return without_doubled_end(rest);
        }
    }
    match word.strip_suffix('e') {
        Some(rest) if 3 <= rest.len() => rest,
        _ => word,
    }
}

fn without_plural(word: &str) -> &str {
    if let Some(rest) = word.strip_suffix("es")
        && ["s", "x", "z", "ch", "sh"]
            .iter()
            .any(|end| rest.ends_with(end))
    {
        return rest;
    }
    match word.strip_suffix('s') {
        Some(rest) if !["s", "u", "i"].iter().any(|end| rest.ends_with(end)) => rest,
        _ => word,
    }
}

/// `stopp` is `stop`, but `fill`, `pass` and `buzz` end in two letters by themselves.
fn without_doubled_end(word: &str) -> &str {
    let bytes = word.as_bytes();
    match bytes {
        [.., a, b] if a == b && !b"lsz".contains(b) => &word[..word.len() - 1],
        [.., b'e'] => &word[..word.len() - 1],
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted() {
        for list in [STOP_WORDS, FILLERS, NEGATIONS, RESTRICTIONS] {
            assert!(list.is_sorted());
        }
    }

    #[test]
    fn inflected_forms_share_a_stem() {
        for (one, other) in [
            ("stops", "stopped"),
            ("cycle", "cycling"),
            ("boxes", "box"),
            ("city's", "city"),
            ("filled", "filling"),
            ("requires", "required"),
        ] {
            assert_eq!(stem(one), stem(other));
        }
        assert_eq!(stem("bus"), "bus");
        assert_eq!(stem("glass"), "glass");
    }

    #[test]
    fn every_script_has_words() {
        for text in ["犬を運ぶ", "مرحبا بالعالم", "नमस्ते दुनिया", "שלום", "สวัสดี"]
        {
            assert!(words(text).next().is_some(), "{text}");
        }
        assert!(words("🙂 \0 …").next().is_none());
    }

    #[test]
    fn names_that_end_in_signs_are_words_of_their_own() {
        let found: Vec<_> = words("C# and C++, a+b, no 1#")
            .map(|(_, word)| word)
            .collect();
        assert_eq!(found, ["C#", "and", "C++", "a", "b", "no", "1#"]);
    }
}
