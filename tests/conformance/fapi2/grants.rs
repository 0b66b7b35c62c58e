//! Authorization requests of the plans, from the push to the tokens.

use super::{
    run::{Client, Run},
    talk::{Call, PAR},
};
use crate::{
    conformance::suite::verified,
    dpop::TOKEN,
    http::Answer,
    person::{challenge, claims, text},
    support::form,
};
use hyper::Method;
use jsonwebtoken::decode_header;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use url::Url;

const ANA: &str = "ana@acme.test";
pub const STATE: &str = "of this request .~";
pub const NONCE: &str = "n-0S6_WzA2Mj";
/// As long as one may be, of every sort of character that one may have.
pub const VERIFIER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~\
                            zyxwvutsrqponmlkjihgfedcba9876543210~_.-ABCDEFGHIJKLMNOPQRSTUV";
const FAPI: [&str; 3] = ["PS256", "ES256", "EdDSA"];

/// The parameters of a request.
#[derive(Clone)]
pub struct Asked(Map<String, Value>);

/// What became of an authorization request.
#[derive(Debug)]
pub enum Outcome {
    /// The parameters that went back to the client, without those that say who speaks.
    Response(BTreeMap<String, String>),
    /// An error that was shown, and no redirect.
    Page(Answer),
}

impl Asked {
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.0.remove(name);
        self
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// As fields of a form: what is no text is JSON.
    pub fn fields(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        self.0.iter().map(|(name, value)| (name.clone(), text(value))).collect()
    }
}

impl Run {
    /// The request of a variant.
    pub fn asked(&self, client: &Client) -> Asked {
        let variant = &self.variant;
        let scope = match (variant.openid, variant.rar) {
            (true, _) => "openid profile email",
            (false, false) => "audit:read",
            (false, true) => "invoices:read",
        };
        let mut asked = Asked(Map::new())
            .with("client_id", &client.id)
            .with("redirect_uri", &client.callback)
            .with("response_type", "code")
            .with("scope", scope)
            .with("state", STATE)
            .with("code_challenge", &challenge(VERIFIER))
            .with("code_challenge_method", "S256");
        if variant.openid {
            asked = asked.with("nonce", NONCE);
        }
        if variant.jarm {
            asked = asked.with("response_mode", "jwt");
        }
        if variant.rar {
            let details = json!([{ "type": "payment", "amount": 100, "to": "Bob" }]);
            asked.0.insert("authorization_details".to_owned(), details);
        }
        asked
    }

    /// The claims of a signed request; null leaves one out.
    pub fn object(&self, client: &Client, asked: &Asked, otherwise: &Value) -> Value {
        let now = self.now();
        let mut object = asked.0.clone();
        let of_token = json!({
            "iss": client.id, "aud": self.server.issuer(), "nbf": now, "iat": now, "exp": now + 300,
        });
        object.extend(of_token.as_object().unwrap().clone());
        object.extend(otherwise.as_object().unwrap().clone());
        object.retain(|_, value| !value.is_null());
        Value::Object(object)
    }

    /// Pushes a request in the form of the variant.
    pub fn pushing<'a>(&'a self, client: &'a Client, asked: &Asked) -> Call<'a> {
        if self.variant.signed {
            let object = self.object(client, asked, &json!({}));
            return self.pushing_object(client, &client.signer.sign_request(&object));
        }
        self.pushing_bare(client, asked)
    }

    pub fn pushing_object<'a>(&'a self, client: &'a Client, object: &str) -> Call<'a> {
        self.call(client, PAR, &[("request", object)])
    }

    /// Pushes the parameters as they are.
    pub fn pushing_bare<'a>(&'a self, client: &'a Client, asked: &Asked) -> Call<'a> {
        let fields = asked.fields();
        let named = self.variant.private_key_jwt();
        let fields = fields.iter().filter(|(name, _)| named || name != "client_id");
        let fields: Vec<(&str, &str)> = fields.map(|(n, v)| (&**n, &**v)).collect();
        self.call(client, PAR, &fields)
    }

    pub async fn push(&self, client: &Client, asked: &Asked) -> String {
        self.taken(&self.pushing(client, asked).send().await)
    }

