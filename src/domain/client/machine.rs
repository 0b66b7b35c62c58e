//! A client: an application, a service or an agent that asks for tokens.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | provision | known | its metadata or what it says beside it does not hold together |
//! | unborn | register | known, until it is no longer used | its metadata does not hold together |
//! | unborn | keep | known by its document, until it is no longer used | |
//! | known by its document | keep | known, by what the document says now | an operator has provisioned it |
//! | known | provision | known, what was given replaced; kept for good | likewise |
//! | known | use | known; a client that registered itself is kept longer | never |
//! | known | rotate its secret | known, by another secret; the former is good until the overlap is over | it has none; the overlap is too long |
//! | known | replace | known, all metadata replaced, another registration token | the token is not its own; it is the operator's |
//! | known | delete | deleted | likewise |
//! | known | remove | deleted | the operator has provisioned it, and it is not the operator who removes it |
//! | known | suspend | suspended: it confers nothing, and accepts no change | |
//! | suspended | suspend | the same | |
//! | suspended | enable | known, in another epoch: what was issued before stays ended | |
//! | suspended | remove, by the operator | deleted | |
//! | suspended | any other | suspended | always; a draft that changes nothing is accepted |
//! | deleted | any | deleted | always |
//!
//! A client of a suspended organization accepts no change, as the organization itself does not. The
//! organization comes with the command; that it has not changed since is a requirement of the commit.

use super::{
    AgentLimits, Deletion, KnownClient, Profile, Refusal, Registrant, Registration, Removal,
    Replacement, SecretRotation, Usage,
};
use crate::domain::{
    Decision, Fingerprint, Listing, Machine, Provisioned, Redrawn, Timestamp, organization,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// The list of all clients.
pub const CLIENTS: &str = "clients";

/// The list of the clients of an organization.
pub const ORGANIZATION_CLIENTS: &str = "organization_clients";

/// The list of clients that registered themselves and that no person has used.
pub const UNUSED_CLIENTS: &str = "unused_clients";

/// No client has a longer id.
pub const LONGEST_ID: usize = 255;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Client {
    #[default]
    Unborn,
    Known(Box<KnownClient>),
    /// It has deleted itself: what was issued to it is good no more.
    Deleted {
        /// The last registration token.
        token: Fingerprint,
        /// No person has ever used it: it still counts among those.
        unused: bool,
        /// Until then no other client gets its id.
        forget_at: Timestamp,
    },
}

/// What a file may say of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bond {
    To(Profile),
    Free,
}

/// What a provisioning file says; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    pub client_id: String,
    /// Members of client metadata by their standard names.
    pub metadata: Map<String, Value>,
    pub secret: Option<Fingerprint>,
    pub organization: Option<String>,
    pub roles: Option<Vec<String>>,
    pub trusted: Option<bool>,
    /// Acts only when the client is made.
    pub members_only: Option<bool>,
    pub claims_in_id_token: Option<bool>,
    pub require_profile: Option<Bond>,
    pub introspects: Option<Vec<String>>,
    /// An empty text lifts it.
    pub may_act: Option<String>,
    /// Replaces the whole of it.
    pub leash: Option<AgentLimits>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// `home` is the organization that the client will speak for, as it is now.
    Provision {
        draft: Box<Draft>,
        home: Option<organization::Known>,
    },
    /// What the installation cannot serve to it has been refused before.
    Register(Box<Registrant>),
    /// What its document says, which lies at its own address.
    Keep(Box<KnownClient>),
    /// The client replaces what it has said of itself.
    Replace(Box<Replacement>),
    /// The client deletes itself.
    Delete(Deletion),
    /// It was granted something.
    Use(Usage),
    /// The organization that has made it, or the operator, has given it another secret.
    RotateSecret(SecretRotation),
    /// The organization that has made it ends it, or the operator does.
    Remove(Removal),
    Suspend,
    Enable,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Provisioned(Box<KnownClient>),
    Used { used: Usage, at: Timestamp },
    Deleted { token: Fingerprint, unused: bool, forget_at: Timestamp },
}

