//! States of a judgment: failed, partly seen, vetoed, not applicable, advisory, off, verbalized; the judge-free cases.

use super::*;

const TIMEOUT: BlockCause = BlockCause::Failed(FailureReason::Timeout);

/// Changes every judgment of a dimension.
fn each(given: Given, dimension: Dimension, judgment: &Judgment) -> Given {
    match dimension {
        ChunkRelevance => given.chunks([judgment.clone(), judgment.clone()]),
        whole => given.judgment(Question::about(whole), judgment.clone()),
    }
}

/// Every combination of options.
fn every_base() -> impl Iterator<Item = Given> {
    ChunkRule::ALL.iter().flat_map(|&chunk_rule| {
        UpstreamRule::ALL
            .iter()
            .map(move |&upstream| base(chunk_rule, upstream))
    })
}

#[test]
fn a_required_dimension_that_is_not_settled_blocks_a_pass_under_every_option() {
    for given in every_base() {
        for &dimension in Dimension::ALL {
            let good = good_value(dimension);
            let band = match dimension {
                ChunkRelevance => BlockCause::ChunkRule,
                _ => BlockCause::Band,
            };
            for (judgment, cause) in [
                (failed(FailureReason::Timeout), TIMEOUT),
                (
                    failed(FailureReason::Refused),
                    BlockCause::Failed(FailureReason::Refused),
                ),
                (partly(good), BlockCause::PartlySeen),
                (vetoed(good), BlockCause::Veto),
                (judged(0.5), band),
            ] {
                let given = each(given.clone(), dimension, &judgment);
                if dimension == ChunkRelevance
                    && given.policy.chunk_rule == ChunkRule::None
                    && judgment == judged(0.5)
                {
                    check(&given, Diagnosis::Pass);
                } else {
                    check_blocking(&given, &[(dimension, cause)]);
                }
            }
        }
    }
}

#[test]
fn an_advisory_dimension_decides_at_its_bad_end_and_blocks_nothing() {
    for given in every_base() {
        for &dimension in Dimension::ALL {
            let given = given.clone().role(dimension, DimensionRole::Advisory);
            check(
                &each(given.clone(), dimension, &judged(bad_value(dimension))),
                own_diagnosis(dimension),
            );
            for judgment in [
                failed(FailureReason::Timeout),
                judged(0.5),
                partly(good_value(dimension)),
                vetoed(good_value(dimension)),
            ] {
                let given = each(given.clone(), dimension, &judgment);
                check(&given, Diagnosis::Pass);
                assert!(!given.ruling().pass_covers.contains(dimension));
                assert!(given.open().is_empty());
            }
        }
    }
}

#[test]
fn a_dimension_that_does_not_apply_is_skipped_whatever_the_reason() {
    for &reason in NotApplicableReason::ALL {
        for &dimension in &WHOLE {
            if reason == NotApplicableReason::EmptyAnswer && dimension.is_generation() {
                continue;
            }
            let given = default_base().judgment(Question::about(dimension), not_applicable(reason));
            check(&given, Diagnosis::Pass);
            assert!(!given.ruling().pass_covers.contains(dimension));
        }
        if reason != NotApplicableReason::NoContext {
            let given = default_base().chunks([not_applicable(reason)]);
            check(&given, Diagnosis::Pass);
            assert!(!given.ruling().pass_covers.contains(ChunkRelevance));
        }
    }
}

#[test]
fn a_partly_seen_value_shows_no_absence_but_it_shows_presence() {
    let given = base(ChunkRule::Best, UpstreamRule::AsListed);
    let bad = |dimension| {
        let judgment = partly(bad_value(dimension));
        each(given.clone(), dimension, &judgment)
    };
    for dimension in [ChunkRelevance, ContextSufficiency, Groundedness] {
        check_blocking(&bad(dimension), &[(dimension, BlockCause::PartlySeen)]);
    }
    for dimension in [ContextConflict, AnswerRelevance, Contradiction, Correctness] {
        check(&bad(dimension), own_diagnosis(dimension));
    }
}

#[test]
fn a_failure_never_stops_a_rule_that_stands_on_judged_values() {
    let given = base(ChunkRule::All, UpstreamRule::AsListed);
    for &bad in &WHOLE {
        for &broken in &WHOLE {
            if bad != broken {
                let given = given.clone().set(bad, bad_value(bad)).fail(broken);
                check(&given, own_diagnosis(bad));
            }
        }
    }
}

#[test]
fn a_veto_forbids_a_pass_and_decides_nothing_else() {
    for &dimension in &WHOLE {
        let given = default_base()
            .set(dimension, bad_value(dimension))
            .veto(dimension);
        check(&given, own_diagnosis(dimension));
    }
    let miss = default_base().chunks([vetoed(0.1), vetoed(0.2)]);
    check(&miss, Diagnosis::RetrievalMiss);
}

