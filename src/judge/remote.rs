//! What judges over HTTP have in common: where they are, how they are spoken to, and what they may be shown.
//!
//! These are options only; a configuration is checked into them, and [`super::egress`] and the adapters act on them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub use reqwest::Url;
use serde_json::{Map, Value};

use super::view::ViewOptions;
use super::{JudgeInfo, JudgeType};
use crate::domain::dimension::DimensionSet;
use crate::domain::judgment::JudgmentSource;
use crate::domain::probability::Probability;
use crate::domain::trace::JudgeId;
use crate::domain::vocabulary;

/// A judge over HTTP.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteOptions {
    /// What is spoken.
    pub wire: Wire,
    /// Where, with which credentials, how often and how long.
    pub endpoint: EndpointOptions,
    /// Which model.
    pub model: ModelOptions,
    /// What the judge may be shown.
    pub view: ViewOptions,
    /// Whether its answers may be cached, if anything is.
    pub cache: bool,
}

/// What is spoken with a judge over HTTP.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wire {
    /// One request with named yes/no questions over one shared state.
    SystemOne,
    /// The same with questions in a list.
    OpenAiDecisions,
    /// A chat model whose log-probabilities of the labels are read.
    OpenAiLogprobs {
        /// How questions are spread over requests.
        layout: Layout,
        /// The least probability mass that the labels must have together.
        min_label_mass: Probability,
    },
    /// A chat model that answers in words.
    Chat {
        /// The most tokens that it may write.
        max_output_tokens: u32,
    },
    /// The same over the Messages API of Anthropic.
    Anthropic {
        /// The most tokens that it may write.
        max_output_tokens: u32,
    },
}

vocabulary! {
    /// How questions are spread over requests.
    "layout"
    pub enum Layout {
        /// All in one, each with a labelled slot.
        Packed = "packed",
        /// One request for each, at the same time.
        PerQuestion = "per_question",
    }
}

/// Where a judge is and how requests to it are kept harmless.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointOptions {
    /// What every path is put behind; its own path is kept.
    pub base_url: Url,
    /// The path of the judge below it, with its query if it has one; it begins with `/`.
    pub path: String,
    /// How the key is sent.
    pub auth: Auth,
    /// Where the key is; `None` for a judge without one.
    pub api_key: Option<SecretSource>,
    /// Further headers by lower-case name.
    pub headers: BTreeMap<String, HeaderSource>,
    /// Which certificates are trusted.
    pub roots: Roots,
    /// The longest time for a call with all its attempts.
    pub timeout: Duration,
    /// The longest time for one attempt.
    pub attempt_timeout: Duration,
    /// The most bytes of an answer, after decompression.
    pub max_response_bytes: usize,
    /// When an attempt is repeated.
    pub retry: RetryOptions,
    /// When the judge is left alone for a while.
    pub breaker: BreakerOptions,
    /// How much is sent in a minute.
    pub rate: RateOptions,
    /// How much is sent at once.
    pub concurrency: ConcurrencyOptions,
}

/// How the key is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// As `Authorization: Bearer KEY`.
    Bearer,
    /// As the value of this header.
    Header(String),
    /// Not at all.
    None,
}

/// Where a secret is; never the secret itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// In a variable of the environment.
    Env(String),
    /// In a file, which is read again when it changes and when the judge refuses the key.
    File(PathBuf),
}

/// Where the value of a header comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderSource {
    /// It stands in the configuration and is no secret.
    Literal(String),
    /// It is a secret.
    Secret(SecretSource),
}

/// Which certificates are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roots {
    /// Those inside the program.
    Bundled,
    /// Those of the operating system.
    System,
    /// Those of a PEM file, and no others.
    File(PathBuf),
}

/// When an attempt is repeated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RetryOptions {
    /// The most attempts of a call, 1 for no retry.
    pub max_attempts: u32,
    /// The most retries as a share of calls.
    pub budget_share: Probability,
    /// The delay before the first retry; it doubles with each.
    pub base_delay: Duration,
    /// The longest delay.
    pub max_delay: Duration,
}

/// When a judge is left alone for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerOptions {
    /// So many failed attempts in a row open the breaker.
    pub failure_count: u32,
    /// How long it stays open before one call may try.
    pub open: Duration,
}

/// How much is sent in a minute; `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateOptions {
    /// Requests a minute.
    pub requests_per_minute: Option<u32>,
    /// Estimated tokens a minute.
    pub tokens_per_minute: Option<u32>,
}

/// How much is sent at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcurrencyOptions {
    /// Requests in flight.
    pub max_in_flight: usize,
    /// Calls that wait for their turn.
    pub max_queued: usize,
}

/// Which model is asked and which may answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelOptions {
    /// The model that is asked for.
    pub model: String,
    /// The model that must answer; an answer of another one is refused.
    pub expect_model: Option<String>,
    /// Keys that are added to the body of every request; they replace ours of the same name.
    pub extra_body: Map<String, Value>,
}

impl RemoteOptions {
    /// What a judge with these options is.
    pub fn info(&self, judge_id: JudgeId, source: JudgmentSource) -> JudgeInfo {
        JudgeInfo {
            judge_id,
            judge_type: self.wire.judge_type(),
            requested_model: Some(self.model.model.clone()),
            dimensions: DimensionSet::ALL,
            source: Some(source),
            max_state_tokens: self.view.max_state_tokens,
            is_local: false,
        }
    }
}

impl EndpointOptions {
    /// Where requests go, for a reader: without a query, which may hold what is not for everybody.
    pub fn place(&self) -> String {
        let base = self.base_url.as_str().trim_end_matches('/');
        let path = self.path.split('?').next().unwrap_or_default();
        format!("{base}{path}")
    }
}

impl Wire {
    /// The type in the configuration.
    pub const fn judge_type(self) -> JudgeType {
        match self {
            Self::SystemOne => JudgeType::SystemOne,
            Self::OpenAiDecisions => JudgeType::OpenAiDecisions,
            Self::OpenAiLogprobs { .. } => JudgeType::OpenAiLogprobs,
            Self::Chat { .. } => JudgeType::Chat,
            Self::Anthropic { .. } => JudgeType::Anthropic,
        }
    }
    /// The most tokens that a judge in words may write; the other wires have none of their own.
    pub const fn max_output_tokens(self) -> Option<u32> {
        match self {
            Self::Chat { max_output_tokens } | Self::Anthropic { max_output_tokens } => {
                Some(max_output_tokens)
            }
            Self::SystemOne | Self::OpenAiDecisions | Self::OpenAiLogprobs { .. } => None,
        }
    }
}
