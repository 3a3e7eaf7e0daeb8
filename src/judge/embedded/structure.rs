//! Tables, JSON and code, in which words beside each other do not say that they belong together.
//!
//! A piece of text is such if it stands between lines of three backticks or tildes, has two bars (`|`) or two tabs, starts
//! with a brace or with a quoted name and a colon, or ends as a line of code does: with `{`, `}`, `};`, `;` after a bracket
//! or an assignment. It is better to miss one than to take prose for code.

use std::ops::Range;

use crate::text::sentences::Passage;

/// Where the fenced parts of a text are, in code points.
#[derive(Debug, Default)]
pub(super) struct Structure {
    fenced: Vec<Range<usize>>,
}

impl Structure {
    /// Finds the fenced parts; one that is not closed goes on to the end.
    pub(super) fn of(text: &str) -> Self {
        let mut fenced = Vec::new();
        if !(text.contains("```") || text.contains("~~~")) {
            return Self::default();
        }
        let mut open = None;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let end = at + line.chars().count();
            let bare = line.trim_start();
            if bare.starts_with("```") || bare.starts_with("~~~") {
                match open.take() {
                    Some(start) => fenced.push(start..end),
                    None => open = Some(at),
                }
            }
            at = end;
        }
        fenced.extend(open.map(|start| start..at));
        Self { fenced }
    }

    /// Whether a piece of the text is a table, JSON or code.
    pub(super) fn holds(&self, passage: &Passage<'_>) -> bool {
        self.is_fenced(&passage.span) || looks_structured(passage.text)
    }

    /// Whether a place in the text, in code points, is fenced.
    pub(super) fn is_fenced(&self, span: &Range<usize>) -> bool {
        let later = self
            .fenced
            .partition_point(|fenced| fenced.end <= span.start);
        let fenced = self.fenced.get(later);
        fenced.is_some_and(|fenced| fenced.start < span.end)
    }
}

/// Whether a piece of text by itself looks like a table, JSON or code.
pub(super) fn looks_structured(text: &str) -> bool {
    let text = text.trim();
    let has_two = |sign: char| 2 <= text.matches(sign).take(2).count();
    let starts_name = text.strip_prefix('"').is_some_and(|rest| {
        rest.split_once('"')
            .is_some_and(|(_, after)| after.trim_start().starts_with(':'))
    });
    let is_assigned = text.contains('=') || text.contains("()") || text.contains(");");
    let ends_code = text.ends_with('{')
        || text.ends_with("};")
        || (text.ends_with('}') && text.contains('{'))
        || (text.ends_with(';') && is_assigned);
    has_two('|')
        || has_two('\t')
        || text.starts_with('{')
        || text == "}"
        || starts_name
        || ends_code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::sentences::sentences;

    #[test]
    fn rows_of_tables_json_and_code_are_seen() {
        for text in [
            "| Model | Price |",
            "Model | Price | Year",
            "Kestrel\t12\t2019",
            "{\"price\": 12}",
            "\"price\": 12,",
            "let price = 12;",
            "fn price() {",
            "}",
        ] {
            assert!(looks_structured(text), "{text}");
        }
    }

    #[test]
    fn prose_is_not_code() {
        for text in [
            "The price is 12 crowns; the tax is not in it.",
            "The pool (the old one) opens at eight.",
            "Either a|b or nothing.",
            "\"Yes\", she said: it is.",
            "a = b",
        ] {
            assert!(!looks_structured(text), "{text}");
        }
    }

    #[test]
    fn what_is_fenced_is_code_whatever_it_looks_like() {
        let text = "Ünder it.\n```\nprint this\n```\nOver it.";
        let structure = Structure::of(text);
        let found: Vec<_> = sentences(text)
            .into_iter()
            .filter(|passage| !structure.holds(passage))
            .map(|passage| passage.text)
            .collect();
        assert_eq!(found, ["Ünder it.", "Over it."]);
    }
}
