//! The issuer of a provider: the text by which it is known, and where its metadata lies.

use serde::{Deserialize, Serialize};
use url::{Host, Url};

/// Bytes of an address.
pub(super) const LONGEST_URL: usize = 2_048;

/// An issuer as it was configured; compared byte by byte (OpenID Connect Discovery §4.3).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Issuer(String);

/// Why a text is no issuer; reads on from "the issuer".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IssuerFault {
    #[error("is not an absolute URL")]
    NotAUrl,
    #[error("must be https; http is for loopback alone")]
    NotHttps,
    #[error("names a user")]
    User,
    #[error("has a query or a fragment")]
    Query,
}

impl Issuer {
    /// Takes an issuer (Discovery §3): https, without a query or a fragment.
    pub fn parse(text: &str) -> Result<Self, IssuerFault> {
        let url = readable(text).ok_or(IssuerFault::NotAUrl)?;
        if !is_private(&url) {
            return Err(IssuerFault::NotHttps);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(IssuerFault::User);
        }
        if text.contains(['?', '#']) {
            return Err(IssuerFault::Query);
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where its metadata lies (Discovery §4.1): a slash at its end is left out.
    pub fn metadata_url(&self) -> String {
        format!("{}/.well-known/openid-configuration", self.0.trim_end_matches('/'))
    }

    /// Reads an address that this issuer names as its own: https, or as plain as the issuer itself is.
    pub(super) fn endpoint(&self, text: &str) -> Option<Url> {
        let url = readable(text)?;
        let is_on_loopback = self.0.starts_with("http:");
        let is_fit = url.scheme() == "https" || (is_on_loopback && is_private(&url));
        let is_bare = url.username().is_empty() && url.password().is_none();
        (is_fit && is_bare && url.fragment().is_none()).then_some(url)
    }

    /// Reads the address of a page of its own, below it.
    pub(super) fn below(&self, path: &str) -> Url {
        let text = format!("{}{path}", self.0.trim_end_matches('/'));
        Url::parse(&text).expect("an issuer is a URL without a query, and so is what lies below it")
    }
}

impl TryFrom<String> for Issuer {
    type Error = IssuerFault;

    fn try_from(text: String) -> Result<Self, IssuerFault> {
        Self::parse(&text)
    }
}

impl From<Issuer> for String {
    fn from(issuer: Issuer) -> Self {
        issuer.0
    }
}

impl std::fmt::Display for Issuer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Parses an address in which nothing is left out in silence, as blanks and line breaks would be.
fn readable(text: &str) -> Option<Url> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let url = if is_plain && text.len() <= LONGEST_URL { Url::parse(text).ok() } else { None };
    url.filter(Url::has_host)
}

/// Tells whether no third party can read what is sent there.
fn is_private(url: &Url) -> bool {
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_https_or_on_loopback_and_stays_as_it_was_written() {
        for good in [
            "https://login.acme.test",
            "https://acme.eu.auth0.com/",
            "https://login.microsoftonline.com/9f7a4b52-0000-4000-8000-000000000001/v2.0",
            "http://localhost:8080",
            "http://127.0.0.1:9000/realms/acme",
            "http://[::1]:9000",
        ] {
            assert_eq!(Issuer::parse(good).unwrap().as_str(), good);
        }
        for (bad, why) in [
            ("", IssuerFault::NotAUrl),
            ("login.acme.test", IssuerFault::NotAUrl),
            (" https://login.acme.test", IssuerFault::NotAUrl),
            ("https://login.acme.test\n", IssuerFault::NotAUrl),
            ("https:\\\\login.acme.test", IssuerFault::NotAUrl),
            ("https://é.test", IssuerFault::NotAUrl),
            ("http://login.acme.test", IssuerFault::NotHttps),
            ("http://localhost.acme.test", IssuerFault::NotHttps),
            ("http://10.0.0.1", IssuerFault::NotHttps),
            ("urn:acme", IssuerFault::NotAUrl),
            ("ftp://login.acme.test", IssuerFault::NotHttps),
            ("https://a@login.acme.test", IssuerFault::User),
            ("https://login.acme.test?", IssuerFault::Query),
            ("https://login.acme.test/?tenant=a", IssuerFault::Query),
            ("https://login.acme.test#a", IssuerFault::Query),
        ] {
            assert_eq!(Issuer::parse(bad), Err(why), "{bad}");
        }
        let long = format!("https://{}.test", "a".repeat(LONGEST_URL));
        assert_eq!(Issuer::parse(&long), Err(IssuerFault::NotAUrl));
    }

    #[test]
    fn metadata_lies_below_the_issuer_without_its_last_slash() {
        let of = |issuer: &str| Issuer::parse(issuer).unwrap().metadata_url();
        assert_eq!(of("https://a.test"), "https://a.test/.well-known/openid-configuration");
        assert_eq!(of("https://a.test/"), "https://a.test/.well-known/openid-configuration");
        assert_eq!(of("https://a.test/r/b"), "https://a.test/r/b/.well-known/openid-configuration");
    }

    #[test]
    fn an_endpoint_is_plain_only_where_its_issuer_is() {
        let near = Issuer::parse("http://localhost:9000").unwrap();
        let far = Issuer::parse("https://login.acme.test").unwrap();
        assert!(near.endpoint("http://127.0.0.1:9000/token").is_some());
        assert!(near.endpoint("http://login.acme.test/token").is_none());
        assert!(far.endpoint("https://tokens.acme.test/a?b=c").is_some());
        for bad in [
            "http://127.0.0.1/token",
            "http://login.acme.test/token",
            "https://u:p@login.acme.test/token",
            "https://login.acme.test/token#a",
            "/token",
            "javascript:alert(1)",
            "file:///etc/passwd",
        ] {
            assert!(far.endpoint(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn an_issuer_that_was_stored_is_judged_again() {
        let read = |text: &str| serde_json::from_str::<Issuer>(text);
        assert_eq!(read("\"https://a.test\"").unwrap().as_str(), "https://a.test");
        assert!(read("\"http://a.test\"").is_err());
    }
}
