//! Classification against scikit-learn and by hand.

use super::close;
use super::vectors::{A, B, fallback, g400, s2000, tally};
use crate::stats::Absent;
use crate::stats::classification::{Binary, MultiClass};
use crate::stats::tally::Tally;

#[test]
fn ten_rows_at_a_half() {
    let counts = Binary::at(&tally(&A), 0.5);
    assert_eq!(counts.count(), 10);
    for metric in [
        counts.accuracy(),
        counts.precision(),
        counts.recall(),
        counts.f1(),
        counts.balanced_accuracy(),
    ] {
        close(metric.expect("both classes"), 0.8);
    }
    close(counts.kappa().expect("both classes"), 0.6);
    close(counts.mcc().expect("both classes"), 0.6);
}

#[test]
fn a_threshold_is_closed_where_rows_lie_on_it() {
    let counts = Binary::at(&tally(&B), 0.5);
    close(counts.accuracy().expect("rows"), 0.75);
    close(counts.precision().expect("rows"), 2.0 / 3.0);
    close(counts.recall().expect("rows"), 1.0);
    close(counts.f1().expect("rows"), 0.8);
    close(counts.kappa().expect("rows"), 0.5);
    close(counts.mcc().expect("rows"), 0.577_350_269_2);
}

#[test]
fn long_vectors_at_a_half() {
    close(
        Binary::at(&tally(&g400()), 0.5).accuracy().expect("rows"),
        0.7675,
    );
    close(
        Binary::at(&tally(&s2000()), 0.5).accuracy().expect("rows"),
        0.891,
    );
}

#[test]
fn a_cascade_may_beat_the_judge_that_it_falls_back_to() {
    let rows = s2000();
    let answers = fallback(&rows, 0.05);
    let mut cascade = Binary::default();
    for ((p, y), answer) in rows.iter().zip(answers) {
        let given = if 0.83 <= *p {
            true
        } else if *p <= 0.17 {
            false
        } else {
            answer
        };
        match (given, *y) {
            (true, true) => cascade.true_positives += 1,
            (true, false) => cascade.false_positives += 1,
            (false, false) => cascade.true_negatives += 1,
            (false, true) => cascade.false_negatives += 1,
        }
    }
    close(cascade.accuracy().expect("rows"), 0.961);
    super::close_to(8, cascade.precision().expect("rows"), 0.960_079_84);
    close(cascade.recall().expect("rows"), 0.962);
    super::close_to(8, cascade.f1().expect("rows"), 0.961_038_96);
}

#[test]
fn what_is_not_defined_has_a_reason() {
    let none = Binary::default();
    for metric in [
        none.accuracy(),
        none.balanced_accuracy(),
        none.precision(),
        none.recall(),
        none.f1(),
        none.mcc(),
        none.kappa(),
    ] {
        assert_eq!(metric, Err(Absent::Empty));
    }
    let negative = Binary {
        true_negatives: 3,
        ..Binary::default()
    };
    assert_eq!(negative.accuracy(), Ok(1.0));
    assert_eq!(negative.precision(), Err(Absent::ZeroDenominator));
    assert_eq!(negative.recall(), Err(Absent::NoPositives));
    assert_eq!(negative.f1(), Err(Absent::ZeroDenominator));
    assert_eq!(negative.mcc(), Err(Absent::SingleClass));
    assert_eq!(negative.balanced_accuracy(), Err(Absent::SingleClass));
    assert_eq!(negative.kappa(), Err(Absent::ZeroDenominator));
    let never = Binary {
        true_negatives: 3,
        false_negatives: 1,
        ..Binary::default()
    };
    assert_eq!(never.mcc(), Err(Absent::ZeroDenominator));
    assert_eq!(never.f1(), Ok(0.0));
    assert_eq!(Binary::at(&Tally::default(), 0.5), none);
}

#[test]
fn many_classes() {
    // Labelled 0 0 0 1 1 2 2 2 2 2, given 0 0 1 1 1 2 2 2 0 3; class 3 has no rows.
    let mut classes = MultiClass::new(4);
    for (actual, given, count) in [
        (0, 0, 2),
        (0, 1, 1),
        (1, 1, 2),
        (2, 2, 3),
        (2, 0, 1),
        (2, 3, 1),
    ] {
        classes.add(actual, given, count);
    }
    assert_eq!(
        (classes.total(), classes.right(), classes.count(2, 0)),
        (10, 7, 1)
    );
    close(classes.accuracy().expect("rows"), 0.7);
    close(
        classes.balanced_accuracy().expect("rows"),
        (2.0 / 3.0 + 1.0 + 0.6) / 3.0,
    );
    close(
        classes.macro_f1().expect("rows"),
        (2.0 / 3.0 + 0.8 + 0.75) / 3.0,
    );
    // c s - sum t g = 70 - 30; s^2 - sum g^2 = 72; s^2 - sum t^2 = 62.
    close(
        classes.mcc().expect("rows"),
        40.0 / (72.0_f64 * 62.0).sqrt(),
    );
    let second = classes.class(1);
    assert_eq!((second.support, second.given, second.right), (2, 3, 2));
    close(second.precision().expect("given"), 2.0 / 3.0);
    assert_eq!(classes.class(3).recall(), Err(Absent::NoPositives));
    assert_eq!(classes.class(3).precision(), Ok(0.0));
}

#[test]
fn two_classes_of_many_are_the_yes_or_no_case() {
    let counts = Binary::at(&tally(&B), 0.6);
    let classes = counts.as_classes();
    assert_eq!(classes.accuracy(), counts.accuracy());
    assert_eq!(classes.balanced_accuracy(), counts.balanced_accuracy());
    assert_eq!(classes.class(1).precision(), counts.precision());
    assert_eq!(classes.class(1).f1(), counts.f1());
    let Binary {
        true_positives: tp,
        false_positives: fp,
        true_negatives: tn,
        false_negatives: fneg,
    } = counts;
    let root = (((tp + fp) * (tp + fneg) * (tn + fp) * (tn + fneg)) as f64).sqrt();
    close(
        counts.mcc().expect("both"),
        (tp * tn) as f64 / root - (fp * fneg) as f64 / root,
    );
    assert_eq!(MultiClass::new(2).mcc(), Err(Absent::Empty));
    assert_eq!(MultiClass::new(2).macro_f1(), Err(Absent::Empty));
}
