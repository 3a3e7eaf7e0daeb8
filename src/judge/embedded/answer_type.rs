//! The kind of answer that an English question asks for, by its question word: a number, a date or a name.
//!
//! A word is of a kind by its own letters, so a kind that is present says that an answer may stand there, never that it
//! does. Questions for a reason, a definition, a yes or a no expect none: no word tells where such an answer stands.

use super::lexicon::{Lexicon, WordId};
use crate::text::fold::folded;
use crate::text::sentences::sentences;
use crate::text::words::words;

/// What a question asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerType {
    /// How many, how much, how old.
    Number,
    /// When, in which year.
    Date,
    /// Who, where.
    Name,
}

/// Words that may stand before a question word, sorted.
const OPENERS: &[&str] = &[
    "and", "at", "but", "by", "during", "for", "from", "in", "of", "on", "since", "so", "then",
    "to", "until", "with",
];
/// Words that open a question for yes or no, sorted.
const AUXILIARIES: &[&str] = &[
    "are", "can", "could", "did", "do", "does", "had", "has", "have", "is", "may", "might", "must",
    "should", "was", "were", "will", "would",
];
/// What follows `how` in a question for a number, sorted.
const MEASURED: &[&str] = &[
    "big", "deep", "far", "fast", "heavy", "high", "large", "long", "many", "much", "often", "old",
    "tall", "thick", "wide",
];
/// What follows `which` or `what` in a question for a date, sorted.
const TIMES: &[&str] = &[
    "century", "date", "day", "days", "decade", "month", "months", "year", "years",
];
/// What makes a question with `what` or `which` one for a number, sorted.
const AMOUNTS: &[&str] = &[
    "age",
    "amount",
    "cost",
    "distance",
    "fee",
    "height",
    "length",
    "number",
    "percentage",
    "population",
    "price",
    "rate",
    "temperature",
    "weight",
    "width",
];
/// Names of months and days, sorted; `may` is a verb more often.
const CALENDAR: &[&str] = &[
    "april",
    "august",
    "december",
    "february",
    "friday",
    "january",
    "july",
    "june",
    "march",
    "monday",
    "november",
    "october",
    "saturday",
    "september",
    "sunday",
    "thursday",
    "tuesday",
    "wednesday",
];

/// What an English question asks for, if it is one of the three. The last sentence with a question mark counts, else
/// the last.
pub(super) fn expected(question: &str) -> Option<AnswerType> {
    let all = sentences(question);
    let mut marked = all.iter().rev().filter(|one| one.text.contains('?'));
    let asked = marked.next().or_else(|| all.last())?.text;
    let asked: Vec<String> = words(asked).map(|(_, word)| folded(word)).collect();
    let is_in = |list: &[&str], word: &String| list.binary_search(&word.as_str()).is_ok();
    let opening = asked.iter().find(|word| !is_in(OPENERS, word))?;
    if is_in(AUXILIARIES, opening) {
        return None;
    }
    asked.iter().enumerate().find_map(|(at, word)| {
        let next = asked.get(at + 1);
        let next_is_in = |list| next.is_some_and(|next| is_in(list, next));
        match word.as_str() {
            "when" => Some(Some(AnswerType::Date)),
            "who" | "whom" | "whose" | "where" => Some(Some(AnswerType::Name)),
            "why" => Some(None),
            "how" => Some(next_is_in(MEASURED).then_some(AnswerType::Number)),
            "what" | "which" if next_is_in(TIMES) => Some(Some(AnswerType::Date)),
            "what" | "which" => {
                let asks_amount = asked[at..].iter().any(|word| is_in(AMOUNTS, word));
                Some(asks_amount.then_some(AnswerType::Number))
            }
            _ => None,
        }
    })?
}

impl AnswerType {
    /// Whether a word alone may be such an answer.
    pub(super) fn is_met_by(self, id: WordId, lexicon: &Lexicon) -> bool {
        let facts = lexicon.facts(id);
        match self {
            Self::Number => facts.is_number && !is_year(lexicon.spelling(id)),
            Self::Date => {
                let word = lexicon.spelling(id);
                is_year(word) || (facts.is_name && CALENDAR.binary_search(&word).is_ok())
            }
            Self::Name => facts.is_name && facts.is_content && !facts.is_number,
        }
    }
}

/// A number of four digits from 1000 to 2099, alone or as a decade.
fn is_year(spelling: &str) -> bool {
    let word = spelling.trim_matches(|c: char| !c.is_alphanumeric());
    let digits = word.strip_suffix('s').unwrap_or(word);
    let is_number = digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_digit());
    is_number && (digits.starts_with('1') || digits.starts_with("20"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(question: &str, asked: Option<AnswerType>) {
        assert_eq!(expected(question), asked, "{question}");
    }

    #[test]
    fn the_lists_are_sorted() {
        for list in [OPENERS, AUXILIARIES, MEASURED, TIMES, AMOUNTS, CALENDAR] {
            assert!(list.is_sorted(), "{list:?}");
        }
    }

    #[test]
    fn a_question_word_tells_what_is_asked_for() {
        check("When was the Tarn pool built?", Some(AnswerType::Date));
        check("In which year did it open?", Some(AnswerType::Date));
        check("It was opened in what year?", Some(AnswerType::Date));
        check("How many seats are there?", Some(AnswerType::Number));
        check("And how old is the lift?", Some(AnswerType::Number));
        check("What is the price of a ticket?", Some(AnswerType::Number));
        check("Who bought Lumio?", Some(AnswerType::Name));
        check("where is the ferry from?", Some(AnswerType::Name));
    }

    #[test]
    fn other_questions_expect_no_kind_of_word() {
        check("Why does the pump stop?", None);
        check("How do I clean the filter?", None);
        check("What is a sluice?", None);
        check("Is the shop open when it rains?", None);
        check("And can we swim where the boats are?", None);
        check("Tell me about the sluice.", None);
        check("", None);
        check("?!", None);
        check("Wann öffnet das Bad?", None);
    }

    #[test]
    fn the_last_sentence_is_the_question() {
        check(
            "I know who runs the pool. How much is a ticket?",
            Some(AnswerType::Number),
        );
        check("Who runs the pool? I must know.", Some(AnswerType::Name));
        check("I know when it opens. Thanks.", None);
    }

    #[test]
    fn words_are_of_a_kind_by_their_letters() {
        let mut lexicon = Lexicon::new(true);
        let text = "The Tarn pool opened in March 1954 with 1,200 seats, 8 lanes, and in the 1970s it may close.";
        let tokens = lexicon.tokens(text);
        let of = |kind: AnswerType| -> Vec<&str> {
            let met = tokens
                .iter()
                .filter(|token| kind.is_met_by(token.id, &lexicon));
            met.map(|token| token.written).collect()
        };
        assert_eq!(of(AnswerType::Date), ["March", "1954", "1970s"]);
        assert_eq!(of(AnswerType::Number), ["1,200", "8"]);
        assert_eq!(of(AnswerType::Name), ["Tarn", "March"]);
    }
}
