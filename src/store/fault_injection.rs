//! Lets a test decide that the database fails at a named moment.

/// A moment at which a database can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A read; it answers with an error.
    Read,
    /// The statements of a transaction; one of them fails and nothing is written.
    Write,
    /// COMMIT; it fails and the transaction is gone, but the caller cannot know.
    Commit,
    /// The answer to COMMIT; the transaction is durable, but the caller cannot know.
    Answer,
}

/// Decides, moment by moment, whether the database fails.
pub trait FaultInjection: Send + Sync {
    fn fails(&self, moment: Moment) -> bool;
}

/// For production: no planted failure.
pub struct NothingFails;

impl FaultInjection for NothingFails {
    fn fails(&self, _moment: Moment) -> bool {
        false
    }
}
