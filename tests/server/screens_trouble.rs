//! Whatever goes wrong on a page: a calm one that says what to do next, with a status that fits.

use crate::{
    passkeys::ANA,
    person::{PASSWORD, asking, text},
    screens_sign_in::{named, open, signed_in},
    support::{TestServer, form, sealed},
    tab::{Page, Tab},
};
use hyper::Method;
use serde_json::json;
use std::time::Duration;

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

/// What a person types, a client is called, or a link says.
const HOSTILE: [&str; 5] = [
    "\"><script>alert(1)</script>",
    "'-alert(1)-'{{7*7}}",
    "\u{202e}moc.live",
    "</title></h1><img src=x onerror=alert(1)>",
    "&lt;script&gt;&quot;",
];

/// Insists that nothing of what came in became markup.
#[track_caller]
fn is_harmless(page: &Page) {
    for markup in ["<script>alert", "<img src=x", "onerror=alert(1)>", "\"><script"] {
        assert!(!page.text.contains(markup), "{markup}: {page:?}");
    }
    let scripts = page.text.matches("<script").count();
    assert_eq!(scripts, page.text.matches("<script src=\"/assets/").count(), "{page:?}");
}

#[tokio::test]
async fn an_expired_flow_says_so_and_where_to_begin() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let page = named(tab, ANA).await;
    server.clock.advance(Duration::from_mins(16));
    let sent = tab.step(&page, "password", &[("password", PASSWORD)]).await;
    sent.is(410, "This took a little too long").link("/sign-in");
    assert!(sent.text.contains("Nothing was changed."), "{sent:?}");
    let id = sent.headers["x-request-id"].to_str().unwrap();
    assert!(sent.text.contains(&format!("<code>{id}</code>")), "for those who are asked: {sent:?}");
    tab.open(&page.address).await.is(410, "This took a little too long");
    server.stop().await;
}

#[tokio::test]
async fn a_finished_flow_is_not_taken_again() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let page = named(tab, ANA).await;
    let form = page.form("password");
    let fields = form.filled(&[("password", PASSWORD)]);
    assert_eq!(tab.post(&form.action, &fields).await.header("location"), Some("/account"));
    // Sent twice, and by the back button: the person is signed in, and is told where.
    let twice = tab.send(&form, &[("password", PASSWORD)]).await;
    twice.is(200, "You are done here").link("/account");
    let wrong = tab.send(&form, &[("password", "wrong")]).await;
    wrong.is(200, "You are done here");
    server.stop().await;
}

#[tokio::test]
async fn a_form_that_is_sent_twice_at_once_signs_in_once() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let page = named(tab, ANA).await;
    let form = page.form("password");
    let fields = form.filled(&[("password", PASSWORD)]);
    let (one, two) = (
        &mut Tab { cookies: tab.cookies.clone(), ..Tab::new(&server) },
        &mut Tab { cookies: tab.cookies.clone(), ..Tab::new(&server) },
    );
    let answers = tokio::join!(one.post(&form.action, &fields), two.post(&form.action, &fields));
    let answers = [answers.0, answers.1];
    assert!(answers.iter().all(|answer| answer.status == 303), "{answers:?}");
    let signed_in = answers.iter().filter(|answer| answer.header("location") == Some("/account"));
    assert_eq!(signed_in.count(), 1, "{answers:?}");
    server.stop().await;
}

