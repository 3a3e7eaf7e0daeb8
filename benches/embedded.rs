//! How long the embedded judge takes for one trace, all of its questions asked.
//!
//! The texts are made up here from a fixed list of words by a fixed rule, so that every run judges the same ones. A trace
//! of more than a few kilobytes goes to a thread of its own, as in the service, and that is measured with it. After
//! what criterion says of the mean, the 95th percentile of single judgments is printed.

use std::hint::black_box;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};
use judge_cascade::domain::outcome::{DecisionVariant, JudgeRole};
use judge_cascade::domain::question::QuestionSet;
use judge_cascade::domain::trace::{
    Chunk, RetrievalState, Trace, TraceDraft, TraceError, TraceLimits,
};
use judge_cascade::judge::decision::Decision;
use judge_cascade::judge::embedded::{EmbeddedJudge, EmbeddedOptions};
use judge_cascade::judge::{Ask, CallContext, Judge as _};
use tokio::runtime::{Builder, Runtime};

const CHUNK_WORDS: usize = 300;
const ANSWER_WORDS: usize = 60;
/// Single judgments of which the percentiles are taken.
const SINGLE_COUNT: usize = 2_000;
const LIMITS: TraceLimits = TraceLimits {
    max_chunk_count: 100,
    max_text_bytes: 1 << 20,
    max_history_turns: 1,
};

/// Words between others, which English is full of.
const SMALL: &[&str] = &[
    "the", "of", "and", "a", "to", "in", "is", "for", "with", "that", "was", "by", "from", "not",
];
/// Parts of words that say something.
const HEADS: &[&str] = &[
    "har", "lum", "kest", "tarn", "vor", "sel", "bran", "mil", "dor", "fen", "gal", "pim", "rost",
    "wick", "olm", "cor",
];
const TAILS: &[&str] = &[
    "bour", "ing", "ed", "ers", "ity", "al", "ment", "es", "ous", "ly", "age", "er", "ine", "ant",
    "ock", "ure",
];

/// Numbers without a pattern, the same in every run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn word(&mut self) -> String {
        match self.throw(20) {
            0 => (1 + self.throw(2_000)).to_string(),
            1..=9 => SMALL[self.throw(SMALL.len())].to_owned(),
            // A text repeats itself: the lesser of two throws comes up more often at the low end.
            _ => {
                let head = self.throw(HEADS.len()).min(self.throw(HEADS.len()));
                let tail = self.throw(TAILS.len()).min(self.throw(TAILS.len()));
                format!("{}{}", HEADS[head], TAILS[tail])
            }
        }
    }

    /// Sentences of 8 to 23 words.
    fn text(&mut self, word_count: usize) -> String {
        let mut text = String::new();
        let mut left = word_count;
        while 0 < left {
            let length = (8 + self.throw(16)).min(left);
            left -= length;
            for at in 0..length {
                let word = self.word();
                if at == 0 {
                    text.push_str(&word[..1].to_uppercase());
                    text.push_str(&word[1..]);
                } else {
                    text.push(' ');
                    text.push_str(&word);
                }
            }
            text.push_str(if left == 0 { "." } else { ". " });
        }
        text
    }
}

fn trace(chunk_count: usize) -> Result<Trace, TraceError> {
    let mut dice = Dice(chunk_count as u64);
    let chunks = (0..chunk_count).map(|at| Chunk {
        chunk_id: format!("c{at}").as_str().into(),
        document_id: None,
        text: dice.text(CHUNK_WORDS),
        retrieval_score: None,
    });
    let chunks = chunks.collect();
    let draft = TraceDraft {
        trace_id: "bench".into(),
        question: "How many harbours of Lumed were in the lumage of 1200?".to_owned(),
        chunks,
        answer: dice.text(ANSWER_WORDS),
        reference_answer: None,
        history: Vec::new(),
        standalone_question: None,
        retrieval: RetrievalState::Performed,
        tags: Vec::new(),
        generator_model: None,
        language: None,
        statements: Vec::new(),
    };
    Trace::new(draft, &LIMITS)
}

/// The judge and where it runs.
struct Bench {
    runtime: Runtime,
    judge: EmbeddedJudge,
}

impl Bench {
    fn judge(&self, trace: &Arc<Trace>) {
        let questions = QuestionSet::from_fn(trace.chunks.len(), |_| true);
        let ask = Ask {
            trace,
            questions: &questions,
            decision: Decision::of(DecisionVariant::WithoutReference),
            history_is_evidence: false,
        };
        let context = CallContext::until(tokio::time::Instant::now(), JudgeRole::Atomic);
        let answered = self.runtime.block_on(self.judge.judge(&ask, &context));
        assert!(black_box(answered).is_ok());
    }

    /// The time that so many of a hundred single judgments take at most.
    fn percentiles<const N: usize>(&self, trace: &Arc<Trace>, shares: [usize; N]) -> [Duration; N] {
        let single = || {
            let start = Instant::now();
            self.judge(trace);
            start.elapsed()
        };
        let mut times: Vec<_> = std::iter::repeat_with(single).take(SINGLE_COUNT).collect();
        times.sort_unstable();
        shares.map(|share| times[SINGLE_COUNT * share / 100])
    }
}

fn main() -> anyhow::Result<()> {
    let bench = Bench {
        runtime: Builder::new_current_thread().enable_all().build()?,
        judge: EmbeddedJudge::new("embedded".into(), EmbeddedOptions::default()),
    };
    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("embedded");
    let mut out = std::io::stdout();
    for chunk_count in [1, 5, 50] {
        let trace = Arc::new(trace(chunk_count)?);
        let id = BenchmarkId::new("chunks", chunk_count);
        group.bench_with_input(id, &trace, |bencher, trace| {
            bencher.iter(|| bench.judge(trace));
        });
        let [half, most] = bench.percentiles(&trace, [50, 95]);
        writeln!(out, "{chunk_count} chunks: p50 {half:?}, p95 {most:?}")?;
    }
    group.finish();
    criterion.final_summary();
    Ok(())
}
