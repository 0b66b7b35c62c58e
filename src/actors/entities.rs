//! The door to all entities of one kind; the only thing other rooms hold.

use super::{
    directory::NotAdmitted,
    envelope::{Content, Delivered, Envelope, Letter, Presumed},
    failure::{Answer, Failure},
    gate::{Gate, Permit},
    kind_shared::KindShared,
    vitals::KindReport,
};
use crate::domain::Machine;
use std::{sync::Arc, time::Duration};
use tokio::{sync::oneshot, time};

/// How long something insisted on may take.
const INSISTENCE: Duration = Duration::from_mins(1);

/// How often a command that came back unopened is carried to the next actor.
const CARRIES: usize = 8;

/// Asks entities of the kind `M`; clones are the same door.
pub struct Entities<M: Machine> {
    shared: Arc<KindShared<M>>,
    gate: Gate,
    timeout: Duration,
}

impl<M: Machine> Clone for Entities<M> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), gate: self.gate.clone(), timeout: self.timeout }
    }
}

impl<M: Machine> Entities<M> {
    pub(super) fn new(shared: Arc<KindShared<M>>, gate: Gate, timeout: Duration) -> Self {
        Self { shared, gate, timeout }
    }

    /// Asks the entity `id`; the answer is durable when it comes.
    ///
    /// An asker that stops waiting takes an unbegun command with it.
    pub async fn ask(&self, id: &str, command: M::Command) -> Answer<M> {
        self.ask_within(self.timeout, id, command).await
    }

    /// Asks an entity whose id was drawn a moment ago: nothing is looked for under it before it
    /// commits, and if something was there after all, the commit finds it.
    pub async fn ask_new(&self, id: &str, command: M::Command) -> Answer<M> {
        self.ask_presuming(Presumed::Unborn, self.timeout, id, command).await
    }

    /// Asks with a deadline of its own.
    pub async fn ask_within(&self, timeout: Duration, id: &str, command: M::Command) -> Answer<M> {
        self.ask_presuming(Presumed::Nothing, timeout, id, command).await
    }

    async fn ask_presuming(
        &self,
        presumed: Presumed,
        timeout: Duration,
        id: &str,
        command: M::Command,
    ) -> Answer<M> {
        self.shared.vitals.ask();
        let Some(permit) = self.gate.enter() else {
            self.shared.vitals.shed();
            return Err(Failure::Busy);
        };
        let letter = Letter { command, presumed };
        time::timeout(timeout, self.carry(id, letter, permit)).await.unwrap_or(Err(Failure::Late))
    }

    /// Asks for what must not be abandoned: a revocation is carried out though nobody waits.
    pub async fn insist(&self, id: &str, command: M::Command) -> Answer<M> {
        let (door, id) = (self.clone(), id.to_owned());
        let (tell, told) = oneshot::channel();
        self.gate.run(async move {
            let _ = tell.send(door.ask_within(INSISTENCE, &id, command).await);
        });
        told.await.unwrap_or(Err(Failure::Unknown))
    }

    /// Has a command carried out that no caller waits for.
    pub fn tell(&self, id: &str, command: M::Command) {
        let (door, id) = (self.clone(), id.to_owned());
        self.gate.run(async move {
            if door.ask_within(INSISTENCE, &id, command).await.is_err() {
                tracing::warn!(kind = M::KIND, "a command that no caller waits for was not done");
            }
        });
    }

    pub fn report(&self) -> KindReport {
        self.shared.report()
    }

    async fn carry(&self, id: &str, mut letter: Letter<M>, mut permit: Permit) -> Answer<M> {
        // Only at the door: what was let in does not suffer for a neighbour in the queue.
        if self.shared.quarantine.is_barred(id, self.shared.services.clock.now()) {
            return Err(Failure::Unavailable);
        }
        for _ in 0..CARRIES {
            let now = self.shared.services.clock.now();
            let entity = match self.shared.directory.admit(id, now, |id| self.shared.wake(id)) {
                Ok(entity) => entity,
                Err(NotAdmitted::NoActor) => return Err(Failure::Unavailable),
                Err(NotAdmitted::Full) => {
                    self.shared.vitals.shed();
                    return Err(Failure::Busy);
                }
            };
            let (port, answer) = oneshot::channel();
            let envelope = Envelope::new(Content { letter, permit, port }, entity.load.clone());
            // An envelope that cannot be sent is dropped, and so comes back like any other.
            drop(entity.actor.send_message(envelope));
            let actor = entity.actor.get_cell();
            drop(entity);
            match answer.await {
                Ok(Delivered::Answered(answer)) => return answer,
                Ok(Delivered::Returned(unbegun, kept)) => (letter, permit) = (unbegun, kept),
                Err(_closed) => return Err(Failure::Unknown),
            }
            // It came back unopened, so that actor takes no more commands.
            self.shared.directory.evict(id, &actor);
        }
        Err(Failure::Unavailable)
    }
}
