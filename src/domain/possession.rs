//! Proof of possession: the key that a token is bound to, and the keys that a caller has proved to hold (RFC 7800).
//!
//! A bound token is worthless without its key. There are two kinds of proof: a signature made for one request (`DPoP`,
//! RFC 9449) and the certificate of a TLS connection (RFC 8705). Both are read in one place, before any grant, and end up here.
//!
//! | what | is bound to | a request by another key is refused |
//! |---|---|---|
//! | an access token | the key that was proved when it was issued | wherever it is presented |
//! | a code | the key that the authorization request named | when it is redeemed |
//! | a refresh token of a public client | the key that was proved when the first was issued | when it is used |
//! | a refresh token of a confidential client | its client (RFC 9449 §5, RFC 8705 §4) | by the client's authentication |

use super::{Fingerprint, dpop::ProofUse};
use serde::{Deserialize, Serialize};

/// The key that a token is bound to, as the claim `cnf` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confirmation {
    /// The thumbprint of a public key (RFC 9449 §6.1).
    #[serde(rename = "jkt")]
    Key(Fingerprint),
    /// The hash of a certificate (RFC 8705 §3.1).
    #[serde(rename = "x5t#S256")]
    Certificate(Fingerprint),
}

/// The keys that a caller has proved to hold, in this very request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldKeys {
    /// The thumbprint of the key that signed the proof.
    pub key: Option<Fingerprint>,
    /// The hash of the certificate that the connection was made with.
    pub certificate: Option<Fingerprint>,
}

impl HeldKeys {
    /// The keys of a caller that holds what a token is bound to.
    pub fn of(bound: Confirmation) -> Self {
        match bound {
            Confirmation::Key(key) => Self { key: Some(key), certificate: None },
            Confirmation::Certificate(certificate) => {
                Self { key: None, certificate: Some(certificate) }
            }
        }
    }

    /// Tells whether the caller holds the key that something is bound to.
    pub fn holds(&self, bound: &Confirmation) -> bool {
        match bound {
            Confirmation::Key(key) => self.key == Some(*key),
            Confirmation::Certificate(certificate) => self.certificate == Some(*certificate),
        }
    }
}

/// What a caller proved when it asked for a token, and what the token is bound to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Possession {
    pub held: HeldKeys,
    /// The key that the access token is bound to.
    pub bound: Option<Confirmation>,
    /// Refresh tokens are bound to that key as well: the client is public, and proves nothing else.
    pub binds_refresh: bool,
    /// The proof is used up by the commit that issues the token.
    pub proof: Option<ProofUse>,
}

impl Possession {
    /// The key that refresh tokens are bound to, if they are.
    pub fn of_refresh(&self) -> Option<Confirmation> {
        self.bound.filter(|_| self.binds_refresh)
    }
}

/// What a client demands of the tokens that it is issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BindingRules {
    /// Every token is bound by a signed proof (`dpop_bound_access_tokens`).
    pub key: bool,
    /// Every token is bound to a certificate (`tls_client_certificate_bound_access_tokens`).
    pub certificate: bool,
    /// Every token is bound, by whichever of both (FAPI 2.0).
    pub any: bool,
}

/// Why no token is issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unbound {
    NoProof,
    NoCertificate,
    Neither,
}

impl Unbound {
    pub const fn description(self) -> &'static str {
        match self {
            Self::NoProof => {
                "the tokens of this client are bound to a key: the request needs a DPoP proof"
            }
            Self::NoCertificate => {
                "the tokens of this client are bound to a certificate, and the connection has none"
            }
            Self::Neither => {
                "the tokens of this client are bound: the request needs a DPoP proof or a certificate"
            }
        }
    }
}

