use proptest::prelude::*;

use super::*;
use crate::domain::dimension::Dimension;
use crate::domain::judgment::{Guard, Judged, Judgment, JudgmentBasis};
use crate::domain::outcome::{DecisionVariant, JudgeRole};
use crate::domain::question::{Question, QuestionSet};
use crate::domain::trace::{Chunk, RetrievalState, Trace, TraceDraft, TraceLimits, Turn, TurnRole};
use crate::judge::decision::Decision;

mod pairs;

fn draft(question: &str, chunks: &[&str], answer: &str) -> TraceDraft {
    let chunk = |(at, text): (usize, &&str)| Chunk {
        chunk_id: format!("c{at}").into(),
        text: (*text).to_owned(),
        document_id: None,
        retrieval_score: None,
    };
    TraceDraft {
        trace_id: "t".into(),
        question: question.to_owned(),
        chunks: chunks.iter().enumerate().map(chunk).collect(),
        answer: answer.to_owned(),
        reference_answer: None,
        history: Vec::new(),
        standalone_question: None,
        retrieval: RetrievalState::Performed,
        tags: Vec::new(),
        generator_model: None,
        language: None,
        statements: Vec::new(),
    }
}

fn judge_asking(draft: TraceDraft, asked: impl Fn(Question) -> bool, history: bool) -> Answer {
    judge_with(EmbeddedOptions::default(), draft, asked, history)
}

fn judge_with(
    options: EmbeddedOptions,
    draft: TraceDraft,
    asked: impl Fn(Question) -> bool,
    history: bool,
) -> Answer {
    let limits = TraceLimits {
        max_chunk_count: 1000,
        max_text_bytes: 1 << 26,
        max_history_turns: 100,
    };
    let trace = Arc::new(Trace::new(draft, &limits).unwrap());
    let questions = QuestionSet::from_fn(trace.chunks.len(), asked);
    let ask = Ask {
        trace: &trace,
        questions: &questions,
        decision: Decision::of(DecisionVariant::WithReference),
        history_is_evidence: history,
    };
    let context = CallContext::until(Instant::now(), JudgeRole::Atomic);
    let judge = EmbeddedJudge::new("embedded".into(), options);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(judge.judge(&ask, &context)).unwrap()
}

fn judge(draft: TraceDraft) -> Answer {
    judge_asking(draft, |_| true, false)
}

fn of(answer: &Answer, dimension: Dimension) -> &Judgment {
    answer.answers[Question::about(dimension)].as_ref().unwrap()
}

/// A fact about each of the dimensions that stand on several questions.
fn grounded(chunks: &[&str], answer: &str) -> Judged {
    let answer = judge(draft("What about it?", chunks, answer));
    let judgment = of(&answer, Dimension::Groundedness);
    judgment
        .judged()
        .unwrap_or_else(|| panic!("{judgment:?}"))
        .clone()
}

fn would_pass(judged: &Judged) -> bool {
    0.9 <= judged.probability.value() && !judged.vetoes_pass
}

const SALE: &str = "Orvane Foods bought Lumio Bakeries in 2019 for 30 million crowns. \
    The sale was not announced before March.";

#[test]
fn a_quotation_passes() {
    #[track_caller]
    fn check(answer: &str) {
        let judged = grounded(&["Something else is here.", SALE], answer);
        assert!(would_pass(&judged), "{judged:?}");
        let evidence = judged.evidence.unwrap();
        assert_eq!((evidence.chunk, evidence.missing_terms.len()), (Some(1), 0));
    }
    check(SALE);
    check("Orvane Foods bought Lumio Bakeries in 2019 for 30 million crowns.");
    check("ORVANE FOODS bought the Lumio Bakeries, in 2019, for 30 million crowns!");
    check("The sale was not announced before March");
    check("- The sale was not announced before March \u{1f642}");
}

#[test]
fn composed_and_decomposed_letters_are_the_same_words() {
    let judged = grounded(
        &["The café in the Zürich station sells crème brûlée."],
        "The cafe\u{301} in the Zu\u{308}rich station sells cre\u{300}me bru\u{302}le\u{301}e.",
    );
    assert!(would_pass(&judged));
}

