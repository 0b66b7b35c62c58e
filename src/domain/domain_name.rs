//! Names of domains, as DNS and the store have them: A-labels in lower case, without a trailing dot.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Where the record of a domain is published.
const CHALLENGE: &str = "_porteiro-challenge.";

/// No name in DNS is longer as text (RFC 1035 §2.3.4).
const LONGEST_NAME: usize = 253;

/// A name that an organization may prove to be its own. What is stored is not judged again: the list of public
/// suffixes changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DomainName(String);

/// Why a text is no domain that an organization can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedDomain {
    #[error("is no domain name")]
    Form,
    #[error("is a wildcard: name the domain itself")]
    Wildcard,
    #[error("is an address")]
    Address,
    #[error("has one label: a domain has two at least")]
    SingleLabel,
    #[error("is too long: {} characters at most", LONGEST_NAME - CHALLENGE.len())]
    TooLong,
    #[error("is a public suffix, under which others have domains of their own")]
    PublicSuffix,
}

impl DomainName {
    /// Reads a domain that an organization wants to have.
    pub fn parse(text: &str) -> Result<Self, MalformedDomain> {
        if text.starts_with("*.") {
            return Err(MalformedDomain::Wildcard);
        }
        let name = spelled(text)?;
        let Some((_, last)) = name.rsplit_once('.') else {
            return Err(MalformedDomain::SingleLabel);
        };
        // No top-level domain begins with a digit, and what does is read as an address by some.
        if last.starts_with(|first: char| first.is_ascii_digit()) {
            return Err(MalformedDomain::Address);
        }
        // Unknown top-level domains count as suffixes of one label.
        if psl::domain_str(&name).is_none_or(str::is_empty) {
            return Err(MalformedDomain::PublicSuffix);
        }
        Ok(Self(name))
    }

    /// Returns the domain that an e-mail address is at, if it can be the name of one.
    pub fn of_address(address: &str) -> Option<Self> {
        let (mailbox, host) = address.rsplit_once('@')?;
        let name = spelled(host).ok().filter(|_| !mailbox.is_empty())?;
        Some(Self(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Where its record is published.
    pub fn challenge(&self) -> String {
        format!("{CHALLENGE}{}", self.0)
    }
}

/// Returns the one spelling of a name.
fn spelled(text: &str) -> Result<String, MalformedDomain> {
    // A text that is longer than any name in any script is not worth a look.
    if text.len() > 4 * LONGEST_NAME {
        return Err(MalformedDomain::TooLong);
    }
    if text.contains([':', '[', ']', '/']) {
        return Err(MalformedDomain::Address);
    }
    let relative = text.strip_suffix('.').unwrap_or(text);
    let name = idna::domain_to_ascii_strict(relative).map_err(|_| MalformedDomain::Form)?;
    if name.len() > LONGEST_NAME - CHALLENGE.len() {
        return Err(MalformedDomain::TooLong);
    }
    Ok(name)
}

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_has_one_spelling() {
        for (written, name) in [
            ("acme.test", "acme.test"),
            ("ACME.Test", "acme.test"),
            ("acme.test.", "acme.test"),
            ("mail.acme.co.uk", "mail.acme.co.uk"),
            ("foo.github.io", "foo.github.io"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("BÜCHER.example.", "xn--bcher-kva.example"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
            ("пример.рф", "xn--e1afmkfd.xn--p1ai"),
            ("acme。test", "acme.test"),
            ("a-b.c-d.test", "a-b.c-d.test"),
        ] {
            let parsed = DomainName::parse(written);
            assert_eq!(parsed.as_ref().map(DomainName::as_str), Ok(name), "{written}");
            assert_eq!(DomainName::parse(name), parsed, "{written}");
        }
    }

    #[test]
    fn what_no_organization_can_prove_is_refused_with_its_reason() {
        use MalformedDomain::{Address, Form, PublicSuffix, SingleLabel, TooLong, Wildcard};
        let long = format!("{}.test", vec!["a".repeat(60); 4].join("."));
        let longest_label = format!("{}.test", "a".repeat(64));
        for (text, why) in [
            ("", Form),
            (".", Form),
            ("acme..test", Form),
            ("acme.test..", Form),
            (".acme.test", Form),
            ("acme test.test", Form),
            (" acme.test", Form),
            ("acme.test\n", Form),
            ("acme\0.test", Form),
            ("_dmarc.acme.test", Form),
            ("-acme.test", Form),
            ("acme-.test", Form),
            ("ab--c.test", Form),
            ("xn--a.test", Form),
            ("xn--.test", Form),
            ("a\u{200d}b.test", Form),
            ("א1b.test", Form),
            ("ana@acme.test", Form),
            ("acme.*", Form),
            (&longest_label, Form),
            ("*.acme.test", Wildcard),
            ("acme", SingleLabel),
            ("com", SingleLabel),
            ("localhost", SingleLabel),
            ("test.", SingleLabel),
            ("127.0.0.1", Address),
            ("１２７.0.0.1", Address),
            ("10.1", Address),
            ("0x7f.0x1", Address),
            ("[::1]", Address),
            ("::1", Address),
            ("https://acme.test", Address),
            ("acme.test:53", Address),
            ("acme.test/x", Address),
            (&long, TooLong),
            (&"a".repeat(5_000), TooLong),
            ("co.uk", PublicSuffix),
            ("CO.UK.", PublicSuffix),
            ("github.io", PublicSuffix),
            ("s3.amazonaws.com", PublicSuffix),
            ("foo.ck", PublicSuffix),
        ] {
            assert_eq!(DomainName::parse(text), Err(why), "{text:?}");
        }
        let fits = format!("{}.{}.test", vec!["a".repeat(60); 3].join("."), "b".repeat(45));
        assert_eq!((fits.len(), DomainName::parse(&fits).is_ok()), (233, true));
        assert_eq!(DomainName::parse(&format!("b{fits}")), Err(TooLong));
        assert_eq!(DomainName::parse(&fits).unwrap().challenge().len(), 253);
    }

    #[test]
    fn an_address_is_at_its_domain_and_at_no_other() {
        let of = |address: &str| DomainName::of_address(address).map(|name| name.0);
        assert_eq!(of("ana@acme.test").as_deref(), Some("acme.test"));
        assert_eq!(of("Ana@ACME.test").as_deref(), Some("acme.test"));
        assert_eq!(of("ana@mail.acme.test").as_deref(), Some("mail.acme.test"));
        assert_eq!(of("ána@bücher.example").as_deref(), Some("xn--bcher-kva.example"));
        assert_eq!(of("\"a@acme.test\"@evil.test").as_deref(), Some("evil.test"));
        for bad in ["", "@", "@acme.test", "acme.test", "ana@", "ana@a b", "ana@acme.test\0"] {
            assert_eq!(of(bad), None, "{bad:?}");
        }
        let text = serde_json::to_string(&DomainName::parse("acme.test").unwrap()).unwrap();
        assert_eq!(text, "\"acme.test\"");
        let stored: DomainName = serde_json::from_str("\"github.io\"").unwrap();
        assert_eq!(stored.as_str(), "github.io", "what was taken once can be read");
    }
}
