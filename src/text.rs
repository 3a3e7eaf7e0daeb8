//! Text: words, numbers, sentences, statements, abstention, instructions to the judge, language and the estimate of tokens.
//!
//! Pure functions over strings. Offsets that leave this module count Unicode code points, half open. Lists of words are
//! English unless they say otherwise; [`language`] tells whether they apply.

pub mod abstention;
pub mod fold;
pub mod injection;
pub mod language;
pub mod numbers;
mod phrases;
pub mod sentences;
pub mod statements;
pub mod tokens;
pub mod words;

#[cfg(test)]
mod tests;