#[test]
fn a_chunk_that_failed_or_was_partly_seen_may_be_the_relevant_one() {
    for &chunk_rule in ChunkRule::ALL {
        let given = base(chunk_rule, UpstreamRule::Confident);
        let miss = given.clone().chunks([judged(0.1), judged(0.2)]);
        check_fired(
            &miss,
            Rule::RetrievalMiss,
            Some((ChunkRelevance, Some(1), 0.2, 0.2)),
        );
        check_confidence(&miss, Diagnosis::RetrievalMiss, Some(0.8));
        let broken = given
            .clone()
            .chunks([judged(0.1), failed(FailureReason::Timeout)]);
        check_blocking(&broken, &[(ChunkRelevance, TIMEOUT)]);
        assert_eq!(broken.open(), [Question::chunk(1)]);
        let cut = given.chunks([partly(0.1), judged(0.2)]);
        check_blocking(&cut, &[(ChunkRelevance, BlockCause::PartlySeen)]);
        assert_eq!(cut.open(), [Question::chunk(0)]);
    }
}

#[test]
fn no_chunk_with_text_is_a_miss_without_a_judge() {
    let blank = || not_applicable(NotApplicableReason::NoContext);
    for given in every_base() {
        for chunks in [vec![], vec![blank()], vec![blank(), blank()]] {
            let mut given = given.clone().chunks(chunks);
            for &dimension in &WHOLE {
                given = given.judgment(Question::about(dimension), blank());
            }
            check_confidence(&given, Diagnosis::RetrievalMiss, Some(1.0));
            check_fired(&given, Rule::NoChunks, None);
        }
    }
}

#[test]
fn a_blank_chunk_among_others_is_skipped() {
    let blank = || not_applicable(NotApplicableReason::NoContext);
    for given in every_base() {
        check(
            &given.clone().chunks([blank(), judged(0.95)]),
            Diagnosis::Pass,
        );
        let miss = given.chunks([judged(0.1), blank(), judged(0.15)]);
        check_fired(
            &miss,
            Rule::RetrievalMiss,
            Some((ChunkRelevance, Some(2), 0.15, 0.2)),
        );
    }
}

#[test]
fn a_blank_answer_over_good_retrieval_misses_the_question() {
    for given in every_base() {
        let blank = given.blank_answer();
        check_confidence(&blank, Diagnosis::AnswerIrrelevant, Some(1.0));
        check_fired(&blank, Rule::EmptyAnswer, None);
    }
}

#[test]
fn a_blank_answer_leaves_the_blame_to_retrieval_where_it_is_known_to_be_bad() {
    for given in every_base() {
        for dimension in Dimension::RETRIEVAL {
            let bad = each(given.clone(), dimension, &judged(bad_value(dimension)));
            check(&bad.blank_answer(), own_diagnosis(dimension));
        }
    }
}

#[test]
fn a_blank_answer_is_not_blamed_while_retrieval_is_open() {
    for dimension in Dimension::RETRIEVAL {
        let broken = each(default_base(), dimension, &failed(FailureReason::Timeout));
        check_blocking(&broken.blank_answer(), &[(dimension, TIMEOUT)]);

        let uncertain = each(default_base(), dimension, &judged(0.5)).blank_answer();
        check(&uncertain, Diagnosis::JudgeUncertain);
        assert!(
            uncertain
                .open()
                .iter()
                .all(|question| question.dimension() == dimension)
        );

        let advisory = uncertain.role(dimension, DimensionRole::Advisory);
        check(&advisory, Diagnosis::AnswerIrrelevant);
    }
}

/// A guard forbids a PASS; ANSWER_IRRELEVANT is none.
#[test]
fn a_veto_does_not_keep_a_blank_answer_from_missing_the_question() {
    for given in every_base() {
        for dimension in Dimension::RETRIEVAL {
            let guarded = each(given.clone(), dimension, &vetoed(good_value(dimension)));
            check(&guarded.blank_answer(), Diagnosis::AnswerIrrelevant);
        }
    }
}

#[test]
fn in_scope_retrieval_only_the_retrieval_rules_decide() {
    let out = || not_applicable(NotApplicableReason::OutOfScope);
    for given in every_base() {
        let given = Dimension::GENERATION
            .into_iter()
            .fold(given, |given, dimension| {
                given.judgment(Question::about(dimension), out())
            });
        check_confidence(&given, Diagnosis::Pass, Some(0.95));
        let covers: Vec<_> = given.ruling().pass_covers.iter().collect();
        assert_eq!(
            covers,
            [ChunkRelevance, ContextSufficiency, ContextConflict]
        );
        for dimension in Dimension::RETRIEVAL {
            let at = |judgment| each(given.clone(), dimension, &judgment);
            check(&at(judged(bad_value(dimension))), own_diagnosis(dimension));
            check_blocking(&at(failed(FailureReason::Timeout)), &[(dimension, TIMEOUT)]);
        }
    }
}

#[test]
fn where_nothing_required_was_judged_there_is_no_pass() {
    let mut given = default_base();
    for &dimension in Dimension::ALL {
        given = given.role(dimension, DimensionRole::Advisory);
    }
    check_blocking(&given, &[]);
    assert!(given.open().is_empty());

    let skipped = WHOLE.iter().fold(default_base(), |given, &dimension| {
        given.judgment(
            Question::about(dimension),
            not_applicable(NotApplicableReason::OutOfScope),
        )
    });
    let skipped = skipped.chunks([not_applicable(NotApplicableReason::OutOfScope)]);
    check_blocking(&skipped, &[]);
}

