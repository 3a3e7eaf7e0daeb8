//! Judges over HTTP: their keys, their defaults, and that no secret gets in or out.

use super::*;
use crate::artifact::policy;
use crate::judge::remote::{Auth, HeaderSource, Layout, RemoteOptions, Roots, SecretSource, Wire};
use crate::judge::view::Field;

const MINIMAL: &str = "[judges.j]\nbase_url = 'https://judge.example.com'\nmodel = 'm'\n";

fn judge(config: &Config) -> &RemoteOptions {
    match &config.judges[&JudgeId::from("j")] {
        JudgeConfig::Remote { options, .. } => options,
        other => panic!("{other:?}"),
    }
}

/// The judge of a type with further keys.
fn of(judge_type: &str, more: &str) -> RemoteOptions {
    let config = file(&format!("{MINIMAL}type = '{judge_type}'\n{more}"));
    judge(&config.unwrap()).clone()
}

/// The documented block with its comments taken away, for a judge of one type.
fn documented(judge_type: &str, without: &[&str]) -> String {
    let (_, rest) = DEFAULT_FILE.split_once("# [judges.remote]\n").unwrap();
    let block = rest.split_once("\n\n").unwrap().0;
    let keys = block.lines().filter_map(|line| {
        let line = line.strip_prefix("# ")?;
        let key = line.split_once(" = ").map(|(key, _)| key);
        let is_key =
            key.is_some_and(|key| key.bytes().all(|c| c.is_ascii_lowercase() || c == b'_'));
        let is_wanted = is_key && !without.iter().any(|left_out| key == Some(*left_out));
        let table = line.strip_prefix("[judges.remote.");
        table
            .map(|table| format!("[judges.j.{table}"))
            .or_else(|| is_wanted.then(|| line.to_owned()))
    });
    let keys: Vec<_> = keys.filter(|key| !key.starts_with("type = ")).collect();
    format!("[judges.j]\ntype = '{judge_type}'\n{}\n", keys.join("\n"))
}

#[test]
fn the_documented_keys_are_all_keys_and_their_values_are_the_defaults() {
    let not_default = [
        "expect_model",
        "api_key_env",
        "api_key_file",
        "auth",
        "path",
        "max_state_tokens",
        "requests_per_minute",
        "tokens_per_minute",
        "usd_per_minute",
        "usd_per_day",
        "calls_per_minute",
        "calls_per_day",
    ];
    for (judge_type, foreign) in [
        (
            "systemone",
            &["layout", "min_label_mass", "max_output_tokens"][..],
        ),
        (
            "openai_decisions",
            &["layout", "min_label_mass", "max_output_tokens"],
        ),
        ("openai_logprobs", &["max_output_tokens"]),
        (
            "chat",
            &["layout", "min_label_mass", "statements", "max_statements"],
        ),
        (
            "anthropic",
            &["layout", "min_label_mass", "statements", "max_statements"],
        ),
    ] {
        let config = file(&documented(judge_type, &[&not_default, foreign].concat())).unwrap();
        let minimal = of(judge_type, "");
        let mut defaults = judge(&config).clone();
        defaults.endpoint.base_url = minimal.endpoint.base_url.clone();
        defaults.model.model.clone_from(&minimal.model.model);
        assert_eq!(defaults, minimal, "{judge_type}");

        // With one of the two keys, everything that is documented can be set.
        let all = [foreign, &["api_key_file"]].concat();
        let options = file(&documented(judge_type, &all)).unwrap();
        let options = judge(&options);
        assert_eq!(options.endpoint.auth, Auth::Bearer);
        assert_eq!(options.view.max_state_tokens, Some(32_000));

        let known = keys_of("judges.j", &format!("type = '{judge_type}'\n"));
        let text = documented(judge_type, foreign);
        for key in known {
            let is_there = |line: &str| {
                line.starts_with(&format!("{key} = ")) || line == format!("[judges.j.{key}]")
            };
            assert!(text.lines().any(is_there), "{judge_type}: {key}");
        }
    }
}

#[test]
fn the_type_says_path_and_how_a_key_is_sent() {
    for (judge_type, path, auth) in [
        ("systemone", "/v1/systemone", Auth::Bearer),
        ("openai_decisions", "/v1/decisions", Auth::Bearer),
        ("openai_logprobs", "/v1/chat/completions", Auth::Bearer),
        ("chat", "/v1/chat/completions", Auth::Bearer),
        (
            "anthropic",
            "/v1/messages",
            Auth::Header("x-api-key".to_owned()),
        ),
    ] {
        let endpoint = of(judge_type, "").endpoint;
        assert_eq!((endpoint.path.as_str(), endpoint.auth), (path, Auth::None));
        let endpoint = of(judge_type, "api_key_env = 'K'").endpoint;
        assert_eq!(endpoint.auth, auth);
        assert_eq!(endpoint.api_key, Some(SecretSource::Env("K".to_owned())));
        let endpoint = of(judge_type, "api_key_file = 'k'\nauth = 'Api-Key'").endpoint;
        assert_eq!(endpoint.auth, Auth::Header("api-key".to_owned()));
        assert_eq!(endpoint.api_key, Some(SecretSource::File("k".into())));
    }
}

