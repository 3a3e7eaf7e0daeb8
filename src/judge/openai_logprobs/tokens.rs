//! The tokens that the model wrote, and the text that they make.
//!
//! Servers write tokens as text, as bytes, or with the marks of their tokenizer. The text made of them is only looked
//! through for labels, so a mark that is read as a space does no harm.

use serde::Deserialize;

use super::mass::{Candidate, Label};
use crate::judge::wire::scalar::Scalar;

/// A token that was written, with those that could have been.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Token {
    token: String,
    logprob: Scalar,
    bytes: Option<Vec<u8>>,
    top_logprobs: Option<Vec<Alternative>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Alternative {
    token: String,
    logprob: Scalar,
    bytes: Option<Vec<u8>>,
}

/// The text of tokens.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) text: String,
    /// Where each token begins, in bytes.
    starts: Vec<usize>,
}

impl Text {
    /// The text of all tokens.
    pub(super) fn of(tokens: &[Token]) -> Self {
        let (mut text, mut starts) = (String::new(), Vec::with_capacity(tokens.len()));
        for token in tokens {
            starts.push(text.len());
            text.push_str(&piece(&token.token, token.bytes.as_deref()));
        }
        Self { text, starts }
    }

    /// The index of the token that holds all of a place; `None` if several share it.
    pub(super) fn token_at(&self, place: &std::ops::Range<usize>) -> Option<usize> {
        let index = self
            .starts
            .partition_point(|&start| start <= place.start)
            .checked_sub(1)?;
        let end = self.starts.get(index + 1).copied();
        (place.end <= end.unwrap_or(self.text.len())).then_some(index)
    }
}

impl Token {
    /// The label that was written.
    pub(super) fn label(&self) -> Option<Label> {
        Label::of(&piece(&self.token, self.bytes.as_deref()))
    }

    /// Everything that is listed for the position, each token once.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        let of = |token: &str, bytes: Option<&[u8]>, logprob: &Scalar| Candidate {
            label: Label::of(&piece(token, bytes)),
            logprob: logprob.number().unwrap_or(f64::NAN),
        };
        let listed = self.top_logprobs.as_deref().unwrap_or_default();
        let is_listed = listed.iter().any(|other| other.token == self.token);
        let own = (!is_listed).then(|| of(&self.token, self.bytes.as_deref(), &self.logprob));
        let others = listed
            .iter()
            .map(|other| of(&other.token, other.bytes.as_deref(), &other.logprob));
        own.into_iter().chain(others).collect()
    }
}

/// The text of a token.
fn piece(token: &str, bytes: Option<&[u8]>) -> String {
    if is_special(token) {
        return "\n".to_owned();
    }
    if let Some(text) = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok())
        && !text.is_empty()
    {
        return text.to_owned();
    }
    if token == "<0x0A>" {
        return "\n".to_owned();
    }
    let plain = |c| match c {
        '\u{120}' | '\u{2581}' => ' ',
        '\u{10a}' => '\n',
        other => other,
    };
    token.chars().map(plain).collect()
}

/// Whether it ends a turn or steers the model and is no text.
fn is_special(token: &str) -> bool {
    token.starts_with("<|") && token.ends_with("|>")
        || ["</s>", "<s>", "<eos>", "<end_of_turn>", "[EOS]"].contains(&token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(json: &str) -> Vec<Token> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn tokens_make_one_text_whatever_their_marks() {
        let marked = tokens(
            r#"[{"token":"▁"},{"token":"01"},{"token":"Ġyes"},{"token":"Ċ"},{"token":"02"},
                {"token":"x","bytes":[32,110,111]},{"token":"<0x0A>"},{"token":"<|im_end|>"}]"#,
        );
        let text = Text::of(&marked);
        assert_eq!(text.text, " 01 yes\n02 no\n\n");
        assert_eq!(text.token_at(&(4..7)), Some(2));
        assert_eq!(marked[2].label(), Some(Label::Yes));
        assert_eq!(marked[5].label(), Some(Label::No));
        let split = Text::of(&tokens(r#"[{"token":"01 y"},{"token":"es"}]"#));
        assert_eq!(split.token_at(&(3..6)), None);
    }

    #[test]
    fn the_written_token_is_counted_once() {
        let both = tokens(
            r#"[{"token":"yes","logprob":-0.1,"top_logprobs":[{"token":"yes","logprob":-0.1},{"token":"no","logprob":-3}]},
                {"token":"yes","logprob":-3,"top_logprobs":[{"token":"no","logprob":-0.1}]},
                {"token":"yes","logprob":null,"top_logprobs":null}]"#,
        );
        assert_eq!(both[0].candidates().len(), 2);
        assert_eq!(both[1].candidates().len(), 2);
        assert_eq!(both[2].candidates().len(), 1);
        assert!(both[2].candidates()[0].logprob.is_nan());
    }
}
