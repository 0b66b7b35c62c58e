//! Rows that a decision rests on: read once, and required to be unchanged in its commit.

use super::{
    hydrate::HydrateError,
    services::Services,
    staging::{StagedEntity, Staging},
};
use crate::domain::{EntityKind, Machine, Requirement, Staged};
use std::{any::Any, sync::Arc};

/// Entities that were read from the store, not from the memory of their actors.
pub struct ReadSet {
    pub(super) services: Arc<Services>,
    pub(super) staging: Staging,
}

impl ReadSet {
    pub(super) fn new(services: Arc<Services>) -> Self {
        Self { services, staging: Staging::default() }
    }

    /// Shows the entity `id`; reads it the first time.
    ///
    /// A row that was not there cannot be required to stay away: a caller that relies on its absence creates it.
    pub async fn look<M: Machine>(&mut self, id: &str) -> Result<&M, HydrateError> {
        Ok(self.staged_mut::<M>(id).await?.next())
    }

    /// Returns the version at which the entity `id` was read, 0 where it was not there.
    pub async fn version<M: Machine>(&mut self, id: &str) -> Result<i64, HydrateError> {
        Ok(self.entity::<M>(id).await?.version)
    }

    /// Returns what must hold in the commit of a decision that rests on what was read.
    pub fn requirements(&self) -> Vec<Requirement> {
        self.staging.requirements()
    }

    pub(super) async fn entity<M: Machine>(
        &mut self,
        id: &str,
    ) -> Result<&mut StagedEntity, HydrateError> {
        self.staging.entity(&self.services.store, EntityKind::of::<M>(), id).await
    }

    pub(super) async fn staged_mut<M: Machine>(
        &mut self,
        id: &str,
    ) -> Result<&mut Staged<M>, HydrateError> {
        let entity: &mut dyn Any = &mut *self.entity::<M>(id).await?.machine;
        let staged = entity.downcast_mut::<Staged<M>>();
        Ok(staged.expect("an entity is staged as the machine of its kind"))
    }
}
