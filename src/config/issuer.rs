//! The issuer: an origin in the one spelling that clients compare it with.

use super::form;
use url::Url;

/// Returns everything that is wrong with an issuer.
///
/// RFC 8414 §2 and OpenID Connect Discovery §3 ask for https without query and fragment; without a
/// path every well-known document has one place. Comparison is by string (RFC 9207 §2.4), so that
/// only one spelling may exist.
pub(super) fn faults(issuer: &str) -> Vec<String> {
    let parsed = Url::parse(issuer).ok();
    let Some(url) = parsed.filter(|url| url.has_host() && matches!(url.scheme(), "http" | "https"))
    else {
        return vec!["is not a URL like https://id.example.com".to_owned()];
    };
    let mut faults = Vec::new();
    let mut fault = |is_wrong: bool, text: &str| {
        if is_wrong {
            faults.push(text.to_owned());
        }
    };
    fault(!form::is_private(&url), "must be https; http is for loopback alone");
    fault(form::has_userinfo(&url), "must not hold credentials");
    fault(url.path() != "/", "must not have a path");
    fault(url.query().is_some(), "must not have a query");
    fault(url.fragment().is_some(), "must not have a fragment");
    let origin = url.origin().ascii_serialization();
    if !faults.is_empty() || origin == issuer {
        return faults;
    }
    let bare = issuer.strip_suffix('/').unwrap_or(issuer);
    if bare == origin {
        return vec![format!("must not end with a slash: write {origin}")];
    }
    // Upper case, the scheme's own port, a dotted or non-ASCII spelling of the host.
    vec![format!("has another spelling, and issuers are compared as strings: write {origin}")]
}
