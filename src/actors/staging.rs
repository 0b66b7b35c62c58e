//! Entities that are decided on beside the owner of a commit: read once, decided on in turn, written with it.

use super::{
    commit_builder::{Author, add_effects},
    hydrate::{HydrateError, parsed},
};
use crate::{
    domain::{Birth, EntityKind, Machine, Requirement, StagedMachine, SubCommand},
    store::{Change, Commit, Delta, ExpectedRow, Row, Store},
};
use std::collections::HashMap;

/// An entity, and the version it was read at; 0 where there was no row.
pub(super) struct StagedEntity {
    pub(super) machine: Box<dyn StagedMachine>,
    pub(super) version: i64,
}

type Key = (&'static str, String);

/// The entities of a commit beside its owner.
#[derive(Default)]
pub(super) struct Staging {
    entities: HashMap<Key, StagedEntity>,
    /// In the order in which they were first read.
    order: Vec<Key>,
}

impl Staging {
    /// Returns the entity `id` as it would be by now; reads it the first time.
    pub(super) async fn entity(
        &mut self,
        store: &Store,
        kind: EntityKind,
        id: &str,
    ) -> Result<&mut StagedEntity, HydrateError> {
        let key = (kind.kind, id.to_owned());
        if !self.entities.contains_key(&key) {
            let entity = load(store, kind, id).await?;
            self.order.push(key.clone());
            self.entities.insert(key.clone(), entity);
        }
        Ok(self.entities.get_mut(&key).expect("it was read above"))
    }

    /// Has the commanded entities decide, one after the other. `Err` inside is the owner's refusal: then
    /// nothing may be written.
    pub(super) async fn carry_out<M: Machine>(
        &mut self,
        commands: Vec<SubCommand<M>>,
        reply: &mut M::Reply,
        (commit, author): (&mut Commit, &Author<'_>),
    ) -> Result<Result<(), M::Refusal>, HydrateError> {
        for command in commands {
            let (kind, id) = (command.entity, command.id.clone());
            let entity = self.entity(&author.services.store, kind, &id).await?;
            match command.run(&mut *entity.machine, reply, commit.at) {
                Ok(effects) => {
                    let author = Author { kind: kind.kind, id: &id, ..*author };
                    add_effects(commit, effects, &author);
                }
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
        Ok(Ok(()))
    }

    /// Judges what is required of entities that were read here, and takes it out of the commit: the version of a row that
    /// changes is compared when it is written, and one that does not is required below. (On PostgreSQL a lock to share
    /// a row that is then written would have two such commits wait for each other.) Returns the kind of one that is not
    /// as required: to decide again would not help, since the requirement comes from outside.
    pub(super) fn judge_requirements(&self, commit: &mut Commit) -> Option<&'static str> {
        let (at, mut unmet) = (commit.at, None);
        commit.requirements.retain(|requirement| {
            let read = self
                .order
                .iter()
                .find(|(kind, id)| *kind == requirement.kind() && id == requirement.id());
            let Some(StagedEntity { machine, version }) =
                read.and_then(|key| self.entities.get(key))
            else {
                return true;
            };
            let holds = match requirement {
                Requirement::Unchanged { version: required, .. } => required == version,
                Requirement::Live { .. } if machine.is_changed() => machine.was_live(at),
                Requirement::Live { .. } => return true,
            };
            if !holds {
                unmet = Some(requirement.kind());
            }
            false
        });
        unmet
    }

    /// What was read is required to be unchanged.
    pub(super) fn requirements(&self) -> Vec<Requirement> {
        let read = self.order.iter().filter_map(|key| Some((key, self.entities.get(key)?.version)));
        // A row that was not there cannot be required to stay away.
        read.filter(|(_, version)| *version > 0)
            .map(|((kind, id), version)| Requirement::Unchanged { kind, id: id.clone(), version })
            .collect()
    }

    /// Adds to `commit` what has changed; what was only looked at must still be as it was.
    pub(super) fn add_to(&self, commit: &mut Commit) {
        for key in &self.order {
            let Some(StagedEntity { machine, version }) = self.entities.get(key) else { continue };
            match (machine.is_changed(), *version) {
                (true, version) => commit.changes.push(change(&**machine, &key.1, version)),
                // A row that was not there cannot be required to stay away.
                (false, 0) => {}
                (false, version) => {
                    let (kind, id) = (key.0, key.1.clone());
                    commit.requirements.push(Requirement::Unchanged { kind, id, version });
                }
            }
        }
    }
}

fn change(machine: &dyn StagedMachine, id: &str, version: i64) -> Change {
    let (names, listings) = machine.former();
    let next = machine.stored(id);
    let Birth { kind, id, revision, id_is_derived, state, live_until, forget_at, .. } = next;
    Change {
        kind,
        id,
        expected: ExpectedRow::read(version),
        revision,
        id_is_derived,
        state,
        live_until,
        forget_at,
        names: Delta::between(&names, &next.names),
        listings: Delta::between(&listings, &next.listings),
    }
}

/// Reads the entity `id` of a kind whose machine is not known here.
async fn load(store: &Store, kind: EntityKind, id: &str) -> Result<StagedEntity, HydrateError> {
    let Some(row) = store.load(kind.kind, id).await? else {
        return Ok(StagedEntity { machine: (kind.unborn)(), version: 0 });
    };
    let Row { version, ref state, revision } = row;
    let machine = parsed((kind.kind, id), (revision, kind.revision), || (kind.parse)(state))?;
    Ok(StagedEntity { machine, version })
}
