//! Files in blocks of whole lines, handed to whoever asks next.
//!
//! Memory is bounded by the length of a block, or of the longest line, whatever the length of the file.

use std::fs::File;
use std::io::{self, Read as _};
use std::iter;
use std::num::NonZero;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use memchr::{memchr, memchr_iter, memrchr};

/// The length of a block unless a line is longer.
const BLOCK_BYTES: usize = 1 << 20;
/// What some editors put before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file that is read block by block.
#[derive(Debug)]
pub struct Blocks {
    file: File,
    /// What was read beyond the last line end.
    rest: Vec<u8>,
    lines: u64,
    offset: u64,
}

/// Where a block stands in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// The lines before it.
    pub lines: u64,
    /// The bytes before it.
    pub offset: u64,
}

impl Blocks {
    /// From the beginning of a file.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: File::open(path)?,
            rest: Vec::new(),
            lines: 0,
            offset: 0,
        })
    }

    /// The next block in place of what stands in `block`; `None` at the end. It ends with a line end, but for the last.
    pub fn next(&mut self, block: &mut Vec<u8>) -> io::Result<Option<Start>> {
        block.clear();
        block.append(&mut self.rest);
        loop {
            let before = block.len();
            let wanted = BLOCK_BYTES.saturating_sub(before).max(BLOCK_BYTES / 4) as u64;
            let read = (&self.file).take(wanted).read_to_end(block)?;
            let end = memrchr(b'\n', block);
            match end {
                _ if read == 0 => break,
                Some(end) if BLOCK_BYTES <= block.len() => {
                    self.rest.extend_from_slice(&block[end + 1..]);
                    block.truncate(end + 1);
                    break;
                }
                Some(_) | None => (),
            }
        }
        if block.is_empty() {
            return Ok(None);
        }
        let start = Start {
            lines: self.lines,
            offset: self.offset,
        };
        self.lines += memchr_iter(b'\n', block).count() as u64;
        self.offset += block.len() as u64;
        Ok(Some(start))
    }
}

/// One line of a block.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Where these bytes begin in the file.
    pub offset: u64,
    /// Without its end.
    pub bytes: &'a [u8],
    /// Whether it has an end, which only the last line of a file may lack.
    pub is_whole: bool,
}

/// The lines of a block that are not blank.
pub fn lines(block: &[u8], start: Start) -> impl Iterator<Item = Line<'_>> {
    let mut at = start.offset;
    raw_lines(block)
        .zip(start.lines + 1..)
        .map(move |(raw, number)| {
            let offset = at;
            at += raw.len() as u64;
            let bytes = raw.strip_suffix(b"\n").unwrap_or(raw);
            let (offset, bytes) = match bytes.strip_prefix(BYTE_ORDER_MARK) {
                Some(bytes) if offset == 0 => (BYTE_ORDER_MARK.len() as u64, bytes),
                Some(_) | None => (offset, bytes),
            };
            Line {
                number,
                offset,
                bytes,
                is_whole: raw.ends_with(b"\n"),
            }
        })
        .filter(|line| !line.bytes.trim_ascii().is_empty())
}

/// All lines with their ends.
fn raw_lines(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = block;
    iter::from_fn(move || {
        let length = memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        let (line, after) = rest.split_at(length);
        rest = after;
        (!line.is_empty()).then_some(line)
    })
}

/// The number of a line and what is wrong with it.
type Wrong = (u64, String);

/// What one thread made of its blocks: its state, and the lines that are wrong.
type Part<S> = (S, Vec<Wrong>);

/// Reads every line of a file on as many threads as there are cores: the states of the threads, and what is wrong with
/// which line. Of each thread the first `max_errors` are told.
pub fn fold<S: Default + Send>(
    path: &Path,
    max_errors: usize,
    each: impl Fn(Line<'_>, &mut S) -> Result<(), String> + Sync,
) -> io::Result<(Vec<S>, Vec<Wrong>)> {
    let blocks = Mutex::new(Blocks::open(path)?);
    let work = || {
        let (mut state, mut errors, mut block) = (S::default(), Vec::new(), Vec::new());
        loop {
            // A thread that panicked ends the reading below.
            let next = {
                let mut blocks = blocks.lock().unwrap_or_else(PoisonError::into_inner);
                blocks.next(&mut block)?
            };
            let Some(start) = next else {
                return Ok::<_, io::Error>((state, errors));
            };
            for line in lines(&block, start) {
                if let Err(message) = each(line, &mut state)
                    && errors.len() < max_errors
                {
                    errors.push((line.number, message));
                }
            }
        }
    };
    let count = thread::available_parallelism().map_or(1, NonZero::get);
    let results: Vec<io::Result<Part<S>>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(work)).collect();
        let ends = threads.into_iter().map(|thread| {
            let end = thread.join();
            end.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        ends.collect()
    });
    let (mut states, mut errors) = (Vec::new(), Vec::new());
    for result in results {
        let (state, found) = result?;
        states.push(state);
        errors.extend(found);
    }
    Ok((states, errors))
}

/// The first line that is not blank, and its number.
pub fn first_line(path: &Path) -> io::Result<Option<(u64, String)>> {
    let (mut blocks, mut block) = (Blocks::open(path)?, Vec::new());
    while let Some(start) = blocks.next(&mut block)? {
        if let Some(line) = lines(&block, start).next() {
            let text = String::from_utf8_lossy(line.bytes).into_owned();
            return Ok(Some((line.number, text)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_whole_lines_and_know_where_they_stand() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let long = "x".repeat(3 * BLOCK_BYTES);
        let text = format!(
            "\u{feff}first\n\n{long}\n{}last",
            "row\r\n".repeat(BLOCK_BYTES / 4)
        );
        std::fs::write(&path, &text).unwrap();
        let mut blocks = Blocks::open(&path).unwrap();
        let (mut block, mut numbers, mut whole) = (Vec::new(), Vec::new(), String::new());
        while let Some(start) = blocks.next(&mut block).unwrap() {
            assert_eq!(start.offset, whole.len() as u64);
            whole.push_str(std::str::from_utf8(&block).unwrap());
            for line in lines(&block, start) {
                let at = usize::try_from(line.offset).unwrap();
                assert!(text.as_bytes()[at..].starts_with(line.bytes));
                assert_eq!(line.is_whole, line.bytes != b"last");
                numbers.push(line.number);
            }
        }
        assert_eq!(whole, text);
        let last = 4 + BLOCK_BYTES as u64 / 4;
        let expected: Vec<_> = [1].into_iter().chain(3..=last).collect();
        assert_eq!(numbers, expected);
    }
}
