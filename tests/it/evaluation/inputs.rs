//! The files of a run: what it reads is never written over, and a result stands on one state of each.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::{good, run};
use crate::support::generated::{Generated, How};
use crate::support::process::{GUARD, command, stderr};

#[track_caller]
fn refused(args: &[String], part: &str) {
    let output = run(args);
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains(part), "{error}");
}

fn slow(rows: usize) -> Generated {
    Generated::new(How {
        rows,
        has_digest: false,
        simulates_latency: true,
        has_faults: false,
    })
}

/// Starts a run and waits until it has written a row.
fn begun(generated: &Generated, args: &[&str], rows: &Path) -> std::process::Child {
    let args = generated.evaluation(args);
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    let child = command(&args)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while fs::read_to_string(rows).map_or(0, |text| text.lines().count()) < 2 {
        assert!(start.elapsed() < GUARD, "it does not begin");
        thread::sleep(Duration::from_millis(2));
    }
    child
}

#[test]
fn what_is_read_is_not_written_over() {
    let generated = Generated::rows(5);
    let data = generated.data().display().to_string();
    let before = fs::read_to_string(&data).unwrap();
    for more in [
        &["--shard", "1/1", "--summary", &data, "--force"][..],
        &["--out", &generated.at("out"), "--record", &data, "--force"],
        &[
            "--out",
            &generated.at("out"),
            "--record",
            &generated.at("fast.jsonl"),
            "--resume",
        ],
    ] {
        refused(&generated.evaluation(more), "is read by this run");
    }
    assert_eq!(fs::read_to_string(&data).unwrap(), before);

    let notes = generated.at("notes");
    fs::write(&notes, "not of any run").unwrap();
    let resume = ["--shard", "1/1", "--summary", &notes, "--resume"];
    refused(&generated.evaluation(&resume), "is no rows file");
    assert_eq!(fs::read_to_string(&notes).unwrap(), "not of any run");
}

#[test]
fn two_runs_do_not_write_to_one_file() {
    let generated = slow(300);
    let out = generated.at("out");
    let rows = Path::new(&out).join("rows.jsonl");
    let mut child = begun(&generated, &["--out", &out, "--concurrency", "1"], &rows);
    for more in ["--resume", "--force"] {
        refused(
            &generated.evaluation(&["--out", &out, more]),
            "another run writes to it",
        );
    }
    child.kill().unwrap();
    child.wait().unwrap();
    good(&generated.evaluation(&["--out", &out, "--resume"]));
}

#[test]
fn a_run_is_not_continued_with_other_recorded_answers() {
    let generated = Generated::rows(20);
    let out = generated.at("out");
    good(&generated.evaluation(&["--out", &out]));
    let fast = generated.at("fast.jsonl");
    let other = fs::read_to_string(&fast).unwrap().replacen("0.", "0.0", 1);
    fs::write(&fast, other).unwrap();
    refused(
        &generated.evaluation(&["--out", &out, "--resume"]),
        "judges[0].answers_sha256",
    );
}

#[test]
fn a_file_that_is_changed_during_a_run_spoils_it() {
    let generated = slow(200);
    let out = generated.at("out");
    let rows = Path::new(&out).join("rows.jsonl");
    let child = begun(&generated, &["--out", &out, "--concurrency", "1"], &rows);
    let mut data = OpenOptions::new()
        .append(true)
        .open(generated.data())
        .unwrap();
    data.write_all(b"\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let error = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("was changed during the run"), "{error}");
    assert!(!Path::new(&out).join("report.json").exists());
}

/// An outage ends the run instead of writing off what is left.
#[test]
fn a_judge_that_gives_nothing_any_more_stops_the_run() {
    let generated = Generated::rows(400);
    let text = fs::read_to_string(generated.config()).unwrap();
    let http =
        "[judges.paid]\ntype = 'systemone'\nbase_url = 'http://127.0.0.1:1'\nmodel = 'fast-1'\n";
    let text = text.replace("atomic = \"fast\"", "atomic = \"paid\"") + http;
    fs::write(generated.config(), text).unwrap();
    let out = generated.at("out");
    let args = ["--live", "--mode", "atomic_only", "--out", &out];
    refused(
        &generated.evaluation(&args),
        "judge `paid` gave nothing 100 times in a row",
    );
    let rows = fs::read_to_string(Path::new(&out).join("rows.jsonl")).unwrap();
    assert!(rows.lines().count() < 200, "{}", rows.lines().count());
}