    /// Insists that a pushed request was taken, and returns its address.
    #[track_caller]
    pub fn taken(&self, answer: &Answer) -> String {
        assert_eq!(answer.status, 201, "{self}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/json"), "{self}");
        let said = answer.json();
        let lives = said["expires_in"].as_u64().unwrap();
        assert!((5..600).contains(&lives), "{self}: {lives}");
        let uri = text(&said["request_uri"]);
        assert!(uri.len() >= "urn:ietf:params:oauth:request_uri:".len() + 22, "{self}: {uri}");
        uri.to_owned()
    }

    /// Opens the authorization endpoint with exactly these parameters.
    pub async fn open(&self, fields: &[(&str, &str)]) -> Answer {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let path = format!("/connect/authorize?{}", query.extend_pairs(fields).finish());
        let request = self.server.request(Method::GET, &path).header("accept", "application/json");
        self.server.send(request.body(form(&[])).unwrap()).await
    }

    /// Opens a pushed request, with these parameters beside it.
    pub async fn present(&self, client: &Client, uri: &str, beside: &[(&str, &str)]) -> Outcome {
        let own = [("client_id", &*client.id), ("request_uri", uri)];
        let begun = self.open(&[&own, beside].concat()).await;
        self.walk(client, begun, "allow").await
    }

    /// Goes through a flow as the person, who says this where they are asked.
    pub async fn walk(&self, client: &Client, begun: Answer, decision: &str) -> Outcome {
        let flow = begun.json();
        let mut now = begun;
        for _ in 0..6 {
            if now.status != 200 {
                assert!(now.status.is_client_error(), "{self}: {now:?}");
                return Outcome::Page(now);
            }
            let document = now.json();
            now = match text(&document["state"]) {
                "identify" => self.server.prove(&flow, ANA).await,
                "consent" => {
                    self.server.step(&flow, "consent", json!({ "decision": decision })).await
                }
                "done" | "failed" => {
                    let to: Url = text(&document["result"]["redirect_to"]).parse().unwrap();
                    return Outcome::Response(self.read(client, &to).await);
                }
                other => panic!("{self}: {other}: {document}"),
            };
        }
        panic!("{self}: a flow without an end: {now:?}");
    }

    /// Reads a response as its mode has it, and insists on who says it to whom.
    async fn read(&self, client: &Client, to: &Url) -> BTreeMap<String, String> {
        assert!(to.as_str().starts_with(&client.callback), "{self}: {to}");
        assert_eq!(to.fragment(), None, "{self}: {to}");
        let mut said: BTreeMap<String, String> = to.query_pairs().into_owned().collect();
        said.retain(|name, _| !name.starts_with("dummy"));
        let issuer = self.server.issuer();
        if !self.variant.jarm {
            assert_eq!(said.remove("iss").as_deref(), Some(issuer), "{self}: {to}");
            return said;
        }
        assert_eq!(said.keys().collect::<Vec<_>>(), ["response"], "{self}: {to}");
        let response = &said["response"];
        let header = decode_header(response).unwrap();
        assert!(FAPI.contains(&&*format!("{:?}", header.alg)), "{self}: {header:?}");
        let Value::Object(mut claims) = verified(response, &self.server.key_set().await) else {
            panic!("{self}: {response}")
        };
        assert_eq!(claims.remove("iss").unwrap(), issuer, "{self}");
        assert_eq!(claims.remove("aud").unwrap(), *client.id, "{self}");
        let lives = claims.remove("exp").unwrap().as_i64().unwrap() - self.now();
        assert!((10..=600).contains(&lives), "{self}: {lives}");
        let words = claims.into_iter().map(|(name, value)| (name, text(&value).to_owned()));
        words.collect()
    }

    pub async fn authorize(&self, client: &Client, asked: &Asked) -> Outcome {
        let uri = self.push(client, asked).await;
        self.present(client, &uri, &[]).await
    }

    /// Returns the code for a request, checked as every module checks it.
    pub async fn code(&self, client: &Client, asked: &Asked) -> String {
        let outcome = self.authorize(client, asked).await;
        self.code_in(outcome, asked.get("state"))
    }

    /// Insists on a response with a code and this state, and nothing else.
    #[track_caller]
    pub fn code_in(&self, outcome: Outcome, state: Option<&str>) -> String {
        let Outcome::Response(mut said) = outcome else { panic!("{self}: {outcome:?}") };
        assert_eq!(said.remove("state").as_deref(), state, "{self}: {said:?}");
        let code = said.remove("code").unwrap_or_else(|| panic!("{self}: {said:?}"));
        assert!(code.len() >= 43 && said.is_empty(), "{self}: {code} {said:?}");
        code
    }

    pub fn redeeming<'a>(&'a self, client: &'a Client, code: &str) -> Call<'a> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &client.callback),
            ("code_verifier", VERIFIER),
        ];
        self.call(client, TOKEN, &fields)
    }

    /// Returns the tokens for a request, checked as every module checks them.
    pub async fn tokens(&self, client: &Client, asked: &Asked) -> Value {
        let code = self.code(client, asked).await;
        let answer = self.redeeming(client, &code).send().await;
        self.check(client, &answer, asked).await
    }

    /// Insists that tokens were issued as the plans want them, and returns them.
    pub async fn check(&self, client: &Client, answer: &Answer, asked: &Asked) -> Value {
        assert_eq!(answer.status, 200, "{self}: {answer:?}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{self}");
        let tokens = answer.json();
        let sort = if self.variant.dpop() { "DPoP" } else { "Bearer" };
        assert_eq!(tokens["token_type"], sort, "{self}");
        assert!((1..31_536_000).contains(&tokens["expires_in"].as_u64().unwrap()), "{self}");
        let said = claims(&tokens["access_token"]);
        assert_eq!(said["cnf"], self.confirmation(client), "{self}: {said}");
        assert!(text(&tokens["refresh_token"]).len() >= 43, "{self}: {tokens}");
        if self.variant.rar {
            let granted = &tokens["authorization_details"][0]["type"];
            assert_eq!(granted, "payment", "{self}: {tokens}");
        }
        if !self.variant.openid {
            assert_eq!(tokens.get("id_token"), None, "{self}");
            return tokens;
        }
        let token = text(&tokens["id_token"]);
        let header = decode_header(token).unwrap();
        assert!(FAPI.contains(&&*format!("{:?}", header.alg)), "{self}: {header:?}");
        let said = verified(token, &self.server.key_set().await);
        assert_eq!(said["iss"], self.server.issuer(), "{self}");
        assert_eq!(said["aud"], *client.id, "{self}");
        assert_eq!(said["nonce"].as_str(), asked.get("nonce"), "{self}");
        assert!(said["exp"].as_i64() > said["iat"].as_i64(), "{self}: {said}");
        tokens
    }

    /// Insists on a page with an error, or on a redirect with one of these.
    #[track_caller]
    pub fn failed(&self, outcome: Outcome, codes: &[&str]) {
        match outcome {
            Outcome::Page(page) => assert_eq!(page.status, 400, "{self}: {page:?}"),
            Outcome::Response(said) => {
                let error = said.get("error").map_or("", String::as_str);
                assert!(codes.contains(&error), "{self}: {said:?}");
                assert_eq!(said.get("code"), None, "{self}: {said:?}");
            }
        }
    }
}
