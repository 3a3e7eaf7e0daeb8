//! `config check` and `config print`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::authority::{Authority, SERVER, Valid};
use crate::support::process::{command, fixture, run, stderr, stdout};

fn files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(fixture(folder)).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// The valid configurations beside every file that they name.
fn complete(folder: &Path) -> Vec<PathBuf> {
    let valid = folder.join("configs/valid");
    fs::create_dir_all(valid.join("policies")).unwrap();
    for shared in [
        "replays/demo-atomic.jsonl",
        "replays/demo-fallback.jsonl",
        "pricing/demo.json",
    ] {
        let copy = folder.join(shared);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(fixture(shared), copy).unwrap();
    }
    let recorded = fs::read_to_string(fixture("replays/parity-atomic.jsonl")).unwrap();
    let recorded = recorded.replace("\"parity-atomic\"", "\"recorded\"");
    fs::write(valid.join("recorded.jsonl"), recorded).unwrap();
    fs::write(valid.join("gateway.key"), "not-a-real-key").unwrap();
    let authority = Authority::new("Authority");
    let server = authority.issue(SERVER, Valid::Now);
    server.write(&valid, &authority);
    let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/artifact/policies/parity-v1.toml");
    fs::copy(policy, valid.join("policies/strict.toml")).unwrap();
    let copy = |file: &PathBuf| {
        let copy = valid.join(name(file));
        fs::copy(file, &copy).unwrap();
        copy
    };
    files("configs/valid").iter().map(copy).collect()
}

#[test]
fn every_valid_configuration_is_valid_and_prints_to_itself() {
    let folder = tempfile::tempdir().unwrap();
    let configs = complete(folder.path());
    assert!(4 <= configs.len());
    for config in configs {
        let path = config.to_str().unwrap();
        let output = run(&["config", "check", "--config", path]);
        assert_eq!(output.status.code(), Some(0), "{path}: {}", stderr(&output));
        assert_eq!(stdout(&output), "the configuration is valid\n");
        assert_eq!(stderr(&output), "");

        let printed = run(&["config", "print", "--config", path]);
        assert_eq!(printed.status.code(), Some(0));
        let copy = folder.path().join("printed.toml");
        fs::write(&copy, &printed.stdout).unwrap();
        let copy = copy.to_str().unwrap();
        let again = run(&["config", "print", "--config", copy]);
        assert_eq!(stdout(&again), stdout(&printed), "{path}");
        let checked = run(&["config", "check", "--config", copy]);
        assert_eq!(
            checked.status.code(),
            Some(0),
            "{path}: {}",
            stderr(&checked)
        );
    }
}

#[test]
fn relative_names_print_to_names_relative_to_the_working_directory() {
    let folder = tempfile::tempdir().unwrap();
    complete(folder.path());
    let here = |args: &[&str]| {
        let output = command(args).current_dir(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let config = "configs/valid/replay-cascade.toml";
    let printed = here(&["config", "print", "--config", config]);
    fs::write(folder.path().join("printed.toml"), &printed).unwrap();
    here(&["config", "check", "--config", "printed.toml"]);
    let again = here(&["config", "print", "--config", "printed.toml"]);
    assert_eq!(again, printed);
}

#[test]
fn every_invalid_configuration_is_told_as_it_says() {
    let configs = files("configs/invalid");
    assert!(12 <= configs.len());
    for config in configs {
        let text = fs::read_to_string(&config).unwrap();
        let expected = text.lines().next().unwrap();
        let expected = expected.strip_prefix("# expect: ").unwrap();
        for command_name in ["check", "print"] {
            let mut told = command(&["config", command_name, "--config", name(&config)]);
            told.current_dir(config.parent().unwrap());
            let output = told.output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{config:?}");
            assert_eq!(stdout(&output), "");
            let told = stderr(&output);
            assert!(
                told.starts_with(&format!("error: {expected}")),
                "{told}\n{expected}"
            );
        }
    }
}

#[test]
fn all_problems_are_told_at_once_with_their_places() {
    let output = run(&[
        "config",
        "check",
        "--config",
        &fixture("configs/invalid/many.toml"),
    ]);
    let told = stderr(&output);
    assert!(10 <= told.lines().count(), "{told}");
    for line in told.lines() {
        assert!(line.contains("many.toml:"), "{line}");
    }
}

#[test]
fn a_file_that_a_configuration_names_must_be_there() {
    let output = run(&[
        "config",
        "check",
        "--config",
        &fixture("configs/valid/two-profiles.toml"),
    ]);
    assert_eq!(output.status.code(), Some(2));
    let told = stderr(&output);
    assert!(
        told.starts_with("error: judges.recorded.file: cannot read `")
            && told.contains("recorded.jsonl`: ")
            && told.contains("\nprofiles.strict.policy: cannot read `"),
        "{told}"
    );
    let output = run(&["config", "check", "--config", "/nowhere/c.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("error: cannot read `/nowhere/c.toml`: "));
}

#[test]
fn what_is_hardly_meant_is_a_warning_and_no_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.toml");
    let text = "[server]\nuds_mode = '0600'\n[judges.embedded]\nclamp = [0.1, 0.9]\n\
                [profiles.default]\nfallback = 'embedded'\n";
    fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    let output = run(&["config", "check", "--config", path]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stdout(&output), "the configuration is valid\n");
    let told = stderr(&output);
    for warning in [
        format!("warning: {path}:2: server.uds_mode: "),
        format!("warning: {path}:6: profiles.default.fallback: "),
        "warning: profiles.default: policy `lexical-default`: ".to_owned(),
    ] {
        assert!(
            told.lines().any(|line| line.starts_with(&warning)),
            "{told}"
        );
    }
    assert!(
        told.lines().all(|line| line.starts_with("warning: ")),
        "{told}"
    );
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let printed = |args: &[&str], environment: &[(&str, &str)]| {
        let mut print = command(&["config", "print"]);
        print.args(args).envs(environment.iter().copied());
        let output = print.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let file = fixture("configs/valid/every-section.toml");
    let has = |text: &str, line: &str| text.lines().any(|printed| printed == line);
    let by_file = printed(&["--config", &file], &[]);
    assert!(
        has(&by_file, "filter = \"warn,judge_cascade=debug\""),
        "{by_file}"
    );
    let environment = [
        ("JUDGE_CASCADE_CONFIG", &*file),
        ("JUDGE_CASCADE__LOG__FILTER", "error"),
    ];
    let by_environment = printed(&[], &environment);
    assert!(
        has(&by_environment, "filter = \"error\""),
        "{by_environment}"
    );
    assert!(
        has(&by_environment, "format = \"text\""),
        "{by_environment}"
    );
    let by_flag = printed(&["--log-filter", "debug"], &environment);
    assert!(has(&by_flag, "filter = \"debug\""), "{by_flag}");
    let mut misspelt = command(&["config", "check"]);
    misspelt.env("JUDGE_CASCADE__LOG__FLITER", "x");
    let output = misspelt.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("error: environment JUDGE_CASCADE__LOG__FLITER: "));
}
