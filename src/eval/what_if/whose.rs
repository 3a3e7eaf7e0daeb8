//! Whose rows a replay file holds, so that a judge without rows and a judge without a role are told.

use std::collections::BTreeSet;

use super::Roles;

/// How many judges of a file are named.
const MAX_NAMED: usize = 16;

/// The judges that were met.
#[derive(Default)]
pub(super) struct Whose {
    /// The first by name.
    judges: BTreeSet<String>,
    /// Whether there are rows of the atomic and of the fallback judge.
    has: [bool; 2],
}

impl Whose {
    /// Notes a row of a judge.
    pub(super) fn see(&mut self, judge_id: &str, roles: Roles<'_>) {
        for (has, wanted) in self.has.iter_mut().zip([roles.atomic, roles.fallback]) {
            *has |= wanted == Some(judge_id);
        }
        self.name(judge_id);
    }

    fn name(&mut self, judge_id: &str) {
        if self.judges.contains(judge_id) {
            return;
        }
        self.judges.insert(judge_id.to_owned());
        if MAX_NAMED + 1 < self.judges.len() {
            self.judges.pop_last();
        }
    }

    /// The same with what another thread met.
    pub(super) fn plus(mut self, other: Self) -> Self {
        for judge_id in &other.judges {
            self.name(judge_id);
        }
        for (has, other) in self.has.iter_mut().zip(other.has) {
            *has |= other;
        }
        self
    }

    /// The first judge with a role that has no row.
    pub(super) fn missing<'a>(&self, roles: Roles<'a>) -> Option<&'a str> {
        let mut wanted = [roles.atomic, roles.fallback].into_iter().zip(self.has);
        wanted.find_map(|(judge_id, has)| judge_id.filter(|_| !has))
    }

    /// The first by name of the judges besides this one.
    pub(super) fn other_than(&self, judge_id: &str) -> Option<&str> {
        let mut others = self.judges.iter().filter(|other| *other != judge_id);
        others.next().map(String::as_str)
    }

    /// The judges, as they are told.
    pub(super) fn names(&self) -> String {
        let named = self.judges.iter().take(MAX_NAMED);
        let mut names: Vec<_> = named.map(|judge_id| format!("`{judge_id}`")).collect();
        if MAX_NAMED < self.judges.len() {
            names.push("others".to_owned());
        }
        names.join(", ")
    }
}
