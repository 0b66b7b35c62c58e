//! The threads on which a module is called (adr/0155).
//!
//! A call into a module cannot be ended from outside. So there are few threads for it, and no caller waits longer than it
//! says: a call that does not return keeps its thread, and the rest of the process goes on.

use super::Waiter;
use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        mpsc::{RecvTimeoutError, sync_channel},
    },
    thread::{Builder, JoinHandle},
    time::Duration,
};

/// How many calls may be in a module at once, and how many more may wait.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub threads: usize,
    pub waiting: usize,
}

/// Why a call has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    #[error("a call into the module has not returned in time")]
    Late,
    #[error("too many calls wait for the module")]
    Full,
    #[error("a call into the module ended in a panic")]
    Died,
    #[error("the module is called no more")]
    Closed,
}

type Job = Box<dyn FnOnce() + Send>;

/// Threads that are started when they are needed, and stay.
pub(super) struct CallThreads(Arc<ThreadPool>);

struct ThreadPool {
    room: Room,
    waiting: Waiter,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// By number, so that a caller that waits no longer takes its call back.
    waiting: VecDeque<(u64, Job)>,
    numbers: u64,
    handles: Vec<JoinHandle<()>>,
    running: usize,
    idle: usize,
    is_closed: bool,
}

impl CallThreads {
    pub(super) fn new(room: Room, waiting: Waiter) -> Self {
        let (state, changed) = (Mutex::default(), Condvar::new());
        Self(Arc::new(ThreadPool { room, waiting, state, changed }))
    }

    /// Tells whether one more call may wait.
    pub(super) fn has_room(&self) -> bool {
        self.0.state().waiting.len() < self.0.room.waiting
    }

    /// Makes a call and waits for its answer for so long.
    pub(super) fn call<T: Send + 'static>(
        &self,
        patience: Duration,
        call: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NoAnswer> {
        let (answer, answered) = sync_channel(1);
        let number = self.enqueue(Box::new(move || {
            // A caller that has gone wants no answer.
            let _ = answer.send(call());
        }))?;
        let mut told = Err(RecvTimeoutError::Disconnected);
        (self.0.waiting)(&mut || told = answered.recv_timeout(patience));
        match told {
            Ok(answer) => Ok(answer),
            Err(RecvTimeoutError::Timeout) => {
                self.0.state().waiting.retain(|(waiting, _)| *waiting != number);
                Err(NoAnswer::Late)
            }
            Err(RecvTimeoutError::Disconnected) => Err(NoAnswer::Died),
        }
    }

    fn enqueue(&self, job: Job) -> Result<u64, NoAnswer> {
        let mut state = self.0.state();
        if state.is_closed {
            return Err(NoAnswer::Closed);
        }
        if state.waiting.len() >= self.0.room.waiting {
            return Err(NoAnswer::Full);
        }
        state.numbers += 1;
        let number = state.numbers;
        state.waiting.push_back((number, job));
        if state.waiting.len() > state.idle && state.running < self.0.room.threads {
            let shared = self.0.clone();
            let named = Builder::new().name("pkcs11".to_owned());
            match named.spawn(move || shared.work()) {
                Ok(handle) => {
                    state.running += 1;
                    state.handles.push(handle);
                }
                // Another thread will come to it.
                Err(_) if state.running > 0 => {}
                Err(_) => {
                    state.waiting.pop_back();
                    return Err(NoAnswer::Full);
                }
            }
        }
        drop(state);
        self.0.changed.notify_one();
        Ok(number)
    }

    /// Takes no more calls, and waits for so long until none is in the module; tells whether that is so.
    pub(super) fn close(&self, patience: Duration) -> bool {
        {
            let mut state = self.0.state();
            state.is_closed = true;
            state.waiting.clear();
        }
        self.0.changed.notify_all();
        let mut handles = None;
        (self.0.waiting)(&mut || {
            let is_running = |state: &mut State| state.running > 0;
            let waited = self.0.changed.wait_timeout_while(self.0.state(), patience, is_running);
            let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            handles = (state.running == 0).then(|| std::mem::take(&mut state.handles));
        });
        handles.is_some_and(|handles| handles.into_iter().all(|one| one.join().is_ok()))
    }
}