#[test]
fn a_version_at_the_end_of_the_base_url_is_not_doubled() {
    let place = |base: &str, path: &str| {
        let text = format!("[judges.j]\ntype = 'chat'\nmodel = 'm'\nbase_url = '{base}'\n{path}");
        let config = file(&text).unwrap();
        let endpoint = judge(&config).endpoint.clone();
        (endpoint.base_url.to_string(), endpoint.path)
    };
    let default = "/v1/chat/completions".to_owned();
    for (base, expected) in [
        ("https://a.example/v1", "https://a.example/"),
        ("https://a.example/openai/v1/", "https://a.example/openai"),
        ("https://a.example/openai", "https://a.example/openai"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/"),
        ("http://localhost:11434", "http://localhost:11434/"),
    ] {
        assert_eq!(place(base, ""), (expected.to_owned(), default.clone()));
    }
    assert_eq!(
        place("https://a.example/v1", "path = '/chat?api-version=1'"),
        (
            "https://a.example/v1".to_owned(),
            "/chat?api-version=1".to_owned()
        )
    );
}

#[test]
fn every_key_arrives() {
    let text = include_str!("../../../fixtures/configs/valid/remote-judges.toml");
    let config = file(text).unwrap();
    let remote = |name| match &config.judges[&JudgeId::from(name)] {
        JudgeConfig::Remote { options, .. } => options.clone(),
        other => panic!("{other:?}"),
    };
    let native = remote("native");
    assert_eq!(native.model.expect_model.as_deref(), Some("native-1.2"));
    let body = serde_json::json!({"safety": {"level": 2, "share": 0.5}, "tags": ["rag", true]});
    assert_eq!(serde_json::Value::Object(native.model.extra_body), body);
    assert_eq!(native.view.send_fields, Field::ALL);
    assert_eq!(native.view.redact.patterns().len(), 2);
    assert!(!native.cache);
    let endpoint = native.endpoint;
    assert_eq!(
        endpoint.base_url.as_str(),
        "https://judge.example.com/tenant"
    );
    assert_eq!(endpoint.timeout, Duration::from_secs(2));
    assert_eq!(endpoint.attempt_timeout, Duration::from_secs(2));
    assert_eq!(endpoint.roots, Roots::Bundled);
    assert_eq!(
        (endpoint.retry.max_attempts, endpoint.concurrency.max_queued),
        (1, 0)
    );
    assert_eq!(endpoint.rate.tokens_per_minute, Some(100_000));
    let headers: Vec<_> = endpoint.headers.into_iter().collect();
    assert_eq!(
        headers,
        [
            (
                "x-gateway-key".to_owned(),
                HeaderSource::Secret(SecretSource::File("gateway.key".into()))
            ),
            (
                "x-team".to_owned(),
                HeaderSource::Literal("search".to_owned())
            ),
        ]
    );
    let Wire::OpenAiLogprobs {
        layout,
        min_label_mass,
    } = remote("labels").wire
    else {
        panic!("not by log-probabilities");
    };
    assert_eq!((layout, min_label_mass.value()), (Layout::PerQuestion, 0.8));
    assert_eq!(
        remote("words").wire,
        Wire::Chat {
            max_output_tokens: 512
        }
    );
}

#[test]
fn variables_set_keys_of_judges_over_http() {
    let env = [
        ("JUDGES__J", "{ type = 'chat', model = 'm' }"),
        ("JUDGES__J__BASE_URL", "https://judge.example.com"),
        ("JUDGES__J__API_KEY_ENV", "K"),
        ("JUDGES__J__RETRY__MAX_ATTEMPTS", "3"),
        ("JUDGES__J__HEADERS__X-TEAM", "{ env = 'TEAM' }"),
    ];
    let config = with("", &env).unwrap();
    let endpoint = &judge(&config).endpoint;
    assert_eq!(endpoint.api_key, Some(SecretSource::Env("K".to_owned())));
    assert_eq!(endpoint.retry.max_attempts, 3);
    let team = HeaderSource::Secret(SecretSource::Env("TEAM".to_owned()));
    assert_eq!(endpoint.headers.get("x-team"), Some(&team));
    let env = [("JUDGES__J__API_KEY_ENV", "not a variable")];
    fails(
        with(&format!("{MINIMAL}type = 'chat'"), &env),
        &[
            "environment JUDGE_CASCADE__JUDGES__J__API_KEY_ENV: judges.j.api_key_env: \
           must be the name of a variable, of letters, digits and `_`",
        ],
    );
}

#[test]
fn all_problems_of_a_judge_are_told_at_once() {
    let text = "[judges.j]\ntype = 'systemone'\nbase_url = 'ftp://x'\npath = 'x'\nexpect_model = ''\n\
                auth = 'bearer'\nredact = ['(']\nmax_state_tokens = 0\nbreaker = { failure_count = 0 }\n\
                rate = { requests_per_minute = 0 }\nextra_body = { a = 2026-10-01, token = 'x' }";
    let error = file(text).unwrap_err();
    let paths: Vec<_> = error.0.iter().map(|problem| &*problem.path).collect();
    assert_eq!(
        paths,
        [
            "judges.j.model",
            "judges.j.base_url",
            "judges.j.path",
            "judges.j.expect_model",
            "judges.j.auth",
            "judges.j.redact",
            "judges.j.max_state_tokens",
            "judges.j.breaker.failure_count",
            "judges.j.rate.requests_per_minute",
            "judges.j.extra_body.a",
            "judges.j.extra_body.token",
        ]
    );
    let text =
        "[judges.j]\ntype = 'systemone'\nkey = 'a'\nlayout = 'packed'\nmax_output_tokens = 1";
    assert_eq!(file(text).unwrap_err().0.len(), 3);
}

#[test]
fn a_place_that_leads_elsewhere_is_refused() {
    for path in ["/../x", "/a/..", "/a/./b", "/%2e%2E/x", "/a\\b"] {
        let text = format!("{MINIMAL}type = 'chat'\npath = '{path}'");
        let error = file(&text).unwrap_err();
        assert_eq!(error.0[0].path, "judges.j.path", "{path}");
    }
    of("chat", "path = '/v1..x/...?a=../b'");
    for url in [
        "http://a.localhost:80",
        "http://localhost.example",
        "http://128.0.0.1",
        "http://[::2]",
        "http://localhost:0",
        "https://a.example:0",
    ] {
        let text = format!("[judges.j]\ntype = 'chat'\nmodel = 'm'\nbase_url = '{url}'");
        let error = file(&text).unwrap_err();
        assert_eq!(error.0[0].path, "judges.j.base_url", "{url}");
    }
    for url in ["http://localhost:1", "http://127.9.9.9", "http://[::1]:8"] {
        let text = format!("[judges.j]\ntype = 'chat'\nmodel = 'm'\nbase_url = '{url}'");
        file(&text).unwrap();
    }
}

/// Whatever key holds a secret by mistake, no message repeats it.
#[test]
fn no_secret_is_repeated_by_a_message() {
    const SECRET: &str = "sk-7f3a";
    for line in [
        "api_key = 'S'",
        "api_key_env = 'S'",
        "auth = 'S ='",
        "headers = { x-api-key = 'S' }",
        "headers = { x-a = 'S' }",
        "headers = { x-a = 'Bearer S' }",
        "auth = 'S'",
        "headers = { x-token = { env = 'S' } }",
        "headers = { x-a = \"S\\n\" }",
        "extra_body = { api_key = 'S' }",
        "path = '/v1?key=S'",
    ] {
        let text = format!("{MINIMAL}type = 'chat'\n{}", line.replace('S', SECRET));
        let told = file(&text).unwrap_err().to_string();
        assert!(!told.contains(SECRET), "{told}");
    }
    for url in [
        "https://u:S@h.example",
        "https://S@h.example",
        "https://h.example?key=S",
    ] {
        let url = url.replace('S', SECRET);
        let text = format!("[judges.j]\ntype = 'chat'\nmodel = 'm'\nbase_url = '{url}'");
        let told = file(&text).unwrap_err().to_string();
        assert!(!told.contains(SECRET), "{told}");
    }
}

#[test]
fn what_is_printed_loads_to_the_same() {
    let fixture = include_str!("../../../fixtures/configs/valid/remote-judges.toml");
    let keyed = format!(
        "{MINIMAL}type = 'anthropic'\napi_key_file = 'k'\nauth = 'x-key'\nroots = './ca.pem'\n\
         extra_body = {{ 'a.b' = 1.0, 'it\"s' = 'x', big = 1e300, empty = {{}} }}"
    );
    for text in [fixture, &keyed] {
        let config = file(text).unwrap();
        let printed = config.to_toml();
        assert_eq!(file(&printed).unwrap(), config, "{printed}");
    }
}

#[test]
fn a_judge_that_answers_in_words_is_told_when_it_is_asked_first() {
    let text = format!("{MINIMAL}type = 'chat'\n[profiles.default]\natomic = 'j'");
    let warnings = file(&text).unwrap().warnings;
    let told: Vec<_> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "c.toml:6: profiles.default.atomic: `j` is of type `chat`: its judgments are verbalized (1, 0.5 or 0) \
          and uncalibrated"
        ]
    );
    let text = format!("{MINIMAL}type = 'chat'\n[profiles.default]\nfallback = 'j'");
    assert!(file(&text).unwrap().warnings.is_empty());
}

