//! What the plans send to endpoints, and what they make of every answer.

use super::run::{Client, Run, origin};
use crate::{
    certificate_holder::CertificateHolder,
    dpop::{TOKEN, USERINFO},
    http::Answer,
    key_holder::{KeyHolder, hash},
    person::text,
    signing_client::{JWT_BEARER, claims},
    support::form,
};
use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Request};
use porteiro::domain::Clock as _;
use serde_json::{Value, json};

pub const PAR: &str = "/connect/par";
pub const AUDIT: &str = "/api/organizations/acme/audit";

/// A form that a client is about to post, as its variant has it unless the module says otherwise.
pub struct Call<'a> {
    run: &'a Run,
    path: String,
    fields: Vec<(String, String)>,
    client_id: Option<String>,
    assertion: Option<String>,
    proofs: Vec<String>,
    certificate: Option<&'a CertificateHolder>,
}

/// An access token that is about to be presented to the API that it is for.
pub struct Visit<'a> {
    run: &'a Run,
    path: String,
    authorization: Option<String>,
    headers: Vec<(&'static str, String)>,
    certificate: Option<&'a CertificateHolder>,
}

impl Run {
    pub fn now(&self) -> i64 {
        self.server.clock.now().seconds()
    }

    /// Where the programs of this variant find an endpoint.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", origin(&self.server, self.variant))
    }

    /// The claims of an assertion that is right, unless a module says otherwise.
    pub fn assertion(&self, client: &Client, otherwise: Value) -> Value {
        claims(&self.server, &client.id, otherwise)
    }

    /// A proof of now for a form that is posted here.
    pub fn proof(&self, holder: &KeyHolder, path: &str) -> String {
        holder.proof("POST", path, json!({ "iat": self.now() }))
    }

    /// Another key.
    pub fn other_holder(&self) -> KeyHolder {
        KeyHolder::new(&origin(&self.server, self.variant), self.now())
    }

    pub fn call<'a>(&'a self, client: &'a Client, path: &str, fields: &[(&str, &str)]) -> Call<'a> {
        let by_key = self.variant.private_key_jwt();
        let assertion = by_key.then(|| client.signer.sign(&self.assertion(client, json!({}))));
        let is_proved = self.variant.dpop() && path == TOKEN;
        let proofs = is_proved.then(|| self.proof(&client.holder, path)).into_iter().collect();
        let fields = fields.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Call {
            run: self,
            path: path.to_owned(),
            fields: fields.collect(),
            client_id: (!by_key).then(|| client.id.clone()),
            assertion,
            proofs,
            certificate: self.variant.certified().then_some(&client.certificate),
        }
    }

    /// Sends a request where programs of this variant do.
    async fn send(
        &self,
        certificate: Option<&CertificateHolder>,
        request: Request<Full<Bytes>>,
    ) -> Answer {
        if self.variant.certified() {
            self.partners.connect(&self.server, certificate).send(request).await
        } else {
            self.server.send(request).await
        }
    }

    fn request(&self, method: Method, path: &str) -> hyper::http::request::Builder {
        if self.variant.certified() {
            self.partners.connect(&self.server, None).request(method, path)
        } else {
            self.server.request(method, path)
        }
    }

    /// Calls an endpoint without a body and without authentication.
    pub async fn method(&self, client: &Client, method: Method, path: &str) -> Answer {
        let request = self.request(method, path).body(Full::default()).unwrap();
        let certificate = self.variant.certified().then_some(&client.certificate);
        self.send(certificate, request).await
    }

    /// The path of the API of ours that takes the tokens of this variant.
    pub fn resource(&self) -> &'static str {
        if self.variant.openid { USERINFO } else { AUDIT }
    }

    /// A proof of now for the API that a token is for.
    pub fn proof_for(&self, holder: &KeyHolder, token: &str, otherwise: &Value) -> String {
        let mut usual = json!({ "ath": hash(token), "iat": self.now() });
        usual.as_object_mut().unwrap().extend(otherwise.as_object().unwrap().clone());
        holder.proof("GET", self.resource(), usual)
    }

    /// Presents a token to our API as its client does.
    pub fn visit<'a>(&'a self, client: &'a Client, token: &str) -> Visit<'a> {
        let scheme = if self.variant.dpop() { "DPoP" } else { "Bearer" };
        let proof = || ("dpop", self.proof_for(&client.holder, token, &json!({})));
        Visit {
            run: self,
            path: self.resource().to_owned(),
            authorization: Some(format!("{scheme} {token}")),
            headers: self.variant.dpop().then(proof).into_iter().collect(),
            certificate: self.variant.certified().then_some(&client.certificate),
        }
    }

    /// Uses a token as every module does that gets one: it is taken, with a time in the answer. Where it
    /// is for the invoices API alone, that one asks us, and compares what it is bound to.
    pub async fn spend(&self, client: &Client, token: &str) {
        if self.variant.own_resource() {
            let answer = self.visit(client, token).send().await;
            assert_eq!(answer.status, 200, "{self}: {answer:?}");
            assert!(answer.header("date").is_some(), "{self}: {answer:?}");
            return;
        }
        let told = self.server.introspect("invoices-api", token).await;
        assert_eq!(told["active"], true, "{self}: {told}");
        assert_eq!(told["cnf"], self.confirmation(client), "{self}: {told}");
    }

    /// Tells whether a token has come to its end.
    pub async fn is_over(&self, client: &Client, token: &str) -> bool {
        if self.variant.own_resource() {
            return self.visit(client, token).send().await.status == 401;
        }
        self.server.introspect("invoices-api", token).await["active"] == false
    }

    /// What the tokens of a client are bound to.
    pub fn confirmation(&self, client: &Client) -> Value {
        if self.variant.dpop() {
            json!({ "jkt": client.holder.thumbprint() })
        } else {
            client.certificate.confirmation()
        }
    }

    /// Insists on a refusal with one of these codes: 400, or 401 where a client is not known.
    #[track_caller]
    pub fn refused(&self, answer: &Answer, codes: &[&str]) {
        let body = answer.json();
        let code = body["error"].as_str().unwrap_or_default();
        assert!(codes.contains(&code), "{self}: {codes:?}: {answer:?}");
        let is_allowed = answer.status == 400 || (answer.status == 401 && code == "invalid_client");
        assert!(is_allowed, "{self}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/json"), "{self}");
        let description = text(&body["error_description"]);
        let allowed = |byte: u8| matches!(byte, 0x20..=0x21 | 0x23..=0x5b | 0x5d..=0x7e);
        assert!(description.bytes().all(allowed), "{self}: {description}");
    }
}

