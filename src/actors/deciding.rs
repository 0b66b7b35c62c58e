//! One decision of an entity, with those of the entities that it commands.

use super::{
    commit_builder::{Author, add_effects, nothing_yet, step},
    hydrate::HydrateError,
    staging::Staging,
};
use crate::{
    domain::{Decision, Machine, Requirement, Timestamp},
    store::Commit,
};

/// What a decision comes to.
pub(super) enum Outcome<M: Machine> {
    /// Nothing is to be written. The answer rests on the version that was read, and on these facts.
    Read { requirements: Vec<Requirement>, answer: Result<M::Reply, M::Refusal> },
    /// The owner requires of a commanded entity what is not so.
    Unmet { kind: &'static str },
    /// The entity's next state, and the commit that says so.
    Write { next: M, commit: Commit, answer: Result<M::Reply, M::Refusal> },
}

/// The kinds of entities that were commanded. Where one of them has changed, the owner decides again.
pub(super) type CommandedKinds = Vec<&'static str>;

/// Has the machine, which was read at `version`, decide, and the entities that it commands after it.
pub(super) async fn decide<M: Machine>(
    (machine, version): (&M, i64),
    command: &M::Command,
    (author, now): (&Author<'_>, Timestamp),
) -> Result<(Outcome<M>, CommandedKinds), HydrateError> {
    let mut commanded = CommandedKinds::new();
    let Decision { events, effects, commands, outcome: mut answer } = machine.decide(command, now);
    let mut writes = !events.is_empty() || !effects.write_nothing();
    let mut commit = nothing_yet(now);
    commit.locks_requirements = !M::IS_JUDGED_AGAIN;
    add_effects(&mut commit, effects, author);
    let births = std::mem::take(&mut commit.changes);
    if let Ok(reply) = &mut answer
        && !commands.is_empty()
    {
        let mut staging = Staging::default();
        commanded = commands.iter().map(|command| command.entity.kind).collect();
        let decided = staging.carry_out(commands, reply, (&mut commit, author)).await?;
        if let Err(refusal) = decided {
            let (requirements, answer) = (Vec::new(), Err(refusal));
            return Ok((Outcome::Read { requirements, answer }, commanded));
        }
        if let Some(kind) = staging.judge_requirements(&mut commit) {
            return Ok((Outcome::Unmet { kind }, commanded));
        }
        staging.add_to(&mut commit);
        writes |= !(commit.changes.is_empty() && commit.records.is_empty());
        writes |= !commit.messages.is_empty();
    }
    if !writes {
        let requirements = commit.requirements;
        return Ok((Outcome::Read { requirements, answer }, commanded));
    }
    let mut next = machine.clone();
    for event in &events {
        next.apply(event);
    }
    // The caller gets the new version of the first.
    commit.changes.insert(0, step(author.id, machine, &next, version));
    commit.changes.extend(births);
    Ok((Outcome::Write { next, commit, answer }, commanded))
}
