//! What may be asked of an account, what comes of it, and why not.

use super::{
    Account, Channel, ClaimFault, Known, LONGEST_EMAIL, MOST_PASSKEYS, Passkey, PasskeyUse,
    PasswordHash, Profile, Proposed, Reach, RecoveredBy, RecoveryCodes, RecoveryLink, SealedSecret,
};
use crate::domain::{
    Dispatch, Fingerprint, Provisioned, SubCommand, Timestamp,
    assurance::Method,
    logout::SessionEnded,
    message::Mail,
    person::Person,
    session::{self, Session},
};
use serde_json::{Map, Value};

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
    RemovePassword {
        reach: Reach,
    },
    AddPasskey(Box<Passkey>),
    /// A passkey was right.
    UsePasskey(PasskeyUse),
    RenamePasskey {
        id: String,
        name: String,
    },
    RemovePasskey {
        id: String,
        reach: Reach,
    },
    SetRecoveryCodes(RecoveryCodes),
    /// A set that comes with a new credential, for an account that has no code left.
    IssueRecoveryCodes(RecoveryCodes),
    /// The recovery code of this hash was presented.
    UseRecoveryCode(PasswordHash),
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
    /// The account is that of a backup: a recovery link and codes that are out may have been used since.
    VoidWhatIsOut,
    /// An operator gives `organizations:administer` to the person, or takes it away.
    SetAdministration(bool),
    /// The person changes what the account says of them; an empty text or table takes a claim away.
    Describe(Map<String, Value>),
    /// The person wants to use another address, and is sent a code there.
    Propose {
        channel: Channel,
        proposed: Box<Proposed>,
        /// What is sent there.
        message: Dispatch,
    },
    /// The code of this fingerprint came back.
    Prove {
        channel: Channel,
        code: Fingerprint,
    },
    RemovePhone {
        reach: Reach,
    },
    /// An operator or administrator takes the use of the account away.
    Suspend,
    Enable,
    /// Everything ends that the account is signed in by.
    SignOutEverywhere,
    /// An operator ends the sessions and grants of the person; their API keys stay.
    EndSessions {
        /// What clients are told of those sessions.
        told: Vec<SessionEnded>,
    },
    /// The person wants the account to be deleted.
    RequestDeletion,
    /// The person has signed in again: the account is not deleted.
    KeepAccount,
    /// The time has come.
    Erase,
    /// Does what the command says, and tells the person of it in the same commit.
    Telling {
        command: Box<Command>,
        mail: Box<Mail>,
    },
    /// Does what the command says, if the person who wants it still acts in the epoch of the session that they came with:
    /// what a recovery, a report or an operator has ended while the request was under way changes nothing any more.
    Acting {
        /// Of the person.
        epoch: u64,
        /// The last sign-out of everyone that there was.
        everyone: u64,
        command: Box<Command>,
    },
    /// Does what the command says, and has a session of the person go on under a new token in the same
    /// commit: a copy of the former one is good for nothing from then on.
    Renewing {
        command: Box<Command>,
        renewal: Box<SessionRenewal>,
    },
}

/// A session that goes on under a new token when a credential has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRenewal {
    /// The id of the session.
    pub session: String,
    /// Of the token that the caller presented.
    pub former: Fingerprint,
    pub token: Fingerprint,
    /// As the session knows them.
    pub person: Person,
    /// What was proved by this goes on by the authenticator that takes its place.
    pub method: Method,
}

impl SessionRenewal {
    /// Commands the session, once the account is `next`.
    pub(super) fn command(&self, next: &Account) -> SubCommand<Account> {
        let Self { session, former, token, person, method } = self;
        let authenticator = next.known().and_then(|known| known.authenticators().of(*method));
        let evidence = person.evidence.clone().carried_over(*method, authenticator);
        let person = Person { evidence, ..person.clone() };
        let renew = session::Command::Renew { person, token: *token, former: Some(*former) };
        SubCommand::insisting::<Session>(&**session, renew, |_| Refusal::SessionOver)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Provisioned(Provisioned),
    Used,
}

impl Command {
    /// Parts what is done from the mail that tells of it. An entity that is commanded commands no other: who commands
    /// the account has the mail sent.
    pub fn parted(self) -> (Self, Option<Box<Mail>>) {
        match self {
            Self::Telling { command, mail } => (*command, Some(mail)),
            other => (other, None),
        }
    }

    /// Returns by what the person can sign in beside their credentials, where a way in is removed.
    pub(super) fn reach(&self) -> Option<&Reach> {
        match self {
            Self::RemovePassword { reach }
            | Self::RemovePasskey { reach, .. }
            | Self::RemovePhone { reach } => Some(reach),
            _ => None,
        }
    }
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
    OutVoided,
    AdministrationSet(bool),
    PasswordRemoved,
    Described { profile: Profile, at: Timestamp },
    Proposed { channel: Channel, proposed: Box<Proposed> },
    ProofWrong(Channel),
    Proved { channel: Channel, address: String, at: Timestamp },
    PhoneRemoved { at: Timestamp },
    Suspended { at: Timestamp },
    Enabled { erase_at: Option<Timestamp> },
    SignedOutEverywhere,
    SessionsEnded,
    DeletionRequested { erase_at: Timestamp },
    AccountKept,
    Erased { at: Timestamp },
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
    #[error("the session is over, or has another token by now")]
    SessionOver,
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
    #[error("there is no password")]
    NoPassword,
    #[error("there is no phone number")]
    NoPhone,
    #[error("it is the last way in")]
    LastWayIn,
    #[error("the code is wrong, has expired, or was used")]
    WrongCode,
    #[error("the account is suspended and accepts no change")]
    Suspended,
    #[error("what the person acts by has ended meanwhile")]
    OtherEpoch,
    #[error("the account is not to be erased yet")]
    NotDue,
}
