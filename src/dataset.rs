//! Datasets: labelled traces in files.

mod check;
pub mod load;
pub mod record;
