//! Configurations load, flags are flags of the program, and variables set keys that it knows.

use std::collections::BTreeMap;

use judge_cascade::config::reference::{SectionReference, sections, variable_of};
use judge_cascade::config::{self, Overrides};

use super::{File, files};
use crate::support::process::{run, stderr};

/// Variables that are no key: two of ours, and one that the application of the examples reads.
const NO_KEYS: [&str; 3] = [
    "JUDGE_CASCADE_CONFIG",
    "JUDGE_CASCADE_REVISION",
    "JUDGE_CASCADE_ENDPOINT",
];

/// The configurations in a file: itself, or what a ConfigMap holds under a name that ends in `.toml`.
fn configurations(file: &File) -> Vec<(String, String)> {
    if file.ends_with(&[".toml"]) {
        return vec![(file.name.clone(), file.text.clone())];
    }
    if !file.ends_with(&[".yaml", ".yml"]) {
        return Vec::new();
    }
    let lines: Vec<&str> = file.text.lines().collect();
    let mut found = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let key = line.trim().trim_end_matches(['|', '-', '+', ' ']);
        let is_block = line.trim_end().ends_with(['|', '-', '+']) && line.contains('|');
        if !(is_block && key.ends_with(".toml:")) {
            continue;
        }
        let block: Vec<&str> = block(&lines, place).collect();
        let indent = block
            .iter()
            .filter(|line| !line.is_empty())
            .map(|line| indent(line))
            .min()
            .unwrap_or(0);
        let text: Vec<&str> = block
            .iter()
            .map(|line| line.get(indent..).unwrap_or(""))
            .collect();
        found.push((format!("{}:{}", file.name, place + 1), text.join("\n")));
    }
    found
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The lines below a line that are further in.
fn block<'a>(lines: &'a [&'a str], place: usize) -> impl Iterator<Item = &'a str> {
    let outer = indent(lines[place]);
    let below = lines[place + 1..].iter().copied();
    below.take_while(move |line| line.trim().is_empty() || outer < indent(line))
}

#[test]
fn every_configuration_loads() {
    let mut count = 0;
    for (name, text) in files("deploy").iter().flat_map(configurations) {
        if let Err(error) =
            config::load(Some((&name, &text)), &BTreeMap::new(), Overrides::default())
        {
            panic!("{error}");
        }
        count += 1;
    }
    assert!(5 <= count, "only {count} configurations");
}

#[test]
fn a_configuration_in_a_config_map_is_found() {
    let text = "data:\n  judge-cascade.toml: |\n    [time]\n    deadline_ms = 5\n\n    [log]\n  other: x\n".to_owned();
    let found = configurations(&File {
        name: "a.yaml".to_owned(),
        text,
    });
    assert_eq!(
        found,
        [(
            "a.yaml:2".to_owned(),
            "[time]\ndeadline_ms = 5\n\n[log]".to_owned()
        )]
    );
}

/// The command lines of our program in a file, without the name of the program.
fn command_lines(file: &File) -> Vec<Vec<String>> {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut found = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let item = line.trim_start();
        let item = item.strip_prefix("- ").unwrap_or(item);
        let words = if item.starts_with("args:") && is_of_ours(&lines, place) {
            Some(list(&lines, place))
        } else if item.starts_with("command:") {
            of_program(list(&lines, place))
        } else if let Some(command) = item.strip_prefix("ExecStart=") {
            of_program(command.split_whitespace().map(str::to_owned).collect())
        } else if item.starts_with("ENTRYPOINT [") {
            of_program(list(&lines, place)).filter(|words| !words.is_empty())
        } else if item.starts_with("CMD [") {
            let words = list(&lines, place);
            // With an ENTRYPOINT these are arguments, and a health check has a program of its own.
            of_program(words.clone()).or(Some(words))
        } else {
            None
        };
        found.extend(words);
    }
    found
}

/// The arguments, if the program is ours.
fn of_program(words: Vec<String>) -> Option<Vec<String>> {
    let (program, rest) = words.split_first()?;
    let is_ours = program.rsplit('/').next() == Some("judge-cascade");
    is_ours.then(|| rest.to_vec())
}

/// The words behind a key: `["a", "b"]` on its line, or items on those below.
fn list(lines: &[&str], place: usize) -> Vec<String> {
    let plain = |word: &str| word.trim().trim_matches(['"', '\'']).to_owned();
    if let Some((_, rest)) = lines[place].split_once('[') {
        let inside = rest.split(']').next().unwrap_or(rest);
        return inside.split(',').map(plain).collect();
    }
    let outer = indent(lines[place]);
    let items = lines[place + 1..].iter().take_while(|line| {
        let is_item = line.trim_start().starts_with('-') || line.trim_start().starts_with('#');
        line.trim().is_empty() || is_item && outer <= indent(line)
    });
    items
        .filter_map(|line| line.trim_start().strip_prefix("- "))
        .map(plain)
        .collect()
}

