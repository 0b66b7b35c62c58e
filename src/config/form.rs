//! The forms values take: from what was given to what is meant, or in words what it is not.

use super::{
    Origin,
    layers::{Given, Raw},
};
use ipnet::IpNet;
use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};
use url::{Host, Url};

/// What a value is not: follows it in a sentence, and does not quote it.
pub(super) type Formed<T> = Result<T, String>;

/// Far beyond any use, and nowhere near where sums of times overflow.
const LONGEST: u64 = 10 * 366 * 86_400;

pub(super) fn text(given: &Given) -> Formed<String> {
    match &given.raw {
        Raw::Text(text) if text.chars().any(char::is_control) => {
            Err("must not hold control characters".to_owned())
        }
        Raw::Text(text) if text.trim().is_empty() => {
            Err("is empty: give a value, or leave it out".to_owned())
        }
        Raw::Text(text) => Ok(text.clone()),
        Raw::Flag(_) | Raw::Number(_) | Raw::List(_) => Err("is not a text".to_owned()),
    }
}

pub(super) fn path(given: &Given) -> Formed<PathBuf> {
    let path = PathBuf::from(text(given)?);
    let folder = match &given.origin {
        Origin::File { path, .. } => path.parent(),
        _ => None,
    };
    Ok(folder.map_or(path.clone(), |folder| folder.join(path)))
}

/// Reads where the database is; a file that a file names is relative to it, as paths are.
pub(super) fn store_url(given: &Given) -> Formed<String> {
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

pub(super) fn flag(given: &Given) -> Formed<bool> {
    match &given.raw {
        Raw::Flag(flag) => Ok(*flag),
        Raw::Text(text) if text == "true" => Ok(true),
        Raw::Text(text) if text == "false" => Ok(false),
        _ => Err("is neither true nor false".to_owned()),
    }
}

pub(super) fn number(given: &Given) -> Formed<u64> {
    let number = match &given.raw {
        Raw::Number(number) => Some(*number),
        // `parse` would also take a sign.
        Raw::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| "is not a whole number".to_owned())
}

/// Reads a number into the type that holds it.
pub(super) fn count<T: TryFrom<u64>>(given: &Given) -> Formed<T> {
    T::try_from(number(given)?).map_err(|_| "is too large".to_owned())
}

pub(super) fn seconds(given: &Given) -> Formed<Duration> {
    match number(given) {
        Ok(seconds) if seconds <= LONGEST => Ok(Duration::from_secs(seconds)),
        Ok(_) => Err("is more than ten years".to_owned()),
        Err(_) => Err("is not a whole number of seconds".to_owned()),
    }
}

pub(super) fn address(given: &Given) -> Formed<SocketAddr> {
    text(given)?.parse().map_err(|_| "is not an address like 127.0.0.1:8443".to_owned())
}

pub(super) fn networks(given: &Given) -> Formed<Vec<IpNet>> {
    let members: Vec<&str> = match &given.raw {
        Raw::List(list) => list.iter().map(String::as_str).collect(),
        Raw::Text(text) if text.trim().is_empty() => Vec::new(),
        Raw::Text(text) => text.split(',').map(str::trim).collect(),
        Raw::Flag(_) | Raw::Number(_) => return Err("is not a list of networks".to_owned()),
    };
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
pub(super) fn url(given: &Given) -> Formed<Url> {
    let url = web_url(&text(given)?)?;
    if has_userinfo(&url) {
        return Err("must not hold credentials".to_owned());
    }
    Ok(url)
}

pub(super) fn web_url(text: &str) -> Formed<Url> {
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(url),
        _ => Err("is not a URL like https://example.com/path".to_owned()),
    }
}

/// Reads `file:///path`.
pub(super) fn file_url(text: &str) -> Formed<PathBuf> {
    let path =
        Url::parse(text).ok().filter(|url| url.query().is_none() && url.fragment().is_none());
    path.and_then(|url| url.to_file_path().ok())
        .ok_or_else(|| "is not a path like file:///var/lib/porteiro".to_owned())
}

pub(super) fn has_userinfo(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Returns whether what is sent there cannot be read on the way: https, or it never leaves this host.
pub(super) fn is_private(url: &Url) -> bool {
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback)
}
