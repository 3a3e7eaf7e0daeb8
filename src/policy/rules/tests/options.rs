//! Options: which chunks count, what must be known to be good, and which questions stay open.

use super::*;

/// The diagnosis of these chunks under each chunk rule, everything else being good.
#[track_caller]
fn check_chunks(chunks: &[Judgment], all: Diagnosis, best: Diagnosis, none: Diagnosis) {
    for &upstream in UpstreamRule::ALL {
        for (chunk_rule, expected) in [
            (ChunkRule::All, all),
            (ChunkRule::Best, best),
            (ChunkRule::None, none),
        ] {
            let given = base(chunk_rule, upstream).chunks(chunks.iter().cloned());
            let ruling = given.ruling();
            assert_eq!(ruling.diagnosis, expected, "{chunk_rule} {upstream}");
        }
    }
}

#[test]
fn the_chunk_rule_says_which_chunks_must_be_settled() {
    use Diagnosis::{JudgeUncertain as Uncertain, Pass, RetrievalMiss as Miss};

    let broken = || failed(FailureReason::Timeout);
    check_chunks(&[judged(0.8), judged(0.2)], Pass, Pass, Pass);
    check_chunks(&[judged(0.2), judged(0.1)], Miss, Miss, Miss);
    check_chunks(&[judged(0.8), judged(0.5)], Uncertain, Pass, Pass);
    check_chunks(&[judged(0.79), judged(0.1)], Uncertain, Uncertain, Pass);
    check_chunks(&[judged(0.21), judged(0.1)], Uncertain, Uncertain, Pass);
    check_chunks(&[judged(0.8), broken()], Uncertain, Pass, Pass);
    check_chunks(&[judged(0.5), broken()], Uncertain, Uncertain, Pass);
    check_chunks(&[judged(0.2), broken()], Uncertain, Uncertain, Uncertain);
    check_chunks(&[judged(0.8), partly(0.1)], Uncertain, Pass, Pass);
    check_chunks(&[judged(0.8), partly(0.95)], Uncertain, Pass, Pass);
    check_chunks(&[judged(0.8), vetoed(0.95)], Uncertain, Pass, Pass);
    check_chunks(&[judged(0.8), vetoed(0.1)], Uncertain, Pass, Pass);
    check_chunks(&[partly(0.9), judged(0.1)], Uncertain, Uncertain, Uncertain);
    check_chunks(&[vetoed(0.9), judged(0.1)], Uncertain, Uncertain, Uncertain);
}

#[test]
fn the_chunk_rule_applies_only_while_chunk_relevance_is_required() {
    for &chunk_rule in ChunkRule::ALL {
        for role in [DimensionRole::Advisory, DimensionRole::Off] {
            let given = base(chunk_rule, UpstreamRule::Confident)
                .role(ChunkRelevance, role)
                .chunks([failed(FailureReason::Timeout), judged(0.5)]);
            check(&given, Diagnosis::Pass);
        }
    }
}

#[test]
fn the_gravest_cause_of_the_chunks_is_named() {
    let given = base(ChunkRule::All, UpstreamRule::AsListed);
    let causes = [
        (judged(0.5), BlockCause::ChunkRule),
        (vetoed(0.9), BlockCause::Veto),
        (partly(0.9), BlockCause::PartlySeen),
        (
            failed(FailureReason::TooLong),
            BlockCause::Failed(FailureReason::TooLong),
        ),
    ];
    let mut chunks = vec![judged(0.9)];
    for (chunk, cause) in causes {
        chunks.push(chunk);
        check_blocking(
            &given.clone().chunks(chunks.clone()),
            &[(ChunkRelevance, cause)],
        );
    }
}

/// What a bad dimension gives while an earlier one is in a state, under each upstream rule.
#[track_caller]
fn check_upstream(
    bad: Dimension,
    earlier: impl Fn(Given) -> Given,
    [as_listed, confident, strict]: [bool; 3],
) {
    for (upstream, fires) in [
        (UpstreamRule::AsListed, as_listed),
        (UpstreamRule::Confident, confident),
        (UpstreamRule::Strict, strict),
    ] {
        let given = earlier(base(ChunkRule::Best, upstream)).set(bad, bad_value(bad));
        let ruling = given.ruling();
        if fires {
            assert_eq!(ruling.diagnosis, own_diagnosis(bad), "{upstream}");
        } else {
            assert_eq!(ruling.diagnosis, Diagnosis::JudgeUncertain, "{upstream}");
            let cause = ruling.fired.blocking[bad];
            assert_eq!(cause, Some(BlockCause::Upstream), "{upstream}");
            assert!(!given.open().is_empty(), "{upstream}");
            assert!(!given.open().contains(&Question::about(bad)), "{upstream}");
        }
    }
}