impl Client {
    /// Returns the client, unless it is suspended: then it is as if it were not there.
    pub fn known(&self) -> Option<&KnownClient> {
        self.held().filter(|known| !known.suspended)
    }

    /// Returns the client, be it suspended: for those who look after it.
    pub fn held(&self) -> Option<&KnownClient> {
        match self {
            Self::Unborn | Self::Deleted { .. } => None,
            Self::Known(known) => Some(known),
        }
    }

    fn provision(&self, draft: &Draft, home: Option<&organization::Known>) -> Decision<Self> {
        match self.redraw(draft, home) {
            Ok(redrawn) => {
                redrawn.decide(|next| Event::Provisioned(Box::new(next)), |outcome| outcome)
            }
            Err(why) => Decision::refuse(why),
        }
    }

    fn redraw(
        &self,
        draft: &Draft,
        home: Option<&organization::Known>,
    ) -> Result<Redrawn<KnownClient>, Refusal> {
        let printable = |byte: u8| byte.is_ascii_graphic();
        let id = &draft.client_id;
        if !(1..=LONGEST_ID).contains(&id.len()) || !id.bytes().all(printable) {
            return Err(Refusal::ClientId);
        }
        if matches!(self, Self::Deleted { .. }) {
            return Err(Refusal::Deleted);
        }
        let existed = self.held().is_some();
        let held = self.held().cloned().unwrap_or_else(|| KnownClient::new(id));
        // Tokens, grants and the audit trail of one organization must not become another's.
        let asked = draft.organization.as_ref();
        if asked.zip(held.organization.as_ref()).is_some_and(|(asked, held)| asked != held) {
            return Err(Refusal::OtherOrganization);
        }
        let metadata = held.metadata.patch(&draft.metadata).map_err(Refusal::Metadata)?;
        let next = KnownClient {
            client_id: held.client_id.clone(),
            // A client that turns to a method without a secret has no use for the one it had.
            secret: draft.secret.or(held.secret.filter(|_| metadata.may_use_secret())),
            former: held.former,
            metadata,
            organization: draft.organization.clone().or(held.organization.clone()),
            roles: draft.roles.as_deref().map_or(held.roles.clone(), unique),
            trusted: draft.trusted.unwrap_or(held.trusted),
            members_only: draft.members_only.filter(|_| !existed).unwrap_or(held.members_only),
            claims_in_id_token: draft.claims_in_id_token.unwrap_or(held.claims_in_id_token),
            require_profile: match draft.require_profile {
                None => held.require_profile,
                Some(Bond::Free) => None,
                Some(Bond::To(profile)) => Some(profile),
            },
            introspects: draft.introspects.as_deref().map_or(held.introspects.clone(), unique),
            may_act: draft.may_act.clone().or(held.may_act.clone()).filter(|one| !one.is_empty()),
            leash: draft.leash.clone().or(held.leash.clone()),
            // An operator who provisions a client makes it their own.
            registration: held
                .registration
                .clone()
                .map(|kept| Registration { adopted: true, ..kept }),
            suspended: held.suspended,
            epoch: held.epoch,
            enabled_at: held.enabled_at,
            redirects_epoch: held.redirects_epoch,
        };
        let next = next.ending_former(&held);
        let next = if existed { next.counting_redirects(&held) } else { next };
        let mut differs = next.metadata.differing(&held.metadata);
        differs.extend([
            ("client_secret", next.secret != held.secret),
            ("organization", next.organization != held.organization),
            ("roles", next.roles != held.roles),
            ("trusted", next.trusted != held.trusted),
            ("members_only", next.members_only != held.members_only),
            ("claims_in_id_token", next.claims_in_id_token != held.claims_in_id_token),
            ("require_profile", next.require_profile != held.require_profile),
            ("introspects", next.introspects != held.introspects),
            ("may_act", next.may_act != held.may_act),
            ("agent", next.leash != held.leash),
            ("registration", next.registration != held.registration),
        ]);
        let outcome = Provisioned::of(existed, &differs);
        if held.suspended && outcome != Provisioned::Unchanged {
            return Err(Refusal::ClientSuspended);
        }
        if next.members_only && next.trusted {
            return Err(Refusal::TrustedByMembers);
        }
        // A client that does not change is not checked again: its organization may have changed since.
        if outcome != Provisioned::Unchanged {
            next.check(home, if existed { &held.roles } else { &[] })?;
        }
        let record = outcome.record("client.created", "client.changed");
        let record = record.map(|record| match &next.organization {
            Some(slug) => record.in_organization(slug),
            None => record,
        });
        let record = record.map(|record| next.telling_redirects(&held, record));
        Ok(Redrawn { next, outcome, records: record.into_iter().collect() })
    }
}

