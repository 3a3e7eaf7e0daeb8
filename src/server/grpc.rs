//! The gRPC router: diagnosis, health and reflection behind the call layer.
//!
//! tonic decodes a message before it calls the service, so a call is let in only after that.

mod receiving;

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Request as HttpRequest, Response as HttpResponse};
use tokio::time::Instant;
use tonic::body::Body;
use tonic::codec::CompressionEncoding;
use tonic::transport::Server;
use tonic::transport::server::Router;
use tonic::{Code, Request, Response, Status};
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;
use tonic_reflection::server::Builder as ReflectionBuilder;
use tower::layer::util::{Identity, Stack};

use self::receiving::Budgeted;
use super::layers::{CallLayer, Reply, arrival, traceparent};
use super::options::ServerOptions;
use super::service::{Call, Service};
use crate::cascade::time::TimeOptions;
use crate::rpc::pb::FILE_DESCRIPTOR_SET;
use crate::rpc::pb::diagnosis_service_server::{
    DiagnosisService, DiagnosisServiceServer, SERVICE_NAME,
};
use crate::rpc::status::{CallError, Report};
use crate::rpc::{deadline, pb};

/// A router with the call layer in front of every service.
pub type CallRouter = Router<Stack<CallLayer, Identity>>;

/// The descriptors cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("reflection cannot be set up")]
pub struct ReflectionError(#[from] tonic_reflection::server::Error);

/// A connection without traffic for so long is asked for a sign of life.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// A peer that gives none for so long is gone.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// Headers of one request, all names and values.
const MAX_HEADER_LIST_BYTES: u32 = 8 * 1024;
/// Calls at once on one connection; more wait at the client.
const MAX_CONCURRENT_STREAMS: u32 = 100;
/// The longest message to the services that tell about the server; they take nothing from the budget of messages, so
/// that health is never shed.
const MAX_SMALL_MESSAGE_BYTES: usize = 64 * 1024;
/// The service holds its own deadline; tonic's timer only ends what should have ended by itself.
const BACKSTOP: Duration = Duration::from_secs(1);

/// Health states: every name that is checked is set explicitly, for the library starts some as serving.
#[derive(Clone)]
pub struct Health {
    reporter: HealthReporter,
}

impl Health {
    /// Not serving yet.
    pub async fn new() -> Self {
        let health = Self {
            reporter: HealthReporter::new(),
        };
        health.set(ServingStatus::NotServing).await;
        health
    }

    /// Tells whether calls are welcome.
    pub async fn set(&self, status: ServingStatus) {
        for name in ["", SERVICE_NAME] {
            self.reporter.set_service_status(name, status).await;
        }
    }
}

/// Every service of the main listener.
pub fn router(
    options: &ServerOptions,
    time: TimeOptions,
    service: Arc<Service>,
    health: &Health,
    layer: CallLayer,
) -> Result<CallRouter, ReflectionError> {
    let max_bytes = options.max_message_bytes;
    let diagnosis = DiagnosisServiceServer::new(GrpcService(Arc::clone(&service)))
        .accept_compressed(CompressionEncoding::Gzip)
        .max_decoding_message_size(max_bytes);
    let diagnosis = Budgeted::new(diagnosis, service, max_bytes);
    let health = tonic_health::server::HealthService::from_health_reporter(health.reporter.clone());
    let health = tonic_health::pb::health_server::HealthServer::new(health)
        .max_decoding_message_size(MAX_SMALL_MESSAGE_BYTES);
    let mut server = Server::builder()
        .timeout(time.deadline + BACKSTOP)
        .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
        .http2_max_header_list_size(MAX_HEADER_LIST_BYTES)
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS);
    if let Some(age) = options.max_connection_age {
        // No grace: with one, tonic says nothing at the age and cuts the calls in flight at the end of the grace.
        server = server.max_connection_age(age);
    }
    let reflect = || {
        ReflectionBuilder::configure()
            .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    let (v1, v1alpha) = if options.reflection {
        (
            Some(reflect().build_v1()?),
            Some(reflect().build_v1alpha()?),
        )
    } else {
        (None, None)
    };
    let v1 = v1.map(|v1| v1.max_decoding_message_size(MAX_SMALL_MESSAGE_BYTES));
    let v1alpha = v1alpha.map(|v1| v1.max_decoding_message_size(MAX_SMALL_MESSAGE_BYTES));
    Ok(server
        .layer(layer)
        .add_service(diagnosis)
        .add_service(health)
        .add_optional_service(v1)
        .add_optional_service(v1alpha))
}

/// The service as tonic calls it.
struct GrpcService(Arc<Service>);

#[tonic::async_trait]
impl DiagnosisService for GrpcService {
    async fn diagnose(
        &self,
        request: Request<pb::DiagnoseRequest>,
    ) -> Result<Response<pb::DiagnoseResponse>, Status> {
        let headers = request.metadata().as_ref();
        let call = Call {
            received: arrival(request.extensions()),
            started: Instant::now(),
            timeout: deadline::timeout(headers),
            traceparent: traceparent(headers),
        };
        let told = |error: CallError| error.report().status();
        let admitted = self.0.admit().map_err(told)?;
        let diagnosed = self.0.diagnose(&admitted, request.into_inner(), call).await;
        diagnosed.map(Response::new).map_err(told)
    }

    async fn get_policy(
        &self,
        request: Request<pb::GetPolicyRequest>,
    ) -> Result<Response<pb::GetPolicyResponse>, Status> {
        let policy = self.0.policy(&request.get_ref().profile);
        policy
            .map(Response::new)
            .map_err(|error| error.report().status())
    }
}

impl Reply for HttpResponse<Body> {
    fn timeout(headers: &HeaderMap) -> Option<Duration> {
        deadline::timeout(headers)
    }

    fn method(path: &str) -> &str {
        path.strip_prefix('/').unwrap_or(path)
    }

    fn failure(report: Report) -> Self {
        report.status().into_http()
    }

    /// A stream whose answer is there ends without the rest of its message.
    fn give_up<B>(request: HttpRequest<B>) -> impl Future<Output = ()> + Send {
        drop(request);
        std::future::ready(())
    }

    /// An error of a unary call stands in the headers; what only the trailers tell has begun well.
    fn code(&self) -> Code {
        self.headers()
            .get("grpc-status")
            .map_or(Code::Ok, |value| Code::from_bytes(value.as_bytes()))
    }
}
