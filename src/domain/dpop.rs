//! A `DPoP` proof: what it must say of the request that it was made for (RFC 9449 §4.3).
//!
//! The signature is verified elsewhere, by the key that the proof brings. That a proof is used once is kept as for the
//! assertions of clients ([`super::client_assertion`]), from its use until it could not be used again anyway.

use super::{
    Birth, Fingerprint, Timestamp,
    client_assertion::{AHEAD, BEHIND, ClientAssertion, LONGEST_JTI},
    signing_keys::SigningAlgorithm,
};
use std::time::Duration;
use url::Url;

/// What its header says that it is.
pub const TYPE: &str = "dpop+jwt";

/// The algorithms that a proof may be signed by.
pub const ALGORITHMS: [SigningAlgorithm; 3] =
    [SigningAlgorithm::Es256, SigningAlgorithm::EdDsa, SigningAlgorithm::Ps256];

/// How old a proof may be: the clocks of people's machines are not exact.
pub const OLDEST: Duration = Duration::from_mins(5);

/// Bytes of a URL that is looked at.
const LONGEST_URL: usize = 4_096;

/// What a proof says; times in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    pub jti: String,
    pub method: String,
    pub url: String,
    pub issued: i64,
    pub not_before: Option<i64>,
    pub expires: Option<i64>,
    /// The hash of the access token that it comes with.
    pub token: Option<String>,
}

/// The request that a proof must have been made for.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    pub method: &'a str,
    /// The origins that this server is called at.
    pub origins: &'a [String],
    pub path: &'a str,
    /// The access token that comes with it, where one does.
    pub token: Option<&'a str>,
    /// A nonce of ours is in it: its time is known, whatever the clock of its maker says (RFC 9449 §11.1).
    pub is_timed: bool,
}

/// The one use of a proof, which is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofUse {
    pub id: String,
    /// When it could not be used again anyway.
    pub expires_at: Timestamp,
}

impl ProofUse {
    /// Describes it in the commit that it leads to: a row can be born once, on any node.
    pub fn birth(&self) -> Birth {
        Birth::of(&*self.id, &ClientAssertion::Used { expires_at: self.expires_at })
    }
}

/// Why a proof is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("its htm is another method")]
    Method,
    #[error("its htu is another URL")]
    Url,
    #[error("it is too old")]
    TooOld,
    #[error("it is not good yet")]
    NotYet,
    #[error("its ath is not the hash of the access token")]
    Token,
    #[error("its jti is empty or too long")]
    Jti,
}

impl Claims {
    /// Checks everything but signature and use, and returns until when its use is remembered.
    pub fn check(&self, rules: &Rules<'_>, now: Timestamp) -> Result<Timestamp, Fault> {
        if self.method != rules.method {
            return Err(Fault::Method);
        }
        let called = rules.origins.iter().any(|origin| is_called(&self.url, origin, rules.path));
        if !called {
            return Err(Fault::Url);
        }
        let issued = Timestamp::from_seconds(self.issued);
        let is_ahead = |time: Timestamp| time > now + AHEAD;
        let not_before = self.not_before.map(Timestamp::from_seconds);
        if !rules.is_timed && (is_ahead(issued) || not_before.is_some_and(is_ahead)) {
            return Err(Fault::NotYet);
        }
        let expires = self.expires.map(Timestamp::from_seconds);
        let is_over = issued + OLDEST <= now || expires.is_some_and(|at| at + BEHIND <= now);
        if !rules.is_timed && is_over {
            return Err(Fault::TooOld);
        }
        if let Some(token) = rules.token {
            let hash = String::from(Fingerprint::of(token.as_bytes()));
            if self.token.as_deref() != Some(&*hash) {
                return Err(Fault::Token);
            }
        }
        if self.jti.is_empty() || self.jti.len() > LONGEST_JTI {
            return Err(Fault::Jti);
        }
        // A nonce is over sooner than that.
        Ok(if rules.is_timed { now } else { issued } + OLDEST)
    }

    /// Returns the id under which its use is kept.
    pub fn id(&self, key: Fingerprint) -> String {
        // No client id contains a NUL: a proof is never taken for an assertion.
        Fingerprint::of(format!("\0{}\0{}", String::from(key), self.jti).as_bytes()).into()
    }
}

/// Tells whether a URL names this place, without its query and fragment (RFC 9449 §4.3, RFC 3986 §6.2.2).
fn is_called(text: &str, origin: &str, path: &str) -> bool {
    // Almost every client writes it in the plain way.
    let is_plain = text.strip_prefix(origin) == Some(path);
    is_plain
        || text.len() <= LONGEST_URL
            && normal(text).is_some_and(|said| normal(&format!("{origin}{path}")) == Some(said))
}

