//! What is wrong with a configuration, and where.

use std::fmt;

use crate::artifact::lines::Place;

/// Everything that is wrong with a configuration, sorted by place: the file, then variables, then flags.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.0))]
pub struct ConfigError(pub Vec<Problem>);

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {}{message}", prefix(path))]
pub struct Problem {
    /// Where the offending value was set.
    pub origin: Origin,
    /// The dotted path of the key; empty if the problem is not about a key.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

/// Something that works and is hardly meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct Warning(pub Problem);

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// In the file.
    File(Place),
    /// By an environment variable.
    Environment(String),
    /// By a command line flag.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(place) => place.fmt(f),
            Self::Environment(variable) => write!(f, "environment {variable}"),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

fn lines(problems: &[Problem]) -> String {
    let lines: Vec<_> = problems.iter().map(Problem::to_string).collect();
    lines.join("\n")
}

fn prefix(path: &str) -> String {
    if path.is_empty() {
        String::new()
    } else {
        format!("{path}: ")
    }
}