#[test]
fn words_in_another_relation_never_pass() {
    #[track_caller]
    fn check(chunk: &str, answer: &str) {
        let judged = grounded(&[chunk], answer);
        assert!(!would_pass(&judged), "{judged:?}");
        assert!(judged.probability.value() < 0.9, "{judged:?}");
    }
    check(
        SALE,
        "Lumio Bakeries bought Orvane Foods in 2019 for 30 million crowns.",
    );
    check(
        SALE,
        "Orvane Foods was bought by Lumio Bakeries in 2019 for 30 million crowns.",
    );
    check(
        "Orvane said that Kest bought Lumio in 2019.",
        "Orvane bought Lumio in 2019.",
    );
    check(
        "Kest was bought by Orvane Foods.",
        "Kest bought Orvane Foods.",
    );
    check(
        "Refunds are paid in full only for cancelled trains.",
        "Refunds are paid in full.",
    );
    check(
        "Guests may enter from the north.",
        "Guests must enter from the north.",
    );
    check(
        "The lift was closed to visitors.",
        "The lift is closed to visitors.",
    );
    check(
        "The bin is emptied before Monday morning.",
        "The bin is emptied after Monday morning.",
    );
    check(
        "The C programming language is old.",
        "C# is a programming language.",
    );
    check(
        "Vale leads the team. Orn joined the team.",
        "Orn leads the team with Vale.",
    );
}

#[test]
fn guards_forbid_a_pass_and_lower_nothing() {
    #[track_caller]
    fn check(answer: &str, expected: &[Guard]) {
        let judged = grounded(&[SALE], answer);
        assert_eq!(judged.evidence.unwrap().guards, expected);
        assert_eq!(judged.vetoes_pass, !expected.is_empty());
    }
    check(
        "Orvane Foods bought Lumio Bakeries in 2021 for 30 million crowns.",
        &[Guard::MissingNumber, Guard::NumberConflict],
    );
    check(
        "Orvane Foods bought Kestrane Bakeries in 2019 for 30 million crowns.",
        &[Guard::MissingName],
    );
    check(
        "The sale was announced before March.",
        &[Guard::NegationParity],
    );
    check("The sale was not announced after March.", &[Guard::Antonym]);
    check(
        "Lumio Bakeries bought Orvane Foods in 2019 for 30 million crowns.",
        &[Guard::WordOrder],
    );
    check("Orvane Foods bought Lumio Bakeries in 2019.", &[]);
}

/// A number of another sentence is no number of this one.
#[test]
fn a_number_beside_its_sentence_conflicts() {
    let context = "The Tarn pool opens at 8 on Sundays. The sauna of the fort opens at 11.";
    let judged = grounded(&[context], "The Tarn pool opens at 11 on Sundays.");
    let guards = judged.evidence.unwrap().guards;
    assert!(
        judged.vetoes_pass && guards == [Guard::NumberConflict],
        "{guards:?}"
    );
}

#[test]
fn tables_json_and_code_are_not_guessed_at() {
    #[track_caller]
    fn check(context: &str, answer: &str, passes: Option<bool>) {
        let answer = judge(draft("What?", &[context], answer));
        let judged = of(&answer, Dimension::Groundedness).judged();
        assert_eq!(judged.map(would_pass), passes);
    }
    let table = "| Model | Range | Price |\n|---|---|---|\n| Kestrel | 120 km | 900 crowns |";
    check(table, "The Kestrel model has a range of 900 km.", None);
    check(table, "| Kestrel | 900 km | 120 crowns |", None);
    check(table, "| Kestrel | 120 km | 900 crowns |", Some(true));
    let json = "{\"model\": \"Kestrel\", \"range\": 120, \"price\": 900}";
    check(json, "The Kestrel model has range 120 and price 900.", None);
    check(
        "The Kestrel model sells for 900 crowns.",
        "The Kestrel model sells for 900 crowns.\n```\nprint the price of Kestrel\n```",
        Some(false),
    );
}

