//! Numbers in one spelling: `1,000` is `1000`, `2.50` is `2.5`, `twelve` is `12`, `٣` is `3`.
//!
//! A sign belongs to its number: `-5`, `€5`, `#5`, `/5`, `< 5` and `5 %` are not `5`.

use super::fold::folded;
use super::words::words;

/// English number words; `one` is left out, as it is a pronoun more often.
const SPELLED: &[(&str, &str)] = &[
    ("eight", "8"),
    ("eighteen", "18"),
    ("eighty", "80"),
    ("eleven", "11"),
    ("fifteen", "15"),
    ("fifty", "50"),
    ("five", "5"),
    ("forty", "40"),
    ("four", "4"),
    ("fourteen", "14"),
    ("nine", "9"),
    ("nineteen", "19"),
    ("ninety", "90"),
    ("seven", "7"),
    ("seventeen", "17"),
    ("seventy", "70"),
    ("six", "6"),
    ("sixteen", "16"),
    ("sixty", "60"),
    ("ten", "10"),
    ("thirteen", "13"),
    ("thirty", "30"),
    ("three", "3"),
    ("twelve", "12"),
    ("twenty", "20"),
    ("two", "2"),
];

/// First digits of the decimal digits of scripts in common use.
const ZEROS: &[char] = &['0', '٠', '۰', '०', '০', '๐', '０'];

/// The numbers of a text in order.
pub fn numbers(text: &str) -> Vec<String> {
    words(text)
        .filter_map(|(_, word)| number(&folded(word)))
        .collect()
}

/// The number that a folded word is, in its one spelling.
pub fn number(folded: &str) -> Option<String> {
    if let Ok(at) = SPELLED.binary_search_by_key(&folded, |entry| entry.0) {
        return Some(SPELLED[at].1.to_owned());
    }
    let word = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|suffix| folded.strip_suffix(suffix))
        .unwrap_or(folded);
    let mut plain = String::with_capacity(word.len());
    for c in word.chars() {
        match (digit(c), c) {
            (Some(digit), _) => plain.push(digit),
            (None, ',' | '.' | '\'' | '٫' | '٬') => plain.push(match c {
                '٫' => '.',
                '٬' | '\'' => ',',
                other => other,
            }),
            _ => return None,
        }
    }
    plain
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| without_grouping(&plain))
}

/// Where the signs before a number begin; its own start if there are none. Comparisons and currencies may stand off by
/// one space.
pub fn sign_start(text: &str, start: usize) -> usize {
    let before = &text[..start];
    let spaced = before.strip_suffix(is_space);
    let spaced = spaced.filter(|before| before.ends_with(|c| is_comparison(c) || is_currency(c)));
    spaced.unwrap_or(before).trim_end_matches(is_sign).len()
}

/// Where the unit sign after a number ends, which may stand off by one space; its own end if there is none.
pub fn unit_end(text: &str, end: usize) -> usize {
    let after = &text[end..];
    let near = after.strip_prefix(is_space).unwrap_or(after);
    let is_unit = |c| is_currency(c) || matches!(c, '%' | '‰' | '°' | '٪' | '％');
    match near.strip_prefix(is_unit) {
        Some(rest) => text.len() - rest.len(),
        None => end,
    }
}

/// Signs in one spelling: dashes and minus signs are one, spaces go.
pub fn plain_signs(signs: &str) -> String {
    let signs = signs.chars().filter(|&c| !is_space(c));
    let signs: String = signs.map(|c| if is_dash(c) { '-' } else { c }).collect();
    folded(&signs)
}

fn is_sign(c: char) -> bool {
    let other = matches!(c, '+' | '±' | '~' | '≈' | '/' | '#' | '＋' | '／' | '＃');
    other || is_dash(c) || is_comparison(c) || is_currency(c)
}

fn is_dash(c: char) -> bool {
    matches!(
        c,
        '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe63}' | '\u{ff0d}'
    )
}

fn is_comparison(c: char) -> bool {
    matches!(c, '<' | '>' | '=' | '≠' | '≤' | '≥' | '＜' | '＞' | '＝')
}

fn is_currency(c: char) -> bool {
    matches!(
        c,
        '$' | '£' | '¥' | '\u{20a0}'..='\u{20cf}' | '＄' | '￥' | '￡'
    )
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\u{a0}' | '\u{202f}')
}

fn digit(c: char) -> Option<char> {
    ZEROS.iter().find_map(|&zero| {
        let value = (c as u32).checked_sub(zero as u32)?;
        char::from_digit(value, 10).filter(|_| value < 10)
    })
}

/// Commas between groups of three go; what follows a decimal point loses its zeros at the end.
fn without_grouping(plain: &str) -> String {
    let (whole, decimals) = match plain.split_once('.') {
        Some((whole, decimals)) => (whole, Some(decimals)),
        None => (plain, None),
    };
    let mut groups = whole.split(',').skip(1);
    let grouped = groups.all(|group| group.len() == 3);
    let whole = if grouped {
        whole.replace(',', "")
    } else {
        whole.to_owned()
    };
    match decimals.map(|decimals| decimals.trim_end_matches('0')) {
        None | Some("") => whole,
        Some(decimals) => format!("{whole}.{decimals}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: Option<&str>) {
        assert_eq!(number(&folded(word)).as_deref(), expected, "{word}");
    }

    #[test]
    fn spellings_of_a_number_are_one() {
        check("1,000", Some("1000"));
        check("1,234,567.50", Some("1234567.5"));
        check("2.00", Some("2"));
        check("Twelve", Some("12"));
        check("21st", Some("21"));
        check("٣٤", Some("34"));
        check("१२", Some("12"));
        check("１２", Some("12"));
        check("2,5", Some("2,5"));
    }

    #[test]
    fn signs_belong_to_numbers() {
        let signs = |text: &str| {
            let start = text.find('5').unwrap();
            let before = plain_signs(&text[sign_start(text, start)..start]);
            before + "5" + &plain_signs(&text[start + 1..unit_end(text, start + 1)])
        };
        for (text, expected) in [
            ("a −5", "-5"),
            ("a –5", "-5"),
            ("- 5", "5"),
            ("> 5", ">5"),
            ("<=5", "<=5"),
            ("-$ 5", "-$5"),
            ("5 %", "5%"),
            ("5 €", "5€"),
            ("５5％", "5%"),
            ("a 5 b", "5"),
        ] {
            assert_eq!(signs(text), expected, "{text}");
        }
    }

    #[test]
    fn words_are_not_numbers() {
        check("p2", None);
        check("one", None);
        check("st", None);
        check("", None);
    }

    #[test]
    fn spelled_numbers_are_sorted() {
        assert!(SPELLED.is_sorted());
        assert_eq!(numbers("from 1,000 to three"), ["1000", "3"]);
    }
}
