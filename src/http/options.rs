//! What the public endpoints are built from.

use crate::{
    breach::BreachCheck,
    claims_hook::ClaimsHook,
    client_documents::Fetcher,
    crypto::{ClientAuthorities, StatementIssuers, passkeys::AttestationPolicy},
    domain::{
        Locale, QuietHours, flow::Rules, installation::Installation, password::Policy,
        token_family::CodeLifetimes,
    },
    geo::GeoDatabase,
    http::{
        hosts::Hosts,
        limits::{pace::Rates, request_permits::Limits},
    },
    messages::Mailbox,
    transport::AddressRules,
    upstream::Upstreams,
};
use axum::http::HeaderValue;
use std::{sync::Arc, time::Duration};
use url::Url;

/// How long what is issued lives.
#[derive(Clone, Copy, Debug)]
pub struct Lifetimes {
    pub authorization_code: Duration,
    pub access_token: Duration,
    pub id_token: Duration,
    pub refresh_idle: Duration,
    pub refresh_ceiling: Duration,
    pub session_idle: Duration,
    pub session_ceiling: Duration,
    /// Until a pushed request is presented.
    pub par: Duration,
    /// A device code, and the user code that belongs to it.
    pub device_code: Duration,
    /// A backchannel authentication request, at most.
    pub ciba: Duration,
    pub flow: Duration,
    /// How long a browser is remembered in which two factors were proved; `None` is not at all.
    pub remember_device: Option<Duration>,
    pub one_time_code: Duration,
    pub magic_link: Duration,
}

impl Lifetimes {
    /// Of a code that is issued now, and of its first access token.
    pub fn of_code(&self) -> CodeLifetimes {
        CodeLifetimes { code: self.authorization_code, access_token: self.access_token }
    }

    /// The longest life of a token that a signing key signs.
    pub fn longest_signed(&self) -> Duration {
        self.access_token.max(self.id_token)
    }
}

/// Where people are sent; what is not set is nowhere.
#[derive(Clone, Debug, Default)]
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

impl Links {
    /// Lists the origins of the pages that the links lead to.
    pub fn origins(&self) -> Arc<[HeaderValue]> {
        let Self { sign_in, device, approval, recovery, .. } = self;
        let Self { invitation, verify_email, change_password, report, .. } = self;
        let first = [sign_in, device, approval, recovery];
        let pages = first.into_iter().chain([invitation, verify_email, change_password, report]);
        let pages = pages.flatten();
        let origins = pages.map(|page| page.origin().ascii_serialization());
        origins.filter_map(|origin| HeaderValue::try_from(origin).ok()).collect()
    }
}

/// Whether people may make accounts for themselves, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct SignUp {
    pub open: bool,
    /// How many bits of a proof of work a profile must bring; 0 for none.
    pub proof_of_work_bits: u32,
}

/// Where a weakness is reported (RFC 9116).
#[derive(Clone, Debug)]
pub struct SecurityTxt {
    /// A URI.
    pub contact: String,
    /// The page that says how reports are handled.
    pub policy: Option<Url>,
}

/// What is served beside the endpoints that every installation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is there or not, whatever the others are")]
pub struct Extras {
    /// Pages of ours, for people.
    pub screens: bool,
    /// What a development server sent.
    pub mailbox: bool,
    /// The way to the page on which a password is changed.
    pub change_password: bool,
    /// Where a weakness is reported.
    pub security_txt: bool,
}

impl Extras {
    /// Everything that can be served.
    pub const ALL: Self =
        Self { screens: true, mailbox: true, change_password: true, security_txt: true };
}

/// How clients come with certificates of their own (RFC 8705).
#[derive(Clone)]
pub struct MutualTls {
    /// The origin of the endpoints for them, where it is not the issuer itself.
    pub url: Option<String>,
    /// Whose certificates name clients; without them a client registers its own certificate.
    pub authorities: Option<Arc<ClientAuthorities>>,
    /// Whether a trusted proxy tells of certificates (RFC 9440).
    pub forwarded: bool,
}

/// What people are alerted of.
pub struct AlertOptions {
    /// Whether they are alerted of sign-ins from another device or place.
    pub enabled: bool,
    /// Where addresses are.
    pub geo: Arc<GeoDatabase>,
}

/// What the public endpoints are built from.
pub struct AppOptions {
    /// Exactly as everyone compares it.
    pub issuer: String,
    pub lifetimes: Lifetimes,
    pub alerts: AlertOptions,
    pub hosts: Hosts,
    /// For how long a fetched key set may be used: as long as a key is published before it signs.
    pub key_set_age: Duration,
    pub limits: Limits,
    /// Which addresses are proxies, and which are limited.
    pub addresses: Arc<AddressRules>,
    /// Whether people get pages of ours.
    pub screens: bool,
    /// Where people are sent, where they get no pages of ours.
    pub links: Links,
    /// Where a weakness is reported, if anything is said of it.
    pub security_txt: Option<SecurityTxt>,
    /// Whether every proof of a client needs a nonce of ours (RFC 9449 §8).
    pub dpop_nonce: bool,
    /// How clients come with certificates, if they can.
    pub mutual_tls: Option<MutualTls>,
    /// Whether clients may register themselves.
    pub registration: bool,
    /// Whose software statements count; without them none is looked at.
    pub statement_issuers: Option<Arc<StatementIssuers>>,
    /// Whether people may make accounts for themselves, and how.
    pub sign_up: SignUp,
    /// The language of people who have not said theirs.
    pub locale: Locale,
    /// When people are not written to about approvals; never, unless the operator says so.
    pub quiet_hours: Option<QuietHours>,
    /// The kinds of flows, and what can be proved in them.
    pub flow_rules: Arc<Rules>,
    /// The rates of addresses; without them identifiers have none either, but failures in a row are
    /// bounded all the same.
    pub rates: Option<Rates>,
    pub passwords: PasswordOptions,
    /// What fetches the documents that clients keep at addresses of their own.
    pub client_documents: Fetcher,
    /// What speaks to other providers.
    pub upstreams: Upstreams,
    /// The operator's own server that adds claims, if there is one.
    pub claims_hook: Option<ClaimsHook>,
    /// Whose attestation of a passkey counts; without it none is asked for.
    pub attestation: Option<AttestationPolicy>,
    /// By what people can be written to.
    pub channels: Channels,
    /// Where everything sent can be read; a development server has one.
    pub mailbox: Option<Arc<Mailbox>>,
    /// The installation as it was found at the start.
    pub at_start: Installation,
}

impl AppOptions {
    /// Says what is served beside the endpoints that every installation has.
    pub fn extras(&self) -> Extras {
        Extras {
            screens: self.screens,
            mailbox: self.mailbox.is_some(),
            change_password: self.screens || self.links.change_password.is_some(),
            security_txt: self.security_txt.is_some(),
        }
    }
}

/// What is asked of a new password.
#[derive(Default)]
pub struct PasswordOptions {
    pub policy: Policy,
    /// Where it is looked up among leaked ones.
    pub breach_check: BreachCheck,
}

/// By what people can be written to, and whether they can have passkeys: a step is served only where
/// it can be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    pub mail: bool,
    pub sms: bool,
    /// The issuer has a domain.
    pub passkeys: bool,
}
