//! The layers, the messages and their places.

mod remote;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;

use super::judges::EMBEDDED;
use super::profiles::{AtomicBinding, DEFAULT_PROFILE, PolicyRef};
use super::*;
use crate::artifact::policy;
use crate::domain::Vocabulary as _;
use crate::domain::probability::Probability;
use crate::judge::embedded::Clamp;

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = pairs.iter();
    pairs
        .map(|(k, v)| (format!("{PREFIX}{k}"), (*v).to_owned()))
        .collect()
}

fn file(text: &str) -> Result<Config, ConfigError> {
    load(
        Some(("c.toml", text)),
        &BTreeMap::new(),
        Overrides::default(),
    )
}

fn with(text: &str, pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
    load(
        Some(("c.toml", text)),
        &variables(pairs),
        Overrides::default(),
    )
}

#[track_caller]
fn fails(result: Result<Config, ConfigError>, expected: &[&str]) {
    let error = result.unwrap_err().to_string();
    let lines: Vec<_> = error.lines().collect();
    assert_eq!(lines, expected);
}

fn default_profile(config: &Config) -> &ProfileConfig {
    &config.profiles[&ProfileName::from(DEFAULT_PROFILE)]
}

#[test]
fn nothing_is_the_default() {
    let nothing = load(None, &BTreeMap::new(), Overrides::default()).unwrap();
    assert_eq!(nothing, Config::default());
    assert_eq!(file("").unwrap(), nothing);
    assert_eq!(file("# only a comment").unwrap(), nothing);
    let p = |number| Probability::try_from(number).unwrap();
    assert_eq!(Clamp::new(p(0.25), p(0.75)), Some(Clamp::default()));
}

#[test]
fn the_documented_file_is_the_default() {
    assert_eq!(file(DEFAULT_FILE).unwrap(), Config::default());
}

