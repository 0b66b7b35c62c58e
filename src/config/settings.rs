//! The table of settings: every name, how it is read, where it lands, its default, what it is for.
//!
//! A new setting is a row here and the field of [`Config`] that it lands in.

use super::{
    Attestation, BreachCheck, Config, MailTransport, Mailbox, SecretUrl, SmsTransport,
    form::{self, ParseResult},
    layers::LocatedValue,
    mask,
};
use crate::domain::{QuietHours, Secret};
use Form::{
    Aaguids, Address, Count, Days, Flag, NameServers, Networks, Number, OptionalAddress, Path,
    Seconds, StoreUrl, Text, Url, Word,
};
use ipnet::IpNet;
use serde_json::{Value, json};
use std::{net::SocketAddr, path::PathBuf, time::Duration};

/// One row of the table.
pub struct Setting {
    /// As in a file: `section.key`, or the key alone at the top.
    pub name: &'static str,
    pub(super) form: Form,
    /// Written as in an environment variable.
    pub default: Option<&'static str>,
    pub about: &'static str,
    pub secrecy: Secrecy,
}

/// How a value is read, and the field of the configuration that it lands in.
pub(super) enum Form {
    Flag(Field<bool>),
    Number(Field<usize>),
    Count(Field<u32>),
    Seconds(Field<Duration>),
    /// Days; what 0 means is the setting's to say.
    Days(Field<Option<Duration>>),
    Address(Field<SocketAddr>),
    OptionalAddress(Field<Option<SocketAddr>>),
    Networks(Field<Vec<IpNet>>),
    NameServers(Field<Vec<SocketAddr>>),
    /// Models of authenticators.
    Aaguids(Field<Vec<uuid::Uuid>>),
    /// In a file, relative to that file's folder.
    Path(Field<Option<PathBuf>>),
    Url(Field<Option<url::Url>>),
    StoreUrl(Field<Option<SecretUrl>>),
    Text(Reader),
    /// One of a few words, or a URL.
    Word(Reader),
}

type Field<T> = fn(&mut Config) -> &mut T;

/// Reads a text and puts it where it belongs.
type Reader = fn(&mut Config, String) -> ParseResult<()>;

/// How much of a value may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrecy {
    Open,
    /// A URL that may hold a password.
    Url,
    Whole,
}

impl Setting {
    /// Looks a setting up by its name.
    pub fn named(name: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.name == name)
    }

    /// Returns the table of a file it belongs to, and its key there.
    pub fn place(&self) -> (Option<&'static str>, &'static str) {
        match self.name.split_once('.') {
            Some((section, key)) => (Some(section), key),
            None => (None, self.name),
        }
    }

    /// Returns the environment variable that sets it.
    pub fn variable(&self) -> String {
        format!("{PREFIX}{}", self.name.to_ascii_uppercase().replace('.', "__"))
    }

    pub fn is_secret(&self) -> bool {
        self.secrecy != Secrecy::Open
    }

    /// Reads a value, puts it into the configuration, and returns as much of it as may be shown.
    pub(super) fn put(&self, config: &mut Config, given: &LocatedValue) -> ParseResult<Value> {
        let shown = |text: &str| Value::from(mask::text(self, text));
        Ok(match self.form {
            Flag(field) => land(field(config), form::flag(given)?).to_owned().into(),
            Number(field) => land(field(config), form::count(given)?).to_owned().into(),
            Count(field) => land(field(config), form::count(given)?).to_owned().into(),
            Seconds(field) => land(field(config), form::seconds(given)?).as_secs().into(),
            Days(field) => {
                *field(config) = form::days(given)?;
                form::number(given)?.into()
            }
            Networks(field) => {
                let networks = land(field(config), form::networks(given)?);
                networks.iter().map(ToString::to_string).collect()
            }
            NameServers(field) => {
                let servers = land(field(config), form::name_servers(given)?);
                servers.iter().map(ToString::to_string).collect()
            }
            Aaguids(field) => {
                let models = land(field(config), form::aaguids(given)?);
                models.iter().map(ToString::to_string).collect()
            }
            Path(field) => json!(field(config).insert(form::path(given)?).to_string_lossy()),
            StoreUrl(field) => {
                let url = SecretUrl::new(form::store_url(given)?);
                shown(field(config).insert(url).expose())
            }
            Address(field) => {
                *field(config) = form::address(given)?;
                shown(&form::text(given)?)
            }
            OptionalAddress(field) => {
                *field(config) = Some(form::address(given)?);
                shown(&form::text(given)?)
            }
            Url(field) => {
                *field(config) = Some(form::url(given)?);
                shown(&form::text(given)?)
            }
            Text(read) | Word(read) => {
                let text = form::text(given)?;
                read(config, text.clone())?;
                shown(&text)
            }
        })
    }

    const fn secret(self) -> Self {
        Self { secrecy: Secrecy::Whole, ..self }
    }

    const fn secret_in_url(self) -> Self {
        Self { secrecy: Secrecy::Url, ..self }
    }
}

