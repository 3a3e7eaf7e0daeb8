//! Shards and their merging: any split and any order gives the report of the single run.

use std::fs;
use std::path::Path;

use super::{assert_same, good, run};
use crate::support::generated::Generated;
use crate::support::process::stderr;

fn merge(generated: &Generated, files: &[String], out: &str) -> Vec<String> {
    let mut args = vec!["eval".to_owned(), "merge".to_owned()];
    args.extend_from_slice(files);
    args.extend(["--data".to_owned(), generated.at("data.jsonl")]);
    args.extend(["--out".to_owned(), out.to_owned()]);
    args
}

/// The rows files of all shards of a split.
fn shards(generated: &Generated, count: usize) -> Vec<String> {
    let shard = |index: usize| {
        let file = generated.at(&format!("shard-{index}-of-{count}.jsonl"));
        let shard = format!("{index}/{count}");
        good(&generated.evaluation(&["--mode", "all", "--shard", &shard, "--summary", &file]));
        file
    };
    (1..=count).map(shard).collect()
}

#[test]
fn any_split_and_order_of_shards_changes_no_bit() {
    let generated = Generated::rows(100);
    let whole = generated.at("whole");
    good(&generated.evaluation(&["--mode", "all", "--out", &whole]));
    for count in [1, 3, 7] {
        let mut files = shards(&generated, count);
        for turn in 0..2 {
            let out = generated.at(&format!("merged-{count}-{turn}"));
            good(&merge(&generated, &files, &out));
            assert_same(
                Path::new(&whole),
                Path::new(&out),
                &format!("{count} shards"),
            );
            files.rotate_left(count / 2);
            files.reverse();
        }
    }
}

#[test]
fn the_order_of_lines_changes_no_bit() {
    let generated = Generated::rows(100);
    let whole = generated.at("whole");
    good(&generated.evaluation(&["--mode", "all", "--out", &whole]));
    let rows = Path::new(&whole).join("rows.jsonl");
    let text = fs::read_to_string(&rows).unwrap();
    let (header, lines) = text.split_once('\n').unwrap();
    let mut lines: Vec<_> = lines.lines().collect();
    for turn in 1..4_usize {
        // A step that shares no factor with the number of lines visits each once.
        lines = (0..lines.len())
            .map(|n| lines[(n * 37 + turn) % lines.len()])
            .collect();
        let file = generated.at("shuffled.jsonl");
        fs::write(&file, format!("{header}\n{}\n", lines.join("\n"))).unwrap();
        let out = generated.at(&format!("out-{turn}"));
        good(&merge(&generated, &[file], &out));
        assert_same(Path::new(&whole), Path::new(&out), "shuffled");
    }
}

#[test]
fn what_is_missing_twice_or_of_another_evaluation_is_named() {
    let generated = Generated::rows(30);
    let files = shards(&generated, 3);
    let out = generated.at("merged");
    let told = |files: &[String]| {
        let output = run(&merge(&generated, files, &out));
        (output.status.code(), stderr(&output))
    };
    let (code, error) = told(&files[..2]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("10 of 30 rows are missing"), "{error}");
    assert!(error.contains("missing are the shards 3/3"), "{error}");

    let twice = [files.clone(), vec![files[1].clone()]].concat();
    let (code, error) = told(&twice);
    assert_eq!(code, Some(1), "{error}");
    // Which row stands first is a matter of which was done first.
    let place = format!(" (line 2 of {}) is there twice", files[1]);
    assert!(error.contains(&place), "{error}");

    let text = fs::read_to_string(&files[2]).unwrap();
    fs::write(&files[2], &text[..text.len() - 1]).unwrap();
    let (code, error) = told(&files);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("1 of 30 rows are missing"), "{error}");
    assert!(
        error.contains("holds 9 of the 10 rows of shard 3/3"),
        "{error}"
    );

    let other = text.replace("\"profile\":\"default\"", "\"profile\":\"other\"");
    fs::write(&files[2], other).unwrap();
    let (code, error) = told(&files);
    assert_eq!(code, Some(2), "{error}");
    assert!(
        error.contains("profile: `\"default\"` and `\"other\"`"),
        "{error}"
    );

    let broken = text.replacen("\n{\"index\":", "\n{\"place\":", 1);
    fs::write(&files[2], broken).unwrap();
    let (code, error) = told(&files);
    assert_eq!(code, Some(2), "{error}");
    let place = format!("{}:2: unknown field `place`", files[2]);
    assert!(error.contains(&place), "{error}");
}
