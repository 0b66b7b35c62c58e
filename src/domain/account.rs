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
//! | known | void what is out | known, without a recovery link or a proposed address | |
//! | known | describe | known, with these claims | a claim is malformed, or not the person's to set |
//! | known | propose an address | known; a code is out | |
//! | known | prove an address | known, with it; the former is not used any more | the code is wrong, which counts, or none is out |
//! | known | remove the password, a passkey, the phone number | known, without it | it is not there; no way in would be left |
//! | known | act in an epoch | as the command says | the person is in another epoch by now |
//! | known | sign out everywhere | known, in its next epoch | |
//! | known or deleting | end sessions | as before, in its person's next epoch; API keys stay | |
//! | known | request deletion | deleting, in its next epoch | |
//! | deleting | keep | known | |
//! | deleting | erase | **deleted**: its id alone is left | it is too early |
//! | known or deleting | suspend | suspended, in its next epoch | |
//! | suspended | enable | as before; a deletion begins anew | |
//! | suspended | end sessions | suspended: all of them have ended | |
//! | suspended | anything else | suspended | always |
//! | deleted | anything | deleted | always, except to erase it again |
//!
//! Credentials that come with a draft act only when the account is created: a file that is applied
//! again must not undo what the person has changed since. The normalised address is the account's
//! name, so no two accounts can have it.

mod addresses;
mod authenticators;
mod change;
mod claim_fault;
mod command;
mod credentials;
mod email;
mod passkey;
mod profile;
mod recovery_link;
mod shape;
mod status;

pub use addresses::{Channel, MOST_WRONG_CODES, Proposed, Reach};
pub use claim_fault::{ClaimFault, ClaimProblem};
pub use command::{Command, Draft, Event, Refusal, Removed, Reply, SessionRenewal};
pub use credentials::{
    Credential, CredentialKind, Credentials, MalformedSecret, PasswordHash, RecoveryCodes,
    SealedSecret,
};
pub use email::{LONGEST_EMAIL, normalise_email};
pub use passkey::{LONGEST_PASSKEY_NAME, MOST_PASSKEYS, Passkey, PasskeyUse};
pub use profile::{Profile, hides_something};
pub use recovery_link::{RECOVERY_LINK_LIFETIME, RecoveredBy, RecoveryLink};
pub use shape::{ADDRESS_MEMBERS, is_phone_number};
pub use status::{AccountStatus, GRACE_PERIOD};

