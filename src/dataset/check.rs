//! What must hold of a row beyond its shape: its labels fit its texts, and its id is its own.

use super::record::{ExpectedGeneration, Record};
use crate::artifact::digest::sha256;
use crate::domain::Vocabulary as _;
use crate::domain::diagnosis::Diagnosis;
use crate::domain::trace::{RetrievalState, TraceError, TraceLimits, is_blank};

/// Whoever diagnoses a row has limits; a file has none.
const NO_LIMITS: TraceLimits = TraceLimits {
    max_chunk_count: usize::MAX,
    max_text_bytes: usize::MAX,
    max_history_turns: usize::MAX,
};
/// The most characters of an id in an error.
const SHOWN_CHARS: usize = 64;

/// Everything that is wrong with a row.
pub(super) fn problems(record: Record) -> Vec<String> {
    let mut problems = Vec::new();
    names(&record, &mut problems);
    labels(&record, &mut problems);
    if let Err(TraceError(violations)) = record.trace(&NO_LIMITS) {
        let told = violations
            .iter()
            .map(|violation| format!("{}: {}", violation.path, violation.description));
        problems.extend(told);
    }
    problems
}

/// What is named can be told apart by its name.
fn names(record: &Record, problems: &mut Vec<String>) {
    let mut not_blank = |path: &dyn Fn() -> String, name: &str| {
        if is_blank(name) {
            problems.push(format!("{}: must not be blank", path()));
        }
    };
    not_blank(&|| "id".to_owned(), &record.id);
    for (index, context) in record.contexts.iter().enumerate() {
        // A trace tells by itself that an id is empty.
        if !context.id.is_empty() {
            not_blank(&|| format!("contexts[{index}].id"), &context.id);
        }
    }
    for (index, tag) in record.tags.iter().enumerate() {
        not_blank(&|| format!("tags[{index}]"), tag);
    }
    for (path, name) in [
        ("generatorModel", &record.generator_model),
        ("language", &record.language),
    ] {
        if let Some(name) = name {
            not_blank(&|| path.to_owned(), name);
        }
    }
}

/// A label is about something that the row has.
fn labels(record: &Record, problems: &mut Vec<String>) {
    let Some(expected) = &record.expected else {
        return;
    };
    let retrieval = record.retrieval.unwrap_or(RetrievalState::Performed);
    match expected.diagnosis {
        Some(Diagnosis::NotAssessable) if retrieval == RetrievalState::Performed => {
            problems.push(
                "expected.diagnosis: is `NOT_ASSESSABLE` only if `retrieval` is `not_performed` or `texts_missing`"
                    .to_owned(),
            );
        }
        Some(Diagnosis::NotAssessable) | None => (),
        Some(diagnosis) => {
            if retrieval != RetrievalState::Performed {
                let (diagnosis, retrieval) = (diagnosis.name(), retrieval.name());
                problems.push(format!(
                    "expected.diagnosis: is `{diagnosis}`, but with `retrieval` = `{retrieval}` it must be `NOT_ASSESSABLE`"
                ));
            }
        }
    }
    let chunks = expected
        .retrieval
        .as_ref()
        .map(|said| &said.chunk_relevance);
    for id in chunks.into_iter().flat_map(|chunks| chunks.keys()) {
        if !record.contexts.iter().any(|context| context.id == *id) {
            let id: String = id.chars().take(SHOWN_CHARS).collect();
            problems.push(format!(
                "expected.retrieval.chunkRelevance: no chunk has the id `{id}`"
            ));
        }
    }
    let Some(generation) = &expected.generation else {
        return;
    };
    if is_blank(&record.answer) && *generation != ExpectedGeneration::default() {
        problems.push("expected.generation: the answer is blank, so it has no labels".to_owned());
    }
    if generation.correctness.is_some() && record.reference_answer.is_none() {
        problems.push("expected.generation.correctness: there is no `referenceAnswer`".to_owned());
    }
}

/// The ids of a file, by digest, with the line of each.
#[derive(Default)]
pub(super) struct Ids(Vec<([u8; 16], u32)>);

impl Ids {
    /// One more id.
    pub(super) fn add(&mut self, id: &str, line: usize) -> Result<(), String> {
        let line = u32::try_from(line).map_err(|_| "is too far down in the file".to_owned())?;
        let mut first = [0; 16];
        first.copy_from_slice(&sha256(id.as_bytes())[..16]);
        self.0.push((first, line));
        Ok(())
    }

    /// The lines whose id stands in an earlier one, each with the first of those.
    pub(super) fn duplicates(&mut self) -> impl Iterator<Item = (usize, usize)> {
        self.0.sort_unstable();
        let groups = self.0.chunk_by(|(one, _), (other, _)| one == other);
        groups.flat_map(|same| {
            let first = same[0].1 as usize;
            same[1..]
                .iter()
                .map(move |(_, line)| (*line as usize, first))
        })
    }

    /// Bytes that it takes.
    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        self.0.capacity() * size_of::<([u8; 16], u32)>()
    }
}
