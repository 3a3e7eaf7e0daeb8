//! Profiles: named bindings of judges, policy and mode.

use std::fmt;

use super::time::TimeOptions;
use crate::artifact::digest::sha256;
use crate::artifact::policy::PolicySnapshot;
use crate::domain::outcome::Enforcement;
use crate::domain::probability::Probability;
use crate::domain::trace::{ProfileName, TraceId};
use crate::domain::vocabulary;
use crate::judge::composite::Composite;

vocabulary! {
    /// What happens when the atomic judge is uncertain or fails.
    "fallback mode"
    pub enum FallbackMode {
        /// The fallback judge is asked within the deadline.
        Inline = "inline",
        /// It is not asked.
        None = "none",
    }
}

vocabulary! {
    /// What happens when the atomic judge fails as a whole.
    "reaction to a failed atomic judge"
    pub enum OnAtomicError {
        /// The fallback judge is asked.
        Fallback = "fallback",
        /// The call ends in an error.
        Fail = "fail",
    }
}

/// A named binding of judges, policy and mode.
pub struct Profile {
    /// Its name.
    pub name: ProfileName,
    /// The judge that is asked first.
    pub atomic: Composite,
    /// The judge that is asked when the first is uncertain or fails.
    pub fallback: Option<Composite>,
    /// What happens when the first is uncertain or fails.
    pub fallback_mode: FallbackMode,
    /// What happens when the first fails as a whole.
    pub on_atomic_error: OnAtomicError,
    /// The policy.
    pub policy: PolicySnapshot,
    /// Whether actions are in force.
    pub enforcement: Enforcement,
    /// The share of traces for which they are, by hash of the trace id.
    pub enforce_share: Probability,
    /// How the time of a call is shared out.
    pub time: TimeOptions,
}

impl Profile {
    /// Whether the action is in force for a trace: the same on every replica, whatever else it does.
    pub fn enforcement_for(&self, trace_id: &TraceId) -> Enforcement {
        match self.enforcement {
            Enforcement::Shadow => Enforcement::Shadow,
            Enforcement::Enforce if share_of(&self.name, trace_id) < self.enforce_share.value() => {
                Enforcement::Enforce
            }
            Enforcement::Enforce => Enforcement::Shadow,
        }
    }
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Profile")
            .field("name", &self.name)
            .field("policy", &self.policy.id)
            .finish_non_exhaustive()
    }
}

/// A fraction from 0 inclusive to 1 exclusive: the first 8 bytes of SHA-256 over a domain, the profile as salt and the
/// trace id.
fn share_of(profile: &ProfileName, trace_id: &TraceId) -> f64 {
    let input = format!("judge-cascade enforce_share\0{profile}\0{trace_id}");
    let digest = sha256(input.as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    // 53 bits are what a double holds, so the fraction stays below 1.
    (u64::from_be_bytes(first) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_spread_evenly_and_depend_on_the_profile() {
        let share = |profile: &str, id: usize| share_of(&profile.into(), &id.to_string().into());
        let below = (0..2000).filter(|&id| share("default", id) < 0.25).count();
        assert!(
            (400..600).contains(&below),
            "{below} of 2000 lie below 0.25"
        );
        assert!((0..2000).all(|id| (0.0..1.0).contains(&share("default", id))));
        assert!((share("default", 1) - share("other", 1)).abs() > f64::EPSILON);
    }
}
