//! A person with a browser: opens pages, fills in their forms, follows redirects, keeps cookies.

use crate::{
    http::Answer,
    mails::{code, mails, wait_for},
    support::{TestOptions, TestServer, form, sealed},
};
use hyper::Method;
use porteiro::http::limits::pace::Rates;
use serde_json::{Value, json};

/// The languages of pages.
pub const LANGUAGES: [&str; 2] = ["en", "pt"];

/// A server with pages, whose mails can be read.
pub async fn open() -> TestServer {
    open_in(TestOptions::default()).await
}

pub async fn open_in(options: TestOptions) -> TestServer {
    let rates = None::<Rates>;
    TestServer::open_in(TestOptions { screens: true, mailbox: true, rates, ..options }).await
}

/// A browser, and the page that it shows.
pub struct Visitor<'a> {
    pub server: &'a TestServer,
    pub language: &'static str,
    cookies: Vec<String>,
    /// The path of the page, with its query.
    pub at: String,
    pub answer: Answer,
}

/// A form of a page.
#[derive(Clone, Debug)]
pub struct PageForm {
    pub action: String,
    /// Names and values of the fields, as the page fills them in.
    pub fields: Vec<(String, String)>,
    /// Names and values of its buttons.
    pub buttons: Vec<(String, String)>,
    /// The form itself.
    pub tag: String,
}

impl<'a> Visitor<'a> {
    pub async fn open(server: &'a TestServer, language: &'static str, path: &str) -> Self {
        let answer = Answer {
            status: hyper::StatusCode::OK,
            headers: hyper::HeaderMap::new(),
            body: bytes::Bytes::new(),
        };
        let (cookies, at) = (Vec::new(), String::new());
        let mut visitor = Self { server, language, cookies, at, answer };
        visitor.go(path).await;
        visitor
    }

    /// Signs a person in on the page of ours at which they begin, and opens another.
    pub async fn signed_in(
        server: &'a TestServer,
        language: &'static str,
        email: &str,
        (begin, path): (&str, &str),
    ) -> Self {
        let mut visitor = Self::open(server, language, begin).await;
        visitor.sign_in(email).await;
        assert!(visitor.has_session(), "{}", visitor.html());
        visitor.go(path).await;
        visitor
    }

    /// Opens another page in a tab of the same browser.
    pub async fn tab(&self, path: &str) -> Self {
        let mut tab = Self::open(self.server, self.language, "/assets/none").await;
        tab.cookies.clone_from(&self.cookies);
        tab.go(path).await;
        tab
    }

    /// Opens a page by its address, as a link or a person does.
    pub async fn go(&mut self, path: &str) {
        // A link to the same page with another query.
        let base = self.at.split('?').next().unwrap_or_default();
        let path = if path.starts_with('?') { format!("{base}{path}") } else { path.to_owned() };
        self.ask(Method::GET, &path, &[]).await;
        self.follow().await;
    }

    /// Presses a button of the form of a step, once the fields are filled in.
    pub async fn send(&mut self, step: &str, filled: &[(&str, &str)]) {
        self.post(step, filled).await;
        self.follow().await;
    }

    /// The same, and follows nothing.
    pub async fn post(&mut self, step: &str, filled: &[(&str, &str)]) {
        let form = self.form(step);
        let mut fields = form.fields.clone();
        for (name, value) in filled {
            let on_page = fields.iter().any(|(known, _)| known == name)
                || form.buttons.iter().any(|(known, _)| known == name);
            assert!(on_page, "{step} has no field {name}: {form:?}");
            fields.retain(|(known, _)| known != name);
            fields.push(((*name).to_owned(), (*value).to_owned()));
        }
        let fields: Vec<(&str, &str)> =
            fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        self.ask(Method::POST, &form.action, &fields).await;
    }

    /// Sends a form as it is, whatever the page shows.
    pub async fn submit(&mut self, path: &str, fields: &[(&str, &str)]) {
        self.ask(Method::POST, path, fields).await;
    }

    pub async fn follow(&mut self) {
        for _ in 0..4 {
            if self.answer.status != 303 {
                return self.check();
            }
            let to = self.answer.header("location").unwrap().to_owned();
            let to = to.strip_prefix(self.server.issuer()).unwrap_or(&to).to_owned();
            assert!(to.starts_with('/'), "a page of ours: {to}");
            self.ask(Method::GET, &to, &[]).await;
        }
        panic!("it goes round in circles: {:?}", self.answer);
    }

