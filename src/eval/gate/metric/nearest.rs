//! What to write in place of a name that is no metric.

use super::{Metric, all};

/// How many names are proposed.
const MAX_PROPOSED: usize = 3;
/// A name with fewer changes is a slip of the pen.
const MAX_SLIPS: usize = 3;
/// How much alike the last parts of two names are at least, from 0 to 1.
const LEAST_ALIKE: f64 = 0.6;

/// Why a name is no metric, and which one may be meant.
pub fn why_unknown(name: &str) -> String {
    if let Some(rate) = rate_of_count(name) {
        let instead = rate.map_or_else(String::new, |rate| format!(": `{rate}`"));
        return format!(
            "is a count; over the same rows a rate says the same, and can be gated{instead}"
        );
    }
    let proposed = proposed(name);
    let proposed: Vec<_> = proposed.iter().map(|path| format!("`{path}`")).collect();
    match proposed.as_slice() {
        [] => "is no metric that can be gated".to_owned(),
        [one] => format!("is no metric that can be gated; did you mean {one}"),
        [first @ .., last] => format!(
            "is no metric that can be gated; did you mean {} or {last}",
            first.join(", ")
        ),
    }
}

/// The nearest names: that of which it names a part, of one slip that one, else those whose last part is most alike.
fn proposed(name: &str) -> Vec<String> {
    let last = |path: &str| path.rsplit('.').next().unwrap_or(path).to_owned();
    let wanted = last(name);
    let metrics = all();
    let is_within = |metric: &&Metric| {
        let rest = name.strip_prefix(&metric.path);
        rest.is_some_and(|rest| rest.starts_with('.'))
    };
    if let Some(whole) = metrics.iter().find(is_within) {
        return vec![whole.path.clone()];
    }
    let slips = |metric: &Metric| strsim::damerau_levenshtein(name, &metric.path);
    if let Some(nearest) = metrics.iter().min_by_key(|metric| slips(metric))
        && slips(nearest) <= MAX_SLIPS
    {
        return vec![nearest.path.clone()];
    }
    let mut alike: Vec<_> = metrics
        .iter()
        .map(|metric| {
            (
                metric,
                strsim::normalized_damerau_levenshtein(&wanted, &last(&metric.path)),
            )
        })
        .filter(|(_, alike)| LEAST_ALIKE <= *alike)
        .map(|(metric, alike)| (metric, alike, slips(metric)))
        .collect();
    alike.sort_by(|(_, a, a_slips), (_, b, b_slips)| b.total_cmp(a).then(a_slips.cmp(b_slips)));
    let best = alike.first().map(|(_, alike, _)| *alike);
    let best = alike.iter().filter(|(_, alike, _)| Some(*alike) == best);
    let best = best.map(|(metric, ..)| metric.path.clone());
    best.take(MAX_PROPOSED).collect()
}

/// Whether a name is one of a count in a report, and the rate that says the same if there is one.
fn rate_of_count(name: &str) -> Option<Option<String>> {
    let mut parts = name.split('.');
    let mode = parts.next()?;
    let parts: Vec<_> = parts.collect();
    let rate = match *parts.as_slice() {
        ["failed_count"] | ["failures", _] => "failure_rate",
        ["routes", "auto"] => "coverage",
        ["routes", _] | ["fallback_unavailable", _] => "fallback_rate",
        [.., last] if last.ends_with("_count") || ["support", "count"].contains(&last) => {
            return Some(None);
        }
        _ => return None,
    };
    Some(Some(format!("{mode}.{rate}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_and_a_half_remembered_name_are_understood() {
        for (name, expected) in [
            ("cascade.covrage", "did you mean `cascade.coverage`"),
            ("cascade.coverage.value", "did you mean `cascade.coverage`"),
            (
                "cascade.components.generation.grondedness.auroc",
                "did you mean `cascade.components.generation.groundedness.auroc`",
            ),
            (
                "cascade.overall_acuracy",
                "did you mean `cascade.diagnosis.overall_accuracy`",
            ),
            (
                "cascade.groundedness.auroc",
                "did you mean `cascade.components.generation.groundedness.auroc`",
            ),
            ("cascade.recal", "`cascade.diagnosis.failing.recall`"),
            (
                "cascade.failed_count",
                "a rate says the same, and can be gated: `cascade.failure_rate`",
            ),
            ("cascade.routes.auto", "gated: `cascade.coverage`"),
            ("cascade.failures.timeout", "gated: `cascade.failure_rate`"),
            (
                "cascade.diagnosis.scored_count",
                "is a count; over the same rows",
            ),
        ] {
            let why = why_unknown(name);
            assert!(why.contains(expected), "{name} {why}");
        }
        assert_eq!(why_unknown("xyz"), "is no metric that can be gated");
        assert_eq!(why_unknown(""), "is no metric that can be gated");
    }
}
