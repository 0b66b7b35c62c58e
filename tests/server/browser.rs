//! A browser that goes through flows and keeps its cookies.

use crate::{http::Answer, person::text, support::TestServer};
use serde_json::{Value, json};

pub struct Browser<'a> {
    pub server: &'a TestServer,
    pub cookies: Vec<String>,
}

impl Browser<'_> {
    pub async fn post(&mut self, path: &str, body: &Value) -> Answer {
        let cookies = self.cookies.join("; ");
        let headers = [("sec-fetch-site", "same-origin"), ("cookie", cookies.as_str())];
        let answer = self.server.post_json(path, body, &headers).await;
        self.keep(&answer);
        answer
    }

    /// Keeps the cookies that an answer sets.
    pub fn keep(&mut self, answer: &Answer) {
        for set in answer.headers.get_all("set-cookie") {
            let pair = set.to_str().unwrap().split(';').next().unwrap();
            let name = pair.split('=').next().unwrap();
            self.cookies.retain(|cookie| cookie.split('=').next() != Some(name));
            self.cookies.push(pair.to_owned());
        }
    }

    /// Goes as far as a password leads.
    pub async fn password(&mut self, email: &str, password: &str) -> Answer {
        let flow = self.post("/flows", &json!({ "kind": "sign_in" })).await.json();
        let path = |step: &str| format!("/flows/{}/{step}", text(&flow["id"]));
        self.post(&path("identifier"), &json!({ "identifier": email })).await;
        self.post(&path("password"), &json!({ "password": password })).await
    }

    pub fn forget_session(&mut self) {
        self.cookies.retain(|cookie| !cookie.starts_with("porteiro="));
    }
}
