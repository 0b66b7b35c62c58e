//! A browser that shows pages to a person: it keeps cookies, follows redirects within the site, and
//! sends the forms that a page has.

use crate::{http::Answer, support::TestServer};
use hyper::{HeaderMap, Method, StatusCode};
use serde_json::Value;

pub struct Tab<'a> {
    pub server: &'a TestServer,
    pub cookies: Vec<String>,
    /// It keeps none.
    pub blocks_cookies: bool,
    pub language: &'static str,
}

/// A page that is shown.
#[derive(Debug)]
pub struct Page {
    pub status: StatusCode,
    /// The path and the query under which it is shown.
    pub address: String,
    pub headers: HeaderMap,
    pub text: String,
}

/// A form of a page.
#[derive(Clone, Debug)]
pub struct PageForm {
    pub action: String,
    pub fields: Vec<(String, String)>,
}

impl PageForm {
    pub fn field(&self, name: &str) -> Option<&str> {
        let found = self.fields.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Fills fields in, or adds them as a script does.
    pub fn filled(&self, values: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut fields = self.fields.clone();
        fields.retain(|(name, _)| values.iter().all(|(known, _)| known != name));
        fields.extend(values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        fields
    }
}

impl Page {
    /// What the heading says.
    #[track_caller]
    pub fn heading(&self) -> String {
        let (_, rest) = self.text.split_once("<h1>").unwrap_or_else(|| panic!("{self:?}"));
        assert!(!rest.contains("<h1>"), "a page has one heading: {self:?}");
        let marked = rest.split_once("</h1>").unwrap().0;
        let mut plain = String::new();
        for part in marked.split('<') {
            plain.push_str(part.split_once('>').map_or(part, |(_, text)| text));
        }
        unescape(&plain)
    }

    pub fn forms(&self) -> Vec<PageForm> {
        let forms = self.text.split("<form").skip(1);
        let form = |text: &str| {
            let text = text.split_once("</form>").unwrap().0;
            let (head, content) = text.split_once('>').unwrap();
            let inputs = content.split("<input").skip(1).map(|input| input.split('>').next());
            let fields = inputs.flatten().filter_map(|input| {
                let name = attribute(input, "name")?;
                Some((name, attribute(input, "value").unwrap_or_default()))
            });
            PageForm { action: attribute(head, "action").unwrap(), fields: fields.collect() }
        };
        forms.map(form).collect()
    }

    /// The first form that takes this step.
    #[track_caller]
    pub fn form(&self, step: &str) -> PageForm {
        let found = self.forms().into_iter().find(|form| form.field("step") == Some(step));
        found.unwrap_or_else(|| panic!("no form for {step}: {self:?}"))
    }

    /// The flow that the first form names.
    #[track_caller]
    pub fn flow(&self) -> String {
        let forms = self.forms();
        let named = forms.iter().find_map(|form| form.field("flow"));
        named.unwrap_or_else(|| panic!("no flow: {self:?}")).to_owned()
    }

    /// What the head of the page says under a name.
    pub fn meta(&self, name: &str) -> Option<String> {
        let mut tags = self.text.split("<meta").skip(1).filter_map(|tag| tag.split('>').next());
        let tag = tags.find(|tag| attribute(tag, "name").as_deref() == Some(name))?;
        attribute(tag, "content")
    }

    /// Where a link leads whose address begins so.
    #[track_caller]
    pub fn link(&self, beginning: &str) -> String {
        let links = self.text.split("<a").skip(1);
        let mut hrefs = links.filter_map(|link| attribute(link.split('>').next()?, "href"));
        let found = hrefs.find(|href| href.starts_with(beginning));
        found.unwrap_or_else(|| panic!("no link to {beginning}: {self:?}"))
    }

    /// Insists on a page of ours with this status and heading.
    #[track_caller]
    pub fn is(&self, status: u16, heading: &str) -> &Self {
        let shown = (self.status.as_u16(), self.heading());
        assert_eq!(shown, (status, heading.to_owned()), "{self:?}");
        assert_eq!(self.headers["content-type"], "text/html; charset=utf-8");
        assert_eq!(self.headers["cache-control"], "no-store");
        let policy = self.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("script-src 'nonce-") && policy.contains("form-action 'self'"));
        assert!(!policy.contains("unsafe"), "{policy}");
        self
    }
}

impl<'a> Tab<'a> {
    pub fn new(server: &'a TestServer) -> Self {
        Self { server, cookies: Vec::new(), blocks_cookies: false, language: "en" }
    }

