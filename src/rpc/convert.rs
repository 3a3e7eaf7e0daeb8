//! Between messages and the domain.
//!
//! The names of the domain and the values of the Protobuf enums are the same vocabularies in the same order; a test
//! holds every pair equal.

pub mod policy;
pub mod request;
pub mod response;
pub mod verdict;

use crate::domain::Vocabulary;

/// The number of a value in its Protobuf enum, where 0 is "unspecified".
pub(super) fn number<V: Vocabulary>(value: V) -> i32 {
    // Vocabularies have a few dozen values at most.
    value.index() as i32 + 1
}

/// The number of a value, or of "unspecified".
pub(super) fn number_or_unspecified<V: Vocabulary>(value: Option<V>) -> i32 {
    value.map_or(0, number)
}

/// The value of a number; `None` for "unspecified", an error for one that is not known.
pub(super) fn value<V: Vocabulary>(number: i32) -> Result<Option<V>, i32> {
    if number == 0 {
        return Ok(None);
    }
    let index = usize::try_from(number - 1).map_err(|_| number)?;
    V::ALL.get(index).copied().map(Some).ok_or(number)
}

/// Counts and offsets stay far below 2^31; one that does not is shown as the largest.
pub(super) fn int32(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// A duration; one beyond ten thousand years cannot be measured.
pub(super) fn duration(duration: std::time::Duration) -> prost_types::Duration {
    prost_types::Duration {
        seconds: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        nanos: duration.subsec_nanos() as i32,
    }
}

#[cfg(test)]
mod tests;
