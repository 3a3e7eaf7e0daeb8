//! The client: the same calls that any user of the service makes.

use std::error::Error as _;
use std::time::Duration;

use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, TimeoutExpired};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::rpc::pb;
use crate::rpc::pb::diagnosis_service_client::DiagnosisServiceClient;
use crate::rpc::status::code_name;

/// How often a call is tried that the server turned away.
const MAX_ATTEMPTS: u32 = 5;
/// Before the second attempt; each further one waits twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(100);
/// The longest time to set a connection up.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection to a server.
#[derive(Debug, Clone)]
pub struct Client {
    diagnosis: DiagnosisServiceClient<Channel>,
    health: HealthClient<Channel>,
}

/// An endpoint that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// It is not an address.
    #[error("`{endpoint}` is not an endpoint; write http://HOST:PORT or unix:PATH")]
    Address {
        /// The address as it was given.
        endpoint: String,
        /// What is wrong with it.
        #[source]
        source: tonic::transport::Error,
    },
    /// Nobody answers there.
    #[error("cannot connect to `{endpoint}`")]
    Connect {
        /// The address as it was given.
        endpoint: String,
        /// What is wrong with it.
        #[source]
        source: tonic::transport::Error,
    },
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
    /// Connects to `http://HOST:PORT`, `HOST:PORT` or `unix:PATH`.
    pub async fn connect(endpoint: &str) -> Result<Self, EndpointError> {
        let has_scheme = endpoint.starts_with("unix:") || endpoint.contains("://");
        let address = if has_scheme {
            endpoint.to_owned()
        } else {
            format!("http://{endpoint}")
        };
        let wrong = |source| EndpointError::Address {
            endpoint: endpoint.to_owned(),
            source,
        };
        let channel = Endpoint::from_shared(address)
            .map_err(wrong)?
            .connect_timeout(CONNECT_TIMEOUT)
            .connect()
            .await
            .map_err(|source| EndpointError::Connect {
                endpoint: endpoint.to_owned(),
                source,
            })?;
        Ok(Self::over(channel))
    }

    /// A client over a channel that exists.
    pub fn over(channel: Channel) -> Self {
        Self {
            diagnosis: DiagnosisServiceClient::new(channel.clone())
                .max_decoding_message_size(usize::MAX),
            health: HealthClient::new(channel),
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
            match self.diagnose_once(request.clone(), timeout).await {
                Err(status) if is_worth_a_retry(&status) => {
                    tokio::time::sleep(delay).await;
                    delay *= 2;
                }
                ended => return Ok(ended?),
            }
        }
        Ok(self.diagnose_once(request, timeout).await?)
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
        Ok(self.diagnosis.clone().diagnose(request).await?.into_inner())
    }

    /// What a profile runs.
    pub async fn policy(&self, profile: &str) -> Result<pb::GetPolicyResponse, CallFailed> {
        let request = pb::GetPolicyRequest {
            profile: profile.to_owned(),
        };
        Ok(self
            .diagnosis
            .clone()
            .get_policy(request)
            .await?
            .into_inner())
    }

    /// Whether the server says that it serves.
    pub async fn is_serving(&self) -> Result<bool, CallFailed> {
        let response = self
            .health
            .clone()
            .check(HealthCheckRequest::default())
            .await?;
        Ok(response.into_inner().status() == ServingStatus::Serving)
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
