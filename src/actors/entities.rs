//! The door to all entities of one kind; the only thing other rooms hold.

use super::{
    envelope::{Content, Delivered, Envelope, Letter, Presumed},
    failure::{Answer, Failure},
    gate::{Gate, Place},
    guests::NotAdmitted,
    room::Room,
    vitals::KindReport,
};
use crate::domain::Machine;
use std::{sync::Arc, time::Duration};
use tokio::{sync::oneshot, time::timeout};

/// How long something insisted on may take.
const INSISTENCE: Duration = Duration::from_mins(1);

/// How often a command that came back unopened is carried to the next actor.
const CARRIES: usize = 8;

/// Asks entities of the kind `M`; clones are the same door.
pub struct Entities<M: Machine> {
    room: Arc<Room<M>>,
    gate: Gate,
    patience: Duration,
}

impl<M: Machine> Clone for Entities<M> {
    fn clone(&self) -> Self {
        Self { room: self.room.clone(), gate: self.gate.clone(), patience: self.patience }
    }
}

impl<M: Machine> Entities<M> {
    pub(super) fn new(room: Arc<Room<M>>, gate: Gate, patience: Duration) -> Self {
        Self { room, gate, patience }
    }

    /// Asks the entity `id`; the answer is durable when it comes.
    ///
    /// An asker that stops waiting takes an unbegun command with it.
    pub async fn ask(&self, id: &str, command: M::Command) -> Answer<M> {
        self.ask_within(self.patience, id, command).await
    }

    /// Asks an entity whose id was drawn a moment ago: nothing is looked for under it before it
    /// commits, and if something was there after all, the commit finds it.
    pub async fn ask_new(&self, id: &str, command: M::Command) -> Answer<M> {
        self.ask_presuming(Presumed::Unborn, self.patience, id, command).await
    }

    /// Asks with a deadline of its own.
    pub async fn ask_within(&self, patience: Duration, id: &str, command: M::Command) -> Answer<M> {
        self.ask_presuming(Presumed::Nothing, patience, id, command).await
    }

    async fn ask_presuming(
        &self,
        presumed: Presumed,
        patience: Duration,
        id: &str,
        command: M::Command,
    ) -> Answer<M> {
        self.room.vitals.ask();
        let Some(place) = self.gate.enter() else {
            self.room.vitals.shed();
            return Err(Failure::Busy);
        };
        let letter = Letter { command, presumed };
        timeout(patience, self.carry(id, letter, place)).await.unwrap_or(Err(Failure::Late))
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

    pub fn report(&self) -> KindReport {
        self.room.report()
    }

    async fn carry(&self, id: &str, mut letter: Letter<M>, mut place: Place) -> Answer<M> {
        // Only at the door: what was let in does not suffer for a neighbour in the queue.
        if self.room.troubles.is_barred(id, self.room.lent.clock.now()) {
            return Err(Failure::Unavailable);
        }
        for _ in 0..CARRIES {
            let now = self.room.lent.clock.now();
            let guest = match self.room.guests.admit(id, now, |id| self.room.wake(id)) {
                Ok(guest) => guest,
                Err(NotAdmitted::NoActor) => return Err(Failure::Unavailable),
                Err(NotAdmitted::Full) => {
                    self.room.vitals.shed();
                    return Err(Failure::Busy);
                }
            };
            let (port, answer) = oneshot::channel();
            let envelope = Envelope::new(Content { letter, place, port }, guest.load.clone());
            // An envelope that cannot be sent is dropped, and so comes back like any other.
            drop(guest.actor.send_message(envelope));
            let actor = guest.actor.get_cell();
            drop(guest);
            match answer.await {
                Ok(Delivered::Answered(answer)) => return answer,
                Ok(Delivered::Returned(unbegun, kept)) => (letter, place) = (unbegun, kept),
                Err(_closed) => return Err(Failure::Unknown),
            }
            // It came back unopened, so that actor takes no more commands.
            self.room.guests.evict(id, &actor);
        }
        Err(Failure::Unavailable)
    }
}
