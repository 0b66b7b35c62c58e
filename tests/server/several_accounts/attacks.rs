//! What forged, former and foreign tokens are worth, and what a browser may hold at most.

use super::{ANA, BRUNO, CLARA, SELECT, browser, emails, id, is_open, server};
use crate::{
    browser::Browser,
    person::{PASSWORD, text},
    shared::eventually,
};
use serde_json::json;

#[tokio::test]
async fn accounts_are_told_to_the_holder_of_their_cookies_alone() {
    let server = server().await;
    let mut browser = browser(&server, &[ANA, BRUNO]).await;
    let asked = browser.authorize("web", &[SELECT]).await.json();
    let path = format!("/flows/{}", text(&asked["id"]));
    assert_eq!(emails(&browser.get(&path).await.json()), [BRUNO, ANA]);
    // The browser that began it, without its sessions.
    let key = browser.cookies.iter().filter(|one| one.starts_with("porteiro-browser="));
    let mut bare = Browser { server: &server, cookies: key.cloned().collect() };
    let seen = bare.get(&path).await;
    assert_eq!((seen.status.as_u16(), emails(&seen.json()).len()), (200, 0), "{seen:?}");
    let ana = id(&asked, ANA);
    bare.choose(&asked, &ana).await.problem(409, "account_not_held");
    // Another browser, with sessions of its own.
    let mut other = super::browser(&server, &[CLARA]).await;
    other.get(&path).await.problem(403, "wrong_channel");
    other.choose(&asked, &ana).await.problem(403, "wrong_channel");
    let own = other.authorize("web", &[SELECT]).await.json();
    for foreign in [ana.as_str(), "", "../ana", &"a".repeat(5_000), "ana@acme.test"] {
        other.choose(&own, foreign).await.problem(409, "account_not_held");
    }
    for malformed in [json!({}), json!({ "account": 1 }), json!({ "account": null })] {
        other.step(&own, "account", malformed).await.problem(400, "invalid_request");
    }
    // A flow that does not ask for an account takes none.
    let plain = other.authorize("web", &[("prompt", "login")]).await.json();
    other.choose(&plain, &id(&own, CLARA)).await.problem(409, "step_not_available");
    server.stop().await;
}

#[tokio::test]
async fn a_session_that_has_ended_is_neither_shown_nor_chosen() {
    let server = server().await;
    let mut browser = browser(&server, &[ANA, BRUNO]).await;
    let of_ana = browser.cookie("porteiro-others");
    let asked = browser.authorize("web", &[SELECT]).await.json();
    let ana = id(&asked, ANA);
    let ended = crate::me::delete_in(&server, &of_ana, "/me/sessions").await;
    assert_eq!(ended.status, 204);
    browser.choose(&asked, &ana).await.problem(409, "account_not_held");
    eventually("it is shown no more", async || {
        let path = format!("/flows/{}", text(&asked["id"]));
        emails(&browser.get(&path).await.json()) == [BRUNO]
    })
    .await;
    // To sign in to it again adds it again.
    browser.step(&asked, "identifier", json!({ "identifier": ANA })).await;
    let done = browser.step(&asked, "password", json!({ "password": PASSWORD })).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    assert_eq!(browser.acts_as().await.as_deref(), Some(ANA));
    server.stop().await;
}

#[tokio::test]
async fn a_session_that_ends_between_the_choice_and_the_consent_gives_no_code_and_begins_no_other()
{
    let server = server().await;
    let mut browser = browser(&server, &[ANA, BRUNO]).await;
    let of_ana = browser.cookie("porteiro-others");
    for forgets in [false, true] {
        let asked = browser.authorize("app", &[SELECT]).await.json();
        let consent = browser.choose(&asked, &id(&asked, ANA)).await.json();
        assert_eq!(consent["state"], "consent", "{consent}");
        let before = browser.cookies.clone();
        if forgets {
            let ended = crate::me::delete_in(&server, &of_ana, "/me/sessions").await;
            assert_eq!(ended.status, 204);
        } else {
            browser.set("porteiro-others", "");
        }
        let late = browser.step(&asked, "consent", json!({ "decision": "allow" })).await;
        late.problem(401, "session_over");
        assert!(!late.text().contains("code="));
        browser.cookies = before;
    }
    server.stop().await;
}

#[tokio::test]
async fn a_browser_holds_eight_sessions_and_the_one_that_finds_no_place_ends() {
    let server = server().await;
    let people: Vec<String> = (0..9).map(|number| format!("p{number}@acme.test")).collect();
    let account =
        |email: &String| format!("[[account]]\nemail = \"{email}\"\npassword = \"{PASSWORD}\"\n");
    server.apply(&people.iter().map(account).collect::<String>()).await;
    let mut browser = browser(&server, &[]).await;
    let mut tokens = Vec::new();
    for email in &people {
        browser.sign_in(email).await;
        tokens.push(browser.cookie("porteiro"));
    }
    let others = browser.cookie("porteiro-others");
    let kept: Vec<&str> = others.split('.').collect();
    let latest: Vec<&str> = tokens[1..8].iter().rev().map(String::as_str).collect();
    assert_eq!(kept, latest, "the one that was current last comes first");
    eventually("the first one is ended", async || !is_open(&server, &tokens[0]).await).await;
    assert!(is_open(&server, &tokens[1]).await);
    let asked = browser.authorize("web", &[SELECT]).await.json();
    assert_eq!(emails(&asked).len(), 8);
    // More than there may be are not looked at.
    browser.set("porteiro-others", &format!("{others}.{}", server.sign_in(ANA).await));
    let asked = browser.authorize("web", &[SELECT]).await.json();
    assert!(!emails(&asked).contains(&ANA), "{asked}");
    server.stop().await;
}

