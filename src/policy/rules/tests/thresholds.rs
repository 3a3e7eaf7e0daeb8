//! Thresholds: both ends are decided, and a dimension alone gives its own diagnosis.

use super::*;

const BUILT_IN: [&str; 3] = ["parity-v1", "lexical-default", "systemone-example"];

/// A threshold moved by so many hundredths, without the noise of binary fractions.
fn moved(threshold: Probability, hundredths: f64) -> f64 {
    ((threshold.value() * 100.0).round() + hundredths) / 100.0
}

/// Puts every judgment of a dimension at `p`.
fn all_at(given: &Given, dimension: Dimension, p: f64) -> Given {
    let mut given = given.clone();
    for ordinal in 0..given.judgments.of(dimension).len() {
        let question = match dimension {
            ChunkRelevance => Question::chunk(ordinal),
            whole => Question::about(whole),
        };
        given.judgments[question] = judged(p);
    }
    given
}

/// The six values around both thresholds with what they give from the all-good point.
fn around(given: &Given, dimension: Dimension) -> [(f64, Diagnosis); 6] {
    let pair = given.thresholds(dimension);
    let (low, high) = match dimension.polarity() {
        Polarity::GoodWhenTrue => (own_diagnosis(dimension), Diagnosis::Pass),
        Polarity::BadWhenTrue => (Diagnosis::Pass, own_diagnosis(dimension)),
    };
    [
        (moved(pair.fail_at(), -1.0), low),
        (moved(pair.fail_at(), 0.0), low),
        (moved(pair.fail_at(), 1.0), Diagnosis::JudgeUncertain),
        (moved(pair.pass_at(), -1.0), Diagnosis::JudgeUncertain),
        (moved(pair.pass_at(), 0.0), high),
        (moved(pair.pass_at(), 1.0), high),
    ]
}

#[test]
fn r12_a_value_on_a_threshold_is_decided_on_both_sides() {
    for given in [
        default_base(),
        base(ChunkRule::All, UpstreamRule::AsListed),
        base(ChunkRule::All, UpstreamRule::Strict),
    ] {
        for &dimension in Dimension::ALL {
            for (p, diagnosis) in around(&given, dimension) {
                check(&all_at(&given, dimension, p), diagnosis);
            }
        }
    }
}

#[test]
fn r12_the_fired_rule_names_value_and_threshold() {
    let rules = [
        (ChunkRelevance, Rule::RetrievalMiss),
        (ContextSufficiency, Rule::Insufficient),
        (ContextConflict, Rule::Conflict),
        (AnswerRelevance, Rule::Irrelevant),
        (Groundedness, Rule::Ungrounded),
        (Contradiction, Rule::Ungrounded),
        (Correctness, Rule::Incorrect),
    ];
    let given = default_base();
    for (dimension, rule) in rules {
        let pair = given.thresholds(dimension);
        let chunk = (dimension == ChunkRelevance).then_some(0);
        for (p, diagnosis) in around(&given, dimension) {
            let at = all_at(&given, dimension, p);
            if diagnosis == own_diagnosis(dimension) {
                let threshold = match dimension.polarity() {
                    Polarity::GoodWhenTrue => pair.fail_at(),
                    Polarity::BadWhenTrue => pair.pass_at(),
                };
                let ground = (dimension, chunk, p, threshold.value());
                check_fired(&at, rule, Some(ground));
            } else if diagnosis == Diagnosis::JudgeUncertain {
                check_fired(&at, Rule::Uncertain, None);
            } else if chunk.is_none() {
                let threshold = match dimension.polarity() {
                    Polarity::GoodWhenTrue => pair.pass_at(),
                    Polarity::BadWhenTrue => pair.fail_at(),
                };
                let ground = (dimension, None, p, threshold.value());
                check_fired(&at, Rule::Pass, Some(ground));
            }
        }
    }
}

#[test]
fn confidence_is_the_value_at_its_bad_end_and_the_weakest_value_of_a_pass() {
    let given = default_base();
    for &dimension in Dimension::ALL {
        for (p, diagnosis) in around(&given, dimension) {
            let hundredths = (p * 100.0).round();
            let badness = match dimension.polarity() {
                Polarity::GoodWhenTrue => (100.0 - hundredths) / 100.0,
                Polarity::BadWhenTrue => p,
            };
            let goodness = match dimension.polarity() {
                Polarity::GoodWhenTrue => p,
                Polarity::BadWhenTrue => (100.0 - hundredths) / 100.0,
            };
            let confidence = match diagnosis {
                Diagnosis::JudgeUncertain => 0.5,
                // Chunks are left out of the confidence of a PASS.
                Diagnosis::Pass if dimension == ChunkRelevance => 0.95,
                Diagnosis::Pass => goodness,
                _ => badness,
            };
            check_confidence(&all_at(&given, dimension, p), diagnosis, Some(confidence));
        }
    }
}

