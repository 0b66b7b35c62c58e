//! How many files, and so how many connections, this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of open files to the hard one; many systems start programs with 1,024.
pub fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return;
    }
    // Where it cannot be raised, there will be fewer connections.
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => tracing::debug!(?current, ?maximum, "raised the limit of open files"),
        Err(error) => tracing::warn!(?current, %error, "the limit of open files stays as it is"),
    }
}

/// Returns how many connections fit into the files this process may open; a quarter is left for
/// other uses.
pub(super) fn affordable(wanted: usize) -> usize {
    let Some(files) = getrlimit(Resource::Nofile).current else { return wanted };
    let most = usize::try_from(files / 4 * 3).unwrap_or(usize::MAX).max(1);
    if most < wanted {
        tracing::warn!(wanted, most, "fewer connections than configured: raise the limit of files");
    }
    wanted.min(most)
}
