//! The metrics that can be gated are those of a report, and each is explained.

use judge_cascade::eval::gate::metric;
use serde_json::Value;

use super::REPORT;

/// What the reference shows as patterns is all that a rule can name, each explained.
#[test]
fn every_metric_is_of_a_pattern_that_is_explained() {
    let patterns = metric::patterns();
    for metric in metric::all() {
        let (_, below) = metric.path.split_once('.').unwrap();
        let parts: Vec<_> = below.split('.').collect();
        let wanted = match parts.as_slice() {
            ["diagnosis", "classes", _, rest] => format!("MODE.diagnosis.classes.DIAGNOSIS.{rest}"),
            ["components", _, _, rest @ ..] => {
                format!("MODE.components.SIDE.DIMENSION.{}", rest.join("."))
            }
            _ => format!("MODE.{below}"),
        };
        let found = patterns.iter().filter(|pattern| pattern.path == wanted);
        assert_eq!(found.count(), 1, "{wanted}");
    }
    for pattern in patterns {
        assert!(
            pattern.meaning.ends_with('.'),
            "{}: {}",
            pattern.path,
            pattern.meaning
        );
    }
}

/// A name in the table of metrics that no report has would gate nothing.
#[test]
fn every_metric_is_one_of_a_full_report() {
    let report: Value = serde_json::from_str(&REPORT).unwrap();
    let mut found = 0;
    for metric in metric::all() {
        let keys: Vec<_> = metric.path.split('.').collect();
        let mut value = &report["modes"];
        for (place, key) in keys.iter().enumerate() {
            let next = value.get(key);
            // Whole parts may be absent: a class, a dimension, what only one mode has.
            let is_part = |name: &str| keys[..place].last() == Some(&name);
            let is_optional = ["band", "components", "at_policy"].contains(key)
                || ["classes", "retrieval", "generation"]
                    .into_iter()
                    .any(is_part);
            match next {
                Some(next) => value = next,
                None if is_optional => break,
                None => panic!("{} is in no report", metric.path),
            }
            if place + 1 == keys.len() {
                assert!(
                    value.is_number() || value["value"].is_number() || value["absent"].is_string()
                );
                found += 1;
            }
        }
    }
    // Both modes of components have seven dimensions or none, and eight classes.
    assert!(found > 200, "found only {found} metrics");
}
