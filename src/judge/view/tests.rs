use std::sync::Arc;

use proptest::prelude::*;

use super::parts::frame_token_count;
use super::*;
use crate::domain::dimension::Dimension;
use crate::domain::outcome::DecisionVariant;
use crate::domain::trace::{Chunk, RetrievalState, TraceDraft, TraceLimits, Turn};

fn draft(question: &str, chunks: &[&str], answer: &str) -> TraceDraft {
    let chunk = |(at, text): (usize, &&str)| Chunk {
        chunk_id: format!("c{at}").into(),
        text: (*text).to_owned(),
        document_id: None,
        retrieval_score: None,
    };
    TraceDraft {
        trace_id: "secret-id".into(),
        question: question.to_owned(),
        chunks: chunks.iter().enumerate().map(chunk).collect(),
        answer: answer.to_owned(),
        reference_answer: Some("At nine, from gate B.".to_owned()),
        history: vec![Turn {
            role: TurnRole::User,
            text: "I mean the red tram.".to_owned(),
        }],
        standalone_question: None,
        retrieval: RetrievalState::Performed,
        tags: vec!["secret-tag".to_owned()],
        generator_model: None,
        language: None,
        statements: Vec::new(),
    }
}

fn tram() -> TraceDraft {
    draft(
        "When does it leave?",
        &["The red tram leaves at nine.", "Gate B is open."],
        "It leaves at nine.",
    )
}

