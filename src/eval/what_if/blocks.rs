//! Files in blocks of whole lines, handed to whoever asks next.
//!
//! Memory is bounded by the length of a block, or of the longest line, whatever the length of the file.

use std::fs::File;
use std::io::{self, BufRead as _, Read as _};
use std::iter;
use std::path::Path;

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
            let end = block.iter().rposition(|&byte| byte == b'\n');
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
        self.lines += line_end_count(block);
        self.offset += block.len() as u64;
        Ok(Some(start))
    }
}

/// How many line ends there are. Sums of one byte over as many bytes as it can count are what compilers make fast.
fn line_end_count(block: &[u8]) -> u64 {
    let count = |bytes: &[u8]| -> u8 { bytes.iter().map(|&byte| u8::from(byte == b'\n')).sum() };
    block
        .chunks(usize::from(u8::MAX))
        .map(|bytes| u64::from(count(bytes)))
        .sum()
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

/// All lines with their ends. The search for an end is that of buffered readers, which looks at many bytes at once.
fn raw_lines(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = block;
    iter::from_fn(move || {
        let all = rest;
        // A slice in memory can always be read.
        let length = rest.skip_until(b'\n').unwrap_or(all.len());
        (0 < length).then(|| &all[..length])
    })
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
        assert_eq!(
            line_end_count(text.as_bytes()),
            text.matches('\n').count() as u64
        );
        assert_eq!(line_end_count(&[b'\n'; 1000]), 1000);
        let last = 4 + BLOCK_BYTES as u64 / 4;
        let expected: Vec<_> = [1].into_iter().chain(3..=last).collect();
        assert_eq!(numbers, expected);
    }
}
