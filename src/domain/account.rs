//! An account: one person, known by one e-mail address, in however many organizations.
//!
//! | state | command | next | refused when |
//! |---|---|---|---|
//! | unborn | provision | known, with the credentials given | the address or a claim is malformed |
//! | known | provision | known, the claims that were given replaced | likewise |
//! | unborn | create | known, made by the person themselves | likewise |
//! | known | verify e-mail | known, its address proved | |
//! | known | set password, enrol or remove TOTP, add, use, rename or remove a passkey | known, with it | it is not there; too many |
//! | known | set recovery codes | known; the set before is void | |
//! | known | issue recovery codes | known, with a set | there are unused ones |
//! | known | use TOTP, use a recovery code | known; it is spent | it was spent before |
//! | known | recover | known, in its next epoch, without the credentials that are replaced | mail alone, for more than a password, where a second factor is enrolled; a link that is not the account's |
//! | known | issue a recovery link | known; the link before is void | |
//! | known | give or take `organizations:administer` | known, with or without it | |
//! | known | stop a recovery link | known, without one | it is another one's, or none |
//!
//! Credentials that come with a draft act only when the account is created: a file that is applied
//! again must not undo what the person has changed since. The normalised address is the account's
//! name, so no two accounts can have it.

mod change;
mod claim_fault;
mod credentials;
mod email;
mod passkey;
mod profile;
mod recovery_link;
mod shape;

pub use claim_fault::{ClaimFault, ClaimProblem};
pub use credentials::{
    Credential, CredentialKind, Credentials, MalformedSecret, PasswordHash, RecoveryCodes,
    SealedSecret,
};
pub use email::{LONGEST_EMAIL, normalise_email};
pub use passkey::{LONGEST_PASSKEY_NAME, MOST_PASSKEYS, Passkey, PasskeyUse};
pub use profile::Profile;
pub use recovery_link::{RECOVERY_LINK_LIFETIME, RecoveredBy, RecoveryLink};
pub use shape::ADDRESS_MEMBERS;

