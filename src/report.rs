//! Reports of evaluations: their model, and the same as JSON, Markdown and HTML.

pub mod bench;
pub mod html;
pub mod json;
pub mod markdown;
pub mod model;
mod outline;
mod shown;

#[cfg(test)]
mod tests;
