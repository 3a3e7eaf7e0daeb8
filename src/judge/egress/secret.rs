//! Keys and other secrets of one judge, and the headers that carry them.
//!
//! A secret is read from a variable once, or from a file that is read again when it changes and when the judge refuses
//! it. A file that vanishes, empties or breaks leaves the old value in force. No value is ever shown.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::header::{AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};
use tokio::time::Instant;

use super::{EgressError, EgressErrors};
use crate::artifact::bounded;
use crate::judge::remote::{Auth, EndpointOptions, HeaderSource, SecretSource};

/// A file is looked at again after so long.
const READ_AGAIN: Duration = Duration::from_secs(1);
/// No secret is longer.
const MAX_BYTES: u64 = 65_536;
/// Headers that belong to the connection and not to the configuration.
const RESERVED: [HeaderName; 4] = [CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING];

/// The headers of one judge that come from its configuration.
pub(super) struct Secrets {
    literal: HeaderMap,
    slots: Vec<Slot>,
    state: Mutex<State>,
}

/// One header with a secret.
struct Slot {
    key: String,
    header: HeaderName,
    prefix: &'static str,
    source: SecretSource,
}

struct State {
    values: Vec<SecretString>,
    is_lost: Vec<bool>,
    version: Version,
    read_at: Instant,
}

/// Which values of the secrets were in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version(u64);

/// What happened to one secret when its file was read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// It has a new value; this is its key in the configuration.
    New(String),
    /// It cannot be read any more, and why.
    Lost(String, String),
}

impl Secrets {
    /// No headers at all.
    pub(super) fn none() -> Self {
        Self {
            literal: HeaderMap::new(),
            slots: Vec::new(),
            state: Mutex::new(State {
                values: Vec::new(),
                is_lost: Vec::new(),
                version: Version(0),
                read_at: Instant::now(),
            }),
        }
    }

