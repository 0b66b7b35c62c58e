//! How a thing came out of provisioning.

/// What provisioning did to one entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Provisioned {
    Created,
    /// The names of the fields that differ now.
    Changed(Vec<&'static str>),
    Unchanged,
}

impl Provisioned {
    /// Names what differs between what was held, if anything was, and what follows.
    pub(super) fn of(existed: bool, differs: &[(&'static str, bool)]) -> Self {
        if !existed {
            return Self::Created;
        }
        let fields: Vec<&'static str> =
            differs.iter().filter_map(|(field, differs)| differs.then_some(*field)).collect();
        if fields.is_empty() { Self::Unchanged } else { Self::Changed(fields) }
    }

    /// Returns the fields for a record: all of them are new where the entity is.
    pub(super) fn fields(&self) -> String {
        match self {
            Self::Changed(fields) => fields.join(" "),
            Self::Created | Self::Unchanged => String::new(),
        }
    }
}
