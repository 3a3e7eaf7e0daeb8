//! Policy snapshots: strict TOML in, canonical JSON and its digest out.
//!
//! The digest is over the effective policy, so comments, order and spelled-out defaults do not change it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;

use super::digest::sha256_hex;
use crate::domain::diagnosis::{Action, Diagnosis};
use crate::domain::dimension::{Dimension, DimensionMap, DimensionRole};
use crate::domain::trace::{JudgeId, SnapshotId};
use crate::domain::{UnknownName, Vocabulary as _};
use crate::policy::action::ActionTable;
use crate::policy::thresholds::Thresholds;
use crate::policy::{ChunkRule, DimensionPolicy, Policy, UpstreamRule};

/// A policy with its identity.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicySnapshot {
    /// Its id and the digest of its canonical form.
    pub id: SnapshotId,
    /// The policy.
    pub policy: Arc<Policy>,
    /// Its file, as it was read.
    pub text: Arc<str>,
}

/// The built-in policies, by name.
pub const BUILT_IN: [(&str, &str); 3] = [
    ("parity-v1", include_str!("policies/parity-v1.toml")),
    (
        "lexical-default",
        include_str!("policies/lexical-default.toml"),
    ),
    (
        "systemone-example",
        include_str!("policies/systemone-example.toml"),
    ),
];

/// The ending of a key of `[actions]` that is for abstaining answers.
const ABSTAINED: &str = "_abstained";

/// Everything that is wrong with a policy file, each line `file:line: message`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct PolicyError(pub Vec<String>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    id: Spanned<String>,
    #[serde(default = "default_chunk_rule")]
    chunk_rule: ChunkRule,
    #[serde(default = "default_upstream")]
    upstream: UpstreamRule,
    #[serde(default)]
    history_is_evidence: bool,
    dimensions: Spanned<BTreeMap<Dimension, Spanned<DimensionRow>>>,
    #[serde(default)]
    fallback: BTreeMap<JudgeId, BTreeMap<Dimension, Spanned<Pair>>>,
    #[serde(default)]
    actions: BTreeMap<Spanned<String>, Action>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DimensionRow {
    fail_at: Option<f64>,
    pass_at: Option<f64>,
    role: DimensionRole,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    fail_at: f64,
    pass_at: f64,
}

const fn default_chunk_rule() -> ChunkRule {
    ChunkRule::Best
}

const fn default_upstream() -> UpstreamRule {
    UpstreamRule::Confident
}

/// A built-in policy, if there is one of that name.
pub fn built_in(name: &str) -> Option<Result<PolicySnapshot, PolicyError>> {
    let (_, text) = BUILT_IN.into_iter().find(|(known, _)| *known == name)?;
    Some(read(name, text))
}

/// Reads a policy file and lists everything that is wrong with it.
pub fn read(file: &str, text: &str) -> Result<PolicySnapshot, PolicyError> {
    let row: File = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        PolicyError(vec![format!(
            "{file}:{}: {}",
            line_of(text, offset),
            error.message().trim()
        )])
    })?;
    let mut reader = Reader {
        text,
        errors: Vec::new(),
    };
    let policy = reader.policy(row);
    if !reader.errors.is_empty() {
        reader.errors.sort();
        let lines = reader
            .errors
            .into_iter()
            .map(|(line, message)| format!("{file}:{line}: {message}"));
        return Err(PolicyError(lines.collect()));
    }
    let sha256 = sha256_hex(canonical(&policy).as_bytes());
    let id = SnapshotId {
        id: policy.id.as_str().into(),
        sha256: sha256.into(),
    };
    Ok(PolicySnapshot {
        id,
        policy: Arc::new(policy),
        text: text.into(),
    })
}

/// The line of a byte offset, counted from 1.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    1 + text
        .bytes()
        .take(offset)
        .filter(|&byte| byte == b'\n')
        .count()
}

struct Reader<'a> {
    text: &'a str,
    errors: Vec<(usize, String)>,
}