/// The view of a trace for some questions, handed to a check.
fn viewed<T>(
    draft: TraceDraft,
    options: &ViewOptions,
    is_asked: impl Fn(Question) -> bool,
    history_is_evidence: bool,
    check: impl FnOnce(&View<'_>) -> T,
) -> T {
    let limits = TraceLimits {
        max_chunk_count: 100,
        max_text_bytes: 1 << 22,
        max_history_turns: 10,
    };
    let trace = Arc::new(Trace::new(draft, &limits).unwrap());
    let questions = QuestionSet::from_fn(trace.chunks.len(), is_asked);
    let ask = Ask {
        trace: &trace,
        questions: &questions,
        decision: Decision::of(DecisionVariant::WithReference),
        history_is_evidence,
    };
    check(&View::of(&ask, options))
}

fn limited(max_state_tokens: u64) -> ViewOptions {
    ViewOptions {
        max_state_tokens: Some(max_state_tokens),
        ..ViewOptions::default()
    }
}

fn without(field: Field) -> ViewOptions {
    let fields = Field::ALL.iter().copied();
    ViewOptions {
        send_fields: fields.filter(|&other| other != field).collect(),
        ..ViewOptions::default()
    }
}

fn about(dimensions: &'static [Dimension]) -> impl Fn(Question) -> bool {
    |question| dimensions.contains(&question.dimension())
}

fn json(view: &View<'_>) -> String {
    serde_json::to_string(view).unwrap()
}

fn unasked(view: &View<'_>, reason: FailureReason) -> Vec<Dimension> {
    let unasked = view.unasked.iter().filter(|(_, why)| *why == reason);
    unasked.map(|(question, _)| question.dimension()).collect()
}

#[test]
fn a_view_holds_only_what_its_questions_rest_on() {
    let whole = ViewOptions::default();
    let keys = |draft: TraceDraft, dimensions| {
        viewed(draft, &whole, about(dimensions), false, |view| {
            assert_eq!(view.seen_context, SeenFraction::ALL);
            let state: serde_json::Value = serde_json::from_str(&json(view)).unwrap();
            let keys = state.as_object().unwrap().keys();
            keys.cloned().collect::<Vec<_>>().join(" ")
        })
    };
    let alone = TraceDraft {
        standalone_question: Some("When does the red tram leave?".to_owned()),
        ..tram()
    };
    use Dimension::*;
    assert_eq!(
        keys(tram(), &[ContextSufficiency]),
        "chunks history question"
    );
    assert_eq!(
        keys(alone.clone(), &[ChunkRelevance]),
        "chunks question standalone_question"
    );
    assert_eq!(keys(tram(), &[Groundedness]), "answer chunks question");
    assert_eq!(keys(alone, &[AnswerRelevance]), "answer history question");
    assert_eq!(
        keys(tram(), &[Correctness]),
        "answer question reference_answer"
    );
    let history = viewed(tram(), &whole, about(&[Groundedness]), true, |view| {
        view.history.len()
    });
    assert_eq!(history, 1);
    viewed(
        tram(),
        &whole,
        |_| true,
        false,
        |view| {
            assert!(!json(view).contains("secret"), "{}", json(view));
            assert!(view.unasked.is_empty());
        },
    );
}

#[test]
fn the_relevance_of_one_chunk_shows_that_chunk_alone() {
    let second = |question| question == Question::chunk(1);
    viewed(tram(), &ViewOptions::default(), second, false, |view| {
        assert_eq!(view.chunks, ["", "Gate B is open."]);
        assert_eq!(view.seen_chunks, [None, Some(SeenFraction::ALL)]);
    });
}

#[test]
fn questions_that_rest_on_a_field_that_is_not_sent_are_undecidable() {
    use Dimension::*;
    for (field, expected) in [
        (
            Field::Answer,
            vec![AnswerRelevance, Groundedness, Contradiction, Correctness],
        ),
        (Field::ReferenceAnswer, vec![Correctness]),
        (
            Field::Chunks,
            vec![
                ContextSufficiency,
                ContextConflict,
                Groundedness,
                Contradiction,
                ChunkRelevance,
                ChunkRelevance,
            ],
        ),
        (
            Field::Question,
            vec![
                ContextSufficiency,
                ContextConflict,
                AnswerRelevance,
                Correctness,
                ChunkRelevance,
                ChunkRelevance,
            ],
        ),
        (Field::History, vec![]),
        (Field::StandaloneQuestion, vec![]),
    ] {
        viewed(
            tram(),
            &without(field),
            |_| true,
            false,
            |view| {
                assert_eq!(
                    unasked(view, FailureReason::Undecidable),
                    expected,
                    "{field}"
                );
                assert_eq!(view.unasked.len(), expected.len());
                assert!(
                    !json(view).contains(&format!("\"{field}\":")),
                    "{}",
                    json(view)
                );
            },
        );
    }
    // History that is evidence cannot be missed: what only it supports would look unsupported.
    viewed(
        tram(),
        &without(Field::History),
        |_| true,
        true,
        |view| {
            let undecidable = unasked(view, FailureReason::Undecidable);
            assert_eq!(undecidable, [Groundedness, Contradiction]);
        },
    );
}

#[test]
fn what_is_redacted_has_one_placeholder_in_every_part() {
    let mail = "ana.roe@tram.example";
    let options = ViewOptions {
        redact: Redactor::new(&["email".to_owned(), r"\bRoe\b".to_owned()]).unwrap(),
        ..ViewOptions::default()
    };
    let personal = TraceDraft {
        history: vec![Turn {
            role: TurnRole::Assistant,
            text: format!("{mail} knows."),
        }],
        reference_answer: Some(format!("Ask {mail}.")),
        ..draft(
            &format!("Who is {mail}?"),
            &[
                &format!("Write to {mail} or bo@tram.example."),
                "Roe drives.",
            ],
            &format!("It is Roe, {mail}."),
        )
    };
    viewed(
        personal,
        &options,
        |_| true,
        false,
        |view| {
            let json = json(view);
            assert!(!json.contains("example") && !json.contains("Roe"), "{json}");
            assert_eq!(json.matches("[EMAIL_1]").count(), 5);
            assert_eq!(json.matches("[EMAIL_2]").count(), 1);
            assert_eq!(json.matches("[REDACTED_1]").count(), 2);
            assert_eq!(view.seen_context, SeenFraction::ALL);
        },
    );
}

/// R22, R23: a long answer is shown to its last word; the context gives way, and that is told.
#[test]
fn r23_the_end_of_a_long_answer_is_always_shown() {
    let claim = |n: usize| format!("Stop number {n} has a bench and a lamp. ");
    let invented = "The driver sings on Mondays.";
    let answer = (0..400).map(claim).collect::<String>() + invented;
    let context: String = (0..900).map(claim).collect();
    let long = draft("What has each stop?", &[&context], &answer);
    viewed(
        long,
        &limited(8_000),
        |_| true,
        false,
        |view| {
            assert_eq!(view.answer.as_deref(), Some(&*answer));
            assert!(view.unasked.is_empty(), "{:?}", view.unasked);
            for question in view.questions.asked() {
                assert!(!view.seen(question).is_whole(), "{question:?}");
            }
        },
    );
}

/// R24: padding of 50 KB in the words of the question, around it and in chunks of its own, does not hide the evidence.
#[test]
fn r24_padding_does_not_hide_the_evidence() {
    let line =
        |n| format!("The red tram of line {n} may leave when the gate of the tram is open. ");
    let padding: String = (0..800).map(line).collect();
    assert!(50_000 < padding.len());
    let evidence = "On holidays the red tram leaves at 21:40 from the harbour.";
    let padded: String = (800..1200).map(line).collect();
    let padded = format!("{padded}{evidence} {padding}");
    let chunks = [padding.as_str(), &padded, &padding];
    let question = "When does the red tram leave the harbour on holidays?";
    let trace = draft(question, &chunks, "It leaves at 21:40.");
    viewed(
        trace,
        &limited(3_000),
        |_| true,
        false,
        |view| {
            assert!(view.chunks[1].contains(evidence), "{}", view.chunks[1]);
            assert!(view.seen_chunks.iter().all(Option::is_some));
            assert!(view.seen_context.value() < 0.1);
        },
    );
}

/// R26: what does not fit is windowed or too long, and which of both is told.
#[test]
fn r26_over_the_limit_is_windowed_or_too_long() {
    use Dimension::*;
    let long = "One more stop has a bench. ".repeat(900);
    let of = |draft: TraceDraft, limit, check: &dyn Fn(&View<'_>)| {
        viewed(draft, &limited(limit), |_| true, false, check);
    };
    of(draft("What?", &["A bench."], &long), 3_000, &|view| {
        let too_long = unasked(view, FailureReason::TooLong);
        assert_eq!(
            too_long,
            [AnswerRelevance, Groundedness, Contradiction, Correctness]
        );
        assert_eq!(
            (&*view.chunks[0], view.answer.as_deref()),
            ("A bench.", None)
        );
        assert_eq!(view.seen_context, SeenFraction::ALL);
    });
    let referenced = TraceDraft {
        reference_answer: Some(long.clone()),
        ..draft("What?", &["A bench."], "A bench.")
    };
    of(referenced, 3_000, &|view| {
        assert_eq!(unasked(view, FailureReason::TooLong), [Correctness]);
        assert!(view.answer.is_some());
    });
    of(draft(&long, &["A bench."], "A bench."), 3_000, &|view| {
        assert!(view.questions.is_empty());
        assert_eq!(view.unasked.len(), 7);
    });
    of(
        draft("What?", &[&long, &long], "A bench."),
        3_000,
        &|view| {
            assert!(view.unasked.is_empty());
            assert!(view.chunks[0].ends_with("[...]"));
        },
    );
}

#[test]
fn a_chunk_of_which_nothing_fits_has_no_relevance() {
    let long = "x".repeat(390);
    let chunks = vec![long.as_str(); 20];
    let trace = draft("What has the tram?", &chunks, "A lamp.");
    let asked = about(&[Dimension::ChunkRelevance]);
    viewed(trace, &limited(3_300), asked, false, |view| {
        let hidden = view.seen_chunks.iter().filter(|seen| seen.is_none());
        let too_long = unasked(view, FailureReason::TooLong);
        assert_eq!(hidden.count(), too_long.len());
        assert!((1..20).contains(&too_long.len()), "{}", too_long.len());
        assert!(view.seen_context.value() < 1.0);
    });
}

#[test]
fn a_truncated_prompt_is_one_of_which_too_little_was_read() {
    assert!(was_truncated(1000, Some(499)));
    assert!(!was_truncated(1000, Some(500)));
    assert!(!was_truncated(255, Some(1)));
    assert!(!was_truncated(1000, None));
    assert!(!was_truncated(1000, Some(u64::MAX)));
    assert!(!was_truncated(1000, Some(1 << 63)));
}

fn texts() -> impl Strategy<Value = String> {
    let sentence = "[a-z]{1,9}( [a-z\"]{1,9}){0,90}[.!?]";
    proptest::collection::vec(sentence, 0..8).prop_map(|sentences| sentences.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// R22: whatever the limit, the answer is whole or not asked about, the limit holds and what was seen is told.
    #[test]
    fn r22_a_view_keeps_the_answer_the_limit_and_the_count(
        chunks in proptest::collection::vec(texts(), 1..5),
        answer in "[a-z]{1,9}( [a-z]{1,9}){0,60}",
        limit in 0_u64..6_000,
    ) {
        let refs: Vec<_> = chunks.iter().map(String::as_str).collect();
        let trace = draft("when does the tram leave", &refs, &answer);
        viewed(trace, &limited(limit), |_| true, false, |view| {
            let asked = view.questions.dimensions();
            let is_about_answer = Dimension::GENERATION.iter().any(|&d| asked.contains(d));
            prop_assert_eq!(view.answer.as_deref(), is_about_answer.then_some(answer.as_str()));
            prop_assert_eq!(view.questions.asked().count() + view.unasked.len(), 6 + chunks.len());
            let decision = Decision::of(DecisionVariant::WithReference);
            let frame = frame_token_count(&view.questions, 0, decision) - 64;
            let cost = frame + estimated_token_count(&json(view)) as u64;
            prop_assert!(view.questions.is_empty() || cost <= limit, "{} > {}", cost, limit);
            let (mut shown_of_all, mut all) = (0, 0);
            for (ordinal, text) in chunks.iter().enumerate() {
                if text.is_empty() || !view.questions[Question::about(Dimension::ContextConflict)] {
                    continue;
                }
                let shown = view.chunks[ordinal].replace("[...] ", "").replace("[...]", "");
                let share = SeenFraction::new(shown.len() as f64 / text.len() as f64);
                prop_assert_eq!(view.seen_chunks[ordinal], share);
                shown_of_all += shown.len();
                all += text.len();
            }
            if 0 < all {
                prop_assert_eq!(Some(view.seen_context), share(shown_of_all, all));
            }
            Ok(())
        })?;
    }
}

fn by_statement(max_statements: usize) -> ViewOptions {
    ViewOptions {
        max_statements: Some(max_statements),
        ..ViewOptions::default()
    }
}

const GATES: &str = "The red tram leaves gate B at nine. Yes. The blue tram leaves gate C at ten.";

#[test]
fn statements_are_shown_only_where_groundedness_is_asked_about_each() {
    let gates = || draft("When?", &["The red tram leaves at nine."], GATES);
    let options = by_statement(2);
    let count = |dimensions| {
        viewed(gates(), &options, about(dimensions), false, |view| {
            assert_eq!(
                json(view).contains("statements"),
                view.asked_statements().count() != 0
            );
            (view.statements.len(), view.asked_statements().count())
        })
    };
    assert_eq!(count(&[Dimension::Groundedness]), (3, 2));
    assert_eq!(
        count(&[Dimension::Contradiction, Dimension::AnswerRelevance]),
        (0, 0)
    );
    let options = ViewOptions {
        send_fields: vec![Field::Question, Field::Chunks],
        ..by_statement(2)
    };
    viewed(
        gates(),
        &options,
        |_| true,
        false,
        |view| {
            let undecidable = unasked(view, FailureReason::Undecidable);
            assert!(undecidable.contains(&Dimension::Groundedness));
            assert_eq!(
                (view.statements.len(), view.asked_statements().count()),
                (3, 0)
            );
            assert!(!json(view).contains("tram leaves gate"));
        },
    );
}

/// The questions about statements never take the room of the other questions.
#[test]
fn statements_that_do_not_fit_fail_alone() {
    let answer = "The red tram leaves gate B at nine every day of the week. ".repeat(20);
    let trace = || draft("When?", &["The red tram leaves at nine."], &answer);
    let decision = Decision::of(DecisionVariant::WithReference);
    let whole = ViewOptions::default();
    let is_asked = |_| true;
    let least = viewed(trace(), &whole, is_asked, false, |view| {
        view.request_token_count(decision)
    });
    let each = viewed(trace(), &by_statement(20), is_asked, false, |view| {
        assert_eq!(view.asked_statements().count(), 20);
        view.request_token_count(decision)
    });
    assert!(least + 20 * 60 < each, "{least} {each}");
    for limit in [least + 60, each - 100, each + 60] {
        let options = ViewOptions {
            max_state_tokens: Some(limit),
            ..by_statement(20)
        };
        viewed(trace(), &options, is_asked, false, |view| {
            let is_there = each <= limit;
            let too_long = unasked(view, FailureReason::TooLong);
            let expected: &[_] = if is_there {
                &[]
            } else {
                &[Dimension::Groundedness]
            };
            assert_eq!(too_long, expected, "{limit}");
            assert_eq!(view.statements.len(), 20);
            assert!(view.seen_context.is_whole(), "{limit}");
            assert!(view.request_token_count(decision) <= limit);
        });
    }
}
