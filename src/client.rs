//! The client: the same calls that any user of the service makes.

mod credentials;
mod fault;
mod readiness;
mod tls;

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, TimeoutExpired};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use self::credentials::Bearer;
use self::tls::Refusal;
use crate::rpc::pb;
use crate::rpc::pb::diagnosis_service_client::DiagnosisServiceClient;
use crate::rpc::status::code_name;

pub use self::credentials::{CertificateFiles, CredentialError, Credentials};
pub use self::readiness::{ReadinessError, is_ready};

/// How often a call is tried that the server turned away.
const MAX_ATTEMPTS: u32 = 5;
/// Before the second attempt; each further one waits twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(100);
/// The longest time to set a connection up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What is added to an error that a listener with TLS may be the cause of.
const TLS_HINT: &str =
    "; the connection broke before any answer: if the server speaks TLS, use https://";

/// A connection to a server.
#[derive(Debug, Clone)]
pub struct Client {
    diagnosis: DiagnosisServiceClient<Authorized>,
    health: HealthClient<Authorized>,
    refusal: Refusal,
    /// In clear text over TCP, until the server has answered once.
    may_want_tls: Arc<AtomicBool>,
}

/// A channel on which every call carries the token.
type Authorized = InterceptedService<Channel, Bearer>;

/// An endpoint that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// It is not an address.
    #[error(
        "`{endpoint}` is not an endpoint; write https://HOST:PORT, http://HOST:PORT or unix:PATH"
    )]
    Address {
        /// The address as it was given.
        endpoint: String,
        /// What is wrong with it.
        #[source]
        source: tonic::transport::Error,
    },
    /// It has a scheme that is not spoken.
    #[error("`{0}` is not an endpoint; write https://HOST:PORT, http://HOST:PORT or unix:PATH")]
    Scheme(String),
    /// Nobody answers there.
    #[error("cannot connect to `{endpoint}`")]
    Connect {
        /// The address as it was given.
        endpoint: String,
        /// What is wrong with it.
        #[source]
        source: tonic::transport::Error,
    },
    /// Whoever answers there is not trusted, or does not trust the client.
    #[error("cannot connect to `{endpoint}`: {problem}")]
    Trust {
        /// The address as it was given.
        endpoint: String,
        /// Why not, in words.
        problem: String,
    },
    /// Nobody would be trusted.
    #[error("`{0}` needs a file with the authorities to trust: --ca-file")]
    NoAuthorities(String),
    /// There is nobody to show a certificate to.
    #[error("--ca-file and --cert-file are for https, and `{0}` is not")]
    NotTls(String),
    /// A file cannot be used.
    #[error(transparent)]
    Credentials(#[from] CredentialError),
}

/// A call that ended in an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct CallFailed {
    /// The name of the status code.
    pub code: &'static str,
    /// What the server said.
    pub message: String,
}

impl From<Status> for CallFailed {
    /// The library calls its own time-out CANCELLED; to a caller it is a deadline that has passed.
    fn from(status: Status) -> Self {
        let code = match timed_out_here(&status) {
            true => Code::DeadlineExceeded,
            false => status.code(),
        };
        Self {
            code: code_name(code),
            message: status.message().to_owned(),
        }
    }
}

impl Client {
    /// Connects in clear text, to `http://HOST:PORT`, `HOST:PORT` or `unix:PATH`.
    pub async fn connect(endpoint: &str) -> Result<Self, EndpointError> {
        Self::connect_with(endpoint, &Credentials::default()).await
    }

    /// Connects to `https://HOST:PORT` too, and sends the token of the credentials with every call.
    pub async fn connect_with(
        endpoint: &str,
        credentials: &Credentials,
    ) -> Result<Self, EndpointError> {
        let bearer = credentials.bearer()?;
        let target = target(endpoint)?.connect_timeout(CONNECT_TIMEOUT);
        let is_clear = target.uri().scheme_str() == Some("http") && !endpoint.starts_with("unix:");
        let refusal = Refusal::default();
        let channel = if target.uri().scheme_str() == Some("https") {
            let Some(ca_file) = &credentials.ca_file else {
                return Err(EndpointError::NoAuthorities(endpoint.to_owned()));
            };
            let config = credentials.tls(ca_file)?;
            tls::connect(in_the_open(&target)?, config, refusal.clone()).await
        } else if credentials.need_tls() {
            return Err(EndpointError::NotTls(endpoint.to_owned()));
        } else {
            target.connect().await
        };
        let channel = channel.map_err(|source| not_connected(endpoint, source))?;
        let client = Self::authorized(channel, bearer, refusal);
        client.may_want_tls.store(is_clear, Ordering::Relaxed);
        Ok(client)
    }

    /// A client over a channel that exists.
    pub fn over(channel: Channel) -> Self {
        Self::authorized(channel, Bearer::NONE, Refusal::default())
    }

    fn authorized(channel: Channel, bearer: Bearer, refusal: Refusal) -> Self {
        let channel = InterceptedService::new(channel, bearer);
        Self {
            diagnosis: DiagnosisServiceClient::new(channel.clone())
                .max_decoding_message_size(usize::MAX),
            health: HealthClient::new(channel),
            refusal,
            may_want_tls: Arc::default(),
        }
    }

