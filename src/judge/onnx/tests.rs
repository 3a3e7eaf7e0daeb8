#![cfg(feature = "onnx")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use super::engine::Engine;
use super::network::Row;
use super::*;
use crate::artifact::model_folder::ModelKind;
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{Judged, Judgment, JudgmentBasis};
use crate::domain::outcome::{DecisionVariant, JudgeRole};
use crate::domain::question::{Question, QuestionSet};
use crate::domain::trace::{Chunk, RetrievalState, Trace, TraceDraft, TraceLimits};
use crate::judge::decision::Decision;
use crate::judge::{Answer, Ask, CallContext};

/// Folders that are refused, and contracts that are.
mod folders;
/// Long texts, windows and batches.
mod lengths;
/// What is made of the numbers.
mod traces;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/onnx")
        .join(name)
}

/// A copy of a fixture that a test may spoil.
fn copy(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in ["judge.toml", "model.onnx", "tokenizer.json"] {
        std::fs::copy(fixture(name).join(file), folder.path().join(file)).unwrap();
    }
    folder
}

/// The same with other words in its `judge.toml`.
fn edited(name: &str, from: &str, to: &str) -> tempfile::TempDir {
    let folder = copy(name);
    let file = folder.path().join("judge.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(&file, text.replace(from, to)).unwrap();
    folder
}

fn open_at(dir: PathBuf) -> Result<Arc<dyn Judge>, OnnxError> {
    let clamp = Clamp::default();
    open(&"model".into(), &OnnxOptions { dir, clamp })
}

fn draft(question: &str, chunks: &[&str], answer: &str) -> TraceDraft {
    let chunk = |(at, text): (usize, &&str)| Chunk {
        chunk_id: format!("c{at}").into(),
        text: (*text).to_owned(),
        document_id: None,
        retrieval_score: None,
    };
    TraceDraft {
        trace_id: "t".into(),
        question: question.to_owned(),
        chunks: chunks.iter().enumerate().map(chunk).collect(),
        answer: answer.to_owned(),
        reference_answer: None,
        history: Vec::new(),
        standalone_question: None,
        retrieval: RetrievalState::Performed,
        tags: Vec::new(),
        generator_model: None,
        language: None,
        statements: Vec::new(),
    }
}

fn ask_until(judge: &dyn Judge, draft: TraceDraft, deadline: Instant) -> Answer {
    let limits = TraceLimits {
        max_chunk_count: 1000,
        max_text_bytes: 1 << 26,
        max_history_turns: 100,
    };
    let trace = Arc::new(Trace::new(draft, &limits).unwrap());
    let questions = QuestionSet::from_fn(trace.chunks.len(), |_| true);
    let ask = Ask {
        trace: &trace,
        questions: &questions,
        decision: Decision::of(DecisionVariant::WithReference),
        history_is_evidence: false,
    };
    let context = CallContext::until(deadline, JudgeRole::Atomic);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(judge.judge(&ask, &context)).unwrap()
}

fn ask(judge: &dyn Judge, draft: TraceDraft) -> Answer {
    ask_until(judge, draft, Instant::now() + Duration::from_secs(600))
}

fn judge_with(name: &str, draft: TraceDraft) -> Answer {
    ask(&*open_at(fixture(name)).unwrap(), draft)
}

#[track_caller]
fn judged(answer: &Answer, question: Question) -> Judged {
    let judgment = answer.answers[question].as_ref().unwrap();
    judgment
        .judged()
        .unwrap_or_else(|| panic!("{judgment:?}"))
        .clone()
}

#[track_caller]
fn groundedness(answer: &Answer) -> f64 {
    let question = Question::about(Dimension::Groundedness);
    judged(answer, question).probability.value()
}

fn failure(judgment: &Judgment) -> Option<FailureReason> {
    match judgment {
        Judgment::Failed(failure) => Some(failure.reason),
        Judgment::Judged(_) | Judgment::NotApplicable(_) => None,
    }
}

/// What ONNX Runtime makes of a pair.
#[derive(Deserialize)]
struct Expected {
    premise: String,
    hypothesis: String,
    logits: Vec<f32>,
}

fn row(engine: &Engine, premise: &str, hypothesis: &str) -> Row {
    let words = &engine.words;
    let (premise_tokens, hypothesis_tokens) = (
        words.tokens(premise).unwrap(),
        words.tokens(hypothesis).unwrap(),
    );
    let premise_side = (&premise_tokens, 0..premise_tokens.len());
    let hypothesis_side = (&hypothesis_tokens, 0..hypothesis_tokens.len());
    match engine.contract.kind {
        ModelKind::PairClassifier | ModelKind::TokenClassifier => {
            words.pair(premise_side, hypothesis_side).unwrap().row
        }
        ModelKind::PairRegressor => words.pair(hypothesis_side, premise_side).unwrap().row,
        ModelKind::PromptClassifier => {
            let template = engine.contract.template.as_ref().unwrap();
            words.prompt(template, premise, hypothesis).unwrap()
        }
        ModelKind::Embedding => {
            let all = 0..premise_tokens.len();
            words.single(&premise_tokens, &all).unwrap()
        }
    }
}

#[test]
fn every_kind_gives_the_numbers_of_onnx_runtime_alone_and_in_a_batch() {
    let text = std::fs::read_to_string(fixture("expected.json")).unwrap();
    let expected: std::collections::BTreeMap<String, Vec<Expected>> =
        serde_json::from_str(&text).unwrap();
    assert_eq!(expected.len(), 5);
    for (name, cases) in expected {
        let engine = Engine::open(&fixture(&name)).unwrap();
        let rows: Vec<Row> = cases
            .iter()
            .map(|case| row(&engine, &case.premise, &case.hypothesis))
            .collect();
        let run = |rows: &[Row]| engine.on_a_thread(|thread| engine.network.run(rows, thread));
        let together = run(&rows).unwrap();
        for (place, (case, row)) in cases.iter().zip(&rows).enumerate() {
            let alone = run(std::slice::from_ref(row)).unwrap();
            for numbers in [alone.row(0), together.row(place)] {
                // The numbers of padding at the end of a row count nothing.
                assert!(case.logits.len() <= numbers.len(), "{name}");
                for (ours, theirs) in numbers.iter().zip(&case.logits) {
                    let gap = (ours - theirs).abs();
                    assert!(gap <= 1e-5, "{name}, pair {place}: {ours} for {theirs}");
                }
            }
        }
    }
}
