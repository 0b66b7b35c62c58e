//! Parsers of values: each returns what is meant, or says what the value is not.

use super::{
    Origin,
    layers::{LocatedValue, RawValue},
};
use ipnet::IpNet;
use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};
use url::{Host, Url};
use uuid::Uuid;

/// A parsed value, or what it is not: words that follow the value in a sentence and do not quote it.
pub(super) type ParseResult<T> = Result<T, String>;

/// Longer than any use, and far from where sums of times overflow.
const LONGEST: u64 = 10 * 366 * 86_400;

/// A hundred years.
const MOST_DAYS: u64 = 36_500;

pub(super) fn text(given: &LocatedValue) -> ParseResult<String> {
    match &given.raw {
        RawValue::Text(text) if text.chars().any(char::is_control) => {
            Err("must not hold control characters".to_owned())
        }
        RawValue::Text(text) if text.trim().is_empty() => {
            Err("is empty: give a value, or leave it out".to_owned())
        }
        RawValue::Text(text) => Ok(text.clone()),
        RawValue::Flag(_) | RawValue::Number(_) | RawValue::List(_) => {
            Err("is not a text".to_owned())
        }
    }
}

pub(super) fn path(given: &LocatedValue) -> ParseResult<PathBuf> {
    let path = PathBuf::from(text(given)?);
    let folder = match &given.origin {
        Origin::File { path, .. } => path.parent(),
        _ => None,
    };
    Ok(folder.map_or(path.clone(), |folder| folder.join(path)))
}

/// Reads the URL of the database; a relative path in a file is relative to that file.
pub(super) fn store_url(given: &LocatedValue) -> ParseResult<String> {
    let text = text(given)?;
    match text.split_once(':') {
        Some(("sqlite", path)) if !path.trim_matches('/').is_empty() => {
            Ok(beside(&given.origin, path).unwrap_or(text))
        }
        Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
            match Url::parse(&text) {
                Ok(_) => Ok(text),
                Err(_) => Err("is not a URL like postgres://user@host/database; what is special \
                               in the password is written percent-encoded"
                    .to_owned()),
            }
        }
        _ => Err("is neither sqlite:///path nor postgres://user@host/database".to_owned()),
    }
}

/// The URL of a relative path in the folder of the file that gives it, if one gives it.
fn beside(origin: &Origin, path: &str) -> Option<String> {
    let Origin::File { path: file, .. } = origin else { return None };
    let relative = path.trim_start_matches("//");
    if relative.starts_with('/') {
        return None;
    }
    // The rest is a URL already; the folder is not.
    let folder = file.parent()?.to_str()?.replace('%', "%25").replace('?', "%3F");
    Some(format!("sqlite://{}", PathBuf::from(folder).join(relative).display()))
}

pub(super) fn flag(given: &LocatedValue) -> ParseResult<bool> {
    match &given.raw {
        RawValue::Flag(flag) => Ok(*flag),
        RawValue::Text(text) if text == "true" => Ok(true),
        RawValue::Text(text) if text == "false" => Ok(false),
        _ => Err("is neither true nor false".to_owned()),
    }
}

pub(super) fn number(given: &LocatedValue) -> ParseResult<u64> {
    let number = match &given.raw {
        RawValue::Number(number) => Some(*number),
        // `parse` would also take a sign.
        RawValue::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| "is not a whole number".to_owned())
}

/// Reads a number into the type that holds it.
pub(super) fn count<T: TryFrom<u64>>(given: &LocatedValue) -> ParseResult<T> {
    T::try_from(number(given)?).map_err(|_| "is too large".to_owned())
}

/// Reads a span of days; 0 is for ever.
pub(super) fn days(given: &LocatedValue) -> ParseResult<Option<Duration>> {
    match number(given) {
        Ok(0) => Ok(None),
        Ok(days) if days <= MOST_DAYS => Ok(Some(Duration::from_secs(days * 86_400))),
        Ok(_) => Err("is more than a hundred years: for ever is 0".to_owned()),
        Err(_) => Err("is not a whole number of days".to_owned()),
    }
}

pub(super) fn seconds(given: &LocatedValue) -> ParseResult<Duration> {
    match number(given) {
        Ok(seconds) if seconds <= LONGEST => Ok(Duration::from_secs(seconds)),
        Ok(_) => Err("is more than ten years".to_owned()),
        Err(_) => Err("is not a whole number of seconds".to_owned()),
    }
}