/// The keys of a section, from the message about an unknown one.
fn keys_of(section: &str, tag: &str) -> Vec<String> {
    let message = file(&format!("[{section}]\n{tag}zz = 1")).unwrap_err().0[0]
        .message
        .clone();
    let (_, known) = message.split_once("expected ").unwrap();
    known
        .split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

#[test]
fn later_layers_win() {
    let text = "[server]\nlisten = '127.0.0.1:1'\n[admin]\nlisten = '127.0.0.1:1'\n\
                [log]\nfilter = 'warn'\nformat = 'text'";
    let env = [
        ("ADMIN__LISTEN", "127.0.0.1:2"),
        ("SERVER__LISTEN", "127.0.0.1:2"),
    ];
    let flags = Overrides {
        listen: Some("127.0.0.1:3".to_owned()),
        log_format: Some("json".to_owned()),
        ..Overrides::default()
    };
    let config = load(Some(("c.toml", text)), &variables(&env), flags).unwrap();
    let mut expected = Config::default();
    expected.server.listen = Listen::Tcp("127.0.0.1:3".parse().unwrap());
    expected.admin.listen = "127.0.0.1:2".parse().unwrap();
    expected.log.filter = "warn".to_owned();
    assert_eq!(config, expected);
}

#[test]
fn every_flag_is_laid_over() {
    let flags = Overrides {
        listen: None,
        uds: Some("/run/x.sock".to_owned()),
        http_listen: Some("0.0.0.0:2".to_owned()),
        insecure_bind: true,
        admin_listen: Some("0.0.0.0:1".to_owned()),
        log_filter: Some("debug".to_owned()),
        log_format: Some("text".to_owned()),
    };
    let config = load(None, &BTreeMap::new(), flags).unwrap();
    let (path, mode) = ("/run/x.sock".into(), 0o660);
    assert_eq!(config.server.listen, Listen::Unix { path, mode });
    assert!(config.insecure_bind);
    assert_eq!(config.server.http_listen, "0.0.0.0:2".parse().ok());
    assert_eq!(config.admin.listen, "0.0.0.0:1".parse().unwrap());
    assert_eq!(
        (config.log.filter.as_str(), config.log.format),
        ("debug", LogFormat::Text)
    );
}

#[test]
fn a_variable_is_toml_or_else_a_string() {
    let config = with(
        "",
        &[
            ("JUDGES__EMBEDDED__CLAMP", "[0.1, 0.9]"),
            ("JUDGES__REC", "{ type = 'replay', file = 'r.jsonl' }"),
            ("JUDGES__REC__MODEL", "gpt-4o"),
            ("JUDGES__REC__SIMULATE_LATENCY", "true"),
            ("LOG__FILTER", "warn,judge_cascade=debug"),
            ("PROFILES__DEFAULT__ATOMIC__GROUNDEDNESS", "rec"),
            ("PROFILES__DEFAULT__ENFORCE_SHARE", "1"),
            ("SERVER__UDS", "/run/x.sock"),
            ("SERVER__UDS_MODE", "0600"),
            ("TIME__DEADLINE_MS", "2_000"),
        ],
    )
    .unwrap();
    assert_eq!(config.time.deadline, Duration::from_secs(2));
    assert_eq!(config.log.filter, "warn,judge_cascade=debug");
    let path = "/run/x.sock".into();
    assert_eq!(config.server.listen, Listen::Unix { path, mode: 0o600 });
    let JudgeConfig::Replay { file, options } = &config.judges[&JudgeId::from("rec")] else {
        panic!("not a replay judge");
    };
    assert_eq!(*file, PathBuf::from("r.jsonl"));
    assert_eq!(options.model.as_deref(), Some("gpt-4o"));
    assert!(options.simulate_latency);
    let atomic = &default_profile(&config).atomic;
    for &dimension in Dimension::ALL {
        let expected = if dimension == Dimension::Groundedness {
            "rec"
        } else {
            EMBEDDED
        };
        assert_eq!(atomic.judge(dimension).as_str(), expected);
    }
    assert_eq!(atomic.judges().len(), 2);
}

#[test]
fn problems_of_variables_and_flags_name_them_and_come_last() {
    let env = [
        ("JUDGES__EMBEDDED__CLAMP", "[0.1, [2]]"),
        ("LOG__LEVEL", "info"),
        ("PROFILES__DEFAULT__ATOMIC", "{ groundedness = 'x' }"),
        ("TIME__DEADLINE_MS", "soon"),
        ("TIME", "{}"),
    ];
    let flags = Overrides {
        listen: Some("here".to_owned()),
        ..Overrides::default()
    };
    let text = "[limits]\nmax_chunk_count = 0";
    fails(
        load(Some(("c.toml", text)), &variables(&env), flags),
        &[
            "c.toml:2: limits.max_chunk_count: `0` must be from 1 to 4096",
            "environment JUDGE_CASCADE__JUDGES__EMBEDDED__CLAMP: judges.embedded.clamp: \
             invalid type: sequence, expected a number",
            "environment JUDGE_CASCADE__LOG__LEVEL: log.level: unknown key `level`, expected `filter` or `format`",
            "environment JUDGE_CASCADE__PROFILES__DEFAULT__ATOMIC: profiles.default.atomic.groundedness: \
             `x` is not a configured judge; one of `embedded`",
            "environment JUDGE_CASCADE__TIME: must name a section and a key, as JUDGE_CASCADE__SECTION__KEY",
            "environment JUDGE_CASCADE__TIME__DEADLINE_MS: time.deadline_ms: \
             invalid type: string \"soon\", expected an integer",
            "--listen: server.listen: `here` is not an IP address and port such as `127.0.0.1:50051`",
        ],
    );
}

#[test]
fn a_variable_cannot_reach_into_a_value() {
    fails(
        with(
            "server = 1\n[profiles.default]\natomic = 'embedded'",
            &[
                ("PROFILES__DEFAULT__ATOMIC__GROUNDEDNESS", "embedded"),
                ("SERVER__LISTEN", "127.0.0.1:1"),
            ],
        ),
        &[
            "c.toml:1: server: must be a table, not integer",
            "environment JUDGE_CASCADE__PROFILES__DEFAULT__ATOMIC__GROUNDEDNESS: profiles.default.atomic.groundedness: \
             `profiles.default.atomic` is not a table",
            "environment JUDGE_CASCADE__SERVER__LISTEN: server.listen: `server` is not a table",
        ],
    );
}

#[test]
fn a_variable_mends_a_value_of_the_file() {
    let text = "[server]\nlisten = '0.0.0.0:1'\n[time]\ndeadline_ms = 'x'";
    assert!(file(text).is_err());
    let mended = with(
        text,
        &[
            ("TIME__DEADLINE_MS", "1"),
            ("SERVER__INSECURE_BIND", "true"),
        ],
    );
    assert_eq!(mended.unwrap().time.deadline, Duration::from_millis(1));
}

#[test]
fn names_of_files_are_relative_to_the_folder_of_the_file() {
    let text =
        "[judges.r]\ntype = 'replay'\nfile = 'r.jsonl'\n[profiles.default]\npolicy = 'p.toml'";
    let env = variables(&[
        ("PRICING__FILE", "/etc/p.json"),
        ("PROFILES__X__POLICY", "../p"),
    ]);
    let config = load(Some(("etc/jc/c.toml", text)), &env, Overrides::default()).unwrap();
    let policy = |name| config.profiles[&ProfileName::from(name)].policy.clone();
    assert_eq!(policy("default"), PolicyRef::File("etc/jc/p.toml".into()));
    assert_eq!(policy("x"), PolicyRef::File("etc/jc/../p".into()));
    assert_eq!(config.pricing_file, Some("/etc/p.json".into()));
    assert!(matches!(
        &config.judges[&JudgeId::from("r")],
        JudgeConfig::Replay { file, .. } if file == Path::new("etc/jc/r.jsonl")
    ));
}

#[test]
fn places_are_right_after_values_of_several_lines_and_with_windows_line_ends() {
    let text = "[log]\nfilter = \"\"\"\ninfo\\\n   \"\"\"\n\
                [judges.embedded]\nclamp = [\n  0.1,\n  0.9,\n]\n\n[time]\ndeadline_ms = 0\n\
                [limits]\nzz = 1";
    let expected = [
        "c.toml:12: time.deadline_ms: `0` must be from 1 to 600000",
        "c.toml:14: limits.zz: unknown key `zz`, expected one of `max_in_flight_traces`, `max_receiving_bytes`, \
         `max_chunk_count`, `max_text_bytes`, `max_history_turns`",
    ];
    fails(file(text), &expected);
    fails(file(&text.replace('\n', "\r\n")), &expected);
}

#[test]
fn tables_are_wanted_where_tables_stand() {
    fails(
        file("[[judges]]"),
        &["c.toml:1: judges: must be a table, not array"],
    );
    fails(
        file("profiles = 1"),
        &["c.toml:1: profiles: must be a table, not integer"],
    );
    fails(
        file("[judges]\nx = 'embedded'\n[profiles]\ny = true"),
        &[
            "c.toml:2: judges.x: must be a table, not string",
            "c.toml:4: profiles.y: must be a table, not boolean",
        ],
    );
}

#[test]
fn numbers_of_any_size_are_refused_with_their_range() {
    for number in ["-1", "0", "600001", "-9223372036854775808"] {
        let error = file(&format!("[time]\ndeadline_ms = {number}"));
        let line = format!("c.toml:2: time.deadline_ms: `{number}` must be from 1 to 600000");
        fails(error, &[&line]);
    }
    for odd in [
        "9223372036854775808",
        "1e300",
        "1.5",
        "nan",
        "99999999999999999999999999999999999999999999",
    ] {
        let error = file(&format!("[time]\ndeadline_ms = {odd}")).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("c.toml:2: time.deadline_ms: "),
            "{error}"
        );
    }
    for odd in ["nan", "-0.1", "inf"] {
        let error = file(&format!("[profiles.default]\nenforce_share = {odd}")).unwrap_err();
        assert!(
            error.to_string().ends_with("must be from 0 to 1"),
            "{error}"
        );
        assert!(file(&format!("[judges.embedded]\nclamp = [0.1, {odd}]")).is_err());
    }
}

