//! Who is in a Group: memberships that hold the role, each a row of its own, changed in one commit.

use super::{
    call::{ScimCall, ScimChange},
    group_view::members,
    user_change::{propose, provision},
    user_view::{Member, sent},
};
use crate::{
    domain::{
        membership::{DirectoryEntry, Draft, Invitations, MOST_ROLES, Membership, Proposal, Word},
        organization::Organization,
        scim::{error::ScimError, group::GroupChange},
    },
    http::answer::scim::ScimRefusal,
};
use std::collections::BTreeMap;
use tokio::task::yield_now;

/// How many memberships one request may change, and name.
pub const MOST_CHANGED: usize = 1_000;

/// How many members a Group may have of which some are taken by a replacement of all.
const MOST_REPLACED: usize = 10_000;

/// Memberships are looked at in parts of so many, between which other requests run.
const PART: usize = 50;

/// Who is to be in a Group, and who is not.
#[derive(Default)]
pub struct MemberChanges {
    named: BTreeMap<String, bool>,
    /// Who is not named is not in it.
    replaces_all: bool,
}

impl MemberChanges {
    /// Takes one change of members; others are not its affair.
    pub fn take(&mut self, change: &GroupChange) {
        match change {
            GroupChange::AddMembers(ids) => self.set(ids, true),
            GroupChange::RemoveMembers(ids) => self.set(ids, false),
            GroupChange::RemoveAllMembers => self.replace(&[]),
            GroupChange::ReplaceMembers(ids) => self.replace(ids),
            GroupChange::DisplayName(_) | GroupChange::ExternalId(_) => {}
        }
    }

    fn set(&mut self, ids: &[String], is_in: bool) {
        self.named.extend(ids.iter().map(|id| (id.clone(), is_in)));
    }

    fn replace(&mut self, ids: &[String]) {
        self.named.clear();
        self.replaces_all = true;
        self.set(ids, true);
    }

    /// Gives the role to those who are to be in the Group, and takes it from those who are not. Tells whether that changed
    /// anything.
    pub async fn carry_out(
        mut self,
        call: &ScimCall,
        change: &mut ScimChange,
        role: &str,
    ) -> Result<bool, ScimRefusal> {
        if self.replaces_all {
            // Read once, however often a patch replaces all of them.
            let held = members(call, role, MOST_REPLACED).await?.ok_or_else(too_many)?;
            for id in held {
                self.named.entry(id).or_insert(false);
            }
        }
        let mut changed = 0;
        for (place, (id, is_in)) in self.named.into_iter().enumerate() {
            if place % PART == PART - 1 {
                yield_now().await;
            }
            changed += usize::from(set_role(call, change, (&id, role), is_in).await?);
            if changed > MOST_CHANGED {
                return Err(too_many());
            }
        }
        if changed > 0 && self.replaces_all {
            // Two that replace all members may change no row in common.
            change.commit.touch::<Organization>(call.slug()).await?;
        }
        Ok(changed > 0)
    }
}

fn too_many() -> ScimRefusal {
    let detail = format!("a request changes at most {MOST_CHANGED} members: send it in parts");
    ScimError::too_large(detail).into()
}

/// Gives a role to a User or takes it away, and tells whether that was a change.
async fn set_role(
    call: &ScimCall,
    change: &mut ScimChange,
    (id, role): (&str, &str),
    is_in: bool,
) -> Result<bool, ScimRefusal> {
    let machine = change.commit.look::<Membership>(id).await?.clone();
    let member = match Member::of(&machine, call.slug()) {
        Some(member) => member,
        // Who is not there is not in the Group.
        None if !is_in => return Ok(false),
        None => return Err(ScimError::invalid_value("a member is no User of this server").into()),
    };
    if member.roles().iter().any(|held| held == role) == is_in {
        return Ok(false);
    }
    // Roles that the organization has dropped are not kept.
    let held = match member {
        Member::Known(known) => &known.roles,
        Member::Pending(pending) => &pending.roles,
    };
    let kept = held.iter().filter(|held| change.home.has_role(held) && *held != role);
    let roles: Vec<String> = kept.cloned().chain(is_in.then(|| role.to_owned())).collect();
    if roles.len() > MOST_ROLES {
        let detail = format!("a User is in at most {MOST_ROLES} Groups");
        return Err(ScimError::invalid_value(detail).into());
    }
    match member {
        Member::Known(known) => {
            // Of an ended member it must be kept that a directory looks after them: else no Group lists them.
            let is_new = !known.enabled && known.entry.is_none();
            let entry = if is_new { Some(first_entry(call, change, &member).await?) } else { None };
            let draft = Draft {
                id: known.id.clone(),
                account: known.account.clone(),
                organization: known.organization.clone(),
                roles: Some(roles),
                mapped: None,
                enabled: None,
                entry: entry.map(Box::new),
                word: Word::Directory,
            };
            provision(change, id, draft).await?;
        }
        Member::Pending(pending) => {
            let proposal = Proposal {
                id: pending.id.clone(),
                organization: pending.organization.clone(),
                roles: Some(roles),
                address: pending.address.clone(),
                entry: pending.entry.clone(),
            };
            propose(change, id, proposal).await?;
        }
    }
    Ok(true)
}

/// What a directory says of a member of whom it has said nothing yet: what it has read.
async fn first_entry(
    call: &ScimCall,
    change: &ScimChange,
    member: &Member<'_>,
) -> Result<DirectoryEntry, ScimRefusal> {
    let user = sent(call, member).await?;
    Ok(DirectoryEntry {
        active: user.is_active(),
        changed_at: change.commit.at(),
        came_with: None,
        invitations: Invitations::default(),
        user,
    })
}
