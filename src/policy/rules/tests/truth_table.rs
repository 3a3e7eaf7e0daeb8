//! The whole truth table, against a second reading of the rules that shares no code with the first.

use super::*;

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Bad,
    Uncertain,
    Good,
    Failed,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Chunks {
    AllNegative,
    OneUncertain,
    OnePositive,
    OneFailed,
}

const STATES: [State; 4] = [State::Bad, State::Uncertain, State::Good, State::Failed];
const CHUNKS: [Chunks; 4] = [
    Chunks::AllNegative,
    Chunks::OneUncertain,
    Chunks::OnePositive,
    Chunks::OneFailed,
];

/// What the table of the rules says, from top to bottom; the states stand in the order of [`WHOLE`].
fn expected(policy: &str, states: [State; 6], chunks: Chunks) -> Diagnosis {
    use State::{Bad, Good};

    let [
        sufficiency,
        conflict,
        relevance,
        groundedness,
        contradiction,
        correctness,
    ] = states;
    let retrieval_is_known = match policy {
        "parity-v1" => true,
        "systemone-example" => {
            conflict == Good && sufficiency == Good && chunks == Chunks::OnePositive
        }
        "lexical-default" => chunks == Chunks::OneUncertain || chunks == Chunks::OnePositive,
        other => panic!("{other}"),
    };
    let is_pass = match policy {
        "lexical-default" => groundedness == Good,
        _ => states == [Good; 6] && chunks == Chunks::OnePositive,
    };
    let blames_generator = groundedness == Bad || contradiction == Bad || correctness == Bad;
    if conflict == Bad {
        Diagnosis::ConflictingEvidence
    } else if chunks == Chunks::AllNegative {
        Diagnosis::RetrievalMiss
    } else if sufficiency == Bad {
        Diagnosis::RetrievalInsufficient
    } else if relevance == Bad {
        Diagnosis::AnswerIrrelevant
    } else if blames_generator && !retrieval_is_known {
        Diagnosis::JudgeUncertain
    } else if groundedness == Bad || contradiction == Bad {
        Diagnosis::GeneratorUngrounded
    } else if correctness == Bad {
        Diagnosis::AnswerIncorrect
    } else if is_pass {
        Diagnosis::Pass
    } else {
        Diagnosis::JudgeUncertain
    }
}

fn judgment(dimension: Dimension, state: State) -> Judgment {
    match state {
        State::Bad => judged(bad_value(dimension)),
        State::Uncertain => judged(0.5),
        State::Good => judged(good_value(dimension)),
        State::Failed => failed(FailureReason::Timeout),
    }
}

fn given(policy: Policy, chunks: Chunks) -> Given {
    let second = match chunks {
        Chunks::AllNegative => State::Bad,
        Chunks::OneUncertain => State::Uncertain,
        Chunks::OnePositive => State::Good,
        Chunks::OneFailed => State::Failed,
    };
    good(policy, 0).chunks([State::Bad, second].map(|state| judgment(ChunkRelevance, state)))
}

#[track_caller]
fn check_table(name: &str) {
    let mut found = [0_usize; Diagnosis::ALL.len()];
    for chunks in CHUNKS {
        let mut given = given(policy(name), chunks);
        for row in 0..STATES.len().pow(6) {
            let mut rest = row;
            let states = WHOLE.map(|dimension| {
                let state = STATES[rest % STATES.len()];
                rest /= STATES.len();
                given.judgments[Question::about(dimension)] = judgment(dimension, state);
                state
            });
            let diagnosis = given.ruling().diagnosis;
            assert_eq!(
                diagnosis,
                expected(name, states, chunks),
                "{states:?} {chunks:?}"
            );
            found[diagnosis.index()] += 1;
        }
    }
    // Every diagnosis but NOT_ASSESSABLE is in the table.
    let missing: Vec<_> = Diagnosis::ALL
        .iter()
        .filter(|diagnosis| found[diagnosis.index()] == 0)
        .collect();
    assert_eq!(missing, [&Diagnosis::NotAssessable]);
}

#[test]
fn the_truth_table_of_parity_is_the_table_of_the_rules() {
    check_table("parity-v1");
}

#[test]
fn the_truth_table_of_the_example_is_the_table_of_the_rules() {
    check_table("systemone-example");
}

#[test]
fn the_truth_table_of_the_embedded_judge_is_the_table_of_the_rules() {
    check_table("lexical-default");
}

/// Each state of each dimension decides somewhere by itself: there are two rows that differ in it alone and in the
/// diagnosis.
#[test]
fn every_dimension_decides_by_itself_in_every_decisive_state() {
    for name in ["parity-v1", "systemone-example"] {
        let from = given(policy(name), Chunks::OnePositive);
        for dimension in WHOLE {
            let question = Question::about(dimension);
            let diagnoses = STATES.map(|state| {
                from.clone()
                    .judgment(question, judgment(dimension, state))
                    .ruling()
                    .diagnosis
            });
            let uncertain = Diagnosis::JudgeUncertain;
            let own = own_diagnosis(dimension);
            assert_eq!(diagnoses, [own, uncertain, Diagnosis::Pass, uncertain]);
        }
    }
}
