//! The places for jobs that one process has, whichever forges they come from.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The places for jobs; clones are the same places.
#[derive(Debug, Clone)]
pub struct Slots {
    free: Arc<Semaphore>,
    /// How many places are to go as soon as they are free.
    surplus: Arc<AtomicUsize>,
    /// How many there are, once those have gone.
    capacity: Arc<AtomicUsize>,
    /// How many are taken by jobs.
    running: Arc<AtomicUsize>,
    /// The process takes one job and no other.
    once: bool,
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take()
            && self
                .surplus
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, |surplus| {
                    surplus.checked_sub(1)
                })
                .is_ok()
        {
            permit.forget();
        }
    }
}

/// One place, until it is dropped.
#[derive(Debug)]
pub struct Slot {
    permit: Option<OwnedSemaphorePermit>,
    surplus: Arc<AtomicUsize>,
    /// A job has it.
    job: Option<CountedJob>,
}

/// A job that is counted until the value is dropped.
#[derive(Debug)]
struct CountedJob(Arc<AtomicUsize>);

impl CountedJob {
    fn begin(running: &Arc<AtomicUsize>) -> Self {
        running.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(running))
    }
}

impl Drop for CountedJob {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Places that are kept free while a forge is asked for jobs.
#[derive(Debug)]
pub struct Reservation {
    slots: Vec<Slot>,
    running: Arc<AtomicUsize>,
    free: Arc<Semaphore>,
    once: bool,
}

impl Slots {
    /// So many places, at least one.
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Self {
            free: Arc::new(Semaphore::new(capacity)),
            surplus: Arc::default(),
            capacity: Arc::new(AtomicUsize::new(capacity)),
            running: Arc::default(),
            once: false,
        }
    }

    /// Changes how many places there are: fewer only as jobs end. One place that is taken once stays that.
    pub fn resize(&self, capacity: usize) {
        if self.once {
            return;
        }
        let capacity = capacity.max(1);
        let old = self.capacity.swap(capacity, Ordering::AcqRel);
        for _ in old..capacity {
            let keep = |surplus: usize| surplus.checked_sub(1);
            if self
                .surplus
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, keep)
                .is_err()
            {
                self.free.add_permits(1);
            }
        }
        for _ in capacity..old {
            if self.free.forget_permits(1) == 0 {
                self.surplus.fetch_add(1, Ordering::AcqRel);
            }
        }
    }

    /// One place that is taken once.
    pub fn once() -> Self {
        Self {
            once: true,
            ..Self::new(1)
        }
    }

    /// Waits for a free place and takes all that are free; nothing if no job is wanted any more.
    ///
    /// Who waits longest comes first, so that no forge keeps another one waiting.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn reserve(&self) -> Option<Reservation> {
        let first = self.free.clone().acquire_owned().await.ok()?;
        let mut permits = vec![first];
        while let Ok(more) = self.free.clone().try_acquire_owned() {
            permits.push(more);
        }
        Some(Reservation {
            slots: permits
                .into_iter()
                .map(|permit| Slot {
                    permit: Some(permit),
                    surplus: self.surplus.clone(),
                    job: None,
                })
                .collect(),
            running: self.running.clone(),
            free: self.free.clone(),
            once: self.once,
        })
    }

    /// How many places are taken by jobs, not counting those that are only reserved for a question.
    pub fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }
}

impl Reservation {
    /// How many jobs may be claimed; at least one.
    pub fn count(&self) -> usize {
        self.slots.len()
    }

    /// The places for so many jobs that were claimed. A forge that hands out more than it was asked for has its way:
    /// what was claimed is run. The other places are free again.
    pub fn into_slots(mut self, jobs: usize) -> Vec<Option<Slot>> {
        if self.once && jobs > 0 {
            self.free.close();
        }
        let taken = self.slots.drain(..).take(jobs).map(|mut slot| {
            slot.job = Some(CountedJob::begin(&self.running));
            slot
        });
        let mut slots: Vec<Option<Slot>> = taken.map(Some).collect();
        slots.resize_with(jobs, || None);
        slots
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn places_are_shared_and_come_back() {
        let slots = Slots::new(2);
        let reserved = slots.reserve().await.unwrap();
        assert_eq!(reserved.count(), 2);
        assert!(slots.clone().reserve().now_or_never().is_none());
        assert_eq!(slots.running(), 0);
        let taken = reserved.into_slots(1);
        assert_eq!(slots.running(), 1);
        let other = slots.clone().reserve().await.unwrap();
        assert_eq!(other.count(), 1);
        drop(taken);
        drop(other);
        assert_eq!(slots.running(), 0);
        assert_eq!(slots.reserve().await.unwrap().count(), 2);
    }

    #[tokio::test]
    async fn places_come_at_once_and_go_as_jobs_end() {
        let slots = Slots::new(2);
        let mut taken = slots.reserve().await.unwrap().into_slots(2);
        slots.resize(1);
        assert!(slots.clone().reserve().now_or_never().is_none());
        drop(taken.pop());
        assert!(
            slots.clone().reserve().now_or_never().is_none(),
            "one job is still there"
        );
        drop(taken.pop());
        assert_eq!(slots.reserve().await.unwrap().count(), 1);
        slots.resize(3);
        assert_eq!(slots.reserve().await.unwrap().count(), 3);
        slots.resize(2);
        assert_eq!(slots.reserve().await.unwrap().count(), 2);
    }

    #[tokio::test]
    async fn one_job_is_one_job_whoever_hands_it_out() {
        let slots = Slots::once();
        let reserved = slots.reserve().await.unwrap();
        assert!(reserved.into_slots(0).is_empty());
        let reserved = slots.reserve().await.unwrap();
        let mut waiting = Box::pin(slots.reserve());
        assert!(waiting.as_mut().now_or_never().is_none());
        assert_eq!(reserved.into_slots(1).len(), 1);
        assert!(waiting.await.is_none());
        assert!(slots.reserve().await.is_none());
    }

    #[tokio::test]
    async fn what_was_handed_out_beyond_the_places_is_run() {
        let reserved = Slots::new(1).reserve().await.unwrap();
        assert_eq!(reserved.into_slots(2).iter().flatten().count(), 1);
    }
}
