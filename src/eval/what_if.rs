//! What-if: recorded judgments under two policies, without a call to a judge.
//!
//! A file is read once, replay rows twice, in blocks, by as many threads as there are cores. What a thread finds is counts, which add up in
//! any order, so that the same file gives the same bytes on any machine.

pub mod blocks;
pub mod counts;
pub mod data;
pub mod decide;
pub mod difference;
pub mod index;
pub mod parts;
pub mod recorded;
pub mod replay_line;
pub mod rows_line;
pub mod verdict_line;
#[cfg(test)]
mod tests;

use std::fs::{self, Metadata};
use std::io;
use std::num::NonZero;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::thread;

use self::blocks::{Blocks, Line, lines};
use self::counts::{Asked, Counts};
use self::data::Dataset;
use self::decide::{Case, Decision, Served};
use self::difference::{Difference, Kind, NotDecided};
use self::index::Index;
use self::recorded::{Judges, Recorded};
use crate::artifact::lines::{self, LineError, Place};
use crate::artifact::policy::PolicySnapshot;
use crate::pricing::PriceTable;
use crate::report::model::SnapshotInfo;

/// How many bad lines are told.
const MAX_ERRORS: usize = 100;

/// What is compared on what.
#[derive(Debug, Clone, Copy)]
pub struct WhatIf<'a> {
    /// The rows.
    pub file: &'a Path,
    /// The first policy.
    pub before: &'a PolicySnapshot,
    /// The second policy.
    pub after: &'a PolicySnapshot,
    /// What else is known about the traces.
    pub data: Option<&'a Dataset>,
    /// Whose replay rows play which role.
    pub roles: Roles<'a>,
    /// The prices of replay rows.
    pub prices: Option<&'a PriceTable>,
    /// How many examples are told of each flip.
    pub examples: usize,
}

/// The judges of replay rows by role.
#[derive(Debug, Clone, Copy, Default)]
pub struct Roles<'a> {
    /// The atomic judge; it may be left out of a file of one judge.
    pub atomic: Option<&'a str>,
    /// The fallback judge.
    pub fallback: Option<&'a str>,
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum WhatIfError {
    /// A file cannot be read.
    #[error("cannot read `{file}`: {reason}")]
    Io {
        /// The file.
        file: String,
        /// Why.
        reason: io::Error,
    },
    /// Lines are wrong; the first of them are listed.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Lines(Vec<LineError>),
    /// There is no row.
    #[error("{0} holds no row")]
    Empty(String),
    /// What was asked does not fit the file.
    #[error("{0}")]
    Asked(String),
}

/// Compares two policies on the rows of a file.
pub fn compare(asked_for: &WhatIf<'_>) -> Result<Difference, WhatIfError> {
    let scan = Scan::new(asked_for)?;
    let (index, mut errors) = match scan.kind {
        Kind::Replay => {
            let (index, errors) = Index::read(&scan)?;
            scan.check_roles(&index)?;
            (Some(index), errors)
        }
        Kind::Verdicts | Kind::Rows => (None, Vec::new()),
    };
    let (counts, found) = scan.fold(|line, (counts, judges): &mut (Counts, Judges)| {
        scan.line(line, index.as_ref(), counts, judges)
    })?;
    let counts = counts.into_iter().map(|(counts, _)| counts);
    let counts = counts
        .reduce(|sum, counts| sum.plus(counts, asked_for.examples))
        .unwrap_or_default();
    errors.extend(found);
    if !errors.is_empty() {
        errors.sort_by_key(|error| error.place.line);
        errors.truncate(MAX_ERRORS);
        return Err(WhatIfError::Lines(errors));
    }
    let policies = [asked_for.before, asked_for.after].map(|snapshot| SnapshotInfo {
        id: snapshot.id.id.to_string(),
        sha256: snapshot.id.sha256.to_string(),
    });
    let difference = counts.difference(scan.kind, policies);
    if difference.row_count == 0 && difference.not_decided.is_empty() {
        return Err(WhatIfError::Empty(scan.name));
    }
    Ok(difference)
}

/// What one thread made of its blocks: its state, and the lines that are wrong.
type Part<S> = (S, Vec<(u64, String)>);

/// A file of a known kind.
struct Scan<'q> {
    asked_for: &'q WhatIf<'q>,
    asked: Asked<'q>,
    name: String,
    kind: Kind,
    /// Its first line that is not blank, which of a rows file is the header.
    first_line: u64,
    /// The judge whose rows are decided, in replay rows.
    atomic: String,
}

