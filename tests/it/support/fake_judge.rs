//! A judge on the other side of the wire that answers by a script and remembers every request.
//!
//! It stands behind a socket, or in place of one where a test needs many calls or its own time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::Router;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, Request, StatusCode, Uri};
use judge_cascade::judge::egress::Incoming;
use judge_cascade::judge::egress::transport::{Transport, TransportError};
use reqwest::Url;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A request as it came in.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    /// With its query.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    /// Null if there is none.
    pub(crate) body: Value,
    /// The same as it was written.
    pub(crate) text: String,
}

/// What the judge answers.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Said {
    pub(crate) fn json(body: &Value) -> Self {
        Self::new(200, &body.to_string())
    }

    pub(crate) fn new(status: u16, body: &str) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers
            .insert(HeaderName::from_static(name), value.parse().unwrap());
        self
    }
}

/// The script, wherever it is played.
#[derive(Clone)]
pub(crate) struct Script {
    answer: Arc<dyn Fn(&Seen) -> Said + Send + Sync>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Script {
    /// Every request gets what `answer` makes of it.
    pub(crate) fn new(answer: impl Fn(&Seen) -> Said + Send + Sync + 'static) -> Self {
        Self {
            answer: Arc::new(answer),
            seen: Arc::default(),
        }
    }

    /// One step after the other; the last is repeated.
    pub(crate) fn steps(steps: impl IntoIterator<Item = Said>) -> Self {
        let steps: Mutex<VecDeque<Said>> = Mutex::new(steps.into_iter().collect());
        Self::new(move |_| {
            let mut steps = steps.lock().unwrap();
            if steps.len() > 1 {
                steps.pop_front().unwrap()
            } else {
                steps.front().unwrap().clone()
            }
        })
    }

    /// Every request so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    fn play(&self, method: Method, uri: &Uri, headers: HeaderMap, body: &Bytes) -> Said {
        let seen = Seen {
            method,
            path: uri.path_and_query().unwrap().to_string(),
            headers,
            body: serde_json::from_slice(body).unwrap_or(Value::Null),
            text: String::from_utf8(body.to_vec()).unwrap(),
        };
        let said = (self.answer)(&seen);
        self.seen.lock().unwrap().push(seen);
        said
    }
}

/// A script behind a socket; it ends with its test.
pub(crate) struct FakeJudge {
    script: Script,
    base_url: Url,
    _server: JoinSet<()>,
}

impl FakeJudge {
    pub(crate) async fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let player = script.clone();
        let handler = move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let said = player.play(method, &uri, headers, &body);
            async move { (said.status, said.headers, said.body) }
        };
        let router: Router = Router::new().fallback(handler);
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            script,
            base_url: Url::parse(&format!("http://{address}")).unwrap(),
            _server: server,
        }
    }

    pub(crate) async fn saying(steps: impl IntoIterator<Item = Said>) -> Self {
        Self::start(Script::steps(steps)).await
    }

    pub(crate) fn base_url(&self) -> Url {
        self.base_url.clone()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.script.seen()
    }

    /// The only request so far.
    #[track_caller]
    pub(crate) fn only(&self) -> Seen {
        let mut seen = self.seen();
        assert_eq!(seen.len(), 1);
        seen.remove(0)
    }
}

#[async_trait]
impl Transport for Script {
    async fn send(&self, request: Request<Bytes>) -> Result<Incoming, TransportError> {
        // Calls that run at once are mixed as they would be on a network.
        tokio::task::yield_now().await;
        let (parts, body) = request.into_parts();
        let said = self.play(parts.method, &parts.uri, parts.headers, &body);
        tokio::task::yield_now().await;
        Ok(Incoming {
            status: said.status,
            headers: said.headers,
            body: said.body.into(),
        })
    }
}
