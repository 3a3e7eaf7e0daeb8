//! One evaluation run: rows of a dataset through the cascade, lines of a rows file out, as they complete.
//!
//! Rows do not depend on each other: one that is over a limit, fails or even panics ends as a failed row. At most
//! `concurrency` rows are held at once, whatever the size of the dataset.

mod row;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

pub use self::row::Evaluation;
use self::row::{Heard, RowDone};
use super::record::Recorder;
use super::retry::is_failed;
use super::rows::read::RowsError;
use super::rows::write::LinesWriter;
use super::rows::{End, Leg, Row};
use super::summary::Summary;
use crate::dataset::load::{self, DatasetError};
use crate::domain::trace::JudgeId;
use crate::report::model::Mode;

/// Why a run ends before its last row.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The dataset cannot be read.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// A line cannot be written.
    #[error(transparent)]
    Rows(#[from] RowsError),
}

/// Where rows go.
pub struct Sink {
    /// The rows file.
    pub rows: LinesWriter,
    /// The replay file.
    pub recorder: Option<Recorder>,
    /// What the report is made from; a shard has none.
    pub summary: Option<Summary>,
}

/// What can be watched while a run goes on.
#[derive(Debug, Default)]
pub struct Counters {
    /// Rows that are done.
    pub done: AtomicU64,
    /// Of these, rows that failed in at least one mode.
    pub failed: AtomicU64,
    /// The cost of the legs whose cost is known, in 1e-9 US dollars.
    pub known_nano_usd: AtomicI64,
    /// Legs whose cost is not known.
    pub unknown_costs: AtomicU64,
    /// Modes with a usable answer to some row, and those with failed rows alone.
    answers: Mutex<BTreeMap<Mode, bool>>,
}

impl Counters {
    /// Counts a row that is done.
    pub fn count(&self, row: &Row) {
        self.done.fetch_add(1, Ordering::Relaxed);
        if is_failed(row) {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        for Leg { nano_usd, .. } in [&row.atomic, &row.fallback, &row.baseline]
            .into_iter()
            .flatten()
        {
            match nano_usd {
                Some(known) => self.known_nano_usd.fetch_add(*known, Ordering::Relaxed),
                None => self.unknown_costs.fetch_add(1, Ordering::Relaxed) as i64,
            };
        }
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        for (mode, end) in &row.ends {
            match end {
                End::Answered(_) => answers.insert(*mode, true),
                End::Failed { .. } => Some(*answers.entry(*mode).or_insert(false)),
                End::NotAssessable { .. } => None,
            };
        }
    }

    /// The modes in which rows failed and none has a usable answer.
    pub fn without_answer(&self) -> Vec<Mode> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let without = answers.iter().filter(|(_, has_answer)| !**has_answer);
        without.map(|(mode, _)| *mode).collect()
    }
}

/// What a run tells beside its rows; it differs from run to run.
#[derive(Debug, Clone, Default)]
pub struct RunEnd {
    /// Rows that were evaluated.
    pub row_count: u64,
    /// Rows that are over a limit of a trace, and the first of them with its place.
    pub over_limit: Troubles,
    /// Rows in which the program itself went wrong, and the first of them with its place.
    pub panicked: Troubles,
    /// Calls to judges that failed, and the first of them with its place.
    pub failed_calls: Troubles,
    /// What the program itself added to waiting for judges, over all diagnoses.
    pub overhead: Duration,
    /// Diagnoses that this is over.
    pub diagnosis_count: u64,
    /// The longest.
    pub max_overhead: Duration,
    /// Whether it was stopped before its last row.
    pub is_stopped: bool,
    /// The judge over HTTP that stopped it by giving nothing for [`OUTAGE_ROWS`] rows in a row.
    pub silent_judge: Option<JudgeId>,
    silent_rows: usize,
}

/// So many rows in a row, without an answer of a judge that was asked over HTTP, are an outage: to go on would write off
/// what is left, or send it to the dearer judge.
pub const OUTAGE_ROWS: usize = 100;

/// How often something happened, and what was told of it first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Troubles {
    /// How often.
    pub count: u64,
    /// Of the first.
    pub first: Option<String>,
}

impl Troubles {
    fn add(&mut self, told: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(told);
    }
}

/// Evaluates `rows`, at most `concurrency` at once; once `stop` is over, no further row is begun.
pub async fn run(
    evaluation: &Arc<Evaluation>,
    mut rows: impl Iterator<Item = Result<load::Row, DatasetError>>,
    concurrency: usize,
    sink: &mut Sink,
    counters: &Counters,
    stop: impl Future<Output = ()>,
) -> Result<RunEnd, RunError> {
    let mut end = RunEnd::default();
    let mut tasks = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        if end.silent_judge.is_some() {
            break;
        }
        while tasks.len() < concurrency {
            let Some(row) = rows.next().transpose()? else {
                break;
            };
            let evaluation = Arc::clone(evaluation);
            tasks.spawn(async move { evaluation.row(row).await });
        }
        tokio::select! {
            biased;
            () = &mut stop => {
                end.is_stopped = true;
                break;
            }
            done = tasks.join_next() => match done {
                Some(done) => end.keep(done.ok(), sink, counters)?,
                None => break,
            },
        }
    }
    // What is in flight ends by its deadlines; what does not is asked again by the next run.
    let in_flight = async {
        while let Some(done) = tasks.join_next().await {
            end.keep(done.ok(), sink, counters)?;
        }
        Ok::<_, RunError>(())
    };
    if let Ok(kept) = timeout(evaluation.longest(), in_flight).await {
        kept?;
    }
    sink.rows.sync()?;
    Ok(end)
}

impl RunEnd {
    /// Writes a row down: first its recorded answers, so that no row is there without them.
    fn keep(
        &mut self,
        done: Option<RowDone>,
        sink: &mut Sink,
        counters: &Counters,
    ) -> Result<(), RunError> {
        // A task is never aborted while it is waited for, and its panic was caught within it.
        let Some(done) = done else {
            return Ok(());
        };
        if let Some(recorder) = &mut sink.recorder {
            recorder.add(&done.recorded)?;
        }
        sink.rows.add(&done.row)?;
        if let Some(summary) = &mut sink.summary {
            summary.add(&done.row);
        }
        counters.count(&done.row);
        self.row_count += 1;
        self.watch(&done.heard);
        if let Some(told) = done.over_limit {
            self.over_limit.add(|| told);
        }
        if let Some(told) = done.panicked {
            self.panicked.add(|| told);
        }
        for told in done.failed_calls {
            self.failed_calls.add(|| told);
        }
        for overhead in done.overheads {
            self.overhead += overhead;
            self.diagnosis_count += 1;
            self.max_overhead = self.max_overhead.max(overhead);
        }
        Ok(())
    }
    /// Counts rows in which judges over HTTP were asked and gave nothing.
    fn watch(&mut self, heard: &Heard) {
        match heard {
            Heard::Nobody => (),
            Heard::Answer => self.silent_rows = 0,
            Heard::Silence(judge_id) => {
                self.silent_rows += 1;
                if self.silent_rows == OUTAGE_ROWS {
                    self.silent_judge = Some(judge_id.clone());
                }
            }
        }
    }
}