    /// Reads every secret of a configuration.
    pub(super) fn read(
        options: &EndpointOptions,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, EgressErrors> {
        let mut secrets = Self::none();
        let mut errors = Vec::new();
        for (name, source) in &options.headers {
            errors.extend(secrets.add(name, source).err());
        }
        match api_key(options) {
            Ok(slot) => secrets.slots.extend(slot),
            Err(error) => errors.push(error),
        }
        let state = secrets
            .state
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        for slot in &secrets.slots {
            match slot.read(variable) {
                Ok(value) => {
                    state.values.push(value);
                    state.is_lost.push(false);
                }
                Err(message) => errors.push(EgressError::new(&slot.key, message)),
            }
        }
        if errors.is_empty() {
            Ok(secrets)
        } else {
            Err(EgressErrors(errors))
        }
    }

    fn add(&mut self, name: &str, source: &HeaderSource) -> Result<(), EgressError> {
        let key = format!("headers.{name}");
        let header = header_name(name, &key)?;
        match source {
            HeaderSource::Literal(value) => {
                let value = HeaderValue::from_str(value)
                    .map_err(|_| EgressError::new(&key, "is not the value of a header"))?;
                self.literal.insert(header, value);
            }
            HeaderSource::Secret(source) => self.slots.push(Slot {
                key,
                header,
                prefix: "",
                source: source.clone(),
            }),
        }
        Ok(())
    }

    /// The headers, and which values they carry; reads files again if that is due.
    pub(super) fn headers(&self, report: impl FnMut(Change)) -> (HeaderMap, Version) {
        let mut state = self.lock();
        if READ_AGAIN <= state.read_at.elapsed() {
            self.read_again(&mut state, report);
        }
        let mut headers = self.literal.clone();
        for (slot, value) in self.slots.iter().zip(&state.values) {
            let text = SecretString::from(format!("{}{}", slot.prefix, value.expose_secret()));
            if let Ok(mut value) = HeaderValue::from_str(text.expose_secret()) {
                value.set_sensitive(true);
                headers.insert(slot.header.clone(), value);
            }
        }
        (headers, state.version)
    }

    /// Reads every file again, and tells which values are in force now.
    pub(super) fn refused(&self, report: impl FnMut(Change)) -> Version {
        let mut state = self.lock();
        self.read_again(&mut state, report);
        state.version
    }

    fn read_again(&self, state: &mut State, mut report: impl FnMut(Change)) {
        state.read_at = Instant::now();
        for (place, slot) in self.slots.iter().enumerate() {
            let SecretSource::File(path) = &slot.source else {
                continue;
            };
            match read_file(path, slot) {
                Ok(value) => {
                    state.is_lost[place] = false;
                    if value.expose_secret() != state.values[place].expose_secret() {
                        state.values[place] = value;
                        state.version.0 += 1;
                        report(Change::New(slot.key.clone()));
                    }
                }
                Err(problem) => {
                    if !std::mem::replace(&mut state.is_lost[place], true) {
                        report(Change::Lost(slot.key.clone(), problem));
                    }
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn read(&self, variable: &dyn Fn(&str) -> Option<String>) -> Result<SecretString, String> {
        match &self.source {
            SecretSource::Env(name) => {
                let told = |problem: &str| format!("the variable `{name}` {problem}");
                let value = variable(name).ok_or_else(|| told("is not set"))?;
                checked(&value, self).map_err(|problem| told(&problem))
            }
            SecretSource::File(path) => read_file(path, self)
                .map_err(|problem| format!("the file `{}` {problem}", path.display())),
        }
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let keys = self.slots.iter().map(|slot| &slot.key);
        f.debug_list().entries(keys).finish()
    }
}

fn api_key(options: &EndpointOptions) -> Result<Option<Slot>, EgressError> {
    let Some(source) = options.api_key.clone() else {
        return Ok(None);
    };
    let key = match &source {
        SecretSource::Env(_) => "api_key_env",
        SecretSource::File(_) => "api_key_file",
    };
    let (header, prefix) = match &options.auth {
        Auth::Bearer => (AUTHORIZATION, "Bearer "),
        Auth::Header(name) => (header_name(name, "auth")?, ""),
        Auth::None => return Ok(None),
    };
    Ok(Some(Slot {
        key: key.to_owned(),
        header,
        prefix,
        source,
    }))
}

fn header_name(name: &str, key: &str) -> Result<HeaderName, EgressError> {
    let header = HeaderName::try_from(name)
        .map_err(|_| EgressError::new(key, format!("`{name}` is not the name of a header")))?;
    if RESERVED.contains(&header) {
        let message = format!("the header `{name}` belongs to the connection");
        return Err(EgressError::new(key, message));
    }
    Ok(header)
}

fn read_file(path: &Path, slot: &Slot) -> Result<SecretString, String> {
    // The end of the line does not count.
    let bytes = bounded::read(path, MAX_BYTES + 2);
    let bytes = SecretSlice::from(bytes.map_err(|error| format!("cannot be read: {error}"))?);
    let text = std::str::from_utf8(bytes.expose_secret());
    checked(text.map_err(|_| "is not UTF-8 text".to_owned())?, slot)
}

/// The secret without the end of its line, if it can stand in a header.
fn checked(text: &str, slot: &Slot) -> Result<SecretString, String> {
    let value = text.trim_end_matches(['\n', '\r']);
    // Only the value of a header of its own may hold spaces, as in `Basic abc`.
    let lowest = if slot.key.starts_with("headers.") {
        b' '
    } else {
        b'!'
    };
    if value.is_empty() {
        Err("is empty".to_owned())
    } else if MAX_BYTES < value.len() as u64 {
        Err(format!("is longer than {MAX_BYTES} bytes"))
    } else if value.bytes().all(|byte| (lowest..=b'~').contains(&byte)) {
        Ok(SecretString::from(value))
    } else {
        Err("holds a character that is not printable ASCII, or a space".to_owned())
    }
}

#[cfg(test)]
mod tests;
