//! Any texts at all, judged twice by the embedded judge.
//!
//! An input is a list of parts between lines of `===`; the first letter of a part says what it is, as in `seeds/embedded`.

#![no_main]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use judge_cascade::domain::dimension::Dimension;
use judge_cascade::domain::judgment::{Answers, Judgment, StatementJudgment};
use judge_cascade::domain::outcome::{DecisionVariant, JudgeRole};
use judge_cascade::domain::question::{Question, QuestionSet};
use judge_cascade::domain::trace::{
    Chunk, RetrievalState, Trace, TraceDraft, TraceLimits, Turn, TurnRole,
};
use judge_cascade::judge::decision::Decision;
use judge_cascade::judge::embedded::{EmbeddedJudge, EmbeddedOptions};
use judge_cascade::judge::{Ask, CallContext, Judge as _};
use libfuzzer_sys::{Corpus, fuzz_target};
use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

const LIMITS: TraceLimits = TraceLimits {
    max_chunk_count: 4096,
    max_text_bytes: 1024 * 1024,
    max_history_turns: 64,
};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().unwrap());

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(trace) = trace(&String::from_utf8_lossy(data)) else {
        return Corpus::Reject;
    };
    let first = judge(&trace);
    check(&trace, &first);
    let second = judge(&trace);
    assert_eq!(numbers(&first), numbers(&second));
    assert_eq!(first, second);
    Corpus::Keep
});

/// What the judge said: of the whole, and of each statement.
type Said = (Answers, Vec<StatementJudgment>);

/// The trace that the parts make, if it is one.
fn trace(text: &str) -> Option<Arc<Trace>> {
    let mut draft = TraceDraft {
        trace_id: "fuzz".into(),
        question: String::new(),
        chunks: Vec::new(),
        answer: String::new(),
        reference_answer: None,
        history: Vec::new(),
        standalone_question: None,
        retrieval: RetrievalState::Performed,
        tags: Vec::new(),
        generator_model: None,
        language: None,
        statements: Vec::new(),
    };
    for part in text.split("\n===\n") {
        let mut characters = part.chars();
        let kind = characters.next();
        let text = characters.as_str().to_owned();
        match kind {
            Some('Q') => draft.question = text,
            Some('A') => draft.answer = text,
            Some('R') => draft.reference_answer = Some(text),
            Some('S') => draft.statements.push(text),
            Some('N') => draft.standalone_question = Some(text),
            Some('L') => draft.language = Some(text),
            Some('H') => {
                let role = TurnRole::User;
                draft.history.push(Turn { role, text });
            }
            _ => draft.chunks.push(Chunk {
                chunk_id: draft.chunks.len().to_string().as_str().into(),
                text: part.to_owned(),
                document_id: None,
                retrieval_score: None,
            }),
        }
    }
    Trace::new(draft, &LIMITS).ok().map(Arc::new)
}

fn judge(trace: &Arc<Trace>) -> Said {
    let judge = EmbeddedJudge::new("fuzz".into(), EmbeddedOptions::default());
    let questions = QuestionSet::from_fn(trace.chunks.len(), |_| true);
    let ask = Ask {
        trace,
        questions: &questions,
        decision: Decision::of(DecisionVariant::WithReference),
        history_is_evidence: !trace.history.is_empty(),
    };
    RUNTIME.block_on(async {
        let deadline = Instant::now() + Duration::from_secs(3600);
        let context = CallContext::until(deadline, JudgeRole::Atomic);
        let answer = judge.judge(&ask, &context).await.unwrap();
        (answer.answers, answer.statements)
    })
}

/// Every question is answered by a probability or a failure, and no statement is lost.
fn check(trace: &Trace, (answers, statements): &Said) {
    for (question, judgment) in answers.iter() {
        let judgment = judgment
            .as_ref()
            .unwrap_or_else(|| panic!("{question:?} has no answer"));
        if let Some(judged) = judgment.judged() {
            assert!(
                (0.0..=1.0).contains(&judged.probability.value()),
                "{question:?}"
            );
        }
    }
    if trace.statements.is_empty() {
        check_spans(trace, statements);
    } else {
        let texts = statements.iter().map(|statement| &statement.text);
        assert!(
            texts.eq(&trace.statements),
            "the statements given are those judged"
        );
    }
    let judged = |judgment: &Judgment| judgment.judged().map(|judged| judged.probability.value());
    let each = statements
        .iter()
        .filter_map(|statement| judged(&statement.groundedness));
    let whole = answers[Question::about(Dimension::Groundedness)]
        .as_ref()
        .and_then(judged);
    if let Some(whole) = whole {
        let least = each.fold(f64::INFINITY, f64::min);
        assert_eq!(
            whole.to_bits(),
            least.to_bits(),
            "the worst statement decides"
        );
    }
}

/// Statements stand in the answer in order, and between them stands no letter.
fn check_spans(trace: &Trace, statements: &[StatementJudgment]) {
    let characters: Vec<char> = trace.answer.chars().collect();
    let mut end = 0;
    for statement in statements {
        let span = statement.span.clone().unwrap();
        assert!(end <= span.start && span.start < span.end);
        assert!(
            !characters[end..span.start]
                .iter()
                .any(|c| c.is_alphabetic())
        );
        assert!(
            statement
                .text
                .chars()
                .eq(characters[span.clone()].iter().copied())
        );
        end = span.end;
    }
    assert!(!characters[end..].iter().any(|c| c.is_alphabetic()));
}

fn numbers((answers, statements): &Said) -> Vec<Option<u64>> {
    let whole = answers.iter().map(|(_, judgment)| judgment.as_ref());
    let each = statements
        .iter()
        .map(|statement| Some(&statement.groundedness));
    let judged = whole
        .chain(each)
        .map(|judgment| judgment.and_then(Judgment::judged));
    judged
        .map(|judged| judged.map(|judged| judged.probability.value().to_bits()))
        .collect()
}
