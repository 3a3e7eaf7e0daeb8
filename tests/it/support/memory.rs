//! A server and a client over a pipe in memory: no port, and time can stand still.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use judge_cascade::client::Client;
use judge_cascade::rpc::json::JsonMessages;
use judge_cascade::rpc::pb;
use judge_cascade::rpc::pb::diagnosis_service_client::DiagnosisServiceClient;
use judge_cascade::server::Content;
use judge_cascade::server::auth::Gate;
use judge_cascade::server::drain::Drain;
use judge_cascade::server::grpc::{self, Health};
use judge_cascade::server::http;
use judge_cascade::server::layers::{CallLayer, CallService};
use judge_cascade::server::options::{Listen, ServerOptions};
use judge_cascade::server::service::Service;
use tokio::io::DuplexStream;
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::body::Body;
use tonic::transport::{Endpoint, Uri};
use tonic::{IntoRequest, Status};
use tonic_health::ServingStatus;

use super::LIMITS;

/// A server that ends with its test.
pub(crate) struct InMemory {
    pub(crate) drain: Drain,
    pub(crate) admission: Arc<Semaphore>,
    /// The same service over HTTP, without a connection.
    pub(crate) routes: CallService<axum::Router>,
    connect: mpsc::Sender<Result<DuplexStream, Infallible>>,
}

pub(crate) fn options() -> ServerOptions {
    ServerOptions {
        listen: Listen::Tcp(([127, 0, 0, 1], 0).into()),
        http_listen: None,
        shutdown_grace: Duration::from_secs(10),
        max_connection_count: 64,
        max_connections_per_peer: None,
        max_connection_age: None,
        first_byte_timeout: Duration::from_secs(5),
        max_message_bytes: 1024 * 1024,
        max_in_flight_traces: 8,
        reflection: true,
        max_receiving_bytes: 64 * 1_024 * 1_024,
        tls: None,
        auth: None,
    }
}

impl InMemory {
    pub(crate) async fn serve(content: Content) -> Self {
        Self::serve_behind(None, content).await
    }

    /// The same for callers with a token.
    pub(crate) async fn serve_behind(gate: Option<Gate>, content: Content) -> Self {
        let options = options();
        let (drain, health) = (Drain::default(), Health::new().await);
        health.set(ServingStatus::Serving).await;
        let admission = Arc::new(Semaphore::new(options.max_in_flight_traces));
        let service = Arc::new(Service::new(
            content.cascade,
            LIMITS,
            Arc::clone(&admission),
            options.max_receiving_bytes,
            drain.clone(),
            Arc::clone(&content.metrics),
        ));
        let layer = CallLayer::new(Arc::clone(&content.metrics), content.time, gate);
        let messages = JsonMessages::new().unwrap();
        let routes = http::router(
            Arc::clone(&service),
            messages,
            options.max_message_bytes,
            &layer,
        );
        let router = grpc::router(&options, content.time, service, &health, layer).unwrap();
        let (connect, incoming) = mpsc::channel(1);
        spawn(async move {
            router
                .serve_with_incoming(ReceiverStream::new(incoming))
                .await
        });
        Self {
            drain,
            admission,
            routes,
            connect,
        }
    }

    async fn pipe(&self) -> TokioIo<DuplexStream> {
        let (client, server) = tokio::io::duplex(64 * 1024);
        self.connect.send(Ok(server)).await.unwrap();
        TokioIo::new(client)
    }

    /// The client that users have.
    pub(crate) async fn client(&self) -> Client {
        let mut pipe = Some(self.pipe().await);
        let connector = tower::service_fn(move |_: Uri| {
            let pipe = pipe.take();
            async move { pipe.ok_or_else(|| std::io::Error::other("connected already")) }
        });
        let endpoint = Endpoint::from_static("http://in.memory");
        Client::over(endpoint.connect_with_connector(connector).await.unwrap())
    }

    /// A bare HTTP/2 connection.
    pub(crate) async fn http(&self) -> SendRequest<Body> {
        let pipe = self.pipe().await;
        let (sender, connection) = handshake(TokioExecutor::new(), pipe).await.unwrap();
        spawn(connection);
        sender
    }

    /// One call over a connection of its own, by a client that keeps no time and retries nothing.
    pub(crate) async fn diagnose(
        &self,
        request: impl IntoRequest<pb::DiagnoseRequest>,
    ) -> Result<pb::DiagnoseResponse, Status> {
        let sender = self.http().await;
        let http = tower::service_fn(move |request: ::http::Request<Body>| {
            let mut sender = sender.clone();
            async move { sender.send_request(request).await }
        });
        let origin = Uri::from_static("http://in.memory");
        let mut client = DiagnosisServiceClient::with_origin(http, origin);
        Ok(client.diagnose(request).await?.into_inner())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "ends with the runtime of the test"
)]
fn spawn<F: Future<Output: Send> + Send + 'static>(future: F) {
    drop(tokio::spawn(future));
}
