//! What one judge has cost: in the last minute, second by second, and in the day.

use std::collections::BTreeMap;

use crate::artifact::spend::SpentRow;
use crate::domain::outcome::NanoUsd;

/// A call counts for the minute until it is so many seconds old.
const MINUTE_SECONDS: u64 = 60;

/// What is spent and reserved on one judge.
#[derive(Debug, Default)]
pub(super) struct Account {
    seconds: BTreeMap<u64, SpentRow>,
    pub(super) day: SpentRow,
    /// What the dearest ask of the day cost.
    pub(super) dearest: NanoUsd,
}

impl Account {
    /// Forgets what is older than a minute; a second counts until all of it is.
    pub(super) fn forget_before(&mut self, second: u64) {
        let first = second.saturating_sub(MINUTE_SECONDS);
        self.seconds = self.seconds.split_off(&first);
    }

    /// The sum of the last minute.
    pub(super) fn minute(&self) -> SpentRow {
        self.seconds
            .values()
            .fold(SpentRow::default(), |sum, row| plus(sum, *row))
    }

    /// Adds to both windows.
    pub(super) fn add(&mut self, second: u64, row: SpentRow) {
        let entry = self.seconds.entry(second).or_default();
        *entry = plus(*entry, row);
        self.day = plus(self.day, row);
    }

    /// Puts one row in the place of another that was added in that second, where that still counts.
    pub(super) fn replace(&mut self, second: u64, is_same_day: bool, old: SpentRow, new: SpentRow) {
        if let Some(entry) = self.seconds.get_mut(&second) {
            *entry = plus(minus(*entry, old), new);
        }
        if is_same_day {
            self.day = plus(minus(self.day, old), new);
        }
    }
}

fn plus(a: SpentRow, b: SpentRow) -> SpentRow {
    SpentRow {
        nano_usd: a.nano_usd.plus(b.nano_usd),
        call_count: a.call_count.saturating_add(b.call_count),
    }
}

fn minus(a: SpentRow, b: SpentRow) -> SpentRow {
    SpentRow {
        nano_usd: NanoUsd(a.nano_usd.0.saturating_sub(b.nano_usd.0)),
        call_count: a.call_count.saturating_sub(b.call_count),
    }
}