#[test]
fn the_folders_of_fixtures_load_as_they_say() {
    let folder = |name: &str| {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("fixtures/configs")
            .join(name);
        let files = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let read = |path: PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(&path).unwrap())
        };
        files.map(read).collect::<BTreeMap<_, _>>()
    };
    let none = BTreeMap::new();
    let valid = folder("valid");
    assert!(valid.len() >= 4);
    for (name, text) in &valid {
        let config = load(Some((name, text)), &none, Overrides::default());
        assert_eq!(config.unwrap().warnings, [], "{name}");
    }
    let invalid = folder("invalid");
    assert!(invalid.len() >= 12);
    for (name, text) in &invalid {
        let expected = text
            .lines()
            .next()
            .unwrap()
            .strip_prefix("# expect: ")
            .unwrap();
        let error = load(Some((name, text)), &none, Overrides::default()).unwrap_err();
        let first = error.0[0].to_string();
        assert!(first.starts_with(expected), "{first}\n{expected}");
        assert!(name == "many.toml" || error.0.len() == 1, "{error}");
    }
}

#[test]
fn all_problems_are_told_at_once_in_order() {
    let text = include_str!("../../fixtures/configs/invalid/many.toml");
    let error = file(text).unwrap_err();
    let places: Vec<_> = error
        .0
        .iter()
        .map(|p| format!("{} {}", p.origin, p.path))
        .collect();
    assert_eq!(
        places,
        [
            "c.toml:3 server.listen",
            "c.toml:4 server.max_message_bytes",
            "c.toml:7 limits.max_chunks",
            "c.toml:10 time.deadline_ms",
            "c.toml:11 time.fallback_min_ms",
            "c.toml:15 judges.a.fiel",
            "c.toml:18 judges.b.type",
            "c.toml:21 profiles.default.atomic.correctness",
            "c.toml:22 profiles.default.fallback",
            "c.toml:23 profiles.default.policy",
            "c.toml:26 profiles.x.enforcement",
            "c.toml:28 prices",
        ]
    );
}

