//! Several accounts in one browser (adr/0087): what it holds, and how a person chooses.

mod attacks;

use crate::{
    browser::Browser,
    http::Answer,
    logout::{BYE, can_leave},
    page_forms::{LANGUAGES, Visitor, open_in},
    person::{PASSWORD, asking, parameter, redirect, text},
    support::{TestOptions, TestServer, form},
};
use hyper::Method;
use serde_json::{Value, json};
use std::time::Duration;

const ANA: &str = "ana@acme.test";
const BRUNO: &str = "bruno@acme.test";
const CLARA: &str = "clara@nowhere.test";
const SELECT: (&str, &str) = ("prompt", "select_account");

impl Browser<'_> {
    /// Asks for authorization, and for the document of what comes of it.
    async fn authorize(&mut self, client: &str, otherwise: &[(&str, &str)]) -> Answer {
        self.get(&format!("/connect/authorize?{}", asking(client, otherwise))).await
    }

    async fn get(&mut self, path: &str) -> Answer {
        let request = self
            .server
            .request(Method::GET, path)
            .header("accept", "application/json")
            .header("sec-fetch-site", "none")
            .header("cookie", self.cookies.join("; "));
        let answer = self.server.send(request.body(form(&[])).unwrap()).await;
        self.keep(&answer);
        answer
    }

    async fn step(&mut self, flow: &Value, step: &str, body: Value) -> Answer {
        self.post(&format!("/flows/{}/{step}", text(&flow["id"])), &body).await
    }

    async fn choose(&mut self, flow: &Value, account: &str) -> Answer {
        self.step(flow, "account", json!({ "account": account })).await
    }

    /// The value of a cookie.
    fn cookie(&self, name: &str) -> String {
        let found = self.cookies.iter().find_map(|one| one.strip_prefix(&format!("{name}=")));
        found.unwrap_or_default().to_owned()
    }

    fn set(&mut self, name: &str, value: &str) {
        self.cookies.retain(|one| !one.starts_with(&format!("{name}=")));
        self.cookies.push(format!("{name}={value}"));
    }

    /// The address of the account in which the browser acts.
    async fn acts_as(&mut self) -> Option<String> {
        let answer = self.get("/me").await;
        answer.json()["email"].as_str().map(str::to_owned)
    }

    async fn sign_in(&mut self, email: &str) {
        let done = self.password(email, PASSWORD).await;
        assert_eq!(done.json()["state"], "done", "{done:?}");
    }
}

/// A server that counts no attempts, and a browser that has signed in to these accounts.
async fn server() -> TestServer {
    TestServer::open_in(TestOptions { rates: None, ..TestOptions::default() }).await
}

async fn browser<'a>(server: &'a TestServer, emails: &[&str]) -> Browser<'a> {
    let mut browser = Browser { server, cookies: Vec::new() };
    for email in emails {
        browser.sign_in(email).await;
    }
    browser
}

fn emails(document: &Value) -> Vec<&str> {
    let accounts = document["accounts"].as_array();
    accounts.map(|all| all.iter().map(|one| text(&one["email"])).collect()).unwrap_or_default()
}

/// The id of the account that a document lists under an address.
fn id(document: &Value, email: &str) -> String {
    let mut accounts = document["accounts"].as_array().unwrap().iter();
    let found = accounts.find(|one| one["email"] == email);
    text(&found.unwrap_or_else(|| panic!("{document}"))["id"]).to_owned()
}

fn offers(document: &Value, step: &str) -> bool {
    document["steps"].as_array().unwrap().iter().any(|one| one["name"] == step)
}

/// The address of the person for whom a flow has got a code.
async fn signed_in_as(server: &TestServer, done: &Answer) -> String {
    let code = parameter(&redirect(done), "code").unwrap_or_else(|| panic!("{done:?}"));
    let tokens = server.redeem("web", &code).await.json();
    let told = server.userinfo(text(&tokens["access_token"])).await.json();
    text(&told["email"]).to_owned()
}

