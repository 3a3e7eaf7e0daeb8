//! Models of the user's own, as a user of the program sees them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::process::{fixture, run, stderr, stdout};

/// A configuration in a folder of its own.
struct Place(tempfile::TempDir);

impl Place {
    fn new(model: &str, profile: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dir = fixture(model);
        let text = format!(
            "[judges.model]\ntype = 'onnx'\ndir = '{dir}'\n[profiles.default]\n{profile}\n"
        );
        fs::write(folder.path().join("c.toml"), text).unwrap();
        Self(folder)
    }

    fn config(&self) -> PathBuf {
        self.0.path().join("c.toml")
    }

    fn run(&self, args: &[&str]) -> Output {
        let config = self.config();
        let config = ["--config", config.to_str().unwrap()];
        run(&[args, &config[..]].concat())
    }
}

#[cfg(not(feature = "onnx"))]
#[test]
fn a_build_without_the_feature_says_which_build_runs_models() {
    let place = Place::new("onnx/pair-classifier", "atomic = 'model'");
    let output = place.run(&["config", "check"]);
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    let told = stderr(&output);
    let wanted = "judges.model.dir: this build runs no models; build it with `cargo build --release --features onnx`";
    assert!(told.contains(wanted), "{told}");
}

#[test]
fn every_fixture_is_listed_with_its_digest() {
    let folder = fixture("onnx");
    let mut count = 0;
    for kind in [".", "wrong"] {
        for entry in fs::read_dir(Path::new(&folder).join(kind)).unwrap() {
            let folder = entry.unwrap().path();
            let Ok(text) = fs::read_to_string(folder.join("judge.toml")) else {
                continue;
            };
            let contract =
                judge_cascade::artifact::model_folder::read("judge.toml", &text).unwrap();
            let model = fs::read(folder.join("model.onnx")).unwrap();
            let digest = judge_cascade::artifact::digest::sha256_hex(&model);
            assert_eq!(contract.sha256, digest, "{}", folder.display());
            count += 1;
        }
    }
    assert_eq!(count, 9);
}

#[test]
fn every_contract_and_calibration_of_the_documents_is_read() {
    use judge_cascade::artifact::model_folder;
    let guide = include_str!("../../docs/onnx.md");
    let blocks = |language: &str| -> Vec<&str> {
        let fence = format!("```{language}\n");
        let parts = guide.split(&fence).skip(1);
        parts
            .map(|part| part.split("```").next().unwrap())
            .collect()
    };
    let sha256 = "0".repeat(64);
    let mut contracts = Vec::new();
    for block in blocks("toml") {
        if block.contains("[judges.") {
            continue;
        }
        let text = format!("name = 'a'\nversion = '1'\nsha256 = '{sha256}'\n{block}");
        contracts.push(model_folder::read("judge.toml", &text).unwrap());
    }
    assert_eq!(contracts.len(), 5);
    let calibrations = blocks("json");
    assert_eq!(calibrations.len(), 1);
    let text = calibrations[0].replace("the sha256 of judge.toml", &sha256);
    model_folder::read_calibration("calibration.json", &text, &contracts[0]).unwrap();
}

#[cfg(feature = "onnx")]
mod with_models {
    use serde_json::Value;

    use super::*;

    const TRACE: &str = r#"{"id":"t","question":"How high is the tower?","contexts":[{"id":"c1","text":"The tower stands north of the lake. It is nine metres high."}],"answer":"The tower is nine metres high. The old bridge was built in the north."}"#;

    impl Place {
        fn diagnose(&self) -> Value {
            let file = self.0.path().join("t.jsonl");
            fs::write(&file, format!("{TRACE}\n")).unwrap();
            let output = self.run(&["diagnose", file.to_str().unwrap()]);
            assert!(output.status.success(), "{}", stderr(&output));
            serde_json::from_str(&stdout(&output)).unwrap()
        }
    }

    #[test]
    fn a_model_answers_its_dimensions_and_the_embedded_judge_the_others() {
        let row = Place::new("onnx/pair-classifier", "atomic = 'model'").diagnose();
        let judge = |judgment: &Value| judgment["judge_id"].as_str().unwrap().to_owned();
        let atomic = &row["atomic"];
        assert_eq!(judge(&atomic["groundedness"]), "model");
        assert_eq!(judge(&atomic["contradiction"]), "model");
        assert_eq!(judge(&atomic["chunk_relevance"]["c1"]), "embedded");
        assert_eq!(judge(&atomic["answer_relevance"]), "embedded");
        let groundedness = atomic["groundedness"]["probability"].as_f64().unwrap();
        assert!(groundedness < 0.1, "{groundedness}");
        assert_eq!(atomic["groundedness"]["source"], "native");
        let statements = row["atomic"]["statements"].as_array();
        assert!(
            statements.is_none_or(|statements| statements.len() == 2),
            "{row}"
        );
    }

    #[test]
    fn a_model_can_be_bound_to_a_dimension_or_be_the_fallback() {
        let profile = "atomic = { chunk_relevance = 'model' }";
        let row = Place::new("onnx/pair-regressor", profile).diagnose();
        assert_eq!(row["atomic"]["chunk_relevance"]["c1"]["judge_id"], "model");
        assert_eq!(row["atomic"]["groundedness"]["judge_id"], "embedded");

        let row = Place::new("onnx/token-classifier", "fallback = 'model'").diagnose();
        assert_eq!(row["route"], "fallback", "{row}");
        let groundedness = &row["fallback"]["groundedness"];
        assert_eq!(groundedness["judge_id"], "model", "{row}");
        assert!(groundedness["probability"].as_f64().unwrap() < 0.2, "{row}");
    }

    #[test]
    fn a_dimension_that_the_model_does_not_answer_cannot_be_bound_to_it() {
        let place = Place::new("onnx/pair-regressor", "atomic = { groundedness = 'model' }");
        let output = place.run(&["config", "check"]);
        assert_eq!(output.status.code(), Some(2));
        let told = stderr(&output);
        let wanted = "profiles.default.atomic.groundedness: the model of the judge `model` does not answer it";
        assert!(told.contains(wanted), "{told}");
    }

    #[test]
    fn a_folder_that_is_refused_stops_the_program_with_the_file() {
        let place = Place::new("onnx/wrong/label-count", "atomic = 'model'");
        let output = place.run(&["config", "check"]);
        assert_eq!(output.status.code(), Some(2));
        let told = stderr(&output);
        for wanted in [
            "judges.model.dir: ",
            "label-count/judge.toml: labels: the model gives 3",
        ] {
            assert!(told.contains(wanted), "{told}");
        }
        let place = Place::new("onnx/nowhere", "atomic = 'model'");
        let told = stderr(&place.run(&["config", "check"]));
        assert!(told.contains("nowhere/judge.toml`"), "{told}");
    }

    #[test]
    fn a_model_is_examined_and_printed_like_any_judge() {
        let place = Place::new("onnx/pair-regressor", "atomic = 'model'");
        let output = place.run(&["judges", "check", "--judge", "model"]);
        let told = stdout(&output);
        for wanted in [
            "type        onnx",
            "model       fixture-pair-regressor-1 (answered: fixture-pair-regressor-1)",
            "dimensions  chunk_relevance\n",
            "source      native",
        ] {
            assert!(told.contains(wanted), "{told}");
        }
        let printed = place.run(&["config", "print"]);
        let text = stdout(&printed);
        assert!(
            text.contains("[judges.model]\ntype = \"onnx\"\ndir = "),
            "{text}"
        );
        fs::write(place.config(), &text).unwrap();
        assert_eq!(stdout(&place.run(&["config", "print"])), text);
    }
}