    async fn ask(&mut self, method: Method, path: &str, fields: &[(&str, &str)]) {
        let cookies = self.cookies.join("; ");
        let mut request = self
            .server
            .request(method.clone(), path)
            .header("accept", "text/html,application/xhtml+xml,*/*;q=0.8")
            .header("accept-language", self.language)
            .header("sec-fetch-mode", "navigate")
            .header("cookie", cookies);
        request = if method == Method::POST {
            request
                .header("origin", self.server.issuer())
                .header("sec-fetch-site", "same-origin")
                .header("content-type", "application/x-www-form-urlencoded")
        } else {
            request.header("sec-fetch-site", "none")
        };
        self.answer = self.server.send(request.body(form(fields)).unwrap()).await;
        path.clone_into(&mut self.at);
        self.keep();
    }

    fn keep(&mut self) {
        for set in self.answer.headers.get_all("set-cookie") {
            let set = set.to_str().unwrap();
            let pair = set.split(';').next().unwrap();
            let name = pair.split('=').next().unwrap();
            self.cookies.retain(|cookie| cookie.split('=').next() != Some(name));
            if !set.contains("Max-Age=0") {
                self.cookies.push(pair.to_owned());
            }
        }
    }

    /// Asks as the script of a page does.
    pub async fn script(&mut self, path: &str, body: &Value) -> Value {
        let cookies = self.cookies.join("; ");
        let origin = self.server.issuer().to_owned();
        let headers = [
            ("sec-fetch-site", "same-origin"),
            ("origin", origin.as_str()),
            ("cookie", cookies.as_str()),
        ];
        self.server.post_json(path, body, &headers).await.json()
    }

    pub fn cookie_line(&self) -> String {
        self.cookies.join("; ")
    }

    /// What every page is like.
    fn check(&self) {
        let Answer { headers, .. } = &self.answer;
        if self.answer.header("content-type") != Some("text/html; charset=utf-8") {
            return;
        }
        sealed(headers);
        let policy = self.answer.header("content-security-policy").unwrap();
        for part in ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(self.answer.header("cache-control"), Some("no-store"));
        let html = self.html();
        assert!(html.contains(&format!("<html lang=\"{}\"", self.language)), "{html}");
        assert_eq!(html.matches("<h1").count(), 1, "{html}");
        assert!(!html.contains(" style=") && !html.contains("<style"), "{html}");
        assert_eq!(html.matches("<script").count(), 1, "{html}");
        for tag in tags(&html, "input") {
            let shown = attribute(tag, "type").as_deref() != Some("hidden");
            if let Some(id) = attribute(tag, "id").filter(|_| shown) {
                assert!(html.contains(&format!("for=\"{id}\"")), "{tag} has no label");
            } else {
                assert!(!shown || tag.contains("aria-hidden"), "{tag} has no label");
            }
        }
        let ids: Vec<String> = html
            .split(" id=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap().to_owned())
            .collect();
        let mut once = ids.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), ids.len(), "{ids:?}");
    }

    pub fn html(&self) -> String {
        self.answer.text()
    }

    /// The title that people read.
    pub fn title(&self) -> String {
        let html = self.html();
        let rest = html.split_once("<h1").unwrap_or_else(|| panic!("{}: {html}", self.at)).1;
        let inner = rest.split_once('>').unwrap().1.split_once("</h1>").unwrap().0;
        plain(inner)
    }

    /// Tells whether people read this on the page.
    pub fn says(&self, text: &str) -> bool {
        plain(&self.html()).contains(text)
    }

    #[track_caller]
    pub fn shows(&self, title: &str) {
        assert_eq!(self.title(), title, "{}: {}", self.at, self.html());
    }

    /// Chooses the sentence of the language.
    pub fn in_words<'b>(&self, english: &'b str, portuguese: &'b str) -> &'b str {
        if self.language == "pt" { portuguese } else { english }
    }

    /// Insists on a title, in the language of the page.
    #[track_caller]
    pub fn shows_either(&self, english: &str, portuguese: &str) {
        self.shows(self.in_words(english, portuguese));
    }

    pub fn forms(&self) -> Vec<PageForm> {
        let html = self.html();
        let forms = html.split("<form").skip(1).map(|rest| rest.split("</form>").next().unwrap());
        forms.map(PageForm::of).collect()
    }

    /// The form that takes a step.
    #[track_caller]
    pub fn form(&self, step: &str) -> PageForm {
        let forms = self.forms();
        let takes = |form: &&PageForm| {
            form.field("step").or(form.field("begin")).or(form.field("stop").map(|_| "stop"))
                == Some(step)
        };
        let found = forms.iter().find(takes).cloned();
        found.unwrap_or_else(|| panic!("{} does not take {step}: {}", self.at, self.html()))
    }

    pub fn has_form(&self, step: &str) -> bool {
        self.forms().iter().any(|form| form.field("step") == Some(step))
    }

    /// The address of the first link that begins like this.
    #[track_caller]
    pub fn link(&self, begins: &str) -> String {
        let html = self.html();
        let links = tags(&html, "a");
        let mut links = links.iter().filter_map(|tag| attribute(tag, "href"));
        let found = links.find(|href| href.starts_with(begins));
        found.unwrap_or_else(|| panic!("{} has no link {begins}: {html}", self.at))
    }

    /// The id of the flow whose page it is.
    #[track_caller]
    pub fn flow(&self) -> String {
        let forms = self.forms();
        let id = forms.iter().find_map(|form| form.field("flow").map(str::to_owned));
        id.unwrap_or_else(|| panic!("{}: {}", self.at, self.html()))
    }

    /// Where a page moves on to by itself.
    #[track_caller]
    pub fn moves_on_to(&self) -> url::Url {
        assert_eq!(self.answer.status, 200);
        let html = self.html();
        let metas = tags(&html, "meta");
        let refresh = metas.iter().find(|tag| tag.contains("http-equiv=\"refresh\""));
        let content = refresh.and_then(|tag| attribute(tag, "content"));
        let content = content.unwrap_or_else(|| panic!("{}: {html}", self.at));
        let to = content.strip_prefix("0;url=").unwrap();
        assert!(html.matches("<a ").count() >= 1, "and a link: {html}");
        to.parse().unwrap()
    }

    pub fn has_session(&self) -> bool {
        self.cookies.iter().any(|cookie| cookie.starts_with("porteiro="))
    }

    /// Takes the newest code that was mailed, once there are more mails than before.
    pub async fn mailed_code(&self, before: usize) -> String {
        code(&wait_for(self.server, before + 1).await[0])
    }

    pub async fn mails(&self) -> usize {
        self.server.quiet().await;
        mails(self.server).await.len()
    }

    /// Signs in with a password, from wherever a sign-in is asked for.
    pub async fn sign_in(&mut self, email: &str) {
        self.send("identifier", &[("identifier", email)]).await;
        self.send("password", &[("password", crate::person::PASSWORD)]).await;
    }

    /// Signs in with a passkey in the flow of the page, as its script does.
    pub async fn use_passkey(&mut self, device: &mut crate::passkey_device::Device) {
        let flow = self.form("passkey").field("flow").unwrap().to_owned();
        let options = self.script(&format!("/flows/{flow}/passkey/options"), &json!({})).await;
        let answer = device.get(&options).await.to_string();
        self.send("passkey", &[("credential", &answer)]).await;
    }

    /// Makes a passkey in the flow of the page, as its script does.
    pub async fn make_passkey(&mut self, device: &mut crate::passkey_device::Device) {
        let form = self.form("passkey/create");
        let flow = form.field("flow").unwrap().to_owned();
        let path = format!("/flows/{flow}/passkey/create_options");
        let options = self.script(&path, &json!({})).await;
        let made = device.create(&options).await.to_string();
        self.send("passkey/create", &[("credential", &made)]).await;
    }
}

