//! A relying party and a person at a browser, as the certification suite plays them.

use crate::{
    http::Answer,
    person::{VERIFIER, challenge, claims, text},
    support::{TestOptions, TestServer, basic, form},
};
use hyper::Method;
use jsonwebtoken::{DecodingKey, Validation, decode, decode_header, jwk::JwkSet};
use porteiro::{client_documents::Fetcher, http::Links};
use serde_json::{Value, json};
use url::Url;

pub const STATE: &str = "xyz-.~ 128 of the characters that a state may have";
pub const NONCE: &str = "n-0S6_WzA2Mj";
const EVA: &str = "eva@acme.test";

/// A person of whom every standard claim is known.
const PEOPLE: &str = r#"
[[account]]
email = "eva@acme.test"
email_verified = true
password = "correct horse battery staple"
name = "Eva Maria Lopes"
given_name = "Eva"
family_name = "Lopes"
middle_name = "Maria"
nickname = "Evinha"
preferred_username = "eva"
profile = "https://people.example.com/eva"
picture = "https://people.example.com/eva.png"
website = "https://eva.example.com"
gender = "female"
birthdate = "1990-04-01"
zoneinfo = "Europe/Lisbon"
locale = "pt-PT"
phone_number = "+351910000001"
phone_number_verified = true
address = { formatted = "Rua Augusta 1, Lisboa", country = "PT" }
"#;

/// One run of a module.
pub struct Suite {
    pub server: TestServer,
    /// The token of the person's session, while they are signed in.
    session: Option<String>,
    /// How often the person was asked to sign in.
    pub sign_ins: usize,
}

/// A client that the suite has registered.
#[derive(Clone)]
pub struct Party {
    pub registered: Value,
    pub redirect_uri: String,
}

/// What becomes of an authorization request.
#[derive(Debug)]
pub enum Reply {
    /// The browser was sent back to the client.
    Redirect(Url),
    /// An error page: there is no redirect.
    Page(Answer),
}

impl Reply {
    #[track_caller]
    pub fn redirect(self) -> Url {
        match self {
            Self::Redirect(url) => url,
            Self::Page(page) => panic!("{page:?}"),
        }
    }

    #[track_caller]
    pub fn is_page(&self) {
        assert!(matches!(self, Self::Page(page) if page.status == 400), "{self:?}");
    }

    /// Insists on an error that is told as the suite demands of every error.
    #[track_caller]
    pub fn error(self) -> String {
        let url = self.redirect();
        let known = ["error", "error_description", "error_uri", "state", "iss", "session_state"];
        assert!(url.query_pairs().all(|(name, _)| known.contains(&&*name)), "{url}");
        assert_eq!(get(&url, "state").as_deref(), Some(STATE));
        let description = get(&url, "error_description").unwrap_or_default();
        let allowed = |byte: u8| matches!(byte, 0x20..=0x21 | 0x23..=0x5b | 0x5d..=0x7e);
        assert!(description.bytes().all(allowed), "{description}");
        get(&url, "error").unwrap_or_else(|| panic!("{url}"))
    }
}

pub fn get(url: &Url, name: &str) -> Option<String> {
    url.query_pairs().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}

impl Suite {
    pub async fn open() -> Self {
        Self::open_fetching(None).await
    }

    /// A server that fetches the documents of clients in this way.
    pub async fn open_reaching(fetcher: Fetcher) -> Self {
        Self::open_fetching(Some(fetcher)).await
    }

    async fn open_fetching(client_documents: Option<Fetcher>) -> Self {
        let sign_in = Some("https://login.example.com/".parse().unwrap());
        let links = Links { sign_in, ..Links::default() };
        let options =
            TestOptions { screens: false, links, client_documents, ..TestOptions::default() };
        let server = TestServer::open_in(options).await;
        server.apply(PEOPLE).await;
        Self { server, session: None, sign_ins: 0 }
    }

    /// Registers a client as the suite does, with these members beside or instead.
    pub async fn register(&self, otherwise: &Value) -> Party {
        let mut asked = json!({
            "client_name": "oidf conformance suite",
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "client_secret_basic",
            "redirect_uris": ["https://suite.example.com/test/a/callback"],
            "contacts": ["certification@example.com"],
        });
        for (name, value) in otherwise.as_object().unwrap() {
            asked[name] = value.clone();
        }
        let answer = self.server.post_json("/connect/register", &asked, &[]).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let registered = answer.json();
        let uri = text(&registered["registration_client_uri"]);
        assert!(
            uri.starts_with(self.server.issuer()) && uri.contains(text(&registered["client_id"]))
        );
        assert!(registered["registration_access_token"].is_string());
        let redirect_uri = text(&registered["redirect_uris"][0]).to_owned();
        Party { registered, redirect_uri }
    }

