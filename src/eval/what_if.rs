//! What-if: recorded judgments under two policies, without a call to a judge.
//!
//! A file is read once, in blocks, by as many threads as there are cores; where rows of a fallback judge may stand anywhere,
//! they are looked for first. What a thread finds is counts, which add up in any order, so that the same file gives the
//! same bytes on any machine.

pub mod blocks;
pub mod counts;
pub mod data;
pub mod decide;
pub mod difference;
pub mod index;
pub mod parts;
pub mod recorded;
mod repeats;
pub mod replay_line;
pub mod rows_line;
pub mod verdict_line;
mod whose;
#[cfg(test)]
mod tests;

use std::fs::{self, Metadata};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::Path;

use self::blocks::Line;
use self::counts::{Asked, Counts};
use self::data::Dataset;
use self::decide::{Case, Decision, Served};
use self::difference::{Difference, Kind, NotDecided};
use self::index::Index;
use self::parts::Text;
use self::recorded::{Judges, Recorded};
use self::repeats::Met;
use self::replay_line::Names;
use self::whose::Whose;
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
    let fallback = asked_for.roles.fallback;
    let index = fallback.map(|judge_id| Index::read(&scan, judge_id));
    let index = index.transpose()?;
    let (parts, found) =
        scan.fold(|line, part: &mut Part| scan.line(line, index.as_ref(), part))?;
    let parts = parts.into_iter();
    let part = parts.reduce(|sum, part| sum.plus(part, asked_for.examples));
    let Part {
        counts, met, whose, ..
    } = part.unwrap_or_default();
    if scan.kind == Kind::Replay {
        scan.check_roles(&whose)?;
    }
    let mut errors = scan.repeats(met)?;
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

/// What one thread made of its blocks.
#[derive(Default)]
struct Part {
    counts: Counts,
    judges: Judges,
    met: Met,
    whose: Whose,
}

impl Part {
    fn plus(self, other: Self, examples: usize) -> Self {
        Self {
            counts: self.counts.plus(other.counts, examples),
            judges: self.judges,
            met: self.met.plus(other.met),
            whose: self.whose.plus(other.whose),
        }
    }
}

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
    /// What tells traces apart; its keys are others in every run, so that nobody can make two ids meet.
    hash: RandomState,
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
        let first = blocks::first_line(asked_for.file).map_err(|source| WhatIfError::Io {
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
            hash: RandomState::new(),
        })
    }

    /// Every judge that has a role has rows; where no role was said there is one judge.
    fn check_roles(&self, whose: &Whose) -> Result<(), WhatIfError> {
        let roles = self.asked_for.roles;
        if let Some(judge_id) = whose.missing(roles) {
            return Err(WhatIfError::Asked(format!(
                "{} holds no row of judge `{judge_id}`; its rows are of {}",
                self.name,
                whose.names()
            )));
        }
        let other = whose.other_than(&self.atomic);
        other
            .filter(|_| roles.atomic.is_none())
            .map_or(Ok(()), |other| {
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
        let (states, mut errors) =
            blocks::fold(self.asked_for.file, MAX_ERRORS, each).map_err(|source| {
                WhatIfError::Io {
                    file: self.name.clone(),
                    reason: source,
                }
            })?;
        errors.sort();
        errors.truncate(MAX_ERRORS);
        let errors = errors
            .into_iter()
            .map(|(number, message)| place(&self.name, number).error(message));
        Ok((states, errors.collect()))
    }

    /// What tells the rows of judges about traces apart; rows that are not of one judge have none.
    fn hash(&self, judge_id: Option<&str>, trace_id: &str) -> u64 {
        self.hash.hash_one((judge_id, trace_id))
    }

    fn line(&self, line: Line<'_>, index: Option<&Index>, part: &mut Part) -> Result<(), String> {
        let text = utf8(line)?;
        // What an evaluation was writing when it was killed.
        let may_be_cut_off = self.kind == Kind::Rows && !line.is_whole;
        let row = match self.kind {
            Kind::Verdicts => verdict_line::read(text),
            Kind::Rows if line.number == self.first_line => return Ok(()),
            Kind::Rows => rows_line::read(text),
            Kind::Replay => return self.replayed(text, line.number, index, part),
        };
        let row = match row {
            Ok(row) => row,
            Err(_) if may_be_cut_off => {
                part.counts.cut_off();
                return Ok(());
            }
            Err(error) => return Err(message(&error)),
        };
        part.met.add(self.hash(None, &row.trace_id), line.number);
        self.row(row, index, part)
    }
}

impl Scan<'_> {
    /// A replay row of the atomic judge; rows of the other one are looked up where they are needed.
    fn replayed(
        &self,
        text: &str,
        number: u64,
        index: Option<&Index>,
        part: &mut Part,
    ) -> Result<(), String> {
        let roles = self.asked_for.roles;
        let row = replay_line::Line::read(text);
        // A row that is wrong is a row of its judge all the same.
        let (judge_id, trace_id) = match &row {
            Ok(row) => (row.judge_id(), row.trace_id()),
            Err(error) => {
                if let Ok(names) = serde_json::from_str::<Names<'_>>(text)
                    && let Some(Text(judge_id)) = &names.judge_id
                {
                    part.whose.see(judge_id, roles);
                    part.met
                        .add(self.hash(Some(judge_id), &names.trace_id.0), number);
                }
                return Err(message(error));
            }
        };
        part.whose.see(judge_id, roles);
        part.met.add(self.hash(Some(judge_id), trace_id), number);
        match row {
            Ok(row) if row.judge_id() == self.atomic => {
                self.row(row.recorded(self.asked_for.prices), index, part)
            }
            Ok(row) if roles.fallback == Some(row.judge_id()) => Ok(()),
            Ok(_) => {
                part.counts.not_decided(NotDecided::OtherJudge);
                Ok(())
            }
            Err(error) => Err(message(&error)),
        }
    }

    fn row<'a>(
        &'a self,
        mut row: Recorded<'a>,
        index: Option<&Index>,
        part: &mut Part,
    ) -> Result<(), String> {
        self.complete(&mut row, &mut part.counts)?;
        self.decide(row, index, part)
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
        part: &mut Part,
    ) -> Result<(), String> {
        let Part { counts, judges, .. } = part;
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
            && let Some(line) = index.line(
                self.hash(Some(judge_id), &row.trace_id),
                judge_id,
                &row.trace_id,
            )?
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