#[test]
fn a_key_that_is_not_sent_is_told() {
    let text = format!("{MINIMAL}type = 'chat'\napi_key_env = 'K'\nauth = 'none'");
    let warnings = file(&text).unwrap().warnings;
    assert_eq!(
        warnings[0].to_string(),
        "c.toml:6: judges.j.auth: a key is set and `none` does not send it"
    );
}

#[test]
fn a_required_dimension_that_a_judge_is_not_shown_is_told() {
    let built_in = |name: &str| policy::built_in(name).unwrap().unwrap().policy;
    let told = |more: &str, policy: &str| {
        let text = format!(
            "{MINIMAL}type = 'systemone'\nsend_fields = ['question', 'chunks']\n[profiles.default]\n{more}"
        );
        let config = file(&text).unwrap();
        config.hidden_fields(default_profile(&config), &built_in(policy))
    };
    assert_eq!(
        told("atomic = 'j'", "lexical-default"),
        [
            "policy `lexical-default`: dimensions.groundedness: it is required, and the judge `j` cannot answer it: \
          its send_fields leave `answer` out"
        ]
    );
    assert_eq!(told("fallback = 'j'", "lexical-default").len(), 1);
    assert_eq!(told("atomic = 'j'", "systemone-example").len(), 5);
    assert!(told("", "systemone-example").is_empty());
}

