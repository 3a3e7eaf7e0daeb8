//! Windows: which passages of the context are shown if not all of it fits.
//!
//! The chunks are cut into passages that cover every character. Half of the room goes to the passages that have most to
//! do with what is asked, then every chunk that shows nothing gets its best passage, then the rest is filled in the same
//! order. What is shown keeps its order, and ` [...] ` stands where something is left out.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

use super::parts::token_count;
use super::rank::Wanted;
use crate::text::sentences::sentences;

/// What stands where something is left out.
const MARK: &str = "[...]";
/// The most tokens of a mark with the spaces around it.
const MARK_TOKENS: u64 = 2;
/// The longest passage, in characters; a longer sentence is cut between words.
const PASSAGE_CHARS: usize = 400;

/// What is shown of one chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    /// The passages, with marks between them; empty if there are none.
    pub(super) text: String,
    /// How many characters of the chunk are in it.
    pub(super) shown: usize,
    /// How many characters the chunk has.
    pub(super) total: usize,
}

struct Passage<'t> {
    chunk: usize,
    text: &'t str,
    token_count: u64,
}

/// Shows as much of the chunks as fits into so many tokens; chunks that are `None` are not looked at.
pub(super) fn windows(chunks: &[Option<&str>], wanted: &Wanted, room: u64) -> Vec<Window> {
    let mut passages = Vec::new();
    let mut starts = BTreeSet::new();
    for (chunk, text) in chunks.iter().enumerate() {
        starts.insert(passages.len());
        for range in passage_ranges(text.unwrap_or_default()) {
            let text = &text.unwrap_or_default()[range];
            passages.push(Passage {
                chunk,
                text,
                token_count: token_count(text) + MARK_TOKENS,
            });
        }
    }
    let texts: Vec<_> = passages.iter().map(|passage| passage.text).collect();
    let scores = wanted.scores(&texts, &starts);
    let chosen = chosen(&passages, &scores, chunks.len(), room);
    let mut rest = passages.iter().zip(&chosen).peekable();
    (0..chunks.len())
        .map(|chunk| {
            let own = || rest.next_if(|(passage, _)| passage.chunk == chunk);
            window(std::iter::from_fn(own))
        })
        .collect()
}

/// What is chosen so far and what is left for more.
struct Choice<'t> {
    passages: &'t [Passage<'t>],
    chosen: Vec<bool>,
    opened: Vec<bool>,
    spent: u64,
}

fn chosen(passages: &[Passage<'_>], scores: &[u64], chunk_count: usize, room: u64) -> Vec<bool> {
    let mut ranked: Vec<usize> = (0..passages.len()).collect();
    ranked.sort_by_key(|&index| (Reverse(scores[index]), index));
    let mut choice = Choice {
        passages,
        chosen: vec![false; passages.len()],
        opened: vec![false; chunk_count],
        spent: 0,
    };
    for &index in ranked.iter().filter(|&&index| 0 < scores[index]) {
        choice.take(index, room / 2);
    }
    for &index in &ranked {
        if !choice.opened[passages[index].chunk] {
            choice.take(index, room);
        }
    }
    for &index in &ranked {
        choice.take(index, room);
    }
    choice.chosen
}

impl Choice<'_> {
    fn take(&mut self, index: usize, room: u64) {
        let passage = &self.passages[index];
        let is_first = !self.opened[passage.chunk];
        let cost = passage.token_count + if is_first { MARK_TOKENS } else { 0 };
        if !self.chosen[index] && self.spent + cost <= room {
            self.chosen[index] = true;
            self.opened[passage.chunk] = true;
            self.spent += cost;
        }
    }
}

