//! In which variants the plans are run.

use std::fmt;

/// How a client authenticates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authentication {
    PrivateKeyJwt,
    Mtls,
}

/// What its tokens are bound by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constraint {
    Dpop,
    Mtls,
}

/// One choice of everything that the plans let a tester choose.
#[derive(Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Variant {
    pub authentication: Authentication,
    pub constraint: Constraint,
    /// Whether `openid` is asked for.
    pub openid: bool,
    /// Whether `authorization_details` are asked for.
    pub rar: bool,
    /// Whether requests are signed.
    pub signed: bool,
    /// Whether responses are signed.
    pub jarm: bool,
}

impl Variant {
    pub fn dpop(self) -> bool {
        self.constraint == Constraint::Dpop
    }

    pub fn private_key_jwt(self) -> bool {
        self.authentication == Authentication::PrivateKeyJwt
    }

    /// Tells whether the client comes with a certificate.
    pub fn certified(self) -> bool {
        !self.dpop() || !self.private_key_jwt()
    }

    /// Tells whether the API that the tokens are for is this server. Details are for the invoices API,
    /// which without `openid` is the only one that takes the token.
    pub fn own_resource(self) -> bool {
        self.openid || !self.rar
    }

    pub fn openid_connect(self) -> bool {
        self.openid
    }

    pub fn dpop_at_own_resource(self) -> bool {
        self.dpop() && self.own_resource()
    }

    /// The profile that its clients are bound to: the one of signed messages demands both kinds.
    pub fn profile(self) -> &'static str {
        if self.signed && self.jarm { "fapi2-message-signing" } else { "fapi2" }
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pick = |which, yes, no| if which { yes } else { no };
        let names = [
            pick(self.private_key_jwt(), "pkjwt", "mtls"),
            pick(self.dpop(), "dpop", "mtls"),
            pick(self.openid, "openid", "oauth"),
            pick(self.rar, "rar", "simple"),
            pick(self.signed, "signed", "unsigned"),
            pick(self.jarm, "jarm", "plain"),
        ];
        f.write_str(&names.join("-"))
    }
}

/// Every combination of authentication, binding, scope and sort of request.
fn combinations(signed: bool, jarm: bool) -> Vec<Variant> {
    let mut all = Vec::new();
    for authentication in [Authentication::PrivateKeyJwt, Authentication::Mtls] {
        for constraint in [Constraint::Dpop, Constraint::Mtls] {
            for (openid, rar) in [(true, false), (true, true), (false, false), (false, true)] {
                all.push(Variant { authentication, constraint, openid, rar, signed, jarm });
            }
        }
    }
    all
}

/// The variants of `fapi2-security-profile-final-test-plan`.
pub fn security_profile() -> Vec<Variant> {
    combinations(false, false)
}

/// The variants of `fapi2-message-signing-final-test-plan` whose clients have its profile.
pub fn message_signing() -> Vec<Variant> {
    combinations(true, true)
}

/// Those, and two of each where one kind of message is signed alone.
pub fn signed_somehow() -> Vec<Variant> {
    let mut all = message_signing();
    for (signed, jarm) in [(true, false), (false, true)] {
        let some = combinations(signed, jarm);
        all.extend([some[0], some[some.len() - 1]]);
    }
    all
}

/// Leaves those for which a plan restricts a module.
pub fn only(variants: Vec<Variant>, which: fn(Variant) -> bool) -> Vec<Variant> {
    variants.into_iter().filter(|variant| which(*variant)).collect()
}
