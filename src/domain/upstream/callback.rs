//! What a browser brings back from a provider, as a query or as a form (OpenID Connect Core §3.1.2.5, §3.1.2.6).

use super::{GitHubEndpoints, Issuer, Kind, issuer::LONGEST_URL};
use crate::domain::{Secret, is_hidden};
use subtle::ConstantTimeEq as _;
use url::form_urlencoded;

/// Bytes of the whole.
const LONGEST: usize = 16 * 1024;

const LONGEST_CODE: usize = 4 * 1024;

const LONGEST_STATE: usize = 1_024;

/// Characters of an error's name and of its description.
const LONGEST_ERROR: usize = 64;
const LONGEST_DESCRIPTION: usize = 300;

/// An answer of a provider, which has not been compared with what was asked.
pub struct Callback {
    state: String,
    iss: Option<String>,
    answer: CallbackAnswer,
}

pub enum CallbackAnswer {
    Code(Secret),
    Error(ProviderError),
}

/// An error as a provider names it; printable and short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderError {
    pub code: String,
    pub description: Option<String>,
}

/// Why an answer is none, or none to us; reads on from "the answer".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallbackFault {
    #[error("has the parameter `{0}` twice")]
    Repeated(&'static str),
    #[error("is longer than any answer is")]
    TooLong,
    #[error("has no state")]
    NoState,
    #[error("has neither a code nor an error, or both")]
    NoAnswer,
    #[error("is not one at the redirect URI")]
    Elsewhere,
    #[error("is to another sign-in: its state is another")]
    OtherState,
    #[error("does not name its issuer, as the provider's metadata promises")]
    NoIssuer,
    #[error("is of another provider: its issuer is another")]
    OtherIssuer,
}

impl CallbackFault {
    /// A stable name for machines.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Repeated(_) => "callback_parameter_repeated",
            Self::TooLong => "callback_too_long",
            Self::NoState => "callback_without_state",
            Self::NoAnswer => "callback_without_answer",
            Self::Elsewhere => "callback_elsewhere",
            Self::OtherState => "state_mismatch",
            Self::NoIssuer => "callback_issuer_missing",
            Self::OtherIssuer => "callback_issuer_mismatch",
        }
    }
}

/// The parameters that are read; others, of which providers send many, are passed over.
#[derive(Default)]
struct Parameters {
    code: Option<String>,
    state: Option<String>,
    iss: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
}

impl Parameters {
    fn member(&mut self, name: &str) -> Option<(&'static str, &mut Option<String>)> {
        match name {
            "code" => Some(("code", &mut self.code)),
            "state" => Some(("state", &mut self.state)),
            "iss" => Some(("iss", &mut self.iss)),
            "error" => Some(("error", &mut self.error)),
            "error_description" => Some(("error_description", &mut self.error_description)),
            _ => None,
        }
    }
}

impl Callback {
    /// Reads a query, or the body of a form.
    pub fn read(encoded: &str) -> Result<Self, CallbackFault> {
        if encoded.len() > LONGEST {
            return Err(CallbackFault::TooLong);
        }
        let mut given = Parameters::default();
        for (name, value) in form_urlencoded::parse(encoded.as_bytes()) {
            let Some((name, member)) = given.member(&name) else { continue };
            if member.replace(value.into_owned()).is_some() {
                return Err(CallbackFault::Repeated(name));
            }
        }
        // RFC 6749 §3.1: a parameter without a value counts as left out.
        let filled = |value: Option<String>, longest: usize| match value.filter(|v| !v.is_empty()) {
            Some(value) if value.len() > longest => Err(CallbackFault::TooLong),
            other => Ok(other),
        };
        let state = filled(given.state, LONGEST_STATE)?.ok_or(CallbackFault::NoState)?;
        let iss = filled(given.iss, LONGEST_URL)?;
        let error = given.error.filter(|error| !error.is_empty());
        let answer = match (filled(given.code, LONGEST_CODE)?, error) {
            (Some(code), None) => CallbackAnswer::Code(Secret::new(code)),
            (None, Some(error)) => CallbackAnswer::Error(ProviderError::new(
                &error,
                given.error_description.as_deref(),
            )),
            _ => return Err(CallbackFault::NoAnswer),
        };
        Ok(Self { state, iss, answer })
    }

