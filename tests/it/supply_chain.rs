//! What this is built from: licences, versions and sources, by the lists of `deny.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

fn deny() -> toml::Table {
    read("deny.toml").parse().unwrap()
}

/// The features with which this is built; what others bring need not be on this machine.
const FEATURES: &str = if cfg!(feature = "onnx") { "onnx" } else { "" };

/// What cargo says, without a network.
fn cargo(args: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    String::from_utf8(output.stdout).unwrap()
}

/// A package that is built or tested on this machine.
struct Package {
    name: String,
    version: String,
    licence: String,
}

/// All of them. The metadata list what optional dependencies would bring too; the tree has what is built.
fn packages() -> Vec<Package> {
    let told = cargo(&["-vV"]);
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    let metadata = cargo(&[
        "metadata",
        "--locked",
        "--offline",
        "--format-version",
        "1",
        "--filter-platform",
        host.unwrap(),
        "--features",
        FEATURES,
    ]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let tree = cargo(&[
        "tree",
        "--locked",
        "--offline",
        "--prefix",
        "none",
        "--format",
        "{p}",
        "--features",
        FEATURES,
    ]);
    let built: BTreeSet<&str> = tree
        .lines()
        .map(|line| line.split(" (").next().unwrap_or(line))
        .collect();
    let all = metadata["packages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|package| {
            let text = |key: &str| package[key].as_str().unwrap_or("").to_owned();
            Package {
                name: text("name"),
                version: text("version"),
                licence: text("license"),
            }
        });
    let packages: Vec<_> = all
        .filter(|package| built.contains(format!("{} v{}", package.name, package.version).as_str()))
        .collect();
    assert_eq!(
        packages.len(),
        built.iter().filter(|line| !line.is_empty()).count()
    );
    packages
}

/// Whether an SPDX expression can be met by allowed licences; `/` is an old way to write `OR`.
fn is_allowed(expression: &str, is_allowed_id: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let met = any(&mut words, is_allowed_id);
    assert_eq!(words.next(), None, "`{expression}` is no expression");
    met
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(words: &mut Words<'_>, is_allowed_id: &dyn Fn(&str) -> bool) -> bool {
    let mut met = all(words, is_allowed_id);
    while words.next_if_eq(&"OR").is_some() {
        met |= all(words, is_allowed_id);
    }
    met
}

fn all(words: &mut Words<'_>, is_allowed_id: &dyn Fn(&str) -> bool) -> bool {
    let mut met = one(words, is_allowed_id);
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, is_allowed_id);
    }
    met
}

fn one(words: &mut Words<'_>, is_allowed_id: &dyn Fn(&str) -> bool) -> bool {
    let word = words.next().unwrap();
    if word == "(" {
        let met = any(words, is_allowed_id);
        assert_eq!(words.next(), Some(")"));
        return met;
    }
    match words.next_if_eq(&"WITH") {
        Some(_) => is_allowed_id(&format!("{word} WITH {}", words.next().unwrap())),
        None => is_allowed_id(word),
    }
}

#[test]
fn licences_are_read_as_they_are_written() {
    let mit = |id: &str| id == "MIT";
    for met in [
        "MIT",
        "MIT OR GPL-3.0",
        "GPL-3.0/MIT",
        "(GPL-3.0 OR MIT) AND MIT",
        "X AND Y OR MIT",
        "Y WITH Z OR MIT",
    ] {
        assert!(is_allowed(met, &mit), "{met}");
    }
    for unmet in [
        "GPL-3.0",
        "MIT AND GPL-3.0",
        "MIT AND (GPL-3.0 OR X)",
        "MIT WITH X",
        "(MIT AND X) OR (X AND MIT)",
    ] {
        assert!(!is_allowed(unmet, &mit), "{unmet}");
    }
}

#[test]
fn every_licence_is_allowed_and_every_allowed_licence_is_used() {
    let deny = deny();
    let allowed: Vec<&str> = deny["licenses"]["allow"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(toml::Value::as_str)
        .collect();
    let packages = packages();
    assert!(100 < packages.len(), "only {} packages", packages.len());
    let mut used = BTreeSet::new();
    for Package { name, licence, .. } in &packages {
        assert!(
            is_allowed(licence, &|id| allowed.contains(&id)),
            "`{name}` has the licence `{licence}`"
        );
        used.extend(allowed.iter().filter(|allowed| licence.contains(**allowed)));
    }
    assert_eq!(
        used,
        allowed.iter().collect(),
        "deny.toml allows what nothing has"
    );
}

/// Every version of every package of a lock file.
fn versions(lock: &toml::Table) -> BTreeMap<&str, Vec<&str>> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in lock["package"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        versions
            .entry(name)
            .or_default()
            .push(package["version"].as_str().unwrap());
    }
    versions
}

