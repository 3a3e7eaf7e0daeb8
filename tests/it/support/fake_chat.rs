//! A chat service that follows a script: as a transport in memory, or as a server on a port of its own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::to_bytes;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use bytes::Bytes;
use judge_cascade::judge::egress::Incoming;
use judge_cascade::judge::egress::transport::{Transport, TransportError};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Arrived {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

type Script = dyn Fn(&Arrived) -> (u16, Value) + Send + Sync;

/// Answers as its script says and remembers what it was asked.
pub(crate) struct FakeChat {
    script: Box<Script>,
    delay: Duration,
    arrived: Mutex<Vec<Arrived>>,
}

impl FakeChat {
    pub(crate) fn new(
        script: impl Fn(&Arrived) -> (u16, Value) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::after(Duration::ZERO, script)
    }

    /// It waits so long before each answer.
    pub(crate) fn after(
        delay: Duration,
        script: impl Fn(&Arrived) -> (u16, Value) + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            script: Box::new(script),
            delay,
            arrived: Mutex::new(Vec::new()),
        })
    }

    /// It gives one answer after the other and repeats the last.
    pub(crate) fn in_turn(answers: Vec<(u16, Value)>) -> Arc<Self> {
        let next = Mutex::new(answers.into_iter().peekable());
        Self::new(move |_| {
            let mut next = next.lock().unwrap();
            let answer = next.next().unwrap();
            if next.peek().is_none() {
                *next = vec![answer.clone()].into_iter().peekable();
            }
            answer
        })
    }

    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap().clone()
    }

    fn answer(&self, arrived: Arrived) -> (StatusCode, Bytes) {
        let (status, body) = (self.script)(&arrived);
        self.arrived.lock().unwrap().push(arrived);
        let status = StatusCode::from_u16(status).unwrap();
        (status, Bytes::from(body.to_string()))
    }
}

#[async_trait]
impl Transport for FakeChat {
    async fn send(&self, request: Request<Bytes>) -> Result<Incoming, TransportError> {
        tokio::time::sleep(self.delay).await;
        let (parts, body) = request.into_parts();
        let (status, body) = self.answer(Arrived {
            method: parts.method,
            path: parts.uri.path_and_query().unwrap().to_string(),
            headers: parts.headers,
            body: serde_json::from_slice(&body).unwrap_or_default(),
        });
        Ok(Incoming {
            status,
            headers: HeaderMap::new(),
            body,
        })
    }
}

/// The same behind a socket; it ends with its test.
pub(crate) struct FakeServer {
    pub(crate) base_url: String,
    _tasks: JoinSet<()>,
}

impl FakeServer {
    pub(crate) async fn serve(fake: &Arc<FakeChat>) -> Self {
        let fake = Arc::clone(fake);
        let handler = move |request: axum::extract::Request| {
            let fake = Arc::clone(&fake);
            async move {
                let (parts, body) = request.into_parts();
                let body = to_bytes(body, 1 << 20).await.unwrap();
                let (status, body) = fake.answer(Arrived {
                    method: parts.method,
                    path: parts.uri.path_and_query().unwrap().to_string(),
                    headers: parts.headers,
                    body: serde_json::from_slice(&body).unwrap_or_default(),
                });
                (status, [("content-type", "application/json")], body)
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            axum::serve(listener, Router::new().fallback(handler))
                .await
                .unwrap();
        });
        Self {
            base_url,
            _tasks: tasks,
        }
    }
}

/// A chat completion with this text.
pub(crate) fn said(text: &str) -> (u16, Value) {
    (
        200,
        json!({
            "id": "c1",
            "object": "chat.completion",
            "model": "judge-model-2026",
            "choices": [{
                "index": 0,
                "finish_reason": "stop",
                "message": { "role": "assistant", "content": text },
            }],
            "usage": { "prompt_tokens": 900, "completion_tokens": 80 },
        }),
    )
}

/// The same with changes by JSON pointer; a place that is not there is made.
pub(crate) fn edited((status, mut body): (u16, Value), changes: &[(&str, Value)]) -> (u16, Value) {
    for (pointer, value) in changes {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        body.pointer_mut(parent).unwrap()[key] = value.clone();
    }
    (status, body)
}

/// An error as OpenAI tells it.
pub(crate) fn refused(status: u16, code: &str, param: &str, message: &str) -> (u16, Value) {
    let error = json!({ "message": message, "type": "invalid_request_error", "param": param, "code": code });
    (status, json!({ "error": error }))
}
