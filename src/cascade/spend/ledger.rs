//! The ledger of one process: what every judge has cost, and what of that outlives a restart.
//!
//! Minutes are counted on the monotonic clock, days on the wall clock in UTC. A wall clock that steps back by less than a
//! day and around midnight does not give the day's money out twice.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use super::account::Account;
use super::bill::Bill;
use super::store::{self, Store};
use super::{SpendError, SpendOptions};
use crate::artifact::spend::{SpendState, SpentRow};
use crate::domain::outcome::NanoUsd;
use crate::domain::trace::JudgeId;

/// Tells the wall time.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// How spending is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerOptions {
    /// How many processes share each cap; 1 for this one alone.
    pub fleet_size: u32,
    /// Where the counters of the day are kept; `None` forgets them with the process. Each process needs its own.
    pub state_file: Option<PathBuf>,
}

/// What every judge of one process has cost.
pub struct Ledger {
    fleet_size: u32,
    clock: Clock,
    origin: Instant,
    books: Arc<Mutex<Books>>,
    store: Option<Store>,
}

/// The accounts of one day.
#[derive(Debug, Default)]
pub(super) struct Books {
    utc_day: u64,
    accounts: BTreeMap<JudgeId, Account>,
}

/// What is set aside for an ask until its cost is known.
#[derive(Debug)]
pub(super) struct Reservation {
    judge_id: JudgeId,
    second: u64,
    utc_day: u64,
    row: SpentRow,
}

impl Ledger {
    /// A ledger that goes on where its state file ends.
    pub fn new(options: LedgerOptions, clock: Clock) -> Result<Arc<Self>, SpendError> {
        let mut books = Books::default();
        books.turn_to(utc_day(&clock));
        if let Some(file) = &options.state_file {
            books.take(store::read(file)?);
        }
        let books = Arc::new(Mutex::new(books));
        let store = options
            .state_file
            .map(|file| Store::open(file, Arc::clone(&books)));
        Ok(Arc::new(Self {
            fleet_size: options.fleet_size.max(1),
            clock,
            origin: Instant::now(),
            books,
            store: store.transpose()?,
        }))
    }

    /// Writes the state file, if there is one and something changed.
    pub fn flush(&self) {
        if let Some(store) = &self.store {
            store.flush();
        }
    }

    pub(super) const fn fleet_size(&self) -> u32 {
        self.fleet_size
    }

    /// Sets aside so many calls and what they may cost together, or names the cap that has no room for it.
    ///
    /// No ask is taken to be cheaper than the dearest of the day: an estimate that was too low once is so no more.
    pub(super) fn reserve(
        &self,
        judge_id: &JudgeId,
        caps: &SpendOptions,
        call_count: u64,
        estimate: NanoUsd,
    ) -> Result<Reservation, &'static str> {
        let (second, mut books) = self.now();
        let utc_day = books.utc_day;
        let account = books.account(judge_id, second);
        let row = SpentRow {
            nano_usd: estimate.max(account.dearest),
            call_count,
        };
        let (minute, day) = (account.minute(), account.day);
        let has_money = |cap: Option<NanoUsd>, used: SpentRow| {
            cap.is_none_or(|cap| used.nano_usd.plus(row.nano_usd) <= cap)
        };
        let has_calls = |cap: Option<u64>, used: SpentRow| {
            cap.is_none_or(|cap| used.call_count.saturating_add(row.call_count) <= cap)
        };
        for (has_room, key) in [
            (has_calls(caps.calls_per_day, day), "calls_per_day"),
            (has_money(caps.usd_per_day, day), "usd_per_day"),
            (has_calls(caps.calls_per_minute, minute), "calls_per_minute"),
            (has_money(caps.usd_per_minute, minute), "usd_per_minute"),
        ] {
            if !has_room {
                return Err(key);
            }
        }
        account.add(second, row);
        drop(books);
        self.changed();
        Ok(Reservation {
            judge_id: judge_id.clone(),
            second,
            utc_day,
            row,
        })
    }

    /// Puts what an ask cost in the place of what was set aside for it.
    pub(super) fn settle(&self, reservation: &Reservation, bill: Bill) {
        let (second, mut books) = self.now();
        let is_same_day = books.utc_day == reservation.utc_day;
        let account = books.account(&reservation.judge_id, second);
        let reserved = reservation.row.nano_usd;
        let nano_usd = if bill.may_be_more {
            reserved.max(bill.known)
        } else {
            bill.known
        };
        let row = SpentRow {
            nano_usd,
            call_count: bill.call_count,
        };
        account.replace(reservation.second, is_same_day, reservation.row, row);
        account.dearest = account.dearest.max(bill.known);
        drop(books);
        self.changed();
    }

    /// How much of the caps of a minute and of a day is used or set aside; `None` without such a cap.
    pub(super) fn used(&self, judge_id: &JudgeId, caps: &SpendOptions) -> [Option<f64>; 2] {
        let (second, mut books) = self.now();
        let account = books.account(judge_id, second);
        let (minute, day) = (account.minute(), account.day);
        drop(books);
        let fuller = |usd: Option<NanoUsd>, calls: Option<u64>, used: SpentRow| {
            let usd = usd.map(|cap| ratio(used.nano_usd.0 as f64, cap.0 as f64));
            let calls = calls.map(|cap| ratio(used.call_count as f64, cap as f64));
            match (usd, calls) {
                (Some(usd), Some(calls)) => Some(usd.max(calls)),
                (usd, calls) => usd.or(calls),
            }
        };
        [
            fuller(caps.usd_per_minute, caps.calls_per_minute, minute),
            fuller(caps.usd_per_day, caps.calls_per_day, day),
        ]
    }

    /// The books of today and the second of the process.
    fn now(&self) -> (u64, MutexGuard<'_, Books>) {
        let second = self.origin.elapsed().as_secs();
        let utc_day = utc_day(&self.clock);
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        books.turn_to(utc_day);
        (second, books)
    }

    fn changed(&self) {
        if let Some(store) = &self.store {
            store.changed();
        }
    }
}

impl Books {
    /// Begins a new day, unless the clock only stepped back over midnight.
    fn turn_to(&mut self, utc_day: u64) {
        if utc_day != self.utc_day && utc_day + 1 != self.utc_day {
            self.utc_day = utc_day;
            for account in self.accounts.values_mut() {
                account.day = SpentRow::default();
                account.dearest = NanoUsd::ZERO;
            }
        }
    }

    /// Goes on with what was spent today.
    fn take(&mut self, state: SpendState) {
        if state.utc_day == self.utc_day || state.utc_day == self.utc_day + 1 {
            self.utc_day = state.utc_day;
            for (judge_id, row) in state.judges {
                self.accounts.entry(judge_id).or_default().day = row;
            }
        }
    }

    fn account(&mut self, judge_id: &JudgeId, second: u64) -> &mut Account {
        let account = self.accounts.entry(judge_id.clone()).or_default();
        account.forget_before(second);
        account
    }

    /// What outlives a restart.
    pub(super) fn state(&self) -> SpendState {
        let accounts = self.accounts.iter();
        SpendState {
            utc_day: self.utc_day,
            judges: accounts
                .map(|(id, account)| (id.clone(), account.day))
                .collect(),
        }
    }
}

fn utc_day(clock: &Clock) -> u64 {
    const DAY_SECONDS: u64 = 24 * 60 * 60;
    let since = clock().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs() / DAY_SECONDS
}

/// A cap of nothing is always full.
fn ratio(used: f64, cap: f64) -> f64 {
    if cap > 0.0 { used / cap } else { 1.0 }
}
