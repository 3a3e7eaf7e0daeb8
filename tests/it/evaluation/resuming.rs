//! Runs that are killed and continued.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::{assert_same, good, run, sorted_rows};
use crate::support::generated::{Generated, How};
use crate::support::process::{GUARD, command, stderr};

fn with_latency(rows: usize) -> Generated {
    Generated::new(How {
        rows,
        has_digest: false,
        simulates_latency: true,
        has_faults: true,
    })
}

/// Starts a run and kills it once its rows file is so long; true if it was still at work.
fn killed_at(generated: &Generated, args: &[&str], rows: &Path, bytes: u64) -> bool {
    let args = generated.evaluation(args);
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let mut child = command(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    loop {
        let length = fs::metadata(rows).map_or(0, |file| file.len());
        if bytes <= length {
            child.kill().unwrap();
            return !child.wait().unwrap().success();
        }
        if let Some(status) = child.try_wait().unwrap() {
            panic!("it ended before it was killed: {status}");
        }
        assert!(start.elapsed() < GUARD, "it does not go on");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_run_that_is_killed_anywhere_is_continued_to_the_same_bytes() {
    let generated = with_latency(400);
    let whole = generated.at("whole");
    let recorded = generated.at("whole-record.jsonl");
    let all = ["--mode", "all"];
    good(&generated.evaluation(&[&all[..], &["--out", &whole, "--record", &recorded]].concat()));
    let length = fs::metadata(Path::new(&whole).join("rows.jsonl"))
        .unwrap()
        .len();

    let (out, record) = (generated.at("killed"), generated.at("killed-record.jsonl"));
    let rows = Path::new(&out).join("rows.jsonl");
    let args = [
        "--mode",
        "all",
        "--out",
        &out,
        "--record",
        &record,
        "--concurrency",
        "3",
        "--resume",
    ];
    let mut kills = 0;
    // The points are as odd as the lengths of rows are, and spread over the file.
    for point in 1..=20 {
        let bytes = length * point / 23 + point * point * 7;
        kills += usize::from(killed_at(&generated, &args, &rows, bytes));
    }
    assert_eq!(kills, 20, "every kill was in the middle");
    let output = good(&generated.evaluation(&args));
    assert_same(Path::new(&whole), Path::new(&out), "killed");
    assert_eq!(
        sorted_rows(&rows),
        sorted_rows(&Path::new(&whole).join("rows.jsonl"))
    );
    let lines = |path: &str| {
        let text = fs::read_to_string(path).unwrap();
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let is_same = lines(&record) == lines(&recorded);
    assert!(is_same, "recorded answers differ: {}", stderr(&output));
}

/// A kill can leave half a line, in either file.
#[test]
fn a_line_that_was_cut_off_is_evaluated_again() {
    let generated = Generated::rows(40);
    let (out, record) = (generated.at("out"), generated.at("record.jsonl"));
    let args = ["--mode", "all", "--out", &out, "--record", &record];
    good(&generated.evaluation(&args));
    let (folder, first) = (Path::new(&out), generated.folder().join("first"));
    fs::create_dir(&first).unwrap();
    for name in super::REPORTS {
        fs::copy(folder.join(name), first.join(name)).unwrap();
    }
    let rows = folder.join("rows.jsonl");
    let (whole, recorded) = (fs::read(&rows).unwrap(), fs::read(&record).unwrap());
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for cut in [
        0,
        10,
        header - 1,
        header,
        header + 1,
        whole.len() / 2,
        whole.len() - 1,
        whole.len(),
    ] {
        fs::write(&rows, &whole[..cut]).unwrap();
        // The answers about a row are written before the row, never after it; the last ones may be cut off too.
        let last = cut.max(header).min(whole.len());
        let done = whole[header..last]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        fs::write(&record, recorded_of(&whole, header, done, &recorded)).unwrap();
        good(&generated.evaluation(&[&args[..], &["--resume"]].concat()));
        assert_same(&first, folder, &format!("cut at {cut} of {}", whole.len()));
        let mut one: Vec<_> = fs::read_to_string(&record)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect();
        let text = String::from_utf8(recorded.clone()).unwrap();
        let mut other: Vec<_> = text.lines().map(str::to_owned).collect();
        one.sort();
        other.sort();
        assert!(one == other, "recorded answers differ, cut at {cut}");
    }
}

/// The recorded answers about the first rows of a rows file, and what a kill may leave behind them.
fn recorded_of(rows: &[u8], header: usize, done: usize, recorded: &[u8]) -> Vec<u8> {
    let rows = String::from_utf8(rows[header..].to_vec()).unwrap();
    let id = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["trace_id"].as_str().unwrap().to_owned()
    };
    let done: Vec<_> = rows.lines().take(done).map(id).collect();
    let text = String::from_utf8(recorded.to_vec()).unwrap();
    let mut kept = String::new();
    for line in text.lines() {
        if !done.contains(&id(line)) {
            // The answers of the first judge about the next row, and half of those of the second.
            kept.push_str(line);
            kept.push('\n');
            kept.push_str(&line[..line.len() / 2]);
            break;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    kept.into_bytes()
}

#[test]
fn a_run_is_continued_only_as_it_was_begun() {
    let generated = Generated::rows(20);
    let out = generated.at("out");
    good(&generated.evaluation(&["--out", &out]));
    let told = |more: &[&str]| {
        let output = run(&generated.evaluation(&[&["--out", &out], more].concat()));
        (output.status.code(), stderr(&output))
    };
    let (code, error) = told(&[]);
    assert_eq!(code, Some(2));
    assert!(
        error.contains("is there already") && error.contains("--resume"),
        "{error}"
    );
    let (code, error) = told(&["--resume", "--mode", "all", "--parity"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("modes: `[\"cascade\"]` and"), "{error}");
    assert!(error.contains("parity: `false` and `true`"), "{error}");
    assert!(!error.contains("policy"), "{error}");
    let (code, error) = told(&["--resume"]);
    assert_eq!(code, Some(0), "{error}");
    let (code, error) = told(&["--force", "--mode", "all"]);
    assert_eq!(code, Some(0), "{error}");
    let record = generated.at("late.jsonl");
    let (code, error) = told(&["--resume", "--mode", "all", "--record", &record]);
    assert_eq!(code, Some(2));
    assert!(error.contains("were not recorded"), "{error}");
}

/// Ctrl-C: the rows in flight are written, and the run says how to go on.
#[test]
fn a_signal_stops_a_run_that_can_be_continued() {
    let generated = with_latency(300);
    let out = generated.at("out");
    let rows = Path::new(&out).join("rows.jsonl");
    let args = generated.evaluation(&["--out", &out, "--concurrency", "2"]);
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let child = command(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while fs::metadata(&rows).map_or(0, |file| file.len()) < 10_000 {
        assert!(start.elapsed() < GUARD, "it does not go on");
        thread::sleep(Duration::from_millis(1));
    }
    let id = child.id().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(sent.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let error = stderr(&output);
    assert!(
        error.contains("SIGINT: waiting for the rows in flight"),
        "{error}"
    );
    assert!(
        error.contains("of 300 rows\nhint: the same command with --resume"),
        "{error}"
    );
    let text = fs::read_to_string(&rows).unwrap();
    assert!(text.ends_with('\n') && text.lines().count() < 301);
    good(&generated.evaluation(&["--out", &out, "--resume"]));
    assert_eq!(sorted_rows(&rows).len(), 300);
}

/// Recorded answers may have been paid for.
#[test]
fn no_option_writes_over_recorded_answers() {
    let generated = Generated::rows(20);
    let (out, record) = (generated.at("out"), generated.at("paid.jsonl"));
    good(&generated.evaluation(&["--out", &out, "--record", &record]));
    let paid = fs::read(&record).unwrap();
    let elsewhere = generated.at("elsewhere");
    for (out, option, told) in [
        (&out, "--force", "holds recorded answers already"),
        (&elsewhere, "--force", "holds recorded answers already"),
        (&elsewhere, "--quiet", "holds recorded answers already"),
        (&elsewhere, "--resume", "they are of another run"),
    ] {
        let mut args = generated.evaluation(&["--out", out, "--record", &record]);
        if option != "--quiet" {
            args.push(option.to_owned());
        }
        let output = run(&args);
        let error = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{option}: {error}");
        assert!(error.contains(told), "{option}: {error}");
        assert!(fs::read(&record).unwrap() == paid, "{option}");
    }
    let rows = Path::new(&out).join("rows.jsonl");
    assert_eq!(sorted_rows(&rows).len(), 20, "the rows are there too");
    fs::write(&rows, "").unwrap();
    let output = run(&generated.evaluation(&["--out", &out, "--record", &record, "--resume"]));
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(fs::read(&record).unwrap() == paid);
}

/// Judges that were down for a while leave no trace in the reports.
#[test]
fn failed_rows_are_asked_again_to_the_bytes_of_a_run_without_failures() {
    let generated = Generated::new(How {
        rows: 60,
        has_digest: true,
        simulates_latency: false,
        has_faults: false,
    });
    let (whole, recorded) = (generated.at("whole"), generated.at("whole.jsonl"));
    let all = ["--mode", "all"];
    good(&generated.evaluation(&[&all[..], &["--out", &whole, "--record", &recorded]].concat()));
    let files = ["fast", "slow"].map(|judge| generated.at(&format!("{judge}.jsonl")));
    let texts = files.clone().map(|file| fs::read_to_string(file).unwrap());
    for (step, (file, text)) in [7, 11].into_iter().zip(files.iter().zip(&texts)) {
        let lines = text.lines().enumerate();
        let kept = lines.filter(|(index, _)| index % step != 3);
        let kept: String = kept.map(|(_, line)| format!("{line}\n")).collect();
        fs::write(file, kept).unwrap();
    }
    let (out, record) = (generated.at("out"), generated.at("record.jsonl"));
    let args = [&all[..], &["--out", &out, "--record", &record]].concat();
    good(&generated.evaluation(&args));
    let resumed = |more: &[&str]| {
        let args = [&args[..], &["--resume"], more].concat();
        stderr(&good(&generated.evaluation(&args)))
    };
    // 3, 10, .. 59 and 3, 14, .. 58 of 60 rows; two of them are the same.
    let told =
        "60 rows are there already, 14 of them failed; --retry-failed asks about these again";
    let error = resumed(&[]);
    for (file, text) in files.iter().zip(&texts) {
        fs::write(file, text).unwrap();
    }
    assert!(error.contains(told), "{error}");
    let error = resumed(&["--retry-failed"]);
    assert!(
        error.contains("14 rows had failed and are asked about again"),
        "{error}"
    );
    assert!(
        error.contains("46 rows are there already, 0 of them failed\n"),
        "{error}"
    );
    assert_same(
        Path::new(&whole),
        Path::new(&out),
        "failed rows asked again",
    );
    let rows = |out: &str| sorted_rows(&Path::new(out).join("rows.jsonl"));
    assert!(rows(&whole) == rows(&out), "rows differ");
    let lines = |path: &str| {
        let text = fs::read_to_string(path).unwrap();
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert!(
        lines(&recorded) == lines(&record),
        "recorded answers differ"
    );
    assert!(!Path::new(&format!("{record}.new")).exists());
    let error = resumed(&["--retry-failed"]);
    assert!(
        error.contains("60 rows are there already, 0 of them failed\n"),
        "{error}"
    );
}
