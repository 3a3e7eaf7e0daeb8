//! The documents say what the code does: metrics, built-in policies, links.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use judge_cascade::artifact::{policy, pricing, replay};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// Every word that starts with the prefix of our metrics.
fn metric_names(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words
        .filter(|word| word.starts_with("judge_cascade_"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_metric_is_documented_and_every_documented_metric_exists() {
    let code: String = ["diagnosis", "egress", "judges", "money", "server"]
        .map(|module| read(&format!("src/telemetry/metrics/{module}.rs")))
        .concat();
    let in_code = metric_names(&code);
    assert!(25 <= in_code.len(), "{in_code:?}");
    assert_eq!(in_code, metric_names(&read("docs/metrics.md")));
    for name in metric_names(&read("README.md")) {
        assert!(in_code.contains(&name), "README.md names `{name}`");
    }
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

/// The JSON examples are one object each, shown on several lines.
#[test]
fn the_files_of_the_documentation_are_valid() {
    let document = read("docs/dataset-format.md");
    let blocks: Vec<String> = document
        .split("```json\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap().replace('\n', " "))
        .collect();
    let digest = "0".repeat(64);
    let row = blocks[0].replace("\"...\"", &format!("\"{digest}\""));
    let rows = replay::read("docs/dataset-format.md", &row, &"recorded".into()).unwrap();
    assert_eq!(rows.len(), 1);
    let prices = pricing::read("docs/dataset-format.md", &blocks[1]).unwrap();
    assert!(prices.table.models.contains_key("example-model"));
}

#[test]
fn every_link_of_a_document_leads_somewhere() {
    let mut documents: Vec<PathBuf> = [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
    ]
    .map(|name| root().join(name))
    .to_vec();
    documents.extend(
        fs::read_dir(root().join("docs"))
            .unwrap()
            .map(|entry| entry.unwrap().path()),
    );
    let mut count = 0;
    for document in documents {
        let text = fs::read_to_string(&document).unwrap();
        for link in text.split("](").skip(1) {
            let target = link.split(')').next().unwrap();
            if !target.starts_with("http") {
                let path = document.parent().unwrap().join(target);
                assert!(
                    path.exists(),
                    "{}: `{target}` does not exist",
                    document.display()
                );
                count += 1;
            }
        }
    }
    assert!(10 <= count);
}
