//! Against numbers that scikit-learn 1.9.1 and scipy 1.17.1 computed on the same vectors.

use serde_json::json;

use super::*;
use crate::artifact::policy::built_in;
use crate::domain::diagnosis::Diagnosis;
use crate::domain::dimension::Polarity;
use crate::domain::failure::NotApplicableReason;
use crate::domain::judgment::{
    Evidence, Failure, Guard, Judged, Judgment, JudgmentBasis, JudgmentDelivery, JudgmentSource,
    SeenFraction,
};
use crate::domain::outcome::{CalibrationState, JudgeRole};
use crate::domain::probability::Probability;
use crate::domain::question::Question;
use crate::report::bench::{Bench, BenchJudge, BenchRisk, BenchSide, block, json as written};
use crate::report::model::{Measure, SnapshotInfo};

fn judged(p: f64) -> Judgment {
    Judgment::Judged(Judged {
        probability: Probability::try_from(p).unwrap(),
        judge_id: "j".into(),
        role: JudgeRole::Atomic,
        source: JudgmentSource::Native,
        delivery: JudgmentDelivery::Live,
        basis: JudgmentBasis::Measured,
        seen_fraction: SeenFraction::ALL,
        label_mass: None,
        vetoes_pass: false,
        evidence: None,
    })
}

fn guarded(p: f64, guards: &[Guard]) -> Judgment {
    let Judgment::Judged(plain) = judged(p) else {
        unreachable!("it is judged");
    };
    Judgment::Judged(Judged {
        vetoes_pass: !guards.is_empty(),
        evidence: Some(Box::new(Evidence {
            guards: guards.to_vec(),
            ..Evidence::default()
        })),
        ..plain
    })
}

fn failed(reason: FailureReason) -> Judgment {
    Judgment::Failed(Failure {
        judge_id: "j".into(),
        reason,
    })
}

#[track_caller]
fn close(actual: f64, expected: f64) {
    assert!(
        (actual - expected).abs() < 1e-9,
        "{actual} is not {expected}"
    );
}

fn value(measure: &Measure) -> f64 {
    measure.value.unwrap()
}

/// Probability, label and the byte of the group of 600 questions.
fn vectors() -> impl Iterator<Item = (f64, bool, u8)> {
    (0_u32..600).map(|i| {
        let place = f64::from(i + 1);
        let x = (place * 0.618_033_988_749_894_9).fract();
        let sharp = x.powi(3) / (x.powi(3) + (1.0 - x).powi(3));
        let p = (sharp * 100.0).round() / 100.0;
        let is_true = (place * 0.754_877_666_246_692_7).fract() < p;
        (p, is_true, (i % 30) as u8)
    })
}

fn counted() -> DimensionCounts {
    let mut counts = DimensionCounts::default();
    for (p, label, group) in vectors() {
        counts.add(&judged(p), label, [group; 32]);
    }
    counts
}

#[track_caller]
fn check_side(side: &BenchSide, threshold: f64, decided: u64, wrong: u64, bound: f64) {
    close(side.threshold.unwrap(), threshold);
    assert_eq!((side.decided_count, side.wrong_count), (decided, wrong));
    close(value(&side.share), decided as f64 / 600.0);
    close(value(&side.error_bound), bound);
}

#[test]
fn a_dimension_has_the_numbers_of_independent_programs() {
    let report = counted().report(Polarity::GoodWhenTrue);
    assert_eq!((report.judged_count, report.positive_count), (600, 302));
    assert_eq!(report.group_count, 30);
    close(value(&report.prevalence), 302.0 / 600.0);
    close(value(&report.auroc), 0.965_754_033_512_600_6);
    close(value(&report.balanced_accuracy), 0.884_983_777_056_758_1);
    close(value(&report.brier), 0.074_443_666_666_666_66);
    close(value(&report.ece), 0.004_733_333_333_333_358);
    let floor = value(&report.ece_noise_floor);
    assert!((floor - 0.022_509_954).abs() < 0.001, "{floor}");
    let [five, ten] = report.automatic.as_slice() else {
        panic!("{:?}", report.automatic);
    };
    check_side(&five.pass, 0.83, 225, 5, 0.046_154_030_135_976);
    check_side(&five.fail, 0.1, 197, 4, 0.045_859_402_269_914_64);
    check_side(&ten.pass, 0.65, 272, 18, 0.096_555_905_462_611_84);
    check_side(&ten.fail, 0.33, 265, 18, 0.099_063_491_694_796_63);
}

