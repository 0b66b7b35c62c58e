//! Mails and SMS: to which address, in which language, and what they say.
//!
//! A message is written into the outbox with the commit that caused it. Its wording is not in here:
//! `messages` finds the words when it delivers.
//!
//! Where an answer must not tell whether an account exists, a row is written either way: the message
//! for a known address, [`MailContent::Nothing`] or [`SmsContent::Decoy`] for an unknown one. Both
//! rows have the same size, and the courier drops the second one.

mod request_origin;

pub use request_origin::{Asker, RequestOrigin};

use super::{DeliveryClass, DeliveryKey, Dispatch, Locale, Secret, Timestamp};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{fmt, time::Duration};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The topic of mails in the outbox.
pub const MAIL: &str = "mail";

/// The topic of SMS in the outbox.
pub const SMS: &str = "sms";

/// How long a mail that holds no code and no link is worth delivering.
pub const NOTICE_LIFETIME: Duration = Duration::from_hours(72);

/// A payload is as long as a multiple of this, so that its size does not tell what it says.
const BLOCK: usize = 1024;

/// A mail to one address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    pub to: String,
    pub locale: Locale,
    pub content: MailContent,
    /// Who asked for it, and from where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Box<RequestOrigin>>,
    /// Where a person says that it was not them; only with a content that has neither a code nor a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<ReportLink>,
    /// How many of its kind were counted and not mailed before it.
    #[serde(default, skip_serializing_if = "is_none")]
    pub others: u32,
}

/// The address at which a person says that it was not them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
#[serde(transparent)]
pub struct ReportLink(String);

impl ReportLink {
    pub fn new(address: impl Into<String>) -> Self {
        Self(address.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// It holds a token.
impl fmt::Debug for ReportLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReportLink(…)")
    }
}

/// What a mail says.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
#[serde(rename_all = "snake_case")]
pub enum MailContent {
    SignInCode {
        code: String,
    },
    SignInLink {
        link: String,
    },
    VerifyEmailCode {
        code: String,
    },
    VerifyEmailLink {
        link: String,
    },
    SignUpCode {
        code: String,
    },
    SignUpLink {
        link: String,
    },
    /// An account was asked for with an address that has one.
    SignUpKnown,
    Invitation {
        link: String,
        organization: String,
        administrator: bool,
    },
    /// A client asks for an approval.
    Approval {
        /// Where it can be given.
        link: String,
    },
    RecoveryCode {
        code: String,
    },
    RecoveryLink {
        link: String,
    },
    /// Goes to every address of the account at once.
    RecoveryStarted {
        /// Stops the recovery.
        stop: String,
    },
    /// An operator has made a link by which the account can be recovered; likewise.
    RecoveryIssued {
        /// Voids the link.
        stop: String,
    },
    PasswordChanged,
    PasswordRemoved,
    /// To the address that a person wants to use instead.
    EmailChangeCode {
        code: String,
    },
    /// The same was asked for with an address that another account has.
    EmailChangeKnown,
    /// To the address that is still used.
    EmailChangeRequested,
    /// To the address that was used until now.
    EmailChanged,
    PhoneChanged,
    PhoneRemoved,
    /// The account is erased on this day, unless the person signs in.
    DeletionRequested {
        until: String,
    },
    PasskeyAdded {
        name: String,
    },
    PasskeyRemoved {
        name: String,
    },
    /// An identity of another provider.
    IdentityLinked {
        connection: String,
    },
    IdentityUnlinked {
        connection: String,
    },
    TotpEnrolled,
    TotpRemoved,
    RecoveryCodesMade,
    RecoveryCodeUsed,
    AccountRecovered,
    /// A sign-in from a device that was not known.
    NewDevice,
    /// A sign-in from a place that the person cannot have come to.
    ImpossibleTravel,
    /// How many alerts of sign-ins were counted in the last hour.
    AlertDigest {
        folded: u32,
    },
    /// How many other mails were counted in the last hour.
    NoticeDigest {
        folded: u32,
    },
    RoleGranted {
        organization: String,
        role: String,
    },
    ApiKeyMade {
        organization: String,
        name: String,
    },
    /// An agent may act for the person.
    AgentAllowed {
        agent: String,
    },
    /// An operator tries whether mail arrives.
    Test,
    /// A decoy: written like a mail, and never sent.
    Nothing,
}

/// An SMS to one phone number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sms {
    pub to: String,
    pub locale: Locale,
    pub content: SmsContent,
}

/// What an SMS says.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
#[serde(rename_all = "snake_case")]
pub enum SmsContent {
    SignInCode {
        code: String,
    },
    /// To a number that a person wants to use.
    VerifyPhoneCode {
        code: String,
    },
    /// A client asks for an approval.
    Approval {
        /// Where it can be given.
        link: String,
    },
    /// An operator tries whether SMS arrive.
    Test,
    /// Written like an SMS, and never sent.
    Decoy,
}

impl Mail {
    pub fn new(to: impl Into<String>, locale: Locale, content: MailContent) -> Self {
        Self { to: to.into(), locale, content, asked: None, report: None, others: 0 }
    }

