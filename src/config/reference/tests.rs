use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::config::{Config, load};
use crate::domain::Vocabulary as _;
use crate::judge::JudgeType;

const OVER_HTTP: &str = "base_url = 'https://judge.example.com'\nmodel = 'm'\n";

/// The documenting section with the keys of a judge of this type.
fn section_of(judge_type: JudgeType) -> &'static str {
    match judge_type {
        JudgeType::Embedded => "judges.embedded",
        JudgeType::Onnx => "judges.model",
        JudgeType::Replay => "judges.recorded",
        JudgeType::SystemOne
        | JudgeType::OpenAiDecisions
        | JudgeType::OpenAiLogprobs
        | JudgeType::Chat
        | JudgeType::Anthropic => "judges.remote",
    }
}

fn loaded(text: &str) -> Result<Config, String> {
    let config = load(
        Some(("c.toml", text)),
        &BTreeMap::new(),
        Overrides::default(),
    );
    config.map_err(|error| error.to_string())
}

/// The keys of a section, from the message about an unknown one.
fn known(text: &str) -> BTreeSet<String> {
    let message = loaded(&format!("{text}zz = 1")).unwrap_err();
    let message = message
        .lines()
        .find(|line| line.contains("unknown key `zz`"));
    let (_, known) = message.unwrap().split_once("expected ").unwrap();
    let names = known.split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

/// The keys that the code knows in a documented section.
fn known_in(section: &str) -> BTreeSet<String> {
    let types = JudgeType::ALL.iter().map(|&judge_type| {
        let (name, of) = (judge_type.name(), section_of(judge_type));
        let rest = if of == "judges.remote" { OVER_HTTP } else { "" };
        (of, format!("[{of}]\ntype = '{name}'\n{rest}"))
    });
    let (of_types, headers): (Vec<_>, Vec<_>) = types.unzip();
    let own = of_types
        .iter()
        .zip(&headers)
        .filter(|(of, _)| **of == section);
    let own: BTreeSet<_> = own.flat_map(|(_, header)| known(header)).collect();
    if !own.is_empty() {
        return own;
    }
    let below = of_types
        .iter()
        .position(|of| section.starts_with(&format!("{of}.")));
    let header = below.map_or("", |place| &headers[place]);
    known(&format!("{header}[{section}]\n"))
}

#[test]
fn the_documented_keys_are_the_known_keys() {
    let sections = sections();
    let names: Vec<&str> = sections
        .iter()
        .map(|section| section.name.as_str())
        .collect();
    let mut count = 0;
    for section in &sections {
        let keys = section.keys.iter().map(|key| key.name.clone());
        let below = names
            .iter()
            .filter_map(|name| name.strip_prefix(&format!("{}.", section.name)));
        let documented: BTreeSet<_> = keys.chain(below.map(str::to_owned)).collect();
        assert_eq!(documented, known_in(&section.name), "{}", section.name);
        count += section.keys.len();
    }
    let tops: BTreeSet<_> = names
        .iter()
        .map(|name| name.split('.').next().unwrap().to_owned())
        .collect();
    assert_eq!(tops, known(""));
    assert!(80 < count, "only {count} keys");
}

#[test]
fn every_key_is_explained() {
    for section in sections() {
        for key in &section.keys {
            let (name, meaning) = (format!("{}.{}", section.name, key.name), &key.meaning);
            assert!(meaning.len() > 10, "{name}: `{meaning}`");
        }
    }
}

/// What `config print` shows where nothing else is set is what the reference tells.
#[test]
fn the_documented_defaults_hold() {
    let mut text = "[judges.recorded]\ntype = 'replay'\nfile = 'r'\n".to_owned();
    text += "[judges.model]\ntype = 'onnx'\ndir = 'd'\n";
    for judge_type in ["systemone", "openai_logprobs", "chat"] {
        text += &format!("[judges.{judge_type}]\ntype = '{judge_type}'\n{OVER_HTTP}");
    }
    text += "[server.tls]\ncert_file = 'c'\nkey_file = 'k'\n[server.auth]\ntoken_file = 't'\n";
    let printed = loaded(&text).unwrap().to_toml();
    let printed: toml::Table = printed.parse().unwrap();
    let get = |section: &str, key: &str| {
        let mut parts = section.split('.').chain([key]);
        let first = printed.get(parts.next()?)?;
        parts
            .try_fold(first, |value, part| value.get(part))
            .cloned()
    };
    let mut count = 0;
    for section in sections() {
        for key in section
            .keys
            .iter()
            .filter(|key| key.default == KeyDefault::Value)
        {
            let mut found = get(&section.name, &key.name);
            for judge_type in ["systemone", "openai_logprobs", "chat"] {
                let name = section
                    .name
                    .replace("judges.remote", &format!("judges.{judge_type}"));
                found = found.or_else(|| get(&name, &key.name));
            }
            let documented: toml::Table = format!("v = {}", key.value).parse().unwrap();
            assert_eq!(
                found.as_ref(),
                documented.get("v"),
                "{}.{}",
                section.name,
                key.name
            );
            count += 1;
        }
    }
    assert!(50 < count, "only {count} defaults");
}

#[test]
fn comments_belong_to_what_follows_them() {
    let text = "# About the file.\n\n# About a.\n[a]\n# One\n# and more. When absent, 2.\n# x = 1\n# y = 2\n\
                # Z:\n# z = 4\nz = 3\n\n# About b.\n# [a.b]\n# Its w; required.\n# w = \"v\"\n# Or 5.\n# v = 5";
    let sections = read(text);
    let told: Vec<_> = sections
        .iter()
        .map(|section| (&*section.name, &*section.meaning))
        .collect();
    assert_eq!(told, [("a", "About a."), ("a.b", "About b.")]);
    let keys = |place: usize| -> Vec<_> {
        let keys = sections[place].keys.iter();
        keys.map(|key| (&*key.name, &*key.value, key.default, &*key.meaning))
            .collect()
    };
    let shared = "One and more. When absent, 2.";
    assert_eq!(
        keys(0),
        [
            ("x", "1", KeyDefault::Absent, shared),
            ("y", "2", KeyDefault::Absent, shared),
            ("z", "3", KeyDefault::Value, "Z: `z = 4`."),
        ]
    );
    assert_eq!(
        keys(1),
        [
            ("w", "\"v\"", KeyDefault::Required, "Its w; required."),
            ("v", "5", KeyDefault::Value, "Or 5."),
        ]
    );
    assert_eq!(variable_of("a.b", "w"), "JUDGE_CASCADE__A__B__W");
}