impl Call<'_> {
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.fields.retain(|(known, _)| known != name);
        self
    }

    /// Names the client, whatever else says who it is.
    pub fn named(mut self, client_id: &str) -> Self {
        self.client_id = Some(client_id.to_owned());
        self
    }

    pub fn asserting(mut self, assertion: String) -> Self {
        self.assertion = Some(assertion);
        self
    }

    /// Leaves nothing by which the client is known but its name; it holds its keys.
    pub fn unauthenticated(mut self, client: &Client) -> Self {
        if self.assertion.take().is_none() {
            self.certificate = None;
        }
        self.named(&client.id)
    }

    pub fn proving(mut self, proofs: Vec<String>) -> Self {
        self.proofs = proofs;
        self
    }

    /// Leaves nothing that proves the possession of a key.
    pub fn unbound(mut self) -> Self {
        if self.run.variant.dpop() {
            self.proofs.clear();
        } else {
            self.certificate = None;
        }
        self
    }

    pub async fn send(self) -> Answer {
        let mut fields = self.fields;
        fields.extend(self.client_id.map(|id| ("client_id".to_owned(), id)));
        if let Some(assertion) = self.assertion {
            fields.push(("client_assertion_type".to_owned(), JWT_BEARER.to_owned()));
            fields.push(("client_assertion".to_owned(), assertion));
        }
        let fields: Vec<(&str, &str)> = fields.iter().map(|(n, v)| (&**n, &**v)).collect();
        let mut request = self
            .run
            .request(Method::POST, &self.path)
            .header("content-type", "application/x-www-form-urlencoded");
        for proof in &self.proofs {
            request = request.header("dpop", proof);
        }
        self.run.send(self.certificate, request.body(form(&fields)).unwrap()).await
    }
}

impl Visit<'_> {
    pub fn saying(mut self, authorization: String) -> Self {
        self.authorization = Some(authorization);
        self
    }

    /// Sends the token in the address alone.
    pub fn in_query(mut self, token: &str) -> Self {
        self.authorization = None;
        self.path = format!("{}?access_token={token}", self.path);
        self
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub fn proving(mut self, proofs: &[String]) -> Self {
        self.headers.retain(|(name, _)| *name != "dpop");
        self.headers.extend(proofs.iter().map(|proof| ("dpop", proof.clone())));
        self
    }

    pub async fn send(self) -> Answer {
        let mut request = self.run.request(Method::GET, &self.path);
        if let Some(authorization) = self.authorization {
            request = request.header("authorization", authorization);
        }
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        self.run.send(self.certificate, request.body(Full::default()).unwrap()).await
    }
}
