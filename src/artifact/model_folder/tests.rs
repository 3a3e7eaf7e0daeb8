use super::*;

const SHA: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn text(kind: &str, rest: &str) -> String {
    format!(
        "name = 'm'\nversion = '1'\nsha256 = '{SHA}'\nkind = '{kind}'\nmax_tokens = 512\n{rest}"
    )
}

fn good(kind: &str, rest: &str) -> Contract {
    read("judge.toml", &text(kind, rest)).unwrap()
}

#[track_caller]
fn bad(kind: &str, rest: &str, wanted: &str) {
    let error = read("judge.toml", &text(kind, rest)).unwrap_err();
    assert_eq!(error.to_string(), wanted);
}

#[test]
fn a_classifier_selects_a_label_or_maps_several() {
    let labels = "labels = ['no', 'yes']\n";
    let one = format!("{labels}select = 'yes'\ndimensions = ['groundedness']");
    let contract = good("pair_classifier", &one);
    assert_eq!(contract.heads, [(Dimension::Groundedness, 1)]);
    assert_eq!(contract.width, Some(2));
    assert_eq!(contract.activation, Activation::Softmax);
    assert_eq!(contract.model(), "m-1");
    let several = format!("{labels}map = {{ no = 'contradiction', yes = 'groundedness' }}");
    let contract = good("pair_classifier", &several);
    assert_eq!(contract.heads.len(), 2);
    assert!(contract.dimensions().contains(Dimension::Contradiction));
}

#[test]
fn what_a_kind_does_not_have_is_refused_with_its_line() {
    let relevance = "dimensions = ['chunk_relevance']\n";
    bad(
        "pair_regressor",
        &format!("{relevance}labels = ['x']"),
        "judge.toml:7: labels: `pair_regressor` has none",
    );
    bad(
        "pair_regressor",
        &format!("{relevance}activation = 'softmax'"),
        "judge.toml:7: activation: `softmax` of one number is always 1",
    );
    bad(
        "embedding",
        "dimensions = ['groundedness']",
        "judge.toml:6: dimensions: `embedding` does not answer `groundedness`, only `chunk_relevance`",
    );
    bad(
        "embedding",
        &format!("{relevance}temperature = 2.0"),
        "judge.toml:7: temperature: `embedding` has none",
    );
    bad(
        "prompt_classifier",
        "labels = ['a', 'b']\nselect = 'a'\ndimensions = ['groundedness']\ntemplate = '{premise}'",
        "judge.toml:9: template: must hold `{hypothesis}` once",
    );
    bad(
        "token_classifier",
        "labels = ['a', 'b']\ndimensions = ['groundedness']",
        "judge.toml:1: select: missing; the label of tokens that are not supported",
    );
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    bad(
        "pair_classifier",
        "labels = ['a', 'a']\nselect = 'c'\ndimensions = ['groundedness']\nwindow = 600\nstride = 0\ntemperature = 0.0",
        "judge.toml:6: labels: must be names that differ\n\
         judge.toml:7: select: `c` is not one of the labels\n\
         judge.toml:9: window: `600` must be from 1 to 512\n\
         judge.toml:10: stride: `0` must be from 1 to 1\n\
         judge.toml:11: temperature: `0` must be above 0",
    );
}

#[test]
fn keys_and_values_that_are_not_known_are_refused() {
    let error = read("judge.toml", &text("pair_regressor", "lables = []")).unwrap_err();
    let error = error.to_string();
    assert!(
        error.starts_with("judge.toml:6: unknown key `lables`, expected one of `name`"),
        "{error}"
    );
    let error = read("judge.toml", &text("oracle", ""))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("judge.toml:4: unknown variant `oracle`"),
        "{error}"
    );
    let error = read("judge.toml", "").unwrap_err().to_string();
    assert_eq!(error, "judge.toml:1: missing key `name`");
}