#[test]
fn where_true_is_bad_the_low_end_is_the_pass_side() {
    let report = counted().report(Polarity::BadWhenTrue);
    let five = &report.automatic[0];
    check_side(&five.pass, 0.1, 197, 4, 0.045_859_402_269_914_64);
    check_side(&five.fail, 0.83, 225, 5, 0.046_154_030_135_976);
}

#[test]
fn what_failed_or_does_not_apply_is_a_count_and_no_number() {
    let mut counts = DimensionCounts::default();
    counts.add(&judged(0.9), true, [0; 32]);
    counts.add(&failed(FailureReason::Timeout), true, [1; 32]);
    counts.add(&failed(FailureReason::Undecidable), false, [1; 32]);
    counts.add(&failed(FailureReason::Undecidable), false, [2; 32]);
    let skipped = Judgment::NotApplicable(NotApplicableReason::EmptyAnswer);
    counts.add(&skipped, false, [3; 32]);
    let report = counts.report(Polarity::GoodWhenTrue);
    assert_eq!(report.labelled_count, 5);
    assert_eq!((report.judged_count, report.failed_count), (1, 3));
    assert_eq!(report.failures[&FailureReason::Undecidable], 2);
    assert_eq!(report.not_applicable_count, 1);
    assert_eq!(report.group_count, 1);
    for absent in [&report.auroc, &report.balanced_accuracy] {
        assert!(absent.value.is_none() && absent.absent.is_some());
    }
    let pass = &report.automatic[0].pass;
    assert_eq!((pass.threshold, pass.decided_count), (None, 0));
    // A failed question could not have been decided either, so it counts in the share.
    assert_eq!(value(&pass.share).to_bits(), 0.0_f64.to_bits());
    assert_eq!(pass.error_bound.value, None);
}

/// A row of this many chunks with these labels.
fn known(chunks: usize, expected: &serde_json::Value) -> Known {
    let contexts: Vec<_> = (0..chunks)
        .map(|place| json!({"id": format!("c{place}"), "text": format!("text {place}")}))
        .collect();
    let row = json!({
        "id": "r", "question": "q", "contexts": contexts, "answer": "a", "expected": expected,
    });
    Known::of(&serde_json::from_value(row).unwrap())
}

fn generation(groundedness: bool) -> serde_json::Value {
    json!({"generation": {"groundedness": groundedness}})
}

fn retrieval(sufficiency: bool) -> serde_json::Value {
    json!({"retrieval": {"contextSufficiency": sufficiency}})
}

/// Everything in the band, but for these.
fn judgments(chunks: usize, said: &[(Question, Judgment)]) -> Judgments {
    let mut judgments = Judgments::from_fn(chunks, |_| judged(0.5));
    for (question, judgment) in said {
        judgments[*question] = judgment.clone();
    }
    judgments
}

fn grounded(p: f64) -> (Question, Judgment) {
    (Question::about(Dimension::Groundedness), judged(p))
}

#[track_caller]
fn check_risk(risk: &BenchRisk, counts: [u64; 3], bound: Option<f64>) {
    let actual = [risk.count, risk.checked_count, risk.wrong_count];
    assert_eq!(actual, counts);
    match bound {
        Some(bound) => close(value(&risk.error_bound), bound),
        None => assert_eq!(risk.error_bound.value, None),
    }
}

#[test]
fn a_false_pass_is_told_by_the_label_that_it_breaks() {
    let snapshot = built_in("lexical-default").unwrap().unwrap();
    let mut counts = Counts::new(&snapshot.policy, DimensionSet::ALL);
    let pass = judgments(1, &[grounded(0.95)]);
    let both = json!({
        "retrieval": {"contextSufficiency": false}, "generation": {"groundedness": false},
    });
    for expected in [
        generation(true),
        generation(false),
        retrieval(false),
        retrieval(true),
        both,
        json!({"generation": {"answerRelevance": false}}),
    ] {
        counts.add(&known(1, &expected), &pass, None);
    }
    let policy = counts.report("s".to_owned(), file()).policy;
    assert_eq!((policy.row_count, policy.decided_count), (6, 6));
    // What a PASS does not cover, answer relevance here, does not make it wrong.
    check_risk(&policy.pass, [6, 5, 3], Some(0.923_559_608_587_671));
    let by = |dimension| &policy.pass_by_label[&dimension];
    let two_of_three = Some(0.983_047_572_491_558_5);
    check_risk(by(Dimension::Groundedness), [3, 3, 2], two_of_three);
    check_risk(by(Dimension::ContextSufficiency), [3, 3, 2], two_of_three);
    check_risk(&policy.fail, [0, 0, 0], None);
}

