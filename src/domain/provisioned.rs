//! What provisioning does to an entity: the part that all provisioned machines share.
//!
//! A machine redraws itself from a draft and names what differs. Where nothing does, nothing is
//! committed; otherwise the event and its records are, and the answer names the fields.

use super::{Decision, Machine, Record};

/// What provisioning did to one entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provisioned {
    Created,
    /// The names of the fields that differ now.
    Changed(Vec<&'static str>),
    Unchanged,
}

impl Provisioned {
    /// Names what differs between the state before, if there was one, and the next.
    pub(super) fn of(existed: bool, differs: &[(&'static str, bool)]) -> Self {
        if !existed {
            return Self::Created;
        }
        let fields: Vec<&'static str> =
            differs.iter().filter_map(|(field, differs)| differs.then_some(*field)).collect();
        if fields.is_empty() { Self::Unchanged } else { Self::Changed(fields) }
    }

    /// Names one more field that differs.
    #[must_use]
    pub fn with(self, field: &'static str) -> Self {
        match self {
            Self::Created => Self::Created,
            Self::Unchanged => Self::Changed(vec![field]),
            Self::Changed(mut fields) => {
                fields.push(field);
                Self::Changed(fields)
            }
        }
    }

    /// Returns the record of the creation, or of the change with its fields.
    pub(super) fn record(&self, created: &'static str, changed: &'static str) -> Option<Record> {
        match self {
            Self::Created => Some(Record::new(created)),
            Self::Changed(fields) => Some(Record::new(changed).with("fields", fields.join(" "))),
            Self::Unchanged => None,
        }
    }
}

/// An entity as a draft makes it.
pub(super) struct Redrawn<K> {
    pub(super) next: K,
    pub(super) outcome: Provisioned,
    pub(super) records: Vec<Record>,
}

impl<K> Redrawn<K> {
    /// Commits the next state with its records, unless nothing differs.
    pub(super) fn decide<M: Machine>(
        self,
        event: impl Fn(K) -> M::Event,
        reply: impl Fn(Provisioned) -> M::Reply,
    ) -> Decision<M> {
        let Self { next, outcome, records } = self;
        if outcome == Provisioned::Unchanged {
            return Decision::accept(Vec::new(), reply(outcome));
        }
        let accepted = Decision::accept(vec![event(next)], reply(outcome));
        records.into_iter().fold(accepted, Decision::recording)
    }
}
