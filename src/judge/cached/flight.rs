//! Questions on their way: who asks first leads, and who asks the same meanwhile waits for what comes of it.
//!
//! A leader that goes away without landing, because its caller left or its time ran out, ends the wait of all: each of
//! them takes its turn again, within its own time.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::key::Key;

/// The questions that are on their way.
pub(super) struct Flights<T>(Mutex<HashMap<Key, watch::Receiver<Option<T>>>>);

/// Whose turn it is.
pub(super) enum Turn<'f, T> {
    /// The caller asks.
    Lead(Leader<'f, T>),
    /// Another one does already.
    Follow(Follower<T>),
}

/// The right and duty to ask; dropping it gives it up.
pub(super) struct Leader<'f, T> {
    flights: &'f Flights<T>,
    key: Key,
    sender: watch::Sender<Option<T>>,
}

/// A wait for what comes of another's question.
pub(super) struct Follower<T>(watch::Receiver<Option<T>>);

impl<T> Default for Flights<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Flights<T> {
    /// Takes a turn.
    pub(super) fn turn(&self, key: Key) -> Turn<'_, T> {
        let mut flights = self.lock();
        if let Some(receiver) = flights.get(&key) {
            return Turn::Follow(Follower(receiver.clone()));
        }
        let (sender, receiver) = watch::channel(None);
        flights.insert(key, receiver);
        Turn::Lead(Leader {
            flights: self,
            key,
            sender,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, watch::Receiver<Option<T>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> Leader<'_, T> {
    /// Tells all who wait what came of it.
    pub(super) fn land(self, landing: &T) {
        self.sender.send_replace(Some(landing.clone()));
    }
}

impl<T> Drop for Leader<'_, T> {
    fn drop(&mut self) {
        self.flights.lock().remove(&self.key);
    }
}

impl<T: Clone> Follower<T> {
    /// What came of it; `None` if nothing will.
    pub(super) async fn landing(mut self) -> Option<T> {
        let landing = self.0.wait_for(Option::is_some).await;
        landing.ok().and_then(|landing| landing.clone())
    }
}
