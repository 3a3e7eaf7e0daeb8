//! The hardened listeners over real sockets: TLS, client certificates, rotation and limits.

mod clients;
mod limits;
mod listeners;
mod rotation;

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use judge_cascade::app::Files;
use judge_cascade::config::{self, Overrides};
use judge_cascade::rpc::pb::diagnosis_service_client::DiagnosisServiceClient;
use judge_cascade::server::options::Listen;
use judge_cascade::server::{BoundServer, RunningServer};
use judge_cascade::telemetry::metrics::Metrics;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use rustls::{AlertDescription, ClientConfig, Error, RootCertStore, SupportedProtocolVersion};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::transport::{Channel, Endpoint};

use crate::support::authority::{Authority, Identity, SERVER, Valid};
use crate::support::process::eventually;

/// The name of the client that is let in.
const CLIENT: &str = "rag.test";
const BOTH: [&SupportedProtocolVersion; 2] = [&TLS13, &TLS12];

/// A server in this process, and where its files are.
struct Rig {
    folder: TempDir,
    authority: Authority,
    running: RunningServer,
    metrics: Arc<Metrics>,
    grpc: SocketAddr,
    http: SocketAddr,
}

/// A section `[server.tls]` that asks for certificates.
const MUTUAL: &str = "[server.tls]\ncert_file = 'now/tls.crt'\nkey_file = 'now/tls.key'\nclient_ca_file = 'now/ca.crt'\n";

impl Rig {
    /// Client certificates with an allowed name.
    async fn mutual() -> Self {
        Self::with(&format!(
            "{MUTUAL}allowed_sans = ['RAG.test', 'spiffe://test/rag']"
        ))
        .await
    }

    async fn with(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new("First");
        fs::create_dir(folder.path().join("first")).unwrap();
        std::os::unix::fs::symlink("first", folder.path().join("now")).unwrap();
        let server = authority.issue(SERVER, Valid::Now);
        server.write(&folder.path().join("now"), &authority);
        let (running, metrics, grpc, http) = start(folder.path(), config).await;
        Self {
            folder,
            authority,
            running,
            metrics,
            grpc,
            http,
        }
    }

    fn now(&self) -> std::path::PathBuf {
        self.folder.path().join("now")
    }

    /// A client that trusts the first authority and has a good certificate of it.
    fn client(&self) -> Arc<ClientConfig> {
        let identity = self.authority.issue(CLIENT, Valid::Now);
        client(&self.authority, Some(&identity))
    }

    fn value(&self, series: &str) -> u64 {
        let text = self.metrics.render();
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        value.unwrap().parse().unwrap()
    }

    fn closed(&self, reason: &str) -> u64 {
        self.value(&format!(
            "judge_cascade_connections_closed_total{{reason=\"{reason}\"}}"
        ))
    }

    fn refused(&self, cause: &str) -> u64 {
        self.value(&format!(
            "judge_cascade_tls_refused_total{{cause=\"{cause}\"}}"
        ))
    }

    fn reloads(&self, result: &str) -> u64 {
        self.value(&format!(
            "judge_cascade_credential_reloads_total{{kind=\"tls\",result=\"{result}\"}}"
        ))
    }

    async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        eventually(what, async || holds(self).then_some(())).await;
    }
}

async fn start(folder: &Path, text: &str) -> (RunningServer, Arc<Metrics>, SocketAddr, SocketAddr) {
    let file = folder.join("c.toml");
    let text = format!(
        "server.listen = '127.0.0.1:0'\nserver.http_listen = '127.0.0.1:0'\n\
         admin.listen = '127.0.0.1:0'\nserver.shutdown_grace_ms = 600000\n{text}"
    );
    let file = Some((file.to_str().unwrap(), text.as_str()));
    let config = config::load(file, &BTreeMap::new(), Overrides::default()).unwrap();
    let app = judge_cascade::app::build(&config, Files::Disk, &|_| None).unwrap();
    let server = BoundServer::bind(&config.server, config.admin.listen)
        .await
        .unwrap()
        .with_credential_interval(Duration::from_millis(20));
    let address = |place: &Listen| match place {
        Listen::Tcp(address) => *address,
        Listen::Unix { .. } => panic!("not TCP"),
    };
    let grpc = address(server.place());
    let http = address(server.http_place().unwrap());
    let metrics = Arc::clone(&app.content.metrics);
    let running = server.start(app.content).await.unwrap();
    (running, metrics, grpc, http)
}

fn client(trusted: &Authority, identity: Option<&Identity>) -> Arc<ClientConfig> {
    client_of(trusted, identity, &BOTH, b"h2")
}

fn client_of(
    trusted: &Authority,
    identity: Option<&Identity>,
    versions: &[&'static SupportedProtocolVersion],
    protocol: &[u8],
) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.der()).unwrap();
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match identity {
        Some(identity) => builder
            .with_client_auth_cert(vec![identity.der()], identity.key())
            .unwrap(),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![protocol.to_vec()];
    Arc::new(config)
}

async fn connect(
    address: SocketAddr,
    config: &Arc<ClientConfig>,
    name: &'static str,
) -> std::io::Result<TlsStream<TcpStream>> {
    let socket = TcpStream::connect(address).await?;
    let name = ServerName::try_from(name).unwrap();
    TlsConnector::from(Arc::clone(config))
        .connect(name, socket)
        .await
}

/// The alert that ends a connection; with TLS 1.3 it comes after the handshake of the client is done.
async fn alert(address: SocketAddr, config: &Arc<ClientConfig>) -> AlertDescription {
    let ended = async {
        let mut stream = connect(address, config, SERVER).await?;
        // What a client sends at once must not cost it the alert.
        stream
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .await?;
        stream.flush().await?;
        stream.read_to_end(&mut Vec::new()).await
    };
    let error = ended.await.unwrap_err();
    match error.get_ref().and_then(|error| error.downcast_ref()) {
        Some(Error::AlertReceived(alert)) => *alert,
        _ => panic!("{error:?}"),
    }
}

/// A gRPC client over a connection of its own.
async fn grpc(address: SocketAddr, config: &Arc<ClientConfig>) -> DiagnosisServiceClient<Channel> {
    let config = Arc::clone(config);
    let connector = tower::service_fn(move |_| {
        let config = Arc::clone(&config);
        async move { connect(address, &config, SERVER).await.map(TokioIo::new) }
    });
    let endpoint = Endpoint::from_static("http://sidecar.test");
    DiagnosisServiceClient::new(endpoint.connect_with_connector(connector).await.unwrap())
}
