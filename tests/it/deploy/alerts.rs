//! Every alert says how bad it is, what it means and what to do, and every runbook is about an alert.

use std::collections::{BTreeMap, BTreeSet};

use super::{File, files};

const SEVERITIES: [&str; 3] = ["critical", "warning", "info"];

/// The keys of each alert of a file of rules with the first line of their values.
fn alerts(text: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut alerts: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut current = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix("- alert:") {
            current = Some(name.trim().to_owned());
            alerts.entry(name.trim().to_owned()).or_default();
        } else if line.starts_with("- ") {
            current = None;
        }
        let pair = line.split_once(':').map(|(key, value)| (key, value.trim()));
        if let (Some(name), Some((key, value))) = (&current, pair) {
            let keys = alerts.entry(name.clone()).or_default();
            keys.entry(key.to_owned())
                .or_insert_with(|| value.trim_matches(['"', '\'']).to_owned());
        }
    }
    alerts
}

/// The headings of a document below its title, with the anchors that a link to them has.
fn sections(text: &str) -> BTreeMap<String, String> {
    let headings = text.lines().filter(|line| line.starts_with("##"));
    let headings = headings.map(|line| line.trim_start_matches('#').trim());
    headings
        .map(|heading| (anchor(heading), heading.to_owned()))
        .collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn problems(alerts: &BTreeMap<String, BTreeMap<String, String>>, runbooks: &str) -> Vec<String> {
    let sections = sections(runbooks);
    let mut wrong = Vec::new();
    let mut used = BTreeSet::new();
    for (name, keys) in alerts {
        let get = |key: &str| keys.get(key).map_or("", String::as_str);
        for key in [
            "expr",
            "for",
            "severity",
            "summary",
            "description",
            "runbook_url",
        ] {
            if get(key).is_empty() {
                wrong.push(format!("{name}: has no `{key}`"));
            }
        }
        if !SEVERITIES.contains(&get("severity")) {
            wrong.push(format!("{name}: `{}` is no severity", get("severity")));
        }
        let target = get("runbook_url")
            .split_once("docs/runbooks.md#")
            .map(|(_, anchor)| anchor);
        match target.filter(|anchor| sections.contains_key(*anchor)) {
            Some(anchor) => {
                used.insert(anchor.to_owned());
                if anchor != name.to_lowercase() {
                    wrong.push(format!(
                        "{name}: its runbook is that of `{}`",
                        sections[anchor]
                    ));
                }
            }
            None => wrong.push(format!(
                "{name}: docs/runbooks.md has no section for `{}`",
                get("runbook_url")
            )),
        }
    }
    let unused = sections
        .iter()
        .filter(|(anchor, _)| !used.contains(*anchor));
    wrong.extend(
        unused.map(|(_, heading)| format!("docs/runbooks.md: there is no alert `{heading}`")),
    );
    wrong
}

#[test]
fn every_alert_is_complete_and_has_a_runbook() {
    let rules = files("deploy")
        .into_iter()
        .filter(|file| file.ends_with(&["/alerts.yaml"]));
    let alerts: BTreeMap<_, _> = rules.flat_map(|file| alerts(&file.text)).collect();
    assert!(10 <= alerts.len(), "only {} alerts", alerts.len());
    let runbooks = files("docs")
        .into_iter()
        .find(|file| file.name == "docs/runbooks.md");
    let wrong = problems(
        &alerts,
        &runbooks.map_or_else(String::new, |file| file.text),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every alert is shown to fire by the test of the rules.
#[test]
fn every_alert_is_tested() {
    let files = files("deploy");
    let text_of = |end: &str| {
        let texts = files.iter().filter(|file| file.ends_with(&[end]));
        texts
            .map(|file: &File| file.text.as_str())
            .collect::<String>()
    };
    let tests = text_of("/alerts_test.yaml");
    for name in alerts(&text_of("/alerts.yaml")).keys() {
        let is_tested = tests
            .lines()
            .any(|line| line.trim().trim_start_matches("- ") == format!("alertname: {name}"));
        assert!(is_tested, "alerts_test.yaml has no `alertname: {name}`");
    }
}

#[test]
fn what_an_alert_lacks_is_found() {
    let rules = "  - alert: A\n    expr: x\n    for: 5m\n    labels:\n      severity: critical\n    annotations:\n      \
                 summary: \"s\"\n      description: >-\n        d\n      runbook_url: docs/runbooks.md#a\n  - alert: B\n    \
                 expr: y\n    labels:\n      severity: bad\n  - record: r\n    for: no\n";
    let read = alerts(rules);
    assert_eq!(read.len(), 2);
    assert_eq!(read["B"].get("for"), None);
    let good: BTreeMap<_, _> = [("A".to_owned(), read["A"].clone())].into();
    assert_eq!(problems(&good, "# Title\n\n## A\n\ntext\n"), [""; 0]);
    assert_eq!(
        problems(&good, "# Title\n\n## C d\n"),
        [
            "A: docs/runbooks.md has no section for `docs/runbooks.md#a`",
            "docs/runbooks.md: there is no alert `C d`"
        ]
    );
    let wrong = problems(&read, "## A\n");
    assert!(wrong.contains(&"B: has no `for`".to_owned()), "{wrong:?}");
    assert!(
        wrong.contains(&"B: `bad` is no severity".to_owned()),
        "{wrong:?}"
    );
    assert_eq!(anchor("A: b, `c` D-e"), "a-b-c-d-e");
}