    /// Says who asked for it, and from where.
    pub fn asked(self, asked: RequestOrigin) -> Self {
        Self { asked: Some(Box::new(asked)), ..self }
    }

    /// Returns the row of the outbox; after `expires_at` it is not worth delivering.
    pub fn dispatch(&self, expires_at: Timestamp) -> Dispatch {
        let (class, key) = (self.content.class(), DeliveryKey::installation());
        Dispatch { topic: MAIL, class, key, payload: payload(self), expires_at }
    }

    /// Reads what [`Mail::dispatch`] wrote.
    pub fn read(payload: &Secret) -> Option<Self> {
        read(payload)
    }
}

impl Sms {
    /// Returns the row of the outbox; after `expires_at` it is not worth delivering.
    pub fn dispatch(&self, expires_at: Timestamp) -> Dispatch {
        let (class, key) = (self.content.class(), DeliveryKey::installation());
        Dispatch { topic: SMS, class, key, payload: payload(self), expires_at }
    }

    /// Reads what [`Sms::dispatch`] wrote.
    pub fn read(payload: &Secret) -> Option<Self> {
        read(payload)
    }
}

impl MailContent {
    /// Names the sort of mail; says nothing of what is in it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SignInCode { .. } => "sign-in-code",
            Self::SignInLink { .. } => "sign-in-link",
            Self::VerifyEmailCode { .. } => "verify-email-code",
            Self::VerifyEmailLink { .. } => "verify-email-link",
            Self::SignUpCode { .. } => "sign-up-code",
            Self::SignUpLink { .. } => "sign-up-link",
            Self::SignUpKnown => "sign-up-known",
            Self::Invitation { .. } => "invitation",
            Self::Approval { .. } => "approval",
            Self::RecoveryCode { .. } => "recovery-code",
            Self::RecoveryLink { .. } => "recovery-link",
            Self::RecoveryStarted { .. } => "recovery-started",
            Self::RecoveryIssued { .. } => "recovery-issued",
            Self::PasswordChanged => "password-changed",
            Self::PasswordRemoved => "password-removed",
            Self::EmailChangeCode { .. } => "email-change-code",
            Self::EmailChangeKnown => "email-change-known",
            Self::EmailChangeRequested => "email-change-requested",
            Self::EmailChanged => "email-changed",
            Self::PhoneChanged => "phone-changed",
            Self::PhoneRemoved => "phone-removed",
            Self::DeletionRequested { .. } => "deletion-requested",
            Self::PasskeyAdded { .. } => "passkey-added",
            Self::PasskeyRemoved { .. } => "passkey-removed",
            Self::IdentityLinked { .. } => "identity-linked",
            Self::IdentityUnlinked { .. } => "identity-unlinked",
            Self::TotpEnrolled => "totp-enrolled",
            Self::TotpRemoved => "totp-removed",
            Self::RecoveryCodesMade => "recovery-codes-made",
            Self::RecoveryCodeUsed => "recovery-code-used",
            Self::AccountRecovered => "account-recovered",
            Self::NewDevice => "new-device",
            Self::ImpossibleTravel => "impossible-travel",
            Self::AlertDigest { .. } => "alert-digest",
            Self::NoticeDigest { .. } => "notice-digest",
            Self::RoleGranted { .. } => "role-granted",
            Self::ApiKeyMade { .. } => "api-key-made",
            Self::AgentAllowed { .. } => "agent-allowed",
            Self::Test => "test",
            Self::Nothing => "nothing",
        }
    }

    /// Tells whether one of its kind is sent in an hour, and the others are counted: a stolen session, or an administrator
    /// of any organization, causes as many as they like. A recovery needs a code that was mailed, and the former
    /// address of an account is written to once.
    pub fn is_folded(&self) -> bool {
        let is_told_at_once = matches!(
            self,
            Self::EmailChanged
                | Self::AccountRecovered
                | Self::AlertDigest { .. }
                | Self::NoticeDigest { .. }
        );
        self.class() == DeliveryClass::Notice && !is_told_at_once
    }

    /// Says how urgent it is. What stands for a code, so that an answer does not tell who exists, is as urgent as one.
    pub fn class(&self) -> DeliveryClass {
        match self {
            Self::SignInCode { .. }
            | Self::SignInLink { .. }
            | Self::VerifyEmailCode { .. }
            | Self::VerifyEmailLink { .. }
            | Self::SignUpCode { .. }
            | Self::SignUpLink { .. }
            | Self::SignUpKnown
            | Self::RecoveryCode { .. }
            | Self::RecoveryLink { .. }
            | Self::EmailChangeCode { .. }
            | Self::EmailChangeKnown
            | Self::Nothing => DeliveryClass::Code,
            Self::Invitation { .. }
            | Self::Approval { .. }
            | Self::RecoveryStarted { .. }
            | Self::RecoveryIssued { .. }
            | Self::Test => DeliveryClass::Request,
            Self::PasswordChanged
            | Self::PasswordRemoved
            | Self::EmailChangeRequested
            | Self::EmailChanged
            | Self::PhoneChanged
            | Self::PhoneRemoved
            | Self::DeletionRequested { .. }
            | Self::PasskeyAdded { .. }
            | Self::PasskeyRemoved { .. }
            | Self::IdentityLinked { .. }
            | Self::IdentityUnlinked { .. }
            | Self::TotpEnrolled
            | Self::TotpRemoved
            | Self::RecoveryCodesMade
            | Self::RecoveryCodeUsed
            | Self::AccountRecovered
            | Self::NewDevice
            | Self::ImpossibleTravel
            | Self::AlertDigest { .. }
            | Self::NoticeDigest { .. }
            | Self::RoleGranted { .. }
            | Self::ApiKeyMade { .. }
            | Self::AgentAllowed { .. } => DeliveryClass::Notice,
        }
    }
}

