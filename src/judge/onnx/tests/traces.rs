use super::*;
use crate::domain::probability::Probability;

const CHUNKS: [&str; 2] = [
    "the bridge was not built in the north .",
    "The old river flows through the city . The tower is nine metres high .",
];

#[test]
fn a_classifier_judges_statements_by_the_chunk_that_supports_them_most() {
    let supported = "the river flows through the city . The tower is high .";
    let answer = judge_with("pair-classifier", draft("what is it ?", &CHUNKS, supported));
    let whole = judged(&answer, Question::about(Dimension::Groundedness));
    assert!(0.9 < whole.probability.value(), "{whole:?}");
    assert_eq!(whole.basis, JudgmentBasis::Measured);
    assert_eq!(whole.evidence.unwrap().chunk, Some(1));
    assert_eq!(answer.statements.len(), 2);
    assert_eq!(
        answer.calls[0].returned_model.as_deref(),
        Some("fixture-pair-classifier-1")
    );

    let mixed = "the river flows through the city . The lake is blue and new .";
    let answer = judge_with("pair-classifier", draft("what is it ?", &CHUNKS, mixed));
    let each: Vec<f64> = answer
        .statements
        .iter()
        .map(|statement| statement.groundedness.judged().unwrap().probability.value())
        .collect();
    assert!(0.9 < each[0] && each[1] < 0.1, "{each:?}");
    // The worst statement decides.
    assert_eq!(groundedness(&answer).to_bits(), each[1].to_bits());
}

#[test]
fn a_label_that_is_mapped_answers_its_own_dimension() {
    let contradiction = |answer: &str| {
        let answer = judge_with("pair-classifier", draft("what is it ?", &CHUNKS, answer));
        let question = Question::about(Dimension::Contradiction);
        judged(&answer, question).probability.value()
    };
    assert!(0.7 < contradiction("the bridge was built in the north ."));
    assert!(contradiction("the bridge was not built in the north .") < 0.2);
}

#[test]
fn what_the_model_does_not_answer_is_not_answered() {
    let answer = judge_with(
        "pair-regressor",
        draft("what is it ?", &CHUNKS, "the lake ."),
    );
    for &dimension in <Dimension as crate::domain::Vocabulary>::ALL {
        let is_answered = answer.answers.of(dimension).iter().any(Option::is_some);
        assert_eq!(
            is_answered,
            dimension == Dimension::ChunkRelevance,
            "{dimension}"
        );
    }
}

#[test]
fn a_regressor_and_vectors_tell_relevant_chunks_from_others() {
    for name in ["pair-regressor", "embedding"] {
        let question = "how high is the tower ?";
        let clamp = Clamp::new(Probability::ZERO, Probability::ONE).unwrap();
        let options = OnnxOptions {
            dir: fixture(name),
            clamp,
        };
        let judge = open(&"model".into(), &options).unwrap();
        let answer = ask(&*judge, draft(question, &CHUNKS, "nine metres ."));
        let of = |chunk| judged(&answer, Question::chunk(chunk));
        let (other, relevant) = (of(0), of(1));
        assert!(
            other.probability < relevant.probability,
            "{name}: {other:?} {relevant:?}"
        );
        assert_eq!(relevant.evidence.unwrap().chunk, Some(1));
        let clamped = judge_with(name, draft(question, &CHUNKS, "nine metres ."));
        let clamped = judged(&clamped, Question::chunk(1)).probability;
        let guess = name == "embedding";
        let basis = [JudgmentBasis::Measured, JudgmentBasis::Heuristic][usize::from(guess)];
        assert_eq!(relevant.basis, basis);
        let high = Clamp::default().high();
        assert!(high < relevant.probability, "{name}");
        assert_eq!(clamped == high, guess);
    }
}

#[test]
fn a_prompt_is_judged_by_its_first_token() {
    let of = |answer: &str| {
        groundedness(&judge_with(
            "prompt-classifier",
            draft("?", &CHUNKS, answer),
        ))
    };
    assert!(0.8 < of("the tower is nine metres high ."));
    assert!(of("the lake is blue and new .") < 0.2);
}

#[test]
fn marked_tokens_decide_about_their_statement() {
    let text = "the river flows through the city . The tower is twelve metres high .";
    let answer = judge_with("token-classifier", draft("what is it ?", &CHUNKS, text));
    let each: Vec<f64> = answer
        .statements
        .iter()
        .map(|statement| statement.groundedness.judged().unwrap().probability.value())
        .collect();
    assert!(0.8 < each[0] && each[1] < 0.2, "{each:?}");
    assert_eq!(groundedness(&answer).to_bits(), each[1].to_bits());

    let mut given = draft("what is it ?", &CHUNKS, "anything");
    given.statements = vec![
        "the river flows through the city".to_owned(),
        "the blue river flows".to_owned(),
    ];
    let answer = judge_with("token-classifier", given);
    assert_eq!(answer.statements.len(), 2);
    assert!(groundedness(&answer) < 0.2);
}

#[test]
fn a_number_that_is_none_fails_its_question_and_is_never_a_probability() {
    let text = "the river flows through the city . Nan is the old city .";
    let answer = judge_with("pair-classifier", draft("what is it ?", &CHUNKS, text));
    for dimension in [Dimension::Groundedness, Dimension::Contradiction] {
        let whole = answer.answers[Question::about(dimension)].as_ref().unwrap();
        assert_eq!(failure(whole), Some(FailureReason::Protocol));
    }
    let each: Vec<_> = answer
        .statements
        .iter()
        .map(|statement| failure(&statement.groundedness))
        .collect();
    assert_eq!(each, [None, Some(FailureReason::Protocol)]);
}

#[test]
fn control_tokens_in_a_text_are_text() {
    let engine = Engine::open(&fixture("pair-classifier")).unwrap();
    let tokens = engine.words.tokens("the [SEP] lake [CLS]").unwrap();
    let place = tokens.windows(100, None).remove(0);
    let row = engine.words.single(&tokens, &place).unwrap();
    let controls = row.ids.iter().filter(|&&id| id == 2 || id == 3);
    assert_eq!(controls.count(), 2, "{row:?}");

    let engine = Engine::open(&fixture("prompt-classifier")).unwrap();
    let plain = engine.words.plain("the [SEP] lake [[SEP]CLS]");
    assert_eq!(plain, "the       lake [     CLS]");
}

#[test]
fn the_same_trace_gives_the_same_bits_at_any_concurrency() {
    let judge = open_at(fixture("pair-classifier")).unwrap();
    let text = "the river flows through the city . The tower is high . The lake is new .";
    let alone = ask(&*judge, draft("what is it ?", &CHUNKS, text));
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| ask(&*judge, draft("what is it ?", &CHUNKS, text))))
            .collect();
        for other in others {
            let other = other.join().unwrap();
            assert_eq!(other.answers, alone.answers);
            assert_eq!(other.statements, alone.statements);
        }
    });
}
