//! What makes a trace valid; every violation is named with its place, and none shows a text of the trace.

use std::collections::BTreeMap;

use super::{Chunk, TraceDraft, TraceLimits, Turn, Violation, ViolationReason};

/// Bytes of an identifier or a tag.
const MAX_NAME_BYTES: usize = 256;
/// Tags of a trace.
const MAX_TAG_COUNT: usize = 64;
/// Statements of an answer.
const MAX_STATEMENT_COUNT: usize = 1024;

/// Everything that is wrong with the parts of a trace.
pub(super) fn violations(draft: &TraceDraft, limits: &TraceLimits) -> Vec<Violation> {
    let mut check = Check {
        limits,
        violations: Vec::new(),
    };
    check.trace(draft);
    check.violations
}

/// White space, and characters that show nothing, say nothing.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
    })
}

/// Collects violations.
struct Check<'a> {
    limits: &'a TraceLimits,
    violations: Vec<Violation>,
}

impl Check<'_> {
    fn trace(&mut self, draft: &TraceDraft) {
        self.name("trace.trace_id", draft.trace_id.as_str());
        self.required("trace.question", &draft.question);
        self.chunks(&draft.chunks);
        self.length("trace.answer", &draft.answer);
        for (path, text) in [
            ("trace.reference_answer", &draft.reference_answer),
            ("trace.standalone_question", &draft.standalone_question),
        ] {
            if let Some(text) = text {
                self.not_blank(path, text);
            }
        }
        self.history(&draft.history);
        self.tags(&draft.tags);
        for (path, name) in [
            ("trace.generator_model", &draft.generator_model),
            ("trace.language", &draft.language),
        ] {
            if let Some(name) = name {
                self.name(path, name);
            }
        }
        self.statements(&draft.statements);
    }

    fn chunks(&mut self, chunks: &[Chunk]) {
        let limit = self.limits.max_chunk_count;
        if chunks.len() > limit {
            let description = format!(
                "has {} chunks, more than the limit of {limit}",
                chunks.len()
            );
            self.over(
                "trace.chunks",
                ViolationReason::TooManyChunks,
                description,
                limit,
            );
            return;
        }
        let mut first_use = BTreeMap::new();
        for (index, chunk) in chunks.iter().enumerate() {
            let path = format!("trace.chunks[{index}].chunk_id");
            if chunk.chunk_id.as_str().is_empty() {
                self.add(path, ViolationReason::Required, "must not be empty");
            } else if let Some(first) = first_use.insert(&chunk.chunk_id, index) {
                let description = format!(
                    "`{}` is also the id of chunk {first}",
                    shown(chunk.chunk_id.as_str())
                );
                self.add(path, ViolationReason::Duplicate, description);
            } else {
                self.name(&path, chunk.chunk_id.as_str());
            }
            self.length(&format!("trace.chunks[{index}].text"), &chunk.text);
            if let Some(document_id) = &chunk.document_id {
                self.length(&format!("trace.chunks[{index}].document_id"), document_id);
            }
            if chunk
                .retrieval_score
                .is_some_and(|score| !score.is_finite())
            {
                let path = format!("trace.chunks[{index}].retrieval_score");
                self.add(path, ViolationReason::NotFinite, "must be a finite number");
            }
        }
    }

    fn history(&mut self, history: &[Turn]) {
        let limit = self.limits.max_history_turns;
        if history.len() > limit {
            let description = format!(
                "has {} turns, more than the limit of {limit}",
                history.len()
            );
            self.over(
                "trace.history",
                ViolationReason::TooMany,
                description,
                limit,
            );
            return;
        }
        for (index, turn) in history.iter().enumerate() {
            self.not_blank(&format!("trace.history[{index}].text"), &turn.text);
        }
    }

    fn tags(&mut self, tags: &[String]) {
        if tags.len() > MAX_TAG_COUNT {
            let description = format!(
                "has {} tags, more than the limit of {MAX_TAG_COUNT}",
                tags.len()
            );
            self.over(
                "trace.tags",
                ViolationReason::TooMany,
                description,
                MAX_TAG_COUNT,
            );
            return;
        }
        for (index, tag) in tags.iter().enumerate() {
            self.name(&format!("trace.tags[{index}]"), tag);
        }
    }

    fn statements(&mut self, statements: &[String]) {
        let limit = MAX_STATEMENT_COUNT;
        if statements.len() > limit {
            let description = format!(
                "has {} statements, more than the limit of {limit}",
                statements.len()
            );
            self.over(
                "trace.statements",
                ViolationReason::TooMany,
                description,
                limit,
            );
            return;
        }
        for (index, statement) in statements.iter().enumerate() {
            self.not_blank(&format!("trace.statements[{index}]"), statement);
        }
    }

    fn required(&mut self, path: &str, text: &str) {
        if is_blank(text) {
            self.add(path, ViolationReason::Required, "must not be blank");
        }
        self.length(path, text);
    }

    fn not_blank(&mut self, path: &str, text: &str) {
        if is_blank(text) {
            self.add(path, ViolationReason::Blank, "is set but blank");
        }
        self.length(path, text);
    }

    fn length(&mut self, path: &str, text: &str) {
        self.bytes(path, text, self.limits.max_text_bytes);
    }

    fn name(&mut self, path: &str, name: &str) {
        self.bytes(path, name, MAX_NAME_BYTES);
    }

    fn bytes(&mut self, path: &str, text: &str, limit: usize) {
        if text.len() > limit {
            let description = format!("has {} bytes, more than the limit of {limit}", text.len());
            self.over(path, ViolationReason::TextTooLong, description, limit);
        }
    }

    fn over(&mut self, path: &str, reason: ViolationReason, description: String, limit: usize) {
        self.violations.push(Violation {
            path: path.to_owned(),
            reason,
            description,
            limit: Some(limit),
        });
    }

    fn add(
        &mut self,
        path: impl Into<String>,
        reason: ViolationReason,
        description: impl Into<String>,
    ) {
        self.violations
            .push(Violation::new(path, reason, description));
    }
}

/// An identifier in an error message, cut to a readable length.
fn shown(id: &str) -> String {
    const SHOWN_CHARS: usize = 64;
    if id.chars().count() <= SHOWN_CHARS {
        return id.to_owned();
    }
    id.chars().take(SHOWN_CHARS).chain(['…']).collect()
}
