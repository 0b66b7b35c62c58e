//! The configuration in effect, typed, a struct for each of a file's tables.

use super::{
    Attestation, BreachCheck, MailTransport, Mailbox, SecretUrl, SmsTransport, form::ParseResult,
};
use crate::domain::{Locale, QuietHours, Secret};
use ipnet::IpNet;
use std::{
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    path::{Path, PathBuf},
    time::Duration,
};
use url::Url;
use uuid::Uuid;

/// Stands for an address until the table's default is put there.
const UNSET: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));

/// Everything an operator decides.
#[derive(Clone, Debug)]
pub struct Config {
    /// Exactly as written: issuers are compared as strings.
    pub issuer: Option<String>,
    pub listen: SocketAddr,
    pub public_proxy: bool,
    pub trusted_proxies: Vec<IpNet>,
    /// A trusted proxy tells of the certificates of clients (RFC 9440).
    pub client_cert_header: bool,
    pub store: Store,
    pub keys: Keys,
    pub tls: Tls,
    pub mtls: Mtls,
    pub dpop: Dpop,
    pub operator: Operator,
    pub screens: Screens,
    pub links: Links,
    pub mail: Mail,
    pub sms: Sms,
    pub sign_up: SignUp,
    pub registration: Registration,
    /// The operator's own server that adds claims.
    pub claims_hook: Option<Url>,
    pub password: PasswordRules,
    pub assurance: Assurance,
    pub passkeys: PasskeyRules,
    pub lifetimes: Lifetimes,
    pub outbound: Outbound,
    pub dns: Dns,
    pub geo: Geo,
    pub security_txt: SecurityTxt,
    pub alerts: Alerts,
    pub log: Log,
    pub limits: Limits,
}

/// The database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Store {
    pub url: Option<SecretUrl>,
}

/// The keys folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    pub dir: Option<PathBuf>,
    /// The library that speaks to the token in which signing keys lie.
    pub pkcs11_module: Option<PathBuf>,
    /// The label of that token.
    pub pkcs11_token: Option<String>,
    /// The file that holds its PIN.
    pub pkcs11_pin_file: Option<PathBuf>,
}

/// Our certificate and its key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
}

/// The listener for client certificates (RFC 8705).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mtls {
    pub listen: Option<SocketAddr>,
    pub client_ca: Option<PathBuf>,
    /// Where clients find it; exactly as written.
    pub url: Option<String>,
}

/// Proofs of possession that clients sign (RFC 9449).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dpop {
    /// Every proof needs a nonce of this server.
    pub nonce: bool,
}

/// The listener for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    pub listen: SocketAddr,
}

/// Our own screens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Screens {
    pub enabled: bool,
    pub default_locale: Locale,
}

/// Where people are sent when screens are off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    pub sign_in: Option<Url>,
    pub device: Option<Url>,
    pub approval: Option<Url>,
    pub recovery: Option<Url>,
    pub invitation: Option<Url>,
    pub verify_email: Option<Url>,
    pub change_password: Option<Url>,
    pub report: Option<Url>,
}

/// How mail is sent, and from which sender.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mail {
    pub transport: Option<MailTransport>,
    pub from: Option<Mailbox>,
}

/// How SMS are sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sms {
    pub transport: Option<SmsTransport>,
}

/// Whether people may make accounts for themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignUp {
    pub open: bool,
    /// How many bits of a proof of work a sign-up must bring; 0 for none.
    pub proof_of_work_bits: u32,
}

/// Whether clients may register without credentials (RFC 7591).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registration {
    pub open: bool,
    /// A file of trusted issuers of software statements and their keys.
    pub software_statement_keys: Option<PathBuf>,
}

/// What a new password must satisfy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PasswordRules {
    pub min_length: usize,
    pub breach_check: BreachCheck,
}

/// How sure we are of people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assurance {
    /// How long a browser is remembered in which a second factor was proved; `None` is off.
    pub remember_device: Option<Duration>,
}

/// What passkeys are asked for beside a signature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PasskeyRules {
    pub attestation: Attestation,
    /// The models whose attestation counts; all where there is none.
    pub attestation_aaguids: Vec<Uuid>,
}