/// Returns the list without repetitions.
fn unique(list: &[String]) -> Vec<String> {
    let mut seen = HashSet::new();
    list.iter().filter(|member| seen.insert(*member)).cloned().collect()
}

impl Machine for Client {
    const KIND: &'static str = "client";
    // 2: `registration`; 3: when that was last used, and until when it is kept; 4: `Deleted`;
    // 5: `members_only`, which an older binary would let serve all; 6: `may_act`, documents;
    // 7: `suspended`, which an older binary would serve; 8: `leash`, likewise; 9: `redirects_epoch`;
    // 10: `former`; 11: `claims_in_id_token`
    const REVISION: u32 = 11;
    type Command = Command;
    type Event = Event;
    type Reply = Provisioned;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match command {
            Command::Provision { draft, home } => self.provision(draft, home.as_ref()),
            Command::Register(registrant) => self.register(registrant, now),
            Command::Keep(seen) => self.keep(seen),
            Command::Replace(replacement) => self.replace(replacement, now),
            Command::RotateSecret(rotation) => self.rotate_secret(*rotation, now),
            Command::Delete(deletion) => self.delete(deletion, now),
            Command::Use(used) => self.note_use(*used, now),
            Command::Remove(removal) => self.remove(removal, now),
            Command::Suspend => self.turn(true, now),
            Command::Enable => self.turn(false, now),
        }
    }

    fn apply(&mut self, event: &Event) {
        match (event, self) {
            (Event::Provisioned(known), machine) => *machine = Self::Known(known.clone()),
            (Event::Used { used, at }, Self::Known(known)) => {
                if let Some(registration) = &mut known.registration {
                    registration.note_use(*used, *at);
                }
            }
            (Event::Used { .. }, Self::Unborn | Self::Deleted { .. }) => {}
            (Event::Deleted { token, unused, forget_at }, machine) => {
                let (token, unused, forget_at) = (*token, *unused, *forget_at);
                *machine = Self::Deleted { token, unused, forget_at };
            }
        }
    }

    fn live_until(&self) -> Timestamp {
        match self {
            Self::Unborn => Timestamp::FOREVER,
            Self::Known(known) if !known.suspended => {
                let end = known.leash.as_ref().and_then(|limits| limits.expires_at);
                end.unwrap_or(Timestamp::FOREVER)
            }
            Self::Known(_) | Self::Deleted { .. } => Timestamp::NEVER,
        }
    }

    fn forget_at(&self) -> Option<Timestamp> {
        match self {
            Self::Unborn => None,
            Self::Known(known) => known.forgotten_at(),
            Self::Deleted { forget_at, .. } => Some(*forget_at),
        }
    }

    fn tolerates_stale(command: &Command) -> bool {
        // A use that was noted stays noted.
        matches!(command, Command::Use(_))
    }

    fn listings(&self) -> Vec<Listing> {
        let listing = |list, rank: &str| Listing::new(list, "", rank);
        match self {
            Self::Unborn => Vec::new(),
            Self::Known(known) => {
                let unused = known.is_unused().then(|| listing(UNUSED_CLIENTS, &known.client_id));
                let home = known.organization.as_deref();
                let home =
                    home.map(|slug| Listing::new(ORGANIZATION_CLIENTS, slug, &*known.client_id));
                let all = [listing(CLIENTS, &known.client_id)];
                all.into_iter().chain(unused).chain(home).collect()
            }
            // Or else clients that register and delete themselves would never be too many.
            Self::Deleted { unused, .. } => {
                unused.then(|| listing(UNUSED_CLIENTS, "")).into_iter().collect()
            }
        }
    }
}

#[cfg(test)]
mod tests;
