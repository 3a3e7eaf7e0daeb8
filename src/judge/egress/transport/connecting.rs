//! Whether a request went over a kept connection, or had one made for it.

use std::cell::Cell;

use tokio::task_local;

task_local! {
    static IS_CONNECTING: Cell<bool>;
}

/// Runs a request, and tells whether no connection was made for it.
pub(super) async fn watched<T>(request: impl Future<Output = T>) -> (T, bool) {
    let watch = async {
        let answer = request.await;
        let is_kept = IS_CONNECTING.with(|is_connecting| !is_connecting.get());
        (answer, is_kept)
    };
    IS_CONNECTING.scope(Cell::new(false), watch).await
}

/// Passes on where to connect to, and notes that a connection is being made.
pub(super) fn seen<T>(target: T) -> T {
    // Outside of a request a connection is made for nobody, and nobody asks.
    IS_CONNECTING
        .try_with(|is_connecting| is_connecting.set(true))
        .ok();
    target
}
