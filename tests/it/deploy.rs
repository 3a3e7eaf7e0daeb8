//! What is in `deploy/` fits the program: every file is checked by something, and what it names exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Alerts and their runbooks.
mod alerts;
/// Names, labels and values of metrics.
mod metrics;
mod promql;
/// Configurations, flags and variables.
mod settings;

/// What checks a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Check {
    /// A test function of this repository.
    Test(&'static str),
    /// A step of `.ci/run`, which runs the file or what it describes.
    Step(&'static str),
}

use Check::{Step, Test};

/// Every file below `deploy/`, or a folder with what is in it, and what checks it.
pub(crate) const CLAIMS: [(&str, &[Check]); 15] = [
    (
        "deploy/config.default.toml",
        &[
            Test("the_documented_file_is_the_default"),
            Test("the_documented_keys_are_the_known_keys"),
            Test("every_configuration_loads"),
            Step("offline"),
        ],
    ),
    (
        "deploy/Dockerfile",
        &[
            Test("every_command_line_is_one_of_the_program"),
            Step("container"),
        ],
    ),
    (
        "deploy/Containerfile.scratch",
        &[
            Test("every_command_line_is_one_of_the_program"),
            Step("container"),
        ],
    ),
    ("deploy/container/", &[Step("container")]),
    (
        "deploy/grafana/",
        &[Test("every_metric_label_and_value_exists"), Step("grafana")],
    ),
    (
        "deploy/kubernetes/",
        &[
            Test("every_command_line_is_one_of_the_program"),
            Step("kubernetes"),
        ],
    ),
    (
        "deploy/prometheus/",
        &[Test("every_metric_label_and_value_exists")],
    ),
    (
        "deploy/prometheus/alerts.yaml",
        &[
            Test("every_alert_is_complete_and_has_a_runbook"),
            Step("prometheus_rules"),
            Step("prometheus_end_to_end"),
        ],
    ),
    (
        "deploy/prometheus/alerts_test.yaml",
        &[Test("every_alert_is_tested"), Step("prometheus_rules")],
    ),
    (
        "deploy/prometheus/outages_test.yaml",
        &[Step("prometheus_rules")],
    ),
    (
        "deploy/prometheus/prometheus.yaml",
        &[Step("prometheus_rules"), Step("prometheus_end_to_end")],
    ),
    (
        "deploy/prometheus/recording.yaml",
        &[
            Test("the_level_of_every_recording_rule_names_labels_of_its_metrics"),
            Step("prometheus_rules"),
            Step("prometheus_end_to_end"),
        ],
    ),
    (
        "deploy/prometheus/thresholds.yaml",
        &[Step("prometheus_rules"), Step("prometheus_end_to_end")],
    ),
    (
        "deploy/prometheus/thresholds_test.yaml",
        &[Step("prometheus_rules")],
    ),
    (
        "deploy/systemd/",
        &[
            Test("every_configuration_loads"),
            Test("every_command_line_is_one_of_the_program"),
            Step("systemd"),
        ],
    ),
];

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A file with its path below the root, and its text.
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl File {
    pub(crate) fn ends_with(&self, ends: &[&str]) -> bool {
        ends.iter().any(|end| self.name.ends_with(end))
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "__pycache__" {
            // What Python leaves behind.
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// One file.
pub(crate) fn file(name: &str) -> File {
    let text = fs::read_to_string(root().join(name)).unwrap();
    File {
        name: name.to_owned(),
        text,
    }
}

/// Every text file below a folder.
pub(crate) fn files(folder: &str) -> Vec<File> {
    let mut paths = Vec::new();
    collect(&root().join(folder), &mut paths);
    paths.sort();
    let files = paths.into_iter().filter_map(|path| {
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).ok()?;
        Some(File {
            name: name.to_owned(),
            text,
        })
    });
    files.collect()
}

/// The claims that are about a file.
fn claims_of(file: &str) -> Vec<Check> {
    let is_about =
        |claimed: &str| file == claimed || claimed.ends_with('/') && file.starts_with(claimed);
    let claims = CLAIMS.iter().filter(|(claimed, _)| is_about(claimed));
    claims
        .flat_map(|(_, checks)| checks.iter().copied())
        .collect()
}

/// The steps that `.ci/run` runs when it is told no names.
fn steps_of_ci(run: &str) -> BTreeSet<&str> {
    let (_, rest) = run.split_once("\nall=(").unwrap();
    rest.split_once(')').unwrap().0.split_whitespace().collect()
}

/// The text of a step: the file that defines it, with the scripts beside it that this file names.
fn text_of_step(name: &str, ci: &[File]) -> Option<String> {
    let head = format!("\n{name}() {{");
    let file = ci.iter().find(|file| file.text.contains(&head))?;
    let mut text = file.text.clone();
    for other in ci {
        let is_script = other.ends_with(&[".py", ".sh"]);
        if is_script && other.name != file.name && file.text.contains(&other.name) {
            text += &other.text;
        }
    }
    Some(text)
}

/// Whether a text names a file or a folder that it is in, below `deploy`.
fn names(text: &str, file: &str) -> bool {
    let mut path = Some(Path::new(file));
    while let Some(here) = path.filter(|path| path.components().count() > 1) {
        if text.contains(here.to_str().unwrap()) {
            return true;
        }
        path = here.parent();
    }
    false
}

/// What is wrong with the claims over these files.
fn wrong_claims(files: &[File], ci: &[File], code: &[File]) -> Vec<String> {
    let run = ci.iter().find(|file| file.name == ".ci/run").unwrap();
    let steps = steps_of_ci(&run.text);
    let mut wrong = Vec::new();
    for file in files {
        let checks = claims_of(&file.name);
        if checks.is_empty() {
            wrong.push(format!(
                "{}: no row of CLAIMS says what checks it",
                file.name
            ));
        }
        for check in checks {
            let problem = match check {
                Test(name) => {
                    let head = format!("fn {name}()");
                    let is_there = code.iter().any(|file| file.text.contains(&head));
                    (!is_there).then(|| format!("there is no test `{name}`"))
                }
                Step(name) => match text_of_step(name, ci) {
                    _ if !steps.contains(name) => Some(format!("`.ci/run` does not run `{name}`")),
                    None => Some(format!("there is no step `{name}`")),
                    Some(text) => (!names(&text, &file.name))
                        .then(|| format!("the step `{name}` does not name it")),
                },
            };
            wrong.extend(problem.map(|problem| format!("{}: {problem}", file.name)));
        }
    }
    for (claimed, _) in CLAIMS {
        let is_there = files.iter().any(|file| {
            file.name == claimed || claimed.ends_with('/') && file.name.starts_with(claimed)
        });
        if !is_there {
            wrong.push(format!("{claimed}: there is no such file"));
        }
    }
    wrong
}

fn code() -> Vec<File> {
    let mut code = files("src");
    code.extend(files("tests"));
    code
}

#[test]
fn every_file_is_claimed_by_a_check_that_exists() {
    let files = files("deploy");
    let wrong = wrong_claims(&files, &self::files(".ci"), &code());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn wrong_claims_are_found() {
    let file = |name: &str, text: &str| File {
        name: name.to_owned(),
        text: text.to_owned(),
    };
    let ci = [
        file(
            ".ci/run",
            "\nall=(\n    one two\n)\none() {\n    deploy/a/b.yaml\n}\n",
        ),
        file(
            ".ci/steps/two.sh",
            "\ntwo() {\n    .ci/two.py\n}\nthree() {\n}\n",
        ),
        file(".ci/two.py", "deploy/c"),
    ];
    assert_eq!(steps_of_ci(&ci[0].text), BTreeSet::from(["one", "two"]));
    assert!(names(&text_of_step("one", &ci).unwrap(), "deploy/a/b.yaml"));
    assert!(!names(
        &text_of_step("one", &ci).unwrap(),
        "deploy/c/d.yaml"
    ));
    assert!(names(&text_of_step("two", &ci).unwrap(), "deploy/c/d.yaml"));
    assert!(text_of_step("four", &ci).is_none());
    let known = file("deploy/config.default.toml", "");
    let wrong = wrong_claims(&[known, file("deploy/x", "")], &ci, &[]);
    assert!(
        wrong
            .iter()
            .any(|line| line == "deploy/x: no row of CLAIMS says what checks it"),
        "{wrong:?}"
    );
    assert!(
        wrong
            .iter()
            .any(|line| line.contains("there is no test `every_configuration_loads`")),
        "{wrong:?}"
    );
}

/// The files below `deploy/` that no step of CI runs, but for texts for people.
pub(crate) fn files_that_ci_does_not_run() -> Vec<String> {
    let ci = files(".ci");
    let files = files("deploy")
        .into_iter()
        .filter(|file| !file.ends_with(&[".md"]));
    let not_run = files.filter(|file| {
        let steps = claims_of(&file.name)
            .into_iter()
            .filter_map(|check| match check {
                Step(name) => text_of_step(name, &ci),
                Test(_) => None,
            });
        !steps.into_iter().any(|text| names(&text, &file.name))
    });
    not_run.map(|file| file.name).collect()
}
