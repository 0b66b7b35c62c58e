//! How other modules reach the entities of one kind; they hold nothing else of an actor.

use super::{
    birth::create,
    concurrent_work::{ConcurrentWork, Work},
    directory::AdmissionRefusal,
    failure::{Answer, Failure, VersionedReply},
    gate::{Gate, Permit},
    kind_shared::KindContext,
    mailbox::{Condition, Envelope, EnvelopeContent, Outcome, Request},
    metrics::KindReport,
};
use crate::domain::{Context, Machine};
use std::{sync::Arc, time::Duration};
use tokio::{sync::oneshot, time};

/// How long a detached command may take.
const DETACHED_TIMEOUT: Duration = Duration::from_mins(1);

/// How often a request that came back unopened is sent to the next actor.
const SENDS: usize = 8;

/// Asks entities of the kind `M`; clones are the same.
pub struct Entities<M: Machine> {
    shared: Arc<KindContext<M>>,
    gate: Gate,
    timeout: Duration,
}

impl<M: Machine> Clone for Entities<M> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), gate: self.gate.clone(), timeout: self.timeout }
    }
}

impl<M: Machine> Entities<M> {
    pub(super) fn new(shared: Arc<KindContext<M>>, gate: Gate, timeout: Duration) -> Self {
        Self { shared, gate, timeout }
    }

    /// Asks the entity `id`; the answer is durable when it comes.
    ///
    /// A caller that stops waiting takes an unbegun command with it.
    pub async fn ask(&self, context: &Context, id: &str, command: M::Command) -> Answer<M> {
        // An answer that may be older needs no turn in the mailbox.
        if M::tolerates_stale(&command)
            && let Some(answer) = self.answer_from_cache(id, &command)
        {
            return answer;
        }
        self.ask_within(self.timeout, context, id, command).await
    }

    /// Asks an entity whose id was drawn a moment ago: nothing is looked for under it, and no actor is
    /// started. If something was there after all, the commit finds it, and its actor is asked.
    pub async fn ask_new(&self, context: &Context, id: &str, command: M::Command) -> Answer<M> {
        let (context, condition) = (context.clone(), Condition::Nothing);
        self.create(id, Request { context, command, condition, work: None }).await
    }

