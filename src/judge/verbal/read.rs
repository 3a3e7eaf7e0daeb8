//! From the object that a judge wrote to judgments.
//!
//! Only our own names count: an unknown or repeated one refuses the whole answer, and a question without a label stays
//! absent. Groundedness is claimed together with its evidence: each sentence that the judge calls unsupported must stand
//! in the answer letter by letter, a `true` beside such a sentence is read as `false`, and a `true` without the list is
//! none. Sentences are then counted in our own statements, all of them, and never in lines that a judge wrote.

use std::ops::Range;
use std::str::FromStr as _;

use super::extract::{Entry, Written, the_object};
use super::{CHUNKS, Form, ID, LABEL, Label, UNSUPPORTED};
use crate::domain::Vocabulary as _;
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{Answers, Judgment, StatementJudgment};
use crate::domain::question::Question;
use crate::domain::trace::Trace;
use crate::judge::reply::Reply;
use crate::judge::view::View;
use crate::judge::{JudgeError, decision};
use crate::text::statements::statements;

/// Why an answer is none.
#[derive(Debug)]
pub enum Unread {
    /// No object of the form stands in it; the judge may be asked to write it again.
    Malformed,
    /// It names what is not known, or names something twice.
    Refused(JudgeError),
}

/// The judgments of the questions, and those of the statements of the answer.
pub type Findings = (Answers, Vec<StatementJudgment>);

/// Labels by name, in the order in which they were written.
#[derive(Debug, Default, PartialEq, Eq)]
struct Labels {
    named: Vec<(String, Label)>,
    unsupported: Option<Vec<String>>,
}

/// Reads what a judge wrote about a view of a trace.
pub fn read(
    text: &str,
    form: &Form,
    (trace, view): (&Trace, &View<'_>),
    mut reply: Reply<'_>,
) -> Result<Findings, Unread> {
    let written = the_object(text, |key| form.knows(key)).ok_or(Unread::Malformed)?;
    let labels = Labels::of(written, view, &reply)?;
    let grounded = Dimension::Groundedness.name();
    let mut groundedness = None;
    for (key, label) in &labels.named {
        let label = if key == grounded && form.asks_for_sentences() {
            let claim = Claim::new(*label, labels.unsupported.as_deref(), view);
            let reading = claim.reading;
            groundedness = Some(claim);
            reading
        } else {
            Some(*label)
        };
        let put = match label {
            Some(label) => reply.named(key, label.number()),
            None => reply.failed_as_malformed(key),
        };
        put.map_err(Unread::Refused)?;
    }
    let statements = groundedness.map_or_else(Vec::new, |claim| claim.spread(trace, view, &reply));
    Ok((reply.finish(), statements))
}

impl Labels {
    fn of(written: Written, view: &View<'_>, reply: &Reply<'_>) -> Result<Self, Unread> {
        let mut labels = Self::default();
        let mut chunks_seen = false;
        for (key, entry) in written.0 {
            match (key.as_str(), entry) {
                (CHUNKS, Entry::List(chunks)) => {
                    if std::mem::replace(&mut chunks_seen, true) {
                        return Err(Unread::Refused(reply.repeated()));
                    }
                    for chunk in chunks {
                        labels.named.push(chunk_label(chunk, reply)?);
                    }
                }
                (UNSUPPORTED, Entry::List(sentences)) => {
                    let sentences = sentences.into_iter().map(text);
                    let sentences = sentences.collect::<Option<Vec<_>>>();
                    let sentences = sentences.ok_or(Unread::Malformed)?;
                    if labels.unsupported.replace(sentences).is_some() {
                        return Err(Unread::Refused(reply.repeated()));
                    }
                }
                (CHUNKS | UNSUPPORTED, _) => return Err(Unread::Malformed),
                (_, entry) => {
                    let questions = view.questions.iter().map(|(question, _)| question);
                    let mut names = questions.map(decision::key);
                    if !names.any(|name| name == key) {
                        return Err(Unread::Refused(reply.unknown()));
                    }
                    labels.named.push((key, label(entry)?));
                }
            }
        }
        Ok(labels)
    }
}

fn chunk_label(chunk: Entry, reply: &Reply<'_>) -> Result<(String, Label), Unread> {
    let Entry::Object(Written(entries)) = chunk else {
        return Err(Unread::Malformed);
    };
    let (mut id, mut said) = (None, None);
    for (key, entry) in entries {
        let place = match key.as_str() {
            ID => &mut id,
            LABEL => &mut said,
            _ => return Err(Unread::Malformed),
        };
        if place.replace(entry).is_some() {
            return Err(Unread::Refused(reply.repeated()));
        }
    }
    let id = id.and_then(text).ok_or(Unread::Malformed)?;
    // A chunk is named by our own ids only, so no other question can be answered in its place.
    if !id.starts_with("chunk_") {
        return Err(Unread::Refused(reply.unknown()));
    }
    Ok((id, label(said.ok_or(Unread::Malformed)?)?))
}

fn label(entry: Entry) -> Result<Label, Unread> {
    let text = text(entry).ok_or(Unread::Malformed)?;
    Label::from_str(&text.trim().to_ascii_lowercase()).map_err(|_| Unread::Malformed)
}

fn text(entry: Entry) -> Option<String> {
    match entry {
        Entry::Text(text) => Some(text),
        Entry::List(_) | Entry::Object(_) | Entry::Other => None,
    }
}

/// What a judge says about groundedness.
struct Claim<'a> {
    /// The safe reading; `None` without evidence: the list is missing, or holds what is no sentence of the answer.
    reading: Option<Label>,
    /// The sentences; `None` if none were given at all.
    quotes: Option<Vec<&'a str>>,
}