impl ThreadPool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some((_, job)) = state.waiting.pop_front() {
                drop(state);
                // Its caller learns of it: the answer is dropped with the job.
                let _ = catch_unwind(AssertUnwindSafe(job));
                state = self.state();
            } else if state.is_closed {
                break;
            } else {
                state.idle += 1;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
        state.running -= 1;
        drop(state);
        self.changed.notify_all();
    }
}

impl Drop for CallThreads {
    fn drop(&mut self) {
        self.0.state().is_closed = true;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};

    const LONG: Duration = Duration::from_mins(1);
    const SHORT: Duration = Duration::from_millis(20);

    fn threads(threads: usize, waiting: usize) -> Arc<CallThreads> {
        Arc::new(CallThreads::new(Room { threads, waiting }, |wait| wait()))
    }

    /// A call that is in the module until it is let go, and the caller that waits for it.
    fn hang(threads: &Arc<CallThreads>) -> (Sender<()>, JoinHandle<Result<(), NoAnswer>>) {
        let ((release, released), (begun, has_begun)) = (channel(), channel());
        let threads = threads.clone();
        let waiting = Builder::new().spawn(move || {
            threads.call(LONG, move || {
                begun.send(()).unwrap();
                let _ = released.recv();
            })
        });
        has_begun.recv().unwrap();
        (release, waiting.unwrap())
    }

    #[test]
    fn a_call_is_answered_and_its_thread_is_used_again() {
        let threads = threads(4, 4);
        for number in 0..20 {
            assert_eq!(threads.call(LONG, move || number), Ok(number));
        }
        assert!(threads.0.state().running <= 4);
        assert!(threads.close(LONG));
        assert_eq!(threads.call(LONG, || ()), Err(NoAnswer::Closed));
    }

    #[test]
    fn calls_that_hang_take_the_few_threads_and_no_caller_waits_longer_than_it_says() {
        let threads = threads(2, 1);
        let hanging = [hang(&threads), hang(&threads)];
        // Both threads are in the module. A third call waits for one in vain, and is taken back.
        for _ in 0..3 {
            assert_eq!(threads.call(SHORT, || ()), Err(NoAnswer::Late));
        }
        assert_eq!(threads.0.state().running, 2);
        assert!(threads.0.state().waiting.is_empty());
        assert!(!threads.close(SHORT), "two calls are in the module still");
        for (release, waiting) in hanging {
            drop(release);
            assert_eq!(waiting.join().unwrap(), Ok(()));
        }
        assert!(threads.close(LONG));
    }

    #[test]
    fn what_hung_and_has_returned_is_called_again() {
        let threads = threads(1, 2);
        let (release, waiting) = hang(&threads);
        assert_eq!(threads.call(SHORT, || 5), Err(NoAnswer::Late));
        release.send(()).unwrap();
        assert_eq!(waiting.join().unwrap(), Ok(()));
        assert_eq!(threads.call(LONG, || 7), Ok(7));
    }

    #[test]
    fn more_calls_than_may_wait_are_refused_at_once() {
        let threads = threads(1, 1);
        let (release, _waiting) = hang(&threads);
        assert!(threads.has_room());
        let waiting = {
            let threads = threads.clone();
            Builder::new().spawn(move || threads.call(LONG, || 1)).unwrap()
        };
        while threads.has_room() {
            std::thread::yield_now();
        }
        assert_eq!(threads.call(LONG, || 2), Err(NoAnswer::Full));
        release.send(()).unwrap();
        assert_eq!(waiting.join().unwrap(), Ok(1));
    }

    #[test]
    fn a_call_that_panics_has_no_answer_and_its_thread_goes_on() {
        let threads = threads(1, 1);
        let died = threads.call(LONG, || assert!(std::hint::black_box(false), "as planned"));
        assert_eq!(died, Err(NoAnswer::Died));
        assert_eq!(threads.call(LONG, || 7), Ok(7));
    }
}
