//! Lets the person of an account recover it by a link, beside running servers.

use crate::{
    actors::{HydrateError, MultiCommit},
    crypto::{OpaqueKind, id_of_uuid},
    domain::{
        Locale, Timestamp,
        account::{Account, Command, EMAIL_ADDRESSES, Refusal, normalise_email},
        message::{Mail, MailContent, RequestOrigin},
    },
    store::{CommitError, ReadError},
    system::{Workbench, commit_failure},
};
use std::fmt;
use zeroize::Zeroizing;

/// Who recovers, and how they are told.
pub struct Recover<'a> {
    pub email: &'a str,
    /// Makes the link of a token.
    pub link: &'a dyn Fn(&str) -> String,
    /// Makes the link by which the recovery is stopped.
    pub stop: &'a dyn Fn(&str) -> String,
    /// The language of the mail where the person has said none; `None` where no mail is sent.
    pub mail: Option<Locale>,
}

/// A link that was made.
pub struct IssuedRecoveryLink {
    /// The account's id.
    pub account: String,
    pub link: Zeroizing<String>,
    pub expires_at: Timestamp,
}

impl fmt::Debug for IssuedRecoveryLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IssuedRecoveryLink").field("account", &self.account).finish_non_exhaustive()
    }
}

/// Why no link was made.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error("there is no account with this address")]
    NoSuchAccount,
    #[error("the account is suspended: enable it first")]
    Suspended,
    #[error("the account cannot be read")]
    Entities(#[from] HydrateError),
    #[error("the address cannot be looked up")]
    Names(#[from] ReadError),
    #[error("the account keeps changing: try again")]
    Contended,
    #[error("no link was made")]
    NotCommitted(#[source] CommitError),
}

commit_failure!(RecoverError);

/// Makes a link for the account that has this address, and leaves a mail that tells of it. A link that
/// was made before is void.
pub async fn recover(
    workbench: &Workbench,
    asked: &Recover<'_>,
) -> Result<IssuedRecoveryLink, RecoverError> {
    let address = normalise_email(asked.email).ok_or(RecoverError::NoSuchAccount)?;
    let (vault, dice) = (workbench.vault(), workbench.dice());
    let decide = async |commit: &mut MultiCommit| {
        let found = workbench.store().find(EMAIL_ADDRESSES, &address).await?;
        let (_, account) = found.ok_or(RecoverError::NoSuchAccount)?;
        let id = id_of_uuid(&account).ok_or(RecoverError::NoSuchAccount)?;
        let token = OpaqueKind::RecoveryLink.mint(&id, &vault, dice);
        let stop = OpaqueKind::RecoveryStop.mint(&id, &vault, dice);
        let known = commit.look::<Account>(&account).await?.known();
        let known = known.ok_or(RecoverError::NoSuchAccount)?;
        let issue = Command::IssueRecoveryLink { token: token.fingerprint, stop: stop.fingerprint };
        let issue = match asked.mail {
            None => issue,
            Some(locale) => {
                let to = known.email.clone();
                let locale = known.locale().unwrap_or(locale);
                let content = MailContent::RecoveryIssued { stop: (asked.stop)(&stop.text) };
                let asked = RequestOrigin::by_operator(workbench.clock().now());
                let mail = Box::new(Mail::new(to, locale, content).asked(asked));
                Command::Telling { command: Box::new(issue), mail }
            }
        };
        let decided = commit.decide::<Account>(&account, &issue).await?;
        decided.map_err(|refusal| match refusal {
            Refusal::Suspended => RecoverError::Suspended,
            _ => RecoverError::NoSuchAccount,
        })?;
        // As the account keeps it.
        let kept = commit.look::<Account>(&account).await?.known();
        let kept = kept.and_then(|known| known.recovery_link).ok_or(RecoverError::NoSuchAccount)?;
        let link = Zeroizing::new((asked.link)(&token.text));
        Ok(IssuedRecoveryLink { account, link, expires_at: kept.expires_at })
    };
    workbench.retrying(None, decide).await
}