async fn is_open(server: &TestServer, token: &str) -> bool {
    crate::me::get_in(server, token, "/me").await.status == 200
}

fn error_of(answer: &Answer) -> Option<String> {
    parameter(&redirect(answer), "error")
}

const WITH_EMAIL: (&str, &str) = ("scope", "openid email");

#[tokio::test]
async fn signing_in_to_another_account_adds_it_and_ends_nothing() {
    let server = server().await;
    let mut browser = browser(&server, &[ANA]).await;
    let of_ana = browser.cookie("porteiro");
    assert_eq!(browser.cookie("porteiro-others"), "", "one account needs one cookie");
    browser.sign_in(BRUNO).await;
    let of_bruno = browser.cookie("porteiro");
    assert_ne!(of_ana, of_bruno);
    assert_eq!(browser.cookie("porteiro-others"), of_ana);
    assert_eq!(browser.acts_as().await.as_deref(), Some(BRUNO));
    assert!(is_open(&server, &of_ana).await && is_open(&server, &of_bruno).await);
    // Signing in again to one that is held renews its session, and adds none.
    browser.sign_in(ANA).await;
    assert_eq!(browser.acts_as().await.as_deref(), Some(ANA));
    assert_eq!(browser.cookie("porteiro-others"), of_bruno);
    assert!(!is_open(&server, &of_ana).await, "its token is another now");
    server.stop().await;
}

#[tokio::test]
async fn a_person_chooses_the_account_and_goes_on_in_its_session() {
    let server = server().await;
    let mut browser = browser(&server, &[ANA, BRUNO]).await;
    let (of_bruno, of_ana) = (browser.cookie("porteiro"), browser.cookie("porteiro-others"));
    let asked = browser.authorize("web", &[SELECT, WITH_EMAIL]).await.json();
    assert_eq!(asked["state"], "identify", "{asked}");
    assert!(offers(&asked, "account") && offers(&asked, "identifier"), "{asked}");
    assert_eq!(emails(&asked), [BRUNO, ANA], "the current one first");
    let named = |at: usize| (&asked["accounts"][at]["name"], &asked["accounts"][at]["current"]);
    assert_eq!(named(0), (&Value::Null, &json!(true)));
    assert_eq!(named(1), (&json!("Ana"), &json!(false)));
    let done = browser.choose(&asked, &id(&asked, ANA)).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    assert!(done.json()["result"].get("session_token").is_none());
    assert_eq!(signed_in_as(&server, &done).await, ANA);
    // It is the current one from now on, under the token that it had.
    assert_eq!(browser.cookie("porteiro"), of_ana);
    assert_eq!(browser.cookie("porteiro-others"), of_bruno);
    browser.choose(&asked, &id(&asked, BRUNO)).await.problem(409, "flow_over");
    // It is always asked, be it that one account is held.
    let mut alone = crate::several_accounts::browser(&server, &[CLARA]).await;
    let asked = alone.authorize("web", &[SELECT]).await.json();
    assert_eq!(emails(&asked), [CLARA]);
    let mut stranger = crate::several_accounts::browser(&server, &[]).await;
    let asked = stranger.authorize("web", &[SELECT]).await.json();
    assert_eq!(asked["state"], "identify");
    assert!(!offers(&asked, "account") && asked.get("accounts").is_none(), "{asked}");
    server.stop().await;
}

#[tokio::test]
async fn another_account_is_used_by_signing_in_to_it() {
    let server = server().await;
    let mut browser = browser(&server, &[ANA]).await;
    let asked = browser.authorize("web", &[SELECT, WITH_EMAIL]).await.json();
    browser.step(&asked, "identifier", json!({ "identifier": CLARA })).await;
    let done = browser.step(&asked, "password", json!({ "password": PASSWORD })).await;
    assert_eq!(signed_in_as(&server, &done).await, CLARA);
    assert_eq!(browser.acts_as().await.as_deref(), Some(CLARA));
    let listed = browser.authorize("web", &[SELECT]).await.json();
    assert_eq!(emails(&listed), [CLARA, ANA]);
    server.stop().await;
}

