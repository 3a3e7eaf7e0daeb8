use super::*;

const LIMITS: TraceLimits = TraceLimits {
    max_chunk_count: 3,
    max_text_bytes: 40,
    max_history_turns: 2,
};

fn draft() -> TraceDraft {
    TraceDraft {
        trace_id: "t1".into(),
        question: "When does the pool open?".to_owned(),
        chunks: vec![chunk("c1", "The pool opens at seven.")],
        answer: "At seven.".to_owned(),
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

fn chunk(id: &str, text: &str) -> Chunk {
    Chunk {
        chunk_id: id.into(),
        text: text.to_owned(),
        document_id: None,
        retrieval_score: None,
    }
}

/// Expects exactly these violations, in order.
#[track_caller]
fn check(change: impl FnOnce(&mut TraceDraft), expected: &[(&str, ViolationReason)]) {
    let mut changed = draft();
    change(&mut changed);
    let found = match Trace::new(changed, &LIMITS) {
        Ok(_) => Vec::new(),
        Err(TraceError(violations)) => violations,
    };
    let found: Vec<_> = found.iter().map(|v| (v.path.as_str(), v.reason)).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_trace_with_only_the_required_fields_is_valid() {
    check(|_| (), &[]);
}

#[test]
fn a_blank_answer_and_blank_chunks_are_valid() {
    check(|draft| draft.answer = " \n".to_owned(), &[]);
    check(|draft| draft.chunks.push(chunk("c2", "\u{200b}\t")), &[]);
    check(|draft| draft.chunks.clear(), &[]);
}

#[test]
fn a_blank_question_is_a_violation_whatever_it_is_blank_with() {
    for blank in ["", "  ", "\n\t", "\u{3000}", "\u{feff}", "\0"] {
        check(
            |draft| draft.question = blank.to_owned(),
            &[("trace.question", ViolationReason::Required)],
        );
    }
}

#[test]
fn set_but_blank_texts_are_violations() {
    check(
        |draft| {
            draft.reference_answer = Some(String::new());
            draft.standalone_question = Some(" ".to_owned());
            draft.history.push(Turn {
                role: TurnRole::User,
                text: " ".to_owned(),
            });
            draft.statements.push(" ".to_owned());
        },
        &[
            ("trace.reference_answer", ViolationReason::Blank),
            ("trace.standalone_question", ViolationReason::Blank),
            ("trace.history[0].text", ViolationReason::Blank),
            ("trace.statements[0]", ViolationReason::Blank),
        ],
    );
}

#[test]
fn every_bad_chunk_is_named_by_its_place() {
    check(
        |draft| {
            draft.chunks = vec![chunk("c1", "one"), chunk("", "two"), chunk("c1", "three")];
            draft.chunks[1].retrieval_score = Some(f64::NAN);
        },
        &[
            ("trace.chunks[1].chunk_id", ViolationReason::Required),
            (
                "trace.chunks[1].retrieval_score",
                ViolationReason::NotFinite,
            ),
            ("trace.chunks[2].chunk_id", ViolationReason::Duplicate),
        ],
    );
}

#[test]
fn a_text_at_its_limit_is_valid_and_one_byte_more_is_not() {
    check(
        |draft| draft.answer = "a".repeat(LIMITS.max_text_bytes),
        &[],
    );
    check(
        |draft| draft.answer = "a".repeat(LIMITS.max_text_bytes + 1),
        &[("trace.answer", ViolationReason::TextTooLong)],
    );
}

#[test]
fn counts_at_their_limit_are_valid_and_one_more_is_not() {
    let chunks = |count: usize| {
        (0..count)
            .map(|i| chunk(&i.to_string(), "text"))
            .collect::<Vec<_>>()
    };
    check(|draft| draft.chunks = chunks(3), &[]);
    check(
        |draft| draft.chunks = chunks(4),
        &[("trace.chunks", ViolationReason::TooManyChunks)],
    );
    let turns = |count| {
        vec![
            Turn {
                role: TurnRole::User,
                text: "hello".to_owned()
            };
            count
        ]
    };
    check(|draft| draft.history = turns(2), &[]);
    check(
        |draft| draft.history = turns(3),
        &[("trace.history", ViolationReason::TooMany)],
    );
}

#[test]
fn a_violation_of_a_configured_limit_carries_it() {
    let mut long = draft();
    long.answer = "a".repeat(100);
    let error = Trace::new(long, &LIMITS).unwrap_err();
    assert_eq!(error.0[0].limit, Some(40));
    assert_eq!(
        error.to_string(),
        "trace.answer: has 100 bytes, more than the limit of 40"
    );
}

#[test]
fn no_text_of_the_trace_stands_in_an_error() {
    let mut bad = draft();
    bad.answer = "a secret that is far too long to be accepted here".to_owned();
    bad.question = " ".to_owned();
    let text = Trace::new(bad, &LIMITS).unwrap_err().to_string();
    assert!(!text.contains("secret"), "{text}");
}
