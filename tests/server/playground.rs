//! The pages of a development server: a client inside a page, and what was sent.

use crate::{
    binary::{Installation, Speaking, free_port, porteiro},
    chromium::Chromium,
    http::{Answer, get},
    shared::eventually,
    support::{TestOptions, TestServer, sealed},
};
use http_body_util::Full;
use hyper::Method;
use porteiro::{domain::Timestamp, messages::SentMessage};
use serde_json::{Value, json};

pub const CLIENT: &str = r#"
[[client]]
client_id = "playground"
client_name = "Playground"
token_endpoint_auth_method = "none"
redirect_uris = ["http://localhost/playground"]
"#;

async fn open() -> TestServer {
    let options = TestOptions { mailbox: true, screens: true, ..TestOptions::default() };
    TestServer::open_in(options).await
}

/// Asks as a browser does that navigates.
async fn page(server: &TestServer, path: &str) -> Answer {
    let request = server.request(Method::GET, path);
    let request = request.header("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
    server.send(request.body(Full::default()).unwrap()).await
}

/// Insists on a page that runs nothing but our own scripts, and fetches nothing from elsewhere.
#[track_caller]
fn strict(server: &TestServer, page: &Answer) -> String {
    sealed(&page.headers);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.header("cache-control"), Some("no-store"));
    let text = page.text();
    let policy = page.header("content-security-policy").unwrap();
    let nonce = policy.split("script-src 'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    for part in ["default-src 'none';", "connect-src 'self';", "base-uri 'none';"] {
        assert!(policy.contains(part), "{policy}");
    }
    let scripts = text.matches("<script").count();
    assert_eq!(text.matches(&format!("nonce=\"{nonce}\"")).count(), scripts, "{text}");
    assert_eq!(
        text.matches("</script>").count(),
        text.matches("type=\"module\"></script>").count()
    );
    assert!(!text.contains(" style=") && !text.contains("<style"), "{text}");
    for named in ["href=\"", "src=\"", "action=\""] {
        for value in text.split(named).skip(1).map(|rest| rest.split('"').next().unwrap()) {
            let own = value.starts_with(['/', '?', '#']) && !value.starts_with("//");
            assert!(own || value.starts_with(server.issuer()), "{named}{value}");
        }
    }
    text
}

fn message(html: &str, text: &str) -> SentMessage {
    SentMessage {
        id: "0/1&a=\"<b>".to_owned(),
        channel: "mail",
        to: "<img src=x>@acme.test".to_owned(),
        subject: Some("</title><script>alert(1)</script>".to_owned()),
        text: text.to_owned(),
        html: Some(html.to_owned()),
        sent_at: Timestamp::from_millis(1_800_000_000_000),
    }
}

#[tokio::test]
async fn a_production_server_has_neither_playground_nor_mailbox() {
    let installation = Installation::new().await;
    installation.configure("[mail]\ntransport = \"log\"\n[screens]\nenabled = true\n");
    let serving = installation.serve();
    let unknown = get(installation.address, "/nowhere").await;
    assert_eq!(unknown.status, 404);
    assert_eq!(get(installation.address, "/").await.status, 303, "to the account");
    for path in ["/playground", "/playground/playground.js", "/mailbox"] {
        let answer = get(installation.address, path).await;
        assert_eq!((answer.status, &answer.body), (unknown.status, &unknown.body), "{path}");
    }
    let sign_in = get(installation.address, "/sign-in").await.text();
    assert!(!sign_in.contains("/playground") && !sign_in.contains("/mailbox"), "{sign_in}");
    serving.signal("-TERM");
    let (code, _) = tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
    assert_eq!(code, Some(0));
}

#[tokio::test]
async fn without_screens_or_without_a_mailbox_there_is_no_playground() {
    for (mailbox, screens) in [(true, false), (false, true)] {
        let options = TestOptions { screens, mailbox, ..TestOptions::default() };
        let server = TestServer::open_in(options).await;
        let unknown = server.get("/nowhere").await;
        let home = server.get("/").await.status;
        assert_eq!(home, if screens { 303 } else { 404 }, "to the account, where there is a page");
        for path in ["/playground", "/playground/playground.js"] {
            let answer = server.get(path).await;
            assert_eq!((answer.status, &answer.body), (unknown.status, &unknown.body), "{path}");
            assert_eq!(page(&server, path).await.status, 404, "{path}");
        }
        server.stop().await;
    }
}