#[tokio::test]
async fn what_the_client_asks_of_the_sign_in_is_asked_of_the_account_that_was_chosen() {
    let server = server().await;
    let mut browser = browser(&server, &[ANA, BRUNO]).await;
    server.clock.advance(Duration::from_mins(10));
    for (name, value) in [("max_age", "60"), ("prompt", "select_account login")] {
        let mut asking = vec![WITH_EMAIL, (name, value)];
        asking.extend((name != "prompt").then_some(SELECT));
        let asked = browser.authorize("web", &asking).await.json();
        let again = browser.choose(&asked, &id(&asked, ANA)).await.json();
        assert_eq!(again["state"], "credential", "{name}: {again}");
        let wrong = browser.step(&asked, "password", json!({ "password": "wrong" })).await;
        assert_eq!(wrong.status, 401);
        let done = browser.step(&asked, "password", json!({ "password": PASSWORD })).await;
        assert_eq!(signed_in_as(&server, &done).await, ANA);
        // The session is the same under another token, and the other account is still there.
        assert_eq!(browser.acts_as().await.as_deref(), Some(ANA));
        let listed = browser.authorize("web", &[SELECT]).await.json();
        assert_eq!(emails(&listed), [ANA, BRUNO]);
        server.clock.advance(Duration::from_mins(10));
    }
    // A session that is fresh enough goes on at once.
    let acme = ("organization", "acme");
    let asked = browser.authorize("web", &[SELECT, acme, ("max_age", "3600")]).await.json();
    let done = browser.choose(&asked, &id(&asked, BRUNO)).await.json();
    assert_eq!(done["state"], "done", "{done}");
    server.stop().await;
}

#[tokio::test]
async fn signing_out_of_one_account_leaves_the_others_and_takes_none_of_them_by_itself() {
    let server = server().await;
    let mut browser = browser(&server, &[ANA, BRUNO]).await;
    let (of_bruno, of_ana) = (browser.cookie("porteiro"), browser.cookie("porteiro-others"));
    let leaving = browser.post("/flows", &json!({ "kind": "sign_out" })).await.json();
    let left = browser.step(&leaving, "confirm", json!({ "decision": "allow" })).await;
    assert_eq!(left.json()["state"], "done", "{left:?}");
    assert!(!is_open(&server, &of_bruno).await && is_open(&server, &of_ana).await);
    assert_eq!(browser.acts_as().await, None, "no one acts as Ana unasked");
    let silent = browser.authorize("web", &[("prompt", "none")]).await;
    assert_eq!(error_of(&silent).as_deref(), Some("account_selection_required"));
    let asked = browser.authorize("web", &[WITH_EMAIL]).await.json();
    assert_eq!(emails(&asked), [ANA], "{asked}");
    let done = browser.choose(&asked, &id(&asked, ANA)).await;
    assert_eq!(signed_in_as(&server, &done).await, ANA);
    assert_eq!(browser.acts_as().await.as_deref(), Some(ANA));
    assert_eq!(browser.cookie("porteiro-others"), "");
    server.stop().await;
}

