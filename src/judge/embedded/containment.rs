//! How much of an answer stands in its context word for word, whichever judge is asked.

use std::collections::BTreeSet;

use super::lexicon::Lexicon;
use crate::domain::trace::Trace;

/// The share of the distinct English content words of the answer that stand in a chunk; `None` if it has none.
pub fn containment(trace: &Trace) -> Option<f64> {
    let mut lexicon = Lexicon::new(true);
    let answer = lexicon.content(&trace.answer);
    if answer.is_empty() {
        return None;
    }
    let mut context = BTreeSet::new();
    for chunk in &trace.chunks {
        context.extend(lexicon.content(&chunk.text));
    }
    let found = answer.iter().filter(|word| context.contains(word)).count();
    Some(found as f64 / answer.len() as f64)
}
