//! GitHub, which speaks OAuth 2.0 without ID tokens: who a person is, its API says.

use super::{Issuer, UpstreamPerson, person::address};
use serde_json::{Map, Value};
use url::Url;

/// What stands for GitHub's issuer in identities.
pub const GITHUB_ISSUER: &str = "https://github.com";

/// Claims of a user that are kept.
const FACTS: [&str; 2] = ["login", "name"];

/// How many addresses are looked at.
const MOST_ADDRESSES: usize = 200;

/// Where GitHub is called: `github.com`, or an Enterprise Server at an issuer of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitHubEndpoints {
    pub authorization: Url,
    pub token: Url,
    pub user: Url,
    pub emails: Url,
}

/// Why GitHub's answers make no person; reads on from "GitHub's answer".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GitHubFault {
    #[error("names no user by a number")]
    NoUser,
    #[error("is no list of addresses")]
    NoAddresses,
}

impl GitHubFault {
    /// A stable name for machines.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::NoUser => "github_user_malformed",
            Self::NoAddresses => "github_addresses_malformed",
        }
    }
}

impl GitHubEndpoints {
    pub fn of(issuer: &Issuer) -> Self {
        let api = |path: &str| match issuer.as_str().trim_end_matches('/') {
            GITHUB_ISSUER => Url::parse(&format!("https://api.github.com{path}"))
                .expect("a constant and a path of ours are a URL"),
            _ => issuer.below(&format!("/api/v3{path}")),
        };
        Self {
            authorization: issuer.below("/login/oauth/authorize"),
            token: issuer.below("/login/oauth/access_token"),
            user: api("/user"),
            emails: api("/user/emails"),
        }
    }

    /// Tells whether `iss` of a callback is the other name of this issuer, under which its metadata is published.
    pub(super) fn is_issuer(issuer: &Issuer, iss: &str) -> bool {
        iss == issuer.below("/login/oauth").as_str()
    }
}

/// Makes a person of `GET /user` and `GET /user/emails`.
///
/// A name can be given up and taken by another person, so the number is who it is. The address is the primary one
/// if GitHub has verified it.
pub fn person(
    issuer: &Issuer,
    user: &Value,
    emails: &Value,
) -> Result<UpstreamPerson, GitHubFault> {
    let id = user.get("id").and_then(Value::as_u64).filter(|id| *id > 0);
    let subject = id.ok_or(GitHubFault::NoUser)?.to_string();
    let addresses = emails.as_array().ok_or(GitHubFault::NoAddresses)?;
    let says = |entry: &Value, name: &str| entry.get(name) == Some(&Value::Bool(true));
    let is_own = |entry: &&Value| says(entry, "primary") && says(entry, "verified");
    let primary = addresses.iter().take(MOST_ADDRESSES).find(is_own);
    let email = address(primary.and_then(|entry| entry.get("email")));
    let texts = FACTS.into_iter().filter_map(|name| Some((name, user.get(name)?.as_str()?)));
    let facts = texts.map(|(name, text)| (name.to_owned(), Value::from(text)));
    Ok(UpstreamPerson {
        issuer: issuer.as_str().to_owned(),
        subject,
        session: None,
        email_verified: email.is_some().then_some(true),
        email,
        acr: None,
        amr: Vec::new(),
        auth_time: None,
        claims: super::person::facts(facts.collect::<Map<_, _>>()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn issuer() -> Issuer {
        Issuer::parse(GITHUB_ISSUER).unwrap()
    }

    fn user() -> Value {
        json!({ "login": "octocat", "id": 583_231, "node_id": "MDQ6", "name": "Mona", "email": null })
    }

    #[test]
    fn a_person_is_a_number_with_the_primary_verified_address() {
        let emails = json!([
            { "email": "old@acme.test", "primary": false, "verified": true, "visibility": null },
            { "email": "mona@acme.test", "primary": true, "verified": true, "visibility": "private" },
        ]);
        let person = person(&issuer(), &user(), &emails).unwrap();
        assert_eq!((person.issuer.as_str(), person.subject.as_str()), (GITHUB_ISSUER, "583231"));
        assert_eq!(person.email.as_deref(), Some("mona@acme.test"));
        assert_eq!(person.email_verified, Some(true));
        assert_eq!(Value::Object(person.claims), json!({ "login": "octocat", "name": "Mona" }));
        assert!(person.acr.is_none() && person.amr.is_empty() && person.session.is_none());
    }

    #[test]
    fn an_address_that_is_not_primary_or_not_verified_is_none() {
        for (primary, verified) in [
            (json!(true), json!(false)),
            (json!(false), json!(true)),
            (json!("true"), json!(true)),
            (json!(true), json!(1)),
        ] {
            let emails = json!([{ "email": "a@b.test", "primary": primary, "verified": verified }]);
            let person = person(&issuer(), &user(), &emails).unwrap();
            assert_eq!((person.email, person.email_verified), (None, None));
        }
        let none = person(&issuer(), &user(), &json!([])).unwrap();
        assert_eq!(none.email, None);
    }

    #[test]
    fn a_user_is_known_by_a_number_alone() {
        for bad in [
            json!({}),
            json!({ "id": "583231" }),
            json!({ "id": -1 }),
            json!({ "id": 0 }),
            json!({ "id": 1.5 }),
            json!({ "login": "octocat" }),
            json!([]),
        ] {
            assert_eq!(person(&issuer(), &bad, &json!([])), Err(GitHubFault::NoUser), "{bad}");
        }
        let no_list = person(&issuer(), &user(), &json!({ "message": "Not Found" }));
        assert_eq!(no_list, Err(GitHubFault::NoAddresses));
    }

    #[test]
    fn endpoints_are_githubs_or_those_of_an_enterprise_server() {
        let of = |text: &str| GitHubEndpoints::of(&Issuer::parse(text).unwrap());
        let public = of(GITHUB_ISSUER);
        assert_eq!(public.authorization.as_str(), "https://github.com/login/oauth/authorize");
        assert_eq!(public.token.as_str(), "https://github.com/login/oauth/access_token");
        assert_eq!(public.user.as_str(), "https://api.github.com/user");
        assert_eq!(public.emails.as_str(), "https://api.github.com/user/emails");
        let own = of("https://git.acme.test");
        assert_eq!(own.user.as_str(), "https://git.acme.test/api/v3/user");
        assert_eq!(own.token.as_str(), "https://git.acme.test/login/oauth/access_token");
    }

    proptest! {
        #[test]
        fn no_answer_panics(id: i64, text in ".{0,30}", flag: bool) {
            let user = json!({ "id": id, "login": text, "name": [text] });
            let emails = json!([text, { "email": text, "primary": flag, "verified": flag }, id]);
            if let Ok(person) = person(&issuer(), &user, &emails) {
                prop_assert_eq!(person.subject, id.to_string());
            }
        }
    }
}