#[tokio::test]
async fn a_person_signs_out_of_all_accounts_of_the_browser() {
    let server = server().await;
    let mut browser = browser(&server, &[ANA, BRUNO, CLARA]).await;
    let elsewhere = server.sign_in(ANA).await;
    let others = browser.cookie("porteiro-others");
    let mut tokens: Vec<String> = others.split('.').map(str::to_owned).collect();
    tokens.push(browser.cookie("porteiro"));
    assert_eq!(tokens.len(), 3);
    let leaving = browser.post("/flows", &json!({ "kind": "sign_out" })).await.json();
    let wrong = json!({ "decision": "allow", "accounts": "some" });
    browser.step(&leaving, "confirm", wrong).await.problem(400, "invalid_request");
    let all = json!({ "decision": "allow", "accounts": "all" });
    let left = browser.step(&leaving, "confirm", all).await;
    assert_eq!(left.json()["state"], "done", "{left:?}");
    for token in &tokens {
        assert!(!is_open(&server, token).await);
    }
    assert!(is_open(&server, &elsewhere).await, "another browser is not touched");
    assert_eq!((browser.cookie("porteiro"), browser.cookie("porteiro-others")), Default::default());
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_logs_out_one_of_the_sessions_ends_that_one() {
    let server = server().await;
    server.apply(&can_leave("web", BYE)).await;
    let mut browser = browser(&server, &[ANA]).await;
    let done = browser.authorize("web", &[]).await;
    let code = parameter(&redirect(&done), "code").unwrap();
    let of_ana = browser.cookie("porteiro");
    let tokens = server.redeem("web", &code).await.json();
    browser.sign_in(BRUNO).await;
    let asked = [("id_token_hint", text(&tokens["id_token"])), ("post_logout_redirect_uri", BYE)];
    let cookies = browser.cookies.join("; ");
    let headers = [("accept", "text/html"), ("cookie", cookies.as_str())];
    let left = crate::logout::link(&server, &asked, &headers).await;
    assert_eq!((left.status.as_u16(), left.header("location")), (303, Some(BYE)), "{left:?}");
    browser.keep(&left);
    assert!(!is_open(&server, &of_ana).await);
    assert_eq!(browser.acts_as().await.as_deref(), Some(BRUNO));
    assert_eq!(browser.cookie("porteiro-others"), "");
    server.stop().await;
}

#[tokio::test]
async fn a_hint_that_names_one_of_the_accounts_picks_it_silently() {
    let server = server().await;
    let mut browser = browser(&server, &[ANA]).await;
    let done = browser.authorize("web", &[]).await;
    let code = parameter(&redirect(&done), "code").unwrap();
    let of_ana = server.redeem("web", &code).await.json()["id_token"].clone();
    browser.sign_in(CLARA).await;
    let cookies = browser.cookies.clone();
    let none = ("prompt", "none");
    for (hint, expected) in [
        (("login_hint", ANA), ANA),
        (("login_hint", "ANA@Acme.test"), ANA),
        (("login_hint", CLARA), CLARA),
        (("login_hint", BRUNO), CLARA),
        (("login_hint", "<script>"), CLARA),
        (("id_token_hint", text(&of_ana)), ANA),
        (("state", "no hint at all"), CLARA),
    ] {
        let done = browser.authorize("web", &[none, WITH_EMAIL, hint]).await;
        assert_eq!(signed_in_as(&server, &done).await, expected, "{hint:?}");
        assert_eq!(browser.cookie("porteiro"), cookies_of(&cookies), "the current one stays");
    }
    let eva = format!("[[account]]\nemail = \"eva@acme.test\"\npassword = \"{PASSWORD}\"\n");
    server.apply(&eva).await;
    let of_eva = server.tokens("eva@acme.test", "web", "openid").await;
    let hint = ("id_token_hint", text(&of_eva["id_token"]));
    let refused = browser.authorize("web", &[none, hint]).await;
    assert_eq!(error_of(&refused).as_deref(), Some("login_required"), "she is not signed in here");
    server.stop().await;
}

fn cookies_of(cookies: &[String]) -> &str {
    cookies.iter().find_map(|one| one.strip_prefix("porteiro=")).unwrap()
}

#[tokio::test]
async fn where_the_current_account_does_not_speak_for_the_organization_another_is_asked_for() {
    let server = server().await;
    let mut browser = browser(&server, &[BRUNO, ANA]).await;
    let other = ("organization", "other");
    let silent = browser.authorize("web", &[other, ("prompt", "none")]).await;
    assert_eq!(error_of(&silent).as_deref(), Some("account_selection_required"));
    let asked = browser.authorize("web", &[other, WITH_EMAIL]).await.json();
    assert_eq!(emails(&asked), [ANA, BRUNO], "{asked}");
    let done = browser.choose(&asked, &id(&asked, BRUNO)).await;
    assert_eq!(signed_in_as(&server, &done).await, BRUNO);
    // A person who chooses the one that is no member there is refused, and so is one who is named.
    let asked = browser.authorize("web", &[other, SELECT]).await.json();
    let refused = browser.choose(&asked, &id(&asked, ANA)).await;
    assert_eq!(error_of(&refused).as_deref(), Some("access_denied"), "{refused:?}");
    let named = browser.authorize("web", &[other, ("login_hint", ANA)]).await;
    assert_eq!(error_of(&named).as_deref(), Some("access_denied"));
    let mut alone = crate::several_accounts::browser(&server, &[ANA]).await;
    let refused = alone.authorize("web", &[other]).await;
    assert_eq!(error_of(&refused).as_deref(), Some("access_denied"));
    server.stop().await;
}

#[tokio::test]
async fn a_person_switches_accounts_without_a_client() {
    let server = server().await;
    let mut browser = browser(&server, &[ANA, BRUNO]).await;
    let wish = json!({ "kind": "sign_in", "select_account": true });
    let asked = browser.post("/flows", &wish).await.json();
    assert_eq!(emails(&asked), [BRUNO, ANA], "{asked}");
    let done = browser.choose(&asked, &id(&asked, ANA)).await.json();
    assert_eq!(done["state"], "done", "{done}");
    assert_eq!(browser.acts_as().await.as_deref(), Some(ANA));
    // Without the wish it is a sign-in as ever.
    let plain = browser.post("/flows", &json!({ "kind": "sign_in" })).await.json();
    assert!(!offers(&plain, "account") && plain.get("accounts").is_none(), "{plain}");
    server.stop().await;
}

#[tokio::test]
async fn people_see_rows_of_accounts_and_press_one() {
    let server = open_in(TestOptions::default()).await;
    for language in LANGUAGES {
        let path = format!("/connect/authorize?{}", asking("web", &[]));
        let mut visitor = Visitor::open(&server, language, &path).await;
        visitor.sign_in(ANA).await;
        let mut visitor = visitor.tab("/sign-in?prompt=select_account").await;
        visitor.shows_either("Choose an account", "Escolha uma conta");
        let other = visitor.in_words("Use another account", "Usar outra conta");
        assert!(visitor.says(other) && visitor.says(ANA) && visitor.says("Ana"));
        let way = visitor.at.clone();
        visitor.go(&format!("{way}&way=identifier")).await;
        visitor.sign_in(CLARA).await;
        let asked = format!("/connect/authorize?{}", asking("web", &[SELECT]));
        let mut visitor = visitor.tab(&asked).await;
        visitor.shows_either("Choose an account", "Escolha uma conta");
        assert!(
            visitor.says(ANA)
                && visitor.says(CLARA)
                && visitor.says(visitor.in_words("In use", "Em uso"))
        );
        let ana = crate::passkeys::id_of(&server, ANA).await;
        visitor.send("account", &[("account", &ana)]).await;
        assert_eq!(visitor.answer.status, 200);
        assert!(visitor.html().contains("code=pac_"), "{}", visitor.html());
        let mut leaving = visitor.tab("/sign-out").await;
        let all = leaving.in_words(
            "Sign out of all accounts in this browser",
            "Sair de todas as contas neste navegador",
        );
        assert!(leaving.says(all), "{}", leaving.html());
        leaving.go("/account").await;
        assert!(leaving.says(ANA), "{}", leaving.html());
    }
    server.stop().await;
}

#[tokio::test]
async fn discovery_says_that_an_account_can_be_chosen() {
    let server = server().await;
    let told = server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(
        told["prompt_values_supported"],
        json!(["none", "login", "consent", "select_account"])
    );
    server.stop().await;
}
