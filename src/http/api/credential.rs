//! What a caller is known by, and what of it must still be so when a change is committed (adr/0111).

use super::caller::INVALID_TOKEN;
use crate::{
    actors::MultiCommit,
    domain::{
        Requirement, Timestamp,
        access_token::{AccessToken, Command},
        account::Account,
        installation::{INSTALLATION_ID, Installation},
        organization,
        session::Session,
    },
    http::{answer::error::Problem, grants::api_key::LiveKey, reading::Dependencies},
};
use std::sync::Arc;

#[derive(Clone)]
pub enum Credential {
    Token {
        judged_by: Arc<Dependencies>,
        expires_at: Timestamp,
    },
    Key(Arc<LiveKey>),
    Session {
        id: String,
        account: String,
        /// Of the person, when they signed in.
        epoch: u64,
        /// The number of the last sign-out of the organization when their proofs were looked at.
        signed_out: u64,
    },
}

impl Credential {
    /// Tells whether it was looked at before the people of the organization were signed out of it.
    pub fn precedes_sign_out(&self, home: &organization::Known) -> bool {
        matches!(self, Self::Session { signed_out, .. } if *signed_out != home.signed_out)
    }

    /// Has a commit happen only while it is good.
    pub async fn require(&self, commit: &mut MultiCommit) -> Result<(), Problem> {
        match self {
            Self::Token { judged_by, expires_at } => {
                judged_by.requirements.iter().cloned().for_each(|fact| commit.require(fact));
                for jti in &judged_by.tokens {
                    let used = Command::Use { expires_at: *expires_at };
                    let decided = commit.decide::<AccessToken>(jti, &used).await?;
                    decided.map_err(|_| INVALID_TOKEN)?;
                }
            }
            Self::Key(live) => {
                let facts = &live.dependencies.requirements;
                facts.iter().cloned().for_each(|fact| commit.require(fact));
            }
            Self::Session { id, account, epoch, .. } => {
                commit.require(Requirement::live::<Session>(&**id));
                let now = commit.at();
                let installation = commit.look::<Installation>(INSTALLATION_ID).await?;
                let sign_outs = installation.sign_outs();
                let known = commit.look::<Account>(account).await?.known();
                if !known.is_some_and(|known| known.honours(*epoch, sign_outs, now)) {
                    return Err(INVALID_TOKEN);
                }
            }
        }
        Ok(())
    }
}
