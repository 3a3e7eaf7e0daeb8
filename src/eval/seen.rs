//! Which rows are there: about one bit a row, so that a million rows take some hundred kB.

use std::collections::BTreeMap;
use std::ops::Range;

/// Rows of one word.
const WORD: u64 = 64;

/// A set of rows of one dataset.
#[derive(Debug, Clone)]
pub struct Seen {
    /// By the place of the word; one that is absent holds none.
    words: BTreeMap<u64, u64>,
    row_count: u64,
    count: u64,
}

impl Seen {
    /// None of so many rows.
    pub const fn none(row_count: u64) -> Self {
        Self {
            words: BTreeMap::new(),
            row_count,
            count: 0,
        }
    }

    /// Adds a row; false if it was there already or is none of the dataset.
    pub fn insert(&mut self, row: u64) -> bool {
        let is_new = row < self.row_count && !self.contains(row);
        if is_new {
            *self.words.entry(row / WORD).or_default() |= 1 << (row % WORD);
            self.count += 1;
        }
        is_new
    }

    /// Whether a row is there.
    pub fn contains(&self, row: u64) -> bool {
        let word = self.words.get(&(row / WORD));
        word.is_some_and(|word| word & (1 << (row % WORD)) != 0)
    }

    /// How many are there.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The rows that are not there, as ranges in order.
    pub fn missing(&self) -> impl Iterator<Item = Range<u64>> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let start = (from..self.row_count).find(|row| !self.contains(*row))?;
            from = self.next(start);
            Some(start..from)
        })
    }

    /// The first row from `from` on that is there, or the end; words that hold none are not looked through.
    fn next(&self, from: u64) -> u64 {
        let words = self.words.range(from / WORD..);
        let rows = words.flat_map(|(place, word)| {
            let rows = (0..WORD).filter(move |bit| word & (1 << bit) != 0);
            rows.map(move |bit| place * WORD + bit)
        });
        let mut rows = rows.filter(|row| from <= *row);
        rows.next().unwrap_or(self.row_count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_counts_once_and_what_is_missing_is_told_by_ranges() {
        let mut seen = Seen::none(130);
        for row in (0..64).chain(70..129) {
            assert!(seen.insert(row));
        }
        assert!(!seen.insert(5));
        assert!(!seen.insert(130));
        assert_eq!(seen.count(), 123);
        assert_eq!(seen.missing().collect::<Vec<_>>(), [64..70, 129..130]);
        assert_eq!(Seen::none(0).missing().count(), 0);
        // What a header claims takes neither memory nor time.
        let none = Seen::none(u64::MAX);
        assert!(none.missing().eq(std::iter::once(0..u64::MAX)));
    }
}
