//! Waiting on a thread that serves requests.

use tokio::{
    runtime::{Handle, RuntimeFlavor},
    task::block_in_place,
};

/// Waits on this thread without holding up what it serves: another thread takes that over.
pub fn wait_beside_others(wait: &mut dyn FnMut()) {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(wait),
        _ => wait(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{sync::mpsc::channel, time::Duration};
    use tokio::task::JoinSet;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn who_waits_holds_up_no_other_request() {
        let (release, released) = channel::<()>();
        let mut served = JoinSet::new();
        served.spawn(async move {
            let mut told = None;
            let minute = Duration::from_mins(1);
            wait_beside_others(&mut || told = Some(released.recv_timeout(minute)));
            assert_eq!(told, Some(Ok(())));
        });
        // Runs on the one thread of this runtime, while that one waits.
        served.spawn(async move { release.send(()).unwrap() });
        served.join_all().await;
    }

    #[test]
    fn without_a_runtime_it_simply_waits() {
        let mut waited = false;
        wait_beside_others(&mut || waited = true);
        assert!(waited);
    }
}
