//! How much is sent at once: a bounded number in flight, a bounded queue behind it, and a share that adapts.
//!
//! A judge that says it is over its rate halves the share of everything that is allowed, requests in flight and rate
//! alike; each answer gives a little back. One wave of refusals halves it once: only the refusal of a request that was
//! sent after the last halving counts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit, TryAcquireError};
use tokio::time::{Instant, timeout_at};

use crate::judge::remote::ConcurrencyOptions;

/// The least share.
const MIN_SHARE: f64 = 1.0 / 16.0;
/// So many answers for each request in flight give back what is missing of the whole share.
const ROUNDS_TO_REGROW: f64 = 4.0;
/// A judge with few requests in flight recovers as slowly as one with so many.
const LEAST_ROUND: usize = 8;

/// Gives calls their turn.
pub(super) struct Concurrency {
    options: ConcurrencyOptions,
    semaphore: Semaphore,
    waiting: AtomicUsize,
    limit: Mutex<Limit>,
}

struct Limit {
    share: f64,
    permits: usize,
    /// Permits that are to be destroyed when they come back.
    debt: usize,
    halved_at: Option<Instant>,
}

/// A request in flight; it is over when this is dropped.
pub(super) struct Permit<'a> {
    owner: &'a Concurrency,
    permit: Option<SemaphorePermit<'a>>,
}

/// Why a call gets no turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoTurn {
    /// The queue is full.
    QueueFull,
    /// The deadline came first.
    Late,
}

impl Concurrency {
    pub(super) fn new(options: ConcurrencyOptions) -> Self {
        let permits = options.max_in_flight.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            options,
            semaphore: Semaphore::new(permits),
            waiting: AtomicUsize::new(0),
            limit: Mutex::new(Limit {
                share: 1.0,
                permits,
                debt: 0,
                halved_at: None,
            }),
        }
    }

    /// Waits for a turn until the deadline; `queued` is called if there is a wait, and its result lives as long.
    pub(super) async fn acquire<G>(
        &self,
        deadline: Instant,
        queued: impl FnOnce() -> G,
    ) -> Result<Permit<'_>, NoTurn> {
        let permit = match self.semaphore.try_acquire() {
            Ok(permit) => permit,
            Err(TryAcquireError::Closed) => return Err(NoTurn::QueueFull),
            Err(TryAcquireError::NoPermits) => {
                let _place = Place::take(&self.waiting, self.options.max_queued)?;
                let _guard = queued();
                match timeout_at(deadline, self.semaphore.acquire()).await {
                    Ok(Ok(permit)) => permit,
                    Ok(Err(_)) => return Err(NoTurn::QueueFull),
                    Err(_) => return Err(NoTurn::Late),
                }
            }
        };
        Ok(Permit {
            owner: self,
            permit: Some(permit),
        })
    }

    /// The share of everything that is in force.
    pub(super) fn share(&self) -> f64 {
        self.lock().share
    }

    /// A request sent at `sent_at` was refused because of the rate.
    pub(super) fn refused(&self, sent_at: Instant, now: Instant) {
        let mut limit = self.lock();
        if limit.halved_at.is_some_and(|halved_at| sent_at < halved_at) {
            return;
        }
        limit.halved_at = Some(now);
        let share = (limit.share / 2.0).max(MIN_SHARE);
        self.set_share(&mut limit, share);
    }

    /// A request was answered.
    pub(super) fn answered(&self) {
        let mut limit = self.lock();
        if limit.share < 1.0 {
            let round = count(self.options.max_in_flight.max(LEAST_ROUND));
            let share = (limit.share + 1.0 / (ROUNDS_TO_REGROW * round)).min(1.0);
            self.set_share(&mut limit, share);
        }
    }

    fn set_share(&self, limit: &mut Limit, share: f64) {
        limit.share = share;
        let whole = self.options.max_in_flight.clamp(1, Semaphore::MAX_PERMITS);
        let permits = part(whole, share).max(1);
        if permits < limit.permits {
            let fewer = limit.permits - permits;
            limit.debt += fewer - self.semaphore.forget_permits(fewer);
        } else {
            let more = permits - limit.permits;
            let paid = more.min(limit.debt);
            limit.debt -= paid;
            self.semaphore.add_permits(more - paid);
        }
        limit.permits = permits;
    }

    fn lock(&self) -> MutexGuard<'_, Limit> {
        self.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let Some(permit) = self.permit.take() else {
            return;
        };
        let mut limit = self.owner.lock();
        if 0 < limit.debt {
            limit.debt -= 1;
            permit.forget();
        } else {
            drop(permit);
        }
    }
}

