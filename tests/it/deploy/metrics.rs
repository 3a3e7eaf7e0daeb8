//! Every metric, label and value that an expression names is one that the program has.

use std::collections::{BTreeMap, BTreeSet};

use judge_cascade::telemetry::metrics::catalogue::{LabelValues, MetricInfo, MetricKind};
use regex::Regex;
use serde_json::Value;

use super::promql::{self, Asked, Matcher};
use super::{File, files};
use crate::reference::{NO_METRICS, catalogue, is_series_of};

/// Labels that Prometheus gives to every series of a target.
const OF_TARGETS: [&str; 8] = [
    "job",
    "instance",
    "pod",
    "namespace",
    "container",
    "service",
    "cluster",
    "endpoint",
];

/// What a name can stand for.
struct Known {
    catalogue: Vec<MetricInfo>,
    /// Recording rules with their expressions.
    recorded: BTreeMap<String, String>,
    /// Groups of rules, whose names look like those of metrics.
    groups: BTreeSet<String>,
}

/// A text with expressions.
struct Unit {
    place: String,
    text: String,
    /// Whether all of it is an expression; in a text for people the three series of a histogram may be told as one.
    is_expression: bool,
}

impl Known {
    fn new(files: &[File]) -> Self {
        let rules = || {
            files
                .iter()
                .filter(|file| file.ends_with(&[".yaml", ".yml"]))
        };
        let lines = rules().flat_map(|file| file.text.lines());
        let groups = lines.filter_map(|line| line.trim().strip_prefix("- name: judge_cascade_"));
        Self {
            catalogue: catalogue(),
            recorded: rules().flat_map(|file| recorded(&file.text)).collect(),
            groups: groups.map(|name| format!("judge_cascade_{name}")).collect(),
        }
    }

    /// The metrics that a series is made of; none if there is no such series.
    fn metrics(&self, name: &str, is_expression: bool) -> Vec<&MetricInfo> {
        let mut found: Vec<&MetricInfo> = Vec::new();
        let mut open = vec![name.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(name) = open.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            if let Some(expression) = self.recorded.get(&name) {
                open.extend(
                    promql::read(expression)
                        .selectors
                        .into_iter()
                        .map(|selector| selector.metric),
                );
            }
            found.extend(self.catalogue.iter().filter(|metric| {
                is_series_of(metric, &name) || !is_expression && metric.name == name
            }));
        }
        found
    }

    fn exists(&self, name: &str, is_expression: bool) -> bool {
        // In a text, `judge_cascade_*` is many.
        let is_no_metric =
            name.ends_with('_') || self.groups.contains(name) || NO_METRICS.contains(&name);
        if !is_expression && is_no_metric {
            return true;
        }
        self.recorded.contains_key(name) || !self.metrics(name, is_expression).is_empty()
    }

    /// Whether series of a name can have a label.
    fn has_label(&self, name: &str, label: &str) -> bool {
        if OF_TARGETS.contains(&label) {
            return true;
        }
        let level = name.split_once(':').map(|(level, _)| level);
        let is_kept = match level {
            // `instance` keeps every label; the thresholds have what users give them.
            Some("instance") | None => true,
            Some(level) => level.split('_').any(|kept| kept == label),
        };
        let metrics = self.metrics(name, false);
        is_kept
            && metrics.iter().any(|metric| {
                let is_bucket = label == "le" && metric.kind == MetricKind::Histogram;
                is_bucket || metric.labels.iter().any(|known| known.name == label)
            })
    }

    /// What is wrong with a condition, if anything.
    fn wrong_value(&self, name: &str, matcher: &Matcher) -> Option<String> {
        let Matcher {
            label,
            operator,
            value,
        } = matcher;
        // A variable of a dashboard, or the absence of the label.
        if value.contains('$') || value.is_empty() {
            return None;
        }
        let metrics = self.metrics(name, false);
        let labels = metrics.iter().flat_map(|metric| &metric.labels);
        let mut values = Vec::new();
        for known in labels.filter(|known| known.name == label) {
            match &known.values {
                LabelValues::Closed(closed) => values.extend(closed),
                LabelValues::Configured | LabelValues::Ids => return None,
            }
        }
        if values.is_empty() {
            return None;
        }
        let is_met = |alternative: &str| {
            let pattern = if operator.contains('~') {
                format!("^(?:{alternative})$")
            } else {
                format!("^{}$", regex::escape(alternative))
            };
            Regex::new(&pattern)
                .is_ok_and(|pattern| values.iter().any(|known| pattern.is_match(known)))
        };
        let alternatives: Vec<&str> = if operator.contains('~') && !value.contains('(') {
            value.split('|').collect()
        } else {
            vec![value]
        };
        let unmet = alternatives
            .into_iter()
            .find(|alternative| !is_met(alternative))?;
        Some(format!("`{name}`: `{label}` is never `{unmet}`"))
    }

