//! One data set on its way through a judge.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use futures_util::StreamExt as _;

use super::clock::{Clock, Times};
use super::context::Excluded;
use crate::cascade::plan::{Plan, Scope, plan};
use crate::cascade::settle;
use crate::cli::judges::Inquiry;
use crate::cli::output;
use crate::dataset::load;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{Answers, Failure, Judgment, Judgments};
use crate::domain::outcome::JudgeRole;
use crate::domain::question::QuestionSet;
use crate::domain::trace::{Trace, TraceLimits};
use crate::eval::bench::{Counts, Known};
use crate::eval::run::OUTAGE_ROWS;
use crate::judge::embedded::containment;
use crate::judge::{Judge, JudgeError};
use crate::policy::Policy;

/// How a judge is asked.
pub(super) struct Trial<'a> {
    pub(super) judge: &'a Arc<dyn Judge>,
    pub(super) policy: &'a Policy,
    /// The same with every dimension asked.
    pub(super) asked: &'a Policy,
    pub(super) limits: &'a TraceLimits,
    pub(super) excluded: &'a Excluded,
    pub(super) timeout: Duration,
    pub(super) concurrency: usize,
}

/// What came of a set.
pub(super) struct Measured<'a> {
    pub(super) counts: Counts<'a>,
    pub(super) times: Times,
    failures: u64,
    first_failure: Option<String>,
}

/// What came of a row.
enum Heard {
    Excluded,
    NotAssessable,
    Lost(Known, String),
    Judged {
        known: Known,
        judgments: Judgments,
        containment: Option<f64>,
        /// How long the judge took, if it was asked, or why it gave nothing.
        asked: Option<Result<Duration, String>>,
    },
}

impl Measured<'_> {
    /// Tells what went wrong.
    pub(super) fn tell(&self, name: &str) {
        if let Some(first) = &self.first_failure {
            output::note(&format!(
                "`{name}`: {} rows got no answer, the first: {}",
                self.failures,
                output::one_line(first)
            ));
        }
    }

    fn fail(&mut self, told: String) {
        self.failures += 1;
        self.first_failure.get_or_insert(told);
    }
}

impl<'a> Trial<'a> {
    /// Asks about every row; one of an excluded file keeps its own.
    pub(super) async fn measure(
        &self,
        path: &Path,
        is_excluded: bool,
    ) -> anyhow::Result<Measured<'a>> {
        let clock = Clock::default();
        let mut measured = Measured {
            counts: Counts::new(self.policy, self.judge.info().dimensions),
            times: Times::default(),
            failures: 0,
            first_failure: None,
        };
        let rows = load::rows(path)?;
        let mut rows = futures_util::stream::iter(rows)
            .map(|row| self.row(row, is_excluded, &clock))
            .buffer_unordered(self.concurrency);
        let mut silent = 0;
        while let Some(heard) = rows.next().await {
            match heard? {
                Heard::Excluded => measured.counts.excluded(),
                Heard::NotAssessable => measured.counts.not_assessable(),
                Heard::Lost(known, told) => {
                    measured.counts.lost(&known, FailureReason::TooLong);
                    measured.fail(told);
                }
                Heard::Judged {
                    known,
                    judgments,
                    containment,
                    asked,
                } => {
                    measured.counts.add(&known, &judgments, containment);
                    match asked {
                        None => (),
                        Some(Ok(took)) => {
                            silent = 0;
                            measured.times.add(took);
                        }
                        Some(Err(told)) => {
                            silent += 1;
                            measured.fail(told);
                        }
                    }
                }
            }
            if silent == OUTAGE_ROWS && !self.judge.info().is_local {
                let judge_id = &self.judge.info().judge_id;
                bail!("stopped: judge `{judge_id}` gave nothing {OUTAGE_ROWS} times in a row");
            }
        }
        measured.times.busy_for(clock.busy());
        Ok(measured)
    }

    async fn row(
        &self,
        row: Result<load::Row, load::DatasetError>,
        is_excluded: bool,
        clock: &Clock,
    ) -> anyhow::Result<Heard> {
        let row = row?;
        if !is_excluded && self.excluded.shares(&row.record) {
            return Ok(Heard::Excluded);
        }
        let known = Known::of(&row.record);
        let trace = match row.record.trace(self.limits) {
            Ok(trace) => Arc::new(trace),
            Err(error) => return Ok(Heard::Lost(known, format!("{}: {error}", row.place))),
        };
        let (base, questions) = match plan(&trace, self.asked, Scope::Full) {
            Plan::NotAssessable(_) => return Ok(Heard::NotAssessable),
            Plan::Judge { base, questions } => (base, questions),
        };
        let questions = questions.restricted_to(self.judge.info().dimensions);
        if questions.is_empty() {
            return Ok(Heard::Judged {
                known,
                judgments: base,
                containment: None,
                asked: None,
            });
        }
        let (answers, asked) = self.ask(&trace, &questions, clock).await;
        Ok(Heard::Judged {
            known,
            judgments: settle::merge(&base, &answers),
            containment: containment(&trace),
            asked: Some(asked.map_err(|told| format!("{}: {told}", row.place))),
        })
    }

    /// An answer to every question, with a failure if need be.
    async fn ask(
        &self,
        trace: &Arc<Trace>,
        questions: &QuestionSet,
        clock: &Clock,
    ) -> (Answers, Result<Duration, JudgeError>) {
        let inquiry = Inquiry {
            trace,
            questions,
            history_is_evidence: self.policy.history_is_evidence,
            role: JudgeRole::Atomic,
            timeout: self.timeout,
        };
        let begun = clock.begin();
        let said = inquiry.of(&**self.judge).await;
        let took = clock.end(begun);
        let judge_id = &self.judge.info().judge_id;
        let failed = |reason| {
            Judgment::Failed(Failure {
                judge_id: judge_id.clone(),
                reason,
            })
        };
        match said {
            Ok(answer) => {
                let answers = answer.answers.map(|question, said| {
                    let asked = questions[question];
                    asked.then(|| {
                        said.clone()
                            .unwrap_or_else(|| failed(FailureReason::Protocol))
                    })
                });
                let whole = settle::whole_failure(&answers).map(|failure| {
                    let detail = "no question was answered";
                    JudgeError::new(judge_id, failure.reason, detail)
                });
                (answers, whole.map_or(Ok(took), Err))
            }
            Err(error) => {
                let answers = questions.map(|_, asked| asked.then(|| failed(error.reason)));
                (answers, Err(error))
            }
        }
    }
}
