//! The address to which a browser is sent to sign in at a provider (OpenID Connect Core §3.1.2.1).

use super::{Issuer, Kind, Provider, claims::is_text};
use std::{borrow::Cow, time::Duration};
use url::Url;

/// Bytes of what a person said they are called; a longer one is not passed on.
pub const LONGEST_HINT: usize = 320;

/// A request for a code, bound to one sign-in by `state`, `nonce` and a challenge.
pub struct AuthorizationRequest<'a> {
    pub endpoint: &'a Url,
    pub issuer: &'a Issuer,
    pub kind: Kind,
    pub client_id: &'a str,
    pub redirect_uri: &'a str,
    /// None: those that are usual there.
    pub scopes: &'a [String],
    pub state: &'a str,
    pub nonce: &'a str,
    /// The S256 challenge of the verifier (RFC 7636 §4.2).
    pub challenge: &'a str,
    pub login_hint: Option<&'a str>,
    /// Google is told which company's accounts to offer.
    pub company: Option<&'a str>,
    pub prompt: Option<&'a str>,
    pub max_age: Option<Duration>,
}

impl AuthorizationRequest<'_> {
    /// Parameters of the endpoint's own stay, unless they are among ours.
    pub fn url(&self) -> Url {
        let ours = self.parameters();
        let is_other = |(name, _): &(Cow<'_, str>, Cow<'_, str>)| {
            !ours.iter().any(|(our, _)| *our == name.as_ref())
        };
        let others: Vec<_> = self.endpoint.query_pairs().filter(is_other).collect();
        let mut url = self.endpoint.clone();
        url.query_pairs_mut().clear().extend_pairs(others).extend_pairs(ours);
        url
    }

    fn parameters(&self) -> Vec<(&'static str, Cow<'_, str>)> {
        let mut ours: Vec<(&'static str, Cow<'_, str>)> = vec![
            ("response_type", "code".into()),
            ("client_id", self.client_id.into()),
            ("redirect_uri", self.redirect_uri.into()),
            ("scope", self.scope().into()),
            ("state", self.state.into()),
            ("code_challenge", self.challenge.into()),
            ("code_challenge_method", "S256".into()),
        ];
        let mut add =
            |name, value: Option<Cow<'static, str>>| ours.extend(value.map(|v| (name, v)));
        let hint = self.login_hint.filter(|hint| is_text(hint, LONGEST_HINT));
        if self.kind == Kind::GitHub {
            // OAuth 2.0 alone: it knows a name to begin with, and nothing else of OpenID Connect.
            add("login", hint.map(|hint| hint.to_owned().into()));
            return ours;
        }
        let provider = Provider::of(self.issuer);
        let company = self.company.filter(|_| provider == Provider::Google);
        add("nonce", Some(self.nonce.to_owned().into()));
        add("login_hint", hint.map(|hint| hint.to_owned().into()));
        add("hd", company.map(|company| company.to_owned().into()));
        add("response_mode", provider.response_mode().map(Cow::Borrowed));
        add("prompt", self.prompt.map(|prompt| prompt.to_owned().into()));
        add("max_age", self.max_age.map(|age| age.as_secs().to_string().into()));
        ours
    }

    fn scope(&self) -> String {
        match self.scopes {
            [] => self.kind.usual_scopes(self.issuer).join(" "),
            // Core §3.1.2.1: without it there is no ID token.
            named if self.kind == Kind::Oidc && !named.iter().any(|scope| scope == "openid") => {
                format!("openid {}", named.join(" "))
            }
            named => named.join(" "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn request<'a>(endpoint: &'a Url, issuer: &'a Issuer) -> AuthorizationRequest<'a> {
        AuthorizationRequest {
            endpoint,
            issuer,
            kind: Kind::Oidc,
            client_id: "porteiro & co",
            redirect_uri: "https://id.example.com/connect/sso/c1/callback",
            scopes: &[],
            state: "st",
            nonce: "no",
            challenge: "ch",
            login_hint: None,
            company: None,
            prompt: None,
            max_age: None,
        }
    }

    fn parameters(url: &Url) -> BTreeMap<String, String> {
        let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
        let all: BTreeMap<String, String> = pairs.iter().cloned().collect();
        assert_eq!(all.len(), pairs.len(), "each parameter is there once");
        all
    }

    fn issuer(text: &str) -> Issuer {
        Issuer::parse(text).unwrap()
    }

    #[test]
    fn a_request_is_bound_to_its_sign_in() {
        let endpoint = Url::parse("https://login.acme.test/authorize").unwrap();
        let acme = issuer("https://login.acme.test");
        let url = request(&endpoint, &acme).url();
        assert!(url.as_str().starts_with("https://login.acme.test/authorize?response_type=code&"));
        let expected = BTreeMap::from(
            [
                ("response_type", "code"),
                ("client_id", "porteiro & co"),
                ("redirect_uri", "https://id.example.com/connect/sso/c1/callback"),
                ("scope", "openid email profile"),
                ("state", "st"),
                ("nonce", "no"),
                ("code_challenge", "ch"),
                ("code_challenge_method", "S256"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        assert_eq!(parameters(&url), expected);
    }

    #[test]
    fn parameters_of_the_endpoint_stay_unless_they_are_ours() {
        let endpoint = "https://login.acme.test/authorize?p=b2c_1&state=x&client_id=evil&p2=%26";
        let endpoint = Url::parse(endpoint).unwrap();
        let acme = issuer("https://login.acme.test");
        let all = parameters(&request(&endpoint, &acme).url());
        assert_eq!((all["p"].as_str(), all["p2"].as_str()), ("b2c_1", "&"));
        assert_eq!((all["state"].as_str(), all["client_id"].as_str()), ("st", "porteiro & co"));
    }

    #[test]
    fn what_may_be_added_is_added() {
        let endpoint = Url::parse("https://login.acme.test/authorize").unwrap();
        let acme = issuer("https://login.acme.test");
        let scopes = ["email".to_owned(), "groups".to_owned()];
        let request = AuthorizationRequest {
            scopes: &scopes,
            login_hint: Some("ana@acme.test"),
            prompt: Some("login"),
            max_age: Some(Duration::from_mins(5)),
            company: Some("acme.test"),
            ..request(&endpoint, &acme)
        };
        let all = parameters(&request.url());
        assert_eq!(all["scope"], "openid email groups");
        assert_eq!(
            (all["login_hint"].as_str(), all["prompt"].as_str()),
            ("ana@acme.test", "login")
        );
        assert_eq!(all["max_age"], "300");
        assert!(!all.contains_key("hd") && !all.contains_key("response_mode"));
        let long = "a".repeat(LONGEST_HINT + 1);
        let request = AuthorizationRequest { login_hint: Some(&long), ..request };
        assert!(!parameters(&request.url()).contains_key("login_hint"));
    }

    #[test]
    fn google_apple_and_github_are_asked_as_they_want_it() {
        let endpoint = Url::parse("https://accounts.test/authorize").unwrap();
        let google = issuer("https://accounts.google.com");
        let asked =
            AuthorizationRequest { company: Some("acme.test"), ..request(&endpoint, &google) };
        assert_eq!(parameters(&asked.url())["hd"], "acme.test");
        let apple = issuer("https://appleid.apple.com");
        let all = parameters(&request(&endpoint, &apple).url());
        assert_eq!(
            (all["response_mode"].as_str(), all["scope"].as_str()),
            ("form_post", "openid email")
        );
        let github = issuer("https://github.com");
        let asked = AuthorizationRequest {
            kind: Kind::GitHub,
            login_hint: Some("ana"),
            ..request(&endpoint, &github)
        };
        let all = parameters(&asked.url());
        assert_eq!((all["scope"].as_str(), all["login"].as_str()), ("read:user user:email", "ana"));
        assert_eq!(all["code_challenge"], "ch");
        assert!(!all.contains_key("nonce"));
    }
}