/// Whether arguments are those of a container of ours: its name or its image says so.
fn is_of_ours(lines: &[&str], place: usize) -> bool {
    let inner = indent(lines[place])
        + if lines[place].trim_start().starts_with("- ") {
            2
        } else {
            0
        };
    let is_head = |line: &&str| indent(line) + 2 == inner && line.trim_start().starts_with("- ");
    let start = lines[..=place].iter().rposition(is_head).unwrap_or(0);
    let keys = lines[start..]
        .iter()
        .enumerate()
        .take_while(|(at, line)| *at == 0 || line.trim().is_empty() || inner <= indent(line));
    let mut keys = keys.map(|(_, line)| line.trim_start().trim_start_matches("- "));
    keys.any(|key| key == "name: judge-cascade" || key.starts_with("image: judge-cascade"))
}

/// Why the program does not take a command line; `--help` at its end keeps it from running.
fn refusal(words: &[String]) -> Option<String> {
    let mut args: Vec<&str> = words.iter().map(String::as_str).collect();
    args.push("--help");
    let output = run(&args);
    (output.status.code() != Some(0)).then(|| stderr(&output))
}

#[test]
fn every_command_line_is_one_of_the_program() {
    let mut count = 0;
    for file in files("deploy") {
        for words in command_lines(&file) {
            count += 1;
            assert!(!words.is_empty(), "{}: a command without a name", file.name);
            if let Some(refusal) = refusal(&words) {
                panic!("{}: `{}`: {refusal}", file.name, words.join(" "));
            }
        }
    }
    assert!(8 <= count, "only {count} command lines");
}

#[test]
fn command_lines_are_found_and_wrong_ones_are_refused() {
    let file = |name: &str, text: &str| File {
        name: name.to_owned(),
        text: text.to_owned(),
    };
    let pod = file(
        "a.yaml",
        "containers:\n  - name: app\n    args:\n      - x\n  - name: judge-cascade\n    args:\n      - serve\n      - --uds=/x\n    \
         env:\n      - name: A\n  - image: judge-cascade:1\n    args: [\"serve\", '--log-format', json]\n    livenessProbe:\n      \
         exec:\n        command:\n          - /usr/bin/judge-cascade\n          - healthcheck\n",
    );
    let words = |line: &[&str]| {
        line.iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        command_lines(&pod),
        [
            words(&["serve", "--uds=/x"]),
            words(&["serve", "--log-format", "json"]),
            words(&["healthcheck"])
        ]
    );
    let image = file(
        "Dockerfile",
        "HEALTHCHECK \\\n  CMD [\"/judge-cascade\", \"healthcheck\"]\nENTRYPOINT [\"/judge-cascade\"]\nCMD [\"serve\"]\n",
    );
    assert_eq!(
        command_lines(&image),
        [words(&["healthcheck"]), words(&["serve"])]
    );
    let unit = file(
        "a.service",
        "[Service]\nExecStart=/usr/bin/judge-cascade serve --config /etc/x\n",
    );
    assert_eq!(
        command_lines(&unit),
        [words(&["serve", "--config", "/etc/x"])]
    );

    assert_eq!(
        refusal(&words(&["serve", "--uds=/x", "--config", "/etc/x"])),
        None
    );
    assert!(refusal(&words(&["serve", "--sock=/x"])).is_some());
    assert!(refusal(&words(&["served"])).is_some());
    assert!(refusal(&words(&["serve", "extra"])).is_some());
}

/// Whether a variable sets a key; judges and profiles have any names.
fn is_known(variable: &str, sections: &[SectionReference]) -> bool {
    let parts: Vec<&str> = variable.split("__").collect();
    sections.iter().any(|section| {
        let mut keys = section.keys.iter();
        keys.any(|key| {
            let known = variable_of(&section.name, &key.name);
            let known: Vec<&str> = known.split("__").collect();
            let has_any_name = matches!(known.get(1), Some(&"JUDGES" | &"PROFILES"));
            known.len() == parts.len()
                && known
                    .iter()
                    .zip(&parts)
                    .enumerate()
                    .all(|(place, (known, part))| known == part || has_any_name && place == 2)
        })
    })
}

/// The words of a text that look like our variables.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    // `JUDGE_CASCADE__*` is all of them.
    words.filter(|word| word.starts_with("JUDGE_CASCADE_") && !word.ends_with('_'))
}

#[test]
fn every_variable_is_known() {
    let sections = sections();
    for file in files("deploy") {
        for variable in variables(&file.text) {
            let is_example = variable == "JUDGE_CASCADE__SECTION__KEY";
            assert!(
                is_example || NO_KEYS.contains(&variable) || is_known(variable, &sections),
                "{}: `{variable}` sets no key",
                file.name
            );
        }
    }
    for known in [
        "TIME__DEADLINE_MS",
        "JUDGES__X__BASE_URL",
        "JUDGES__X__RETRY__MAX_ATTEMPTS",
        "SERVER__TLS__CERT_FILE",
    ] {
        assert!(
            is_known(&format!("JUDGE_CASCADE__{known}"), &sections),
            "{known}"
        );
    }
    for unknown in [
        "TIME__DEADLINE",
        "JUDGES__X__Y__Z",
        "TIME__X__DEADLINE_MS",
        "CONFIG",
    ] {
        assert!(
            !is_known(&format!("JUDGE_CASCADE__{unknown}"), &sections),
            "{unknown}"
        );
    }
}
