//! What guards forbid where nearly every word of the answer stands in the context.
//!
//! There containment alone tells nothing, so a guard is worth what it forbids of what is wrong and lets pass of what is
//! right.

use std::collections::BTreeMap;

use crate::domain::dimension::Dimension;
use crate::domain::judgment::{Guard, Judgments};
use crate::domain::question::Question;
use crate::eval::summary::measured::proportion;
use crate::report::bench::{BenchGuarded, BenchGuards};

/// The counts of rows that are labelled ungrounded and grounded.
#[derive(Debug, Default)]
pub(super) struct GuardCounts([Guarded; 2]);

#[derive(Debug, Default)]
struct Guarded {
    rows: u64,
    vetoed: u64,
    mismatched: u64,
    by_guard: BTreeMap<Guard, u64>,
}

impl GuardCounts {
    /// Counts a row whose groundedness was judged.
    pub(super) fn add(&mut self, judgments: &Judgments, is_grounded: bool) {
        let Some(judged) = judgments[Question::about(Dimension::Groundedness)].judged() else {
            return;
        };
        let counts = &mut self.0[usize::from(is_grounded)];
        counts.rows += 1;
        counts.vetoed += u64::from(judged.vetoes_pass);
        let fired = judged.evidence.iter().flat_map(|shown| &shown.guards);
        let mut is_mismatch = false;
        for &guard in fired {
            *counts.by_guard.entry(guard).or_default() += 1;
            is_mismatch |= compares_words(guard);
        }
        counts.mismatched += u64::from(is_mismatch);
    }

    pub(super) fn report(&self) -> BenchGuards {
        let [ungrounded, grounded] = &self.0;
        BenchGuards {
            grounded: grounded.report(),
            ungrounded: ungrounded.report(),
        }
    }
}

impl Guarded {
    fn report(&self) -> BenchGuarded {
        BenchGuarded {
            row_count: self.rows,
            vetoed_count: self.vetoed,
            vetoed: proportion(self.vetoed, self.rows),
            mismatch_count: self.mismatched,
            mismatch: proportion(self.mismatched, self.rows),
            by_guard: self.by_guard.clone(),
        }
    }
}

/// Whether a guard is about a difference between the answer and its context.
const fn compares_words(guard: Guard) -> bool {
    match guard {
        Guard::MissingNumber
        | Guard::NumberConflict
        | Guard::MissingName
        | Guard::NegationParity
        | Guard::Antonym
        | Guard::WordOrder => true,
        Guard::QuotedContext | Guard::OffTopic | Guard::InjectionSignal => false,
    }
}
