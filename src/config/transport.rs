//! How mail and SMS are sent, and where leaked passwords are looked up.

use super::form::{self, ParseResult};
use crate::domain::Secret;
use std::path::PathBuf;
use url::Url;

/// How mail is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MailTransport {
    Smtp(Smtp),
    /// One `.eml` a message.
    Folder(PathBuf),
    Log,
}

/// A mail server that takes what we submit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Smtp {
    /// Encrypted from the first byte (`smtps`); otherwise the server is asked for STARTTLS.
    pub implicit_tls: bool,
    pub host: String,
    pub port: u16,
    pub credentials: Option<Credentials>,
}

/// A name and a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    pub user: String,
    pub password: Secret,
}

/// How SMS are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SmsTransport {
    /// JSON `{to, text}`, with the secret as bearer.
    Post {
        url: Url,
        secret: Option<Secret>,
    },
    /// One JSON file a message.
    Folder(PathBuf),
    Log,
}

/// Where leaked passwords are looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum BreachCheck {
    #[default]
    Off,
    /// By the first five digits of the SHA-1, which many passwords share.
    Range(Url),
    /// A sorted list of SHA-1 hashes.
    File(PathBuf),
}

/// Whose attestation of passkeys is believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Attestation {
    #[default]
    Off,
    /// The certificates of makers of authenticators, PEM.
    File(PathBuf),
}

impl Attestation {
    pub(super) fn parse(text: &str) -> ParseResult<Self> {
        match text.split_once(':') {
            None if text == "off" => Ok(Self::Off),
            Some(("file", _)) => form::file_url(text).map(Self::File),
            _ => Err("is neither off nor file:///roots.pem".to_owned()),
        }
    }
}

/// Who mail is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mailbox {
    pub name: Option<String>,
    pub address: String,
}

impl MailTransport {
    pub(super) fn parse(text: &str) -> ParseResult<Self> {
        match text.split_once(':') {
            None if text == "log" => Ok(Self::Log),
            Some(("file", _)) => form::file_url(text).map(Self::Folder),
            Some(("smtp" | "smtps", _)) => Smtp::parse(text).map(Self::Smtp),
            _ => Err("is neither smtp://…, smtps://…, file:///folder nor log".to_owned()),
        }
    }
}

impl Smtp {
    fn parse(text: &str) -> ParseResult<Self> {
        let malformed = || {
            "is not a URL like smtps://user:password@mail.example.com; what is special in the \
             password is written percent-encoded"
                .to_owned()
        };
        let url = Url::parse(text).map_err(|_| malformed())?;
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(malformed)?;
        let is_bare = matches!(url.path(), "" | "/") && url.query().is_none();
        if !is_bare || url.fragment().is_some() {
            return Err(malformed());
        }
        let implicit_tls = url.scheme() == "smtps";
        let credentials = match (url.username(), url.password()) {
            ("", None) => None,
            ("", Some(_)) | (_, None) => return Err("must hold both user and password".to_owned()),
            (user, Some(password)) => Some(Credentials {
                user: decode(user).ok_or_else(malformed)?,
                password: Secret::new(decode(password).ok_or_else(malformed)?),
            }),
        };
        // RFC 8314 §7.3 and RFC 6409 §3.1.
        let port = url.port().unwrap_or(if implicit_tls { 465 } else { 587 });
        Ok(Self { implicit_tls, host: host.to_owned(), port, credentials })
    }
}

impl SmsTransport {
    /// A bearer secret may also be in the URL, before the host.
    pub(super) fn parse(text: &str) -> ParseResult<Self> {
        match text.split_once(':') {
            None if text == "log" => Ok(Self::Log),
            Some(("file", _)) => form::file_url(text).map(Self::Folder),
            Some(("http" | "https", _)) => {
                let mut url = form::web_url(text)?;
                let secret = url.password().unwrap_or(url.username());
                let secret = decode(secret).ok_or("holds a malformed secret")?;
                let stripped = url.set_password(None).and_then(|()| url.set_username(""));
                stripped.map_err(|()| "is not a URL like https://sms.example.com/send")?;
                let secret = (!secret.is_empty()).then(|| Secret::new(secret));
                Ok(Self::Post { url, secret })
            }
            _ => Err("is neither https://…, file:///folder nor log".to_owned()),
        }
    }
}

impl BreachCheck {
    pub(super) fn parse(text: &str) -> ParseResult<Self> {
        match text.split_once(':') {
            None if text == "off" => Ok(Self::Off),
            Some(("file", _)) => form::file_url(text).map(Self::File),
            Some(("http" | "https", _)) => form::called_url(text).map(Self::Range),
            _ => Err("is neither off, https://…/range/ nor file:///hashes.txt".to_owned()),
        }
    }
}

impl Mailbox {
    /// Reads `Example ID <id@example.com>` or the address alone.
    pub(super) fn parse(text: &str) -> ParseResult<Self> {
        let (name, address) = match text.split_once('<') {
            None => ("", text.trim()),
            Some((name, rest)) => match rest.trim_end().strip_suffix('>') {
                Some(address) => (name.trim().trim_matches('"'), address),
                None => ("", ""),
            },
        };
        let is_address = matches!(address.rsplit_once('@'), Some((local, domain))
            if !local.is_empty() && !local.contains('@') && !domain.is_empty() && address.len() <= 254);
        let is_plain = !address.contains(|c: char| c.is_whitespace() || "<>,;\"".contains(c));
        if !is_address || !is_plain || name.contains(['<', '>', '"']) {
            return Err("is not a sender like Example ID <id@example.com>".to_owned());
        }
        let name = (!name.is_empty()).then(|| name.to_owned());
        Ok(Self { name, address: address.to_owned() })
    }
}

/// Decodes percent-encoding; `None` if the result is not text or holds control characters.
fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.filter(|_| byte == b'%').and_then(|digits| str::from_utf8(digits).ok());
        let decoded = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(decoded.unwrap_or(byte));
        rest = if decoded.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains(char::is_control))
}
