//! One trace judged from beginning to end, without waiting for anything.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::EmbeddedOptions;
use super::features::Features;
use super::groundedness::Finding;
use super::index::{Index, Source};
use super::lexicon::{Lexicon, WordId};
use super::retrieval::{Asked, Coverage};
use super::voice::Voice;
use super::{answer_type, conflict, generation, groundedness};
use crate::domain::dimension::Dimension;
use crate::domain::failure::FailureReason;
use crate::domain::judgment::{Answers, Judgment, StatementJudgment};
use crate::domain::outcome::JudgeRole;
use crate::domain::question::{Question, QuestionSet};
use crate::domain::trace::{JudgeId, Trace};
use crate::text::abstention::abstains;
use crate::text::language::LanguageTally;

/// Everything that is needed to judge one trace.
pub(super) struct Work {
    pub(super) trace: Arc<Trace>,
    pub(super) questions: QuestionSet,
    pub(super) history_is_evidence: bool,
    pub(super) judge_id: JudgeId,
    pub(super) role: JudgeRole,
    pub(super) options: EmbeddedOptions,
}

/// Judgments, and those of the statements.
pub(super) type Findings = (Answers, Vec<StatementJudgment>);

/// The features of the decidable statements of the answer; none if the lists do not apply.
pub(super) fn features(trace: &Trace) -> Vec<Features> {
    let english = English::of(trace);
    if !(english.answer && english.context) {
        return Vec::new();
    }
    let mut lexicon = Lexicon::new(true);
    let index = Index::new(&sources(trace, &english), &[], &mut lexicon);
    let statements = groundedness::read_statements(trace, true, &mut lexicon);
    let findings = groundedness::find_all(statements, &index, &lexicon);
    let decidable = findings.into_iter().filter(Finding::is_decidable);
    decidable.map(|finding| finding.features).collect()
}

/// The texts of the chunks.
fn sources<'a>(trace: &'a Trace, english: &English) -> Vec<Source<'a>> {
    let chunks = trace.chunks.iter().zip(&english.shown);
    chunks
        .map(|(chunk, &shows_english)| Source {
            text: &chunk.text,
            shows_english,
        })
        .collect()
}

/// Which texts are English enough for the English lists.
struct English {
    /// What the trace says.
    named: Option<bool>,
    question: bool,
    chunks: Vec<bool>,
    /// The chunks whose own words show it.
    shown: Vec<bool>,
    context: bool,
    answer: bool,
    reference: bool,
}

impl Work {
    /// Bytes of all texts together.
    pub(super) fn size(trace: &Trace) -> usize {
        let chunks = trace.chunks.iter().map(|chunk| chunk.text.len());
        let turns = trace.history.iter().map(|turn| turn.text.len());
        let statements = trace.statements.iter().map(String::len);
        let reference = trace.reference_answer.as_ref().map_or(0, String::len);
        let asked = trace.question.len() + trace.retrieval_question().len();
        let lists: usize = chunks.chain(turns).chain(statements).sum();
        lists + trace.answer.len() + reference + asked
    }

    /// Answers the questions that are asked.
    pub(super) fn run(&self) -> Findings {
        let trace = &self.trace;
        let english = English::of(trace);
        let mut lexicon = Lexicon::new(english.context);
        let chunks = sources(trace, &english);
        let turns = trace.history.iter().filter(|_| self.history_is_evidence);
        let turns: Vec<_> = turns
            .map(|turn| Source {
                text: &turn.text,
                shows_english: english
                    .named
                    .unwrap_or_else(|| LanguageTally::of(&turn.text).shows_english()),
            })
            .collect();
        let index = Index::new(&chunks, &turns, &mut lexicon);

        let mut answers = Answers::from_fn(trace.chunks.len(), |_| None);
        let answer = self.about_words_of_the_answer(&mut answers, &mut lexicon, &english);
        let findings = self.findings(&index, &mut lexicon);
        let applies = english.answer && english.context;
        let supporting = groundedness::supporting_chunks(&findings, &index, applies);
        let question = retrieval_words(trace, &mut lexicon);
        let asked = Asked {
            words: &question,
            kind: answer_type::expected(trace.retrieval_question()),
        };
        let coverage = Coverage::new(asked, &answer, &index, &lexicon);
        self.about_retrieval(&mut answers, &coverage, &supporting, &english);
        let asked = Question::about(Dimension::ContextConflict);
        self.put(&mut answers, asked, english.context, || {
            conflict::conflict(&coverage, &index, &lexicon, &self.voice())
        });
        let off_topic =
            !supporting.is_empty() && !supporting.iter().any(|&chunk| coverage.is_on_topic(chunk));
        let off_topic = off_topic && english.question;
        let evidence = (&index, &lexicon);
        let statements =
            self.about_statements(&mut answers, findings, evidence, applies, off_topic);
        (answers, statements)
    }

    /// What was found of the statements of the answer, if anything is asked about them.
    fn findings(&self, index: &Index, lexicon: &mut Lexicon) -> Vec<Finding> {
        let about = [Dimension::Groundedness, Dimension::Contradiction];
        if !about
            .iter()
            .any(|&dimension| self.questions[Question::about(dimension)])
        {
            return Vec::new();
        }
        let detect_abstention = self.options.detect_abstention;
        let statements = groundedness::read_statements(&self.trace, detect_abstention, lexicon);
        groundedness::find_all(statements, index, lexicon)
    }

