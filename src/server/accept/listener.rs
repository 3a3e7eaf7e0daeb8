//! Listening sockets: binding, accepting, and the file of a Unix socket.
//!
//! A file that a dead process left behind is replaced, and only after nobody answered there.
//! Accepting never fails: without file descriptors it waits for some.

use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio_util::either::Either;

use crate::server::options::Listen;

/// An accepted socket.
pub type Socket = Either<TcpStream, UnixStream>;

/// The first wait after accept failed; it doubles with each further failure.
const FIRST_BACKOFF: Duration = Duration::from_millis(10);
/// The longest such wait.
const LONGEST_BACKOFF: Duration = Duration::from_secs(1);

/// Why nothing can be accepted at a place.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The system refused.
    #[error("cannot listen on `{place}`")]
    Bind {
        /// Where.
        place: Listen,
        /// What it said.
        #[source]
        source: io::Error,
    },
    /// A live process has the socket.
    #[error("cannot listen on `{place}`: another process answers there")]
    InUse {
        /// Where.
        place: Listen,
    },
    /// A file that is no socket is in the way.
    #[error("cannot listen on `{place}`: the file there is not a socket")]
    NotASocket {
        /// Where.
        place: Listen,
    },
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix { path, .. } => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A socket that listens.
#[derive(Debug)]
pub struct BoundListener {
    // Dropped before the socket, so that the file never names a socket that is closed.
    _file: Option<SocketFile>,
    socket: Either<TcpListener, UnixListener>,
    place: Listen,
}

impl BoundListener {
    /// Listens at `place`.
    pub async fn bind(place: &Listen) -> Result<Self, ListenError> {
        let refused = |source| ListenError::Bind {
            place: place.clone(),
            source,
        };
        match place {
            Listen::Tcp(address) => {
                let socket = TcpListener::bind(address).await.map_err(refused)?;
                let address = socket.local_addr().map_err(refused)?;
                Ok(Self {
                    _file: None,
                    socket: Either::Left(socket),
                    place: Listen::Tcp(address),
                })
            }
            Listen::Unix { path, mode } => {
                make_way(place, path).await?;
                let socket = UnixListener::bind(path).map_err(refused)?;
                let file = SocketFile::of(path).map_err(refused)?;
                fs::set_permissions(path, Permissions::from_mode(*mode)).map_err(refused)?;
                Ok(Self {
                    _file: Some(file),
                    socket: Either::Right(socket),
                    place: place.clone(),
                })
            }
        }
    }

    /// Where this listens, with the port that was taken.
    pub const fn place(&self) -> &Listen {
        &self.place
    }

    /// The next connection.
    pub async fn accept(&self) -> Socket {
        backing_off(&self.place, || self.accept_once()).await
    }

    async fn accept_once(&self) -> io::Result<Socket> {
        match &self.socket {
            Either::Left(tcp) => {
                let (socket, _) = tcp.accept().await?;
                // It fails only on a socket whose peer is gone, and reading tells that too.
                socket.set_nodelay(true).ok();
                Ok(Either::Left(socket))
            }
            Either::Right(unix) => Ok(Either::Right(unix.accept().await?.0)),
        }
    }
}

/// Repeats `attempt` until it succeeds, slower with each failure.
async fn backing_off<T, F>(place: &Listen, mut attempt: impl FnMut() -> F) -> T
where
    F: Future<Output = io::Result<T>>,
{
    let mut backoff = FIRST_BACKOFF;
    loop {
        match attempt().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                tracing::error!(%error, %place, ?backoff, "cannot accept a connection");
                tokio::time::sleep(backoff).await;
                backoff = (backoff * 2).min(LONGEST_BACKOFF);
            }
        }
    }
}

/// Removes the socket file of a dead process.
async fn make_way(place: &Listen, path: &Path) -> Result<(), ListenError> {
    let refused = |source| ListenError::Bind {
        place: place.clone(),
        source,
    };
    let in_the_way = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(refused(error)),
    };
    if !in_the_way.file_type().is_socket() {
        return Err(ListenError::NotASocket {
            place: place.clone(),
        });
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            tracing::warn!(%place, "replacing a stale socket");
            fs::remove_file(path).map_err(refused)
        }
        // A live process whose backlog is full.
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(refused(error)),
        Ok(_) | Err(_) => Err(ListenError::InUse {
            place: place.clone(),
        }),
    }
}

/// The file of a Unix socket, removed on drop unless another one has taken its path.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl SocketFile {
    fn of(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            identity: identity(path)?,
        })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let ours = identity(&self.path).is_ok_and(|identity| identity == self.identity);
        if ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(%error, path = %self.path.display(), "cannot remove the socket file");
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any_port() -> Listen {
        Listen::Tcp(([127, 0, 0, 1], 0).into())
    }

    fn unix(path: &Path) -> Listen {
        Listen::Unix {
            path: path.to_owned(),
            mode: 0o660,
        }
    }

    #[tokio::test]
    async fn accepted_tcp_sockets_send_at_once() {
        let listener = BoundListener::bind(&any_port()).await.unwrap();
        let Listen::Tcp(address) = listener.place() else {
            panic!("not TCP")
        };
        let _peer = TcpStream::connect(address).await.unwrap();
        let Either::Left(socket) = listener.accept().await else {
            panic!("not a TCP socket")
        };
        assert!(socket.nodelay().unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn accepting_goes_on_without_file_descriptors() {
        const EMFILE: i32 = 24;
        let start = tokio::time::Instant::now();
        let mut failures = 20;
        let place = any_port();
        let accepted = backing_off(&place, || {
            let failed = 0 < failures;
            failures -= 1;
            async move {
                if failed {
                    Err(io::Error::from_raw_os_error(EMFILE))
                } else {
                    Ok("socket")
                }
            }
        });
        assert_eq!(accepted.await, "socket");
        let waited = start.elapsed();
        assert!(
            Duration::from_secs(13) < waited && waited < Duration::from_secs(20),
            "{waited:?}"
        );
    }

    #[tokio::test]
    async fn a_taken_port_is_an_error_that_names_it() {
        let taken = BoundListener::bind(&any_port()).await.unwrap();
        let error = BoundListener::bind(taken.place()).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("cannot listen on `{}`", taken.place())
        );
    }

    async fn refused(path: &Path) -> String {
        BoundListener::bind(&unix(path))
            .await
            .unwrap_err()
            .to_string()
    }

    #[tokio::test]
    async fn a_unix_socket_has_its_mode_and_goes_with_its_listener() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = BoundListener::bind(&unix(&path)).await.unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o660);
        drop(listener);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_stale_unix_socket_is_replaced_and_a_live_one_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let live = BoundListener::bind(&unix(&path)).await.unwrap();
        let place = format!("unix:{}", path.display());
        assert_eq!(
            refused(&path).await,
            format!("cannot listen on `{place}`: another process answers there")
        );
        drop(UnixStream::connect(&path).await.unwrap());
        drop(live);
    }

    #[tokio::test]
    async fn a_file_that_is_no_socket_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        std::fs::write(&path, "precious").unwrap();
        let error = BoundListener::bind(&unix(&path)).await.unwrap_err();
        assert!(matches!(error, ListenError::NotASocket { .. }));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    }

    #[tokio::test]
    async fn a_socket_file_of_another_listener_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let listener = BoundListener::bind(&unix(&path)).await.unwrap();
        std::fs::rename(&path, dir.path().join("moved")).unwrap();
        let _other = std::os::unix::net::UnixListener::bind(&path).unwrap();
        drop(listener);
        assert!(path.exists());
    }
}