#[tokio::test]
async fn two_tabs_go_on_by_themselves_and_an_old_page_says_where_the_flow_is() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let first = tab.open("/sign-in").await;
    let second = tab.open("/sign-in").await;
    let one = tab.step(&first, "identifier", &[("identifier", ANA)]).await;
    let two = tab.step(&second, "identifier", &[("identifier", "bruno@acme.test")]).await;
    assert!(one.text.contains(ANA) && two.text.contains("bruno@acme.test"));
    // The same flow in two tabs: the code page of one is old when the other has moved on.
    let dora = named(tab, "dora@acme.test").await;
    let second = tab.step(&dora, "password", &[("password", PASSWORD)]).await;
    second.is(200, "Enter the code from your app");
    let old = tab.step(&dora, "password", &[("password", PASSWORD)]).await;
    old.is(200, "Enter the code from your app");
    assert!(old.text.contains("This step is over. Here is where you are."), "{old:?}");
    // Back, and another name.
    let page = tab.open(&one.link("/sign-in?flow=")).await;
    page.is(200, "Sign in");
    let page = tab.step(&page, "identifier", &[("identifier", "clara@nowhere.test")]).await;
    page.is(200, "Enter your password");
    assert!(page.text.contains("clara@nowhere.test") && !page.text.contains(ANA), "{page:?}");
    server.stop().await;
}

#[tokio::test]
async fn blocked_cookies_are_named() {
    let server = open().await;
    let tab = &mut Tab { blocks_cookies: true, ..Tab::new(&server) };
    let page = tab.open("/sign-in").await;
    page.is(200, "Sign in");
    let page = tab.step(&page, "identifier", &[("identifier", ANA)]).await;
    page.is(403, "Cookies are blocked here").link("/sign-in");
    assert!(page.text.contains("localhost"), "{page:?}");
    let page = tab.open(&format!("/connect/authorize?{}", asking("web", &[]))).await;
    page.is(403, "Cookies are blocked here");
    server.stop().await;
}

#[tokio::test]
async fn no_screen_opens_what_a_program_began() {
    let server = open().await;
    let flow = server.authorize("web", &[]).await.json();
    let id = text(&flow["id"]);
    let tab = &mut Tab::new(&server);
    signed_in(tab, ANA).await;
    let path = format!("/sign-in?flow={id}");
    tab.open(&path).await.is(403, "This belongs to another browser");
    let fields = [("flow", id), ("step", "identifier"), ("identifier", ANA)];
    let owned = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let answer = tab.post("/sign-in", &owned).await;
    assert_eq!(answer.status, 303, "{answer:?}");
    // A browser that says nothing of itself is one all the same.
    let plain = server.get(&path).await;
    assert_eq!(plain.status, 403, "{plain:?}");
    let sent = server.post("/sign-in", &fields).await;
    assert_eq!(sent.status, 303, "{sent:?}");
    let path = format!("/flows/{id}");
    assert_eq!(server.get(&path).await.json()["state"], "identify", "nothing was done in it");
    server.stop().await;
}

#[tokio::test]
async fn forms_of_other_sites_are_refused_by_a_page() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let page = tab.open("/sign-in").await;
    let body = format!("flow={}&step=identifier&identifier=a%40b.c", page.flow());
    for foreign in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")] {
        let answer = tab.request((Method::POST, "/sign-in"), &[FORM, foreign], body.clone()).await;
        sealed(&answer.headers);
        let shown = shown(answer);
        shown.is(403, "This form came from another site");
    }
    let null = ("origin", "null");
    let answer = tab.request((Method::POST, "/sign-in"), &[FORM, null], body).await;
    assert_eq!(answer.status, 403, "{answer:?}");
    tab.open(&page.address).await.is(200, "Sign in");
    server.stop().await;
}

fn shown(answer: crate::http::Answer) -> Page {
    let text = answer.text();
    Page { status: answer.status, address: String::new(), headers: answer.headers, text }
}