#[test]
fn abstention_can_be_left_undetected() {
    let abstaining = draft(
        "Who bought it?",
        &[SALE],
        "I could not find the name of the buyer in the documents.",
    );
    for detect_abstention in [true, false] {
        let options = EmbeddedOptions {
            detect_abstention,
            ..EmbeddedOptions::default()
        };
        let answer = judge_with(options, abstaining.clone(), |_| true, false);
        let is_judged = of(&answer, Dimension::Groundedness).judged().is_some();
        assert_eq!(is_judged, !detect_abstention);
    }
}

#[test]
fn a_cut_quotation_of_a_negated_sentence_is_vetoed() {
    let judged = grounded(
        &["It is not true that Orvane bought the Lumio Bakeries."],
        "Orvane bought the Lumio Bakeries.",
    );
    assert!(judged.vetoes_pass && !would_pass(&judged));
}

#[test]
fn a_statement_that_shares_nothing_is_ungrounded() {
    let judged = grounded(&[SALE], "Glaciers store most fresh water.");
    assert!(judged.probability.value() <= 0.05);
    assert_eq!(judged.evidence.unwrap().missing_terms.len(), 5);
}

#[test]
fn statements_of_less_than_three_content_words_are_undecidable() {
    #[track_caller]
    fn check(answer: &str, passes: Option<bool>) {
        let answer = judge(draft("What?", &[SALE], answer));
        let judged = of(&answer, Dimension::Groundedness).judged();
        assert_eq!(judged.map(would_pass), passes);
    }
    check("30 million crowns.", Some(false));
    check("Lumio bought.", None);
    check("Twelve crowns.", None);
    check("It is.", None);
    check("🙂", None);
    check("", None);
}

#[test]
fn an_open_short_claim_beside_a_quotation_forbids_the_pass() {
    let judged = grounded(
        &[SALE],
        "The sale was not announced before March. Lawyers protested.",
    );
    assert!(0.9 <= judged.probability.value() && judged.vetoes_pass);
}

#[test]
fn an_abstaining_answer_has_no_groundedness() {
    let answer = judge(draft(
        "Who?",
        &[SALE],
        "I could not find the name of the buyer in the documents.",
    ));
    let failed = of(&answer, Dimension::Groundedness);
    assert!(
        matches!(failed, Judgment::Failed(failure) if failure.reason == FailureReason::Undecidable)
    );
    assert_eq!(answer.statements.len(), 1);
}

#[test]
fn another_language_is_a_failure_but_for_quotations() {
    #[track_caller]
    fn check(
        chunk: &str,
        answer: &str,
        language: Option<&str>,
        expected: Result<f64, FailureReason>,
    ) {
        let mut draft = draft("?", &[chunk], answer);
        draft.question = chunk.to_owned();
        draft.language = language.map(str::to_owned);
        let answer = judge(draft);
        let found = match of(&answer, Dimension::Groundedness) {
            Judgment::Judged(judged) => Ok(judged.probability.value()),
            Judgment::Failed(failure) => Err(failure.reason),
            Judgment::NotApplicable(_) => panic!("not a reason of this judge"),
        };
        assert_eq!(found, expected);
        let relevance = answer.answers[Question::chunk(0)].as_ref().unwrap();
        assert_eq!(relevance.judged().is_some(), language == Some("en-GB"));
    }
    let unsupported = Err(FailureReason::UnsupportedLanguage);
    let japanese = "小型犬は専用ケースに入れます。料金は四百円です。";
    check(japanese, "料金は四百円です。", None, Ok(0.97));
    check(japanese, "料金は五百円です。", None, unsupported);
    let arabic = "يفتح المتحف يوم الجمعة من الثانية ظهرًا.";
    check(arabic, arabic, None, Ok(0.97));
    check(
        arabic,
        "يفتح المتحف يوم السبت مجانا للأطفال",
        None,
        unsupported,
    );
    let hindi = "दो कप चावल के लिए तीन कप पानी डालें।";
    check(hindi, hindi, Some("hi"), Ok(0.97));
    check(hindi, "पाँच कप चावल और चार कप तेल।", None, unsupported);
    check(
        "Das Café öffnet um neun und ist mit dem Bus zu erreichen.",
        "Das Cafe\u{301} öffnet um neun und ist mit dem Bus zu erreichen",
        None,
        Ok(0.97),
    );
    check(
        "The bin is emptied on Monday.",
        "The bin holds one ton of sand.",
        Some("de"),
        unsupported,
    );
    check(
        "The bin is emptied on Monday.",
        "The bin is emptied on Monday.",
        Some("en-GB"),
        Ok(0.97),
    );
}