/// A place in the queue; it is free again when this is dropped.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(waiting: &'a AtomicUsize, max: usize) -> Result<Self, NoTurn> {
        let before = waiting.fetch_add(1, Ordering::SeqCst);
        let place = Self(waiting);
        if before < max {
            Ok(place)
        } else {
            Err(NoTurn::QueueFull)
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

const fn count(number: usize) -> f64 {
    number as f64
}

fn part(whole: usize, share: f64) -> usize {
    (count(whole) * share).floor() as usize
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn concurrency(max_in_flight: usize, max_queued: usize) -> Concurrency {
        Concurrency::new(ConcurrencyOptions {
            max_in_flight,
            max_queued,
        })
    }

    async fn acquire(concurrency: &Concurrency) -> Result<Permit<'_>, NoTurn> {
        let deadline = Instant::now() + Duration::from_secs(1);
        concurrency.acquire(deadline, || ()).await
    }

    /// Permits that can be had now.
    async fn free(concurrency: &Concurrency) -> usize {
        let mut permits = Vec::new();
        while let Ok(permit) = acquire(concurrency).await {
            permits.push(permit);
        }
        permits.len()
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_is_bounded_and_its_places_come_back() {
        let concurrency = concurrency(1, 1);
        let held = acquire(&concurrency).await.unwrap();
        {
            let mut waiting = Box::pin(acquire(&concurrency));
            assert!(futures_util::poll!(&mut waiting).is_pending());
            assert_eq!(acquire(&concurrency).await.err(), Some(NoTurn::QueueFull));
        }
        let mut waiting = Box::pin(acquire(&concurrency));
        assert!(futures_util::poll!(&mut waiting).is_pending());
        drop(held);
        assert!(waiting.await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_no_longer_than_its_deadline() {
        let concurrency = concurrency(1, 1);
        let _held = acquire(&concurrency).await.unwrap();
        assert_eq!(acquire(&concurrency).await.err(), Some(NoTurn::Late));
    }

    #[tokio::test(start_paused = true)]
    async fn r33_a_wave_of_refusals_halves_the_limit_once_and_answers_give_it_back() {
        let concurrency = concurrency(8, 0);
        let sent_at = Instant::now();
        let held = acquire(&concurrency).await.unwrap();
        tokio::time::advance(Duration::from_millis(1)).await;
        for _ in 0..5 {
            concurrency.refused(sent_at, Instant::now());
        }
        assert!((concurrency.share() - 0.5).abs() < 1e-9);
        assert_eq!(free(&concurrency).await, 3);
        drop(held);
        assert_eq!(free(&concurrency).await, 4);
        for _ in 0..16 {
            concurrency.answered();
        }
        assert!((concurrency.share() - 1.0).abs() < 1e-9);
        assert_eq!(free(&concurrency).await, 8);
    }

    #[tokio::test(start_paused = true)]
    async fn permits_in_flight_are_taken_away_when_they_come_back() {
        let concurrency = concurrency(4, 0);
        let mut held = Vec::new();
        for _ in 0..4 {
            held.push(acquire(&concurrency).await.unwrap());
        }
        concurrency.refused(Instant::now(), Instant::now());
        held.truncate(2);
        assert_eq!(free(&concurrency).await, 0);
        held.clear();
        assert_eq!(free(&concurrency).await, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn one_request_is_always_allowed() {
        let concurrency = concurrency(2, 0);
        for _ in 0..10 {
            tokio::time::advance(Duration::from_millis(1)).await;
            concurrency.refused(Instant::now(), Instant::now());
        }
        assert!((concurrency.share() - MIN_SHARE).abs() < 1e-9);
        assert_eq!(free(&concurrency).await, 1);
    }
}
