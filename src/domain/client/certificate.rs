//! Whom a certificate must name for a client to be believed by it (`tls_client_auth`, RFC 8705 §2.1.2).

use super::ClientMetadata;
use crate::domain::distinguished_name::DistinguishedName;
// Addresses as plain values; `core` has no sockets.
use core::net::IpAddr;

/// The names in a certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CertificateNames {
    pub subject: DistinguishedName,
    pub dns: Vec<String>,
    pub uris: Vec<String>,
    pub addresses: Vec<IpAddr>,
    pub emails: Vec<String>,
}

/// The one name that a client has registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateSubject<'a> {
    Name(DistinguishedName),
    Dns(&'a str),
    Uri(&'a str),
    Address(IpAddr),
    Email(&'a str),
}

impl ClientMetadata {
    /// Returns the name that the certificate must have; none where it is missing, or is none by now.
    pub fn certificate_subject(&self) -> Option<CertificateSubject<'_>> {
        use CertificateSubject::{Address, Dns, Email, Name, Uri};
        let name = self.tls_client_auth_subject_dn.as_deref();
        let address = self.tls_client_auth_san_ip.as_deref();
        let subject = name.and_then(|text| DistinguishedName::parse(text).ok()).map(Name);
        subject
            .or_else(|| self.tls_client_auth_san_dns.as_deref().map(Dns))
            .or_else(|| self.tls_client_auth_san_uri.as_deref().map(Uri))
            .or_else(|| address.and_then(|text| text.parse().ok()).map(Address))
            .or_else(|| self.tls_client_auth_san_email.as_deref().map(Email))
    }
}

impl CertificateSubject<'_> {
    /// Tells whether a certificate with these names is the client's. A wildcard names no client, and covers none.
    pub fn is_in(&self, names: &CertificateNames) -> bool {
        match self {
            Self::Name(subject) => names.subject == *subject,
            // Host names have no case (RFC 4343). A wildcard that was registered would name every holder of one.
            Self::Dns(host) => {
                let is_host = |one: &String| !one.contains('*') && one.eq_ignore_ascii_case(host);
                names.dns.iter().any(is_host)
            }
            Self::Uri(uri) => names.uris.iter().any(|one| one == uri),
            Self::Address(address) => names.addresses.contains(address),
            Self::Email(email) => names.emails.iter().any(|one| is_same_mailbox(one, email)),
        }
    }
}

/// The local part has its case, the host has none (RFC 5280 §7.5).
fn is_same_mailbox(one: &str, other: &str) -> bool {
    match (one.rsplit_once('@'), other.rsplit_once('@')) {
        (Some((one, host)), Some((other, at))) => one == other && host.eq_ignore_ascii_case(at),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::distinguished_name::Attribute;

    fn names() -> CertificateNames {
        let attribute = |kind: &str, value: &str| vec![Attribute::of(kind, 0x0c, value.as_bytes())];
        let parts = [attribute("2.5.4.10", "Acme"), attribute("2.5.4.3", "agent")];
        CertificateNames {
            subject: DistinguishedName::of_certificate(parts.into_iter()),
            dns: vec!["Agent.example.com".to_owned(), "*.wild.example.com".to_owned()],
            uris: vec!["spiffe://example.com/agent".to_owned()],
            addresses: vec!["192.0.2.7".parse().unwrap()],
            emails: vec!["agent@Example.com".to_owned()],
        }
    }

    fn registered(set: impl FnOnce(&mut ClientMetadata, Option<String>), value: &str) -> bool {
        let mut metadata = ClientMetadata::default();
        set(&mut metadata, Some(value.to_owned()));
        metadata.certificate_subject().is_some_and(|subject| subject.is_in(&names()))
    }

    #[test]
    fn each_kind_of_name_is_found_where_it_belongs_and_nowhere_else() {
        for (value, fits) in
            [("CN=agent,O=Acme", true), ("O=Acme,CN=agent", false), ("CN=agent", false)]
        {
            assert_eq!(registered(|m, v| m.tls_client_auth_subject_dn = v, value), fits, "{value}");
        }
        for (value, fits) in [
            ("agent.example.com", true),
            ("AGENT.example.com", true),
            ("example.com", false),
            ("a.wild.example.com", false),
            ("*.wild.example.com", false),
            ("192.0.2.7", false),
        ] {
            assert_eq!(registered(|m, v| m.tls_client_auth_san_dns = v, value), fits, "{value}");
        }
        for (value, fits) in
            [("spiffe://example.com/agent", true), ("spiffe://example.com/agent/", false)]
        {
            assert_eq!(registered(|m, v| m.tls_client_auth_san_uri = v, value), fits, "{value}");
        }
        for (value, fits) in
            [("192.0.2.7", true), ("::ffff:192.0.2.7", false), ("192.0.2.70", false)]
        {
            assert_eq!(registered(|m, v| m.tls_client_auth_san_ip = v, value), fits, "{value}");
        }
        for (value, fits) in [
            ("agent@example.com", true),
            ("Agent@example.com", false),
            ("agent@example.org", false),
        ] {
            assert_eq!(registered(|m, v| m.tls_client_auth_san_email = v, value), fits, "{value}");
        }
    }

    #[test]
    fn a_client_that_registered_no_name_is_in_no_certificate() {
        assert_eq!(ClientMetadata::default().certificate_subject(), None);
        let metadata = ClientMetadata {
            tls_client_auth_subject_dn: Some("nonsense".to_owned()),
            ..ClientMetadata::default()
        };
        assert_eq!(metadata.certificate_subject(), None);
    }
}