fn land<T>(field: &mut T, value: T) -> &T {
    *field = value;
    field
}

/// What the variables of Porteiro begin with.
pub(super) const PREFIX: &str = "PORTEIRO_";

/// A row without a default.
const fn unset(name: &'static str, form: Form, about: &'static str) -> Setting {
    Setting { name, form, default: None, about, secrecy: Secrecy::Open }
}

const fn row(
    name: &'static str,
    form: Form,
    default: &'static str,
    about: &'static str,
) -> Setting {
    Setting { default: Some(default), ..unset(name, form, about) }
}

/// All of them, in the order in which they are printed.
#[rustfmt::skip]
pub const SETTINGS: &[Setting] = &[
    unset("issuer", Text(|c, text| { c.issuer = Some(text); Ok(()) }),
        "the name of this installation in every token: an origin, https://id.example.com"),
    row("listen", Address(|c| &mut c.listen), "127.0.0.1:8443", "where the public listener is bound"),
    row("public_proxy", Flag(|c| &mut c.public_proxy), "false", "TLS ends at a proxy in front"),
    row("trusted_proxies", Networks(|c| &mut c.trusted_proxies), "",
        "networks whose forwarded headers are believed"),
    row("client_cert_header", Flag(|c| &mut c.client_cert_header), "false",
        "trusted proxies tell of client certificates by Client-Cert (RFC 9440)"),
    unset("store.url", StoreUrl(|c| &mut c.store.url),
        "sqlite:///path or postgres://user@host/database").secret_in_url(),
    unset("keys.dir", Path(|c| &mut c.keys.dir), "the keys folder: one private JWK or PEM a file"),
    unset("keys.pkcs11_module", Path(|c| &mut c.keys.pkcs11_module),
        "the PKCS#11 library of a token that holds the signing keys; the secret key stays a file"),
    unset("keys.pkcs11_token", Text(|c, text| { c.keys.pkcs11_token = Some(text); Ok(()) }),
        "the label of that token"),
    unset("keys.pkcs11_pin_file", Path(|c| &mut c.keys.pkcs11_pin_file),
        "a file with the PIN of that token, readable by its owner alone"),
    unset("tls.cert", Path(|c| &mut c.tls.cert), "the certificate and its chain, PEM"),
    unset("tls.key", Path(|c| &mut c.tls.key), "the certificate's private key, PEM"),
    unset("mtls.listen", OptionalAddress(|c| &mut c.mtls.listen),
        "a second listener that asks for client certificates (RFC 8705)"),
    unset("mtls.client_ca", Path(|c| &mut c.mtls.client_ca),
        "who may issue client certificates, PEM; self-signed ones need none"),
    unset("mtls.url", Text(|c, text| { c.mtls.url = Some(text); Ok(()) }),
        "where clients find that listener; by default the issuer's host at its port"),
    row("dpop.nonce", Flag(|c| &mut c.dpop.nonce), "false",
        "every DPoP proof needs a nonce of this server (RFC 9449)"),
    row("operator.listen", Address(|c| &mut c.operator.listen), "127.0.0.1:9090",
        "/metrics, /livez and /readyz"),
    row("screens.enabled", Flag(|c| &mut c.screens.enabled), "true", "serve our own screens"),
    row("screens.default_locale",
        Word(|c, text| c.screens.put_locale(&text)), "en",
        "en or pt, when the browser prefers neither"),
    unset("links.sign_in", Url(|c| &mut c.links.sign_in), "where people sign in when screens are off"),
    unset("links.device", Url(|c| &mut c.links.device),
        "where people enter a device's code when screens are off"),
    unset("links.approval", Url(|c| &mut c.links.approval),
        "where people approve a request when screens are off"),
    unset("links.recovery", Url(|c| &mut c.links.recovery),
        "where people recover an account when screens are off"),
    unset("links.invitation", Url(|c| &mut c.links.invitation),
        "where people accept an invitation when screens are off"),
    unset("links.verify_email", Url(|c| &mut c.links.verify_email),
        "where people confirm an e-mail address when screens are off"),
    unset("links.change_password", Url(|c| &mut c.links.change_password),
        "where people change their password when screens are off"),
    unset("links.report", Url(|c| &mut c.links.report),
        "where people say that an alert was about another person when screens are off"),
    unset("mail.transport",
        Word(|c, text| { c.mail.transport = Some(MailTransport::parse(&text)?); Ok(()) }),
        "smtp://…, smtps://…, file:///folder or log").secret_in_url(),
    unset("mail.from", Text(|c, text| { c.mail.from = Some(Mailbox::parse(&text)?); Ok(()) }),
        "the sender: Example ID <id@example.com>"),
    unset("sms.transport",
        Word(|c, text| { c.sms.transport = Some(SmsTransport::parse(&text)?); Ok(()) }),
        "https://… that takes JSON {to, text}, file:///folder or log").secret_in_url(),
    // After sms.transport, which it goes into.
    unset("sms.secret", Text(|c, text| c.sms.put_secret(Secret::new(text))),
        "the bearer secret of sms.transport").secret(),
    row("sign_up.open", Flag(|c| &mut c.sign_up.open), "false",
        "anyone may make an account; invitations always work"),
    row("sign_up.proof_of_work_bits", Count(|c| &mut c.sign_up.proof_of_work_bits), "0",
        "how hard a sign-up is for a program: bits of a hash, 0 to 24; 20 takes about a second"),
    row("registration.open", Flag(|c| &mut c.registration.open), "true",
        "clients may register without credentials (RFC 7591)"),
    unset("registration.software_statement_keys", Path(|c| &mut c.registration.software_statement_keys),
        "a file of issuers whose software statements count, {issuer: {\"keys\": […]}}"),
    unset("claims.hook",
        Word(|c, text| { c.claims_hook = Some(form::called_url(&text)?); Ok(()) }),
        "https://… that is asked for more claims, by a token of ours"),
    row("password.min_length", Number(|c| &mut c.password.min_length), "15",
        "characters a password has at least, 8 to 128"),
    row("password.breach_check",
        Word(|c, text| { c.password.breach_check = BreachCheck::parse(&text)?; Ok(()) }), "off",
        "off, https://…/range/ or file:///hashes.txt"),
    row("assurance.remember_device_days", Days(|c| &mut c.assurance.remember_device), "0",
        "days for which a browser is not asked for a second factor again, 90 at most; 0 is off"),
    row("passkeys.attestation",
        Word(|c, text| { c.passkeys.attestation = Attestation::parse(&text)?; Ok(()) }), "off",
        "off, or file:///roots.pem: makers whose hardware keys are aal3"),
    row("passkeys.attestation_aaguids", Aaguids(|c| &mut c.passkeys.attestation_aaguids), "",
        "the models of theirs that count; all where there is none"),
    row("lifetimes.authorization_code", Seconds(|c| &mut c.lifetimes.authorization_code), "60",
        "an authorization code, 600 at most"),
    row("lifetimes.access_token", Seconds(|c| &mut c.lifetimes.access_token), "300", "an access token"),
    row("lifetimes.id_token", Seconds(|c| &mut c.lifetimes.id_token), "300", "an ID token"),
    row("lifetimes.refresh_idle", Seconds(|c| &mut c.lifetimes.refresh_idle), "1209600",
        "a refresh token that is not used"),
    row("lifetimes.refresh_ceiling", Seconds(|c| &mut c.lifetimes.refresh_ceiling), "2592000",
        "a family of refresh tokens"),
    row("lifetimes.session_idle", Seconds(|c| &mut c.lifetimes.session_idle), "604800",
        "a session that is not used; may be lowered"),
    row("lifetimes.session_ceiling", Seconds(|c| &mut c.lifetimes.session_ceiling), "2592000",
        "a session; may be lowered"),
    row("lifetimes.par", Seconds(|c| &mut c.lifetimes.par), "60",
        "a pushed request, until it is first presented"),
    row("lifetimes.device_code", Seconds(|c| &mut c.lifetimes.device_code), "600", "a device code"),
    row("lifetimes.ciba", Seconds(|c| &mut c.lifetimes.ciba), "300",
        "a backchannel authentication request, at most"),
    row("lifetimes.flow", Seconds(|c| &mut c.lifetimes.flow), "900", "a flow"),
    row("lifetimes.one_time_code", Seconds(|c| &mut c.lifetimes.one_time_code), "600",
        "a code sent by mail or SMS"),
    row("lifetimes.magic_link", Seconds(|c| &mut c.lifetimes.magic_link), "900",
        "a link sent by mail"),
    row("outbound.allow_private_networks", Flag(|c| &mut c.outbound.allow_private_networks), "false",
        "calls may reach private and loopback addresses"),
    unset("outbound.extra_ca", Path(|c| &mut c.outbound.extra_ca),
        "more trust anchors for what is called, PEM"),
    row("dns.servers", NameServers(|c| &mut c.dns.servers), "",
        "name servers for what is called, such as 127.0.0.1:53; the system's where there is none"),
    unset("geo.database", Path(|c| &mut c.geo.database),
        "a GeoIP city database: alerts name the place, and impossible travel is noticed"),
    row("alerts.enabled", Flag(|c| &mut c.alerts.enabled), "true",
        "people are alerted of sign-ins from another device or place"),
    unset("security_txt.contact", Text(|c, text| { c.security_txt.contact = Some(form::contact(text)?); Ok(()) }),
        "where a weakness is reported (RFC 9116): mailto:…, https://… or tel:…"),
    unset("security_txt.policy", Url(|c| &mut c.security_txt.policy),
        "the page that says how reports are handled"),
    row("log.keep_days", Days(|c| &mut c.log.keep), "400",
        "days for which the security log is kept; 0 is for ever"),
    row("limits.enabled", Flag(|c| &mut c.limits.enabled), "true",
        "rates are limited by address, identifier and client"),
    row("limits.connections", Number(|c| &mut c.limits.connections), "10000",
        "connections that may be open, 8 at least"),
    row("limits.connections_per_address", Number(|c| &mut c.limits.connections_per_address), "512",
        "of them by one address, at most an eighth of all"),
    row("limits.authorize_burst", Count(|c| &mut c.limits.authorize.burst), "300",
        "authorization requests of one address at once"),
    row("limits.authorize_per_minute", Count(|c| &mut c.limits.authorize.per_minute), "600",
        "authorization requests of one address after that"),
    row("limits.flow_burst", Count(|c| &mut c.limits.flow.burst), "120",
        "flows that one address begins at once"),
    row("limits.flow_per_minute", Count(|c| &mut c.limits.flow.per_minute), "240",
        "flows that one address begins after that"),
    row("limits.credential_burst", Count(|c| &mut c.limits.credential.burst), "30",
        "credentials of one address that are judged at once"),
    row("limits.credential_per_minute", Count(|c| &mut c.limits.credential.per_minute), "60",
        "credentials of one address that are judged after that"),
    row("limits.message_burst", Count(|c| &mut c.limits.message.burst), "20",
        "messages that one address has sent at once"),
    row("limits.message_per_minute", Count(|c| &mut c.limits.message.per_minute), "12",
        "messages that one address has sent after that"),
    row("limits.registration_burst", Count(|c| &mut c.limits.registration.burst), "20",
        "clients or accounts that one address registers at once"),
    row("limits.registration_per_minute", Count(|c| &mut c.limits.registration.per_minute), "6",
        "clients or accounts that one address registers after that"),
    row("limits.document_burst", Count(|c| &mut c.limits.document.burst), "30",
        "documents of clients that one address has fetched at once"),
    row("limits.document_per_minute", Count(|c| &mut c.limits.document.per_minute), "30",
        "documents of clients that one address has fetched after that"),
    row("limits.approval_burst", Count(|c| &mut c.limits.approval.burst), "30",
        "approvals that one client asks of one person at once"),
    row("limits.approval_per_minute", Count(|c| &mut c.limits.approval.per_minute), "1",
        "approvals that one client asks of one person after that"),
    row("limits.approvals_pending", Count(|c| &mut c.limits.approvals_pending), "10",
        "approvals of one client that wait for one person, 100 at most"),
    row("limits.invitations_per_day", Count(|c| &mut c.limits.invitations_per_day), "500",
        "invitations that one organization sends in a day"),
    row("limits.invitations_to_one_address", Count(|c| &mut c.limits.invitations_to_one_address), "3",
        "of those, to one address"),
    unset("limits.quiet_hours", Text(|c, text| {
            let wrong = || "is not hours of a day such as 22-7".to_owned();
            c.limits.quiet_hours = Some(QuietHours::parse(&text).ok_or_else(wrong)?);
            Ok(())
        }),
        "hours of a day, UTC, in which people are not written to about approvals: 22-7"),
];
