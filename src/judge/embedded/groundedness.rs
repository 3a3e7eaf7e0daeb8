//! Groundedness: whether the evidence supports every statement of the answer.
//!
//! A statement that is a quotation (as `quotation` says) has p = 0.97, any other what the fitted `model` makes of its
//! `features`, which never reaches 0.9: words that all occur may still say something else. The answer has the p of its
//! worst statement. Guards only forbid a PASS; they never lower a number. One is about the whole answer: a quotation of
//! chunks that share no word with the question may answer it in other words or miss it, and words do not tell which.
//!
//! A statement is undecidable with fewer than three content words, if it abstains, or if it is a table row, JSON or code
//! or has its best evidence in some, unless it is a quotation. In a text that is not English only quotations of at least
//! three words are judged. Undecidable statements stay out of the minimum but forbid a PASS. One that abstains does so
//! only if it holds a number or a name that stands nowhere in the evidence; a quotation that is too short to judge does
//! not.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::features::{Features, Measured};
use super::index::Index;
use super::lexicon::{Lexicon, WordId};
use super::matching::{Match, Matcher};
use super::model;
use super::quotation::{Quote, Wording};
use super::structure::{Structure, looks_structured};
use super::voice::{Voice, passage};
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{Evidence, Guard, Judgment, JudgmentBasis, StatementJudgment};
use crate::domain::trace::Trace;
use crate::text::abstention::sentence_abstains;
use crate::text::statements::decidable_statements;

/// P of a quotation.
const QUOTED: f64 = 0.97;
/// English words that take back what stands beside them, sorted.
const DENIALS: &[&str] = &[
    "false",
    "inaccurate",
    "incorrect",
    "invalid",
    "mistake",
    "mistaken",
    "mistakes",
    "myth",
    "myths",
    "obsolete",
    "outdated",
    "superseded",
    "untrue",
    "withdrawn",
    "wrong",
];
/// Sentences before a quotation in which they count.
const DENYING_SENTENCES: usize = 4;
/// English pronouns that stand for something in the sentence before.
const PRONOUNS: &[&str] = &["he", "it", "its", "she", "their", "these", "they", "this"];
/// Share of a sentence's content words that a statement lacks at most if it is the same sentence in another order.
const OTHER_WORDS: f64 = 0.2;
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
    /// It says enough to be judged.
    is_decidable: bool,
    /// It is a row of a table, JSON or code.
    is_structured: bool,
}

/// A statement, what was found of it and the guards that fired.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) statement: Statement,
    pub(super) matched: Match,
    pub(super) features: Features,
    pub(super) guards: Vec<Guard>,
}

impl Finding {
    /// Whether its words are enough to judge it in English.
    pub(super) fn is_decidable(&self) -> bool {
        let statement = &self.statement;
        let is_left_out = statement.abstains || statement.is_structured;
        !is_left_out && statement.is_decidable && !self.matched.content.is_empty()
    }
}

/// The statements that came with the trace, else those of the answer.
pub(super) fn read_statements(
    trace: &Trace,
    detect_abstention: bool,
    lexicon: &mut Lexicon,
) -> Vec<Statement> {
    let split = decidable_statements(&trace.statements, &trace.answer);
    let mut quotes = if trace.statements.is_empty() {
        Wording::statements_of(&trace.answer, lexicon).into_iter()
    } else {
        let given = trace.statements.iter();
        let quotes: Vec<_> = given.map(|text| Wording::whole(text, lexicon)).collect();
        quotes.into_iter()
    };
    let structure = Structure::of(&trace.answer);
    split
        .into_iter()
        .map(|said| Statement {
            quote: quotes.next().unwrap_or_default(),
            abstains: detect_abstention && sentence_abstains(said.text),
            is_decidable: said.is_decidable,
            is_structured: looks_structured(said.text)
                || said
                    .span
                    .as_ref()
                    .is_some_and(|span| structure.is_fenced(span)),
            span: said.span,
            ..read(said.text, lexicon)
        })
        .collect()
}

