//! How far a file has come, for the operator who waits.

/// Counts the file's entities as they are decided on.
pub(super) struct Progress<'a> {
    told: &'a (dyn Fn(usize, usize) + Sync),
    done: usize,
    all: usize,
}

impl<'a> Progress<'a> {
    pub(super) fn new(told: &'a (dyn Fn(usize, usize) + Sync), all: usize) -> Self {
        Self { told, done: 0, all }
    }

    pub(super) fn advance(&mut self) {
        self.done += 1;
        (self.told)(self.done, self.all);
    }
}
