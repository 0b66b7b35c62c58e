//! Changes: at the version that the caller has seen, and only while they hold what they need.

use super::{call::Call, caller::Authority};
use crate::{
    actors::{CommitError, MultiCommit},
    domain::{
        Machine,
        account_alerts::{AccountAlerts, Command::Tell},
        authority::Permission,
        invitation::{Command, Invitation},
        message::MailContent,
    },
    http::{answer::error::Problem, people::notice::mail},
};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};

/// A change that is being decided.
pub struct Change {
    pub commit: MultiCommit,
    pub authority: Authority,
    /// The caller's token is held for another party.
    pub by_delegate: bool,
}

const NO_PRECONDITION: Problem = Problem::new(
    StatusCode::PRECONDITION_REQUIRED,
    "precondition_required",
    "If-Match must name the ETag that was last seen, or be *",
);

const OTHER_VERSION: Problem = Problem::new(
    StatusCode::PRECONDITION_FAILED,
    "precondition_failed",
    "it has changed since: read it again",
);

/// Another change was first; nothing happened.
pub(super) const CONFLICT: Problem = Problem::new(
    StatusCode::CONFLICT,
    "conflict",
    "another change came between: read again and repeat",
);

/// An entity of this name is there already.
pub const EXISTS: Problem = Problem::new(StatusCode::CONFLICT, "exists", "there is one already");

pub const NOT_HELD: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "permission_not_held",
    "what the caller does not hold, or its token does not name, cannot be given to others",
);

impl Change {
    pub(super) async fn begin(call: &Call) -> Result<Self, Problem> {
        let mut commit = call.app.multi_commit(&call.caller.context);
        let authority = call.caller.authority(&mut commit).await?;
        Ok(Self { commit, authority, by_delegate: call.caller.is_delegate() })
    }

    /// Refuses where the entity is at another version than the caller has seen.
    pub async fn expect<M: Machine>(&mut self, call: &Call, id: &str) -> Result<(), Problem> {
        let version = self.commit.version::<M>(id).await?;
        expect(call.headers(), version)
    }

    /// Refuses to give to others what the caller may not give (adr/0111).
    pub fn grants<'a>(
        &self,
        permissions: impl IntoIterator<Item = &'a Permission>,
    ) -> Result<(), Problem> {
        match self.authority.grantor.grantable.missing(permissions) {
            Some(_) => Err(NOT_HELD),
            None => Ok(()),
        }
    }

    /// Refuses roles that the organization does not have, or that confer what the caller may not give. A
    /// token that is held for another party gives no role, be it an empty one.
    pub fn grants_roles(&self, roles: &[String], pointer: &str) -> Result<(), Problem> {
        for (place, role) in roles.iter().enumerate() {
            if !self.authority.home.has_role(role) {
                let pointer = format!("{pointer}/{place}");
                return Err(Problem::wrong_member(pointer, "is no role of the organization"));
            }
        }
        if self.by_delegate && !roles.is_empty() {
            return Err(NOT_HELD);
        }
        self.grants(self.authority.home.confers(roles).iter())
    }

    /// Withdraws an invitation, where there is one.
    pub async fn withdraw(&mut self, invitation: Option<String>) -> Result<(), Problem> {
        let Some(id) = invitation else { return Ok(()) };
        // One that is over meanwhile needs no end.
        let _over = self.commit.decide::<Invitation>(&id, &Command::Withdraw).await?;
        Ok(())
    }

    /// Tells a person by mail of what is changed in the same commit, where they can be told.
    pub async fn tell(
        &mut self,
        call: &Call,
        account: &str,
        content: MailContent,
    ) -> Result<(), Problem> {
        let seen = call.app.views.accounts.look(account).await?;
        let known = seen.machine.known();
        // One that is suspended is told nothing.
        let known = known.filter(|known| !known.is_suspended());
        let mail = known.and_then(|known| mail(&call.app, &call.caller.context, known, content));
        if let Some(mail) = mail {
            let tell = Tell { account: account.to_owned(), mail: Box::new(mail) };
            let _told = self.commit.decide::<AccountAlerts>(account, &tell).await?;
        }
        Ok(())
    }

    /// Commits what was decided.
    pub async fn finish(self) -> Result<(), Problem> {
        self.commit.commit().await.map_err(|error| match error {
            CommitError::Conflict | CommitError::Unmet { .. } => CONFLICT,
            CommitError::Taken { .. } => EXISTS,
            CommitError::Unavailable => Problem::UNAVAILABLE,
            CommitError::Unknown => Problem::OUTCOME_UNKNOWN,
        })
    }
}

/// Refuses where a version is not the one that the caller has seen (RFC 9110 §13.1.1).
fn expect(headers: &HeaderMap, version: i64) -> Result<(), Problem> {
    let given = headers.get_all(header::IF_MATCH).iter().map(HeaderValue::to_str);
    let mut tags = Vec::new();
    for line in given {
        tags.extend(line.map_err(|_| OTHER_VERSION)?.split(',').map(str::trim));
    }
    if tags.is_empty() {
        return Err(NO_PRECONDITION);
    }
    let own = format!("\"{version}\"");
    let met = tags.iter().any(|tag| (*tag == "*" && version > 0) || *tag == own);
    if met { Ok(()) } else { Err(OTHER_VERSION) }
}

/// Writes a version as an entity tag.
pub fn version_tag(version: i64) -> HeaderValue {
    HeaderValue::try_from(format!("\"{version}\"")).unwrap_or(HeaderValue::from_static("\"0\""))
}
