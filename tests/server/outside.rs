//! What anybody can do who knows where a provider is.

use crate::{
    http::{Answer, get, request, send},
    support::{SECRET, basic, form},
};
use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Request};
use jsonwebtoken::jwk::JwkSet;
use serde_json::Value;
use std::net::SocketAddr;

/// A provider, seen from outside.
#[derive(Clone, Copy, Debug)]
pub struct Outside {
    pub address: SocketAddr,
}

impl Outside {
    pub async fn get(&self, path: &str) -> Answer {
        get(self.address, path).await
    }

    pub fn request(&self, method: Method, path: &str) -> hyper::http::request::Builder {
        request(method, self.address, path)
    }

    pub async fn send(&self, request: Request<Full<Bytes>>) -> Answer {
        send(self.address, request).await
    }

    /// Posts a form as a client that authenticates by its header.
    pub async fn post_as(&self, id: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let request = self
            .request(Method::POST, path)
            .header("authorization", basic(id, SECRET))
            .header("content-type", "application/x-www-form-urlencoded");
        self.send(request.body(form(fields)).unwrap()).await
    }

    /// Posts a form as it is.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let kind = "application/x-www-form-urlencoded";
        let request = self.request(Method::POST, path).header("content-type", kind);
        self.send(request.body(form(fields)).unwrap()).await
    }

    /// Asks for a token in a client's own name.
    pub async fn ask(&self, id: &str, fields: &[(&str, &str)]) -> Answer {
        let fields = [&[("grant_type", "client_credentials")], fields].concat();
        self.post_as(id, "/connect/token", &fields).await
    }

    /// Gets a token that must be granted.
    pub async fn token(&self, id: &str, scope: &str) -> String {
        let answer = self.ask(id, &[("scope", scope)]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["access_token"].as_str().unwrap().to_owned()
    }

    pub async fn key_set(&self) -> JwkSet {
        serde_json::from_slice(&self.get("/connect/jwks").await.body).unwrap()
    }

    pub async fn introspect(&self, id: &str, token: &str) -> Value {
        let answer = self.post_as(id, "/connect/introspect", &[("token", token)]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }
}