#[tokio::test]
async fn forged_former_and_foreign_tokens_are_worth_nothing_and_leave_the_cookie() {
    let server = server().await;
    let mut browser = browser(&server, &[ANA, BRUNO]).await;
    let good = browser.cookie("porteiro-others");
    let (head, last) = good.split_at(good.len() - 1);
    let altered = format!("{head}{}", if last == "A" { "B" } else { "A" });
    let tokens = server.tokens(CLARA, "web", "openid offline_access").await;
    let ended = server.sign_in(CLARA).await;
    crate::me::delete_in(&server, &ended, "/me/sessions").await;
    let current = browser.cookie("porteiro");
    for worthless in [
        "pss_",
        "x",
        "....",
        "pss_..pss_",
        &"A".repeat(4_000),
        &"a.".repeat(2_000),
        &"A".repeat(60_000),
        &altered,
        text(&tokens["refresh_token"]),
        &ended,
        // The current one is no other.
        &current,
        &format!("{current}.{current}"),
    ] {
        browser.set("porteiro-others", worthless);
        let asked = browser.authorize("web", &[SELECT]).await;
        if worthless.len() > 50_000 {
            assert!(asked.status.is_client_error(), "{asked:?}");
            continue;
        }
        assert_eq!(emails(&asked.json()), [BRUNO], "{worthless:.60}: {asked:?}");
    }
    // Whatever a caller has planted, a sign-in draws tokens of its own and writes what is good.
    browser.set("porteiro-others", &format!("{altered}.{good}.{ended}.x"));
    browser.set("porteiro", "pss_planted");
    browser.sign_in(CLARA).await;
    assert_ne!(browser.cookie("porteiro"), "pss_planted");
    assert_eq!(browser.cookie("porteiro-others"), good);
    // The former token of a session that was renewed is none, and ends nothing.
    browser.sign_in(ANA).await;
    let renewed = browser.cookie("porteiro");
    let mut thief = super::browser(&server, &[BRUNO]).await;
    thief.set("porteiro-others", &good);
    let asked = thief.authorize("web", &[SELECT]).await.json();
    assert_eq!(emails(&asked), [BRUNO]);
    assert!(is_open(&server, &renewed).await);
    server.stop().await;
}

#[tokio::test]
async fn a_caller_that_names_its_session_has_one_whatever_its_cookies_say() {
    let server = server().await;
    let (of_ana, of_bruno) = (server.sign_in(ANA).await, server.sign_in(BRUNO).await);
    let others = format!("porteiro-others={of_bruno}");
    let headers = [
        ("accept", "application/json"),
        ("x-session-token", of_ana.as_str()),
        ("cookie", others.as_str()),
    ];
    let asked = server.authorize_with("web", &[SELECT], &headers).await.json();
    assert_eq!(emails(&asked), [ANA], "{asked}");
    let path = format!("/flows/{}/account", text(&asked["id"]));
    let bruno = crate::passkeys::id_of(&server, BRUNO).await;
    let foreign = server.post_json(&path, &json!({ "account": bruno }), &headers).await;
    foreign.problem(409, "account_not_held");
    let done = server.post_json(&path, &json!({ "account": id(&asked, ANA) }), &headers).await;
    assert_eq!(done.json()["state"], "done", "{done:?}");
    assert!(done.header("set-cookie").is_none(), "a program keeps no cookies");
    // Who signs in as another there leaves the former session.
    let flow =
        server.post_json("/flows", &json!({ "kind": "sign_in" }), &headers[1..2]).await.json();
    let step = |name: &str| format!("/flows/{}/{name}", text(&flow["id"]));
    server.post_json(&step("identifier"), &json!({ "identifier": CLARA }), &headers[1..2]).await;
    let password = json!({ "password": PASSWORD });
    let done = server.post_json(&step("password"), &password, &headers[1..2]).await.json();
    let of_clara = text(&done["result"]["session_token"]);
    eventually("the former is ended", async || !is_open(&server, &of_ana).await).await;
    assert!(is_open(&server, of_clara).await && is_open(&server, &of_bruno).await);
    server.stop().await;
}

#[tokio::test]
async fn no_page_of_another_site_chooses_an_account() {
    let server = server().await;
    let mut browser = browser(&server, &[ANA, BRUNO]).await;
    let asked = browser.authorize("web", &[SELECT]).await.json();
    let path = format!("/flows/{}/account", text(&asked["id"]));
    let cookies = browser.cookies.join("; ");
    let body = json!({ "account": id(&asked, ANA) });
    for foreign in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")] {
        let headers = [foreign, ("cookie", cookies.as_str())];
        server.post_json(&path, &body, &headers).await.problem(403, "foreign_origin");
    }
    server.stop().await;
}

#[tokio::test]
async fn cookies_of_other_sessions_are_for_us_alone() {
    let server = server().await;
    let mut browser = browser(&server, &[ANA]).await;
    let done = browser.password(BRUNO, PASSWORD).await;
    let set = done.headers.get_all("set-cookie").iter().map(|one| one.to_str().unwrap());
    let others = set.into_iter().find(|one| one.starts_with("porteiro-others=")).unwrap();
    for part in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=2592000"] {
        assert!(others.contains(part), "{others}");
    }
    assert!(!done.text().contains("pss_"), "no script reads a token");
    server.stop().await;
}