/// Writes origin and path of a URL in one way: names in lower case, no default port, no escape that is not needed.
fn normal(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    if !url.username().is_empty() || url.password().is_some() {
        return None;
    }
    let mut normal = url.origin().ascii_serialization();
    let mut rest = url.path();
    while let Some((plain, escaped)) = rest.split_once('%') {
        normal.push_str(plain);
        let (digits, after) = escaped.split_at_checked(2)?;
        let byte = u8::from_str_radix(digits, 16).ok()?;
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            normal.push(char::from(byte));
        } else {
            normal.push('%');
            normal.push_str(&digits.to_ascii_uppercase());
        }
        rest = after;
    }
    normal.push_str(rest);
    Some(normal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::LazyLock;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    static ORIGINS: LazyLock<[String; 2]> =
        LazyLock::new(|| ["https://id.example", "https://mtls.id.example:9443"].map(str::to_owned));

    fn rules() -> Rules<'static> {
        Rules {
            method: "POST",
            origins: &*ORIGINS,
            path: "/connect/token",
            token: None,
            is_timed: false,
        }
    }

    fn claims() -> Claims {
        Claims {
            jti: "a".to_owned(),
            method: "POST".to_owned(),
            url: "https://id.example/connect/token".to_owned(),
            issued: NOW.seconds(),
            not_before: None,
            expires: None,
            token: None,
        }
    }

    fn judge(claims: &Claims) -> Result<(), Fault> {
        claims.check(&rules(), NOW).map(drop)
    }

    #[test]
    fn a_url_may_be_spelled_in_many_ways_and_is_one_place() {
        for good in [
            "https://id.example/connect/token",
            "https://ID.example:443/connect/token",
            "HTTPS://id.example/connect/token?a=b#c",
            "https://id.example/connect/%74oken",
            "https://id.example/./connect/x/../token",
            "https://mtls.id.example:9443/connect/token",
        ] {
            assert_eq!(judge(&Claims { url: good.to_owned(), ..claims() }), Ok(()), "{good}");
        }
        let long = format!("https://id.example/connect/token?{}", "a".repeat(5_000));
        for bad in [
            "",
            "/connect/token",
            "id.example/connect/token",
            "http://id.example/connect/token",
            "https://id.example:8443/connect/token",
            "https://id.example/connect/token/",
            "https://id.example/connect/Token",
            "https://id.example//connect/token",
            "https://id.example/connect%2Ftoken",
            "https://id.example/connect/par",
            "https://id.example.evil/connect/token",
            "https://id.example@evil.example/connect/token",
            "https://user@id.example/connect/token",
            "https://id.example/connect/token%",
            "https://id.example/connect/token%2",
            "data:,connect/token",
            &long,
        ] {
            let said = Claims { url: bad.to_owned(), ..claims() };
            assert_eq!(judge(&said), Err(Fault::Url), "{bad}");
        }
    }

    #[test]
    fn a_proof_is_for_one_method_as_it_is_written() {
        for bad in ["post", "GET", "", "POST "] {
            let said = Claims { method: bad.to_owned(), ..claims() };
            assert_eq!(judge(&said), Err(Fault::Method), "{bad}");
        }
    }

    #[test]
    fn a_proof_lives_for_minutes_by_its_own_clock_or_by_our_nonce() {
        let at =
            |seconds: i64| Claims { issued: NOW.seconds().saturating_add(seconds), ..claims() };
        for good in [-299, -10, 0, 10, 30] {
            assert_eq!(judge(&at(good)), Ok(()), "{good}");
        }
        for (bad, why) in [
            (-300, Fault::TooOld),
            (-3_600, Fault::TooOld),
            (31, Fault::NotYet),
            (3_600, Fault::NotYet),
            (i64::MAX, Fault::NotYet),
            (i64::MIN, Fault::TooOld),
        ] {
            assert_eq!(judge(&at(bad)), Err(why), "{bad}");
            let timed = Rules { is_timed: true, ..rules() };
            assert_eq!(at(bad).check(&timed, NOW), Ok(NOW + OLDEST), "{bad}");
        }
        let later = Claims { not_before: Some(NOW.seconds() + 31), ..claims() };
        assert_eq!(judge(&later), Err(Fault::NotYet));
        let over = Claims { expires: Some(NOW.seconds() - 5), ..claims() };
        assert_eq!(judge(&over), Err(Fault::TooOld));
        let usual = (Some(NOW.seconds()), Some(NOW.seconds() + 300));
        let usual = Claims { not_before: usual.0, expires: usual.1, ..claims() };
        assert_eq!(judge(&usual), Ok(()));
    }

    #[test]
    fn its_use_is_remembered_for_as_long_as_it_could_be_used() {
        let ahead = Claims { issued: NOW.seconds() + 30, ..claims() };
        let until = ahead.check(&rules(), NOW).unwrap();
        assert_eq!(ahead.check(&rules(), until), Err(Fault::TooOld));
        assert!(ahead.check(&rules(), until - Duration::from_secs(1)).is_ok());
    }

    #[test]
    fn with_a_token_it_names_that_token() {
        let rules = Rules { token: Some("token"), ..rules() };
        let hash = String::from(Fingerprint::of(b"token"));
        let good = Claims { token: Some(hash), ..claims() };
        assert!(good.check(&rules, NOW).is_ok());
        for bad in [None, Some(String::new()), Some(Fingerprint::of(b"other").into())] {
            let said = Claims { token: bad, ..claims() };
            assert_eq!(said.check(&rules, NOW), Err(Fault::Token));
        }
    }

    #[test]
    fn its_id_is_short_and_of_its_key_and_jti() {
        let (one, other) = (Fingerprint::of(b"one"), Fingerprint::of(b"other"));
        assert_eq!(claims().id(one), claims().id(one));
        assert_ne!(claims().id(one), claims().id(other));
        assert_ne!(claims().id(one), Claims { jti: "b".to_owned(), ..claims() }.id(one));
        for bad in [String::new(), "a".repeat(513), "a".repeat(1_000_000)] {
            assert_eq!(judge(&Claims { jti: bad, ..claims() }), Err(Fault::Jti));
        }
    }
}
