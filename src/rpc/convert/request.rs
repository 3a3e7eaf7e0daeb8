//! From a request to a trace and how to diagnose it; everything that is wrong is named at once.

use std::sync::Arc;

use uuid::Uuid;

use super::{number, number_or_unspecified, value};
use crate::cascade::plan::Scope;
use crate::cascade::profile::FallbackMode;
use crate::domain::Vocabulary;
use crate::domain::trace::{
    Chunk, RetrievalState, Trace, TraceDraft, TraceError, TraceLimits, Turn, TurnRole, Violation,
    ViolationReason,
};
use crate::rpc::pb;

/// A request in the terms of the domain.
#[derive(Debug)]
pub struct ParsedRequest {
    /// The trace.
    pub trace: Arc<Trace>,
    /// Which dimensions are asked.
    pub scope: Scope,
    /// What to do when uncertain, if the caller says so.
    pub fallback_mode: Option<FallbackMode>,
    /// Whether the judgments of single statements are returned.
    pub include_statements: bool,
    /// Whether cached answers of judges will not do.
    pub skip_cache: bool,
}

/// Reads a request.
pub fn parse(
    request: pb::DiagnoseRequest,
    limits: &TraceLimits,
) -> Result<ParsedRequest, TraceError> {
    let mut violations = Vec::new();
    let scope = known("scope", request.scope, &mut violations).unwrap_or(Scope::Full);
    let fallback_mode = fallback_mode(request.fallback_mode, &mut violations);
    let trace = match request.trace {
        Some(message) => parse_trace(message, limits, &mut violations),
        None => {
            violations.push(Violation::new(
                "trace",
                ViolationReason::Required,
                "must be set",
            ));
            None
        }
    };
    match trace {
        Some(trace) if violations.is_empty() => Ok(ParsedRequest {
            trace: Arc::new(trace),
            scope,
            fallback_mode,
            include_statements: request
                .options
                .is_some_and(|options| options.include_statements),
            skip_cache: request.options.is_some_and(|options| options.skip_cache),
        }),
        _ => Err(TraceError(violations)),
    }
}

fn parse_trace(
    message: pb::Trace,
    limits: &TraceLimits,
    violations: &mut Vec<Violation>,
) -> Option<Trace> {
    let trace_id = if message.trace_id.is_empty() {
        Uuid::now_v7().to_string()
    } else {
        message.trace_id
    };
    let retrieval = known("trace.retrieval", message.retrieval, violations);
    let history = message.history.into_iter().enumerate();
    let history = history
        .map(|(index, turn)| parse_turn(index, turn, violations))
        .collect();
    let draft = TraceDraft {
        trace_id: trace_id.into(),
        question: message.question,
        chunks: message.chunks.into_iter().map(parse_chunk).collect(),
        answer: message.answer,
        reference_answer: message.reference_answer,
        history,
        standalone_question: not_empty(message.standalone_question),
        retrieval: retrieval.unwrap_or(RetrievalState::Performed),
        tags: message.tags,
        generator_model: not_empty(message.generator_model),
        language: not_empty(message.language),
        statements: message.statements,
    };
    match Trace::new(draft, limits) {
        Ok(trace) => Some(trace),
        Err(TraceError(more)) => {
            violations.extend(more);
            None
        }
    }
}

fn parse_chunk(message: pb::Chunk) -> Chunk {
    Chunk {
        chunk_id: message.chunk_id.into(),
        text: message.text,
        document_id: not_empty(message.document_id),
        retrieval_score: message.retrieval_score,
    }
}

fn parse_turn(index: usize, message: pb::Turn, violations: &mut Vec<Violation>) -> Turn {
    let path = format!("trace.history[{index}].role");
    let before = violations.len();
    let role = known(&path, message.role, violations);
    if role.is_none() && violations.len() == before {
        violations.push(Violation::new(
            path,
            ViolationReason::Required,
            "must be set",
        ));
    }
    Turn {
        role: role.unwrap_or(TurnRole::User),
        text: message.text,
    }
}

fn fallback_mode(number: i32, violations: &mut Vec<Violation>) -> Option<FallbackMode> {
    if number == pb::FallbackMode::Deferred as i32 {
        let description = "DEFERRED is not offered by this server";
        violations.push(Violation::new(
            "fallback_mode",
            ViolationReason::NotOffered,
            description,
        ));
        return None;
    }
    known("fallback_mode", number, violations)
}

/// The value of an enum field; `None` if unspecified or, with a violation, if not known.
fn known<V: Vocabulary>(path: &str, number: i32, violations: &mut Vec<Violation>) -> Option<V> {
    value(number).unwrap_or_else(|number| {
        let description = format!("`{number}` is not a {} of this server", V::KIND);
        violations.push(Violation::new(
            path,
            ViolationReason::UnknownValue,
            description,
        ));
        None
    })
}

/// Proto3 strings have no presence: empty is absent.
fn not_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// How a client wants a trace diagnosed.
#[derive(Debug, Clone)]
pub struct How {
    /// The profile.
    pub profile: String,
    /// Which dimensions are asked.
    pub scope: Scope,
    /// What to do when uncertain; `None` leaves it to the profile.
    pub fallback_mode: Option<FallbackMode>,
    /// Whether the judgments of single statements are wanted.
    pub include_statements: bool,
    /// Whether cached answers of judges will not do.
    pub skip_cache: bool,
}

/// The request of a client.
pub fn message(trace: &Trace, how: How) -> pb::DiagnoseRequest {
    pb::DiagnoseRequest {
        trace: Some(trace_message(trace)),
        profile: how.profile,
        scope: number(how.scope),
        fallback_mode: number_or_unspecified(how.fallback_mode),
        options: Some(pb::DiagnoseOptions {
            skip_cache: how.skip_cache,
            include_statements: how.include_statements,
        }),
    }
}

fn trace_message(trace: &Trace) -> pb::Trace {
    pb::Trace {
        trace_id: trace.trace_id.to_string(),
        question: trace.question.clone(),
        chunks: trace.chunks.iter().map(chunk_message).collect(),
        answer: trace.answer.clone(),
        reference_answer: trace.reference_answer.clone(),
        history: trace
            .history
            .iter()
            .map(|turn| pb::Turn {
                role: number(turn.role),
                text: turn.text.clone(),
            })
            .collect(),
        standalone_question: trace.standalone_question.clone().unwrap_or_default(),
        retrieval: number(trace.retrieval),
        tags: trace.tags.clone(),
        generator_model: trace.generator_model.clone().unwrap_or_default(),
        language: trace.language.clone().unwrap_or_default(),
        statements: trace.statements.clone(),
    }
}

fn chunk_message(chunk: &Chunk) -> pb::Chunk {
    pb::Chunk {
        chunk_id: chunk.chunk_id.to_string(),
        text: chunk.text.clone(),
        document_id: chunk.document_id.clone().unwrap_or_default(),
        retrieval_score: chunk.retrieval_score,
    }
}