#[test]
fn a_judge_that_fails_as_a_whole_leaves_every_required_question_open() {
    let mut given = default_base().chunks([(); 3].map(|()| failed(FailureReason::Unavailable)));
    for &dimension in &WHOLE {
        given = given.judgment(
            Question::about(dimension),
            failed(FailureReason::Unavailable),
        );
    }
    let given = given.role(Correctness, DimensionRole::Advisory);
    check(&given, Diagnosis::JudgeUncertain);
    let open = given.open();
    assert_eq!(open.len(), 3 + WHOLE.len() - 1);
    assert!(!open.contains(&Question::about(Correctness)));
}

#[test]
fn the_confidence_of_a_decision_on_words_is_unknown() {
    for &dimension in &WHOLE {
        let question = Question::about(dimension);
        let good = default_base().verbalized(question);
        check_confidence(&good, Diagnosis::Pass, None);
        let bad = default_base()
            .set(dimension, bad_value(dimension))
            .verbalized(question);
        check_confidence(&bad, own_diagnosis(dimension), None);
        // Its bad end is still named.
        assert!(bad.ruling().fired.ground.is_some());
        let elsewhere = bad.role(dimension, DimensionRole::Off);
        check_confidence(&elsewhere, Diagnosis::Pass, Some(0.95));
    }
}

#[test]
fn one_chunk_judged_in_words_leaves_the_confidence_unknown() {
    let miss = default_base().chunks([judged(0.1), verbalized(0.0)]);
    check_confidence(&miss, Diagnosis::RetrievalMiss, None);
    let pass = default_base().chunks([judged(0.1), verbalized(1.0)]);
    check_confidence(&pass, Diagnosis::Pass, None);
    let advisory = pass.role(ChunkRelevance, DimensionRole::Advisory);
    check_confidence(&advisory, Diagnosis::Pass, Some(0.95));
}

#[test]
fn the_stronger_of_both_ends_of_rule_five_is_named_and_gives_the_confidence() {
    let both = |g, c| default_base().set(Groundedness, g).set(Contradiction, c);
    for (g, c, ground, confidence) in [
        (0.1, 0.95, (Contradiction, None, 0.95, 0.7), 0.95),
        (0.02, 0.95, (Groundedness, None, 0.02, 0.1), 0.98),
        (0.1, 0.9, (Groundedness, None, 0.1, 0.1), 0.9),
        // An end that did not fire may still be the surer one.
        (0.12, 0.7, (Contradiction, None, 0.7, 0.7), 0.88),
        (0.1, 0.05, (Groundedness, None, 0.1, 0.1), 0.9),
    ] {
        let given = both(g, c);
        check_fired(&given, Rule::Ungrounded, Some(ground));
        check_confidence(&given, Diagnosis::GeneratorUngrounded, Some(confidence));
    }
    let cut = both(0.02, 0.7).partly(Groundedness);
    check_confidence(&cut, Diagnosis::GeneratorUngrounded, Some(0.7));
    let broken = both(0.02, 0.7).fail(Contradiction);
    check_confidence(&broken, Diagnosis::GeneratorUngrounded, Some(0.98));
    let skipped = both(0.02, 0.7).role(Groundedness, DimensionRole::Off);
    check_confidence(&skipped, Diagnosis::GeneratorUngrounded, Some(0.7));
    let word = both(0.1, 0.95).verbalized(Question::about(Contradiction));
    check_confidence(&word, Diagnosis::GeneratorUngrounded, None);
    let weaker_word = both(0.02, 0.95).verbalized(Question::about(Contradiction));
    check_confidence(&weaker_word, Diagnosis::GeneratorUngrounded, Some(0.98));
}

#[test]
fn a_pass_over_chunks_alone_stands_on_the_best_chunk_that_counts() {
    let only_chunks = |chunk_rule| {
        WHOLE.iter().fold(
            base(chunk_rule, UpstreamRule::Confident),
            |given, &dimension| given.role(dimension, DimensionRole::Off),
        )
    };
    let best = only_chunks(ChunkRule::Best).chunks([vetoed(0.99), judged(0.9), judged(0.8)]);
    check_confidence(&best, Diagnosis::Pass, Some(0.9));
    check_fired(&best, Rule::Pass, Some((ChunkRelevance, Some(1), 0.9, 0.8)));
    let none = only_chunks(ChunkRule::None).chunks([judged(0.1), judged(0.5)]);
    check_confidence(&none, Diagnosis::Pass, Some(0.5));
    check_fired(&none, Rule::Pass, Some((ChunkRelevance, Some(1), 0.5, 0.2)));
    let all = only_chunks(ChunkRule::All).chunks([judged(0.1), judged(0.9)]);
    check_fired(&all, Rule::Pass, Some((ChunkRelevance, Some(1), 0.9, 0.8)));
}
