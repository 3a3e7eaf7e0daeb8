//! Properties over arbitrary judgments under arbitrary policies.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::domain::dimension::DimensionMap;

/// The places of a probability around two thresholds, from the worst to the best.
const PLACES: usize = 9;
/// The places at which a value is good.
const GOOD: std::ops::Range<usize> = 6..PLACES;

const PAIRS: [(u8, u8); 4] = [(20, 80), (5, 95), (45, 55), (0, 100)];
const MAX_CHUNKS: usize = 6;

/// The probability at a place: the ends, both thresholds, one hundredth to either side of them, and the middle.
fn at_place(thresholds: Thresholds, polarity: Polarity, place: usize) -> f64 {
    let hundredths = |p: Probability| (p.value() * 100.0).round();
    let (fail_at, pass_at) = (
        hundredths(thresholds.fail_at()),
        hundredths(thresholds.pass_at()),
    );
    let places: [f64; PLACES] = [
        0.0,
        fail_at - 1.0,
        fail_at,
        fail_at + 1.0,
        50.0,
        pass_at - 1.0,
        pass_at,
        pass_at + 1.0,
        100.0,
    ];
    let place = match polarity {
        Polarity::GoodWhenTrue => place,
        Polarity::BadWhenTrue => PLACES - 1 - place,
    };
    places[place].clamp(0.0, 100.0) / 100.0
}

impl Given {
    fn at(&self, question: Question, place: usize) -> f64 {
        let dimension = question.dimension();
        at_place(self.thresholds(dimension), dimension.polarity(), place)
    }

    fn is_required(&self, question: Question) -> bool {
        self.policy.role(question.dimension()) == DimensionRole::Required
    }

    fn questions(&self) -> Vec<Question> {
        self.judgments
            .iter()
            .map(|(question, _)| question)
            .collect()
    }

    /// The same with one judged value moved to every place on its worse or better side.
    fn moved(&self, question: Question, better: bool) -> Vec<Self> {
        let Judgment::Judged(judged) = &self.judgments[question] else {
            return Vec::new();
        };
        let rises = better == (question.dimension().polarity() == Polarity::GoodWhenTrue);
        let old = judged.probability;
        (0..PLACES)
            .map(|place| p(self.at(question, place)))
            .filter(|&new| if rises { old < new } else { new < old })
            .map(|new| {
                self.clone()
                    .edit(question, |judged| judged.probability = new)
            })
            .collect()
    }
}

prop_compose! {
    fn a_judged()(
        place in prop_oneof![8 => GOOD, 1 => 3..6_usize, 1 => 0..3_usize],
        is_whole in prop::bool::weighted(0.9),
        is_vetoed in prop::bool::weighted(0.07),
        role in select(JudgeRole::ALL),
        source in select(JudgmentSource::ALL),
    ) -> (usize, Judged) {
        let Judgment::Judged(mut judged) = judged(0.5) else { unreachable!() };
        if !is_whole {
            see_half(&mut judged);
        }
        (judged.vetoes_pass, judged.role, judged.source) = (is_vetoed, role, source);
        (place, judged)
    }
}

/// A judgment whose probability is still a place.
fn a_judgment() -> impl Strategy<Value = (usize, Judgment)> {
    prop_oneof![
        12 => a_judged().prop_map(|(place, judged)| (place, Judgment::Judged(judged))),
        1 => select(FailureReason::ALL).prop_map(|reason| (0, failed(reason))),
        1 => select(NotApplicableReason::ALL).prop_map(|reason| (0, not_applicable(reason))),
    ]
}

/// A policy whose dimensions all have thresholds, and some of one fallback judge's own.
fn a_policy() -> impl Strategy<Value = Policy> {
    let role = prop_oneof![
        5 => Just(DimensionRole::Required),
        2 => Just(DimensionRole::Advisory),
        1 => Just(DimensionRole::Off),
    ];
    (
        vec((role, select(&PAIRS)), Dimension::COUNT),
        vec(proptest::option::of(select(&PAIRS)), Dimension::COUNT),
        select(ChunkRule::ALL),
        select(UpstreamRule::ALL),
    )
        .prop_map(|(rows, own, chunk_rule, upstream)| {
            let thresholds = |(fail_at, pass_at): (u8, u8)| {
                Thresholds::new(f64::from(fail_at) / 100.0, f64::from(pass_at) / 100.0).unwrap()
            };
            let mut policy = policy("parity-v1");
            for (&dimension, (role, pair)) in Dimension::ALL.iter().zip(rows) {
                policy.dimensions[dimension].role = role;
                policy.dimensions[dimension].thresholds = Some(thresholds(pair));
            }
            let own = DimensionMap::from_fn(|dimension| own[dimension.index()].map(thresholds));
            policy.fallback.insert(JudgeId::from("atomic"), own);
            (policy.chunk_rule, policy.upstream) = (chunk_rule, upstream);
            policy
        })
}

