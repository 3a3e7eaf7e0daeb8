//! The environment, and the flags that overrule it.
//!
//! The process environment is read once, by [`environment`]; everything else takes the map. Secrets are no part of a
//! configuration: [`variable`] looks up those that it names, when judges are built.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use toml::de::DeValue;

use super::problem::{ConfigError, Origin, Problem};

/// The variable that names the configuration file.
pub const CONFIG_VARIABLE: &str = "JUDGE_CASCADE_CONFIG";
/// What the variables of single keys begin with.
///
/// Two underscores, because an orchestrator sets variables such as `JUDGE_CASCADE_PORT` for a service of our name.
pub const PREFIX: &str = "JUDGE_CASCADE__";

/// What was said on the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--listen`: `server.listen`.
    pub listen: Option<String>,
    /// `--uds`: `server.uds`.
    pub uds: Option<String>,
    /// `--http-listen`: `server.http_listen`.
    pub http_listen: Option<String>,
    /// `--insecure-bind`: `server.insecure_bind`.
    pub insecure_bind: bool,
    /// `--admin-listen`: `admin.listen`.
    pub admin_listen: Option<String>,
    /// `--log-filter`: `log.filter`.
    pub log_filter: Option<String>,
    /// `--log-format`: `log.format`.
    pub log_format: Option<String>,
}

impl Overrides {
    /// Each flag with the key that it sets, and its value if it was said.
    pub(super) fn into_values<'a>(
        self,
    ) -> [(&'static str, [&'static str; 2], Option<DeValue<'a>>); 7] {
        let text = |text: Option<String>| text.map(|text| DeValue::String(text.into()));
        let insecure_bind = self.insecure_bind.then_some(DeValue::Boolean(true));
        [
            ("--listen", ["server", "listen"], text(self.listen)),
            ("--uds", ["server", "uds"], text(self.uds)),
            (
                "--http-listen",
                ["server", "http_listen"],
                text(self.http_listen),
            ),
            (
                "--insecure-bind",
                ["server", "insecure_bind"],
                insecure_bind,
            ),
            (
                "--admin-listen",
                ["admin", "listen"],
                text(self.admin_listen),
            ),
            ("--log-filter", ["log", "filter"], text(self.log_filter)),
            ("--log-format", ["log", "format"], text(self.log_format)),
        ]
    }

    /// The flag that sets a key, if there is one.
    pub(super) fn flag_of(section: &str, key: &str) -> Option<&'static str> {
        let mut flags = Self::default().into_values().into_iter();
        let found = flags.find(|(_, path, _)| *path == [section, key]);
        found.map(|(flag, _, _)| flag)
    }
}

/// The variables of the process that are ours.
pub fn environment() -> Result<BTreeMap<String, String>, ConfigError> {
    ours(std::env::vars_os())
}

/// A variable of the process that the configuration names, unless it is empty or not unicode.
pub fn variable(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "this is the one place")]
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The configuration file: the one of `--config`, else the one that `JUDGE_CASCADE_CONFIG` names unless it is empty.
pub fn config_file(flag: Option<PathBuf>, env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let named = env.get(CONFIG_VARIABLE).filter(|name| !name.is_empty());
    flag.or_else(|| named.map(PathBuf::from))
}

fn ours(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Result<BTreeMap<String, String>, ConfigError> {
    let mut ours = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, value) in variables {
        let readable = name.to_string_lossy().into_owned();
        if !readable.starts_with(PREFIX) && readable != CONFIG_VARIABLE {
            continue;
        }
        match (name.into_string(), value.into_string()) {
            (Ok(name), Ok(value)) => {
                ours.insert(name, value);
            }
            _ => problems.push(variable_problem(&readable, "is not unicode")),
        }
    }
    if problems.is_empty() {
        Ok(ours)
    } else {
        problems.sort_by_key(Problem::to_string);
        Err(ConfigError(problems))
    }
}

/// The path that a variable sets; `None` for a variable of something else.
pub(super) fn path_of(variable: &str) -> Option<Result<Vec<String>, Problem>> {
    let keys: Vec<_> = variable.strip_prefix(PREFIX)?.split("__").collect();
    let problem = if variable.chars().any(|letter| letter.is_ascii_lowercase()) {
        Some("must be written in capitals")
    } else if keys.len() < 2 || keys.iter().any(|key| key.is_empty()) {
        Some("must name a section and a key, as JUDGE_CASCADE__SECTION__KEY")
    } else {
        None
    };
    Some(match problem {
        Some(problem) => Err(variable_problem(variable, problem)),
        None => Ok(keys.iter().map(|key| key.to_ascii_lowercase()).collect()),
    })
}

fn variable_problem(variable: &str, message: &str) -> Problem {
    Problem {
        origin: Origin::Environment(variable.to_owned()),
        path: String::new(),
        message: message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_names_the_file_before_the_variable() {
        let env = |value: &str| BTreeMap::from([(CONFIG_VARIABLE.to_owned(), value.to_owned())]);
        let flag = || Some(PathBuf::from("flag.toml"));
        assert_eq!(config_file(flag(), &env("env.toml")), flag());
        assert_eq!(config_file(None, &env("env.toml")), Some("env.toml".into()));
        assert_eq!(config_file(None, &env("")), None);
        assert_eq!(config_file(None, &BTreeMap::new()), None);
    }

    #[test]
    fn variables_name_paths() {
        let path = |variable| path_of(variable).map(Result::unwrap);
        assert_eq!(path("JUDGE_CASCADE_PORT"), None);
        assert_eq!(
            path("JUDGE_CASCADE__TIME__DEADLINE_MS").unwrap(),
            ["time", "deadline_ms"]
        );
        assert_eq!(
            path("JUDGE_CASCADE__JUDGES__MY-JUDGE_2__FILE").unwrap(),
            ["judges", "my-judge_2", "file"]
        );
        for bad in ["", "TIME", "TIME__", "__TIME", "A____B", "time__x"] {
            let problem = path_of(&format!("{PREFIX}{bad}")).unwrap().unwrap_err();
            assert!(
                problem
                    .to_string()
                    .starts_with(&format!("environment {PREFIX}{bad}: must "))
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn only_our_variables_must_be_unicode() {
        use std::os::unix::ffi::OsStringExt as _;
        let odd = || OsString::from_vec(vec![b'x', 0xff]);
        let of = |name: OsString, value: OsString| ours([(name, value)].into_iter());
        assert_eq!(of("PATH".into(), odd()), Ok(BTreeMap::new()));
        assert_eq!(of(odd(), "x".into()), Ok(BTreeMap::new()));
        let error = of("JUDGE_CASCADE__LOG__FILTER".into(), odd()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "environment JUDGE_CASCADE__LOG__FILTER: is not unicode"
        );
        assert!(of(CONFIG_VARIABLE.into(), odd()).is_err());
    }
}
