//! Takes what a gRPC message holds from the budget of bytes that are being received, frame by frame.
//!
//! A compressed message takes as much as the longest message may have: it is held decompressed until its peer ends the
//! stream, and nothing tells its length before.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderMap, Request};
use hyper::body::{Body, Frame, SizeHint};
use tonic::Status;
use tonic::server::NamedService;
use tower::Service as TowerService;

use crate::rpc::status::CallError;
use crate::server::receiving::Received;
use crate::server::service::Service;

/// A service whose messages take from the budget.
#[derive(Clone)]
pub(super) struct Budgeted<S> {
    inner: S,
    service: Arc<Service>,
    max_message_bytes: usize,
}

impl<S> Budgeted<S> {
    pub(super) const fn new(inner: S, service: Arc<Service>, max_message_bytes: usize) -> Self {
        Self {
            inner,
            service,
            max_message_bytes,
        }
    }
}

impl<S: NamedService> NamedService for Budgeted<S> {
    const NAME: &'static str = S::NAME;
}

impl<S, B> TowerService<Request<B>> for Budgeted<S>
where
    S: TowerService<Request<BudgetedBody<B>>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> S::Future {
        let beforehand = if is_compressed(request.headers()) {
            self.max_message_bytes
        } else {
            0
        };
        let is_diagnosis = request.uri().path().ends_with("/Diagnose");
        let service = Arc::clone(&self.service);
        self.inner.call(request.map(|body| BudgetedBody {
            inner: body,
            received: service.receive(),
            beforehand,
            is_diagnosis,
            service,
        }))
    }
}

fn is_compressed(headers: &HeaderMap) -> bool {
    headers
        .get("grpc-encoding")
        .is_some_and(|encoding| encoding != "identity")
}

/// A body whose frames take from the budget; it gives back when it is dropped, and that is when tonic has decoded it.
pub(super) struct BudgetedBody<B> {
    inner: B,
    received: Received,
    beforehand: usize,
    is_diagnosis: bool,
    service: Arc<Service>,
}

impl<B> BudgetedBody<B> {
    fn take(&mut self, length: usize) -> Result<(), Status> {
        let beforehand = std::mem::take(&mut self.beforehand);
        self.received.add(length.max(beforehand)).map_err(|error| {
            let error = self.counted(error);
            error.report().status()
        })
    }

    fn counted(&self, error: CallError) -> CallError {
        if self.is_diagnosis {
            self.service.failed(None, error)
        } else {
            error
        }
    }
}

impl<B> Body for BudgetedBody<B>
where
    B: Body<Data = Bytes, Error = Status> + Unpin,
{
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.inner).poll_frame(cx));
        if let Some(Ok(frame)) = &frame
            && let Some(data) = frame.data_ref()
            && let Err(status) = self.take(data.len())
        {
            return Poll::Ready(Some(Err(status)));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
