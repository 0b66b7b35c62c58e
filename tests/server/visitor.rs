//! A person with a browser that has no script: opens pages, sends forms, keeps cookies.

use crate::{
    http::Answer,
    person::{PASSWORD, asking},
    support::{TestServer, form},
};
use hyper::Method;

pub struct Visitor<'a> {
    pub server: &'a TestServer,
    cookies: Vec<String>,
    /// What the browser says of its languages.
    pub languages: &'static str,
}

impl<'a> Visitor<'a> {
    pub fn at(server: &'a TestServer) -> Self {
        Self { server, cookies: Vec::new(), languages: "en" }
    }

    /// Opens an address, and follows where it leads among our own pages.
    pub async fn open(&mut self, path: &str) -> Answer {
        let mut answer = self.call(Method::GET, path, &[]).await;
        for _ in 0..5 {
            if answer.status != 303 {
                break;
            }
            let to = answer.header("location").unwrap().to_owned();
            let to = to.strip_prefix(self.server.issuer()).unwrap_or(&to).to_owned();
            answer = self.call(Method::GET, &to, &[]).await;
        }
        answer
    }

    /// Comes from a client.
    pub async fn come_from(&mut self, client: &str, otherwise: &[(&str, &str)]) -> Answer {
        self.open(&format!("/connect/authorize?{}", asking(client, otherwise))).await
    }

    /// Sends the form of a page that has this step.
    pub async fn send(&mut self, page: &Answer, step: &str, fields: &[(&str, &str)]) -> Answer {
        let text = page.text();
        let action = between(&text, "action=\"", "\"");
        let flow = between(&text, "name=\"flow\" value=\"", "\"");
        let fields = [&[("flow", flow), ("step", step)], fields].concat();
        let answer = self.call(Method::POST, action, &fields).await;
        let to = answer.header("location").map(str::to_owned);
        match to.filter(|_| answer.status == 303) {
            Some(to) => self.open(&to).await,
            None => answer,
        }
    }

    /// Signs in with a password, and returns the page that follows.
    pub async fn sign_in(&mut self, page: &Answer, email: &str) -> Answer {
        let page = self.send(page, "identifier", &[("identifier", email)]).await;
        let page = self.send(&page, "password", &[("password", PASSWORD)]).await;
        // Who is asked to make a passkey first does so another time.
        if page.text().contains("value=\"skip\"") {
            return self.send(&page, "skip", &[]).await;
        }
        page
    }

    async fn call(&mut self, method: Method, path: &str, fields: &[(&str, &str)]) -> Answer {
        let request = self
            .server
            .request(method, path)
            .header("accept", "text/html")
            .header("accept-language", self.languages)
            .header("sec-fetch-site", "same-origin")
            .header("sec-fetch-mode", "navigate")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("cookie", self.cookies.join("; "));
        let answer = self.server.send(request.body(form(fields)).unwrap()).await;
        for set in answer.headers.get_all("set-cookie") {
            let pair = set.to_str().unwrap().split(';').next().unwrap();
            let name = pair.split('=').next().unwrap();
            self.cookies.retain(|cookie| cookie.split('=').next() != Some(name));
            self.cookies.push(pair.to_owned());
        }
        answer
    }
}

/// Returns what stands between two pieces of a page.
#[track_caller]
pub fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("no {before} in {text}"));
    rest.split(after).next().unwrap()
}