#[test]
fn a_failing_diagnosis_is_wrong_if_what_it_is_about_is_labelled_good() {
    let snapshot = built_in("lexical-default").unwrap().unwrap();
    let mut counts = Counts::new(&snapshot.policy, DimensionSet::ALL);
    let miss = judgments(
        2,
        &[0, 1].map(|chunk| (Question::chunk(chunk), judged(0.02))),
    );
    let chunks = |first: bool, second: bool| json!({"retrieval": {"chunkRelevance": {"c0": first, "c1": second}}});
    for expected in [
        chunks(false, false),
        chunks(false, true),
        retrieval(false),
        retrieval(true),
        generation(true),
        generation(false),
    ] {
        counts.add(&known(2, &expected), &miss, None);
    }
    let on_topic = (Question::chunk(0), judged(0.9));
    let ungrounded = judgments(1, &[grounded(0.05), on_topic]);
    for expected in [
        generation(false),
        generation(true),
        json!({"generation": {"contradiction": true}}),
        json!({"generation": {"contradiction": false}}),
    ] {
        counts.add(&known(1, &expected), &ungrounded, None);
    }
    let policy = counts.report("s".to_owned(), file()).policy;
    let by = &policy.fail_by_diagnosis;
    check_risk(
        &by[&Diagnosis::RetrievalMiss],
        [6, 6, 3],
        Some(0.846_838_882_024_776_8),
    );
    check_risk(
        &by[&Diagnosis::GeneratorUngrounded],
        [4, 2, 1],
        Some(0.974_679_434_480_896_3),
    );
    assert_eq!(policy.fail.count, 10);
    assert_eq!(policy.fail.wrong_count, 4);
}

#[test]
fn guards_are_measured_where_the_words_of_the_answer_are_there() {
    let snapshot = built_in("lexical-default").unwrap().unwrap();
    let mut counts = Counts::new(&snapshot.policy, DimensionSet::ALL);
    let question = Question::about(Dimension::Groundedness);
    for (label, containment, guards) in [
        (true, Some(1.0), &[][..]),
        (true, Some(0.85), &[Guard::OffTopic]),
        (true, Some(0.84), &[Guard::MissingName]),
        (true, None, &[Guard::MissingName]),
        (
            false,
            Some(1.0),
            &[Guard::MissingNumber, Guard::NegationParity],
        ),
        (false, Some(1.0), &[Guard::NegationParity]),
        (false, Some(1.0), &[]),
    ] {
        let said = judgments(1, &[(question, guarded(0.95, guards))]);
        counts.add(&known(1, &generation(label)), &said, containment);
    }
    let guards = counts.report("s".to_owned(), file()).guards;
    let grounded = &guards.grounded;
    assert_eq!((grounded.row_count, grounded.vetoed_count), (2, 1));
    assert_eq!(grounded.mismatch_count, 0);
    let ungrounded = &guards.ungrounded;
    assert_eq!((ungrounded.row_count, ungrounded.vetoed_count), (3, 2));
    assert_eq!(ungrounded.mismatch_count, 2);
    close(value(&ungrounded.mismatch), 2.0 / 3.0);
    assert_eq!(ungrounded.by_guard[&Guard::NegationParity], 2);
    assert_eq!(ungrounded.by_guard[&Guard::MissingNumber], 1);
}

#[test]
fn what_a_policy_switches_off_is_measured_and_decides_nothing() {
    let snapshot = built_in("lexical-default").unwrap().unwrap();
    let mut policy = (*snapshot.policy).clone();
    let conflict = Dimension::ContextConflict;
    policy.dimensions[conflict].role = DimensionRole::Off;
    let asked = asking_all(&policy);
    assert_eq!(asked.role(conflict), DimensionRole::Advisory);
    let mut counts = Counts::new(&policy, DimensionSet::ALL);
    let expected = json!({"retrieval": {"contextConflict": true}});
    let said = judgments(1, &[(Question::about(conflict), judged(1.0))]);
    counts.add(&known(1, &expected), &said, None);
    let set = counts.report("s".to_owned(), file());
    assert_eq!(set.dimensions[&conflict].judged_count, 1);
    assert_eq!(set.policy.decided_count, 0);
}