#[test]
fn r13_one_dimension_alone_gives_exactly_its_diagnosis_under_every_built_in_policy() {
    for name in BUILT_IN {
        let given = good(policy(name), 2);
        check(&given, Diagnosis::Pass);
        for &dimension in Dimension::ALL {
            let bad = all_at(&given, dimension, bad_value(dimension));
            check(&bad, own_diagnosis(dimension));
            assert_eq!(
                bad.ruling().fired.ground.map(|ground| ground.dimension),
                Some(dimension)
            );
        }
    }
}

#[test]
fn r13_a_dimension_that_is_off_changes_nothing() {
    for &dimension in Dimension::ALL {
        let off = default_base().role(dimension, DimensionRole::Off);
        let expected = off.ruling();
        assert_eq!(expected.diagnosis, Diagnosis::Pass);
        assert!(!expected.pass_covers.contains(dimension));
        for p in [0.0, 0.5, 1.0] {
            assert_eq!(all_at(&off, dimension, p).ruling(), expected);
        }
        let mut without_thresholds = off.role(dimension, DimensionRole::Required);
        without_thresholds.policy.dimensions[dimension].thresholds = None;
        assert_eq!(
            without_thresholds.ruling().pass_covers,
            expected.pass_covers
        );
        check(&without_thresholds.fail(dimension), Diagnosis::Pass);
    }
}

/// From bad over uncertain to good, and never back, whatever the options.
#[test]
fn r11_the_diagnosis_is_monotone_in_every_dimension() {
    let goodness_of = |diagnosis| match diagnosis {
        Diagnosis::Pass => 2,
        Diagnosis::JudgeUncertain => 1,
        _ => 0,
    };
    for &upstream in UpstreamRule::ALL {
        for &chunk_rule in ChunkRule::ALL {
            let given = base(chunk_rule, upstream);
            for &dimension in Dimension::ALL {
                let mut values: Vec<f64> = (0..=100_u32).map(|h| f64::from(h) / 100.0).collect();
                if dimension.polarity() == Polarity::BadWhenTrue {
                    values.reverse();
                }
                let levels: Vec<_> = values
                    .into_iter()
                    .map(|p| goodness_of(all_at(&given, dimension, p).ruling().diagnosis))
                    .collect();
                assert!(
                    levels.is_sorted(),
                    "{dimension} {chunk_rule} {upstream}: {levels:?}"
                );
                assert_eq!((levels[0], levels[100]), (0, 2), "{dimension}");
            }
        }
    }
}

#[test]
fn a_fallback_judge_is_held_against_its_own_thresholds_in_the_fallback_role_only() {
    let judge = JudgeId::from("llm");
    let mut given = default_base();
    let mut pairs = crate::domain::dimension::DimensionMap::from_fn(|_| None);
    pairs[Groundedness] = Some(Thresholds::new(0.4, 0.6).unwrap());
    given.policy.fallback.insert(judge.clone(), pairs);

    let by = |judge: &JudgeId, role, dimension, p| {
        given
            .clone()
            .set(dimension, p)
            .edit(Question::about(dimension), |judged| {
                judged.judge_id = judge.clone();
                judged.role = role;
            })
    };
    let fallback = |p| by(&judge, JudgeRole::Fallback, Groundedness, p);
    check(&fallback(0.4), Diagnosis::GeneratorUngrounded);
    let ground = (Groundedness, None, 0.4, 0.4);
    check_fired(&fallback(0.4), Rule::Ungrounded, Some(ground));
    check(&fallback(0.41), Diagnosis::JudgeUncertain);
    check(&fallback(0.59), Diagnosis::JudgeUncertain);
    check(&fallback(0.6), Diagnosis::Pass);
    check_fired(
        &fallback(0.6),
        Rule::Pass,
        Some((Groundedness, None, 0.6, 0.6)),
    );

    let uncertain = Diagnosis::JudgeUncertain;
    check(&by(&judge, JudgeRole::Atomic, Groundedness, 0.6), uncertain);
    let other = JudgeId::from("other");
    check(
        &by(&other, JudgeRole::Fallback, Groundedness, 0.6),
        uncertain,
    );
    check(
        &by(&judge, JudgeRole::Fallback, Correctness, 0.6),
        uncertain,
    );
}
