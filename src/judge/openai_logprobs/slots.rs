//! Where the labels stand in what the model wrote.
//!
//! The answer is a block of numbered lines, `01 yes`, and the last whole block counts. Reasoning is no answer, and
//! neither is prose with a number and a label in it; where it is not plain what the answer is, there is none.

use std::ops::Range;

use super::mass::{Label, stands_around};
use crate::judge::thoughts;

/// A label within a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) label: Label,
    /// Where it stands, in bytes.
    pub(super) place: Range<usize>,
}

/// The labels of slots 1 to `count` in a text; an error says in our own words why there are none.
pub(super) fn find(text: &str, count: usize) -> Result<Vec<Slot>, &'static str> {
    let start = thoughts::end(text).ok_or("its reasoning does not end")?;
    let mut blocks = Blocks::default();
    let mut at = start;
    for line in text[start..].split_inclusive('\n') {
        blocks.line(line, at, count);
        at += line.len();
    }
    match blocks.whole {
        None => Err("its answer has no whole block of labels"),
        Some(_) if blocks.is_followed => Err("its answer goes on after its labels"),
        Some(slots) => Ok(slots),
    }
}

/// Blocks of numbered lines, one line after the other.
#[derive(Default)]
struct Blocks {
    current: Vec<Slot>,
    /// A number is missing or repeated since the last line of another kind.
    is_broken: bool,
    whole: Option<Vec<Slot>>,
    /// There are numbered lines after the last whole block.
    is_followed: bool,
}

impl Blocks {
    fn line(&mut self, line: &str, at: usize, count: usize) {
        if line.trim().is_empty() {
            return;
        }
        let Some((number, slot)) = numbered(line, at) else {
            self.current.clear();
            self.is_broken = false;
            return;
        };
        self.is_followed = true;
        self.is_broken |= number != self.current.len() + 1;
        if self.is_broken {
            return;
        }
        self.current.push(slot);
        if self.current.len() == count {
            self.whole = Some(std::mem::take(&mut self.current));
            self.is_followed = false;
        }
    }
}

/// The number and the label of a line that has these and nothing else.
fn numbered(line: &str, at: usize) -> Option<(usize, Slot)> {
    let begin = line.len() - line.trim_start().len();
    let rest = &line[begin..];
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if !(1..=4).contains(&digits) {
        return None;
    }
    let number = rest[..digits].parse().ok()?;
    let rest = &rest[digits..];
    let rest = rest.strip_prefix(['.', ')', ':']).unwrap_or(rest);
    let word = rest.trim_start();
    if word.len() == rest.len() {
        return None;
    }
    let label = Label::of(word)?;
    let quotes = word.len() - word.trim_start_matches(stands_around).len();
    let start = at + (line.len() - word.len()) + quotes;
    let length = match label {
        Label::Yes => "yes".len(),
        Label::No => "no".len(),
    };
    Some((
        number,
        Slot {
            label,
            place: start..start + length,
        },
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, count: usize, expected: &[Label]) {
        let slots = find(text, count).unwrap();
        let labels: Vec<_> = slots.iter().map(|slot| slot.label).collect();
        assert_eq!(labels, expected, "{text}");
        for slot in slots {
            assert!(Label::of(&text[slot.place]) == Some(slot.label), "{text}");
        }
    }

    #[track_caller]
    fn refused(text: &str, count: usize) {
        assert!(find(text, count).is_err(), "{text}");
    }

    use Label::{No, Yes};

    #[test]
    fn labels_are_read_from_numbered_lines() {
        check("01 yes\n02 no", 2, &[Yes, No]);
        check("1. Yes\n2. NO.\n", 2, &[Yes, No]);
        check("01: \"yes\"\n\n02) no", 2, &[Yes, No]);
        check("Here it is:\n```\n01 yes\n02 no\n```\nDone.", 2, &[Yes, No]);
        check("  01  no\r\n", 1, &[No]);
    }

    /// R17: what mentions a number or a label before the answer is not the answer.
    #[test]
    fn r17_the_last_whole_block_counts() {
        check("<think>01 no\n02 yes</think>\n01 yes\n02 no", 2, &[Yes, No]);
        check(
            "<think>01 no\n02 no\n</think>01 yes\n02 yes",
            2,
            &[Yes, Yes],
        );
        check("Question 01 yes, it is.\n01 no\n02 no", 2, &[No, No]);
        check("01 yes\nNo, wait.\n01 no\n02 no", 2, &[No, No]);
        check(
            "01 yes\n02 yes\nOn reflection:\n01 no\n02 yes",
            2,
            &[No, Yes],
        );
        check("01 yes\n02 yes\n01 no\n02 yes", 2, &[No, Yes]);
    }

    #[test]
    fn what_is_not_plain_is_no_answer() {
        refused("", 1);
        refused("yes", 1);
        refused("01 yes", 2);
        refused("02 no\n01 yes", 2);
        refused("01 yes\n01 no\n02 no", 2);
        refused("01 yes\n02 no\n03 yes", 2);
        refused("01 yes\n02 no\nOr rather:\n01 no", 2);
        refused("01 maybe\n02 no", 2);
        refused("01 yes and no\n02 no", 2);
        refused("01yes\n02no", 2);
        refused("<think>01 yes\n02 no", 2);
        refused("<think>x</think><think>01 yes\n02 no", 2);
        refused("00001 yes", 1);
    }

    proptest! {
        /// Whatever a model writes, what is found is as many labels as there are slots, each where it stands.
        #[test]
        fn what_is_found_stands_there(
            text in "([0-9]{1,5}[ .:)]{0,2}|yes|No|<think>|</think>|\\PC|[\u{120}\u{10a}\n \"]){0,30}",
            count in 1_usize..4,
        ) {
            if let Ok(slots) = find(&text, count) {
                prop_assert_eq!(slots.len(), count);
                for slot in slots {
                    prop_assert_eq!(Label::of(&text[slot.place]), Some(slot.label));
                }
            }
        }
    }
}