impl BindingRules {
    /// Says what a token is bound to that is issued to a caller with these keys.
    ///
    /// A proof binds whether or not the client demands it (RFC 9449 §5); a certificate binds where the client says so, for
    /// it may be there to authenticate alone.
    pub fn bind(self, held: &HeldKeys) -> Result<Option<Confirmation>, Unbound> {
        let key = held.key.map(Confirmation::Key);
        let certificate = held.certificate.map(Confirmation::Certificate);
        match (key, certificate) {
            (None, _) if self.key => Err(Unbound::NoProof),
            (Some(key), _) if self.key || !self.certificate => Ok(Some(key)),
            (_, Some(certificate)) if self.certificate => Ok(Some(certificate)),
            (_, None) if self.certificate => Err(Unbound::NoCertificate),
            (None, Some(certificate)) if self.any => Ok(Some(certificate)),
            (None, None) if self.any => Err(Unbound::Neither),
            (key, _) => Ok(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(text: &str) -> Fingerprint {
        Fingerprint::of(text.as_bytes())
    }

    fn held(key: Option<&str>, certificate: Option<&str>) -> HeldKeys {
        HeldKeys { key: key.map(print), certificate: certificate.map(print) }
    }

    #[test]
    fn a_confirmation_is_written_as_the_claim() {
        let key = serde_json::to_value(Confirmation::Key(print("a"))).unwrap();
        assert_eq!(key, serde_json::json!({ "jkt": String::from(print("a")) }));
        let certificate = serde_json::to_value(Confirmation::Certificate(print("a"))).unwrap();
        assert_eq!(certificate, serde_json::json!({ "x5t#S256": String::from(print("a")) }));
        assert!(serde_json::from_str::<Confirmation>(r#"{"kid":"a"}"#).is_err());
    }

    #[test]
    fn a_key_is_no_certificate_of_the_same_hash() {
        assert!(held(Some("a"), None).holds(&Confirmation::Key(print("a"))));
        assert!(held(None, Some("a")).holds(&Confirmation::Certificate(print("a"))));
        for (held, bound) in [
            (held(None, None), Confirmation::Key(print("a"))),
            (held(None, Some("a")), Confirmation::Key(print("a"))),
            (held(Some("a"), None), Confirmation::Certificate(print("a"))),
            (held(Some("b"), Some("b")), Confirmation::Key(print("a"))),
        ] {
            assert!(!held.holds(&bound), "{held:?} {bound:?}");
        }
    }

    #[test]
    fn what_a_token_is_bound_to_follows_from_what_is_proved_and_demanded() {
        let (key, certificate) =
            (Confirmation::Key(print("k")), Confirmation::Certificate(print("c")));
        let rules = |key, certificate, any| BindingRules { key, certificate, any };
        let (none, by_key) = (held(None, None), held(Some("k"), None));
        let (by_certificate, by_both) = (held(None, Some("c")), held(Some("k"), Some("c")));
        let free = rules(false, false, false);
        assert_eq!(free.bind(&none), Ok(None));
        assert_eq!(free.bind(&by_key), Ok(Some(key)));
        assert_eq!(free.bind(&by_certificate), Ok(None), "it may be there to authenticate alone");
        assert_eq!(free.bind(&by_both), Ok(Some(key)));
        let demands_key = rules(true, false, true);
        assert_eq!(demands_key.bind(&by_both), Ok(Some(key)));
        for held in [none, by_certificate] {
            assert_eq!(demands_key.bind(&held), Err(Unbound::NoProof));
        }
        let demands_certificate = rules(false, true, true);
        for held in [by_certificate, by_both] {
            assert_eq!(demands_certificate.bind(&held), Ok(Some(certificate)));
        }
        for held in [none, by_key] {
            assert_eq!(demands_certificate.bind(&held), Err(Unbound::NoCertificate));
        }
        let demands_any = rules(false, false, true);
        assert_eq!(demands_any.bind(&none), Err(Unbound::Neither));
        assert_eq!(demands_any.bind(&by_key), Ok(Some(key)));
        assert_eq!(demands_any.bind(&by_certificate), Ok(Some(certificate)));
        let demands_both = rules(true, true, false);
        assert_eq!(demands_both.bind(&by_key), Ok(Some(key)));
    }
}