    /// Diagnoses one trace; a call that was turned away, or lost with its connection, is tried again.
    pub async fn diagnose(
        &self,
        request: pb::DiagnoseRequest,
        timeout: Option<Duration>,
    ) -> Result<pb::DiagnoseResponse, CallFailed> {
        let mut delay = FIRST_DELAY;
        for _ in 1..MAX_ATTEMPTS {
            let status = match self.diagnose_once(request.clone(), timeout).await {
                Ok(response) => return Ok(response),
                Err(status) => status,
            };
            if let Some(refused) = self.refused(&status) {
                return Err(refused);
            }
            if !is_worth_a_retry(&status) {
                return Err(status.into());
            }
            tokio::time::sleep(delay).await;
            delay *= 2;
        }
        let last = self.diagnose_once(request, timeout).await;
        last.map_err(|status| self.failed(status))
    }

    async fn diagnose_once(
        &self,
        request: pb::DiagnoseRequest,
        timeout: Option<Duration>,
    ) -> Result<pb::DiagnoseResponse, Status> {
        let mut request = Request::new(request);
        if let Some(timeout) = timeout {
            request.set_timeout(timeout);
        }
        let answer = self.diagnosis.clone().diagnose(request).await;
        Ok(self.noted(answer)?.into_inner())
    }

    /// What a profile runs.
    pub async fn policy(&self, profile: &str) -> Result<pb::GetPolicyResponse, CallFailed> {
        let request = pb::GetPolicyRequest {
            profile: profile.to_owned(),
        };
        let answer = self.diagnosis.clone().get_policy(request).await;
        let policy = self.noted(answer).map_err(|status| self.failed(status))?;
        Ok(policy.into_inner())
    }

    /// Whether the server says that it serves.
    pub async fn is_serving(&self) -> Result<bool, CallFailed> {
        let request = HealthCheckRequest::default();
        let answer = self.health.clone().check(request).await;
        let health = self.noted(answer).map_err(|status| self.failed(status))?;
        Ok(health.into_inner().status() == ServingStatus::Serving)
    }

    /// The same answer; a status without a source is one too.
    fn noted<T>(&self, answer: Result<T, Status>) -> Result<T, Status> {
        let is_answer = match &answer {
            Ok(_) => true,
            Err(status) => status.source().is_none(),
        };
        if is_answer {
            self.may_want_tls.store(false, Ordering::Relaxed);
        }
        answer
    }

    fn failed(&self, status: Status) -> CallFailed {
        if let Some(refused) = self.refused(&status) {
            return refused;
        }
        let is_unanswered = self.may_want_tls.load(Ordering::Relaxed);
        let hint = is_unanswered && status.source().is_some_and(fault::is_broken);
        let mut failed = CallFailed::from(status);
        if hint {
            failed.message.push_str(TLS_HINT);
        }
        failed
    }

    /// What is to be told if TLS is why the connection of a call broke.
    fn refused(&self, status: &Status) -> Option<CallFailed> {
        // A status of the server has no source.
        let problem = fault::of_tls(status.source()?).or_else(|| self.refusal.take())?;
        Some(CallFailed {
            code: code_name(Code::Unavailable),
            message: problem,
        })
    }
}

fn target(endpoint: &str) -> Result<Endpoint, EndpointError> {
    let has_scheme = endpoint.starts_with("unix:") || endpoint.contains("://");
    let address = if has_scheme {
        endpoint.to_owned()
    } else {
        format!("http://{endpoint}")
    };
    let target = Endpoint::from_shared(address).map_err(|source| EndpointError::Address {
        endpoint: endpoint.to_owned(),
        source,
    })?;
    // Any other would be dialled in clear text. A Unix socket has the scheme `http` here.
    match target.uri().scheme_str() {
        Some("http" | "https") => Ok(target),
        _ => Err(EndpointError::Scheme(endpoint.to_owned())),
    }
}

/// The same target without TLS of the library, for connections that bring their own.
fn in_the_open(target: &Endpoint) -> Result<Endpoint, EndpointError> {
    let origin = target.uri().clone();
    let address = origin.to_string().replacen("https", "http", 1);
    let wrong = |source| EndpointError::Address {
        endpoint: origin.to_string(),
        source,
    };
    let bare = Endpoint::from_shared(address).map_err(wrong)?;
    Ok(bare.connect_timeout(CONNECT_TIMEOUT).origin(origin))
}

fn not_connected(endpoint: &str, source: tonic::transport::Error) -> EndpointError {
    let endpoint = endpoint.to_owned();
    match fault::of_tls(&source) {
        Some(problem) => EndpointError::Trust { endpoint, problem },
        None => EndpointError::Connect { endpoint, source },
    }
}

/// Whether a call was turned away, or lost with its connection; to diagnose a trace twice does no harm.
fn is_worth_a_retry(status: &Status) -> bool {
    // A status of the server has no source; one that has tells how the connection ended, in any of several codes.
    let was_lost = status.source().is_some() && !timed_out_here(status);
    matches!(status.code(), Code::ResourceExhausted | Code::Unavailable) || was_lost
}

/// Whether the client's own timer ended the call.
fn timed_out_here(status: &Status) -> bool {
    let mut cause = status.source();
    while let Some(error) = cause {
        if error.is::<TimeoutExpired>() {
            return true;
        }
        cause = error.source();
    }
    false
}
