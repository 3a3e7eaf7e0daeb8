//! Totals of the demonstration, and what they would be without the atomic judge.

use std::collections::BTreeMap;

use crate::artifact::replay::ReplayRow;
use crate::artifact::verdict::VerdictRow;
use crate::artifact::{lines, pricing};
use crate::domain::diagnosis::Diagnosis;
use crate::domain::outcome::{JudgeRole, NanoUsd, Route};

/// Sums over verdicts.
#[derive(Debug, Default)]
pub(super) struct Tally {
    diagnoses: BTreeMap<Diagnosis, usize>,
    routes: BTreeMap<Route, usize>,
    judged: usize,
    cost: NanoUsd,
    unpriced: usize,
    wait_ms: f64,
    labelled: usize,
    wrong: Vec<String>,
}

/// The recorded fallback judge asked about everything.
#[derive(Debug, Default)]
pub(super) struct Alternative {
    rows: usize,
    cost: NanoUsd,
    wait_ms: f64,
}

impl Alternative {
    /// Adds the recorded calls up.
    pub(super) fn read(replays: &str, prices: &str) -> anyhow::Result<Self> {
        let table = pricing::read("pricing/demo.json", prices)?.table;
        let mut sum = Self::default();
        for (_, row) in lines::read::<ReplayRow>("replays/demo-fallback.jsonl", replays) {
            let row = row?;
            let cost = row
                .model
                .as_deref()
                .zip(row.usage)
                .and_then(|(model, usage)| table.cost(model, &usage));
            sum.rows += 1;
            sum.cost = sum
                .cost
                .plus(cost.ok_or_else(|| anyhow::anyhow!("a recorded call has no price"))?);
            sum.wait_ms += row.latency_ms as f64;
        }
        Ok(sum)
    }
}

impl Tally {
    pub(super) fn add(&mut self, row: &VerdictRow, label: Option<Diagnosis>) {
        *self.diagnoses.entry(row.diagnosis).or_default() += 1;
        if let Some(label) = label {
            self.labelled += 1;
            if label != row.diagnosis {
                self.wrong
                    .push(format!("{} (labelled {label})", row.trace_id));
            }
        }
        if row.diagnosis == Diagnosis::NotAssessable {
            return;
        }
        *self.routes.entry(row.route).or_default() += 1;
        if row
            .judge_calls
            .iter()
            .any(|call| call.role == JudgeRole::Atomic)
        {
            self.judged += 1;
            self.wait_ms += row.timing.total_ms;
        }
        match row.cost.total_nano_usd {
            Some(cost) => self.cost = self.cost.plus(NanoUsd(cost)),
            None => self.unpriced += 1,
        }
    }

    /// The totals in words.
    pub(super) fn summary(&self, alternative: &Alternative) -> String {
        let total: usize = self.diagnoses.values().sum();
        let assessed: usize = self.routes.values().sum();
        let of = |route| self.routes.get(&route).copied().unwrap_or(0);
        let needed = of(Route::Fallback) + of(Route::FallbackUnavailable);
        let mut lines = vec![format!("{total} traces")];
        lines.extend(
            self.diagnoses
                .iter()
                .map(|(diagnosis, n)| format!("  {n:>3}  {diagnosis}")),
        );
        lines.push(format!(
            "right: {} of {} labelled traces; not: {}",
            self.labelled - self.wrong.len(),
            self.labelled,
            self.wrong.join(", "),
        ));
        lines.push(format!(
            "fallback rate {:.1} % ({needed} of {assessed} assessable traces; {} answered, {} unavailable)",
            100.0 * share(needed, assessed),
            of(Route::Fallback),
            of(Route::FallbackUnavailable),
        ));
        let unpriced = match self.unpriced {
            0 => String::new(),
            n => format!(", {n} traces of unknown cost left out"),
        };
        lines.push(format!(
            "cascade: {} for {assessed} traces{unpriced}, {:.0} ms a judged trace",
            self.cost,
            self.wait_ms / self.judged.max(1) as f64,
        ));
        lines.push(format!(
            "the fallback judge for everything: {} for the {} traces that it has answers to, {:.0} ms a trace",
            alternative.cost,
            alternative.rows,
            alternative.wait_ms / alternative.rows.max(1) as f64,
        ));
        lines.push(format!(
            "saved: {} ({:.1} %)\n",
            NanoUsd(alternative.cost.0 - self.cost.0),
            100.0 * (1.0 - self.cost.0 as f64 / alternative.cost.0.max(1) as f64),
        ));
        lines.join("\n")
    }
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}