impl SmsContent {
    /// Names the sort of SMS; says nothing of what is in it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::SignInCode { .. } => "sign-in-code",
            Self::VerifyPhoneCode { .. } => "verify-phone-code",
            Self::Approval { .. } => "approval",
            Self::Test => "test",
            Self::Decoy => "decoy",
        }
    }

    /// Says how urgent it is.
    pub fn class(&self) -> DeliveryClass {
        match self {
            Self::SignInCode { .. } | Self::VerifyPhoneCode { .. } | Self::Decoy => {
                DeliveryClass::Code
            }
            Self::Approval { .. } | Self::Test => DeliveryClass::Request,
        }
    }
}

/// Codes and links are not printed.
impl fmt::Debug for MailContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}

impl fmt::Debug for SmsContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

fn payload(message: &impl Serialize) -> Secret {
    // Large enough for almost every message: a buffer that grows leaves copies in memory.
    let mut json = Vec::with_capacity(4 * BLOCK);
    serde_json::to_writer(&mut json, message).expect("a message is plain data with text keys");
    // Spaces after a JSON text mean nothing.
    json.resize(json.len().next_multiple_of(BLOCK), b' ');
    Secret::new(json)
}

fn read<M: DeserializeOwned>(payload: &Secret) -> Option<M> {
    serde_json::from_slice(payload.expose()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail(to: &str, content: MailContent) -> Mail {
        Mail::new(to, Locale::Portuguese, content)
    }

    #[test]
    fn what_is_dispatched_can_be_read() {
        let sent = mail("ana@acme.test", MailContent::SignInCode { code: "123456".to_owned() });
        let dispatch = sent.dispatch(Timestamp::from_millis(7));
        assert_eq!((dispatch.topic, dispatch.expires_at), (MAIL, Timestamp::from_millis(7)));
        assert_eq!(Mail::read(&dispatch.payload), Some(sent.clone()));
        let sent = sent.asked(RequestOrigin::by_operator(Timestamp::from_millis(7)));
        let dispatch = sent.dispatch(Timestamp::FOREVER);
        assert_eq!(Mail::read(&dispatch.payload), Some(sent));
        assert_eq!(Mail::read(&Secret::new("{}")), None);
        let content = SmsContent::SignInCode { code: "123456".to_owned() };
        let sent = Sms { to: "+351910000000".to_owned(), locale: Locale::English, content };
        let dispatch = sent.dispatch(Timestamp::FOREVER);
        assert_eq!((dispatch.topic, Sms::read(&dispatch.payload)), (SMS, Some(sent)));
    }

    #[test]
    fn a_decoy_has_the_size_of_what_it_stands_for() {
        let size = |to: &str, content| {
            mail(to, content).dispatch(Timestamp::FOREVER).payload.expose().len()
        };
        let long = format!("{}@acme.test", "a".repeat(240));
        let link = format!("https://id.example.com/sign-in?{}", "x".repeat(400));
        for to in ["ana@acme.test", &long] {
            let decoy = size(to, MailContent::Nothing);
            assert_eq!(size(to, MailContent::SignInCode { code: "123456".to_owned() }), decoy);
            assert_eq!(size(to, MailContent::SignInLink { link: link.clone() }), decoy);
            assert_eq!(size(to, MailContent::SignUpKnown), decoy);
        }
        let sms = |content| Sms { to: "+351".to_owned(), locale: Locale::English, content };
        let size = |content| sms(content).dispatch(Timestamp::FOREVER).payload.expose().len();
        assert_eq!(
            size(SmsContent::SignInCode { code: "123456".to_owned() }),
            size(SmsContent::Decoy)
        );
    }

    #[test]
    fn neither_codes_nor_links_are_printed() {
        let shown = [
            format!("{:?}", mail("a@b", MailContent::SignInCode { code: "123456".to_owned() })),
            format!("{:?}", MailContent::RecoveryStarted { stop: "https://a.test/s".to_owned() }),
            format!("{:?}", ReportLink::new("https://a.test/report?token=t")),
            format!("{:?}", SmsContent::SignInCode { code: "123456".to_owned() }),
        ];
        for shown in shown {
            assert!(!shown.contains("123456") && !shown.contains("https"), "{shown}");
        }
    }
}