impl Reader<'_> {
    fn policy(&mut self, row: File) -> Policy {
        if row.id.get_ref().trim().is_empty() {
            self.add(row.id.span().start, "id: must not be blank");
        }
        let dimensions_at = row.dimensions.span().start;
        let mut rows = row.dimensions.into_inner();
        let dimensions = DimensionMap::from_fn(|dimension| match rows.remove(&dimension) {
            Some(row) => self.dimension(dimension, &row),
            None => {
                let message = format!(
                    "dimensions.{dimension}: missing; write role = \"off\" to leave it out"
                );
                self.add(dimensions_at, &message);
                OFF
            }
        });
        let fallback = row.fallback.into_iter().map(|(judge, mut pairs)| {
            let map = DimensionMap::from_fn(|dimension| {
                let pair = pairs.remove(&dimension)?;
                let path = format!("fallback.{judge}.{dimension}");
                self.thresholds(
                    &path,
                    pair.span().start,
                    pair.get_ref().fail_at,
                    pair.get_ref().pass_at,
                )
            });
            (judge, map)
        });
        let fallback = fallback.collect();
        Policy {
            id: row.id.into_inner(),
            dimensions,
            fallback,
            chunk_rule: row.chunk_rule,
            upstream: row.upstream,
            history_is_evidence: row.history_is_evidence,
            actions: self.actions(row.actions),
        }
    }

    fn dimension(&mut self, dimension: Dimension, row: &Spanned<DimensionRow>) -> DimensionPolicy {
        let (at, path) = (row.span().start, format!("dimensions.{dimension}"));
        let row = row.get_ref();
        let thresholds = match (row.fail_at, row.pass_at) {
            (Some(fail_at), Some(pass_at)) => self.thresholds(&path, at, fail_at, pass_at),
            (None, None) if row.role == DimensionRole::Off => None,
            (fail_at, _) => {
                let missing = if fail_at.is_none() {
                    "fail_at"
                } else {
                    "pass_at"
                };
                self.add(at, &format!("{path}: {missing} is missing"));
                None
            }
        };
        DimensionPolicy {
            thresholds,
            role: row.role,
        }
    }

    fn thresholds(
        &mut self,
        path: &str,
        at: usize,
        fail_at: f64,
        pass_at: f64,
    ) -> Option<Thresholds> {
        match Thresholds::new(fail_at, pass_at) {
            Ok(pair) => Some(pair),
            Err(error) => {
                self.add(at, &format!("{path}: {error}"));
                None
            }
        }
    }

    fn actions(&mut self, rows: BTreeMap<Spanned<String>, Action>) -> ActionTable {
        let mut table = ActionTable::default();
        // `X` sets both cases and `X_abstained` the one; a longer key sorts later, so the special case wins.
        for (key, action) in rows {
            let (name, abstained) = match key.get_ref().strip_suffix(ABSTAINED) {
                Some(name) => (name, &[true][..]),
                None => (key.get_ref().as_str(), &[false, true][..]),
            };
            match Diagnosis::from_name(name) {
                Ok(diagnosis) => {
                    for &abstained in abstained {
                        table.set(diagnosis, abstained, action);
                    }
                }
                Err(error) => self.unknown_action(&key, &error),
            }
        }
        table
    }

    fn unknown_action(&mut self, key: &Spanned<String>, error: &UnknownName) {
        self.add(
            key.span().start,
            &format!("actions.{}: {error}", key.get_ref()),
        );
    }

    fn add(&mut self, offset: usize, message: &str) {
        self.errors
            .push((line_of(self.text, offset), message.to_owned()));
    }
}

const OFF: DimensionPolicy = DimensionPolicy {
    thresholds: None,
    role: DimensionRole::Off,
};