use super::{
    Decision, Fingerprint, Listing, Locale, Machine, Name, Provisioned, Redrawn, Timestamp,
    epoch::is_first,
    message::{Mail, NOTICE_LIFETIME},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::ops::Not;

/// The list of all accounts, in the order of their normalised addresses.
pub const ACCOUNTS: &str = "accounts";

/// The space of normalised e-mail addresses.
pub const EMAIL_ADDRESSES: &str = "email_addresses";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Account {
    #[default]
    Unborn,
    Known(Box<Known>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// A UUID in lower case; what tokens call `sub`.
    pub id: String,
    /// The address as it was written; see [`normalise_email`].
    pub email: String,
    pub email_verified: bool,
    #[serde(default)]
    pub credentials: Credentials,
    pub profile: Profile,
    /// How often it was recovered: what was proved in an earlier epoch is worth nothing any more.
    #[serde(default, skip_serializing_if = "is_first")]
    pub epoch: u64,
    /// The person holds `organizations:administer`.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub administers: bool,
    /// By which an operator lets the person recover it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_link: Option<RecoveryLink>,
    pub created_at: Timestamp,
    /// When anything of it last changed.
    pub updated_at: Timestamp,
}

/// What a provisioning file says; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// What the account will be known by, if it is created.
    pub id: String,
    pub email: String,
    pub email_verified: Option<bool>,
    /// Standard claims by their names; an empty text or table takes one away.
    pub claims: Map<String, Value>,
    /// Acts only when the account is created.
    pub password: Option<PasswordHash>,
    /// Acts only when the account is created.
    pub totp: Option<SealedSecret>,
    /// Acts only when the account is created: from then on it is the account's own to say.
    pub updated_at: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    Provision(Draft),
    /// The code of this time step was right.
    UseTotp {
        step: u64,
    },
    /// The same password, hashed as it is done today.
    Rehash {
        from: PasswordHash,
        to: PasswordHash,
    },
    /// A person makes an account for themselves; its address was proved.
    Create(Draft),
    /// The person has proved that the address is theirs.
    VerifyEmail,
    SetPassword(PasswordHash),
    /// An authenticator application; the code of this time step has proved that it works.
    EnrolTotp {
        secret: SealedSecret,
        step: u64,
    },
    RemoveTotp,
    AddPasskey(Box<Passkey>),
    /// A passkey was right.
    UsePasskey(PasskeyUse),
    RenamePasskey {
        id: String,
        name: String,
    },
    RemovePasskey {
        id: String,
    },
    SetRecoveryCodes(RecoveryCodes),
    /// A set that comes with a new credential, for an account that has no code left.
    IssueRecoveryCodes(RecoveryCodes),
    /// The recovery code of this hash was presented.
    UseRecoveryCode(PasswordHash),
    /// The person is told by mail of what has changed.
    Tell(Box<Mail>),
    /// The person could not sign in any more, and has proved that the account is theirs; the new
    /// credential follows.
    Recover {
        by: RecoveredBy,
        /// The new credential is a password, and nothing else.
        password_only: bool,
    },
    /// An operator lets the person recover the account by a link.
    IssueRecoveryLink {
        /// Of the token in it.
        token: Fingerprint,
        /// Of the token that voids it.
        stop: Fingerprint,
    },
    /// The holder of the account's address wants no recovery by that link.
    StopRecoveryLink {
        stop: Fingerprint,
    },
    /// An operator gives `organizations:administer` to the person, or takes it away.
    SetAdministration(bool),
    /// Does what the command says, and tells the person of it in the same commit.
    Telling {
        command: Box<Command>,
        mail: Box<Mail>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Provisioned(Provisioned),
    Used,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Provisioned(Box<Known>),
    TotpUsed { step: u64 },
    Rehashed(PasswordHash),
    EmailVerified { at: Timestamp },
    PasswordSet { hash: PasswordHash, at: Timestamp },
    TotpEnrolled { secret: SealedSecret, step: u64, at: Timestamp },
    TotpRemoved,
    PasskeyAdded { passkey: Box<Passkey>, at: Timestamp },
    PasskeyUsed { used: PasskeyUse, at: Timestamp },
    PasskeyRenamed { id: String, name: String },
    PasskeyRemoved { id: String },
    RecoveryCodesSet { codes: RecoveryCodes, at: Timestamp },
    RecoveryCodeUsed(PasswordHash),
    Recovered { credentials: Removed, at: Timestamp },
    RecoveryLinkIssued(RecoveryLink),
    RecoveryLinkStopped,
    AdministrationSet(bool),
}

/// Which credentials a recovery removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// All of them: the proof was none of them.
    All,
    /// All but saved recovery codes.
    Replaced,
    /// None: mail alone replaces no second factor.
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(
        "is no e-mail address: name@host, at most {LONGEST_EMAIL} bytes, neither spaces nor any \
         of ()<>[],:;\\\" in it"
    )]
    Email,
    #[error("an account stays with its address: make another account")]
    OtherEmail,
    #[error("its claims cannot stand")]
    Claims(Vec<ClaimFault>),
    #[error("the code was used before, or is older than one that was")]
    TotpSpent,
    #[error("the password is another one by now")]
    OtherPassword,
    #[error("there is no such account")]
    Unknown,
    #[error("the account exists")]
    Exists,
    #[error("there is no such passkey")]
    NoSuchPasskey,
    #[error("the passkey is enrolled already, or there are {MOST_PASSKEYS}")]
    PasskeyRefused,
    #[error("there is no authenticator application")]
    NoTotp,
    #[error("there are recovery codes that were not used yet")]
    RecoveryCodesLeft,
    #[error("the recovery code is wrong or was used before")]
    RecoveryCodeSpent,
    #[error("mail alone replaces no second factor")]
    SecondFactorStays,
    #[error("there is no such recovery link, or it is not good any more")]
    NoRecoveryLink,
}

impl Known {
    fn new(draft: &Draft, now: Timestamp) -> Self {
        let mut credentials = Credentials::default();
        if let Some(hash) = draft.password.clone() {
            credentials.add(CredentialKind::Password { hash }, now);
        }
        if let Some(secret) = draft.totp.clone() {
            credentials.add(CredentialKind::Totp { secret, used: None }, now);
        }
        Self {
            id: draft.id.clone(),
            email: draft.email.trim().to_owned(),
            email_verified: false,
            credentials,
            profile: Profile::default(),
            epoch: 0,
            administers: false,
            recovery_link: None,
            created_at: now,
            updated_at: draft.updated_at.unwrap_or(now).min(now),
        }
    }

    /// Returns a standard claim of OIDC Core §5.1 other than `sub`, as userinfo says it.
    pub fn claim(&self, name: &str) -> Option<Value> {
        match name {
            "email" => Some(self.email.as_str().into()),
            "email_verified" => Some(self.email_verified.into()),
            "updated_at" => Some(self.updated_at.seconds().into()),
            _ => self.profile.claim(name).cloned(),
        }
    }

    /// Tells these claims, as far as they are known, in all their languages (OIDC Core §5.2).
    pub fn tell(&self, names: &[&str]) -> Map<String, Value> {
        let said = names.iter().filter_map(|name| Some(((*name).to_owned(), self.claim(name)?)));
        let is_asked =
            |name: &str| name.split_once('#').is_some_and(|(base, _)| names.contains(&base));
        let tagged = self.profile.claims().filter(|(name, _)| is_asked(name));
        said.chain(tagged.map(|(name, value)| (name.to_owned(), value.clone()))).collect()
    }