impl<'q> Scan<'q> {
    fn new(asked_for: &'q WhatIf<'q>) -> Result<Self, WhatIfError> {
        let name = asked_for.file.display().to_string();
        // It is read more than once, and a pipe would be waited for.
        let is_other = |file: Metadata| !file.is_file();
        if fs::metadata(asked_for.file).is_ok_and(is_other) {
            return Err(WhatIfError::Asked(format!(
                "--on: `{name}` is not a regular file"
            )));
        }
        let first = first_line(asked_for.file).map_err(|source| WhatIfError::Io {
            file: name.clone(),
            reason: source,
        })?;
        let Some((number, first)) = first else {
            return Err(WhatIfError::Empty(name));
        };
        let place = place(&name, number);
        lines::check_first(&place, &first).map_err(|error| WhatIfError::Lines(vec![error]))?;
        let (kind, judge_id) = index::recognised(&first)
            .map_err(|message| WhatIfError::Lines(vec![place.error(message)]))?;
        let roles = asked_for.roles;
        if kind != Kind::Replay {
            let flags = [
                ("--atomic", roles.atomic.is_some()),
                ("--fallback", roles.fallback.is_some()),
                ("--pricing", asked_for.prices.is_some()),
            ];
            if let Some((flag, _)) = flags.into_iter().find(|(_, is_given)| *is_given) {
                return Err(WhatIfError::Asked(format!(
                    "{flag} is for replay rows, and {name} holds {kind}"
                )));
            }
        }
        if kind == Kind::Rows && asked_for.data.is_some() {
            return Err(WhatIfError::Asked(format!(
                "--data is for rows without labels, and {name} holds {kind}, which have theirs"
            )));
        }
        let asked = Asked {
            policies: [&asked_for.before.policy, &asked_for.after.policy],
            examples: asked_for.examples,
        };
        let atomic = roles.atomic.map_or(judge_id, str::to_owned);
        Ok(Self {
            asked_for,
            asked,
            name,
            kind,
            first_line: number,
            atomic,
        })
    }

    /// Where no role was said there is one judge.
    fn check_roles(&self, index: &Index) -> Result<(), WhatIfError> {
        let is_said = self.asked_for.roles.atomic.is_some();
        let other = index.other_judge(&self.atomic).filter(|_| !is_said);
        other.map_or(Ok(()), |other| {
            Err(WhatIfError::Asked(format!(
                "{} holds rows of the judges `{}` and `{other}`; say with --atomic and --fallback which role each has",
                self.name, self.atomic
            )))
        })
    }

    /// Reads every line on as many threads as there are cores; each has a state of its own.
    fn fold<S: Default + Send>(
        &self,
        each: impl Fn(Line<'_>, &mut S) -> Result<(), String> + Sync,
    ) -> Result<(Vec<S>, Vec<LineError>), WhatIfError> {
        let unreadable = |source| WhatIfError::Io {
            file: self.name.clone(),
            reason: source,
        };
        let blocks = Mutex::new(Blocks::open(self.asked_for.file).map_err(unreadable)?);
        let work = || {
            let (mut state, mut errors, mut block) = (S::default(), Vec::new(), Vec::new());
            loop {
                // A thread that panicked ends the scan below.
                let next = {
                    let mut blocks = blocks.lock().unwrap_or_else(PoisonError::into_inner);
                    blocks.next(&mut block)?
                };
                let Some(start) = next else {
                    return Ok::<_, io::Error>((state, errors));
                };
                for line in lines(&block, start) {
                    if let Err(message) = each(line, &mut state)
                        && errors.len() < MAX_ERRORS
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
            let (state, found) = result.map_err(unreadable)?;
            states.push(state);
            errors.extend(found);
        }
        errors.sort();
        errors.truncate(MAX_ERRORS);
        let errors = errors
            .into_iter()
            .map(|(number, message)| place(&self.name, number).error(message));
        Ok((states, errors.collect()))
    }

    fn line(
        &self,
        line: Line<'_>,
        index: Option<&Index>,
        counts: &mut Counts,
        judges: &mut Judges,
    ) -> Result<(), String> {
        let text = utf8(line)?;
        // What an evaluation was writing when it was killed.
        let may_be_cut_off = self.kind == Kind::Rows && !line.is_whole;
        let row = match self.kind {
            Kind::Verdicts => verdict_line::read(text).map(Some),
            Kind::Rows if line.number == self.first_line => return Ok(()),
            Kind::Rows => rows_line::read(text).map(Some),
            Kind::Replay => self.replayed(text, counts)?,
        };
        let mut row = match row {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(()),
            Err(_) if may_be_cut_off => {
                counts.cut_off();
                return Ok(());
            }
            Err(error) => return Err(message(&error)),
        };
        self.complete(&mut row, counts)?;
        self.decide(row, index, counts, judges)
    }
}

impl Scan<'_> {
    /// A replay row of the atomic judge; rows of the other one are looked up where they are needed.
    fn replayed<'a>(
        &self,
        text: &'a str,
        counts: &mut Counts,
    ) -> Result<serde_json::Result<Option<Recorded<'a>>>, String> {
        let roles = self.asked_for.roles;
        let row = match replay_line::Line::read(text) {
            Ok(row) => row,
            Err(error) => return Ok(Err(error)),
        };
        if row.judge_id() == self.atomic {
            return Ok(Ok(Some(row.recorded(self.asked_for.prices))));
        }
        if roles.fallback != Some(row.judge_id()) {
            counts.not_decided(NotDecided::OtherJudge);
        }
        Ok(Ok(None))
    }