#[test]
fn what_is_hardly_meant_is_a_warning() {
    let warnings = |text: &str| {
        let warnings = file(text).unwrap().warnings;
        warnings.iter().map(Warning::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        warnings("[profiles.default]\nfallback = 'embedded'\n[server]\nuds_mode = '0600'"),
        [
            "c.toml:2: profiles.default.fallback: `embedded` is the only atomic judge too; it would be asked twice",
            "c.toml:4: server.uds_mode: has no effect without server.uds",
        ]
    );
    let two = "[judges.r]\ntype = 'replay'\nfile = 'r'\n[profiles.default]\nfallback = 'r'\n";
    assert!(warnings(two).is_empty());
    assert!(warnings(&format!("{two}atomic = {{ groundedness = 'r' }}")).is_empty());
}

#[test]
fn a_policy_that_decides_by_guesses_is_told() {
    let built_in = |name| policy::built_in(name).unwrap().unwrap().policy;
    let warned = |text: &str, policy: &Policy| {
        let config = file(text).unwrap();
        config.decided_guesses(default_profile(&config), policy)
    };
    for (name, _) in policy::BUILT_IN {
        assert!(warned("", &built_in(name)).is_empty(), "{name}");
    }
    let lexical = built_in("lexical-default");
    let wide = "[judges.embedded]\nclamp = [0.2, 0.7]";
    let told = warned(wide, &lexical);
    assert_eq!(told.len(), 5, "{told:?}");
    assert_eq!(
        told[0],
        "policy `lexical-default`: dimensions.context_sufficiency: fail_at = `0.2` and pass_at = `0.8` decide by \
         guesses of the judge `embedded`, which lie from 0.2 to 0.7"
    );
    let other = "[judges.r]\ntype = 'replay'\nfile = 'r'\n[profiles.default]\n";
    let all_but = "atomic = { context_sufficiency = 'r', context_conflict = 'r', answer_relevance = 'r', \
                   contradiction = 'r' }";
    assert_eq!(
        warned(&format!("{wide}\n{other}{all_but}"), &lexical).len(),
        1
    );
    assert!(warned(&format!("{wide}\n{other}atomic = 'r'"), &lexical).is_empty());
    let fallback = format!("{wide}\n{other}atomic = 'r'\nfallback = 'embedded'");
    assert_eq!(warned(&fallback, &lexical).len(), 5);
}

#[test]
fn the_effective_configuration_loads_to_itself() {
    for text in [
        "",
        include_str!("../../fixtures/configs/valid/replay-cascade.toml"),
        include_str!("../../fixtures/configs/valid/unix-socket.toml"),
        include_str!("../../fixtures/configs/valid/two-profiles.toml"),
        include_str!("../../fixtures/configs/valid/every-section.toml"),
    ] {
        let config = file(text).unwrap();
        let printed = config.to_toml();
        assert_eq!(file(&printed).unwrap(), config, "{printed}");
    }
    let defaults = Config::default();
    assert_eq!(defaults.sha256().len(), 64);
    assert_ne!(
        file("[time]\ndeadline_ms = 1").unwrap().sha256(),
        defaults.sha256()
    );
    for (section, tag) in [
        ("server", ""),
        ("time", ""),
        ("profiles.default", ""),
        ("spend", ""),
        ("cache", ""),
        ("log", ""),
    ] {
        for key in keys_of(section, tag) {
            assert!(defaults.to_toml().contains(&key), "{section}.{key}");
        }
    }
}

#[test]
fn a_table_that_names_one_judge_is_that_judge() {
    let text = "[profiles.default]\natomic = { groundedness = 'embedded' }";
    let expected = AtomicBinding::One(JudgeId::from(EMBEDDED));
    assert_eq!(default_profile(&file(text).unwrap()).atomic, expected);
}

#[test]
fn keys_of_any_letters_are_told_quoted() {
    let error = file("[server]\n\"a.b\" = 1").unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("c.toml:2: server.\"a.b\": unknown key `a.b`"),
        "{error}"
    );
    fails(
        file("[profiles.\"\"]"),
        &["c.toml:1: profiles.\"\": `` must be 1 to 64 of `a` to `z`, `0` to `9`, `_` and `-`"],
    );
}