#[test]
fn a_generator_is_blamed_only_where_the_policy_says_that_retrieval_may_be_unknown() {
    const AS_LISTED_ONLY: [bool; 3] = [true, false, false];
    for bad in [Groundedness, Contradiction, Correctness] {
        for state in [judged(0.5), failed(FailureReason::Timeout)] {
            for earlier in [ContextSufficiency, ContextConflict] {
                let question = Question::about(earlier);
                check_upstream(bad, |g| g.judgment(question, state.clone()), AS_LISTED_ONLY);
            }
            check_upstream(
                bad,
                |g| g.chunks([state.clone(), judged(0.1)]),
                AS_LISTED_ONLY,
            );
        }
        // One chunk that is surely relevant is enough.
        check_upstream(bad, |g| g.chunks([judged(0.5), judged(0.8)]), [true; 3]);
        check_upstream(
            bad,
            |g| g.chunks([failed(FailureReason::Timeout), judged(0.8)]),
            [true; 3],
        );
    }
}

#[test]
fn an_answer_that_misses_the_question_fails_whatever_the_context_unless_strict() {
    for earlier in [ContextSufficiency, ContextConflict] {
        check_upstream(
            AnswerRelevance,
            |g| g.set(earlier, 0.5),
            [true, true, false],
        );
        check_upstream(AnswerRelevance, |g| g.fail(earlier), [true, true, false]);
    }
    check_upstream(
        AnswerRelevance,
        |g| g.chunks([judged(0.5)]),
        [true, true, false],
    );
}

#[test]
fn under_strict_every_earlier_dimension_must_be_known_to_be_good() {
    let order = [
        ContextConflict,
        ContextSufficiency,
        AnswerRelevance,
        Groundedness,
        Correctness,
    ];
    for (place, &bad) in order.iter().enumerate() {
        for &earlier in &order[..place] {
            let confident = !matches!(bad, Groundedness | Correctness)
                || !Dimension::RETRIEVAL.contains(&earlier);
            let expected = [true, confident, false];
            check_upstream(bad, |g| g.set(earlier, 0.5), expected);
            check_upstream(bad, |g| g.fail(earlier), expected);
        }
        for &later in &order[place + 1..] {
            check_upstream(bad, |g| g.set(later, 0.5), [true; 3]);
            check_upstream(bad, |g| g.fail(later), [true; 3]);
        }
    }
}

#[test]
fn under_strict_a_miss_waits_for_the_conflict_and_is_named_as_held_back() {
    let given = base(ChunkRule::Best, UpstreamRule::Strict)
        .chunks([judged(0.1), judged(0.1)])
        .set(ContextSufficiency, 0.05)
        .set(ContextConflict, 0.5);
    check_blocking(
        &given,
        &[
            (ChunkRelevance, BlockCause::Upstream),
            (ContextSufficiency, BlockCause::Upstream),
            (ContextConflict, BlockCause::Band),
        ],
    );
    assert_eq!(given.open(), [Question::about(ContextConflict)]);
    check(&given.set(ContextConflict, 0.05), Diagnosis::RetrievalMiss);
}

#[test]
fn an_upstream_condition_of_absence_needs_the_whole_text_and_one_of_presence_does_not() {
    for bad in [Groundedness, Contradiction, Correctness] {
        check_upstream(bad, |g| g.partly(ContextConflict), [true, false, false]);
        check_upstream(bad, |g| g.partly(ContextSufficiency), [true; 3]);
        check_upstream(bad, |g| g.chunks([partly(0.9)]), [true; 3]);
        check_upstream(bad, |g| g.partly(AnswerRelevance), [true; 3]);
    }
}

#[test]
fn an_upstream_dimension_that_is_vetoed_off_or_not_applicable_holds_nothing_back() {
    for bad in [AnswerRelevance, Groundedness, Correctness] {
        for earlier in [ContextSufficiency, ContextConflict] {
            check_upstream(bad, |g| g.veto(earlier), [true; 3]);
            check_upstream(
                bad,
                |g| g.fail(earlier).role(earlier, DimensionRole::Off),
                [true; 3],
            );
            let skipped = not_applicable(NotApplicableReason::OutOfScope);
            let question = Question::about(earlier);
            check_upstream(bad, |g| g.judgment(question, skipped.clone()), [true; 3]);
        }
    }
}

