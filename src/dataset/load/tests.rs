//! Every mistake is told with its line, and no row is kept.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use super::*;
use crate::artifact::digest::sha256_hex;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(name)
}

fn written(text: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.jsonl");
    fs::write(&path, text).unwrap();
    (folder, path)
}

/// What is wrong with a file, without the folder that it stands in.
fn problems(path: &Path) -> String {
    let told = survey(path).unwrap_err().to_string();
    told.replace(&format!("{}/", path.parent().unwrap().display()), "")
}

/// A file for each kind of mistake; between the good rows of each stand blank lines.
const INVALID: [(&str, &str); 22] = [
    (
        "not-json",
        "not-json.jsonl:2: expected `,` or `}` (column 11)",
    ),
    (
        "cut-off",
        "cut-off.jsonl:2: EOF while parsing a string (column 30); each line must hold one whole object",
    ),
    ("not-utf8", "not-utf8.jsonl:2: is not UTF-8 (byte 41)"),
    (
        "unknown-field",
        "unknown-field.jsonl:2: unknown field `human`, expected one of ",
    ),
    (
        "missing-field",
        "missing-field.jsonl:2: missing field `answer` (column ",
    ),
    (
        "wrong-type",
        "wrong-type.jsonl:2: contexts: invalid type: string, expected a sequence (column ",
    ),
    (
        "twice-in-a-row",
        "twice-in-a-row.jsonl:2: duplicate field `answer` (column ",
    ),
    (
        "label-twice",
        "label-twice.jsonl:2: expected.retrieval.chunkRelevance: chunk `c1` is labelled twice (column ",
    ),
    ("blank-id", "blank-id.jsonl:2: id: must not be blank"),
    (
        "blank-chunk-id",
        "blank-chunk-id.jsonl:2: contexts[0].id: must not be blank\nblank-chunk-id.jsonl:2: contexts[1].id: must not be empty",
    ),
    ("blank-tag", "blank-tag.jsonl:2: tags[1]: must not be blank"),
    (
        "duplicate-id",
        "duplicate-id.jsonl:4: id: is the same as in line 1\nduplicate-id.jsonl:5: id: is the same as in line 1",
    ),
    (
        "duplicate-chunk-id",
        "duplicate-chunk-id.jsonl:2: contexts[1].id: `c1` is also the id of chunk 0",
    ),
    (
        "blank-question",
        "blank-question.jsonl:2: question: must not be blank",
    ),
    (
        "blank-reference",
        "blank-reference.jsonl:2: referenceAnswer: is set but blank",
    ),
    (
        "unknown-chunk",
        "unknown-chunk.jsonl:2: expected.retrieval.chunkRelevance: no chunk has the id `c9`",
    ),
    (
        "no-reference",
        "no-reference.jsonl:2: expected.generation.correctness: there is no `referenceAnswer`",
    ),
    (
        "blank-answer",
        "blank-answer.jsonl:2: expected.generation: the answer is blank, so it has no labels",
    ),
    (
        "assessable",
        "assessable.jsonl:2: expected.diagnosis: is `NOT_ASSESSABLE` only if `retrieval` is ",
    ),
    (
        "not-assessable",
        "not-assessable.jsonl:2: expected.diagnosis: is `PASS`, but with `retrieval` = `texts_missing` it must be `NOT_ASSESSABLE`",
    ),
    (
        "unknown-diagnosis",
        "unknown-diagnosis.jsonl:2: expected.diagnosis: unknown variant `GOOD`, expected one of `PASS`, ",
    ),
    ("empty", "empty.jsonl holds no row"),
];

#[test]
fn every_kind_of_mistake_is_told_with_its_place() {
    for (name, expected) in INVALID {
        let told = problems(&fixture(&format!("datasets/invalid/{name}.jsonl")));
        assert!(told.starts_with(expected), "{name}: {told}");
        let is_one = told.lines().count() == expected.lines().count();
        assert!(is_one, "{name}: {told}");
    }
    let files = fs::read_dir(fixture("datasets/invalid")).unwrap();
    assert_eq!(files.count(), INVALID.len());
}

