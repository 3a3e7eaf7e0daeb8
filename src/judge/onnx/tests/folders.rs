use super::*;

#[track_caller]
fn refused(dir: &std::path::Path, wanted: &[&str]) {
    let Err(error) = open_at(dir.to_owned()) else {
        panic!("{} is not refused", dir.display());
    };
    let shown = error.to_string();
    let shown = shown.replace(&format!("{}/", dir.display()), "");
    for wanted in wanted {
        assert!(shown.contains(wanted), "`{shown}` lacks `{wanted}`");
    }
}

#[test]
fn a_file_that_is_missing_is_named() {
    for file in ["judge.toml", "model.onnx", "tokenizer.json"] {
        let folder = copy("pair-classifier");
        std::fs::remove_file(folder.path().join(file)).unwrap();
        refused(folder.path(), &["cannot read `", file]);
    }
}

#[test]
fn a_file_of_another_digest_is_refused() {
    let folder = copy("pair-classifier");
    let file = folder.path().join("model.onnx");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes.push(0);
    std::fs::write(&file, bytes).unwrap();
    refused(
        folder.path(),
        &["model.onnx: its SHA-256 is ", "`sha256` of judge.toml is "],
    );
    let other = format!("tokenizer_sha256 = '{}'\nmax_tokens", "0".repeat(64));
    let folder = edited("pair-classifier", "max_tokens", &other);
    refused(
        folder.path(),
        &["tokenizer.json: its SHA-256 is ", "`tokenizer_sha256`"],
    );
}

#[test]
fn inputs_and_outputs_are_those_of_the_contract() {
    let inputs = "inputs = { input_ids = 'tokens' }\nmax_tokens";
    let folder = edited("pair-classifier", "max_tokens", inputs);
    refused(
        folder.path(),
        &["model.onnx: it has no input `tokens`; its inputs are `input_ids`, "],
    );
    let inputs =
        "inputs = { input_ids = 'input_ids', attention_mask = 'attention_mask' }\nmax_tokens";
    let folder = edited("pair-classifier", "max_tokens", inputs);
    refused(
        folder.path(),
        &[
            "model.onnx: it has the input `token_type_ids`, which `inputs` of judge.toml does not name",
        ],
    );
    let folder = edited("pair-classifier", "max_tokens", "output = 'x'\nmax_tokens");
    refused(
        folder.path(),
        &["model.onnx: `output` of judge.toml must be one of its outputs, which are `logits`"],
    );
}

#[test]
fn a_model_that_cannot_do_what_its_contract_says_is_refused() {
    refused(
        &fixture("wrong/label-count"),
        &["judge.toml: labels: the model gives 3 numbers where judge.toml tells 2"],
    );
    refused(
        &fixture("wrong/unknown-operator"),
        &["model.onnx: it cannot be loaded: ", "Divination"],
    );
    refused(
        &fixture("wrong/small-embedding"),
        &["tokenizer.json: its vocabulary is larger than the embedding of model.onnx"],
    );
    refused(
        &fixture("wrong/short-positions"),
        &["judge.toml: max_tokens: the model does not take `48` tokens"],
    );
    let to = "kind = \"embedding\"\ndimensions = ['chunk_relevance']";
    let folder = edited("pair-classifier", "kind = \"pair_classifier\"", to);
    refused(
        folder.path(),
        &["judge.toml:", "labels: `embedding` has none"],
    );
    let folder = edited("pair-regressor", "pair_regressor", "embedding");
    assert!(open_at(folder.path().to_owned()).is_ok());
    let folder = edited("embedding", "\"embedding\"", "\"pair_regressor\"");
    refused(
        folder.path(),
        &["model.onnx: its output has the shape [1, 6, 5], which no `pair_regressor` has"],
    );
}

#[test]
fn a_tokenizer_must_be_one() {
    let folder = copy("pair-classifier");
    std::fs::write(folder.path().join("tokenizer.json"), "{}").unwrap();
    refused(folder.path(), &["tokenizer.json: "]);
    std::fs::write(folder.path().join("model.onnx"), "x").unwrap();
    refused(folder.path(), &["model.onnx: its SHA-256"]);
}

#[test]
fn a_calibration_is_of_its_model_and_read_strictly() {
    let folder = copy("pair-classifier");
    let sha256 = Engine::open(folder.path()).unwrap().contract.sha256;
    let write = |model: &str, rest: &str| {
        let text = format!("{{\"model_sha256\": \"{model}\",\n \"dimensions\": {{{rest}}}}}");
        std::fs::write(folder.path().join("calibration.json"), text).unwrap();
    };
    write(&"0".repeat(64), "");
    refused(
        folder.path(),
        &["calibration.json: model_sha256: it is of another model"],
    );
    write(&sha256, "\"groundedness\": {\"scale\": 2}");
    refused(folder.path(), &["calibration.json:2: unknown key `scale`"]);
    write(&sha256, "\"groundedness\": {\"slope\": -1}");
    refused(
        folder.path(),
        &["calibration.json: dimensions.groundedness: temperature and slope must be above 0"],
    );
    write(&sha256, "\"correctness\": {\"slope\": 1}");
    refused(
        folder.path(),
        &["dimensions.correctness: the model does not answer it"],
    );

    let trace = || {
        draft(
            "where is it ?",
            &["the river flows"],
            "the tower flows north",
        )
    };
    let plain = groundedness(&judge_with("pair-classifier", trace()));
    write(
        &sha256,
        "\"groundedness\": {\"slope\": 0.5, \"intercept\": 1.0}",
    );
    let judge = open_at(folder.path().to_owned()).unwrap();
    let calibrated = groundedness(&ask(&*judge, trace()));
    let logit = (plain / (1.0 - plain)).ln();
    let wanted = 1.0 / (1.0 + (-(0.5 * logit + 1.0)).exp());
    assert!((calibrated - wanted).abs() < 1e-5, "{calibrated} {wanted}");
}