    /// Reads the whole address to which a browser was sent.
    pub fn read_url(url: &str, redirect_uri: &str) -> Result<Self, CallbackFault> {
        let query = url.strip_prefix(redirect_uri).and_then(|rest| rest.strip_prefix('?'));
        let query = query.filter(|query| !query.contains('#'));
        Self::read(query.ok_or(CallbackFault::Elsewhere)?)
    }

    /// The state, by which the sign-in is found. It is compared again in [`Callback::check`].
    pub fn state(&self) -> &str {
        &self.state
    }

    /// The issuer that it names; compared in [`Callback::check`].
    pub fn iss(&self) -> Option<&str> {
        self.iss.as_deref()
    }

    pub fn answer(&self) -> &CallbackAnswer {
        &self.answer
    }

    /// Compares it with what was asked: which sign-in, and which provider (RFC 9207 §2.4).
    pub fn check(
        &self,
        state: &str,
        issuer: &Issuer,
        kind: Kind,
        promises_iss: bool,
    ) -> Result<(), CallbackFault> {
        if !bool::from(self.state.as_bytes().ct_eq(state.as_bytes())) {
            return Err(CallbackFault::OtherState);
        }
        match &self.iss {
            None if promises_iss => Err(CallbackFault::NoIssuer),
            None => Ok(()),
            Some(iss) if iss == issuer.as_str() => Ok(()),
            Some(iss) if kind == Kind::GitHub && GitHubEndpoints::is_issuer(issuer, iss) => Ok(()),
            Some(_) => Err(CallbackFault::OtherIssuer),
        }
    }
}

impl std::fmt::Debug for Callback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let answer = match &self.answer {
            CallbackAnswer::Code(_) => "code",
            CallbackAnswer::Error(error) => &error.code,
        };
        f.debug_struct("Callback")
            .field("answer", &answer)
            .field("iss", &self.iss)
            .finish_non_exhaustive()
    }
}

impl ProviderError {
    /// Keeps what can be printed of a name and a description.
    pub fn new(code: &str, description: Option<&str>) -> Self {
        let description = description.map(|text| printable(text, LONGEST_DESCRIPTION));
        Self {
            code: printable(code, LONGEST_ERROR),
            description: description.filter(|text| !text.is_empty()),
        }
    }
}