    /// Asks for authorization as the person's browser, signs in and consents where that is asked for.
    ///
    /// The same request without PKCE must be refused.
    pub async fn authorize(&mut self, party: &Party, otherwise: &[(&str, &str)]) -> Reply {
        let bare = self.ask(party, otherwise, false).await;
        match bare {
            Reply::Redirect(url) => {
                assert!(get(&url, "error").is_some() && get(&url, "code").is_none(), "{url}");
            }
            Reply::Page(_) => {}
        }
        self.ask(party, otherwise, true).await
    }

    async fn ask(&mut self, party: &Party, otherwise: &[(&str, &str)], pkce: bool) -> Reply {
        let path = format!("/connect/authorize?{}", query(party, otherwise, pkce));
        let mut request =
            self.server.request(Method::GET, &path).header("accept", "application/json");
        if let Some(session) = &self.session {
            request = request.header("x-session-token", session);
        }
        let answer = self.server.send(request.body(form(&[])).unwrap()).await;
        self.follow(answer).await
    }

    /// Presents a request that is elsewhere.
    pub async fn present(&mut self, client_id: &str, request_uri: &str) -> Reply {
        let query = [("client_id", client_id), ("request_uri", request_uri)];
        let query =
            url::form_urlencoded::Serializer::new(String::new()).extend_pairs(query).finish();
        let path = format!("/connect/authorize?{query}");
        let request = self.server.request(Method::GET, &path).header("accept", "application/json");
        let answer = self.server.send(request.body(form(&[])).unwrap()).await;
        self.follow(answer).await
    }

    /// Goes through the flow that was begun, until it is over.
    pub async fn follow(&mut self, begun: Answer) -> Reply {
        if begun.status != 200 {
            return Reply::Page(begun);
        }
        let flow = begun.json();
        let mut now = begun;
        for _ in 0..5 {
            let document = now.json();
            let next = match text(&document["state"]) {
                "identify" => {
                    self.sign_ins += 1;
                    self.server.prove(&flow, EVA).await
                }
                "consent" => {
                    self.server.step(&flow, "consent", json!({ "decision": "allow" })).await
                }
                "done" | "failed" => {
                    if let Some(token) = document["result"]["session_token"].as_str() {
                        self.session = Some(token.to_owned());
                    }
                    let to = text(&document["result"]["redirect_to"]);
                    return Reply::Redirect(to.parse().unwrap());
                }
                other => panic!("{other}: {document}"),
            };
            assert_eq!(next.status, 200, "{next:?}");
            now = next;
        }
        panic!("a flow without an end: {now:?}");
    }

    /// Returns a code, checked as the suite checks every authorization response.
    pub async fn code(&mut self, party: &Party, otherwise: &[(&str, &str)]) -> String {
        let url = self.authorize(party, otherwise).await.redirect();
        assert!(url.as_str().starts_with(&party.redirect_uri), "{url}");
        assert_eq!(get(&url, "state").as_deref(), Some(STATE));
        assert_eq!(get(&url, "iss").as_deref(), Some(self.server.issuer()));
        let code = get(&url, "code").unwrap_or_else(|| panic!("{url}"));
        assert!(code.len() >= 43, "{code}");
        code
    }