#[test]
fn a_long_answer_is_read_to_its_end() {
    let quoted = "The sale was not announced before March. ".repeat(5_000);
    let judged = grounded(
        &[SALE],
        &format!("{quoted} Glaciers store most fresh water."),
    );
    assert!(judged.probability.value() <= 0.05);
    let judged = grounded(&[SALE], &quoted);
    assert!(would_pass(&judged));
}

#[test]
fn padding_hides_no_unsupported_statement() {
    let padding =
        "Many other words about storage, glaciers and water stand in this text. ".repeat(700);
    let said = "Lumio Bakeries sold frozen bread to Kestrane for 12 crowns.";
    let plain = grounded(&[SALE], said);
    let padded = grounded(&[SALE, &padding], said);
    assert!(!would_pass(&plain) && !would_pass(&padded));
    assert!((plain.probability.value() - padded.probability.value()).abs() < 0.05);
    let judged = grounded(&[&padding, SALE], &format!("{padding} {said}"));
    assert!(judged.probability.value() < 0.3 && judged.vetoes_pass);
}

#[test]
fn earlier_turns_are_evidence_only_if_the_policy_says_so() {
    for (history, expected) in [(true, true), (false, false)] {
        let mut draft = draft("And who?", &["Something else is here."], SALE);
        draft.history.push(Turn {
            role: TurnRole::Assistant,
            text: SALE.to_owned(),
        });
        let answer = judge_asking(draft, |_| true, history);
        let judged = of(&answer, Dimension::Groundedness).judged().unwrap();
        assert_eq!(would_pass(judged), expected);
        assert!(
            judged
                .evidence
                .as_ref()
                .is_some_and(|evidence| evidence.chunk.is_none())
        );
    }
}

#[test]
fn a_chunk_is_irrelevant_only_if_it_shares_no_word_with_the_question() {
    let draft = draft(
        "Who bought Lumio?",
        &["Glaciers store water.", SALE, ""],
        "x",
    );
    let answer = judge(draft);
    let chunk = |at| {
        answer.answers[Question::chunk(at)]
            .as_ref()
            .unwrap()
            .judged()
            .unwrap()
    };
    for at in [0, 2] {
        assert!(chunk(at).probability.value() <= 0.02);
        assert_eq!(chunk(at).basis, JudgmentBasis::Measured);
    }
    assert!((chunk(1).probability.value() - 0.75).abs() < 1e-9);
    assert_eq!(chunk(1).basis, JudgmentBasis::Heuristic);
}

#[test]
fn rules_of_thumb_stay_between_their_ends() {
    let other = "Orvane Foods bought Lumio Bakeries in 2020 for 45 million crowns.";
    let mut draft = draft("Who bought Lumio Bakeries?", &[SALE, other], SALE);
    draft.reference_answer = Some("Orvane Foods, in 2019.".to_owned());
    let answer = judge(draft);
    for (question, judgment) in answer.answers.iter() {
        let judged = judgment.as_ref().unwrap().judged().unwrap();
        if question.dimension() != Dimension::Groundedness {
            assert_eq!(judged.basis, JudgmentBasis::Heuristic);
            assert!((0.25..=0.75).contains(&judged.probability.value()));
        }
    }
    let conflict = of(&answer, Dimension::ContextConflict).judged().unwrap();
    assert!(0.5 < conflict.probability.value());
}

#[test]
fn statements_of_the_trace_replace_those_of_the_answer() {
    let mut draft = draft("Who?", &[SALE], "Nothing of this. Nor this.");
    draft.statements = vec!["The sale was not announced before March".to_owned()];
    let answer = judge(draft);
    assert_eq!(answer.statements.len(), 1);
    assert_eq!(answer.statements[0].span, None);
    assert!(would_pass(
        of(&answer, Dimension::Groundedness).judged().unwrap()
    ));
}