use super::{
    Decision, Listing, Locale, Machine, Name, Provisioned, Redrawn, Timestamp,
    account_alerts::tell, epoch::is_first,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::ops::Not;

/// The list of all accounts, in the order of their normalised addresses.
pub const ACCOUNTS: &str = "accounts";

/// The list of accounts that are to be erased, the first of them first.
pub const DELETIONS: &str = "account_deletions";

/// The space of normalised e-mail addresses.
pub const EMAIL_ADDRESSES: &str = "email_addresses";

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Account {
    #[default]
    Unborn,
    Known(Box<Known>),
    /// Erased: nothing is left of the person. Rows of the log hold the id.
    Deleted {
        id: String,
        at: Timestamp,
    },
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
    /// How often everything has ended that rested on it: by a recovery, a suspension, a deletion that
    /// was asked for, a sign-out everywhere. What was proved or granted in an earlier epoch is worth
    /// nothing any more.
    #[serde(default, skip_serializing_if = "is_first")]
    pub epoch: u64,
    /// How often an operator has ended the sessions and grants of the person, and nothing else: their API keys stay
    /// (adr/0140).
    #[serde(default, skip_serializing_if = "is_first")]
    pub signed_out: u64,
    /// The person holds `organizations:administer`.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub administers: bool,
    /// By which an operator lets the person recover it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery_link: Option<RecoveryLink>,
    /// An e-mail address that the person wants to use instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_email: Option<Box<Proposed>>,
    /// A phone number that the person wants to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_phone: Option<Box<Proposed>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_at: Option<Timestamp>,
    /// When it is erased: the person has asked for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erase_at: Option<Timestamp>,
    pub created_at: Timestamp,
    /// When anything of it last changed.
    pub updated_at: Timestamp,
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
            signed_out: 0,
            administers: false,
            recovery_link: None,
            proposed_email: None,
            proposed_phone: None,
            suspended_at: None,
            erase_at: None,
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
            // Frameworks show this one, and many people have said only its parts.
            "name" => {
                Some(self.profile.full_name()).filter(|name| !name.is_empty()).map(Into::into)
            }
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
            Self::Known(known) => Some(known),
            Self::Unborn | Self::Deleted { .. } => None,
        }
    }

    fn provision(&self, draft: &Draft, now: Timestamp) -> Decision<Self> {
        match self.redraw(draft, now) {
            Ok(redrawn)
                if redrawn.outcome != Provisioned::Unchanged
                    && self.known().is_some_and(Known::is_suspended) =>
            {
                Decision::refuse(Refusal::Suspended)
            }
            Ok(redrawn) => {
                redrawn.decide(|next| Event::Provisioned(Box::new(next)), Reply::Provisioned)
            }
            Err(why) => Decision::refuse(why),
        }
    }

    /// A code works once, and so does none before it: requests may race, or be replayed.
    fn use_totp(&self, step: u64) -> Decision<Self> {
        match self.known() {
            Some(known) if known.is_suspended() => Decision::refuse(Refusal::Suspended),
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
    /// 2: passkeys and recovery codes. 3: suspended and deleted ones, addresses that are not proved yet.
    /// 4: `signed_out`, without which what has ended would be good.
    const REVISION: u32 = 4;
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Refusal = Refusal;

    fn decide(&self, command: &Command, now: Timestamp) -> Decision<Self> {
        if let Self::Deleted { .. } = self {
            return match command {
                Command::Erase => Decision::accept(Vec::new(), Reply::Used),
                _ => Decision::refuse(Refusal::Unknown),
            };
        }
        match (command, self.known()) {
            (Command::Create(_), Some(_)) => Decision::refuse(Refusal::Exists),
            (Command::Provision(draft) | Command::Create(draft), _) => self.provision(draft, now),
            (Command::UseTotp { step }, _) => self.use_totp(*step),
            (Command::Acting { epoch, everyone, command }, Some(known)) => {
                if known.own_epoch().saturating_add(*everyone) == *epoch {
                    self.decide(command, now)
                } else {
                    Decision::refuse(Refusal::OtherEpoch)
                }
            }
            (Command::Telling { command, mail }, _) => {
                let decision = self.decide(command, now);
                if decision.outcome.is_err() || decision.events.is_empty() {
                    return decision;
                }
                match self.known() {
                    Some(known) => decision.commanding(tell(&known.id, mail)),
                    None => decision,
                }
            }
            (Command::Renewing { command, renewal }, _) => {
                let decision = self.decide(command, now);
                let mut next = self.clone();
                decision.events.iter().for_each(|event| next.apply(event));
                decision.commanding(renewal.command(&next))
            }
            (Command::Rehash { from, to }, known) => {
                let usable = known.filter(|known| !known.is_suspended());
                let held = usable.and_then(|known| known.credentials.password());
                if held == Some(from) {
                    Decision::accept(vec![Event::Rehashed(to.clone())], Reply::Used)
                } else {
                    Decision::refuse(Refusal::OtherPassword)
                }
            }
            (_, None) => Decision::refuse(Refusal::Unknown),
            (command, Some(known)) if known.is_suspended() => {
                known.change_while_suspended(command, now)
            }
            (command, Some(known)) => known.change(command, now),
        }
    }

    fn apply(&mut self, event: &Event) {
        match (event, self) {
            (Event::Provisioned(known), this) => *this = Self::Known(known.clone()),
            (Event::Erased { at }, this) => {
                if let Self::Known(known) = &*this {
                    *this = Self::Deleted { id: known.id.clone(), at: *at };
                }
            }
            (event, Self::Known(known)) => known.apply(event),
            (_, Self::Unborn | Self::Deleted { .. }) => {}
        }
    }

    /// One that is suspended or deleted confers nothing.
    fn live_until(&self) -> Timestamp {
        match self {
            Self::Known(known) if !known.is_suspended() => {
                known.erase_at.unwrap_or(Timestamp::FOREVER)
            }
            Self::Known(_) | Self::Unborn | Self::Deleted { .. } => Timestamp::NEVER,
        }
    }

    fn names(&self) -> Vec<Name> {
        let name = |known: &Known| Name::new(EMAIL_ADDRESSES, known.normalised_email());
        self.known().map(name).into_iter().collect()
    }

    fn listings(&self) -> Vec<Listing> {
        let Some(known) = self.known() else { return Vec::new() };
        let listed = Listing::new(ACCOUNTS, "", known.normalised_email());
        let due = |at: Timestamp| Listing::new(DELETIONS, "", format!("{:015}", at.millis()));
        [listed].into_iter().chain(known.erased_at().map(due)).collect()
    }
}

#[cfg(test)]
mod tests;