fn window<'p, 't: 'p>(passages: impl Iterator<Item = (&'p Passage<'t>, &'p bool)>) -> Window {
    let mut window = Window {
        text: String::new(),
        shown: 0,
        total: 0,
    };
    let mut is_marked = false;
    for (passage, is_chosen) in passages {
        let length = passage.text.chars().count();
        window.total += length;
        if *is_chosen {
            window.shown += length;
            if is_marked {
                window.text.push(' ');
            }
            window.text.push_str(passage.text);
            is_marked = false;
        } else if !is_marked {
            if window.text.ends_with(|c: char| !c.is_whitespace()) {
                window.text.push(' ');
            }
            window.text.push_str(MARK);
            is_marked = true;
        }
    }
    if window.shown == 0 {
        window.text.clear();
    }
    window
}

/// Byte ranges that cover a text: its sentences, each with the white space after it, none too long.
fn passage_ranges(text: &str) -> Vec<Range<usize>> {
    let mut starts: Vec<usize> = sentences(text)
        .iter()
        .map(|sentence| sentence.span.start)
        .collect();
    starts.reverse();
    let mut ranges = Vec::new();
    let (mut start, mut length) = (0, 0);
    let mut last_space = None;
    for (place, (at, c)) in text.char_indices().enumerate() {
        let is_sentence = starts.last() == Some(&place);
        if is_sentence {
            starts.pop();
        }
        let is_full = length == PASSAGE_CHARS;
        if (is_sentence || is_full) && start < at {
            let end = last_space.filter(|_| !is_sentence).unwrap_or(at);
            ranges.push(start..end);
            length = text[end..at].chars().count();
            start = end;
            last_space = None;
        }
        length += 1;
        if c.is_whitespace() {
            last_space = Some(at + c.len_utf8());
        }
    }
    if start < text.len() {
        ranges.push(start..text.len());
    }
    ranges
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn passages_are_sentences_and_long_ones_are_cut_between_words() {
        let text = "  One here.  Two there.\n\nThree.";
        let passages: Vec<_> = passage_ranges(text).into_iter().map(|r| &text[r]).collect();
        assert_eq!(passages, ["  ", "One here.  ", "Two there.\n\n", "Three."]);
        let long = "word ".repeat(200);
        for range in passage_ranges(&long) {
            assert!(long[range.clone()].starts_with("word"), "{range:?}");
            assert!(long[range].chars().count() <= PASSAGE_CHARS);
        }
        let unbroken = "é".repeat(1000);
        let lengths: Vec<_> = passage_ranges(&unbroken)
            .into_iter()
            .map(|r| r.len() / 2)
            .collect();
        assert_eq!(lengths, [400, 400, 200]);
    }

    #[test]
    fn the_evidence_is_kept_in_its_order_with_marks() {
        let chunk = "The lift was built early. It rises to the lamp room. Paint peels. \
                     Gulls nest there. The lamp has 5 mirrors.";
        let wanted = Wanted::of(["How many mirrors has the lamp?", "5 mirrors"]);
        let windows = windows(&[Some(chunk), None], &wanted, 24);
        assert_eq!(
            windows[0].text,
            "[...] It rises to the lamp room. [...] The lamp has 5 mirrors."
        );
        assert_eq!((windows[1].shown, windows[1].total), (0, 0));
    }

    #[test]
    fn many_chunks_of_many_passages_are_read_once() {
        let spaces = format!("It ends. {}", " ".repeat(256 * 1024));
        let lines = "x.\n".repeat(20_000);
        let mut chunks = vec![Some(spaces.as_str()), None, Some(lines.as_str())];
        chunks.resize(20_000, Some("A lid."));
        let windows = windows(&chunks, &Wanted::of(["a lid"]), 100);
        assert_eq!(windows.len(), chunks.len());
        assert_eq!(windows[0].total, spaces.len());
        assert_eq!(windows[2].total, lines.len());
        assert_eq!(windows[19_999].total, 6);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn passages_cover_every_character(text in "\\PC{0,30}[ a-zé.!\n]{0,1500}\\PC{0,30}") {
            let ranges = passage_ranges(&text);
            let joined: String = ranges.iter().map(|range| &text[range.clone()]).collect();
            prop_assert_eq!(joined, text.clone());
            for range in ranges {
                prop_assert!(text[range].chars().count() <= PASSAGE_CHARS);
            }
        }
    }
}