    fn problems(&self, text: &str, is_expression: bool) -> Vec<String> {
        let mut problems = Vec::new();
        let Asked {
            selectors,
            groupings,
        } = promql::read(text);
        for selector in &selectors {
            let name = &selector.metric;
            if !self.exists(name, is_expression) {
                problems.push(format!("there is no `{name}`"));
                continue;
            }
            for matcher in &selector.matchers {
                if !self.has_label(name, &matcher.label) {
                    problems.push(format!("`{name}` has no label `{}`", matcher.label));
                }
                problems.extend(self.wrong_value(name, matcher));
            }
        }
        for grouping in groupings
            .iter()
            .filter(|grouping| !grouping.metrics.is_empty())
        {
            for label in &grouping.labels {
                let is_known = grouping
                    .metrics
                    .iter()
                    .any(|name| self.has_label(name, label));
                if !is_known {
                    problems.push(format!(
                        "none of {} has the label `{label}`",
                        grouping.metrics.join(", ")
                    ));
                }
            }
        }
        problems
    }
}

/// The recording rules of a file of rules.
fn recorded(text: &str) -> Vec<(String, String)> {
    let mut rules: Vec<(String, String)> = Vec::new();
    for (key, value) in rule_values(text) {
        match key {
            "record" => rules.push((value, String::new())),
            "alert" => rules.push((String::new(), String::new())),
            _ => {
                if let Some((_, expression)) = rules.last_mut() {
                    *expression = value;
                }
            }
        }
    }
    rules.retain(|(name, _)| !name.is_empty());
    rules
}

/// The values of `record`, `alert` and `expr` in a file of rules, in their order; a block of lines is one value.
fn rule_values(text: &str) -> Vec<(&'static str, String)> {
    let mut values = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for (place, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let item = line.trim_start();
        let item = item.strip_prefix("- ").unwrap_or(item);
        let pair = item.split_once(':').map(|(key, value)| (key, value.trim()));
        let known = ["record", "alert", "expr"].into_iter();
        let Some((key, value)) =
            pair.and_then(|(key, value)| Some((known.clone().find(|known| *known == key)?, value)))
        else {
            continue;
        };
        let value = if value.starts_with(['|', '>']) {
            let is_inside = |line: &&&str| {
                line.trim().is_empty() || indent < line.len() - line.trim_start().len()
            };
            let block = lines[place + 1..].iter().take_while(is_inside);
            block.copied().collect::<Vec<_>>().join("\n")
        } else {
            unquoted(value).to_owned()
        };
        values.push((key, value));
    }
    values
}

fn unquoted(value: &str) -> &str {
    let inside = |quote| {
        value
            .strip_prefix(quote)
            .and_then(|value| value.strip_suffix(quote))
    };
    inside('\'').or_else(|| inside('"')).unwrap_or(value)
}

/// The texts of a file that may hold expressions.
fn units(file: &File) -> Vec<Unit> {
    let mut units = Vec::new();
    let place = |detail: &str| format!("{}: {detail}", file.name);
    if file.ends_with(&[".json"]) {
        let value: Value = serde_json::from_str(&file.text).unwrap();
        strings(&value, "", &mut |key, text| {
            units.push(Unit {
                place: place(key),
                text: text.to_owned(),
                is_expression: key == "expr",
            });
        });
        return units;
    }
    if file.ends_with(&[".yaml", ".yml"]) {
        for (key, text) in rule_values(&file.text) {
            if key == "expr" {
                units.push(Unit {
                    place: place(&text),
                    text,
                    is_expression: true,
                });
            }
        }
    }
    for (number, line) in file.text.lines().enumerate() {
        // In a table of Markdown the sign between cells is written so.
        let text = line.replace("\\|", "|");
        units.push(Unit {
            place: format!("{}:{}", file.name, number + 1),
            text,
            is_expression: false,
        });
    }
    units
}

