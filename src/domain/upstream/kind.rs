//! Which kind of provider it is, and which of them differ from the standard.

use super::{GITHUB_ISSUER, Issuer};
use serde::{Deserialize, Serialize};
use url::Url;

/// The protocol that a provider speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// OpenID Connect.
    #[default]
    Oidc,
    /// GitHub's OAuth 2.0, which has no ID token.
    GitHub,
}

/// Providers of OpenID Connect of which something is known beyond the standard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    Google,
    /// One of Microsoft's clouds.
    Microsoft,
    Apple,
    Other,
}

/// The hosts under which Microsoft issues tokens of the second version, one for each cloud.
const MICROSOFT: [&str; 3] =
    ["login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn"];

/// The audience of the secrets that Apple's clients make.
pub(super) const APPLE_ISSUER: &str = "https://appleid.apple.com";

pub(super) const GOOGLE_ISSUER: &str = "https://accounts.google.com";

impl Provider {
    pub fn of(issuer: &Issuer) -> Self {
        let url = Url::parse(issuer.as_str()).ok();
        match issuer.as_str().trim_end_matches('/') {
            GOOGLE_ISSUER => Self::Google,
            APPLE_ISSUER => Self::Apple,
            _ => match url.as_ref().and_then(Url::host_str) {
                Some("accounts.google.com") => Self::Google,
                Some(host) if MICROSOFT.contains(&host) => Self::Microsoft,
                _ => Self::Other,
            },
        }
    }

    /// What is asked for where the connection says nothing. Apple knows no `profile`.
    pub const fn usual_scopes(self) -> &'static [&'static str] {
        match self {
            Self::Apple => &["openid", "email"],
            Self::Google | Self::Microsoft | Self::Other => &["openid", "email", "profile"],
        }
    }

    /// How the answer comes back, where it must be asked for: Apple insists wherever a scope is named.
    pub const fn response_mode(self) -> Option<&'static str> {
        match self {
            Self::Apple => Some("form_post"),
            Self::Google | Self::Microsoft | Self::Other => None,
        }
    }
}

impl Kind {
    pub const ALL: [Self; 2] = [Self::Oidc, Self::GitHub];

    /// Returns its name in the provisioning file and in `/api`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Oidc => "oidc",
            Self::GitHub => "github",
        }
    }

    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// What GitHub is asked for: who it is, and the addresses, which are private to it.
    pub const GITHUB_SCOPES: &'static [&'static str] = &["read:user", "user:email"];

    /// The issuer of a kind that has one of its own.
    pub const fn usual_issuer(self) -> Option<&'static str> {
        match self {
            Self::Oidc => None,
            Self::GitHub => Some(GITHUB_ISSUER),
        }
    }

    pub fn usual_scopes(self, issuer: &Issuer) -> &'static [&'static str] {
        match self {
            Self::Oidc => Provider::of(issuer).usual_scopes(),
            Self::GitHub => Self::GITHUB_SCOPES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_known_by_its_issuer() {
        let of = |text: &str| Provider::of(&Issuer::parse(text).unwrap());
        assert_eq!(of("https://accounts.google.com"), Provider::Google);
        assert_eq!(of("https://accounts.google.com/"), Provider::Google);
        assert_eq!(of("https://ACCOUNTS.google.com/x"), Provider::Google);
        assert_eq!(of("https://login.microsoftonline.com/common/v2.0"), Provider::Microsoft);
        assert_eq!(of("https://login.microsoftonline.us/a/v2.0"), Provider::Microsoft);
        assert_eq!(of("https://appleid.apple.com"), Provider::Apple);
        for other in ["https://login.acme.test", "https://accounts.google.com.acme.test"] {
            assert_eq!(of(other), Provider::Other);
        }
    }

    #[test]
    fn each_is_asked_for_what_it_knows() {
        let apple = Issuer::parse(APPLE_ISSUER).unwrap();
        assert_eq!(Kind::Oidc.usual_scopes(&apple), ["openid", "email"]);
        assert_eq!(Provider::Apple.response_mode(), Some("form_post"));
        let github = Issuer::parse(Kind::GitHub.usual_issuer().unwrap()).unwrap();
        assert_eq!(Kind::GitHub.usual_scopes(&github), ["read:user", "user:email"]);
        assert_eq!(Provider::Other.usual_scopes(), ["openid", "email", "profile"]);
        assert_eq!(Provider::Other.response_mode(), None);
        assert_eq!(serde_json::to_string(&Kind::GitHub).unwrap(), "\"github\"");
    }
}
