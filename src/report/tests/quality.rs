//! The results of a mode of the sample, counted from its rows.

use std::collections::BTreeMap;

use super::sample::{failures, unavailable};
use crate::domain::Vocabulary as _;
use crate::domain::diagnosis::Diagnosis;
use crate::domain::dimension::Dimension;
use crate::domain::outcome::Route;
use crate::report::html::{PlotEnd, PlotRow};
use crate::report::model::quality::{
    BandReport, Bin, BinaryReport, Calibration, ClassReport, ComponentReport, Components,
    ConfidenceReport, Confusion, CurvePoint, DiagnosisReport, Murphy, Selective, SelectivePoint,
    Sides, TwoSided,
};
use crate::report::model::spent::{CostReport, Latency, LatencyReport, LegCost};
use crate::report::model::{Measure, Mode, ModeReport};
use crate::stats::Absent;

pub(crate) fn float(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

fn count<T>(items: impl IntoIterator<Item = T>) -> u64 {
    items.into_iter().count() as u64
}

fn share(part: u64, whole: u64) -> Measure {
    if whole == 0 {
        return Measure::of(Err(Absent::Empty));
    }
    let value = float(part) / float(whole);
    let half = (1.96 / float(whole).sqrt()) * (value * (1.0 - value)).sqrt();
    Measure::of(Ok(value)).within(Some(((value - half).max(0.0), (value + half).min(1.0))))
}

fn measure(value: f64) -> Measure {
    Measure::of(Ok(value))
}

pub(crate) fn mode(rows: &[PlotRow], mode: Mode) -> ModeReport {
    let all: Vec<_> = rows
        .iter()
        .map(|row| (row.expected, &row.ends[&mode]))
        .collect();
    let total = count(&all);
    let routes = Route::ALL
        .iter()
        .map(|route| {
            (
                *route,
                count(all.iter().filter(|(_, end)| end.route == Some(*route))),
            )
        })
        .collect::<BTreeMap<_, _>>();
    let failed = count(all.iter().filter(|(_, end)| end.diagnosis.is_none()));
    ModeReport {
        row_count: total,
        failed_count: failed,
        not_assessable_count: 0,
        failures: if failed == 0 {
            BTreeMap::new()
        } else {
            failures(failed)
        },
        failure_rate: share(failed, total),
        coverage: share(routes[&Route::Auto], total),
        fallback_rate: share(total - routes[&Route::Auto], total),
        fallback_unavailable: unavailable(routes[&Route::FallbackUnavailable]),
        routes,
        diagnosis: diagnosis(&all),
        components: (mode != Mode::BaselineOnly).then(|| components(rows)),
        band: (mode == Mode::Cascade).then(|| BandReport {
            labelled_count: 12,
            answered_count: 11,
            error: share(2, 11),
            decided_error: share(6, 46),
        }),
        latency: LatencyReport {
            all: latency(total),
            routes: BTreeMap::from([(Route::Auto, latency(total))]),
        },
        cost: cost(&all, mode),
    }
}

fn latency(count: u64) -> Latency {
    Latency {
        count,
        mean_ms: measure(123.4),
        p50_ms: measure(41.0),
        p95_ms: measure(812.0),
        p99_ms: measure(902.0),
        max_ms: measure(1910.0),
    }
}

fn cost(all: &[(Option<Diagnosis>, &PlotEnd)], mode: Mode) -> CostReport {
    let total: i64 = all.iter().map(|(_, end)| end.nano_usd.unwrap()).sum();
    let leg = LegCost {
        failed_call_count: 1,
        row_count: count(all),
        unknown_count: 0,
        nano_usd: Some(total),
        known_nano_usd: total,
        input_token_count: 12_345,
        output_token_count: 678,
        untold_count: 0,
    };
    let unknown = LegCost {
        unknown_count: 2,
        nano_usd: None,
        ..leg.clone()
    };
    let is_known = mode != Mode::BaselineOnly;
    CostReport {
        row_count: count(all),
        unknown_count: if is_known { 0 } else { 2 },
        total_nano_usd: is_known.then_some(total),
        first: if is_known { leg } else { unknown },
        second: LegCost::default(),
        per_row_nano_usd: if is_known {
            measure(total as f64 / float(count(all)))
        } else {
            Measure::of(Err(Absent::Unknown))
        },
    }
}

fn diagnosis(all: &[(Option<Diagnosis>, &PlotEnd)]) -> DiagnosisReport {
    let labelled: Vec<_> = all
        .iter()
        .filter_map(|(expected, end)| expected.map(|expected| (expected, *end)))
        .collect();
    let scored: Vec<_> = labelled
        .iter()
        .filter(|(_, end)| end.diagnosis.is_some())
        .collect();
    let right = count(
        scored
            .iter()
            .filter(|(expected, end)| end.diagnosis == Some(*expected)),
    );
    let labels: Vec<_> = Diagnosis::ALL[..8].to_vec();
    let given = |expected: Diagnosis, given: Option<Diagnosis>| {
        count(
            labelled
                .iter()
                .filter(|(label, end)| *label == expected && end.diagnosis == given),
        )
    };
    let class = |class: Diagnosis| {
        let support = count(scored.iter().filter(|(label, _)| *label == class));
        let predicted = count(
            scored
                .iter()
                .filter(|(_, end)| end.diagnosis == Some(class)),
        );
        let both = given(class, Some(class));
        ClassReport {
            support,
            predicted_count: predicted,
            true_positive_count: both,
            precision: share(both, predicted),
            recall: share(both, support),
            f1: share(2 * both, support + predicted),
        }
    };
    DiagnosisReport {
        scored_count: count(&scored),
        failed_count: count(&labelled) - count(&scored),
        unlabelled_count: count(all) - count(&labelled),
        accuracy: share(right, count(&scored)),
        overall_accuracy: share(right, count(&labelled)),
        balanced_accuracy: measure(0.71),
        mcc: measure(0.62),
        macro_f1: measure(0.69),
        classes: labels.iter().map(|label| (*label, class(*label))).collect(),
        confusion: Confusion {
            counts: labels
                .iter()
                .map(|expected| {
                    labels
                        .iter()
                        .map(|label| given(*expected, Some(*label)))
                        .collect()
                })
                .collect(),
            failed: labels
                .iter()
                .map(|expected| given(*expected, None))
                .collect(),
            labels,
        },
        failing: binary(),
        false_pass: share(2, 17),
        false_fail: Measure::of(Err(Absent::Empty)),
        confidence: confidence(&labelled),
    }
}

fn binary() -> BinaryReport {
    BinaryReport {
        true_positive_count: 30,
        false_positive_count: 4,
        true_negative_count: 15,
        false_negative_count: 3,
        accuracy: share(45, 52),
        balanced_accuracy: measure(0.84),
        precision: share(30, 34),
        recall: share(30, 33),
        f1: measure(0.895),
        mcc: Measure::of(Err(Absent::ZeroDenominator)),
    }
}

fn confidence(labelled: &[(Diagnosis, &PlotEnd)]) -> ConfidenceReport {
    let pairs: Vec<_> = labelled
        .iter()
        .filter_map(|(expected, end)| Some((end.confidence?, end.diagnosis == Some(*expected))))
        .collect();
    ConfidenceReport {
        scored_count: count(&pairs),
        without_confidence_count: count(labelled) - count(&pairs),
        calibration: calibration(&pairs),
        selective: selective(&pairs, count(labelled)),
    }
}

fn calibration(pairs: &[(f64, bool)]) -> Calibration {
    let bins = (0..10).map(|place| {
        let (low, high) = (f64::from(place) / 10.0, f64::from(place + 1) / 10.0);
        let inside: Vec<_> = pairs
            .iter()
            .filter(|(p, _)| (p * 10.0).floor().min(9.0) as i32 == place)
            .collect();
        let sum: f64 = inside.iter().map(|(p, _)| p).sum();
        Bin {
            low,
            high,
            count: count(&inside),
            mean: if inside.is_empty() {
                Measure::of(Err(Absent::Empty))
            } else {
                measure(sum / float(count(&inside)))
            },
            rate: share(
                count(inside.iter().filter(|(_, truth)| *truth)),
                count(&inside),
            ),
        }
    });
    Calibration {
        ece: measure(0.041),
        ece_equal_mass: measure(0.039),
        ece_noise_floor: Some(measure(0.037)),
        mce: measure(0.2),
        mce_of_ten: Measure::of(Err(Absent::Empty)),
        rmsce: measure(0.06),
        reliability: bins.collect(),
    }
}

fn selective(pairs: &[(f64, bool)], row_count: u64) -> Selective {
    let at = |threshold: f64| {
        let accepted = count(pairs.iter().filter(|(c, _)| threshold <= *c));
        let wrong = count(pairs.iter().filter(|(c, right)| threshold <= *c && !right));
        (accepted, wrong)
    };
    let mut distinct: Vec<f64> = pairs.iter().map(|(c, _)| *c).collect();
    distinct.sort_by(|one, other| other.total_cmp(one));
    distinct.dedup_by(|one, other| one.to_bits() == other.to_bits());
    Selective {
        aurc: measure(0.081),
        e_aurc: measure(0.05),
        augrc: measure(0.07),
        row_count,
        thresholds: [0.5, 0.9, 1.0]
            .into_iter()
            .map(|threshold| {
                let (accepted, wrong) = at(threshold);
                SelectivePoint {
                    threshold,
                    accepted_count: accepted,
                    wrong_count: wrong,
                    coverage: share(accepted, row_count),
                    risk: share(wrong, accepted),
                }
            })
            .collect(),
        curve: distinct
            .into_iter()
            .map(|confidence| {
                let (accepted, wrong) = at(confidence);
                CurvePoint {
                    confidence,
                    coverage: float(accepted) / float(row_count),
                    risk: float(wrong) / float(accepted),
                }
            })
            .collect(),
    }
}

fn components(rows: &[PlotRow]) -> Components {
    let side = |dimensions: &[Dimension]| {
        dimensions
            .iter()
            .map(|dimension| (*dimension, component(rows, *dimension)))
            .collect()
    };
    Components {
        retrieval: side(&Dimension::RETRIEVAL),
        generation: side(&Dimension::GENERATION),
    }
}

fn component(rows: &[PlotRow], dimension: Dimension) -> ComponentReport {
    let pairs: Vec<_> = rows
        .iter()
        .flat_map(|row| &row.judgments)
        .filter(|(found, ..)| *found == dimension)
        .filter_map(|(_, probability, label)| Some((*probability, (*label)?)))
        .collect();
    let at_or_above = |t: f64| count(pairs.iter().filter(|(p, _)| t <= *p));
    let at_or_below = |t: f64| count(pairs.iter().filter(|(p, _)| *p <= t));
    let above_wrong = |t: f64| count(pairs.iter().filter(|(p, label)| t <= *p && !label));
    let below_wrong = |t: f64| count(pairs.iter().filter(|(p, label)| *p <= t && *label));
    let over =
        |count: &dyn Fn(f64) -> u64| (0..=100).map(|j| count(f64::from(j) / 100.0)).collect();
    let (fail_at, pass_at) = (0.2, 0.8);
    let (positive, negative) = (at_or_above(pass_at), at_or_below(fail_at));
    let wrong = above_wrong(pass_at) + below_wrong(fail_at);
    ComponentReport {
        scored_count: count(&pairs),
        not_applicable_count: 2,
        failed_count: 1,
        failures: failures(1),
        unlabelled_count: 7,
        positive_count: count(pairs.iter().filter(|(_, label)| *label)),
        decided: binary(),
        overall_accuracy: share(50, 59),
        brier: measure(0.11),
        murphy: Some(Murphy {
            reliability: 0.01,
            resolution: 0.12,
            uncertainty: 0.22,
            within_bin_variance: 0.001,
            within_bin_covariance: 0.002,
        }),
        log_loss: measure(0.36),
        auroc: if dimension == Dimension::Correctness {
            Measure::of(Err(Absent::SingleClass))
        } else {
            measure(0.93).within(Some((0.88, 0.98)))
        },
        average_precision: measure(0.94),
        calibration: calibration(&pairs),
        confidence_ece: measure(0.05),
        selective: selective(&pairs, count(&pairs)),
        at_policy: (dimension != Dimension::ContextConflict).then(|| TwoSided {
            fail_at,
            pass_at,
            positive_count: positive,
            positive_wrong_count: above_wrong(pass_at),
            negative_count: negative,
            negative_wrong_count: below_wrong(fail_at),
            uncertain_count: count(&pairs) - positive - negative,
            coverage: share(positive + negative, count(&pairs)),
            risk: share(wrong, positive + negative),
            positive_risk: share(above_wrong(pass_at), positive),
            negative_risk: share(below_wrong(fail_at), negative),
        }),
        sides: Some(Sides {
            at_or_above: over(&at_or_above),
            at_or_above_wrong: over(&above_wrong),
            at_or_below: over(&at_or_below),
            at_or_below_wrong: over(&below_wrong),
        }),
    }
}
