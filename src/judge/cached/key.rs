//! The key of a cached answer: everything that the answer depends on, and nothing that only names it.
//!
//! Neither the id of the trace nor those of its chunks are in it, as no judge is shown them; nor is the role, for a judge
//! does not know it. Texts that no question is about are left out, so that a look at retrieval alone serves every answer;
//! an answer therefore holds nothing of them, not even that they seem to speak to the judge.

use serde::Serialize;

use crate::artifact::digest::sha256;
use crate::domain::Vocabulary as _;
use crate::domain::dimension::Dimension;
use crate::domain::trace::TurnRole;
use crate::judge::{Ask, JudgeInfo, decision};

/// SHA-256 over compact JSON of all that an answer depends on.
pub(super) type Key = [u8; 32];

#[derive(Serialize)]
struct Canonical<'a> {
    judge_id: &'a str,
    judge_type: &'a str,
    requested_model: Option<&'a str>,
    decision: [&'a str; 4],
    questions: Vec<String>,
    history_is_evidence: bool,
    max_statements: Option<usize>,
    chunks: Vec<&'a str>,
    history: Vec<(TurnRole, &'a str)>,
    question: &'a str,
    standalone_question: Option<&'a str>,
    answer: Option<&'a str>,
    statements: Option<&'a [String]>,
    reference_answer: Option<&'a str>,
}

/// The key of the answer of a judge to `ask`, if it is asked about so many statements one by one.
pub(super) fn key(ask: &Ask<'_>, judge: &JudgeInfo, max_statements: Option<usize>) -> Key {
    let (trace, decision) = (ask.trace, ask.decision);
    let dimensions = ask.questions.dimensions();
    let is_about_answer = Dimension::GENERATION
        .iter()
        .any(|&dimension| dimensions.contains(dimension));
    let is_about_reference = dimensions.contains(Dimension::Correctness);
    let reference = trace.reference_answer.as_deref();
    let canonical = Canonical {
        judge_id: judge.judge_id.as_str(),
        judge_type: judge.judge_type.name(),
        requested_model: judge.requested_model.as_deref(),
        decision: [
            decision.id,
            decision.version,
            decision.variant.name(),
            &decision.sha256,
        ],
        questions: ask.questions.asked().map(decision::key).collect(),
        history_is_evidence: ask.history_is_evidence,
        max_statements,
        chunks: trace
            .chunks
            .iter()
            .map(|chunk| chunk.text.as_str())
            .collect(),
        history: trace
            .history
            .iter()
            .map(|t| (t.role, t.text.as_str()))
            .collect(),
        question: &trace.question,
        standalone_question: trace.standalone_question.as_deref(),
        answer: is_about_answer.then_some(trace.answer.as_str()),
        statements: is_about_answer.then_some(trace.statements.as_slice()),
        reference_answer: reference.filter(|_| is_about_reference),
    };
    #[expect(
        clippy::expect_used,
        reason = "strings and lists of strings always serialise"
    )]
    let json =
        serde_json::to_vec(&canonical).expect("strings and lists of strings always serialise");
    sha256(&json)
}