/// Keeps the characters that people can see, and no more than so many.
fn printable(text: &str, longest: usize) -> String {
    text.chars().filter(|character| !is_hidden(*character)).take(longest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn issuer() -> Issuer {
        Issuer::parse("https://login.acme.test").unwrap()
    }

    fn check(query: &str, promises_iss: bool) -> Result<(), CallbackFault> {
        Callback::read(query).unwrap().check("st", &issuer(), Kind::Oidc, promises_iss)
    }

    fn fault(query: &str) -> CallbackFault {
        Callback::read(query).unwrap_err()
    }

    #[test]
    fn a_code_or_an_error_is_read_among_whatever_else_comes() {
        let query =
            "code=a%2Fb+c&state=st&iss=https%3A%2F%2Flogin.acme.test&scope=openid&scope=x&error=";
        let callback = Callback::read(query).unwrap();
        assert_eq!(callback.state(), "st");
        let CallbackAnswer::Code(code) = callback.answer() else { panic!("it has a code") };
        assert_eq!(code.expose(), b"a/b c");
        assert!(!format!("{callback:?}").contains("a/b"));
        let query = "state=st&error=access_denied&error_description=No%0A%E2%80%8Bthanks";
        let callback = Callback::read(query).unwrap();
        let CallbackAnswer::Error(error) = callback.answer() else { panic!("it has an error") };
        assert_eq!(error.code, "access_denied");
        assert_eq!(error.description.as_deref(), Some("Nothanks"));
    }

    #[test]
    fn each_parameter_is_there_once_and_none_is_long() {
        for name in ["code", "state", "iss", "error", "error_description"] {
            let query =
                format!("{name}=a&code=b&state=st&iss=c&error=&error_description=&{name}=a");
            assert_eq!(fault(&query), CallbackFault::Repeated(name));
        }
        assert_eq!(fault("state=a&state=&code=b"), CallbackFault::Repeated("state"));
        assert_eq!(fault("code=b"), CallbackFault::NoState);
        assert_eq!(fault("code=b&state="), CallbackFault::NoState);
        assert_eq!(fault("state=st"), CallbackFault::NoAnswer);
        assert_eq!(fault("state=st&code=b&error=c"), CallbackFault::NoAnswer);
        for (name, longest) in
            [("code", LONGEST_CODE), ("state", LONGEST_STATE), ("iss", LONGEST_URL)]
        {
            let rest = if name == "code" { "" } else { "&code=a" };
            let state = if name == "state" { "" } else { "&state=a" };
            let of = |length: usize| format!("{name}={}{rest}{state}", "a".repeat(length));
            assert!(Callback::read(&of(longest)).is_ok(), "{name}");
            assert_eq!(fault(&of(longest + 1)), CallbackFault::TooLong, "{name}");
        }
        let long = format!("code=a&state=b&x={}", "a".repeat(LONGEST));
        assert_eq!(fault(&long), CallbackFault::TooLong);
        let error = ProviderError::new(&"e".repeat(1_000), Some(&"d".repeat(1_000)));
        assert_eq!((error.code.len(), error.description.unwrap().len()), (64, 300));
    }

    #[test]
    fn an_answer_of_another_provider_is_refused_with_a_code_and_with_an_error() {
        for answer in ["code=a", "error=access_denied"] {
            let own = format!("{answer}&state=st&iss=https://login.acme.test");
            assert_eq!(check(&own, true), Ok(()));
            assert_eq!(check(&own, false), Ok(()));
            for other in ["https://evil.test", "https://login.acme.test/", "https://github.com"] {
                let other = format!("{answer}&state=st&iss={other}");
                assert_eq!(check(&other, true), Err(CallbackFault::OtherIssuer));
                assert_eq!(check(&other, false), Err(CallbackFault::OtherIssuer));
            }
            let silent = format!("{answer}&state=st");
            assert_eq!(check(&silent, false), Ok(()));
            assert_eq!(check(&silent, true), Err(CallbackFault::NoIssuer));
        }
    }

    #[test]
    fn an_answer_to_another_sign_in_is_refused_first() {
        for other in ["sT", "s", "stt"] {
            let query = format!("code=a&state={other}&iss=https://evil.test");
            assert_eq!(check(&query, true), Err(CallbackFault::OtherState));
        }
    }

    #[test]
    fn github_may_name_itself_in_two_ways() {
        let github = Issuer::parse("https://github.com").unwrap();
        let check = |iss: &str| {
            let callback = Callback::read(&format!("code=a&state=st&iss={iss}")).unwrap();
            callback.check("st", &github, Kind::GitHub, false)
        };
        assert_eq!(check("https://github.com"), Ok(()));
        assert_eq!(check("https://github.com/login/oauth"), Ok(()));
        assert_eq!(check("https://github.com/evil"), Err(CallbackFault::OtherIssuer));
    }

    #[test]
    fn a_whole_address_is_one_at_the_redirect_uri() {
        let uri = "https://id.example.com/connect/sso/c1/callback";
        assert!(Callback::read_url(&format!("{uri}?code=a&state=b"), uri).is_ok());
        for other in [
            "https://id.example.com/connect/sso/c1/callback",
            "https://id.example.com/connect/sso/c2/callback?code=a&state=b",
            "https://id.example.com/connect/sso/c1/callback/?code=a&state=b",
            "https://evil.test/connect/sso/c1/callback?code=a&state=b",
            "https://id.example.com/connect/sso/c1/callback?code=a&state=b#c",
        ] {
            assert_eq!(Callback::read_url(other, uri).unwrap_err(), CallbackFault::Elsewhere);
        }
    }

    proptest! {
        #[test]
        fn no_answer_panics(text in ".{0,200}", bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = Callback::read(&text);
            let encoded: String = form_urlencoded::byte_serialize(&bytes).collect();
            if let Ok(read) = Callback::read(&format!("state={encoded}&error={encoded}&error_description={encoded}")) {
                let CallbackAnswer::Error(error) = read.answer() else { panic!("there is no code") };
                prop_assert!(!error.code.chars().any(char::is_control));
            }
        }
    }
}
