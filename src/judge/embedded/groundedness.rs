//! Groundedness: whether the evidence supports every statement of the answer.
//!
//! A statement that is a quotation (as `quotation` says) has p = 0.97; in a text that is not English it must have at
//! least three words. Any other has
//! p = 0.02 + 0.83 f^1.25 with f = 0.3 containment + 0.4 window + 0.3 pairs, so that it never reaches 0.9: words that all
//! occur may still say something else. The answer has the p of its worst statement.
//! Guards only forbid a PASS; they never lower a number. One is about the whole answer: a quotation of chunks that share
//! no word with the question may answer it in other words or miss it, and words do not tell which.
//!
//! A statement with fewer than three content words is undecidable unless it is a quotation or one sentence holds all of
//! its words, and so is a statement that abstains. Undecidable ones stay out of the minimum but forbid a PASS. One that
//! abstains does so only if it holds a number or a name that stands nowhere in the evidence; a quotation that is too
//! short to judge does not.

use std::collections::BTreeSet;
use std::ops::Range;

use super::index::Index;
use super::lexicon::{Lexicon, WordId};
use super::matching::{Match, Matcher};
use super::quotation::{Quote, Wording};
use super::voice::{Voice, passage};
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{Evidence, Guard, Judgment, JudgmentBasis, StatementJudgment};
use crate::domain::trace::Trace;
use crate::text::abstention::sentence_abstains;
use crate::text::sentences::statements;

/// P of a quotation.
const QUOTED: f64 = 0.97;
/// P of a statement that shares nothing.
const FLOOR: f64 = 0.02;
/// What full marks without a quotation add.
const RANGE: f64 = 0.83;
/// Content words that make a statement decidable by its words.
const DECIDABLE_WORDS: usize = 3;
/// Words of a quotation in a language without word lists at least.
const PLAIN_QUOTE_WORDS: usize = 3;
/// P from which a statement counts as supported by its chunk.
const SUPPORTED: f64 = 0.5;
/// Weighted share from which a sentence counts as being about the same.
pub(super) const SAME_SUBJECT: f64 = 0.5;

/// A statement of the answer, read.
#[derive(Debug)]
pub(super) struct Statement {
    text: String,
    span: Option<Range<usize>>,
    /// Its words without fillers, in order.
    pub(super) words: Vec<WordId>,
    /// Capitalised words that do not start it.
    names: Vec<WordId>,
    /// The statement as a quotation.
    quote: Quote,
    abstains: bool,
}

/// A statement, what was found of it and the guards that fired.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) statement: Statement,
    pub(super) matched: Match,
    pub(super) guards: Vec<Guard>,
}

/// The statements that came with the trace, else those of the answer.
pub(super) fn read_statements(trace: &Trace, lexicon: &mut Lexicon) -> Vec<Statement> {
    if !trace.statements.is_empty() {
        let given = trace.statements.iter();
        return given
            .map(|text| {
                let quote = Wording::whole(text, lexicon);
                read(text, None, quote, lexicon)
            })
            .collect();
    }
    let quotes = Wording::statements_of(&trace.answer, lexicon);
    let split = statements(&trace.answer).into_iter().zip(quotes);
    split
        .map(|(passage, quote)| read(passage.text, Some(passage.span), quote, lexicon))
        .collect()
}

fn read(text: &str, span: Option<Range<usize>>, quote: Quote, lexicon: &mut Lexicon) -> Statement {
    let tokens = lexicon.tokens(text);
    let first = text.find(char::is_alphanumeric).unwrap_or_default();
    let names = tokens
        .iter()
        .filter(|token| first < token.start && token.written.starts_with(char::is_uppercase))
        .filter(|token| lexicon.facts(token.id).is_content)
        .map(|token| token.id)
        .collect();
    Statement {
        words: tokens.iter().map(|token| token.id).collect(),
        names,
        quote,
        abstains: sentence_abstains(text),
        text: text.to_owned(),
        span,
    }
}

/// Looks every statement up in the evidence.
pub(super) fn find_all(
    statements: Vec<Statement>,
    index: &Index,
    lexicon: &Lexicon,
) -> Vec<Finding> {
    let mut matcher = Matcher::new(index, lexicon, statements.len());
    statements
        .into_iter()
        .map(|statement| {
            let matched = matcher.find(&statement.words, &statement.quote);
            Finding {
                guards: guards(&statement, &matched, index, lexicon),
                statement,
                matched,
            }
        })
        .collect()
}

/// The chunks in which statements of the answer stand.
pub(super) fn supporting_chunks(
    findings: &[Finding],
    index: &Index,
    english: bool,
) -> BTreeSet<usize> {
    let supported = findings
        .iter()
        .filter(|finding| probability(finding, english).is_ok_and(|p| SUPPORTED <= p));
    supported
        .filter_map(|finding| evidence_of(finding, index).chunk)
        .collect()
}

