//! The layers of ARCHITECTURE.md, held by reading the source: who may name whom.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Each module of the crate with the modules that it may name, in the order of the data flow.
const MODULES: [(&str, &[&str]); 18] = [
    ("domain", &[]),
    ("text", &[]),
    ("policy", &["domain"]),
    ("stats", &[]),
    ("pricing", &["domain"]),
    ("telemetry", &["domain"]),
    ("artifact", &["domain", "policy", "pricing"]),
    ("judge", &["domain", "text", "telemetry", "artifact"]),
    (
        "cascade",
        &[
            "domain",
            "text",
            "policy",
            "pricing",
            "telemetry",
            "artifact",
            "judge",
        ],
    ),
    (
        "dataset",
        &[
            "domain",
            "text",
            "policy",
            "pricing",
            "telemetry",
            "artifact",
            "judge",
        ],
    ),
    (
        "report",
        &[
            "domain",
            "text",
            "policy",
            "stats",
            "pricing",
            "telemetry",
            "artifact",
            "judge",
        ],
    ),
    (
        "eval",
        &[
            "domain",
            "text",
            "policy",
            "stats",
            "pricing",
            "telemetry",
            "artifact",
            "judge",
            "cascade",
            "dataset",
            "report",
        ],
    ),
    (
        "rpc",
        &[
            "domain",
            "policy",
            "telemetry",
            "artifact",
            "judge",
            "cascade",
        ],
    ),
    (
        "server",
        &[
            "domain",
            "policy",
            "telemetry",
            "artifact",
            "judge",
            "cascade",
            "rpc",
        ],
    ),
    ("client", &["domain", "artifact", "rpc"]),
    (
        "config",
        &[
            "domain",
            "policy",
            "telemetry",
            "artifact",
            "judge",
            "cascade",
            "server",
        ],
    ),
    (
        "app",
        &[
            "domain",
            "policy",
            "stats",
            "pricing",
            "telemetry",
            "artifact",
            "judge",
            "cascade",
            "dataset",
            "report",
            "eval",
            "rpc",
            "server",
            "client",
            "config",
        ],
    ),
    (
        "cli",
        &[
            "domain",
            "policy",
            "stats",
            "pricing",
            "telemetry",
            "artifact",
            "judge",
            "cascade",
            "dataset",
            "report",
            "eval",
            "rpc",
            "server",
            "client",
            "config",
            "app",
        ],
    ),
];

/// External crates that only some modules may name.
const EXTERNAL: [(&str, &[&str]); 42] = [
    ("tonic", &["rpc", "server", "client"]),
    ("tonic_health", &["server", "client"]),
    ("tonic_reflection", &["server"]),
    ("tonic_types", &["rpc"]),
    ("prost", &["rpc"]),
    ("prost_types", &["rpc"]),
    ("axum", &["server"]),
    ("hyper_util", &["server", "client"]),
    ("tower", &["server", "judge", "client"]),
    ("metrics", &["telemetry"]),
    ("metrics_exporter_prometheus", &["telemetry"]),
    ("tracing_subscriber", &["telemetry"]),
    ("sha2", &["artifact"]),
    ("statrs", &["stats"]),
    ("libm", &["stats", "judge"]),
    ("minijinja", &["report"]),
    ("indicatif", &["cli"]),
    ("toml", &["artifact", "config"]),
    ("serde_path_to_error", &["artifact"]),
    (
        "serde_json",
        &[
            "artifact", "judge", "dataset", "report", "eval", "rpc", "server", "config", "cli",
        ],
    ),
    ("reqwest", &["judge"]),
    ("rustls", &["judge", "server", "client"]),
    ("tokio_rustls", &["server", "client"]),
    ("webpki", &["server"]),
    ("arc_swap", &["server"]),
    ("hyper", &["judge", "server", "client"]),
    ("h2", &["judge"]),
    ("httpdate", &["judge"]),
    ("webpki_root_certs", &["judge"]),
    ("secrecy", &["judge", "server", "client"]),
    ("subtle", &["server"]),
    ("governor", &["judge"]),
    ("backon", &["judge"]),
    ("moka", &["judge"]),
    ("rten", &["judge"]),
    ("rten_tensor", &["judge"]),
    ("tokenizers", &["judge"]),
    ("prost_reflect", &["rpc"]),
    ("uuid", &["rpc", "server"]),
    ("sd_notify", &["server"]),
    ("clap", &["cli"]),
    ("anyhow", &["app", "cli"]),
];