fn strings(value: &Value, key: &str, take: &mut dyn FnMut(&str, &str)) {
    match value {
        Value::String(text) => take(key, text),
        Value::Array(values) => values.iter().for_each(|value| strings(value, key, take)),
        Value::Object(values) => values
            .iter()
            .for_each(|(key, value)| strings(value, key, take)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[test]
fn every_metric_label_and_value_exists() {
    let mut files = files("deploy");
    let known = Known::new(&files);
    files.extend(super::files("docs"));
    files.extend(super::files("clients"));
    files.extend(
        [
            "README.md",
            "ARCHITECTURE.md",
            "CHANGELOG.md",
            "CONTRIBUTING.md",
        ]
        .map(super::file),
    );
    let mut wrong = BTreeSet::new();
    let mut count = 0;
    for file in files
        .iter()
        .filter(|file| file.ends_with(&[".yaml", ".yml", ".json", ".md"]))
    {
        for unit in units(file) {
            count += promql::read(&unit.text).selectors.len();
            for problem in known.problems(&unit.text, unit.is_expression) {
                wrong.insert(format!("{}: {problem}", unit.place));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", Vec::from_iter(wrong).join("\n"));
    assert!(50 < count, "only {count} uses of metrics");
}

/// Recording rules whose level is what is kept of the metrics below.
#[test]
fn the_level_of_every_recording_rule_names_labels_of_its_metrics() {
    let known = Known::new(&files("deploy"));
    assert!(30 < known.recorded.len(), "{:?}", known.recorded);
    for name in known.recorded.keys() {
        let Some((level, _)) = name.split_once(':') else {
            continue;
        };
        if level == "judge_cascade" {
            continue;
        }
        for label in level.split('_') {
            assert!(
                known.has_label(name, label),
                "`{name}` cannot have the label `{label}`"
            );
        }
    }
}

const RULES: &str = "\
groups:
  - name: judge_cascade_recording
    rules:
      - record: job_route:judge_cascade_x:rate5m
        expr: |-
          sum by (job, route) (
            rate(judge_cascade_diagnoses_total[5m])
          )
      # - record: job:judge_cascade_no:rate5m
      - record: judge_cascade:limit:threshold
        expr: '10'
";

fn known() -> Known {
    let text = RULES.to_owned();
    Known::new(&[File {
        name: "deploy/rules.yaml".to_owned(),
        text,
    }])
}

#[test]
fn what_exists_is_not_complained_of() {
    let known = known();
    assert_eq!(known.recorded.len(), 2);
    for right in [
        "rate(judge_cascade_diagnoses_total{route=\"auto\", profile=\"any\", job=~\".+\"}[5m])",
        "job_route:judge_cascade_x:rate5m{route=~\"auto|fallback\"} > judge_cascade:limit:threshold{job=\"\"}",
        "sum by (le, route) (judge_cascade_diagnose_duration_seconds_bucket{route!~\"auto|fall.*\"})",
        "sum(judge_cascade_judge_model_info{answered=\"gpt\"}) by (answered)",
        "judge_cascade_actions_total{action=~\"$action\"}",
    ] {
        assert_eq!(known.problems(right, true), [""; 0], "{right}");
    }
    assert!(
        known
            .problems("judge_cascade_diagnose_duration_seconds", false)
            .is_empty()
    );
}

#[test]
fn what_does_not_exist_is_found() {
    let known = known();
    for (wrong, problem) in [
        (
            "judge_cascade_diagnosis_total",
            "there is no `judge_cascade_diagnosis_total`",
        ),
        (
            "judge_cascade_diagnose_duration_seconds",
            "there is no `judge_cascade_diagnose_duration_seconds`",
        ),
        (
            "judge_cascade_diagnoses_total_bucket",
            "there is no `judge_cascade_diagnoses_total_bucket`",
        ),
        (
            "job:judge_cascade_no:rate5m",
            "there is no `job:judge_cascade_no:rate5m`",
        ),
        (
            "judge_cascade_diagnoses_total{role=\"atomic\"}",
            "`judge_cascade_diagnoses_total` has no label `role`",
        ),
        (
            "judge_cascade_overhead_seconds_sum{le=\"1\", x=\"1\"}",
            "`judge_cascade_overhead_seconds_sum` has no label `x`",
        ),
        (
            "judge_cascade_diagnoses_total{route=\"automatic\"}",
            "`judge_cascade_diagnoses_total`: `route` is never `automatic`",
        ),
        (
            "judge_cascade_diagnoses_total{route=~\"auto|fall\"}",
            "`judge_cascade_diagnoses_total`: `route` is never `fall`",
        ),
        (
            "judge_cascade_diagnoses_total{route!~\"Auto.*\"}",
            "`judge_cascade_diagnoses_total`: `route` is never `Auto.*`",
        ),
        (
            "job_route:judge_cascade_x:rate5m{route=\"x\"}",
            "`job_route:judge_cascade_x:rate5m`: `route` is never `x`",
        ),
        (
            "job_route:judge_cascade_x:rate5m{profile=\"x\"}",
            "`job_route:judge_cascade_x:rate5m` has no label `profile`",
        ),
        (
            "sum by (judge) (judge_cascade_diagnoses_total)",
            "none of judge_cascade_diagnoses_total has the label `judge`",
        ),
        (
            "sum(judge_cascade_diagnoses_total) by (judge)",
            "none of judge_cascade_diagnoses_total has the label `judge`",
        ),
    ] {
        assert_eq!(known.problems(wrong, true), [problem], "{wrong}");
    }
}