#[test]
fn an_advisory_upstream_dimension_holds_nothing_back() {
    for bad in [AnswerRelevance, Groundedness, Correctness] {
        for earlier in [ContextSufficiency, ContextConflict] {
            let advisory = |g: Given| g.role(earlier, DimensionRole::Advisory);
            check_upstream(bad, |g| advisory(g).set(earlier, 0.5), [true; 3]);
            check_upstream(bad, |g| advisory(g).fail(earlier), [true; 3]);
        }
    }
}

#[test]
fn even_with_advisory_chunks_a_generator_is_blamed_only_above_a_miss() {
    let advisory = |g: Given| g.role(ChunkRelevance, DimensionRole::Advisory);
    let broken = || failed(FailureReason::Timeout);
    for bad in [Groundedness, Contradiction, Correctness] {
        let held_back = [true, false, false];
        check_upstream(
            bad,
            |g| advisory(g).chunks([broken(), judged(0.2)]),
            held_back,
        );
        check_upstream(
            bad,
            |g| advisory(g).chunks([partly(0.2), judged(0.2)]),
            held_back,
        );
        check_upstream(
            bad,
            |g| advisory(g).chunks([broken(), judged(0.21)]),
            [true; 3],
        );
        check_upstream(
            bad,
            |g| {
                g.role(ChunkRelevance, DimensionRole::Off)
                    .chunks([broken()])
            },
            [true; 3],
        );
    }
    check_upstream(
        AnswerRelevance,
        |g| advisory(g).chunks([broken(), judged(0.2)]),
        [true; 3],
    );
}

#[test]
fn a_held_back_rule_names_only_the_ends_that_fired() {
    let given = default_base()
        .set(ContextSufficiency, 0.5)
        .set(Contradiction, 0.95)
        .set(Groundedness, 0.05)
        .partly(Groundedness);
    check_blocking(
        &given,
        &[
            (ContextSufficiency, BlockCause::Band),
            (Groundedness, BlockCause::PartlySeen),
            (Contradiction, BlockCause::Upstream),
        ],
    );
    let advisory = given.role(Groundedness, DimensionRole::Advisory);
    check_blocking(
        &advisory,
        &[
            (ContextSufficiency, BlockCause::Band),
            (Contradiction, BlockCause::Upstream),
        ],
    );
    assert_eq!(advisory.open(), [Question::about(ContextSufficiency)]);
}

#[test]
fn only_what_is_open_in_a_blocking_dimension_is_asked_again() {
    let given = base(ChunkRule::All, UpstreamRule::Confident)
        .chunks([
            judged(0.9),
            judged(0.5),
            failed(FailureReason::Timeout),
            judged(0.1),
            partly(0.9),
            vetoed(0.9),
            not_applicable(NotApplicableReason::NoContext),
        ])
        .set(Groundedness, 0.5)
        .veto(AnswerRelevance)
        .partly(Contradiction)
        .fail(Correctness)
        .set(ContextSufficiency, 0.5)
        .role(ContextSufficiency, DimensionRole::Advisory)
        .fail(ContextConflict)
        .role(ContextConflict, DimensionRole::Off);
    assert_eq!(
        given.open(),
        [
            Question::about(AnswerRelevance),
            Question::about(Groundedness),
            Question::about(Contradiction),
            Question::about(Correctness),
            Question::chunk(1),
            Question::chunk(2),
            Question::chunk(4),
            Question::chunk(5),
        ]
    );
}

#[test]
fn open_chunks_are_asked_too_while_chunk_relevance_is_required() {
    let given = default_base()
        .chunks([judged(0.9), judged(0.5), failed(FailureReason::Timeout)])
        .set(Groundedness, 0.5);
    let open = [
        Question::about(Groundedness),
        Question::chunk(1),
        Question::chunk(2),
    ];
    assert_eq!(given.open(), open);
    let advisory = given.role(ChunkRelevance, DimensionRole::Advisory);
    assert_eq!(advisory.open(), [Question::about(Groundedness)]);
}

#[test]
fn nothing_is_asked_again_where_a_rule_fired() {
    let open = default_base().set(Groundedness, 0.5).fail(Correctness);
    assert!(!open.open().is_empty());
    assert!(open.set(AnswerRelevance, 0.05).open().is_empty());
    assert!(default_base().open().is_empty());
}
