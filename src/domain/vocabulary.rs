//! Closed sets of names.
//!
//! Every enum that is named on a wire, in a file, in a metric or on a command line is declared once with its canonical
//! name; JSON, Protobuf, Prometheus and the command line all derive their spelling from it.

use std::fmt;

/// A closed set of names in the order of its Protobuf enum.
pub trait Vocabulary: Copy + Eq + fmt::Debug + Sized + 'static {
    /// What one name stands for, for error messages.
    const KIND: &'static str;
    /// Every value in order.
    const ALL: &'static [Self];

    /// The canonical name.
    fn name(self) -> &'static str;

    /// The place in [`Self::ALL`]; the number of the Protobuf value is one higher.
    fn index(self) -> usize;

    /// Looks a canonical name up.
    fn from_name(name: &str) -> Result<Self, UnknownName> {
        let found = Self::ALL.iter().copied().find(|value| value.name() == name);
        found.ok_or_else(|| UnknownName {
            kind: Self::KIND,
            name: name.to_owned(),
            known: Self::ALL.iter().map(|value| value.name()).collect(),
        })
    }
}

/// A name outside of its vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a {kind}; one of {}", known.join(", "))]
pub struct UnknownName {
    kind: &'static str,
    name: String,
    known: Vec<&'static str>,
}

/// Declares an enum with its canonical names.
macro_rules! vocabulary {
    (
        $(#[$meta:meta])*
        $kind:literal pub enum $type:ident { $( $(#[$doc:meta])* $variant:ident = $name:literal, )+ }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub enum $type { $( $(#[$doc])* #[serde(rename = $name)] $variant, )+ }

        impl $crate::domain::Vocabulary for $type {
            const KIND: &'static str = $kind;
            const ALL: &'static [Self] = &[ $( Self::$variant, )+ ];

            fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )+ }
            }

            fn index(self) -> usize {
                self as usize
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::domain::Vocabulary::name(*self))
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::domain::UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                $crate::domain::Vocabulary::from_name(name)
            }
        }
    };
}

pub(crate) use vocabulary;