#[tokio::test]
async fn a_form_that_makes_no_sense_gets_a_calm_page() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let flow = tab.open("/sign-in").await.flow();
    let ours = ("sec-fetch-site", "same-origin");
    let long = format!("flow={flow}&step=identifier&identifier={}", "x".repeat(10_000));
    // What is well formed leads back to a page that can be gone on with.
    for (body, error) in [
        (format!("flow={flow}&step=dance"), "That could not be done."),
        (format!("flow={flow}&step="), "That could not be done."),
        (format!("flow={flow}&step=%3Cscript%3E"), "That could not be done."),
        (format!("flow={flow}"), "That could not be done."),
        (format!("flow={flow}&step=identifier"), "Write your e-mail address"),
        (format!("flow={flow}&step=identifier&identifier="), "Write your e-mail address"),
        (format!("flow={flow}&step=identifier&identifier=a%0Ab"), "Write your e-mail address"),
        (format!("flow={flow}&step=password&password=x"), "This step is over."),
        (format!("flow={flow}&step=totp&code=1"), "This step is over."),
        (format!("flow={flow}&step=consent&decision=allow"), "This step is over."),
        (format!("flow={flow}&step=consent&decision=maybe"), "Something is missing."),
        (long, "Write your e-mail address"),
        ("step=identifier&identifier=a%40b.c".to_owned(), "That could not be done."),
        (String::new(), "That could not be done."),
        (format!("flow={}&step=identifier", "f".repeat(20_000)), "That could not be done."),
    ] {
        let answer = tab.request((Method::POST, "/sign-in"), &[FORM, ours], body.clone()).await;
        assert_eq!(answer.status, 303, "{body}: {answer:?}");
        let to = answer.header("location").unwrap();
        assert!(to.len() < 13_000, "{to}");
        let page = tab.open(to).await;
        page.is(200, "Sign in");
        assert!(page.text.contains(error), "{body}: {page:?}");
        assert!(page.text.contains("role=\"alert\""), "{page:?}");
        is_harmless(&page);
    }
    // An id that is none of ours.
    for id in ["flw_x", "x", "%F0%9F%98%80", "flw_%22%3E%3Cscript%3E"] {
        let body = format!("flow={id}&step=identifier&identifier=a%40b.c");
        let answer = tab.request((Method::POST, "/sign-in"), &[FORM, ours], body).await;
        let page = tab.open(answer.header("location").unwrap()).await;
        page.is(404, "There is nothing here");
        is_harmless(&page);
    }
    // What is not even a form.
    let repeated = format!("flow={flow}&step=identifier&identifier=a&identifier=b");
    for (status, kind, body) in [
        (400, FORM, repeated),
        (400, FORM, "flow=%zz".to_owned()),
        (400, FORM, "flow=%ff".to_owned()),
        (400, FORM, format!("flow={flow}&identifier=%00")),
        (413, FORM, format!("flow={}", "x".repeat(3_000_000))),
        (415, ("content-type", "application/json"), "{}".to_owned()),
        (415, ("content-type", "multipart/form-data; boundary=x"), "--x--".to_owned()),
        (415, ("content-type", "text/plain"), "flow=x".to_owned()),
    ] {
        let answer = tab.request((Method::POST, "/sign-in"), &[kind, ours], body).await;
        sealed(&answer.headers);
        shown(answer).is(status, "That could not be read").link("/sign-in");
    }
    let answer = tab.request((Method::POST, "/sign-in"), &[ours], "a=b".to_owned()).await;
    assert_eq!(answer.status, 415, "{answer:?}");
    server.stop().await;
}

#[tokio::test]
async fn hostile_words_stay_words() {
    let server = open().await;
    for word in HOSTILE {
        let tab = &mut Tab::new(&server);
        let page = tab.open("/sign-in").await;
        let page = tab.step(&page, "identifier", &[("identifier", word)]).await;
        page.is(200, "Enter your password");
        is_harmless(&page);
        let form = page.form("password");
        let (_, kept) = page.text.split_once("autocomplete=\"username\" value=\"").unwrap();
        assert!(!kept.split_once('"').unwrap().0.contains('<'), "{page:?}");
        assert!(page.text.contains("<bdi>"), "it cannot turn what stands around it: {page:?}");
        is_harmless(&tab.send(&form, &[("password", word)]).await);
        // As the hint of a client, in every parameter of an address, and as a cookie.
        let asked = asking("web", &[("login_hint", word), ("ui_locales", word), ("state", word)]);
        let page = tab.open(&format!("/connect/authorize?{asked}")).await;
        page.is(200, "Sign in");
        is_harmless(&page);
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for name in ["way", "step", "problem", "wait", "token", "theme", "ui_locales", "x"] {
            query.append_pair(name, word);
        }
        let address = format!("/sign-in?flow={}&{}", page.flow(), query.finish());
        is_harmless(&tab.open(&address).await);
        is_harmless(&tab.open(&format!("/sign-in?{}", asking("web", &[("flow", word)]))).await);
    }
    let tab =
        &mut Tab { cookies: vec!["porteiro-screen=\"><b>.x".to_owned()], ..Tab::new(&server) };
    is_harmless(&tab.open("/sign-in").await);
    server.stop().await;
}