    /// Asks the entity `id`, which may be `new`, and does `work` on its reply while that is committed. What
    /// comes of it is returned with the answer, and thrown away with what was not committed.
    pub async fn ask_and_work<T: Send + 'static>(
        &self,
        (context, id, new): (&Context, &str, bool),
        command: M::Command,
        work: impl Fn(&M::Reply) -> T + Send + Sync + 'static,
    ) -> Result<(VersionedReply<M::Reply>, T), Failure<M::Refusal>> {
        let concurrent = ConcurrentWork::new(work);
        let work: Arc<dyn Work<M>> = concurrent.clone();
        let (context, condition, work) = (context.clone(), Condition::Nothing, Some(work));
        let request = Request { context, command, condition, work };
        let replied = if new {
            self.create(id, request).await?
        } else {
            self.send(self.timeout, id, request).await?
        };
        let result = concurrent.result(&replied.reply);
        Ok((replied, result))
    }

    async fn create(&self, id: &str, request: Request<M>) -> Answer<M> {
        let permit = self.admit()?;
        if self.shared.quarantine.is_barred(id, self.shared.services.clock.now()) {
            return Err(Failure::Unavailable);
        }
        let (shared, new) = (self.shared.clone(), id.to_owned());
        let (tell, told) = oneshot::channel();
        // As with an actor: what was begun is carried to its end, though its caller may have gone.
        self.gate.run(async move {
            let born = create(&shared, &new, &request).await;
            let _ = tell.send(born.ok_or((request, permit)));
        });
        let answer = async {
            match told.await {
                Ok(Ok(answer)) => answer,
                Ok(Err((request, permit))) => self.send_until_begun(id, request, permit).await,
                Err(_panicked) => Err(Failure::Unknown),
            }
        };
        time::timeout(self.timeout, answer).await.unwrap_or(Err(Failure::Late))
    }

    /// Asks the entity `id` if it is at `version`, 0 where it must not exist yet; at another version
    /// nothing is decided and the answer is [`Failure::OtherVersion`].
    pub async fn ask_if(
        &self,
        context: &Context,
        id: &str,
        version: i64,
        command: M::Command,
    ) -> Answer<M> {
        let (context, condition) = (context.clone(), Condition::IsAt(version));
        self.send(self.timeout, id, Request { context, command, condition, work: None }).await
    }

    /// Asks with a timeout of its own.
    pub async fn ask_within(
        &self,
        timeout: Duration,
        context: &Context,
        id: &str,
        command: M::Command,
    ) -> Answer<M> {
        let (context, condition) = (context.clone(), Condition::Nothing);
        self.send(timeout, id, Request { context, command, condition, work: None }).await
    }

    /// Asks for what must not be abandoned: a revocation is carried out though its caller hangs up.
    pub async fn ask_detached(
        &self,
        context: &Context,
        id: &str,
        command: M::Command,
    ) -> Answer<M> {
        let (entities, context, id) = (self.clone(), context.clone(), id.to_owned());
        let (tell, told) = oneshot::channel();
        self.gate.run(async move {
            let asked = entities.ask_within(DETACHED_TIMEOUT, &context, &id, command);
            let _ = tell.send(asked.await);
        });
        told.await.unwrap_or(Err(Failure::Unknown))
    }

    /// Has a command carried out that no caller waits for.
    pub fn tell(&self, context: &Context, id: &str, command: M::Command) {
        let (entities, context, id) = (self.clone(), context.clone(), id.to_owned());
        self.gate.run(async move {
            let asked = entities.ask_within(DETACHED_TIMEOUT, &context, &id, command);
            if asked.await.is_err() {
                tracing::warn!(kind = M::KIND, "a command that no caller waits for was not done");
            }
        });
    }

    /// Answers a command that tolerates an older answer from what the entity's actor held after its last command,
    /// or from what was born.
    fn answer_from_cache(&self, id: &str, command: &M::Command) -> Option<Answer<M>> {
        let KindContext { directory, newborns, .. } = &*self.shared;
        let held = directory.last_held(id).or_else(|| newborns.get(id))?;
        let answer = held.answer_from_cache(command, self.shared.services.clock.now())?;
        self.shared.metrics.ask();
        Some(answer)
    }

    pub fn report(&self) -> KindReport {
        self.shared.report()
    }

    /// Counts a command, and lets it in if a permit is left.
    fn admit(&self) -> Result<Permit, Failure<M::Refusal>> {
        self.shared.metrics.ask();
        self.gate.enter().ok_or_else(|| {
            self.shared.metrics.shed();
            Failure::Busy
        })
    }

    async fn send(&self, timeout: Duration, id: &str, request: Request<M>) -> Answer<M> {
        let permit = self.admit()?;
        let answer = self.send_until_begun(id, request, permit);
        time::timeout(timeout, answer).await.unwrap_or(Err(Failure::Late))
    }

    async fn send_until_begun(
        &self,
        id: &str,
        mut request: Request<M>,
        mut permit: Permit,
    ) -> Answer<M> {
        // Only here: what waits in a mailbox does not suffer for another command in it.
        if self.shared.quarantine.is_barred(id, self.shared.services.clock.now()) {
            return Err(Failure::Unavailable);
        }
        for _ in 0..SENDS {
            let now = self.shared.services.clock.now();
            let entity =
                match self.shared.directory.admit(id, now, |id, last| self.shared.wake(id, last)) {
                    Ok(entity) => entity,
                    Err(AdmissionRefusal::NoActor) => return Err(Failure::Unavailable),
                    Err(AdmissionRefusal::Full) => {
                        self.shared.metrics.shed();
                        return Err(Failure::Busy);
                    }
                };
            let (reply, answer) = oneshot::channel();
            let unopened = EnvelopeContent { request, permit, reply };
            // An envelope that cannot be sent is dropped, and so comes back like any other.
            drop(entity.actor.send_message(Envelope::new(unopened, entity.load.clone())));
            let actor = entity.actor.get_cell();
            drop(entity);
            match answer.await {
                Ok(Outcome::Answered(answer)) => return answer,
                Ok(Outcome::Returned(unbegun, kept)) => (request, permit) = (unbegun, kept),
                Err(_closed) => return Err(Failure::Unknown),
            }
            // It came back unopened, so that actor takes no more commands.
            self.shared.directory.evict(id, &actor);
        }
        Err(Failure::Unavailable)
    }
}