    /// Returns the language of the person, where they have said one that we have.
    pub fn locale(&self) -> Option<Locale> {
        self.profile.claim("locale")?.as_str().and_then(Locale::of_tag)
    }

    /// Returns the address under which the account is found.
    pub fn normalised_email(&self) -> String {
        // What is stored was an address when it was taken; otherwise it is its own name.
        normalise_email(&self.email).unwrap_or_else(|| self.email.clone())
    }
}

impl Account {
    pub fn known(&self) -> Option<&Known> {
        match self {
            Self::Unborn => None,
            Self::Known(known) => Some(known),
        }
    }

    fn provision(&self, draft: &Draft, now: Timestamp) -> Decision<Self> {
        match self.redraw(draft, now) {
            Ok(redrawn) => {
                redrawn.decide(|next| Event::Provisioned(Box::new(next)), Reply::Provisioned)
            }
            Err(why) => Decision::refuse(why),
        }
    }

    /// A code works once, and so does none before it: requests may race, or be replayed.
    fn use_totp(&self, step: u64) -> Decision<Self> {
        match self.known() {
            Some(known) if known.credentials.may_use_totp(step) => {
                Decision::accept(vec![Event::TotpUsed { step }], Reply::Used)
            }
            _ => Decision::refuse(Refusal::TotpSpent),
        }
    }

    fn redraw(&self, draft: &Draft, now: Timestamp) -> Result<Redrawn<Known>, Refusal> {
        let asked = normalise_email(&draft.email).ok_or(Refusal::Email)?;
        let existed = self.known().is_some();
        let held = self.known().cloned().unwrap_or_else(|| Known::new(draft, now));
        if held.normalised_email() != asked {
            return Err(Refusal::OtherEmail);
        }
        let profile = held.profile.patch(&draft.claims).map_err(Refusal::Claims)?;
        let mut next = Known {
            email: draft.email.trim().to_owned(),
            email_verified: draft.email_verified.unwrap_or(held.email_verified),
            profile,
            ..held.clone()
        };
        let mut differs = vec![
            ("email", next.email != held.email),
            ("email_verified", next.email_verified != held.email_verified),
        ];
        differs.extend(next.profile.differing(&held.profile));
        let outcome = Provisioned::of(existed, &differs);
        if matches!(outcome, Provisioned::Changed(_)) {
            next.updated_at = now;
        }
        let record = outcome.record("account.created", "account.changed");
        Ok(Redrawn { next, outcome, records: record.into_iter().collect() })
    }
}

impl Machine for Account {
    const KIND: &'static str = "account";
    /// 2: passkeys and recovery codes.
    const REVISION: u32 = 2;
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        match (command, self.known()) {
            (Command::Create(_), Some(_)) => Decision::refuse(Refusal::Exists),
            (Command::Provision(draft) | Command::Create(draft), _) => self.provision(draft, now),
            (Command::UseTotp { step }, _) => self.use_totp(*step),
            (Command::Telling { command, mail }, _) => {
                let decision = self.decide(command, now);
                if decision.outcome.is_err() || decision.events.is_empty() {
                    return decision;
                }
                decision.dispatching(mail.dispatch(now + NOTICE_LIFETIME))
            }
            (Command::Rehash { from, to }, known) => {
                let held = known.and_then(|known| known.credentials.password());
                if held == Some(from) {
                    Decision::accept(vec![Event::Rehashed(to.clone())], Reply::Used)
                } else {
                    Decision::refuse(Refusal::OtherPassword)
                }
            }
            (_, None) => Decision::refuse(Refusal::Unknown),
            (Command::Tell(mail), Some(_)) => Decision::accept(Vec::new(), Reply::Used)
                .dispatching(mail.dispatch(now + NOTICE_LIFETIME)),
            (command, Some(known)) => known.change(command, now),
        }
    }

    fn apply(&mut self, event: &Event) {
        match (event, self) {
            (Event::Provisioned(known), this) => *this = Self::Known(known.clone()),
            (event, Self::Known(known)) => known.apply(event),
            (_, Self::Unborn) => {}
        }
    }

    fn names(&self) -> Vec<Name> {
        let name = |known: &Known| Name::new(EMAIL_ADDRESSES, known.normalised_email());
        self.known().map(name).into_iter().collect()
    }

    fn listings(&self) -> Vec<Listing> {
        let listing = |known: &Known| Listing::new(ACCOUNTS, "", known.normalised_email());
        self.known().map(listing).into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