    fn about_retrieval(
        &self,
        answers: &mut Answers,
        coverage: &Coverage<'_>,
        supporting: &BTreeSet<usize>,
        english: &English,
    ) {
        let voice = self.voice();
        for chunk in 0..self.trace.chunks.len() {
            let applies = english.question && english.context && english.chunks[chunk];
            self.put(answers, Question::chunk(chunk), applies, || {
                coverage.chunk_relevance(chunk, supporting.contains(&chunk), &voice)
            });
        }
        let sufficiency = Question::about(Dimension::ContextSufficiency);
        let applies = english.question && english.context;
        self.put(answers, sufficiency, applies, || {
            coverage.sufficiency(&voice)
        });
    }

    /// Gives back the distinct content words of the answer, sorted; none of one that abstains.
    fn about_words_of_the_answer(
        &self,
        answers: &mut Answers,
        lexicon: &mut Lexicon,
        english: &English,
    ) -> Vec<WordId> {
        let trace = &self.trace;
        let voice = self.voice();
        let answer = lexicon.content(&trace.answer);
        let abstains = self.options.detect_abstention && abstains(&trace.answer);
        let asked = Question::about(Dimension::AnswerRelevance);
        let applies = english.question && english.answer && english.context;
        self.put(answers, asked, applies, || {
            let question = lexicon.content(&trace.question);
            generation::relevance(&question, &answer, abstains, lexicon, &voice)
        });
        let asked = Question::about(Dimension::Correctness);
        let applies = english.answer && english.reference && english.context;
        self.put(answers, asked, applies, || {
            let reference = trace.reference_answer.as_deref().unwrap_or_default();
            let reference = lexicon.content(reference);
            generation::correctness(&answer, &reference, lexicon, &voice)
        });
        if abstains { Vec::new() } else { answer }
    }

    fn about_statements(
        &self,
        answers: &mut Answers,
        findings: Vec<Finding>,
        (index, lexicon): (&Index, &Lexicon),
        applies: bool,
        off_topic: bool,
    ) -> Vec<StatementJudgment> {
        let voice = self.voice();
        let contradicted = Question::about(Dimension::Contradiction);
        self.put(answers, contradicted, applies, || {
            generation::contradiction(&findings, index, &voice)
        });
        let grounded = Question::about(Dimension::Groundedness);
        if !self.questions[grounded] {
            return Vec::new();
        }
        let evidence = (index, lexicon);
        let (whole, each) = groundedness::judge(findings, evidence, applies, off_topic, &voice);
        answers[grounded] = Some(whole);
        each
    }

    /// Answers a question if it is asked, with a failure unless the lists apply.
    fn put(
        &self,
        answers: &mut Answers,
        question: Question,
        lists_apply: bool,
        judge: impl FnOnce() -> Judgment,
    ) {
        if self.questions[question] {
            answers[question] = Some(if lists_apply {
                judge()
            } else {
                self.voice().failed(FailureReason::UnsupportedLanguage)
            });
        }
    }

    fn voice(&self) -> Voice<'_> {
        Voice {
            judge_id: &self.judge_id,
            role: self.role,
            clamp: self.options.clamp,
        }
    }
}

impl English {
    /// A language that came with the trace decides; otherwise each text shows its own.
    fn of(trace: &Trace) -> Self {
        let named = trace.language.as_deref().and_then(named_english);
        let shows = |text: &str| named.unwrap_or_else(|| LanguageTally::of(text).is_english());
        let mut whole = LanguageTally::default();
        let mut chunks = Vec::with_capacity(trace.chunks.len());
        let mut shown = Vec::with_capacity(trace.chunks.len());
        for chunk in &trace.chunks {
            let tally = LanguageTally::of(&chunk.text);
            chunks.push(named.unwrap_or_else(|| tally.is_english()));
            shown.push(named.unwrap_or_else(|| tally.shows_english()));
            whole.merge(tally);
        }
        Self {
            named,
            question: shows(trace.retrieval_question()) && shows(&trace.question),
            chunks,
            shown,
            context: named.unwrap_or_else(|| whole.is_english()),
            answer: shows(&trace.answer) && trace.statements.iter().all(|text| shows(text)),
            reference: trace.reference_answer.as_deref().is_none_or(shows),
        }
    }
}

/// Whether a BCP 47 tag names English; `None` if it names no one language.
fn named_english(tag: &str) -> Option<bool> {
    let language = tag.split(['-', '_']).next().unwrap_or_default();
    let is = |name: &str| language.eq_ignore_ascii_case(name);
    let names_one = !(is("und") || is("mul") || is("x"));
    names_one.then(|| is("en") || is("eng"))
}

/// The distinct content words that the retriever was asked for: earlier turns count unless the question stands alone.
fn retrieval_words(trace: &Trace, lexicon: &mut Lexicon) -> Vec<WordId> {
    let mut words = lexicon.content(trace.retrieval_question());
    if trace.standalone_question.is_none() {
        for turn in &trace.history {
            words.extend(lexicon.content(&turn.text));
        }
    }
    words.sort_unstable();
    words.dedup();
    words
}
