//! Where working memory is kept between two hashes, until it was not used for a while.

use crate::{
    clock::Stopwatch,
    crypto::password::{Memory, PasswordCost},
};
use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::Notify, time::sleep};

struct ShelfEntry {
    memory: Memory,
    since: Stopwatch,
}

/// Memory in order of its last use, the latest at the end.
pub(super) struct Shelf {
    idle: Duration,
    /// More than the usual hash needs, in KiB, is not kept.
    size: usize,
    stock: Mutex<Vec<ShelfEntry>>,
    filled: Notify,
}

impl Shelf {
    pub(super) fn new(idle: Duration, usual: PasswordCost) -> Self {
        let size = usize::try_from(usual.memory).unwrap_or(usize::MAX);
        Self { idle, size, stock: Mutex::default(), filled: Notify::new() }
    }

    /// Returns the memory used last, or some that has yet to grow.
    pub(super) fn take(&self) -> Memory {
        self.stock().pop().map_or_else(Memory::default, |shelved| shelved.memory)
    }

    /// Keeps `memory` for the next hash, unless it is empty or an unusual hash made it large.
    pub(super) fn put(&self, memory: Memory) {
        if memory.size() == 0 || memory.size() > self.size {
            return;
        }
        self.stock().push(ShelfEntry { memory, since: Stopwatch::start() });
        self.filled.notify_one();
    }

    pub(super) fn len(&self) -> usize {
        self.stock().len()
    }

    pub(super) fn clear(&self) {
        drop(mem::take(&mut *self.stock()));
    }

    /// Gives back what has lain too long, for ever; sleeps as long as there is nothing.
    pub(super) async fn sweep(&self) {
        loop {
            match self.until_due() {
                None => self.filled.notified().await,
                Some(rest) => sleep(rest).await,
            }
            drop(self.remove_due());
        }
    }

    fn until_due(&self) -> Option<Duration> {
        let stock = self.stock();
        stock.first().map(|oldest| self.idle.saturating_sub(oldest.since.elapsed()))
    }

    /// Takes out what is due; wiping it is left to the caller, outside of the lock.
    fn remove_due(&self) -> Vec<ShelfEntry> {
        let mut stock = self.stock();
        let due = stock.partition_point(|shelved| shelved.since.elapsed() >= self.idle);
        stock.drain(..due).collect()
    }

    fn stock(&self) -> MutexGuard<'_, Vec<ShelfEntry>> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