#[tokio::test]
async fn a_hostile_or_endless_client_name_stays_a_name() {
    let server = open().await;
    let endless = "x".repeat(10_000);
    let names = HOSTILE.into_iter().chain([endless.as_str()]);
    for name in names {
        let metadata = json!({
            "redirect_uris": ["https://rp.example/cb"],
            "client_name": name,
            "token_endpoint_auth_method": "none",
        });
        let registered = server.post_json("/connect/register", &metadata, &[]).await;
        // A name that is too long is refused when the client registers.
        let Some(id) = registered.json()["client_id"].as_str().map(str::to_owned) else {
            assert_eq!(registered.status, 400, "{registered:?}");
            continue;
        };
        let asked = [("client_id", id.as_str()), ("redirect_uri", "https://rp.example/cb")];
        let tab = &mut Tab::new(&server);
        let page = tab.open(&format!("/connect/authorize?{}", asking("web", &asked))).await;
        page.is(200, "Sign in");
        is_harmless(&page);
        assert!(page.text.len() < 20_000 && !page.text.contains('\u{202e}'), "{page:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_query_that_makes_no_sense_begins_anew() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    for query in [
        "?%zz",
        "?flow=",
        "?problem=dance&step=dance",
        "?wait=-1&problem=too_many_requests",
        "?wait=99999999999999999999&problem=too_many_requests",
        "?problem=too_many_requests",
        "?way=dance",
        "?token=x",
        "?flow=&flow=x",
        "?ui_locales=xx&theme=sepia",
    ] {
        let page = tab.open(&format!("/sign-in{query}")).await;
        page.is(200, "Sign in");
    }
    let many: Vec<String> = (0..100).map(|n| format!("p{n}=1")).collect();
    tab.open(&format!("/sign-in?{}", many.join("&"))).await.is(200, "Sign in");
    tab.open(&format!("/sign-in?flow={}", "f".repeat(9_000)))
        .await
        .is(404, "There is nothing here");
    server.stop().await;
}

#[tokio::test]
async fn a_path_that_does_not_exist_is_a_page_for_people_and_a_problem_for_programs() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    for path in ["/never-existed", "/assets/nothing.css", "/sign-in/x", "/%3Cscript%3E"] {
        let page = tab.open(path).await;
        page.is(404, "There is no such page").link("/sign-in");
        assert!(!page.text.contains("never-existed") && !page.text.contains("nothing.css"));
        is_harmless(&page);
    }
    for accept in ["application/json", "*/*", "text/html;q=0.1, application/json"] {
        let request = server.request(Method::GET, "/never-existed").header("accept", accept);
        server.send(request.body(form(&[])).unwrap()).await.problem(404, "not_found");
    }
    server.get("/never-existed").await.problem(404, "not_found");
    // What a script of a page asks for is answered as a program is.
    let request = server
        .request(Method::GET, "/never-existed")
        .header("accept", "text/html")
        .header("sec-fetch-dest", "empty");
    server.send(request.body(form(&[])).unwrap()).await.problem(404, "not_found");
    let wrong = tab.request((Method::PUT, "/sign-in"), &[], String::new()).await;
    shown(wrong).is(405, "That could not be read");
    server.stop().await;
}

#[tokio::test]
async fn a_panic_is_a_page_as_well() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    let mut seen = None;
    // The clock panics the next reader, which may be another part of the server.
    for _ in 0..5 {
        server.clock.panic_next_reader();
        let page = tab.open("/sign-in").await;
        if page.status == 500 {
            seen = Some(page);
            break;
        }
    }
    let page = seen.expect("a request meets the panic");
    page.is(500, "Something broke on our side").link("/sign-in");
    assert!(!page.text.contains("clock"), "{page:?}");
    tab.open("/sign-in").await.is(200, "Sign in");
    server.stop().await;
}