fn a_given() -> impl Strategy<Value = Given> {
    let judgments = WHOLE.len()..=WHOLE.len() + MAX_CHUNKS;
    (a_policy(), vec(a_judgment(), judgments)).prop_map(|(policy, rows)| {
        let mut given = good(policy, rows.len() - WHOLE.len());
        for (question, (place, judgment)) in given.questions().into_iter().zip(rows) {
            let p = p(given.at(question, place));
            given.judgments[question] = judgment;
            if let Judgment::Judged(judged) = &mut given.judgments[question] {
                judged.probability = p;
            }
        }
        given
    })
}

/// Whether a PASS may stand on this judgment alone.
fn is_clean_and(given: &Given, question: Question, band: impl Fn(Band) -> bool) -> bool {
    given.judgments[question].judged().is_some_and(|judged| {
        let own = given.policy.band(question.dimension(), judged);
        own.is_some_and(band) && judged.seen_fraction.is_whole() && !judged.vetoes_pass
    })
}

fn check_pass_is_earned(given: &Given) {
    let applies =
        |question: &Question| !matches!(given.judgments[*question], Judgment::NotApplicable(_));
    let questions: Vec<_> = given.questions().into_iter().filter(applies).collect();
    let (chunks, whole): (Vec<_>, Vec<_>) = questions
        .into_iter()
        .filter(|&question| given.is_required(question))
        .partition(|question| question.chunk_ordinal().is_some());
    for question in whole {
        let good = match question.dimension().polarity() {
            Polarity::GoodWhenTrue => Band::Positive,
            Polarity::BadWhenTrue => Band::Negative,
        };
        assert!(is_clean_and(given, question, |band| band == good));
    }
    let holds = |band: fn(Band) -> bool| move |&question: &_| is_clean_and(given, question, band);
    assert!(match given.policy.chunk_rule {
        ChunkRule::All => {
            chunks.iter().all(holds(|band| band != Band::Uncertain))
                && (chunks.is_empty() || chunks.iter().any(holds(|band| band == Band::Positive)))
        }
        ChunkRule::Best =>
            chunks.is_empty() || chunks.iter().any(holds(|band| band == Band::Positive)),
        ChunkRule::None =>
            chunks.is_empty() || chunks.iter().any(holds(|band| band != Band::Negative)),
    });
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Every trace gets one well-formed ruling, and a PASS only where everything that it covers is good.
    #[test]
    fn every_trace_gets_exactly_one_ruling(given in a_given()) {
        let ruling = given.ruling();
        prop_assert_eq!(&ruling, &given.ruling());
        prop_assert_ne!(ruling.diagnosis, Diagnosis::NotAssessable);
        let is_uncertain = ruling.fired.rule == Rule::Uncertain;
        prop_assert_eq!(is_uncertain, ruling.diagnosis == Diagnosis::JudgeUncertain);
        prop_assert!(is_uncertain || is_clear(&ruling.fired.blocking));
        if let Some(confidence) = ruling.confidence {
            prop_assert!((0.0..=1.0).contains(&confidence.value()));
        }
        if is_uncertain {
            prop_assert_eq!(ruling.confidence, Some(Probability::HALF));
        }
        let is_pass = ruling.diagnosis == Diagnosis::Pass;
        prop_assert_eq!(is_pass, !ruling.pass_covers.is_empty());
        if is_pass {
            check_pass_is_earned(&given);
        }
        let judge_free = matches!(ruling.fired.rule, Rule::NoChunks | Rule::EmptyAnswer | Rule::Uncertain);
        prop_assert_eq!(ruling.fired.ground.is_none(), judge_free);
    }

    #[test]
    fn what_a_rule_stands_on_lies_on_the_deciding_side(given in a_given()) {
        let ruling = given.ruling();
        if let Some(ground) = ruling.fired.ground {
            prop_assert_eq!(ground.chunk.is_some(), ground.dimension == ChunkRelevance);
            let question = ground.chunk.map_or_else(|| Question::about(ground.dimension), Question::chunk);
            let judged = given.judgments[question].judged().unwrap();
            prop_assert_eq!(ground.value, judged.probability);
            let is_pass = ruling.diagnosis == Diagnosis::Pass;
            let is_high = is_pass == (ground.dimension.polarity() == Polarity::GoodWhenTrue);
            let (low, high) = if is_high {
                (ground.threshold, ground.value)
            } else {
                (ground.value, ground.threshold)
            };
            prop_assert!(low <= high);
        }
    }

    #[test]
    fn r11_a_pass_is_upward_closed(given in a_given()) {
        if given.ruling().diagnosis == Diagnosis::Pass {
            for question in given.questions() {
                // Under `all` a chunk that rises into the band makes the trace uncertain.
                if question.chunk_ordinal().is_none() || given.policy.chunk_rule != ChunkRule::All {
                    for better in given.moved(question, true) {
                        prop_assert_eq!(better.ruling().diagnosis, Diagnosis::Pass);
                    }
                }
            }
        }
    }

    #[test]
    fn r11_what_a_rule_fires_on_is_closed_towards_its_bad_end(given in a_given()) {
        let fired = given.ruling().fired;
        if !matches!(fired.rule, Rule::Pass | Rule::Uncertain) && let Some(ground) = fired.ground {
            for question in given.questions() {
                let ends_of_rule = match ground.dimension {
                    Groundedness | Contradiction => &[Groundedness, Contradiction][..],
                    ref other => std::slice::from_ref(other),
                };
                if ends_of_rule.contains(&question.dimension()) {
                    for worse in given.moved(question, false) {
                        prop_assert_eq!(worse.ruling().fired.rule, fired.rule);
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_required_and_failed_or_partly_seen_never_makes_a_pass(given in a_given()) {
        if given.ruling().diagnosis != Diagnosis::Pass {
            for question in given.questions() {
                if given.is_required(question) {
                    let broken = given.clone().judgment(question, failed(FailureReason::Protocol));
                    prop_assert_ne!(broken.ruling().diagnosis, Diagnosis::Pass);
                    if given.judgments[question].judged().is_some() {
                        let cut = given.clone().edit(question, see_half);
                        prop_assert_ne!(cut.ruling().diagnosis, Diagnosis::Pass);
                        let guarded = given.clone().edit(question, |judged| judged.vetoes_pass = true);
                        prop_assert_ne!(guarded.ruling().diagnosis, Diagnosis::Pass);
                    }
                }
            }
        }
    }

    /// A failed advisory dimension is as good as none; a failed advisory chunk as good as an uncertain one, save that
    /// it does not show that the context is no miss.
    #[test]
    fn the_failures_of_advisory_dimensions_do_not_count(given in a_given()) {
        for question in given.questions() {
            let dimension = question.dimension();
            if given.policy.role(dimension) == DimensionRole::Advisory {
                let broken = given.clone().judgment(question, failed(FailureReason::Timeout));
                let without = if dimension == ChunkRelevance {
                    let middle = given.at(question, 4);
                    broken.clone().judgment(question, judged(middle))
                } else {
                    broken.clone().role(dimension, DimensionRole::Off)
                };
                if dimension != ChunkRelevance || given.policy.upstream == UpstreamRule::AsListed {
                    prop_assert_eq!(broken.ruling(), without.ruling());
                }
                if without.ruling().diagnosis == Diagnosis::Pass {
                    prop_assert_eq!(broken.ruling(), without.ruling());
                }
            }
        }
    }

    #[test]
    fn the_order_of_the_chunks_does_not_count(given in a_given(), shift in 0..MAX_CHUNKS) {
        let mut chunks = given.judgments.of(ChunkRelevance).to_vec();
        let ruling = given.ruling();
        let check = |chunks: Vec<_>| {
            let other = given.clone().chunks(chunks).ruling();
            assert_eq!((other.diagnosis, other.confidence), (ruling.diagnosis, ruling.confidence));
            // Of several failures the first is named.
            let blocking = |ruling: &Ruling| DimensionMap::from_fn(|d| ruling.fired.blocking[d].is_some());
            assert_eq!(blocking(&other), blocking(&ruling));
        };
        chunks.reverse();
        check(chunks.clone());
        let count = chunks.len();
        chunks.rotate_left(if count == 0 { 0 } else { shift % count });
        check(chunks);
    }

    /// Only what was asked is asked again, and good answers to all of it settle what was in the way.
    #[test]
    fn answers_to_all_open_questions_settle_what_was_in_the_way(given in a_given()) {
        let ruling = given.ruling();
        let open = given.open();
        let mut answered = given.clone();
        for question in open.iter().copied() {
            prop_assert!(!matches!(given.judgments[question], Judgment::NotApplicable(_)));
            prop_assert_ne!(given.policy.role(question.dimension()), DimensionRole::Off);
            let dimension = question.dimension();
            let is_required = given.policy.role(dimension) == DimensionRole::Required;
            prop_assert!(is_required || ruling.fired.blocking[dimension].is_some());
            let best = given.at(question, PLACES - 1);
            answered = answered.judgment(question, judged(best));
        }
        if !is_clear(&ruling.fired.blocking) {
            prop_assert!(!open.is_empty(), "{:?}", ruling);
            prop_assert_ne!(answered.ruling().diagnosis, Diagnosis::JudgeUncertain);
        } else {
            prop_assert!(open.is_empty());
        }
    }
}

/// The properties above say something about a PASS only if the arbitrary traces hold some.
#[test]
fn arbitrary_traces_reach_every_rule_of_a_judge() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let mut found = [0_usize; Rule::ALL.len()];
    for _ in 0..600 {
        let given = a_given().new_tree(&mut runner).unwrap().current();
        found[given.ruling().fired.rule.index()] += 1;
    }
    let unreachable = [Rule::RecordedVerdict, Rule::NotAssessable];
    for rule in Rule::ALL.iter().filter(|rule| !unreachable.contains(rule)) {
        let least = if *rule == Rule::Pass { 60 } else { 3 };
        assert!(least <= found[rule.index()], "{rule}: {found:?}");
    }
}