    /// Sends a request as a person's browser does.
    pub async fn request(
        &mut self,
        (method, path): (Method, &str),
        headers: &[(&str, &str)],
        body: String,
    ) -> Answer {
        let cookies = self.cookies.join("; ");
        let mut request = self
            .server
            .request(method, path)
            .header("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
            .header("accept-language", self.language)
            .header("sec-fetch-mode", "navigate")
            .header("sec-fetch-dest", "document");
        if !cookies.is_empty() {
            request = request.header("cookie", cookies);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = self.server.send(request.body(body.into()).unwrap()).await;
        self.keep(&answer);
        answer
    }

    fn keep(&mut self, answer: &Answer) {
        for set in answer.headers.get_all("set-cookie").iter().filter(|_| !self.blocks_cookies) {
            let set = set.to_str().unwrap();
            let pair = set.split(';').next().unwrap();
            let name = pair.split('=').next().unwrap();
            self.cookies.retain(|cookie| cookie.split('=').next() != Some(name));
            if !set.contains("Max-Age=0") {
                self.cookies.push(pair.to_owned());
            }
        }
    }

    pub fn forget(&mut self, name: &str) {
        self.cookies.retain(|cookie| cookie.split('=').next() != Some(name));
    }

    pub fn has(&self, name: &str) -> bool {
        self.cookies.iter().any(|cookie| cookie.split('=').next() == Some(name))
    }

    pub async fn get(&mut self, path: &str) -> Answer {
        self.request((Method::GET, path), &[("sec-fetch-site", "none")], String::new()).await
    }

    /// Opens an address, and follows redirects.
    pub async fn open(&mut self, path: &str) -> Page {
        let answer = self.get(path).await;
        self.follow(path.to_owned(), answer).await
    }

    /// Sends fields to an action of ours, and does not follow.
    pub async fn post(&mut self, action: &str, fields: &[(String, String)]) -> Answer {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        let body = body.extend_pairs(fields).finish();
        let issuer = self.server.issuer().to_owned();
        let headers = [
            ("content-type", "application/x-www-form-urlencoded"),
            ("origin", issuer.as_str()),
            ("sec-fetch-site", "same-origin"),
        ];
        self.request((Method::POST, action), &headers, body).await
    }

    /// Sends a form of a page with these fields filled in, and follows redirects.
    pub async fn send(&mut self, form: &PageForm, values: &[(&str, &str)]) -> Page {
        let answer = self.post(&form.action, &form.filled(values)).await;
        self.follow(form.action.clone(), answer).await
    }

    /// Takes a step by the form that the page has for it.
    pub async fn step(&mut self, page: &Page, step: &str, values: &[(&str, &str)]) -> Page {
        self.send(&page.form(step), values).await
    }

    async fn follow(&mut self, mut address: String, mut answer: Answer) -> Page {
        for _ in 0..5 {
            if answer.status != 303 {
                break;
            }
            let location = answer.header("location").unwrap();
            let own = location.strip_prefix(self.server.issuer()).unwrap_or(location);
            assert!(own.starts_with('/'), "forms lead to pages of ours alone: {location}");
            address = own.to_owned();
            let headers = [("sec-fetch-site", "same-origin")];
            answer = self.request((Method::GET, &address), &headers, String::new()).await;
        }
        let text = answer.text();
        Page { status: answer.status, address, headers: answer.headers, text }
    }

    /// Asks as the script of a page does.
    pub async fn fetch(&mut self, path: &str) -> Value {
        let answer = self.fetch_with(path, &serde_json::json!({})).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// Sends a document as the script of a page does.
    pub async fn fetch_with(&mut self, path: &str, body: &Value) -> Answer {
        let (cookies, issuer) = (self.cookies.join("; "), self.server.issuer().to_owned());
        let headers = [
            ("cookie", cookies.as_str()),
            ("origin", issuer.as_str()),
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-mode", "cors"),
        ];
        self.server.post_json(path, body, &headers).await
    }
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    Some(unescape(rest.split_once('"')?.0))
}

fn unescape(text: &str) -> String {
    let marks = [
        ("&#60;", "<"),
        ("&lt;", "<"),
        ("&#62;", ">"),
        ("&gt;", ">"),
        ("&#34;", "\""),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#38;", "&"),
        ("&amp;", "&"),
    ];
    marks.iter().fold(text.to_owned(), |text, (mark, letter)| text.replace(mark, letter))
}