pub(super) fn address(given: &LocatedValue) -> ParseResult<SocketAddr> {
    text(given)?.parse().map_err(|_| "is not an address like 127.0.0.1:8443".to_owned())
}

/// The members of a list, which a variable separates by commas.
fn members(given: &LocatedValue) -> Option<Vec<&str>> {
    match &given.raw {
        RawValue::List(list) => Some(list.iter().map(String::as_str).collect()),
        RawValue::Text(text) if text.trim().is_empty() => Some(Vec::new()),
        RawValue::Text(text) => Some(text.split(',').map(str::trim).collect()),
        RawValue::Flag(_) | RawValue::Number(_) => None,
    }
}

/// Models of authenticators, as their makers and the FIDO Alliance write them.
pub(super) fn aaguids(given: &LocatedValue) -> ParseResult<Vec<Uuid>> {
    let wrong = || "is not a list of AAGUIDs like cb69481e-8ff7-4039-93ec-0a2729a154a8".to_owned();
    let members = members(given).ok_or_else(wrong)?;
    members.into_iter().map(|text| Uuid::try_parse(text).map_err(|_| wrong())).collect()
}

/// Addresses with a port, as of name servers; 53 where there is none.
pub(super) fn name_servers(given: &LocatedValue) -> ParseResult<Vec<SocketAddr>> {
    let wrong = || "is not a list of name servers like 127.0.0.1:53".to_owned();
    let server = |text: &str| {
        let alone = || text.parse::<IpAddr>().map(|address| SocketAddr::from((address, 53)));
        text.parse::<SocketAddr>().or_else(|_| alone())
    };
    let members = members(given).ok_or_else(wrong)?;
    members.into_iter().map(|text| server(text).map_err(|_| wrong())).collect()
}

pub(super) fn networks(given: &LocatedValue) -> ParseResult<Vec<IpNet>> {
    let members = members(given).ok_or_else(|| "is not a list of networks".to_owned())?;
    let network = |text: &str| {
        let whole = text.parse::<IpNet>().map(|network| network.trunc());
        whole.or_else(|_| text.parse::<IpAddr>().map(IpNet::from))
    };
    members
        .into_iter()
        .map(|text| {
            network(text).map_err(|_| "is not a list of networks like 10.0.0.0/8".to_owned())
        })
        .collect()
}

/// A URL that people or programs are sent to, and that holds no credentials.
pub(super) fn url(given: &LocatedValue) -> ParseResult<Url> {
    let url = web_url(&text(given)?)?;
    if has_userinfo(&url) {
        return Err("must not hold credentials".to_owned());
    }
    Ok(url)
}

pub(super) fn web_url(text: &str) -> ParseResult<Url> {
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(url),
        _ => Err("is not a URL like https://example.com/path".to_owned()),
    }
}

/// Reads a URI at which a person or a program is reached (RFC 9116 §2.5.3).
pub(super) fn contact(text: String) -> ParseResult<String> {
    let is_line = text.bytes().all(|byte| byte.is_ascii_graphic());
    let known = ["mailto:", "https://", "tel:"].into_iter().find(|scheme| text.starts_with(scheme));
    match known.filter(|scheme| is_line && text.len() > scheme.len()) {
        Some(_) => Ok(text),
        None => Err("is not a URI like mailto:security@example.com, https://… or tel:…".to_owned()),
    }
}

/// Reads `file:///path`.
pub(super) fn file_url(text: &str) -> ParseResult<PathBuf> {
    let path =
        Url::parse(text).ok().filter(|url| url.query().is_none() && url.fragment().is_none());
    path.and_then(|url| url.to_file_path().ok())
        .ok_or_else(|| "is not a path like file:///var/lib/porteiro".to_owned())
}

pub(super) fn has_userinfo(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Returns whether no third party can read what is sent there: https, or loopback.
pub(super) fn is_private(url: &Url) -> bool {
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback)
}

/// Reads the address of a server that we call; it holds no credentials.
pub fn called_url(text: &str) -> ParseResult<Url> {
    match web_url(text)? {
        url if has_userinfo(&url) => Err("must not hold credentials".to_owned()),
        url => Ok(url),
    }
}
