//! `judges fit` over datasets of our own.

use std::fs;

use serde_json::{Value, json};

use crate::support::process::{run, stderr, stdout};

const MAKERS: [&str; 6] = ["Orvane", "Lumio", "Kestrane", "Tarn", "Vale", "Brisk"];
const THINGS: [&str; 4] = ["lantern", "barge", "kettle", "saddle"];

/// Supported rows repeat their context in other words; the others say something else of it.
fn rows() -> Vec<Value> {
    let mut rows = Vec::new();
    for (at, maker) in MAKERS.iter().enumerate() {
        for (number, thing) in THINGS.iter().enumerate() {
            let context = format!("{maker} makes the copper {thing} in its old harbour workshop.");
            let is_supported = (at + number) % 2 == 0;
            let answer = match (is_supported, at % 3) {
                (true, _) => format!("The copper {thing} is what {maker} makes in the harbour."),
                (false, 0) => format!("{maker} paints {thing} posters for a railway museum."),
                (false, _) => format!("{maker} never sold the copper {thing} to 7 museums."),
            };
            rows.push(json!({
                "id": format!("r{at}-{number}"),
                "question": "Is this true?",
                "contexts": [{"id": "c", "text": context}],
                "answer": answer,
                "expected": {"generation": {"groundedness": is_supported}},
            }));
        }
    }
    rows
}

fn written(folder: &tempfile::TempDir, name: &str, rows: &[Value]) -> String {
    let path = folder.path().join(name);
    let lines: Vec<_> = rows.iter().map(Value::to_string).collect();
    fs::write(&path, lines.join("\n")).unwrap();
    path.to_str().unwrap().to_owned()
}

#[track_caller]
fn fitted(args: &[&str]) -> String {
    let output = run(&[&["judges", "fit"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn a_model_is_fitted_to_the_same_bytes_whatever_the_order_of_the_rows() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = rows();
    let one = written(&folder, "one.jsonl", &rows);
    rows.reverse();
    let other = written(&folder, "other.jsonl", &rows);
    let text = fitted(&[&one]);
    assert_eq!(fitted(&[&one]), text);
    let dimensions =
        |text: &str| serde_json::from_str::<Value>(text).unwrap()["dimensions"].clone();
    assert_eq!(dimensions(&fitted(&[&other])), dimensions(&text));
    let model: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(model["version"], "lexical-v1");
    assert_eq!(model["data"][0]["file"], "one.jsonl");
    assert_eq!(model["data"][0]["row_count"], 24);
    assert_eq!(model["data"][0]["positive_count"], 12);
    let window = &model["dimensions"]["groundedness"]["features"][0];
    assert_eq!(window["name"], "window");
    assert!(0.0 <= window["coefficient"].as_f64().unwrap());

    let file = folder.path().join("model.json");
    let printed = fitted(&[&one, "--out", file.to_str().unwrap()]);
    assert_eq!(printed, "");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn the_order_of_the_datasets_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let rows = rows();
    let (head, tail) = rows.split_at(10);
    let head = written(&folder, "head.jsonl", head);
    let tail = written(&folder, "tail.jsonl", tail);
    assert_eq!(fitted(&[&head, &tail]), fitted(&[&tail, &head]));
}

#[test]
fn what_cannot_be_fitted_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let rows = rows();
    let mut one_class = rows.clone();
    one_class.retain(|row| row["expected"]["generation"]["groundedness"] == true);
    let one_class = written(&folder, "one-class.jsonl", &one_class);
    let mut unlabelled = rows;
    for row in &mut unlabelled {
        row.as_object_mut().unwrap().remove("expected");
    }
    let unlabelled = written(&folder, "unlabelled.jsonl", &unlabelled);
    for (file, expected) in [
        (one_class.as_str(), "all rows are of one class"),
        (&unlabelled, "no rows"),
        ("/nowhere/data.jsonl", "cannot read `/nowhere/data.jsonl`"),
    ] {
        let output = run(&["judges", "fit", file]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}
