//! A command on its way to an entity; one that is never opened comes back.
//!
//! A mailbox can end with messages in it: the entity rested, panicked or was stopped. An unopened
//! envelope then returns its command to the asker, who carries it to the next actor. So a command is
//! begun once or not at all, and nobody fails for what a neighbour in the queue has done.

use super::{directory::Load, failure::Answer, gate::Permit};
use crate::{clock::Stopwatch, domain::Machine};
use std::{sync::Arc, time::Duration};
use tokio::sync::oneshot;

/// What the asker hears.
pub(super) enum Delivered<M: Machine> {
    Answered(Answer<M>),
    /// It was not begun.
    Returned(Letter<M>, Permit),
}

/// A command, and what its asker knows of the entity.
pub(super) struct Letter<M: Machine> {
    pub(super) command: M::Command,
    pub(super) presumed: Presumed,
}

/// What an entity may presume of itself before it has read anything.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Presumed {
    Nothing,
    /// Its id was drawn a moment ago, so that there is no row.
    Unborn,
}

pub(super) struct Envelope<M: Machine> {
    content: Option<Content<M>>,
    load: Arc<Load>,
    posted: Stopwatch,
}

/// What an unopened envelope holds.
pub(super) struct Content<M: Machine> {
    pub(super) letter: Letter<M>,
    pub(super) permit: Permit,
    pub(super) port: oneshot::Sender<Delivered<M>>,
}

impl<M: Machine> Envelope<M> {
    pub(super) fn new(content: Content<M>, load: Arc<Load>) -> Self {
        Self { content: Some(content), load, posted: Stopwatch::start() }
    }

    /// Says how long it has lain in the mailbox.
    pub(super) fn waited(&self) -> Duration {
        self.posted.elapsed()
    }

    /// Takes out the command to begin it, unless its asker has gone.
    pub(super) fn open(mut self) -> Option<(Letter<M>, Port<M>)> {
        let Content { letter, permit, port } = self.content.take()?;
        if port.is_closed() {
            return None;
        }
        self.load.hold();
        Some((letter, Port { asker: Some(port), _permit: permit, load: self.load.clone() }))
    }
}

impl<M: Machine> Drop for Envelope<M> {
    fn drop(&mut self) {
        if let Some(Content { letter, permit, port }) = self.content.take() {
            let _ = port.send(Delivered::Returned(letter, permit));
        }
        self.load.release();
    }
}

/// Where the answer goes; dropped without one, the asker knows that the outcome is unknown.
///
/// While it exists the entity counts as busy and does not rest.
pub(super) struct Port<M: Machine> {
    asker: Option<oneshot::Sender<Delivered<M>>>,
    /// Given back when the command has ended, however it ended.
    _permit: Permit,
    load: Arc<Load>,
}

impl<M: Machine> Port<M> {
    pub(super) fn answer(mut self, answer: Answer<M>) {
        if let Some(asker) = self.asker.take() {
            let _ = asker.send(Delivered::Answered(answer));
        }
    }
}

impl<M: Machine> Drop for Port<M> {
    fn drop(&mut self) {
        self.load.release();
    }
}
