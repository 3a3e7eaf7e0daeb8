//! A bench against a stored one: once reached, later builds hold the value.

use crate::report::bench::{Bench, BenchSet};

/// How far below its stored value an AUROC may be.
const TOLERANCE: f64 = 0.01;

/// What came of the comparison, in words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Compared {
    /// Sets that were compared.
    pub set_count: usize,
    /// What is lower than it may be, or cannot be told.
    pub fallen: Vec<String>,
    /// Stored sets that were not measured.
    pub left_out: Vec<String>,
}

/// Compares the AUROC of groundedness of every stored set that has one.
pub fn compared(measured: &Bench, stored: &Bench) -> Compared {
    let mut result = Compared::default();
    for was in &stored.sets {
        let Some(before) = was.groundedness_auroc() else {
            continue;
        };
        match measured.set(&was.name) {
            None => result.left_out.push(was.name.clone()),
            Some(is) => {
                result.set_count += 1;
                result.fallen.extend(fallen(is, was, before));
            }
        }
    }
    result
}

fn fallen(is: &BenchSet, was: &BenchSet, before: f64) -> Option<String> {
    let name = &is.name;
    let rows = |set: &BenchSet| (set.file.sha256.clone(), set.row_count);
    if rows(is) != rows(was) {
        return Some(format!(
            "`{name}` is not of the rows that the stored value is of, so nothing can be compared"
        ));
    }
    match is.groundedness_auroc() {
        None => Some(format!(
            "`{name}`: groundedness has no AUROC; the stored one is {before:.4}"
        )),
        Some(now) if now < before - TOLERANCE => Some(format!(
            "`{name}`: AUROC of groundedness is {now:.4}, more than {TOLERANCE} below the stored {before:.4}"
        )),
        Some(_) => None,
    }
}