#[tokio::test]
async fn the_playground_speaks_both_languages_and_runs_nothing_but_its_own_scripts() {
    let server = open().await;
    server.apply(CLIENT).await;
    let lead = page(&server, "/").await;
    assert_eq!(lead.status, 303);
    assert_eq!(lead.header("location"), Some(&*format!("{}/playground", server.issuer())));
    for (query, title) in [("ui_locales=en", "Playground"), ("ui_locales=pt", "Experimentar")] {
        let answer = page(&server, &format!("/playground?{query}&code=x&state=%3Cscript%3E")).await;
        assert_eq!(answer.status, 200);
        let text = strict(&server, &answer);
        assert!(text.contains(&format!("<h1>{title}</h1>")), "{text}");
        assert!(text.contains("data-playground=\"playground\"") && text.contains("porteiro dev"));
        assert!(!text.contains(">play-"), "a sentence is missing: {text}");
        assert!(text.contains("href=\"/mailbox\"") && text.contains("href=\"/account\""));
        let script = text.split('"').find(|one| one.starts_with("/playground/")).unwrap();
        let script = page(&server, script).await;
        assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
        assert!(script.header("cache-control").unwrap().contains("immutable"));
        // The frame of another page has no origin, and may read its script; no other page of ours is read like that.
        let other = text.split("data-another-page=\"").nth(1).unwrap().split('"').next().unwrap();
        let other = page(&server, other).await;
        let read_by = [&other, &answer].map(|one| one.header("access-control-allow-origin"));
        assert_eq!((other.status.as_u16(), read_by), (200, [Some("*"), None]));
        // A page that leads back here shows no more than the person has already.
        assert!(!text.contains("code=x"), "{text}");
    }
    assert_eq!(page(&server, "/playground/other.js").await.status, 404);
    let sign_in = page(&server, "/sign-in").await.text();
    assert!(sign_in.contains("href=\"/mailbox\""), "{sign_in}");
    server.stop().await;
}

#[tokio::test]
async fn a_folder_without_the_client_is_told_how_to_get_it() {
    let server = open().await;
    let text = strict(&server, &page(&server, "/playground").await);
    assert!(text.contains("porteiro apply .porteiro/demo.toml"), "{text}");
    assert!(!text.contains("data-playground") && !text.contains("{port}"), "{text}");
    let lines = text.split("<pre class=\"block\" tabindex=\"0\">").nth(1).unwrap();
    let lines = lines.split("</pre>").next().unwrap().replace("&#34;", "\"");
    server.apply(&lines).await;
    eventually("the client", async || {
        page(&server, "/playground").await.text().contains("data-playground")
    })
    .await;
    // The port is the one that the server has.
    assert!(page(&server, "/playground").await.text().contains("data-comes-back"));
    server.stop().await;
}

#[tokio::test]
async fn a_hostile_mail_stays_in_its_frame() {
    let server = open().await;
    let html = "</textarea></iframe>\"><script>top.document.title='taken'</script>\
                <form action=\"/connect/token\" method=\"post\"><button>x</button></form>\
                <meta http-equiv=\"refresh\" content=\"0;url=/account\"><base href=\"//evil.test\">";
    let link = format!("{}/a\"b", server.issuer());
    let text = format!("</pre><script>alert(1)</script>\n402913\njavascript:alert(1)\n{link}");
    let sent = message(html, &text);
    let mailbox = server.mailbox.as_ref().unwrap();
    mailbox.keep(sent.clone());
    let list = strict(&server, &page(&server, "/mailbox?ui_locales=pt").await);
    assert!(list.contains("<h1>Caixa de correio</h1>") && list.contains(">402913<"), "{list}");
    for markup in ["<img src=x>", "</title><script>", "<b>\""] {
        assert!(!list.contains(markup), "{markup}: {list}");
    }
    let link = list.split('"').find(|one| one.starts_with("/mailbox?message=")).unwrap();
    let opened = page(&server, link).await;
    let policy = opened.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none';") && !policy.contains("frame-src"), "{policy}");
    let shown = strict(&server, &opened);
    assert_eq!(shown.matches("<iframe").count(), 1);
    assert_eq!(shown.matches("</iframe>").count(), 1);
    assert_eq!(shown.matches("<form").count(), 0);
    assert_eq!(shown.matches("http-equiv").count(), 1, "as text: {shown}");
    assert!(shown.contains("sandbox=\"allow-popups allow-popups-to-escape-sandbox\""), "{shown}");
    assert!(!shown.contains("href=\"javascript") && !shown.contains("<script>"), "{shown}");
    let gone = page(&server, "/mailbox?message=nothing").await;
    assert_eq!(gone.status, 404);
    strict(&server, &gone);
    // Programs get what they always got.
    let items = server.get("/mailbox?message=nothing").await.json()["items"].take();
    assert_eq!(
        items,
        json!([{
            "id": sent.id, "channel": "mail", "to": sent.to, "subject": sent.subject,
            "text": text, "html": html, "sent_at": "2027-01-15T08:00:00Z",
        }])
    );
    let Some(browser) = Chromium::start().await else { return server.stop().await };
    browser.open(&format!("{}{}", server.issuer(), link.replace("&amp;", "&"))).await;
    let inside = "return [document.title, location.pathname, frames.length, \
                  document.querySelector('iframe').contentDocument === null]";
    let seen = browser.try_evaluate(inside).await.unwrap();
    assert!(seen[0].as_str().unwrap().starts_with("</title>"), "{seen}");
    assert_eq!((&seen[1], &seen[2], &seen[3]), (&json!("/mailbox"), &json!(1), &json!(true)));
    server.stop().await;
}

