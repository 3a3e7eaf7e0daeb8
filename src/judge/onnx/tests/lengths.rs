use super::*;
use crate::judge::onnx::words::Tokens;

fn filler(count: usize) -> String {
    vec!["filler"; count].join(" ")
}

#[test]
fn a_chunk_of_ten_thousand_tokens_is_read_to_its_end() {
    let end = "the tower is nine metres high .";
    let chunk = format!("{} {end}", filler(10_000));
    for name in ["pair-classifier", "prompt-classifier", "token-classifier"] {
        let trace = draft("what is it ?", &[&chunk], "the tower is nine metres high .");
        let answer = judge_with(name, trace);
        let whole = judged(&answer, Question::about(Dimension::Groundedness));
        assert!(0.8 < whole.probability.value(), "{name}: {whole:?}");
        assert!(whole.seen_fraction.is_whole());
        let trace = draft(
            "what is it ?",
            &[&filler(10_000)],
            "the tower is high and old .",
        );
        assert!(groundedness(&judge_with(name, trace)) < 0.2, "{name}");
        if let Some(evidence) = whole.evidence {
            let shown: String = chunk
                .chars()
                .skip(evidence.span.start)
                .take(evidence.span.len())
                .collect();
            assert!(shown.contains("nine metres high"), "{name}: {shown}");
        }
    }
}

#[test]
fn windows_leave_nothing_out() {
    let engine = Engine::open(&fixture("pair-classifier")).unwrap();
    for count in [0, 1, 5, 8, 9, 100] {
        let tokens: Tokens = engine.words.tokens(&filler(count)).unwrap();
        for (width, stride) in [
            (8, None),
            (8, Some(8)),
            (8, Some(1)),
            (1, None),
            (8, Some(99)),
        ] {
            let windows = tokens.windows(width, stride);
            let mut seen = 0;
            for window in &windows {
                assert!(window.start <= seen && window.len() <= width);
                seen = window.end;
            }
            assert_eq!(seen, count, "{width} {stride:?}");
        }
    }
}

#[test]
fn a_statement_that_does_not_fit_is_too_long_and_so_is_the_answer() {
    let long = format!("The river {} .", filler(60));
    let text = format!("The old river flows north . {long}");
    for name in ["pair-classifier", "prompt-classifier"] {
        let answer = judge_with(name, draft("what ?", &["the river flows"], &text));
        let whole = answer.answers[Question::about(Dimension::Groundedness)]
            .as_ref()
            .unwrap();
        assert_eq!(failure(whole), Some(FailureReason::TooLong), "{name}");
        let each: Vec<_> = answer
            .statements
            .iter()
            .map(|s| failure(&s.groundedness))
            .collect();
        assert_eq!(each, [None, Some(FailureReason::TooLong)], "{name}");
    }
    // A model that marks tokens reads a long answer in windows.
    let answer = judge_with(
        "token-classifier",
        draft("what ?", &["the river filler"], &long),
    );
    assert!(0.8 < groundedness(&answer));
    let answer = format!("{long} The old tower stands .");
    let answer = judge_with(
        "token-classifier",
        draft("what ?", &["the river filler"], &answer),
    );
    assert!(groundedness(&answer) < 0.2);
}

#[test]
fn a_question_that_does_not_fit_fails_the_chunks() {
    for name in ["pair-regressor", "embedding"] {
        let answer = judge_with(name, draft(&filler(60), &["the river"], "the lake ."));
        let chunk = answer.answers[Question::chunk(0)].as_ref().unwrap();
        assert_eq!(failure(chunk), Some(FailureReason::TooLong), "{name}");
    }
}

#[test]
fn what_else_is_judged_changes_no_probability() {
    let chunks = [
        "the river flows",
        "the tower is nine metres high and the lake is blue and old",
    ];
    let question = "how high is the tower and the lake ?";
    for name in ["pair-regressor", "embedding"] {
        let judge = open_at(fixture(name)).unwrap();
        let both = ask(&*judge, draft(question, &chunks, "nine ."));
        for (place, chunk) in chunks.iter().enumerate() {
            let alone = ask(&*judge, draft(question, &[chunk], "nine ."));
            let alone = judged(&alone, Question::chunk(0)).probability;
            let with_other = judged(&both, Question::chunk(place)).probability;
            assert!((alone.value() - with_other.value()).abs() <= 1e-6, "{name}");
        }
    }
}

#[test]
fn rows_whose_turn_does_not_come_fail_as_late() {
    for name in ["pair-classifier", "token-classifier", "prompt-classifier"] {
        let judge = open_at(fixture(name)).unwrap();
        let trace = draft("what ?", &["the river"], "the lake is blue and new .");
        let answer = ask_until(&*judge, trace, Instant::now());
        let whole = answer.answers[Question::about(Dimension::Groundedness)]
            .as_ref()
            .unwrap();
        assert_eq!(failure(whole), Some(FailureReason::Timeout), "{name}");
    }
    for name in ["pair-regressor", "embedding"] {
        let judge = open_at(fixture(name)).unwrap();
        let trace = draft("what ?", &["the river"], "the lake .");
        let answer = ask_until(&*judge, trace, Instant::now());
        let chunk = answer.answers[Question::chunk(0)].as_ref().unwrap();
        assert_eq!(failure(chunk), Some(FailureReason::Timeout), "{name}");
    }
}