/// Modules without tasks, clocks, files or sockets.
const PURE: [&str; 5] = ["domain", "text", "policy", "stats", "pricing"];
/// What a pure module never names.
const IMPURE: [&str; 8] = [
    "tokio",
    "async_trait",
    "futures_util",
    "std::fs",
    "std::net",
    "std::io",
    "std::time::Instant",
    "SystemTime",
];

struct Source {
    path: PathBuf,
    module: String,
    code: String,
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&root, &mut files);
    assert!(files.len() > 20, "found only {} source files", files.len());
    let read = |path: PathBuf| {
        let inside = path.strip_prefix(&root).unwrap().to_owned();
        let first = inside
            .components()
            .next()
            .unwrap()
            .as_os_str()
            .to_str()
            .unwrap()
            .to_owned();
        let module = first.trim_end_matches(".rs").to_owned();
        let code = without_tests_and_comments(&fs::read_to_string(&path).unwrap());
        Source {
            path: inside,
            module,
            code,
        }
    };
    files.into_iter().map(read).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "tests") {
                collect(&path, files);
            }
        } else if path.extension().is_some_and(|end| end == "rs")
            && path.file_name().is_some_and(|name| name != "tests.rs")
        {
            files.push(path);
        }
    }
}

/// Inline tests stand last in a file, so everything from their attribute on is left out.
fn without_tests_and_comments(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let lines = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The names that follow `prefix` where it stands as a path of its own.
fn names_after(code: &str, prefix: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices(prefix) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':' || c == '$') {
            continue;
        }
        let rest = &code[at + prefix.len()..];
        if let Some(list) = rest.strip_prefix('{') {
            let inside = list.split('}').next().unwrap_or(list);
            names.extend(
                inside
                    .split(',')
                    .map(|item| ident(item.trim()))
                    .filter(|name| !name.is_empty()),
            );
        } else {
            names.insert(ident(rest));
        }
    }
    names
}

fn ident(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

#[test]
fn every_module_names_only_the_modules_that_it_may_use() {
    let mut wrong = Vec::new();
    for source in sources() {
        if ["lib", "main"].contains(&source.module.as_str()) {
            continue;
        }
        let Some((_, allowed)) = MODULES.iter().find(|(module, _)| *module == source.module) else {
            wrong.push(format!(
                "src/{}: `{}` is in no layer",
                source.path.display(),
                source.module
            ));
            continue;
        };
        for name in names_after(&source.code, "crate::") {
            if name != source.module && !allowed.contains(&name.as_str()) {
                wrong.push(format!(
                    "src/{}: may not use `crate::{name}`",
                    source.path.display()
                ));
            }
        }
        if source.code.contains("super::super") {
            wrong.push(format!(
                "src/{}: names `super::super`; write the path from the crate",
                source.path.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn external_crates_stay_with_their_owners() {
    let mut wrong = Vec::new();
    for source in sources() {
        for (external, owners) in EXTERNAL {
            let is_named = source
                .code
                .match_indices(&format!("{external}::"))
                .any(|(at, _)| {
                    let before = source.code[..at].chars().next_back();
                    !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
                });
            let is_owner = owners.contains(&source.module.as_str())
                || (source.module == "main" && ["anyhow", "clap"].contains(&external));
            if is_named && !is_owner {
                wrong.push(format!(
                    "src/{}: may not use `{external}`",
                    source.path.display()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_core_is_pure() {
    let mut wrong = Vec::new();
    for source in sources()
        .iter()
        .filter(|source| PURE.contains(&source.module.as_str()))
    {
        for impure in IMPURE {
            if source.code.contains(impure) {
                wrong.push(format!("src/{}: names `{impure}`", source.path.display()));
            }
        }
        if source.code.contains("async fn") || source.code.contains(".await") {
            wrong.push(format!("src/{}: is asynchronous", source.path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_crate_lists_its_modules_in_the_order_of_the_layers() {
    let lib = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let listed: Vec<_> = lib
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .collect();
    assert_eq!(listed, MODULES.map(|(module, _)| module));
}

#[test]
fn files_are_short_and_say_what_they_are() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(&root.join("src"), &mut files);
    collect(&root.join("tests"), &mut files);
    let mut wrong = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let shown = path.strip_prefix(root).unwrap().display();
        if text.lines().count() > 600 {
            wrong.push(format!(
                "{shown}: has {} lines; split it by meaning",
                text.lines().count()
            ));
        }
        if !text.starts_with("//!") {
            wrong.push(format!("{shown}: does not start by saying what it is"));
        }
        if path.file_name().is_some_and(|name| name == "mod.rs") {
            wrong.push(format!("{shown}: write foo.rs beside foo/"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