/// The button by which a person allows.
const ALLOW: &str = "button[name=decision][value=allow]";

/// A person at a browser.
struct Person(Chromium);

impl Person {
    /// Waits until a condition of the page holds.
    async fn sees(&self, what: &'static str, condition: &str) {
        let script = format!("return Boolean({condition})");
        eventually(what, async || self.0.try_evaluate(&script).await == Some(json!(true))).await;
    }

    async fn reads(&self, expression: &str) -> Value {
        self.0.try_evaluate(&format!("return {expression}")).await.unwrap()
    }

    async fn fills(&self, selector: &str, value: &str) {
        let found = format!("document.querySelector('{selector}')");
        self.sees("a field", &found).await;
        self.0.try_evaluate(&format!("{found}.value = '{value}'")).await;
    }

    async fn presses(&self, selector: &str) {
        let found = format!("document.querySelector('{selector}')");
        self.sees("a button", &format!("{found} && !{found}.disabled")).await;
        self.0.try_evaluate(&format!("{found}.click()")).await;
    }

    /// Decides in a new tab, where the playground leads to, and comes back; returns what was read there.
    async fn decides(&self, name: &str, buttons: &[&str]) -> String {
        let link = format!("document.querySelector('[data-wait={name}] [data-link]').href");
        let open = format!("!document.querySelector('[data-wait={name}]').hidden && {link}");
        self.sees("the link", &open).await;
        let link = self.reads(&link).await;
        let (playground, _) = self.0.new_tab().await;
        self.0.open(link.as_str().unwrap()).await;
        let read = self.reads("document.body.innerText").await.as_str().unwrap().to_owned();
        for button in buttons {
            self.presses(button).await;
        }
        self.sees("the end", "!document.querySelector('[name=decision]')").await;
        self.0.switch_to(&playground).await;
        read.replace(['\u{2068}', '\u{2069}'], "")
    }

    /// Waits until a step of the playground has been taken, and insists that all in it is well.
    async fn finishes(&self, step: &'static str) {
        let state = format!("document.querySelector('[data-step={step}]').dataset.state");
        self.sees(step, &format!("{state} !== 'waiting'")).await;
        let text = format!("document.querySelector('[data-step={step}]').innerText");
        assert_eq!(self.reads(&state).await, "ok", "{}", self.reads(&text).await);
    }
}

#[tokio::test]
async fn a_newcomer_makes_an_account_with_a_passkey_and_sees_tokens() {
    let Some(browser) = Chromium::start().await else { return };
    let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
    let listen = format!("127.0.0.1:{port}");
    let mut dev = Speaking::start(porteiro(folder.path(), &["dev", "--listen", &listen]));
    let told = dev.until("Ctrl-C");
    let issuer = format!("http://localhost:{port}");
    let first = told.split_whitespace().find(|word| word.starts_with(&format!("{issuer}/")));
    assert_eq!(first, Some(&*format!("{issuer}/playground")), "{told}");
    browser.add_authenticator().await;
    let person = Person(browser);

    person.0.open(&format!("{issuer}/sign-up")).await;
    person.fills("[name=email]", "eva@demo.test").await;
    person.fills("[name=given_name]", "Eva").await;
    person.presses("form button.primary").await;
    person.sees("the code", "document.querySelector('[name=code]')").await;
    let mut code = String::new();
    eventually("the mail", async || {
        let items = get(([127, 0, 0, 1], port).into(), "/mailbox").await.json();
        let text = items["items"][0]["text"].as_str().unwrap_or_default().to_owned();
        let digits = |line: &&str| line.len() == 6 && line.bytes().all(|one| one.is_ascii_digit());
        code = text.lines().find(digits).unwrap_or_default().to_owned();
        !code.is_empty()
    })
    .await;
    person.fills("[name=code]", &code).await;
    person.presses("form button.primary").await;
    person.presses("form[data-passkey=create] button").await;
    person.presses("main a.primary").await;
    person.sees("the account", "location.pathname === '/account'").await;

    person.0.open(&format!("{issuer}/")).await;
    person.sees("the playground", "document.querySelector('[data-act=begin]')").await;
    person.presses("[data-act=begin]").await;
    person.presses(ALLOW).await;
    person.sees("the tokens", "location.pathname === '/playground'").await;
    for step in ["ask", "back", "trade", "id", "access", "userinfo"] {
        person.finishes(step).await;
    }
    assert_eq!(
        person.reads("document.querySelector('[data-who]').textContent").await,
        "eva@demo.test"
    );
    assert_eq!(person.reads("location.search").await, "", "the code is not left in the address");
    let checked = "document.querySelectorAll('[data-check][data-state=ok]').length";
    assert_eq!(person.reads(checked).await, 15, "of the answer and of the tokens");

    a_stolen_token_is_used_elsewhere_and_a_bound_one_is_not(&person).await;

    person.presses("[data-act=refresh]").await;
    person.finishes("refresh").await;
    person.presses("[data-act=reuse]").await;
    person.finishes("reuse").await;

    person.presses("[data-act=device]").await;
    // The code is in the link, and compared with the one that the device shows.
    person.decides("device", &["form button.primary", ALLOW]).await;
    person.finishes("connected").await;

    // An agent registers itself, is let in, and asks before it pays.
    person.presses("[data-act=agent]").await;
    person.finishes("agent").await;
    person.decides("let", &["form button.primary", ALLOW]).await;
    person.finishes("let").await;
    person.presses("[data-act=pay]").await;
    person.finishes("pay").await;
    let shown = person.decides("pay", &[ALLOW]).await;
    for said in ["Playground agent asks", "Pay 40 EUR to Padaria Central", "Invoice 17"] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    person.finishes("paid").await;
    let checked = "document.querySelectorAll('#step-paid [data-check][data-state=ok]').length";
    assert_eq!(person.reads(checked).await, 4, "of the token for the payment");

    person.presses("[data-act=out]").await;
    person.finishes("out").await;
    person.sees("the end", "!document.querySelector('[data-when=out]').hidden").await;
    assert_eq!(dev.terminate(), Some(0));
}