/// Compact JSON of everything that a policy decides by, in a fixed order.
fn canonical(policy: &Policy) -> String {
    let pair = |pair: Option<Thresholds>| {
        pair.map_or_else(
            || "null".to_owned(),
            |pair| format!("[{},{}]", pair.fail_at(), pair.pass_at()),
        )
    };
    let actions: Vec<_> = policy
        .actions
        .iter()
        .map(|(diagnosis, abstained, action)| format!("[\"{diagnosis}\",{abstained},\"{action}\"]"))
        .collect();
    let dimensions: Vec<_> = policy
        .dimensions
        .iter()
        .map(|(dimension, row)| {
            format!(
                "[\"{dimension}\",\"{}\",{}]",
                row.role,
                pair(row.thresholds)
            )
        })
        .collect();
    let fallback: Vec<_> = policy
        .fallback
        .iter()
        .map(|(judge, pairs)| {
            let pairs: Vec<_> = pairs
                .iter()
                .map(|(d, p)| format!("[\"{d}\",{}]", pair(*p)))
                .collect();
            format!(
                "[{},[{}]]",
                serde_json::Value::from(judge.as_str()),
                pairs.join(",")
            )
        })
        .collect();
    format!(
        "{{\"actions\":[{}],\"chunk_rule\":\"{}\",\"dimensions\":[{}],\"fallback\":[{}],\"history_is_evidence\":{},\"id\":{},\"upstream\":\"{}\"}}",
        actions.join(","),
        policy.chunk_rule,
        dimensions.join(","),
        fallback.join(","),
        policy.history_is_evidence,
        serde_json::Value::from(policy.id.as_str()),
        policy.upstream,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> String {
        BUILT_IN[0].1.to_owned()
    }

    #[test]
    fn every_built_in_policy_is_read_and_named_by_its_id() {
        for (name, _) in BUILT_IN {
            let snapshot = built_in(name).unwrap().unwrap();
            assert_eq!(&*snapshot.id.id, name);
        }
        assert!(built_in("no-such-policy").is_none());
    }

    #[test]
    fn the_digest_follows_what_is_decided_and_not_how_it_is_written() {
        let digest = |text: &str| read("p.toml", text).unwrap().id.sha256;
        let plain = digest(&text());
        assert_eq!(digest(&format!("# a comment\n{}", text())), plain);
        assert_eq!(
            digest(&format!("history_is_evidence = false\n{}", text())),
            plain
        );
        assert_ne!(digest(&text().replacen("0.8", "0.81", 1)), plain);
        assert_ne!(
            digest(&format!("{}\n[actions]\nPASS = \"WARN\"\n", text())),
            plain
        );
    }

    #[test]
    fn all_problems_are_listed_with_their_lines() {
        let bad = "id = \"p\"\n[dimensions]\ngroundedness = { role = \"required\", fail_at = 0.9, pass_at = 0.1 }\n\
                   correctness = { role = \"required\", fail_at = 0.1 }\n[actions]\nFINE = \"ALLOW\"\n";
        let PolicyError(lines) = read("p.toml", bad).unwrap_err();
        assert!(
            lines.contains(
                &"p.toml:3: dimensions.groundedness: fail_at = `0.9` must be below pass_at = `0.1`"
                    .to_owned()
            ),
            "{lines:?}"
        );
        assert!(
            lines.contains(&"p.toml:4: dimensions.correctness: pass_at is missing".to_owned()),
            "{lines:?}"
        );
        assert!(
            lines
                .iter()
                .any(|line| line.starts_with("p.toml:6: actions.FINE: ")),
            "{lines:?}"
        );
        assert_eq!(
            lines
                .iter()
                .filter(|line| line.contains("missing; write role"))
                .count(),
            5
        );
    }

    #[test]
    fn an_unknown_key_is_an_error_with_its_line() {
        let PolicyError(lines) =
            read("p.toml", &text().replace("upstream", "upstraem")).unwrap_err();
        assert!(
            lines[0].starts_with("p.toml:4: unknown field `upstraem`"),
            "{lines:?}"
        );
    }

    #[test]
    fn an_action_for_abstaining_answers_overrides_the_general_one() {
        let text = format!(
            "{}\n[actions]\nANSWER_IRRELEVANT_abstained = \"ALLOW\"\nANSWER_IRRELEVANT = \"WARN\"\n",
            text()
        );
        let policy = read("p.toml", &text).unwrap().policy;
        assert_eq!(
            policy.actions.action(Diagnosis::AnswerIrrelevant, false),
            Action::Warn
        );
        assert_eq!(
            policy.actions.action(Diagnosis::AnswerIrrelevant, true),
            Action::Allow
        );
    }

    #[test]
    fn a_fallback_judge_may_have_thresholds_of_its_own() {
        let text = format!(
            "{}\n[fallback.llm]\ngroundedness = {{ fail_at = 0.4, pass_at = 0.6 }}\n",
            text()
        );
        let policy = read("p.toml", &text).unwrap().policy;
        let own = policy.fallback[&JudgeId::from("llm")][Dimension::Groundedness].unwrap();
        assert!((own.fail_at().value() - 0.4).abs() < f64::EPSILON);
    }
}