#[test]
fn caps_are_exact_to_the_nano_dollar() {
    let caps = |more: &str| {
        let config = file(&format!("{MINIMAL}type = 'chat'\n[judges.j.spend]\n{more}"))?;
        match &config.judges[&JudgeId::from("j")] {
            JudgeConfig::Remote { spend, .. } => Ok(*spend),
            other => panic!("{other:?}"),
        }
    };
    assert!(caps("").unwrap().is_unlimited());
    let text =
        "usd_per_minute = 0.000000001\nusd_per_day = 20\ncalls_per_minute = 0\ncalls_per_day = 7";
    let spend = caps(text).unwrap();
    let money = |nano| Some(crate::domain::outcome::NanoUsd(nano));
    assert_eq!(spend.usd_per_minute, money(1));
    assert_eq!(spend.usd_per_day, money(20_000_000_000));
    assert_eq!(
        (spend.calls_per_minute, spend.calls_per_day),
        (Some(0), Some(7))
    );
    for bad in ["-1", "1e-10", "nan", "1e7"] {
        let error: ConfigError = caps(&format!("usd_per_day = {bad}")).unwrap_err();
        assert!(
            error.to_string().contains("judges.j.spend.usd_per_day: "),
            "{error}"
        );
    }
}

#[test]
fn a_limit_that_the_questions_nearly_use_up_is_told() {
    let warnings = |more: &str| {
        let warnings = file(&format!("{MINIMAL}{more}")).unwrap().warnings;
        warnings.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let small = "type = 'systemone'\nmax_state_tokens = ";
    assert_eq!(
        warnings(&format!("{small}480")),
        [
            "c.toml:5: judges.j.max_state_tokens: `480` leaves too little for a trace: the questions alone take about \
          698 tokens with one chunk; at least 898"
        ]
    );
    assert_eq!(warnings(&format!("{small}897")).len(), 1);
    assert!(warnings(&format!("{small}898")).is_empty());
    // A judge of one dimension is asked less, and so is one that is asked one question at a time.
    let only = "[profiles.default.atomic]\ngroundedness = 'j'";
    assert!(warnings(&format!("{small}480\n{only}")).is_empty());
    let alone = "type = 'openai_logprobs'\nlayout = 'per_question'\nmax_state_tokens = ";
    assert!(warnings(&format!("{alone}480")).is_empty());
    assert_eq!(warnings(&format!("{alone}300")).len(), 1);
}

#[test]
fn a_model_that_no_answer_can_name_is_refused() {
    for name in ["a".repeat(257), "a\\u0007b".to_owned()] {
        let text = format!("{MINIMAL}type = 'chat'\nexpect_model = \"{name}\"");
        let told = file(&text).unwrap_err().to_string();
        assert!(
            told.contains("judges.j.expect_model: must be at most 256 bytes"),
            "{told}"
        );
    }
}