/// Lets another page use the tokens of this one, which a person is signed in to.
async fn a_stolen_token_is_used_elsewhere_and_a_bound_one_is_not(person: &Person) {
    let part = async |step: &str, part: &str| {
        let found = format!("document.querySelector('#step-{step} [data-part={part}] pre')");
        person.reads(&format!("{found}.textContent")).await.as_str().unwrap().to_owned()
    };
    let checks = async |step: &str| {
        let rows = format!("[...document.querySelectorAll('#step-{step} [data-check]')]");
        let text = "one.dataset.state + ' ' + one.querySelector('[data-value]').textContent";
        person.reads(&format!("{rows}.map((one) => {text})")).await
    };
    let userinfo = checks("userinfo").await;
    let sub = userinfo[0].as_str().unwrap().strip_prefix("ok ").unwrap();
    person.presses("[data-act=steal]").await;
    person.finishes("stolen").await;
    let sent = part("stolen", "request").await;
    assert!(sent.starts_with("GET /connect/userinfo\nauthorization=Bearer "), "{sent}");
    let came = part("stolen", "answer").await;
    assert!(came.starts_with("200\n") && came.contains("eva@demo.test"), "{came}");
    // The other page has no origin, and so neither the storage nor the script of this one.
    assert_eq!(checks("stolen").await, json!([format!("ok 200 {sub} origin null")]));

    person.presses("[data-act=bind]").await;
    person.finishes("bound").await;
    assert!(part("bound", "request").await.contains("\ndpop="), "a proof went with it");
    assert!(part("bound", "answer").await.contains("\"token_type\": \"DPoP\""));
    assert_eq!(checks("bound").await[0], "ok InvalidAccessError", "the key is not extractable");

    person.presses("[data-act=misuse]").await;
    person.finishes("worthless").await;
    let refused = "ok 401 invalid_token origin null";
    let told = json!([refused, refused, format!("ok 200 {sub}")]);
    assert_eq!(checks("worthless").await, told);
    let sent = part("worthless", "request").await;
    let [alone, forged] = *sent.split("\n\n").collect::<Vec<_>>() else { panic!("{sent}") };
    assert!(alone.contains("=Bearer ") && !alone.contains("dpop="), "{alone}");
    assert!(forged.contains("=DPoP ") && forged.contains("\ndpop="), "{forged}");
    let came = part("worthless", "answer").await;
    for said in ["401\nwww-authenticate: Bearer", "401\nwww-authenticate: DPoP", "invalid_token"] {
        assert!(came.contains(said), "{said}: {came}");
    }
    let owned = part("worthless", "owned").await;
    assert!(owned.contains("=DPoP ") && owned.contains("\n200\n"), "{owned}");
    assert_eq!(person.reads("document.querySelectorAll('iframe').length").await, 0);

    // A page that is loaded again has lost the key, and what it has shown stays.
    person.0.try_evaluate("location.reload()").await;
    person.sees("no key", "document.querySelector('[data-act=misuse]').disabled").await;
    person.finishes("worthless").await;
}
