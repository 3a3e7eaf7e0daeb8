//! A judge that goes wrong on purpose: raw TCP or TLS on a free port of this machine, with an act for each request.
//!
//! It runs in a thread of its own, so it serves tests with and without a runtime, and the real binary. It takes one act
//! after the other, in the order in which requests arrive, and repeats the last. It remembers every request, and counts
//! those whose peer went away before the answer was whole.

mod http1;
mod http2;
pub(crate) mod reply;
pub(crate) mod tls;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use self::reply::Reply;
use self::tls::{Certificate, Identity};

/// Ten times what anything here should take on a slow machine.
const GUARD: Duration = Duration::from_secs(20);

/// What the judge does with one request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// It closes the connection at once, before a request.
    CloseAtOnce,
    /// It takes the connection and never says a word, not even of TLS.
    Deaf,
    /// It answers and keeps the connection.
    Answer(Reply),
    /// It answers as the request deserves.
    AnswerTo(fn(&Seen) -> Reply),
    /// It answers a byte at a time, from the first line on.
    SlowHead(Reply, Duration),
    /// It sends the head at once, and the body a byte at a time.
    Drip(Reply, Duration),
    /// It announces the whole body, sends so many bytes and closes in good order.
    Truncate(Reply, usize),
    /// The same, but it resets the connection.
    ResetMidBody(Reply, usize),
    /// It sends a body that never ends.
    Endless,
    /// It reads the request and closes without an answer; over HTTP/2 it says goodbye (GOAWAY) first.
    HangUp,
    /// It reads the request and resets the connection; over HTTP/2 the stream.
    Reset,
    /// It reads the request and never answers.
    BlackHole,
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// The first line and the headers.
    pub(crate) head: String,
    /// The body.
    pub(crate) body: Vec<u8>,
    /// The number of its connection, from 1 on.
    pub(crate) connection: usize,
}

/// What happened so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    /// Connections that were accepted.
    pub(crate) connections: usize,
    /// Requests that were read to their end.
    pub(crate) requests: Vec<Seen>,
    /// Requests whose peer went away before the answer was whole.
    pub(crate) aborted: usize,
    /// TLS handshakes that the peer refused.
    pub(crate) refused_handshakes: usize,
}

/// The server; it ends when this is dropped.
pub(crate) struct FaultServer {
    address: SocketAddr,
    identity: Option<Identity>,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What all connections share.
struct Shared {
    acts: Mutex<VecDeque<Act>>,
    log: Mutex<Log>,
}

impl Seen {
    /// The value of a header, or of its last line if it has several.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1);
        let pairs = lines.filter_map(|line| line.split_once(':'));
        let found = pairs.filter(|(key, _)| key.eq_ignore_ascii_case(name));
        found.last().map(|(_, value)| value.trim())
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl FaultServer {
    /// A judge over plain HTTP/1.1.
    pub(crate) fn start(acts: impl IntoIterator<Item = Act>) -> Self {
        Self::run(None, acts)
    }

    /// A judge over HTTP/1.1 and TLS.
    pub(crate) fn over_tls(certificate: Certificate, acts: impl IntoIterator<Item = Act>) -> Self {
        Self::run(Some(Identity::new(certificate, &[b"http/1.1"])), acts)
    }

    /// A judge over HTTP/2 and TLS with a good certificate.
    pub(crate) fn over_http2(acts: impl IntoIterator<Item = Act>) -> Self {
        Self::run(Some(Identity::new(Certificate::Good, &[b"h2"])), acts)
    }

    /// An address at which nobody listens.
    pub(crate) fn nobody() -> String {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    }

    fn run(identity: Option<Identity>, acts: impl IntoIterator<Item = Act>) -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            acts: Mutex::new(acts.into_iter().collect()),
            log: Mutex::default(),
        });
        let (stop, stopped) = oneshot::channel();
        let acceptor = identity.as_ref().map(|identity| identity.acceptor.clone());
        let accepting = accept(listener, acceptor, Arc::clone(&shared));
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                tokio::select! {
                    () = accepting => {}
                    _ = stopped => {}
                }
            });
        });
        Self {
            address,
            identity,
            shared,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Replaces what is still to come.
    pub(crate) fn then(&self, acts: impl IntoIterator<Item = Act>) {
        *self.shared.acts.lock().unwrap() = acts.into_iter().collect();
    }

    /// Where it is, without a slash at the end.
    pub(crate) fn url(&self) -> String {
        let scheme = if self.identity.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.address)
    }

    /// Writes the certificate that is to be trusted into a file of this folder.
    pub(crate) fn roots(&self, folder: &Path) -> PathBuf {
        let path = folder.join("roots.pem");
        std::fs::write(&path, &self.identity.as_ref().unwrap().roots).unwrap();
        path
    }

    /// What happened so far.
    pub(crate) fn log(&self) -> Log {
        self.shared.log.lock().unwrap().clone()
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.log().requests
    }

    /// Waits until the log says so.
    pub(crate) async fn until(&self, what: &str, is: impl Fn(&Log) -> bool) {
        for _ in 0..GUARD.as_millis() / 5 {
            if is(&self.log()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("waited in vain for {what}: {:?}", self.log());
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Shared {
    fn next(&self) -> Act {
        let mut acts = self.acts.lock().unwrap();
        if 1 < acts.len() {
            acts.pop_front().unwrap()
        } else {
            acts.front().unwrap().clone()
        }
    }

    /// The next act, if it is about the connection and not about a request.
    fn next_of_connection(&self) -> Option<Act> {
        self.is_next(|act| matches!(act, Act::CloseAtOnce | Act::Deaf))
            .then(|| self.next())
    }

    fn is_next(&self, is: impl Fn(&Act) -> bool) -> bool {
        is(self.acts.lock().unwrap().front().unwrap())
    }

    /// Remembers a request and tells what to do with it.
    fn next_for(&self, seen: Seen) -> Act {
        let act = match self.next() {
            Act::AnswerTo(reply) => Act::Answer(reply(&seen)),
            act => act,
        };
        self.note(|log| log.requests.push(seen));
        act
    }

    fn note(&self, change: impl FnOnce(&mut Log)) {
        change(&mut self.log.lock().unwrap());
    }
}

async fn accept(
    listener: std::net::TcpListener,
    acceptor: Option<TlsAcceptor>,
    shared: Arc<Shared>,
) {
    let listener = TcpListener::from_std(listener).unwrap();
    let mut connections = JoinSet::new();
    for number in 1.. {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        shared.note(|log| log.connections = number);
        connections.spawn(serve(stream, acceptor.clone(), Arc::clone(&shared), number));
    }
}

async fn serve(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    shared: Arc<Shared>,
    number: usize,
) {
    match shared.next_of_connection() {
        None => {}
        Some(Act::Deaf) => {
            std::future::pending::<()>().await;
        }
        Some(_) => return,
    }
    let Some(acceptor) = acceptor else {
        http1::serve(stream, &shared, number).await;
        return;
    };
    match acceptor.accept(stream).await {
        Ok(stream) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
            http2::serve(stream, &shared, number).await;
        }
        Ok(stream) => http1::serve(stream, &shared, number).await,
        Err(_) => shared.note(|log| log.refused_handshakes += 1),
    }
}
