//! The closed vocabularies of client metadata, each word by its standard name.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A word that has exactly one written form.
pub(super) trait Word: Copy + 'static {
    const ALL: &'static [Self];

    fn written(self) -> &'static str;
}

/// Declares an enum whose variants are stored, shown and found by their standard names.
macro_rules! vocabulary {
    ($($(#[$about:meta])* $Name:ident { $($(#[$why:meta])* $Variant:ident = $name:literal,)+ })+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $Name {
            $($(#[$why])* #[serde(rename = $name)] $Variant,)+
        }

        impl $Name {
            pub const ALL: &'static [Self] = &[$(Self::$Variant,)+];

            /// Returns the standard name.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name,)+
                }
            }

            /// Returns the word of that standard name; names are case-sensitive.
            pub fn by_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|word| word.name() == name)
            }
        }

        impl Word for $Name {
            const ALL: &'static [Self] = Self::ALL;

            fn written(self) -> &'static str {
                self.name()
            }
        }

        impl fmt::Display for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
    )+};
}

vocabulary! {
    /// How a client proves who it is (RFC 7591 §2, OIDC Core §9, RFC 8705 §2).
    AuthMethod {
        /// A public client: it proves nothing.
        None = "none",
        ClientSecretBasic = "client_secret_basic",
        ClientSecretPost = "client_secret_post",
        PrivateKeyJwt = "private_key_jwt",
        TlsClientAuth = "tls_client_auth",
        SelfSignedTlsClientAuth = "self_signed_tls_client_auth",
    }

    /// What a client may bring to the token endpoint.
    GrantType {
        AuthorizationCode = "authorization_code",
        RefreshToken = "refresh_token",
        ClientCredentials = "client_credentials",
        /// RFC 8628 §3.4.
        DeviceCode = "urn:ietf:params:oauth:grant-type:device_code",
        /// CIBA Core §10.1.
        Ciba = "urn:openid:params:grant-type:ciba",
        /// RFC 8693 §2.1.
        TokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange",
    }

    /// What an authorization request may ask for: OAuth 2.1 has only the code left.
    ResponseType {
        Code = "code",
    }

    /// Where a client runs (OIDC Registration §2).
    ApplicationType {
        Web = "web",
        Native = "native",
    }

    /// Whether clients can recognise a person by the `sub` they are given (OIDC Core §8).
    SubjectType {
        Public = "public",
        Pairwise = "pairwise",
    }

    /// How a client learns that a person has answered (CIBA Core §5).
    DeliveryMode {
        Poll = "poll",
        Ping = "ping",
    }
}

impl AuthMethod {
    /// Whether the client is known by the certificate of its connection (RFC 8705 §2).
    pub const fn is_by_certificate(self) -> bool {
        matches!(self, Self::TlsClientAuth | Self::SelfSignedTlsClientAuth)
    }
}

impl GrantType {
    /// Whether only a client that authenticates may use it: client credentials (RFC 6749 §4.4),
    /// CIBA (CIBA Core §7.1), and exchange, since what it yields is another's authority.
    pub const fn needs_authentication(self) -> bool {
        matches!(self, Self::ClientCredentials | Self::Ciba | Self::TokenExchange)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_stored_shown_and_found_by_its_standard_name() {
        for grant in GrantType::ALL {
            assert_eq!(serde_json::to_value(grant).unwrap(), grant.name());
            assert_eq!(grant.to_string(), grant.name());
            assert_eq!(GrantType::by_name(grant.name()), Some(*grant));
        }
        assert_eq!(AuthMethod::by_name("NONE"), None);
        assert_eq!(AuthMethod::by_name("client_secret_jwt"), None);
    }
}
