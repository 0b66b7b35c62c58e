//! The table of settings: every name, what it may be set to, and its default.

use Secrecy::{Open, Url as InUrl, Whole};
use Sort::{Address, Flag, Networks, Number, Path, Seconds, Text, Url, Word};

/// One row of the table.
pub struct Setting {
    /// As in a file: `section.key`, or the key alone at the top.
    pub name: &'static str,
    pub sort: Sort,
    /// Written as in an environment variable.
    pub default: Option<&'static str>,
    pub secrecy: Secrecy,
    pub about: &'static str,
}

/// What a setting may be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Text,
    /// One of a few words, or a URL.
    Word,
    Url,
    /// In a file, relative to that file's folder.
    Path,
    Address,
    Flag,
    Number,
    Seconds,
    Networks,
}

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
        self.secrecy != Open
    }
}

/// What the variables of Porteiro begin with.
pub(super) const PREFIX: &str = "PORTEIRO_";

const fn row(
    name: &'static str,
    sort: Sort,
    default: Option<&'static str>,
    about: &'static str,
) -> Setting {
    Setting { name, sort, default, secrecy: Open, about }
}

const fn secret(name: &'static str, sort: Sort, secrecy: Secrecy, about: &'static str) -> Setting {
    Setting { name, sort, default: None, secrecy, about }
}

/// All of them, in the order in which they are printed.
#[rustfmt::skip]
pub const SETTINGS: &[Setting] = &[
    row("issuer", Text, None, "the name of this installation in every token: an origin, https://id.example.com"),
    row("listen", Address, Some("127.0.0.1:8443"), "where the public listener is bound"),
    row("public_proxy", Flag, Some("false"), "TLS ends at a proxy in front"),
    row("trusted_proxies", Networks, Some(""), "networks whose forwarded headers are believed"),
    secret("store.url", Text, InUrl, "sqlite:///path or postgres://user@host/database"),
    row("keys.dir", Path, None, "the keys folder: one private JWK or PEM a file"),
    row("tls.cert", Path, None, "the certificate and its chain, PEM"),
    row("tls.key", Path, None, "the certificate's private key, PEM"),
    row("mtls.listen", Address, None, "a second listener that asks for client certificates (RFC 8705)"),
    row("mtls.client_ca", Path, None, "who may issue client certificates; self-signed ones need none"),
    row("operator.listen", Address, Some("127.0.0.1:9090"), "/metrics, /livez and /readyz"),
    row("screens.enabled", Flag, Some("true"), "serve our own screens"),
    row("screens.default_locale", Word, Some("en"), "en or pt, when the browser prefers neither"),
    row("links.sign_in", Url, None, "where people sign in when screens are off"),
    row("links.device", Url, None, "where people enter a device's code when screens are off"),
    row("links.approval", Url, None, "where people approve a request when screens are off"),
    secret("mail.transport", Word, InUrl, "smtp://…, smtps://…, file:///folder or log"),
    row("mail.from", Text, None, "the sender: Example ID <id@example.com>"),
    secret("sms.transport", Word, InUrl, "https://… that takes JSON {to, text}, file:///folder or log"),
    secret("sms.secret", Text, Whole, "the bearer secret of sms.transport"),
    row("sign_up.open", Flag, Some("false"), "anyone may make an account; invitations always work"),
    row("registration.open", Flag, Some("true"), "clients may register without credentials (RFC 7591)"),
    row("password.min_length", Number, Some("15"), "characters a password has at least, 8 to 128"),
    row("password.breach_check", Word, Some("off"), "off, https://…/range/ or file:///hashes.txt"),
    row("lifetimes.authorization_code", Seconds, Some("60"), "an authorization code, 600 at most"),
    row("lifetimes.access_token", Seconds, Some("300"), "an access token"),
    row("lifetimes.id_token", Seconds, Some("300"), "an ID token"),
    row("lifetimes.refresh_idle", Seconds, Some("1209600"), "a refresh token that is not used"),
    row("lifetimes.refresh_ceiling", Seconds, Some("2592000"), "a family of refresh tokens"),
    row("lifetimes.session_idle", Seconds, Some("604800"), "a session that is not used; may be lowered"),
    row("lifetimes.session_ceiling", Seconds, Some("2592000"), "a session; may be lowered"),
    row("lifetimes.par", Seconds, Some("60"), "a pushed request, until it is first presented"),
    row("lifetimes.device_code", Seconds, Some("600"), "a device code"),
    row("lifetimes.ciba", Seconds, Some("300"), "a backchannel authentication request"),
    row("lifetimes.flow", Seconds, Some("900"), "a flow"),
    row("lifetimes.one_time_code", Seconds, Some("600"), "a code sent by mail or SMS"),
    row("lifetimes.magic_link", Seconds, Some("900"), "a link sent by mail"),
    row("outbound.allow_private_networks", Flag, Some("false"), "calls may reach private and loopback addresses"),
    row("outbound.extra_ca", Path, None, "more trust anchors for what is called, PEM"),
    row("geo.database", Path, None, "a GeoIP city database: impossible travel is noticed"),
    row("limits.enabled", Flag, Some("true"), "rates are limited by address, identifier and client"),
    row("limits.connections", Number, Some("10000"), "connections that may be open, 8 at least"),
    row("limits.connections_per_address", Number, Some("512"), "of them by one address, at most an eighth of all"),
    row("limits.authorize_burst", Number, Some("300"), "authorization requests of one address at once"),
    row("limits.authorize_per_minute", Number, Some("600"), "authorization requests of one address after that"),
    row("limits.flow_burst", Number, Some("120"), "flows that one address begins at once"),
    row("limits.flow_per_minute", Number, Some("240"), "flows that one address begins after that"),
    row("limits.credential_burst", Number, Some("30"), "credentials of one address that are judged at once"),
    row("limits.credential_per_minute", Number, Some("60"), "credentials of one address that are judged after that"),
    row("limits.message_burst", Number, Some("20"), "messages that one address has sent at once"),
    row("limits.message_per_minute", Number, Some("12"), "messages that one address has sent after that"),
    row("limits.registration_burst", Number, Some("20"), "clients or accounts that one address registers at once"),
    row("limits.registration_per_minute", Number, Some("6"), "clients or accounts that one address registers after that"),
];