/// Whether a version is one of `0.22`.
fn is_of(version: &str, part: &str) -> bool {
    version
        .strip_prefix(part)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[test]
fn no_package_is_there_twice_but_those_that_are_told() {
    let deny = deny();
    let skips = deny["bans"]["skip"].as_array().unwrap();
    let skips: Vec<(&str, &str)> = skips
        .iter()
        .map(|skip| skip["crate"].as_str().unwrap().split_once('@').unwrap())
        .collect();
    let packages = packages();
    let mut built: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for Package { name, version, .. } in &packages {
        built.entry(name).or_default().push(version);
    }
    for (name, versions) in built {
        let is_told = |version: &&str| {
            skips
                .iter()
                .any(|(skip, part)| *skip == name && is_of(version, part))
        };
        let untold: Vec<_> = versions
            .iter()
            .filter(|version| !is_told(version))
            .collect();
        assert!(
            untold.len() <= 1,
            "`{name}` is there as {untold:?}; a line in deny.toml must say why"
        );
    }
    // What only other platforms have is in the lock file and not in the metadata of this one.
    let lock: toml::Table = read("Cargo.lock").parse().unwrap();
    let locked = versions(&lock);
    for (name, part) in skips {
        let versions = locked.get(name).map_or(&[][..], Vec::as_slice);
        let is_needed = 1 < versions.len() && versions.iter().any(|version| is_of(version, part));
        assert!(
            is_needed,
            "deny.toml skips `{name}@{part}` without need: {versions:?}"
        );
    }
}

#[test]
fn every_package_comes_from_crates_io_with_a_checksum() {
    let lock: toml::Table = read("Cargo.lock").parse().unwrap();
    let mut count = 0;
    for package in lock["package"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        if name == env!("CARGO_PKG_NAME") {
            continue;
        }
        let get = |key: &str| package.get(key).and_then(toml::Value::as_str);
        assert_eq!(get("source"), Some(CRATES_IO), "{name}");
        assert_eq!(get("checksum").map(str::len), Some(64), "{name}");
        count += 1;
    }
    assert!(100 < count, "only {count} packages");
}

#[test]
fn unsafe_code_is_forbidden() {
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    assert_eq!(
        manifest["lints"]["rust"]["unsafe_code"].as_str(),
        Some("forbid")
    );
}

/// The commands of cargo that resolve dependencies, in a line without `--locked`.
fn unlocked(line: &str) -> Option<&str> {
    const COMMANDS: [&str; 10] = [
        "build", "install", "run", "clippy", "test", "doc", "check", "bench", "metadata", "tree",
    ];
    let code = line.split(" #").next().unwrap_or(line);
    let mut rest = code;
    while let Some((_, after)) = rest.split_once("cargo ") {
        // A toolchain may stand between: `cargo +1.95 build`.
        let mut words = after
            .split_whitespace()
            .skip_while(|word| word.starts_with('+'));
        let command = words
            .next()
            .unwrap_or("")
            .trim_matches(|c: char| !c.is_ascii_alphanumeric());
        if COMMANDS.contains(&command) {
            let own = after.split(['&', '|', ';', '`']).next().unwrap_or(after);
            if !own.contains("--locked") {
                return Some(code.trim());
            }
        }
        rest = after;
    }
    None
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, files);
        } else {
            files.push(path);
        }
    }
}

#[test]
fn every_build_of_ci_and_of_deploy_is_locked() {
    assert_eq!(unlocked("cargo build --release --locked"), None);
    assert_eq!(unlocked("    cargo fmt --check"), None);
    assert!(unlocked("RUN cargo build --release && x --locked").is_some());
    assert!(unlocked("cargo test --locked && cargo install x").is_some());
    assert!(unlocked("Run `cargo build`.").is_some());

    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in [".ci", "deploy"] {
        files_below(&root.join(folder), &mut files);
    }
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in files {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        count += text.matches("--locked").count();
        for line in text.lines().filter_map(unlocked) {
            wrong.push(format!("{}: `{line}` lacks --locked", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(4 <= count, "only {count}");
}