proptest! {
    /// Whatever the text and the variable: no panic, and a place within the text.
    #[test]
    fn no_text_makes_it_panic(text in ".{0,80}", value in ".{0,20}") {
        let lines = 1 + text.matches('\n').count();
        if let Err(error) = with(&text, &[("JUDGES__EMBEDDED__CLAMP", &value)]) {
            for problem in error.0 {
                if let problem::Origin::File(place) = problem.origin {
                    prop_assert!(1 <= place.line && place.line <= lines);
                }
            }
        }
    }

    /// Words of the schema in any order.
    #[test]
    fn no_order_of_words_makes_it_panic(words in proptest::collection::vec(
        proptest::sample::select(vec![
            "[server]\n", "[judges.a]\n", "[[profiles.default]]\n", "[profiles.default]\n", "[judges", ".embedded]\n",
            "listen = ", "type = ", "atomic = ", "clamp = ", "'replay'\n", "'127.0.0.1:1'\n", "[0.1, 0.2]\n", "{ a = 1 }\n",
            "-1\n", "1e999\n", "\"\"\"\n", "\r\n", "server.", "judges.a.b.c = 1\n", "\u{feff}", "1979-05-27\n", "[",
        ]), 0..12,
    )) {
        _ = with(&words.concat(), &[("PROFILES__DEFAULT__ATOMIC__GROUNDEDNESS", "{ a = 1 }")]);
    }
}