/// The groundedness of the answer and of each of its statements. Without `english` only quotations are judged;
/// `off_topic` tells that no supporting chunk shares a word with the question.
pub(super) fn judge(
    findings: Vec<Finding>,
    evidence: (&Index, &Lexicon),
    english: bool,
    off_topic: bool,
    voice: &Voice<'_>,
) -> (Judgment, Vec<StatementJudgment>) {
    let mut worst: Option<(f64, Evidence)> = None;
    let mut guards: Vec<Guard> = off_topic.then_some(Guard::OffTopic).into_iter().collect();
    let mut unsupported = false;
    let mut has_open_claim = false;
    let mut judgments = Vec::with_capacity(findings.len());
    for finding in findings {
        let shown = shown(&finding, evidence);
        let groundedness = match probability(&finding, english) {
            Ok(p) => {
                guards.extend_from_slice(&finding.guards);
                if worst.as_ref().is_none_or(|(least, _)| p < *least) {
                    worst = Some((p, shown.clone()));
                }
                let vetoes = !finding.guards.is_empty();
                voice.judged(p, JudgmentBasis::Measured, vetoes, Some(shown))
            }
            Err(reason) => {
                unsupported |= reason == FailureReason::UnsupportedLanguage;
                let statement = &finding.statement;
                // A quoted sentence may be too short to judge, such as a heading, but it is no claim of its own.
                let is_quoted = finding.matched.quote.is_some();
                has_open_claim |= if statement.abstains {
                    holds_new_fact(statement, evidence)
                } else {
                    !is_quoted
                };
                voice.failed(reason)
            }
        };
        judgments.push(StatementJudgment {
            text: finding.statement.text,
            span: finding.statement.span,
            groundedness,
        });
    }
    guards.sort_unstable();
    guards.dedup();
    let whole = match worst {
        _ if unsupported => voice.failed(FailureReason::UnsupportedLanguage),
        None => voice.failed(FailureReason::Undecidable),
        Some((p, worst)) => {
            let vetoes = has_open_claim || !guards.is_empty();
            let shown = Evidence { guards, ..worst };
            voice.judged(p, JudgmentBasis::Measured, vetoes, Some(shown))
        }
    };
    (whole, judgments)
}

/// What the judgment of a statement rests on.
fn shown(finding: &Finding, (index, lexicon): (&Index, &Lexicon)) -> Evidence {
    let terms = finding.matched.missing.iter();
    Evidence {
        missing_terms: terms.map(|&id| lexicon.spelling(id).to_owned()).collect(),
        guards: finding.guards.clone(),
        ..evidence_of(finding, index)
    }
}

/// Where a statement stands, or what comes nearest to it.
fn evidence_of(finding: &Finding, index: &Index) -> Evidence {
    let quoted = finding.matched.quote.clone();
    let best = finding.matched.best.map(|(best, _)| best..best + 1);
    passage(index, quoted.or(best))
}

/// P that the statement is supported, or why there is none.
fn probability(finding: &Finding, english: bool) -> Result<f64, FailureReason> {
    let Finding {
        statement, matched, ..
    } = finding;
    if statement.abstains || statement.words.is_empty() {
        return Err(FailureReason::Undecidable);
    }
    let quoted = matched.quote.is_some();
    if !english {
        let long_enough = PLAIN_QUOTE_WORDS <= statement.words.len();
        return match (quoted, long_enough) {
            (true, true) => Ok(QUOTED),
            (true, false) => Err(FailureReason::Undecidable),
            (false, _) => Err(FailureReason::UnsupportedLanguage),
        };
    }
    if matched.content_count == 0 {
        return Err(FailureReason::Undecidable);
    }
    if quoted {
        return Ok(QUOTED);
    }
    if matched.content_count < DECIDABLE_WORDS && !matched.in_one_sentence {
        return Err(FailureReason::Undecidable);
    }
    let share = 0.3 * matched.containment + 0.4 * matched.window + 0.3 * matched.pairs;
    Ok(FLOOR + RANGE * share * share.sqrt().sqrt())
}

/// Whether a number or a name stands nowhere in the evidence; `5kg` counts as a number too.
fn holds_new_fact(statement: &Statement, (index, lexicon): (&Index, &Lexicon)) -> bool {
    let is_number =
        |id: WordId| lexicon.facts(id).is_number || lexicon.spelling(id).contains(char::is_numeric);
    let words = statement.words.iter().filter(|&&id| is_number(id));
    let mut facts = words.chain(&statement.names);
    facts.any(|&id| index.places(id).is_empty())
}

/// The guards that fire, in their order.
fn guards(statement: &Statement, matched: &Match, index: &Index, lexicon: &Lexicon) -> Vec<Guard> {
    let is_missing = |id: WordId| index.places(id).is_empty();
    let has_missing_number = statement
        .words
        .iter()
        .any(|&id| lexicon.facts(id).is_number && is_missing(id));
    let has_missing_name = statement.names.iter().any(|&id| is_missing(id));
    // What a quotation leaves out of its sentences negates nothing.
    let best = matched.best.filter(|_| matched.quote.is_none());
    let compared = best
        .filter(|(_, share)| SAME_SUBJECT <= *share)
        .map(|(best, _)| best..best + 1);
    let parity_differs = compared.is_some_and(|sentences| {
        is_negated(&statement.words, lexicon) != is_negated(index.words_of(sentences), lexicon)
    });
    [
        (has_missing_number, Guard::MissingNumber),
        (has_missing_name, Guard::MissingName),
        (parity_differs, Guard::NegationParity),
    ]
    .into_iter()
    .filter_map(|(fired, guard)| fired.then_some(guard))
    .collect()
}

/// Whether an odd number of negations stands in it.
pub(super) fn is_negated(words: &[WordId], lexicon: &Lexicon) -> bool {
    let count = words
        .iter()
        .filter(|&&id| lexicon.facts(id).negates)
        .count();
    count % 2 == 1
}