#[test]
fn only_what_is_asked_is_answered() {
    let asked = Question::about(Dimension::ContextSufficiency);
    let answer = judge_asking(
        draft("Who?", &[SALE], SALE),
        |question| question == asked,
        false,
    );
    for (question, judgment) in answer.answers.iter() {
        assert_eq!(judgment.is_some(), question == asked);
    }
    assert!(answer.statements.is_empty());
    assert_eq!(answer.calls[0].returned_model.as_deref(), Some(MODEL));
}

/// Texts made of pieces that are hard to read.
fn text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "The sale",
        " was ",
        "not",
        " 2019",
        "1,000.5",
        ". ",
        "Lumio",
        " bought ",
        "Orvane",
        "。",
        "料金は",
        "مرحبا",
        "\u{202e}",
        "नमस्ते",
        "e\u{301}",
        "é",
        "🙂",
        "👩\u{200d}👧",
        "\0",
        "\r\n",
        "\n- ",
        "?",
        "Dr. ",
        "가",
        "\u{301}",
        "12. ",
        "ﬁ",
        "İ",
        "I could not find",
        "C++",
        "\u{feff}",
        "'s",
        " ",
    ]);
    let pieces = prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat());
    prop_oneof![3 => pieces, 1 => any::<String>()]
}

proptest! {
    #[test]
    fn any_text_is_judged_the_same_way_twice_with_offsets_in_the_text(
        question in text(), chunks in prop::collection::vec(text(), 0..4), answer in text(), reference in text(),
    ) {
        let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
        let mut trace = draft(&format!("q{question}"), &chunks, &answer);
        trace.reference_answer = Some(format!("r{reference}"));
        trace.history.push(Turn { role: TurnRole::User, text: format!("h{reference}") });
        let first = judge_asking(trace.clone(), |_| true, true);
        let second = judge_asking(trace, |_| true, true);
        prop_assert_eq!(&first.answers, &second.answers);
        prop_assert_eq!(&first.statements, &second.statements);
        for statement in &first.statements {
            let span = statement.span.clone().unwrap();
            let there: String = answer.chars().skip(span.start).take(span.len()).collect();
            prop_assert_eq!(&there, &statement.text);
        }
        let whole = first.answers.iter().filter_map(|(_, judgment)| judgment.as_ref());
        let each = first.statements.iter().map(|statement| &statement.groundedness);
        for judged in whole.chain(each).filter_map(Judgment::judged) {
            if let Some(evidence) = &judged.evidence {
                let length = evidence.chunk.map_or(0, |chunk| chunks[chunk].chars().count());
                prop_assert!(evidence.span.start <= evidence.span.end && evidence.span.end <= length);
            }
        }
    }
}

/// A chunk in other words than the question is no miss if the answer stands in it, and no PASS either.
#[test]
fn a_quotation_that_shares_no_word_with_the_question_is_left_open() {
    let chunk = "Mothers and fathers may stay home for sixteen weeks.";
    let judge = |answer: &str| judge(draft("How long is parental leave?", &[chunk], answer));
    let relevance = |answer: &Answer| answer.answers[Question::chunk(0)].clone().unwrap();
    let quoted = judge(chunk);
    let judged = relevance(&quoted).judged().unwrap().clone();
    assert_eq!(judged.probability, Probability::try_from(0.5).unwrap());
    assert_eq!(judged.basis, JudgmentBasis::Heuristic);
    let grounded = of(&quoted, Dimension::Groundedness)
        .judged()
        .unwrap()
        .clone();
    assert!(grounded.vetoes_pass);
    assert_eq!(grounded.evidence.unwrap().guards, [Guard::OffTopic]);

    let invented = judge("Parental leave is two years on full pay.");
    let judged = relevance(&invented).judged().unwrap().clone();
    assert_eq!(judged.probability, Probability::try_from(0.02).unwrap());
    assert_eq!(judged.basis, JudgmentBasis::Measured);
}
