//! One verdict in words: what it is, why, and the text that decided.

use crate::artifact::verdict::VerdictRow;
use crate::domain::Vocabulary as _;
use crate::domain::diagnosis::{Diagnosis, Rule};
use crate::domain::dimension::Dimension;
use crate::domain::outcome::{NanoUsd, Route};
use crate::domain::trace::Trace;

/// Characters of a text that are shown.
const SHOWN_CHARS: usize = 96;

/// The verdict, the question, the answer and the cause, a line each.
pub(super) fn verdict(trace: &Trace, row: &VerdictRow, label: Option<Diagnosis>) -> String {
    let cost = match row.cost.total_nano_usd {
        Some(nano) => NanoUsd(nano).to_string(),
        None => "cost unknown".to_owned(),
    };
    let route = match row.fallback_unavailable_reason {
        Some(reason) => format!("{} ({reason})", row.route),
        None => row.route.to_string(),
    };
    let confidence = match row.confidence {
        Some(confidence) => format!("{:.2}", confidence.value()),
        None => "-".to_owned(),
    };
    let wrong = match label {
        Some(label) if label != row.diagnosis => format!("\n  !  labelled {label}"),
        _ => String::new(),
    };
    format!(
        "{}  {:<22}  {confidence:>4}  {route}  {:.0} ms  {cost}\n  Q: {}\n  A: {}\n  {}{wrong}\n",
        row.trace_id,
        row.diagnosis.name(),
        row.timing.total_ms,
        cut(&trace.question),
        cut(&trace.answer),
        cause(trace, row),
    )
}

/// One sentence with what decided.
fn cause(trace: &Trace, row: &VerdictRow) -> String {
    let fired = &row.fired_rule;
    let at = match (fired.dimension, fired.value, fired.threshold) {
        (Some(dimension), Some(value), Some(threshold)) => {
            let sign = if value <= threshold { '≤' } else { '≥' };
            format!(" ({dimension} {value} {sign} {threshold})")
        }
        _ => String::new(),
    };
    match fired.rule {
        Rule::NoChunks => "Retrieval found no text at all.".to_owned(),
        Rule::Conflict => format!(
            "The chunks contradict each other{at}: {}",
            first_chunks(trace)
        ),
        Rule::RetrievalMiss => {
            let best = fired.chunk_id.as_deref().and_then(|id| text_of(trace, id));
            let best = cut(best.unwrap_or_default());
            format!("No chunk is about the question{at}; the nearest says \"{best}\"")
        }
        Rule::Insufficient => {
            format!(
                "The chunks lack what the question needs{at}: {}",
                first_chunks(trace)
            )
        }
        Rule::Irrelevant => format!("The answer misses the question{at}."),
        Rule::EmptyAnswer => "There is no answer.".to_owned(),
        Rule::Ungrounded if fired.dimension == Some(Dimension::Contradiction) => {
            format!(
                "The answer contradicts the chunks{at}: {}",
                first_chunks(trace)
            )
        }
        Rule::Ungrounded => {
            format!(
                "The chunks do not support the answer{at}: {}",
                first_chunks(trace)
            )
        }
        Rule::Incorrect => {
            let reference = cut(trace.reference_answer.as_deref().unwrap_or_default());
            format!("The answer disagrees with the reference{at}: \"{reference}\"")
        }
        Rule::Pass => format!("Everything that is covered is good, least of all{at}."),
        Rule::Uncertain => {
            let open: Vec<_> = fired.blocking_dimensions.iter().map(|d| d.name()).collect();
            let whose = match row.route {
                Route::Fallback => "Both judges are",
                Route::Auto | Route::FallbackUnavailable => "The atomic judge is",
            };
            format!("{whose} unsure about {}.", open.join(", "))
        }
        Rule::RecordedVerdict => "The judge gave this diagnosis as a whole.".to_owned(),
        Rule::NotAssessable => match row.not_assessable_reason {
            Some(reason) => format!(
                "There is nothing to judge: {}.",
                reason.name().replace('_', " ")
            ),
            None => "There is nothing to judge.".to_owned(),
        },
    }
}

fn text_of<'a>(trace: &'a Trace, chunk_id: &str) -> Option<&'a str> {
    let chunk = trace
        .chunks
        .iter()
        .find(|chunk| chunk.chunk_id.as_str() == chunk_id)?;
    Some(&chunk.text)
}

/// The start of the first chunks with text.
fn first_chunks(trace: &Trace) -> String {
    let texts = trace
        .chunks
        .iter()
        .filter(|chunk| !chunk.is_blank())
        .take(2);
    let shown: Vec<_> = texts
        .map(|chunk| format!("\"{}\"", cut(&chunk.text)))
        .collect();
    shown.join(" / ")
}

/// The start of a text on one line.
fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= SHOWN_CHARS {
        return line;
    }
    line.chars().take(SHOWN_CHARS).chain(['…']).collect()
}
