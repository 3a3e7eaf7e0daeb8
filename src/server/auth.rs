//! Who may call: the tokens of a file, and whether a call carries one of them.
//!
//! No token is ever shown, and only its digest is kept. A check compares with every digest and takes the same time
//! whatever is sent.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, header};
use secrecy::{ExposeSecret as _, SecretBox};
use subtle::{Choice, ConstantTimeEq as _};

use super::options::NamedFile;
use super::watched::{FileError, Watched};
use crate::artifact::digest::sha256;
use crate::telemetry::metrics::Metrics;
use crate::telemetry::metrics::server::CredentialKind;

/// More are not compared with each call.
const MAX_TOKENS: usize = 64;
/// A token that is shorter can be guessed.
const MIN_TOKEN_BYTES: usize = 16;
/// What stands before the token, in any case.
const SCHEME: &str = "bearer";

/// The tokens of which a call must carry one.
#[derive(Debug)]
struct Tokens(Vec<SecretBox<[u8; 32]>>);

impl Tokens {
    /// Reads a token from each line; empty lines and white space at the end of a line do not count.
    fn parse(file: &NamedFile, text: &[u8]) -> Result<Self, FileError> {
        // Some editors put a byte order mark before UTF-8 text.
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let mut tokens = Vec::new();
        for (at, line) in text.split(|&byte| byte == b'\n').enumerate() {
            let token = line.trim_ascii_end();
            if token.is_empty() {
                continue;
            }
            if let Some(problem) = problem(token) {
                let problem = format!("has a token in line {} that {problem}", at + 1);
                return Err(FileError::new(file, problem));
            }
            tokens.push(SecretBox::new(Box::new(sha256(token))));
        }
        match tokens.len() {
            0 => Err(FileError::new(file, "holds no token")),
            1..=MAX_TOKENS => Ok(Self(tokens)),
            _ => {
                let problem = format!("holds more than {MAX_TOKENS} tokens");
                Err(FileError::new(file, problem))
            }
        }
    }

    fn hold(&self, token: &[u8]) -> bool {
        let sent = sha256(token);
        let mut found = Choice::from(0);
        for known in &self.0 {
            found |= known.expose_secret().as_slice().ct_eq(&sent);
        }
        found.into()
    }
}

fn problem(token: &[u8]) -> Option<String> {
    if !token.iter().all(u8::is_ascii_graphic) {
        return Some("holds a character that is not printable ASCII, or a space".to_owned());
    }
    let is_short = token.len() < MIN_TOKEN_BYTES;
    is_short.then(|| format!("is shorter than {MIN_TOKEN_BYTES} characters"))
}

/// What lets calls in: the tokens of a file, which can change while calls run.
#[derive(Debug, Clone)]
pub struct Gate(Arc<Watched<Tokens>>);

impl Gate {
    /// A gate for calls with one of the tokens of a file.
    pub fn read(file: NamedFile) -> Result<Self, FileError> {
        let name = file.clone();
        let parse = move |contents: &[Vec<u8>]| Tokens::parse(&name, &contents.concat());
        let watched = Watched::read(vec![file], parse)?;
        Ok(Self(Arc::new(watched)))
    }

    /// Reads the file again whenever it changes; it never ends.
    pub async fn keep(self, interval: Duration, metrics: Arc<Metrics>) {
        self.0.keep(interval, CredentialKind::Token, &metrics).await;
    }

    /// Whether a call with these headers carries one token, and a right one.
    pub fn lets_in(&self, headers: &HeaderMap) -> bool {
        let mut sent = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(value), None) = (sent.next(), sent.next()) else {
            return false;
        };
        bearer(value.as_bytes()).is_some_and(|token| self.0.current().hold(token))
    }
}

/// The token of a value such as `Bearer TOKEN`.
fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked(SCHEME.len())?;
    let is_separated = token.first() == Some(&b' ');
    (scheme.eq_ignore_ascii_case(SCHEME.as_bytes()) && is_separated).then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests;