    /// Adds what the dataset knows.
    fn complete<'a>(&'a self, row: &mut Recorded<'a>, counts: &mut Counts) -> Result<(), String> {
        let Some(data) = self.asked_for.data else {
            return Ok(());
        };
        let is_known = match self.kind {
            Kind::Replay => data.complete(row)?,
            Kind::Verdicts | Kind::Rows => data.label(row),
        };
        if !is_known {
            counts.not_in_data();
        }
        Ok(())
    }

    fn decide<'a>(
        &'a self,
        mut row: Recorded<'a>,
        index: Option<&Index>,
        counts: &mut Counts,
        judges: &mut Judges,
    ) -> Result<(), String> {
        if !row.is_assessable {
            counts.not_assessable(self.asked, &row);
            return Ok(());
        }
        if row.has_ended {
            counts.not_decided(NotDecided::AtomicFailed);
            return Ok(());
        }
        let Some(mut decisions) = self.decisions(&row, judges) else {
            counts.not_decided(NotDecided::NoAtomicAnswers);
            return Ok(());
        };
        let is_missing = |decision: &Decision| decision.served == Served::NotRecorded;
        if let Some(index) = index
            && decisions.iter().any(is_missing)
            && let Some(judge_id) = self.asked_for.roles.fallback
            && let Some(line) = index.line(judge_id, &row.trace_id)?
        {
            let fallback = replay_line::Line::read(&line).map_err(|error| message(&error))?;
            row.fallback = Some(Box::new(fallback.leg(self.asked_for.prices).into_owned()));
            decisions = self.decisions(&row, judges).unwrap_or(decisions);
        }
        counts.add(self.asked, &row, decisions);
        Ok(())
    }

    fn decisions(&self, row: &Recorded<'_>, judges: &mut Judges) -> Option<[Decision; 2]> {
        let case = Case::new(row, judges)?;
        Some(
            self.asked
                .policies
                .map(|policy| case.decide(policy, judges)),
        )
    }
}

fn utf8(line: Line<'_>) -> Result<&str, String> {
    std::str::from_utf8(line.bytes).map_err(|_| "is not UTF-8".to_owned())
}

fn message(error: &serde_json::Error) -> String {
    if error.line() == 0 {
        error.to_string()
    } else {
        crate::artifact::lines::without_line(error)
    }
}

fn place(file: &str, number: u64) -> Place {
    Place {
        file: file.to_owned(),
        line: usize::try_from(number).unwrap_or(usize::MAX),
    }
}

/// The first line that is not blank, and its number.
fn first_line(path: &Path) -> io::Result<Option<(u64, String)>> {
    let (mut blocks, mut block) = (Blocks::open(path)?, Vec::new());
    while let Some(start) = blocks.next(&mut block)? {
        if let Some(line) = lines(&block, start).next() {
            let text = String::from_utf8_lossy(line.bytes).into_owned();
            return Ok(Some((line.number, text)));
        }
    }
    Ok(None)
}