    /// Redeems a code with the client's registered method.
    pub async fn redeem(&self, party: &Party, code: &str) -> Answer {
        let redirect_uri = party.redirect_uri.as_str();
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri),
            ("code_verifier", VERIFIER),
        ];
        self.post(party, "/connect/token", &fields).await
    }

    pub async fn refresh(&self, party: &Party, token: &str) -> Answer {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", token)];
        self.post(party, "/connect/token", &fields).await
    }

    async fn post(&self, party: &Party, path: &str, fields: &[(&str, &str)]) -> Answer {
        let id = text(&party.registered["client_id"]);
        let secret = party.registered["client_secret"].as_str().unwrap_or_default();
        match text(&party.registered["token_endpoint_auth_method"]) {
            "client_secret_basic" => {
                let request = self.server.request(Method::POST, path);
                let request = request
                    .header("authorization", basic(id, secret))
                    .header("content-type", "application/x-www-form-urlencoded");
                self.server.send(request.body(form(fields)).unwrap()).await
            }
            "client_secret_post" => {
                let own = [("client_id", id), ("client_secret", secret)];
                self.server.post(path, &[&own, fields].concat()).await
            }
            other => panic!("{other}"),
        }
    }

    /// Signs in and returns the tokens, checked as the suite checks every token response.
    pub async fn tokens(&mut self, party: &Party, otherwise: &[(&str, &str)]) -> Value {
        let code = self.code(party, otherwise).await;
        let answer = self.redeem(party, &code).await;
        self.check_tokens(party, &answer, Some(NONCE)).await;
        answer.json()
    }

    pub async fn check_tokens(&self, party: &Party, answer: &Answer, nonce: Option<&str>) {
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let tokens = answer.json();
        let expires_in = tokens["expires_in"].as_u64().unwrap();
        assert!((1..31_536_000).contains(&expires_in));
        assert!(text(&tokens["token_type"]).eq_ignore_ascii_case("bearer"));
        let id_token = text(&tokens["id_token"]);
        assert!(decode_header(id_token).unwrap().kid.is_some());
        let keys = self.server.key_set().await;
        verified(id_token, &keys);
        let said = claims(&tokens["id_token"]);
        assert_eq!(said["iss"], self.server.issuer());
        assert_eq!(said["aud"], party.registered["client_id"]);
        assert!(said["exp"].as_i64() > said["iat"].as_i64());
        assert!(said["auth_time"].as_i64() <= said["iat"].as_i64());
        assert!(!text(&said["sub"]).is_empty() && !text(&said["acr"]).is_empty());
        if let Some(nonce) = nonce {
            assert_eq!(said["nonce"], nonce);
        }
    }

    /// Asks userinfo, checked as the suite checks every answer of it.
    pub async fn userinfo(&self, tokens: &Value) -> Value {
        let answer = self.server.userinfo(text(&tokens["access_token"])).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/json"));
        let said = answer.json();
        assert_eq!(said["sub"], claims(&tokens["id_token"])["sub"]);
        said
    }

    pub async fn metadata(&self) -> Value {
        self.server.get("/.well-known/openid-configuration").await.json()
    }

    /// The document of the flow that a request begins, for a person who is not signed in.
    pub async fn sign_in_page(&self, party: &Party, otherwise: &[(&str, &str)]) -> Value {
        let path = format!("/connect/authorize?{}", query(party, otherwise, true));
        let request = self.server.request(Method::GET, &path).header("accept", "application/json");
        self.server.send(request.body(form(&[])).unwrap()).await.json()
    }

    /// Removes the client, as the suite does at the end of a module.
    pub async fn clean_up(self, party: &Party) {
        let uri: Url = text(&party.registered["registration_client_uri"]).parse().unwrap();
        let token = text(&party.registered["registration_access_token"]);
        let request = self.server.request(Method::DELETE, uri.path());
        let request = request.header("authorization", format!("Bearer {token}"));
        let answer = self.server.send(request.body(form(&[])).unwrap()).await;
        assert_eq!(answer.status, 204, "{answer:?}");
        self.server.stop().await;
    }
}

/// Writes a request; `-name` leaves a parameter out.
pub fn query(party: &Party, otherwise: &[(&str, &str)], pkce: bool) -> String {
    let challenge = challenge(VERIFIER);
    let usual = [
        ("client_id", text(&party.registered["client_id"])),
        ("redirect_uri", &party.redirect_uri),
        ("scope", "openid"),
        ("state", STATE),
        ("nonce", NONCE),
        ("response_type", "code"),
    ];
    let proof = [("code_challenge", challenge.as_str()), ("code_challenge_method", "S256")];
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in usual.into_iter().chain(proof.into_iter().filter(|_| pkce)) {
        let other = otherwise.iter().any(|(known, _)| known.trim_start_matches('-') == name);
        if !other {
            query.append_pair(name, value);
        }
    }
    query.extend_pairs(otherwise.iter().filter(|(name, _)| !name.starts_with('-')));
    query.finish()
}

/// What a token says, if a key of the set has signed it.
#[track_caller]
pub fn verified(token: &str, keys: &JwkSet) -> Value {
    let header = decode_header(token).unwrap();
    let key = DecodingKey::from_jwk(keys.find(&header.kid.unwrap()).unwrap()).unwrap();
    let mut rules = Validation::new(header.alg);
    // The clock of the test is not that of this machine.
    (rules.validate_exp, rules.validate_aud) = (false, false);
    rules.required_spec_claims.clear();
    decode::<Value>(token, &key, &rules).unwrap().claims
}
