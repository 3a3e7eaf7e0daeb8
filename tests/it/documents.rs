//! The documents say what the code does: built-in policies, files, links.

use std::fs;

use judge_cascade::artifact::replay::recorded;
use judge_cascade::artifact::{policy, pricing};
use judge_cascade::dataset::load;

use crate::deploy::{File, files, root};
use crate::support::process::{run, stderr};

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

#[test]
fn every_built_in_policy_is_documented() {
    let (readme, document) = (read("README.md"), read("docs/policy.md"));
    for (name, _) in policy::BUILT_IN {
        assert!(
            readme.contains(&format!("`{name}`")) && document.contains(&format!("`{name}`")),
            "{name}"
        );
    }
}

#[test]
fn the_policy_file_of_the_documentation_is_valid() {
    let document = read("docs/policy.md");
    let (_, rest) = document.split_once("```toml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let snapshot = policy::read("docs/policy.md", example).unwrap();
    assert_eq!(&*snapshot.id.id, "support-bot-3");
}

/// R9: every JSON example is read by the code that reads such files. Each is one object, shown on several lines.
#[test]
fn r9_the_files_of_the_documentation_are_valid() {
    let document = read("docs/dataset-format.md");
    let blocks: Vec<String> = document
        .split("```json\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap().replace('\n', " "))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let dataset = folder.path().join("dataset.jsonl");
    let digest = "0".repeat(64);
    let mut kinds = Vec::new();
    for block in blocks {
        let value: serde_json::Value = serde_json::from_str(&block).unwrap();
        let has = |key: &str| value.get(key).is_some();
        if has("question") {
            fs::write(&dataset, &block).unwrap();
            let survey = load::survey(&dataset).unwrap();
            assert_eq!(survey.labelled_diagnosis_count, 1);
            kinds.push("dataset");
        } else if has("judge_id") {
            let row = block.replace("\"...\"", &format!("\"{digest}\""));
            let rows = recorded::read("docs/dataset-format.md", &row, &"recorded".into()).unwrap();
            assert_eq!(rows.row_count(), 1);
            kinds.push("replay");
        } else {
            let prices = pricing::read("docs/dataset-format.md", &block).unwrap();
            assert!(prices.table.models.contains_key("example-model"));
            kinds.push("prices");
        }
    }
    assert_eq!(kinds, ["dataset", "replay", "replay", "prices"]);
}

/// Every document of the project, with its path below the root.
fn documents() -> Vec<File> {
    let mut found: Vec<File> = ["clients", "deploy", "docs", "fixtures"]
        .iter()
        .flat_map(|folder| files(folder))
        .filter(|file| file.ends_with(&[".md"]))
        .collect();
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
    ] {
        let (name, text) = (name.to_owned(), read(name));
        found.push(File { name, text });
    }
    found
}

#[test]
fn every_link_of_a_document_leads_somewhere() {
    let mut count = 0;
    for document in documents() {
        let folder = root().join(&document.name);
        let folder = folder.parent().unwrap();
        for link in document.text.split("](").skip(1) {
            let link = link.split(')').next().unwrap();
            if link.starts_with("http") {
                continue;
            }
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let file = match target {
                "" => root().join(&document.name),
                target => folder.join(target),
            };
            assert!(file.exists(), "{}: `{link}` does not exist", document.name);
            if !anchor.is_empty() {
                let text = fs::read_to_string(file).unwrap();
                let headings = text.lines().filter(|line| line.starts_with('#'));
                let known = headings.map(anchor_of).any(|known| known == anchor);
                assert!(known, "{}: `{link}` has no such heading", document.name);
            }
            count += 1;
        }
    }
    assert!(40 <= count, "{count}");
}

/// The anchor of a heading, as the usual renderers make it.
fn anchor_of(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c => c.is_alphanumeric().then_some(c),
    });
    kept.collect()
}

/// The command lines of our program in a document: lines of a block, and code within a line.
fn commands(text: &str) -> Vec<Vec<&str>> {
    let pieces = text.lines().flat_map(|line| line.split('`'));
    let commands = pieces.filter_map(|piece| piece.trim_start().strip_prefix("judge-cascade "));
    let words = commands.map(|words| {
        let words = words.split_whitespace();
        let ends =
            |word: &&str| !["#", "|", "\\", "&", ">", "<"].contains(word) && !word.starts_with('>');
        words.take_while(ends).collect::<Vec<_>>()
    });
    // A sentence of a document may begin with the name of the program.
    words
        .filter(|words| {
            words
                .first()
                .is_some_and(|word| !NOT_COMMANDS.contains(word))
        })
        .collect()
}

const NOT_COMMANDS: [&str; 2] = ["is", "gives"];

#[test]
fn every_command_of_a_document_is_one_of_the_program() {
    let mut count = 0;
    for document in documents() {
        for mut words in commands(&document.text) {
            if words.starts_with(&["init"]) {
                // Where a document says NAME, any provider will do.
                words
                    .iter_mut()
                    .filter(|word| **word == "NAME")
                    .for_each(|word| *word = "azure");
            }
            words.push("--help");
            let output = run(&words);
            let is_taken = output.status.code() == Some(0);
            assert!(
                is_taken,
                "{}: {words:?}: {}",
                document.name,
                stderr(&output)
            );
            count += 1;
        }
    }
    assert!(40 <= count, "{count}");
}
