use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::transport::{Channel, Endpoint, Server};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tower::service_fn;

use super::listener::{BoundListener, Socket};
use super::*;
use crate::server::drain::{Drain, Drained};
use crate::server::options::Listen;
use crate::telemetry::metrics::MetricNames;

/// Far above what a step takes: a test that needs it fails.
const GUARD: Duration = Duration::from_secs(20);
const NEVER: Duration = Duration::from_secs(3600);

/// A health service behind the accept path.
struct Rig {
    place: Listen,
    metrics: Arc<Metrics>,
    connections: Connections,
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Rig {
    async fn start(place: Listen, limit: usize, first_byte_timeout: Duration) -> Self {
        let listener = BoundListener::bind(&place).await.unwrap();
        let place = listener.place().clone();
        let options = ServerOptions {
            listen: place.clone(),
            http_listen: None,
            shutdown_grace: NEVER,
            max_connection_count: limit,
            max_connections_per_peer: None,
            max_connection_age: None,
            first_byte_timeout,
            max_message_bytes: 1024,
            max_in_flight_traces: 1,
            reflection: false,
            max_receiving_bytes: 64 * 1_024 * 1_024,
            tls: None,
            auth: None,
        };
        let metrics = Metrics::new(&MetricNames::default()).unwrap();
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let (incoming, connections) = spawn(
            listener,
            &options,
            None,
            Arc::clone(&metrics),
            &tracker,
            stop.clone(),
        );
        let (_, health) = tonic_health::server::health_reporter();
        let server = Server::builder().add_service(health);
        tracker
            .spawn(server.serve_with_incoming_shutdown(incoming, stop.clone().cancelled_owned()));
        Self {
            place,
            metrics,
            connections,
            tracker,
            stop,
        }
    }

    async fn tcp(limit: usize, first_byte_timeout: Duration) -> Self {
        Self::start(any_port(), limit, first_byte_timeout).await
    }

    async fn connect(&self) -> Socket {
        connect(&self.place).await.unwrap()
    }

    async fn client(&self) -> HealthClient<Channel> {
        let place = self.place.clone();
        let connector = service_fn(move |_| {
            let place = place.clone();
            async move { connect(&place).await.map(TokioIo::new) }
        });
        let endpoint = Endpoint::from_static("http://health");
        HealthClient::new(endpoint.connect_with_connector(connector).await.unwrap())
    }

    #[track_caller]
    fn value(&self, name: &str) -> u64 {
        let text = self.metrics.render();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no `{name}` in {text}"))
            .parse()
            .unwrap()
    }

    fn open(&self) -> u64 {
        self.value("judge_cascade_open_connections")
    }

    fn closed(&self, reason: &str) -> u64 {
        self.value(&format!(
            "judge_cascade_connections_closed_total{{reason=\"{reason}\"}}"
        ))
    }

    async fn until(&self, holds: impl Fn(&Self) -> bool) {
        let wait = async {
            while !holds(self) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        let done = timeout(GUARD, wait).await;
        assert!(done.is_ok(), "{}", self.metrics.render());
    }
}

async fn connect(place: &Listen) -> io::Result<Socket> {
    match place {
        Listen::Tcp(address) => {
            let socket = TcpStream::connect(address).await?;
            socket.set_nodelay(true)?;
            Ok(Either::Left(socket))
        }
        Listen::Unix { path, .. } => UnixStream::connect(path).await.map(Either::Right),
    }
}

async fn check(client: &mut HealthClient<Channel>) {
    let request = HealthCheckRequest::default();
    let reply = timeout(GUARD, client.check(request))
        .await
        .expect("a reply in time")
        .unwrap();
    assert_eq!(reply.into_inner().status, 1);
}

/// The peer has closed; how it did does not matter.
async fn assert_closed(mut socket: Socket) {
    let end = timeout(GUARD, socket.read_to_end(&mut Vec::new())).await;
    assert!(end.is_ok(), "still open");
}

fn any_port() -> Listen {
    Listen::Tcp(([127, 0, 0, 1], 0).into())
}

fn unix(path: PathBuf) -> Listen {
    Listen::Unix { path, mode: 0o660 }
}

async fn silent_peers_are_closed_beside_a_client(place: Listen) {
    let rig = Rig::start(place, 64, Duration::from_millis(200)).await;
    let mut client = rig.client().await;
    check(&mut client).await;
    let mut silent = Vec::new();
    for _ in 0..50 {
        silent.push(rig.connect().await);
    }
    check(&mut client).await;
    for socket in silent {
        assert_closed(socket).await;
        check(&mut client).await;
    }
    assert_eq!(rig.closed("first_byte_timeout"), 50);
    assert_eq!(
        (rig.closed("ended"), rig.closed("error"), rig.open()),
        (0, 0, 1)
    );
    drop(client);
    rig.until(|rig| rig.open() == 0).await;
    assert_eq!(rig.closed("ended"), 1);
}

#[tokio::test]
async fn silent_tcp_peers_are_closed_beside_a_client() {
    silent_peers_are_closed_beside_a_client(any_port()).await;
}

#[tokio::test]
async fn silent_unix_peers_are_closed_beside_a_client() {
    let dir = tempfile::tempdir().unwrap();
    silent_peers_are_closed_beside_a_client(unix(dir.path().join("s"))).await;
}

#[tokio::test]
async fn a_peer_that_stops_within_the_preface_is_closed() {
    let rig = Rig::tcp(8, Duration::from_millis(200)).await;
    for n in [1, 23] {
        let mut socket = rig.connect().await;
        socket.write_all(&PREFACE[..n]).await.unwrap();
        assert_closed(socket).await;
    }
    assert_eq!(rig.closed("first_byte_timeout"), 2);
}

#[tokio::test]
async fn a_preface_in_pieces_is_put_together() {
    let rig = Rig::tcp(8, NEVER).await;
    let mut socket = rig.connect().await;
    let empty_settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    for byte in PREFACE.iter().chain(&empty_settings) {
        socket.write_u8(*byte).await.unwrap();
    }
    let mut frame = [0; 9];
    timeout(GUARD, socket.read_exact(&mut frame))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(frame[3], 4, "the server answers with its own SETTINGS");
}

#[tokio::test]
async fn what_is_no_preface_reaches_the_server_at_once() {
    let rig = Rig::tcp(8, NEVER).await;
    let mut socket = rig.connect().await;
    socket.write_all(b"GET").await.unwrap();
    assert_closed(socket).await;
    assert_eq!(rig.closed("first_byte_timeout"), 0);
}

#[tokio::test]
async fn a_peer_that_leaves_without_a_word_has_ended() {
    let rig = Rig::tcp(8, NEVER).await;
    drop(rig.connect().await);
    rig.until(|rig| rig.closed("ended") == 1).await;
}

#[tokio::test]
async fn a_reset_is_counted_as_an_error_before_and_after_the_first_bytes() {
    let rig = Rig::tcp(8, NEVER).await;
    for bytes in [&[][..], PREFACE] {
        let Either::Left(mut socket) = rig.connect().await else {
            panic!("not a TCP socket")
        };
        socket.write_all(bytes).await.unwrap();
        rig.until(|rig| rig.open() == 1).await;
        if !bytes.is_empty() {
            socket.read_u8().await.unwrap();
        }
        socket.set_zero_linger().unwrap();
        drop(socket);
        rig.until(|rig| rig.open() == 0).await;
    }
    assert_eq!((rig.closed("error"), rig.closed("ended")), (2, 0));
}

#[tokio::test]
async fn over_the_limit_a_client_waits_until_another_one_leaves() {
    let rig = Rig::tcp(2, NEVER).await;
    let (mut first, mut second) = (rig.client().await, rig.client().await);
    check(&mut first).await;
    check(&mut second).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut waiting = rig.client().await;
    let third = {
        let order = Arc::clone(&order);
        rig.tracker.spawn(async move {
            check(&mut waiting).await;
            order.lock().unwrap().push("third served");
        })
    };
    for _ in 0..100 {
        check(&mut second).await;
    }
    assert_eq!(rig.open(), 2);
    order.lock().unwrap().push("first left");
    drop(first);
    third.await.unwrap();
    assert_eq!(*order.lock().unwrap(), ["first left", "third served"]);
}

#[tokio::test]
async fn stopping_refuses_new_peers_and_closes_silent_ones() {
    let rig = Rig::tcp(8, NEVER).await;
    let silent = rig.connect().await;
    rig.until(|rig| rig.open() == 1).await;
    rig.stop.cancel();
    assert_closed(silent).await;
    timeout(GUARD, rig.connections.all_closed()).await.unwrap();
    rig.tracker.close();
    timeout(GUARD, rig.tracker.wait()).await.unwrap();
    let refused = connect(&rig.place).await.unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    assert_eq!((rig.closed("ended"), rig.open()), (1, 0));
}

#[tokio::test]
async fn a_drain_waits_neither_for_silent_peers_nor_for_an_open_watch() {
    let rig = Rig::tcp(8, NEVER).await;
    let mut client = rig.client().await;
    let mut watch = client
        .watch(HealthCheckRequest::default())
        .await
        .unwrap()
        .into_inner();
    watch.message().await.unwrap().unwrap();
    let _silent = rig.connect().await;
    let mut one_byte = rig.connect().await;
    one_byte.write_all(b"P").await.unwrap();
    let mut only_preface = rig.connect().await;
    only_preface.write_all(PREFACE).await.unwrap();
    rig.until(|rig| rig.open() == 4).await;

    let admission = Semaphore::new(4);
    rig.stop.cancel();
    let all_closed = rig.connections.all_closed();
    let drain = Drain::default();
    let drained = timeout(GUARD, drain.run(all_back(&admission, 4), all_closed, NEVER)).await;
    assert_eq!(drained, Ok(Drained::Idle));
    assert!(0 < rig.open(), "the watch is still there");
}

#[tokio::test]
async fn a_drain_ends_when_the_last_connection_is_closed() {
    let rig = Rig::tcp(8, NEVER).await;
    let mut client = rig.client().await;
    check(&mut client).await;
    let admission = Semaphore::new(1);
    let _trace = admission.try_acquire().unwrap();
    rig.stop.cancel();
    let all_closed = rig.connections.all_closed();
    let drain = Drain::default();
    let drained = timeout(GUARD, drain.run(all_back(&admission, 1), all_closed, NEVER)).await;
    assert_eq!(drained, Ok(Drained::Disconnected));
    assert_eq!((rig.open(), rig.closed("ended")), (0, 1));
}
