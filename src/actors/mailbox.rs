//! A request on its way to an entity; one that is never begun comes back.
//!
//! A mailbox can end with messages in it: the entity rested, panicked or was stopped. Such a message
//! returns its request to the caller, which sends it to the next actor. So a command is begun once
//! or not at all, and none fails for what another command in the queue has done.

use super::{concurrent_work::Work, directory::Load, failure::Answer, gate::Permit};
use crate::{
    clock::Stopwatch,
    domain::{Context, Machine},
};
use std::{sync::Arc, time::Duration};
use tokio::sync::oneshot;

/// What an entity is asked.
pub(super) struct Request<M: Machine> {
    pub(super) context: Context,
    pub(super) command: M::Command,
    pub(super) condition: Condition,
    /// What is to be done with the reply while it is committed.
    pub(super) work: Option<Arc<dyn Work<M>>>,
}

/// What the caller says of the entity.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    Nothing,
    /// It must be at this version, or nothing is decided.
    IsAt(i64),
}

/// What the caller hears.
pub(super) enum Outcome<M: Machine> {
    Answered(Answer<M>),
    /// It was not begun.
    Returned(Request<M>, Permit),
}

/// The message of an entity's actor.
pub(super) struct Envelope<M: Machine> {
    unopened: Option<EnvelopeContent<M>>,
    load: Arc<Load>,
    sent: Stopwatch,
}

pub(super) struct EnvelopeContent<M: Machine> {
    pub(super) request: Request<M>,
    pub(super) permit: Permit,
    pub(super) reply: oneshot::Sender<Outcome<M>>,
}

impl<M: Machine> Envelope<M> {
    pub(super) fn new(unopened: EnvelopeContent<M>, load: Arc<Load>) -> Self {
        Self { unopened: Some(unopened), load, sent: Stopwatch::start() }
    }

    /// Says how long it has been in the mailbox.
    pub(super) fn waited(&self) -> Duration {
        self.sent.elapsed()
    }

    /// Takes out the request to begin it, unless its caller has gone.
    pub(super) fn open(mut self) -> Option<(Request<M>, Port<M>)> {
        let EnvelopeContent { request, permit, reply } = self.unopened.take()?;
        if reply.is_closed() {
            return None;
        }
        self.load.hold();
        Some((request, Port { reply: Some(reply), _permit: permit, load: self.load.clone() }))
    }
}

impl<M: Machine> Drop for Envelope<M> {
    fn drop(&mut self) {
        if let Some(EnvelopeContent { request, permit, reply }) = self.unopened.take() {
            let _ = reply.send(Outcome::Returned(request, permit));
        }
        self.load.release();
    }
}

/// Where the answer goes; dropped without one, the caller knows that the outcome is unknown.
///
/// While it exists the entity counts as busy and does not rest.
pub(super) struct Port<M: Machine> {
    reply: Option<oneshot::Sender<Outcome<M>>>,
    /// Given back when the command has ended, however it ended.
    _permit: Permit,
    load: Arc<Load>,
}

impl<M: Machine> Port<M> {
    pub(super) fn answer(mut self, answer: Answer<M>) {
        if let Some(reply) = self.reply.take() {
            let _ = reply.send(Outcome::Answered(answer));
        }
    }
}

impl<M: Machine> Drop for Port<M> {
    fn drop(&mut self) {
        self.load.release();
    }
}