#[test]
fn rows_that_nobody_could_be_asked_about_are_counts() {
    let snapshot = built_in("lexical-default").unwrap().unwrap();
    let mut counts = Counts::new(&snapshot.policy, DimensionSet::ALL);
    counts.lost(&known(1, &generation(true)), FailureReason::TooLong);
    counts.excluded();
    counts.not_assessable();
    let nothing = Judgments::from_fn(1, |_| failed(FailureReason::Timeout));
    counts.add(&known(1, &generation(true)), &nothing, Some(1.0));
    assert_eq!(counts.answered_count(), 0);
    let set = counts.report("s".to_owned(), file());
    assert_eq!((set.row_count, set.excluded_row_count), (3, 1));
    assert_eq!(set.not_assessable_count, 1);
    let groundedness = &set.dimensions[&Dimension::Groundedness];
    assert_eq!(groundedness.failed_count, 2);
    assert_eq!(set.policy.unanswered_count, 2);
    assert_eq!(set.guards.grounded.row_count, 0);
}

#[test]
fn rows_are_grouped_by_the_texts_of_their_context_alone() {
    let (one, same, other) = (
        known(2, &generation(true)),
        known(2, &retrieval(false)),
        known(1, &generation(true)),
    );
    assert_eq!(one.group, same.group);
    assert_ne!(one.group, other.group);
}

fn file() -> BenchFile {
    BenchFile {
        file: "s.jsonl".to_owned(),
        sha256: "0".repeat(64),
    }
}

/// A bench of one set in which every second row, and `wrong` more, stands on the wrong side.
fn bench(name: &str, wrong: usize) -> Bench {
    let snapshot = built_in("lexical-default").unwrap().unwrap();
    let mut counts = Counts::new(&snapshot.policy, DimensionSet::ALL);
    for row in 0..100 {
        let label = row % 2 == 0;
        let p = if label == (row < wrong) { 0.3 } else { 0.7 };
        counts.add(
            &known(1, &generation(label)),
            &judgments(1, &[grounded(p)]),
            None,
        );
    }
    Bench {
        schema_version: crate::report::bench::SCHEMA_VERSION,
        program_version: "1".to_owned(),
        judge: BenchJudge {
            judge_id: "j".to_owned(),
            judge_type: "embedded".to_owned(),
            model: None,
        },
        policy: SnapshotInfo {
            id: "p".to_owned(),
            sha256: "0".repeat(64),
        },
        calibration_state: CalibrationState::Uncalibrated,
        conventions: conventions(),
        excluded: Vec::new(),
        sets: vec![counts.report(name.to_owned(), file())],
        latency: BTreeMap::new(),
    }
}

#[test]
fn a_stored_value_is_held_to_a_hundredth() {
    let stored = bench("s", 10);
    close(stored.sets[0].groundedness_auroc().unwrap(), 0.9);
    for (wrong, is_held) in [(8, true), (10, true), (12, false), (30, false)] {
        let result = compared(&bench("s", wrong), &stored);
        assert_eq!(result.set_count, 1);
        assert_eq!(result.fallen.is_empty(), is_held, "{wrong}: {result:?}");
    }
    let fallen = compared(&bench("s", 12), &stored).fallen;
    assert_eq!(
        fallen,
        ["`s`: AUROC of groundedness is 0.8800, more than 0.01 below the stored 0.9000"]
    );
    let other = compared(&bench("t", 10), &stored);
    assert_eq!((other.set_count, other.left_out), (0, vec!["s".to_owned()]));
    let mut changed = bench("s", 10);
    changed.sets[0].file.sha256 = "1".repeat(64);
    assert_eq!(compared(&changed, &stored).fallen.len(), 1);
}

#[test]
fn a_bench_is_written_and_read_and_its_block_is_made_from_it_alone() {
    let bench = bench("s", 10);
    let text = written::write(&bench).unwrap();
    assert_eq!(written::read("b.json", &text).unwrap(), bench);
    let newer = text.replace("\"schema_version\": 1", "\"schema_version\": 2");
    let refused = written::read("b.json", &newer).unwrap_err().to_string();
    assert_eq!(
        refused,
        "b.json: schema_version is `2`; this program reads 1"
    );

    let page = format!("a\n{}\nold\n{}\nb\n", block::START, block::END);
    let new = block::replaced(&page, &bench).unwrap();
    assert_eq!(block::replaced(&new, &bench).unwrap(), new);
    assert!(new.starts_with("a\n") && new.ends_with("\nb\n") && !new.contains("old"));
    assert!(
        new.contains("| `s` | 100 | 0.0 % | 0 | - | - | 0 | - | - | 0.900 ("),
        "{new}"
    );
    for wrong in [
        "no bounds".to_owned(),
        page.replace(block::END, ""),
        format!("{page}{}", block::START),
        format!("{}{page}", block::END),
    ] {
        assert!(block::replaced(&wrong, &bench).is_err(), "{wrong}");
    }
}