#[test]
fn all_mistakes_of_a_file_are_told_in_the_order_of_its_lines() {
    let row = r#"{"id":"a","question":"q","contexts":[],"answer":"x"}"#;
    let text = format!(
        "\u{feff}{row}\r\n\r\n{{\"id\":1\r\n{}\r\n{row}\r\nnull\r\n",
        row.replace(r#""q""#, r#"" ""#).replace(r#""a""#, r#""""#)
    );
    let (_folder, path) = written(text.as_bytes());
    let told = problems(&path);
    let places: Vec<_> = told
        .lines()
        .map(|line| line.split(": ").next().unwrap())
        .collect();
    assert_eq!(
        places,
        [
            "data.jsonl:3",
            "data.jsonl:4",
            "data.jsonl:4",
            "data.jsonl:5",
            "data.jsonl:6"
        ],
        "{told}"
    );
}

#[test]
fn no_text_of_a_row_stands_in_an_error() {
    let row = r#"{"id":"a","question":"q","contexts":"the secret","answer":"x"}"#;
    let (_folder, path) = written(row.as_bytes());
    let told = problems(&path);
    assert!(!told.contains("secret"), "{told}");
}

#[test]
fn rows_are_counted_hashed_and_found_again() {
    let path = fixture("traces/demo.jsonl");
    let survey = survey(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(survey.file, "demo.jsonl");
    assert_eq!(survey.sha256, sha256_hex(&bytes));
    assert_eq!(
        (survey.row_count, survey.labelled_diagnosis_count),
        (50, 50)
    );
    let rows: Vec<_> = rows(&path).unwrap().map(Result::unwrap).collect();
    assert!(rows.iter().zip(0..).all(|(row, index)| row.index == index));
    let mut slices = BTreeMap::new();
    for slice in rows.iter().flat_map(|row| slices_of(&row.record)) {
        *slices.entry(slice).or_insert(0) += 1;
    }
    assert_eq!(survey.slices, slices);
}

#[test]
fn rows_have_the_numbers_of_their_lines() {
    let row = |id: &str| format!(r#"{{"id":"{id}","question":"q","contexts":[],"answer":"x"}}"#);
    let text = format!("\r\n{}\r\n\r\n \r\n{}", row("a"), row("b"));
    let (_folder, path) = written(text.as_bytes());
    let found: Vec<_> = rows(&path)
        .unwrap()
        .map(Result::unwrap)
        .map(|row| (row.index, row.place.line, row.record.id))
        .collect();
    assert_eq!(found, [(0, 2, "a".to_owned()), (1, 5, "b".to_owned())]);
}

#[test]
fn r31_slices_have_the_language() {
    let row = r#"{"id":"a","question":"q","contexts":[],"answer":"x","referenceAnswer":"y","language":"pt-BR","generatorModel":"m","tags":["t","t","s"]}"#;
    let other = r#"{"id":"b","question":"q","contexts":[],"answer":"x","language":"PT-br"}"#;
    let (_folder, path) = written(format!("{row}\n{other}\n").as_bytes());
    let survey = survey(&path).unwrap();
    let slices: Vec<_> = survey
        .slices
        .iter()
        .map(|(name, n)| (name.as_str(), *n))
        .collect();
    assert_eq!(
        slices,
        [
            ("generator_model=m", 1),
            ("language=pt-br", 2),
            ("tag=s", 1),
            ("tag=t", 1),
            ("variant=with_reference", 1),
            ("variant=without_reference", 1),
        ]
    );
}

/// The limits of a configuration are for whoever diagnoses the rows; one such row must not end an evaluation.
#[test]
fn r27_a_row_that_is_large_is_no_mistake_of_the_file() {
    let chunks: Vec<_> = (0..500)
        .map(|n| format!(r#"{{"id":"c{n}","text":"t"}}"#))
        .collect();
    let row = format!(
        r#"{{"id":"a","question":"{}","contexts":[{}],"answer":"x"}}"#,
        "q".repeat(1_000_000),
        chunks.join(",")
    );
    let (_folder, path) = written(row.as_bytes());
    assert_eq!(survey(&path).unwrap().row_count, 1);
}

#[test]
fn r37_the_loader_holds_no_rows() {
    let (_folder, path) = written(b"");
    let mut file = io::BufWriter::new(File::create(&path).unwrap());
    for n in 0..200_000 {
        writeln!(
            file,
            r#"{{"id":"{n}","question":"q","contexts":[],"answer":"x","tags":["{}"]}}"#,
            n % 50
        )
        .unwrap();
    }
    file.flush().unwrap();
    let mut pass = FirstPass::default();
    pass.read(&path, &mut open(&path).unwrap()).unwrap();
    assert_eq!(pass.survey.row_count, 200_000);
    // 20 bytes for each id, and as a list grows by doubling at most twice that.
    let held = pass.ids.held_bytes();
    assert!((200_000 * 20..=200_000 * 40).contains(&held), "{held}");
    assert_eq!(pass.survey.slices.len(), 51);
    assert!(pass.errors.is_empty());
}

#[test]
fn tags_are_for_grouping() {
    let (_folder, path) = written(b"");
    let mut file = io::BufWriter::new(File::create(&path).unwrap());
    for n in 0..=MAX_SLICE_COUNT / 50 {
        let tags: Vec<_> = (0..50).map(|tag| format!("\"{n}-{tag}\"")).collect();
        writeln!(
            file,
            r#"{{"id":"{n}","question":"q","contexts":[],"answer":"x","tags":[{}]}}"#,
            tags.join(",")
        )
        .unwrap();
    }
    file.flush().unwrap();
    let told = problems(&path);
    assert!(
        told.starts_with("data.jsonl has more than 100000 different tags"),
        "{told}"
    );
}

fn problems_of(text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("d.jsonl");
    std::fs::write(&path, text).unwrap();
    problems(&path)
}

#[test]
fn a_file_that_is_no_jsonl_is_told_once() {
    let row = r#"{"id":"a","question":"q","contexts":[],"answer":"x"}"#;
    for (text, what) in [
        (format!("[\n{row},\n{row}\n]\n"), "a JSON array"),
        (format!("\n[{row},{row}]"), "a JSON array"),
        (
            "{\n\"id\": \"a\",\n\"answer\": \"x\"\n}\n".to_owned(),
            "an object over several lines",
        ),
    ] {
        let told = problems_of(&text);
        assert_eq!(told.lines().count(), 1, "{told}");
        let expected = format!("this is {what}; each line must hold one whole object");
        assert!(told.ends_with(&expected), "{told}");
    }
}

#[test]
fn an_id_in_a_row_that_is_wrong_otherwise_is_still_taken() {
    let bad = r#"{"id":"a","question":5}"#;
    let good = r#"{"id":"a","question":"q","contexts":[],"answer":"x"}"#;
    let told = problems_of(&format!("{bad}\n{good}\n"));
    assert!(told.contains("d.jsonl:1: question: invalid type"), "{told}");
    assert!(
        told.contains("d.jsonl:2: id: is the same as in line 1"),
        "{told}"
    );
}
