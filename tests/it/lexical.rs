//! What the embedded judge may and may not let pass, over rows and texts that were written for this project.
//!
//! Everything goes through the cascade under `lexical-default`, with all the time that a slow machine needs: a test
//! that passes because the judge ran out of time proves nothing.

/// The same bits, whatever else runs.
mod bits;
/// Languages without word lists.
mod languages;
/// Answers that are long.
mod long;
/// Contexts with much that is beside the point.
mod padding;
/// The rows of `fixtures/judged`.
mod pairs;
/// Texts that are no texts.
mod robustness;

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use judge_cascade::cascade::Cascade;
use judge_cascade::cascade::plan::Scope;
use judge_cascade::cascade::time::TimeOptions;
use judge_cascade::dataset::record::{Context, Record};
use judge_cascade::domain::diagnosis::Diagnosis;
use judge_cascade::domain::dimension::Dimension;
use judge_cascade::domain::failure::FailureReason;
use judge_cascade::domain::judgment::{Judged, Judgment};
use judge_cascade::domain::outcome::Outcome;
use judge_cascade::domain::question::Question;
use judge_cascade::domain::trace::{Trace, TraceLimits};
use judge_cascade::judge::composite::Composite;
use judge_cascade::judge::embedded::{EmbeddedJudge, EmbeddedOptions};
use tokio::time::Instant;

use crate::support::process::fixture;
use crate::support::scripted::{ScriptedJudge, Step};
use crate::support::{Setup, built_in};

/// What a trace may hold here.
pub(crate) const LIMITS: TraceLimits = TraceLimits {
    max_chunk_count: 20_000,
    max_text_bytes: 4 * 1024 * 1024,
    max_history_turns: 8,
};

const TIME: TimeOptions = TimeOptions {
    deadline: Duration::from_secs(3600),
    reply_reserve: Duration::from_millis(10),
    atomic_timeout: Duration::from_secs(3500),
    fallback_min: Duration::from_secs(1),
};

/// The embedded judge alone under `lexical-default`.
pub(crate) fn cascade() -> Arc<Cascade> {
    let mut setup = Setup::new(ScriptedJudge::new("atomic", [Step::Hang]));
    setup.policy = built_in("lexical-default");
    setup.time = TIME;
    let judge = EmbeddedJudge::new("embedded".into(), EmbeddedOptions::default());
    let composite = Composite::of(Arc::new(judge), Arc::clone(&setup.metrics));
    setup.content_of(composite, None).cascade
}

pub(crate) async fn diagnose(cascade: &Cascade, trace: Arc<Trace>) -> Outcome {
    let now = Instant::now();
    let request = judge_cascade::cascade::Request {
        trace,
        scope: Scope::Full,
        fallback_mode: None,
        received: now,
        started: now,
        timeout: None,
        traceparent: None,
        skip_cache: false,
    };
    let profile = cascade.profile("default").unwrap();
    cascade.diagnose(profile, request).await.unwrap()
}

/// A row of a file of `fixtures/judged`.
#[derive(Clone)]
struct Row(Record);

impl Row {
    fn all(file: &str) -> Vec<Self> {
        let text = fs::read_to_string(fixture(&format!("judged/{file}"))).unwrap();
        let rows = text.lines().map(|line| serde_json::from_str(line).unwrap());
        rows.map(Self).collect()
    }

    /// A row of an answer to a question that one chunk is about.
    fn of(question: &str, chunk: &str, answer: &str) -> Self {
        let row = serde_json::json!({
            "id": "own", "question": question, "contexts": [{ "id": "c1", "text": chunk }], "answer": answer,
        });
        Self(serde_json::from_value(row).unwrap())
    }

    fn has(&self, tag: &str) -> bool {
        self.0.tags.iter().any(|own| own == tag)
    }

    fn is_grounded(&self) -> bool {
        let expected = self.0.expected.as_ref().unwrap();
        expected.generation.as_ref().unwrap().groundedness.unwrap()
    }

    fn trace(&self) -> Arc<Trace> {
        Arc::new(self.0.clone().trace(&LIMITS).unwrap())
    }

    async fn outcome(&self, cascade: &Cascade) -> Outcome {
        diagnose(cascade, self.trace()).await
    }

    /// The row with more chunks before and after its own.
    fn between(&self, before: Vec<String>, after: Vec<String>) -> Self {
        let context = |(ordinal, text)| Context {
            id: format!("padding-{ordinal}"),
            text,
            document_id: None,
            retrieval_score: None,
        };
        let first = before.len();
        let mut padded = self.clone();
        let own = std::mem::take(&mut padded.0.contexts);
        let before = before.into_iter().enumerate().map(context);
        let after = (first..).zip(after).map(context);
        padded.0.contexts = before.chain(own).chain(after).collect();
        padded
    }
}

fn groundedness(outcome: &Outcome) -> &Judgment {
    let asked = Question::about(Dimension::Groundedness);
    outcome.atomic.as_ref().unwrap().answers[asked]
        .as_ref()
        .unwrap()
}

/// P of groundedness and its guards; a failure has none.
fn judged(outcome: &Outcome) -> Option<&Judged> {
    groundedness(outcome).judged()
}

fn failure(judgment: &Judgment) -> Option<FailureReason> {
    match judgment {
        Judgment::Failed(failure) => Some(failure.reason),
        Judgment::Judged(_) | Judgment::NotApplicable(_) => None,
    }
}

fn passes(outcome: &Outcome) -> bool {
    outcome.ruling.diagnosis == Diagnosis::Pass
}