#[tokio::test]
async fn a_request_of_a_client_that_cannot_be_taken_is_a_page() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    for wrong in [
        ("client_id", "nobody-knows"),
        ("-client_id", ""),
        ("redirect_uri", "https://evil.example/cb"),
    ] {
        let page = tab.open(&format!("/connect/authorize?{}", asking("web", &[wrong]))).await;
        page.is(400, "This sign-in link cannot be used");
        // Its developer reads what was given; no person is led there.
        assert!(!page.text.contains("\"https://evil.example"), "{page:?}");
        assert_eq!(
            page.text.contains("<code>https://evil.example/cb</code>"),
            wrong.0 == "redirect_uri"
        );
        assert!(page.text.contains("For developers:"), "{page:?}");
        sealed(&page.headers);
    }
    // One that registered itself is not followed, and is named.
    let metadata = json!({
        "redirect_uris": ["https://evil.example/cb"],
        "token_endpoint_auth_method": "none",
    });
    let id = server.post_json("/connect/register", &metadata, &[]).await.json();
    let asked = [
        ("client_id", text(&id["client_id"])),
        ("redirect_uri", "https://evil.example/cb"),
        ("scope", "unheard:of"),
    ];
    let page = tab.open(&format!("/connect/authorize?{}", asking("web", &asked))).await;
    page.is(400, "This sign-in link cannot be used");
    assert!(page.text.contains("<strong>evil.example</strong>"), "{page:?}");
    assert!(!page.text.contains("https://evil.example") && !page.text.contains("refresh"));
    // Programs are told as ever.
    let refused = server.authorize("web", &[("client_id", "nobody-knows")]).await;
    assert_eq!(refused.header("content-type"), Some("application/json"), "{refused:?}");
    server.stop().await;
}

#[tokio::test]
async fn the_pages_of_the_logout_endpoint_have_the_same_look() {
    let server = open().await;
    let tab = &mut Tab::new(&server);
    tab.open("/connect/logout").await.is(200, "You are signed out").link("/sign-in");
    signed_in(tab, ANA).await;
    let page = tab.open("/connect/logout").await;
    page.is(200, "Sign out?");
    assert!(!page.text.contains("refresh"), "{page:?}");
    let form = page.forms().remove(0);
    assert_eq!(form.action, "/connect/logout");
    assert!(tab.has("porteiro"), "a link ends nothing");
    let done = tab.send(&form, &[]).await;
    done.is(200, "You are signed out");
    assert!(!tab.has("porteiro"), "{:?}", tab.cookies);
    tab.send(&form, &[]).await.is(200, "You are signed out");
    let page = tab.send(&form, &[("flow", "flw_x")]).await;
    page.is(404, "You are still signed in").link("/account");
    let page = tab.open("/connect/logout?state=a&state=b").await;
    page.is(400, "You are still signed in");
    server.stop().await;
}

#[tokio::test]
async fn without_screens_the_same_answers_are_plain() {
    let server = TestServer::open_in(crate::support::TestOptions {
        screens: false,
        ..crate::support::TestOptions::default()
    })
    .await;
    let tab = &mut Tab::new(&server);
    let missing = tab.get("/never-existed").await;
    missing.problem(404, "not_found");
    let page = tab.get("/connect/authorize?client_id=x").await.text();
    assert!(
        page.starts_with(
            "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\">\
        <title>This sign-in link cannot be used</title></head>\n<body>\n"
        ),
        "{page}"
    );
    let page = tab.get("/connect/logout").await.text();
    assert!(
        page.contains("<h1>You are signed out</h1>\n<p>You can close this page.</p>\n"),
        "{page}"
    );
    assert!(!page.contains("/assets/"), "{page}");
    server.stop().await;
}