/// How long things live.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lifetimes {
    pub authorization_code: Duration,
    pub access_token: Duration,
    pub id_token: Duration,
    pub refresh_idle: Duration,
    pub refresh_ceiling: Duration,
    pub session_idle: Duration,
    pub session_ceiling: Duration,
    pub par: Duration,
    pub device_code: Duration,
    pub ciba: Duration,
    pub flow: Duration,
    pub one_time_code: Duration,
    pub magic_link: Duration,
}

/// Which addresses may be called, and which certificates are trusted there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outbound {
    pub allow_private_networks: bool,
    pub extra_ca: Option<PathBuf>,
}

/// Who is asked for the addresses of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dns {
    /// Those of the system where there is none.
    pub servers: Vec<SocketAddr>,
}

/// The database that locates addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Geo {
    pub database: Option<PathBuf>,
}

/// What `security.txt` says (RFC 9116); nothing is served without a contact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecurityTxt {
    /// A URI, exactly as written.
    pub contact: Option<String>,
    pub policy: Option<Url>,
}

/// What people are alerted of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alerts {
    /// Sign-ins from another device or place.
    pub enabled: bool,
}

/// The security log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// How long it is kept; `None` is for ever.
    pub keep: Option<Duration>,
}

/// How much one address may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Whether rates are limited.
    pub enabled: bool,
    /// Connections that may be open.
    pub connections: usize,
    /// Those of them that one address may have.
    pub connections_per_address: usize,
    pub authorize: PerAddress,
    pub flow: PerAddress,
    pub credential: PerAddress,
    pub message: PerAddress,
    pub registration: PerAddress,
    /// How often one address has us fetch the document of a client.
    pub document: PerAddress,
    /// How often one client asks one person for an approval.
    pub approval: PerAddress,
    /// How many of those wait at the same time.
    pub approvals_pending: u32,
    /// How many invitations one organization sends in a day.
    pub invitations_per_day: u32,
    /// How many of those go to one address.
    pub invitations_to_one_address: u32,
    /// When people are not written to about approvals.
    pub quiet_hours: Option<QuietHours>,
}

/// How often one address may do something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerAddress {
    /// At once.
    pub burst: u32,
    /// After that.
    pub per_minute: u32,
}

impl Config {
    /// A configuration in which nothing has been set: the table's defaults come first.
    pub(super) fn blank() -> Self {
        Self {
            issuer: None,
            listen: UNSET,
            public_proxy: false,
            trusted_proxies: Vec::new(),
            client_cert_header: false,
            store: Store::default(),
            keys: Keys::default(),
            tls: Tls::default(),
            mtls: Mtls::default(),
            dpop: Dpop::default(),
            operator: Operator { listen: UNSET },
            screens: Screens::default(),
            links: Links::default(),
            mail: Mail::default(),
            sms: Sms::default(),
            sign_up: SignUp::default(),
            registration: Registration::default(),
            claims_hook: None,
            password: PasswordRules::default(),
            assurance: Assurance::default(),
            passkeys: PasskeyRules::default(),
            lifetimes: Lifetimes::default(),
            outbound: Outbound::default(),
            dns: Dns::default(),
            geo: Geo::default(),
            security_txt: SecurityTxt::default(),
            alerts: Alerts::default(),
            log: Log::default(),
            limits: Limits::default(),
        }
    }
}

impl Sms {
    /// Adds the bearer secret to a transport that takes one.
    pub(super) fn put_secret(&mut self, given: Secret) -> ParseResult<()> {
        let Some(SmsTransport::Post { secret, .. }) = &mut self.transport else { return Ok(()) };
        match secret.replace(given) {
            Some(_) => Err("is also given in the URL of sms.transport: keep one".to_owned()),
            None => Ok(()),
        }
    }
}

impl Tls {
    /// Returns the certificate and its key, if there are both.
    pub fn pair(&self) -> Option<(&Path, &Path)> {
        self.cert.as_deref().zip(self.key.as_deref())
    }
}

impl Screens {
    /// Reads the language; a region has no effect, so that none is accepted.
    pub(super) fn put_locale(&mut self, text: &str) -> ParseResult<()> {
        let named = Locale::ALL.into_iter().find(|locale| locale.tag() == text);
        self.default_locale = named.ok_or_else(|| "is neither en nor pt".to_owned())?;
        Ok(())
    }
}