/// A statement of the answer, and whether the judge calls it unsupported.
struct Own {
    text: String,
    span: Option<Range<usize>>,
    is_named: bool,
}

impl<'a> Claim<'a> {
    fn new(label: Label, unsupported: Option<&'a [String]>, view: &View<'_>) -> Self {
        let answer = view.answer.as_deref().unwrap_or_default();
        let quotes: Option<Vec<&str>> =
            unsupported.map(|sentences| sentences.iter().map(|text| text.trim()).collect());
        let named = quotes.as_deref().unwrap_or_default();
        let are_verbatim = named
            .iter()
            .all(|quote| is_sentence(quote, answer) && answer.contains(quote));
        let has_evidence = label != Label::True || quotes.is_some();
        let reading = match label {
            Label::True if !named.is_empty() => Label::False,
            Label::True | Label::False | Label::Unsure => label,
        };
        Self {
            reading: (are_verbatim && has_evidence).then_some(reading),
            quotes,
        }
    }

    /// The judgment of every statement of the answer.
    fn spread(&self, trace: &Trace, view: &View<'_>, reply: &Reply<'_>) -> Vec<StatementJudgment> {
        let Some(quotes) = &self.quotes else {
            return Vec::new();
        };
        let (own, are_placed) = own_statements(trace, view, quotes);
        let about = Question::about(Dimension::Groundedness);
        let judged = |label: Label| reply.judgment(about, label.number());
        let judgment = |is_named: bool| -> Judgment {
            match self.reading {
                None => reply.failure(FailureReason::Protocol),
                Some(Label::Unsure) if is_named || quotes.is_empty() => judged(Label::Unsure),
                Some(_) if is_named => judged(Label::False),
                // It is not known which statements are meant.
                Some(Label::False) if quotes.is_empty() => {
                    reply.failure(FailureReason::Undecidable)
                }
                Some(_) if !are_placed => reply.failure(FailureReason::Undecidable),
                Some(_) => judged(Label::True),
            }
        };
        own.into_iter()
            .map(|own| StatementJudgment {
                groundedness: judgment(own.is_named),
                text: own.text,
                span: own.span,
            })
            .collect()
    }
}

/// Whether a quotation can be meant as a sentence and not as a letter or a word that stands anywhere.
fn is_sentence(quote: &str, answer: &str) -> bool {
    const LEAST: usize = 8;
    let letters = quote.chars().filter(|c| c.is_alphanumeric()).count();
    let mut own = statements(answer).into_iter();
    LEAST <= letters || (0 < letters && own.any(|own| own.text.trim() == quote))
}

/// The statements of the answer as it was shown, and whether each quotation is a part of at least one.
///
/// Statements and places of the trace itself are those of an answer that was shown as it is.
fn own_statements(trace: &Trace, view: &View<'_>, quotes: &[&str]) -> (Vec<Own>, bool) {
    let shown = view.answer.as_deref().unwrap_or_default();
    let is_original = shown == trace.answer;
    if is_original && !trace.statements.is_empty() {
        let names = |text: &str, quote: &str| text.contains(quote) || quote.contains(text.trim());
        let own = trace.statements.iter().map(|text| Own {
            text: text.clone(),
            span: None,
            is_named: quotes.iter().any(|quote| names(text, quote)),
        });
        let is_placed = |quote: &&str| trace.statements.iter().any(|text| names(text, quote));
        return (own.collect(), quotes.iter().all(is_placed));
    }
    let places: Vec<Vec<Range<usize>>> = quotes.iter().map(|quote| places(shown, quote)).collect();
    let overlaps = |span: &Range<usize>, place: &Range<usize>| {
        place.start < span.end && span.start < place.end
    };
    let own = statements(shown);
    let are_placed = places.iter().all(|places| {
        let mut spans = own.iter().map(|passage| &passage.span);
        spans.any(|span| places.iter().any(|place| overlaps(span, place)))
    });
    let own = own.into_iter().map(|passage| Own {
        text: passage.text.to_owned(),
        is_named: places
            .iter()
            .flatten()
            .any(|place| overlaps(&passage.span, place)),
        span: Some(passage.span).filter(|_| is_original),
    });
    (own.collect(), are_placed)
}

/// Where a quotation stands in a text, in code points.
fn places(text: &str, quote: &str) -> Vec<Range<usize>> {
    let length = quote.chars().count();
    let mut places = Vec::new();
    let (mut byte, mut chars) = (0, 0);
    for (at, _) in text.match_indices(quote) {
        chars += text[byte..at].chars().count();
        byte = at;
        places.push(chars..chars + length);
    }
    places
}
