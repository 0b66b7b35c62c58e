//! Begins an entity whose id was drawn for it alone, with idempotent retries: a request that waits for a person, a registered client.

use super::retries::{FinalFailure, Retries};
use crate::{
    actors::{Entities, Failure},
    domain::{Context, Machine},
};

/// Has the entity `id` begin. Where it is not known what came of that, the very same is asked again: no other
/// request has drawn the id, so that one which `is_there` is ours. A person is written to once.
pub async fn begin<M: Machine>(
    entities: &Entities<M>,
    (context, id): (&Context, &str),
    command: M::Command,
    is_there: fn(&M::Refusal) -> bool,
) -> Result<(), FinalFailure<M::Refusal>>
where
    M::Command: Clone,
{
    let Err(mut failure) = entities.ask_new(context, id, command.clone()).await else {
        return Ok(());
    };
    if !failure.may_have_happened() {
        return Err(FinalFailure::Failed(failure));
    }
    let mut tries = Retries::new();
    loop {
        tries.after(failure).await?;
        match entities.ask(context, id, command.clone()).await {
            Ok(_) => return Ok(()),
            Err(Failure::Refused(refusal)) if is_there(&refusal) => return Ok(()),
            Err(next) => failure = next,
        }
    }
}