impl PageForm {
    fn of(html: &str) -> Self {
        let tag = html.split('>').next().unwrap();
        let named = |tag: &&str| attribute(tag, "name").is_some();
        let pair = |tag: &str| {
            let value = attribute(tag, "value").unwrap_or_default();
            (attribute(tag, "name").unwrap(), value)
        };
        let all = |kind: &str| -> Vec<(String, String)> {
            tags(html, kind).iter().filter(|tag| named(tag)).map(|tag| pair(tag)).collect()
        };
        Self {
            action: attribute(tag, "action").unwrap(),
            fields: all("input"),
            buttons: all("button"),
            tag: tag.to_owned(),
        }
    }

    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Every start tag of a name.
fn tags<'a>(html: &'a str, name: &str) -> Vec<&'a str> {
    let begins = format!("<{name} ");
    html.match_indices(&begins).map(|(at, _)| html[at..].split('>').next().unwrap()).collect()
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let begins = format!(" {name}=\"");
    let rest = &tag[tag.find(&begins)? + begins.len()..];
    Some(unescape(rest.split('"').next()?))
}

/// What people read of markup.
fn plain(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        rest = rest[at..].split_once('>').map_or("", |(_, rest)| rest);
    }
    text.push_str(rest);
    unescape(&text)
}

fn unescape(text: &str) -> String {
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#34;", "\""), ("&#39;", "'")];
    let text = named.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    let text = text.replace("&#60;", "<").replace("&#62;", ">").replace("&#x27;", "'");
    text.replace("&#38;", "&").replace("&amp;", "&")
}