fn read(text: &str, lexicon: &mut Lexicon) -> Statement {
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
        quote: Quote::default(),
        abstains: false,
        is_decidable: false,
        is_structured: false,
        text: text.to_owned(),
        span: None,
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
            let measured = Measured {
                words: &statement.words,
                names: &statement.names,
                matched: &matched,
            };
            let features = measured.features(index, lexicon);
            Finding {
                guards: guards(&statement, &matched, &features, index, lexicon),
                statement,
                matched,
                features,
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
        .filter(|finding| probability(finding, index, english).is_ok_and(|p| SUPPORTED <= p));
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
    let mut previous = None;
    let quotes = findings
        .iter()
        .filter_map(|finding| finding.matched.quote.clone());
    let quoted: BTreeSet<usize> = quotes.flatten().collect();
    for mut finding in findings {
        if torn_out(&finding, previous.as_ref(), &quoted, evidence) {
            finding.guards.push(Guard::QuotedContext);
        }
        previous.clone_from(&finding.matched.quote);
        let shown = shown(&finding, evidence);
        let groundedness = match probability(&finding, evidence.0, english) {
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
                    !is_quoted || finding.guards.contains(&Guard::QuotedContext)
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

/// Whether sentences around a quotation that the answer does not quote too take it back, or it starts with a pronoun that
/// stood after another sentence.
fn torn_out(
    finding: &Finding,
    previous: Option<&Range<usize>>,
    quoted: &BTreeSet<usize>,
    (index, lexicon): (&Index, &Lexicon),
) -> bool {
    let Some(quote) = &finding.matched.quote else {
        return false;
    };
    let source = index.sentences[quote.start].source;
    let is_beside = |at: &usize| index.sentences[*at].source == source && !quoted.contains(at);
    let before = (quote.start.saturating_sub(DENYING_SENTENCES)..quote.start).filter(is_beside);
    let after = Some(quote.end).filter(|at| *at < index.sentences.len() && is_beside(at));
    let spelled = |at: usize| {
        let words = index.words_of(at..at + 1).iter();
        words.map(|&id| lexicon.spelling(id)).collect::<Vec<_>>()
    };
    let denies = |words: &[&str]| {
        let says = words.iter().any(|word| DENIALS.binary_search(word).is_ok());
        says || words.windows(2).any(|pair| pair == ["no", "longer"])
    };
    let is_denied = before.chain(after).any(|at| denies(&spelled(at)));
    let is_answered = after.is_some_and(|at| spelled(at).first() == Some(&"no"));
    let first = finding.statement.words.first();
    let is_pronoun = first.is_some_and(|&id| PRONOUNS.contains(&lexicon.spelling(id)));
    let follows = previous.is_none_or(|previous| previous.end == quote.start);
    lexicon.english && (is_denied || is_answered || (is_pronoun && !follows))
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
fn probability(finding: &Finding, index: &Index, english: bool) -> Result<f64, FailureReason> {
    let statement = &finding.statement;
    let quoted = finding.matched.quote.is_some();
    if statement.abstains || statement.words.is_empty() {
        return Err(FailureReason::Undecidable);
    }
    if !english {
        let long_enough = PLAIN_QUOTE_WORDS <= statement.words.len();
        return match (quoted, long_enough) {
            (true, true) => Ok(QUOTED),
            (true, false) => Err(FailureReason::Undecidable),
            (false, _) => Err(FailureReason::UnsupportedLanguage),
        };
    }
    if !statement.is_decidable || finding.matched.content.is_empty() {
        return Err(FailureReason::Undecidable);
    }
    if quoted {
        return Ok(QUOTED);
    }
    let best = finding
        .matched
        .best
        .filter(|(_, share)| SAME_SUBJECT <= *share);
    let rests_on_structure = best.is_some_and(|(best, _)| index.sentences[best].is_structured);
    if statement.is_structured || rests_on_structure {
        return Err(FailureReason::Undecidable);
    }
    Ok(model::groundedness(&finding.features))
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
fn guards(
    statement: &Statement,
    matched: &Match,
    features: &Features,
    index: &Index,
    lexicon: &Lexicon,
) -> Vec<Guard> {
    let is_missing = |id: WordId| index.places(id).is_empty();
    let mut numbers = statement
        .words
        .iter()
        .filter(|&&id| lexicon.facts(id).is_number);
    let has_missing_number = numbers.any(|&id| is_missing(id));
    let has_missing_name = statement.names.iter().any(|&id| is_missing(id));
    let [.., conflict, negation, antonym] = *features;
    // What a quotation leaves out of its sentences says nothing against it.
    let is_about_the_same = matched.best.is_some_and(|(_, share)| SAME_SUBJECT <= share);
    let compared = matched.quote.is_none() && is_about_the_same;
    let fires = |feature: f64| compared && 0.5 < feature;
    let order_differs = compared && order_differs(statement, matched, index, lexicon);
    [
        (has_missing_number, Guard::MissingNumber),
        (fires(conflict), Guard::NumberConflict),
        (has_missing_name, Guard::MissingName),
        (fires(negation), Guard::NegationParity),
        (fires(antonym), Guard::Antonym),
        (order_differs, Guard::WordOrder),
    ]
    .into_iter()
    .filter_map(|(fired, guard)| fired.then_some(guard))
    .collect()
}

/// Whether the statement has nearly the content words of its best sentence, two of them the other way round. Numbers do
/// not count: a date may stand anywhere.
fn order_differs(statement: &Statement, matched: &Match, index: &Index, lexicon: &Lexicon) -> bool {
    let Some((best, _)) = matched.best else {
        return false;
    };
    let mut places: BTreeMap<WordId, (usize, usize)> = BTreeMap::new();
    for (at, &id) in index.words_of(best..best + 1).iter().enumerate() {
        let facts = lexicon.facts(id);
        if facts.is_content && !facts.is_number {
            places.entry(id).or_insert((at, at)).1 = at;
        }
    }
    let is_said = |id: &&WordId| matched.content.binary_search(id).is_ok();
    let others = places.len() - places.keys().filter(is_said).count();
    if OTHER_WORDS * (places.len() as f64) < others as f64 {
        return false;
    }
    let mut latest = None;
    statement
        .words
        .iter()
        .filter_map(|id| places.get(id))
        .any(|&(first, last)| {
            let is_reversed = latest.is_some_and(|latest| last < latest);
            latest = latest.max(Some(first));
            is_reversed
        })
}

/// Whether an odd number of negations stands in it.
pub(super) fn is_negated(words: &[WordId], lexicon: &Lexicon) -> bool {
    let count = words
        .iter()
        .filter(|&&id| lexicon.facts(id).negates)
        .count();
    count % 2 == 1
}
