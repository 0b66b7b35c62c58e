//! What a token family answers.

use super::RefreshToken;
use crate::domain::{
    Birth, Requirement, Timestamp,
    authority::{GrantedAuthority, Widening},
    grant::Grant,
};

/// What a command that was granted yields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Begun,
    /// Authority for the tokens to be issued now.
    Issue(Box<Issue>),
    Revoked,
    Shown(Box<FamilyView>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    pub grant: Grant,
    pub granted: GrantedAuthority,
}

/// A family born alive in the commit of another entity.
pub struct Born {
    pub birth: Birth,
    /// What is issued once that commit is durable.
    pub issue: Issue,
    /// What that commit must require.
    pub requirements: Vec<Requirement>,
}

/// A view of a family that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyView {
    pub grant: Grant,
    pub born_at: Timestamp,
    /// The refresh token that is good.
    pub refresh: Option<RefreshToken>,
    /// While its code is out: only the tokens it is redeemed for repeat it (OIDC Core §12.2).
    pub nonce: Option<String>,
    /// Where its code was sent, while that is out.
    pub redirect_uri: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("no such code or token was issued")]
    Unknown,
    #[error("it has expired")]
    Expired,
    #[error("it was issued to another client")]
    WrongClient,
    #[error("the redirect URI is not the one of the request")]
    WrongRedirectUri,
    #[error("the verifier does not belong to the challenge")]
    WrongVerifier,
    #[error("it is bound to another key than the caller holds")]
    WrongKey,
    #[error("the code was presented again: its family has ended")]
    Replayed,
    #[error("the refresh token was presented again: its family has ended")]
    Reused,
    #[error("its family has ended")]
    Ended,
    #[error("the session in which it would be granted is over")]
    SessionOver,
    #[error("the grant is for another recipient")]
    OtherAudience,
    #[error("the grant is for another organization")]
    OtherOrganization,
    #[error("the organization requires more than the person had proved")]
    NotSureEnough,
    #[error("a scope is malformed")]
    MalformedScope,
    #[error("the details are malformed")]
    MalformedDetails,
    #[error(transparent)]
    Widening(#[from] Widening),
}
