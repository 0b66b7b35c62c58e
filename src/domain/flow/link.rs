//! An identity of another provider that a person is about to link to their account (adr/0139).

use super::{Flow, Open, Refusal, SIGN_IN, SIGN_UP, Stage};
use crate::domain::{
    Decision, Requirement, SubCommand, Timestamp,
    connection::Connection,
    external_identity::{Cause, Command, ExternalIdentity, Linked},
    membership::Membership,
    organization::Organization,
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a provider was believed, until the person says that they want it or has made an account.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingLink {
    /// The id that the identity will have.
    pub identity: String,
    /// The id of the connection.
    pub connection: String,
    /// Its version when the provider was believed: another client may stand for other subjects.
    pub version: i64,
    pub subject: String,
    /// What the provider calls the person: it is shown, and decides nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The organization and the person's membership there; `None` for a connection of no organization.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<LinkedMember>,
}

/// For which organization an identity is linked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedMember {
    /// The slug.
    pub organization: String,
    /// The id of the membership.
    pub membership: String,
}

/// Without the subject, which says who a person is elsewhere.
impl fmt::Debug for PendingLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingLink").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl PendingLink {
    /// Links the identity to the account in the commit of this decision.
    pub(super) fn link(
        &self,
        decision: Decision<Flow>,
        account: &str,
        now: Timestamp,
    ) -> Decision<Flow> {
        let linked = Linked {
            id: self.identity.clone(),
            account: account.to_owned(),
            organization: self.member.as_ref().map(|member| member.organization.clone()),
            connection: self.connection.clone(),
            subject: self.subject.clone(),
            linked_at: now,
        };
        let link = Command::Link { linked: Box::new(linked), cause: Cause::Person };
        let command = SubCommand::insisting::<ExternalIdentity>(&*self.identity, link, |_| {
            Refusal::AccountRefused
        });
        self.requirements().into_iter().fold(decision.commanding(command), Decision::requiring)
    }

    /// What must still be so when it is linked.
    fn requirements(&self) -> Vec<Requirement> {
        let connection = Requirement::unchanged::<Connection>(&*self.connection, self.version);
        let member = self.member.iter().flat_map(|member| {
            [
                Requirement::live::<Organization>(&*member.organization),
                Requirement::live::<Membership>(&*member.membership),
            ]
        });
        [connection].into_iter().chain(member).collect()
    }
}

impl Open {
    /// Goes on as the sign-up of a person whom a provider of no organization knows, and no account of ours.
    pub(super) fn apply_for_account(mut self, link: &PendingLink) -> Decision<Flow> {
        if self.seed.kind != SIGN_IN || self.person.is_some() || link.member.is_some() {
            return Decision::refuse(Refusal::NotNow);
        }
        self.held.clear();
        (self.seed.kind, self.stage) = (SIGN_UP.to_owned(), Stage::Profile);
        (self.identifier, self.link) = (None, Some(Box::new(link.clone())));
        self.moved()
    }
}
