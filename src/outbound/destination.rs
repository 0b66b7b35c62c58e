//! The destination of a URL that may be called.

use super::OutboundError;
use hyper::{Uri, header::HeaderValue};
use rustls::pki_types::{DnsName, ServerName};
use std::net::IpAddr;
use url::{Host, Position, Url};

/// What a connection needs to know of a URL.
#[derive(Debug)]
pub(super) struct Destination {
    pub(super) host: Host<String>,
    pub(super) port: u16,
    pub(super) secure: bool,
    /// The `Host` header.
    pub(super) authority: HeaderValue,
    /// Path and query, in origin form.
    pub(super) target: Uri,
}

impl Destination {
    /// Looks at the URL alone; what its name resolves to is judged later.
    pub(super) fn of(url: &Url, plain_http: bool) -> Result<Self, OutboundError> {
        let secure = match url.scheme() {
            "https" => true,
            "http" if plain_http => false,
            _ => return Err(OutboundError::Scheme),
        };
        // Such a URL deceives its reader, or would send a password by mistake.
        if !url.username().is_empty() || url.password().is_some() {
            return Err(OutboundError::Credentials);
        }
        let authority = &url[Position::BeforeHost..Position::AfterPort];
        let target = &url[Position::BeforePath..Position::AfterQuery];
        Ok(Self {
            host: url.host().ok_or(OutboundError::BadUrl)?.to_owned(),
            port: url.port_or_known_default().ok_or(OutboundError::BadUrl)?,
            secure,
            authority: HeaderValue::from_str(authority).map_err(|_| OutboundError::BadUrl)?,
            target: target.parse().map_err(|_| OutboundError::BadUrl)?,
        })
    }

    /// Returns the name that the peer's certificate must bear.
    pub(super) fn certificate_name(&self) -> Result<ServerName<'static>, OutboundError> {
        match &self.host {
            Host::Ipv4(address) => Ok(ServerName::from(IpAddr::from(*address))),
            Host::Ipv6(address) => Ok(ServerName::from(IpAddr::from(*address))),
            Host::Domain(name) => {
                // A trailing dot is for the resolver; names in certificates have none.
                let bare = name.strip_suffix('.').unwrap_or(name).to_owned();
                let name = DnsName::try_from(bare).map_err(|_| OutboundError::BadUrl)?;
                Ok(ServerName::DnsName(name))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn https(url: &str) -> Result<Destination, OutboundError> {
        Destination::of(&Url::parse(url).unwrap(), false)
    }

    #[test]
    fn only_https_is_called_unless_the_caller_accepts_http() {
        for url in ["http://example.com/", "ftp://example.com/", "file:///etc/passwd", "data:,x"] {
            assert!(matches!(https(url), Err(OutboundError::Scheme)), "{url}");
        }
        let plain = Url::parse("http://example.com/").unwrap();
        assert!(!Destination::of(&plain, true).unwrap().secure);
        let file = Url::parse("file://example.com/").unwrap();
        assert!(matches!(Destination::of(&file, true), Err(OutboundError::Scheme)));
    }

    #[test]
    fn a_url_with_credentials_is_refused() {
        for url in ["https://u@example.com/", "https://:p@example.com/", "https://u:p@[::1]/"] {
            assert!(matches!(https(url), Err(OutboundError::Credentials)), "{url}");
        }
    }

    #[test]
    fn the_message_names_host_and_path_but_never_the_fragment() {
        let to = https("https://Example.com:8443/a%20b?c=d&e='|#frag").unwrap();
        assert_eq!(to.authority, "example.com:8443");
        assert_eq!(to.target, "/a%20b?c=d&e=%27|");
        assert_eq!(https("https://example.com:443").unwrap().authority, "example.com");
        assert_eq!(https("https://example.com?q").unwrap().target, "/?q");
    }

    #[test]
    fn a_certificate_is_asked_for_the_name_without_the_dot_of_the_root() {
        let name = |url| https(url).unwrap().certificate_name().unwrap();
        assert_eq!(name("https://example.com./"), ServerName::try_from("example.com").unwrap());
        assert_eq!(name("https://0x7f.1/"), ServerName::try_from("127.0.0.1").unwrap());
        assert_eq!(name("https://[::1]/"), ServerName::try_from("::1").unwrap());
    }
}
