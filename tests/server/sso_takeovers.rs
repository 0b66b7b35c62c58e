//! Takeovers of accounts through a provider, each by its name: what the attacker does, and that it comes to nothing.
//! Mix-up, login CSRF and code injection in a sign-in are in `sso_callback`; what a provider proves for others in
//! `sso_attacks`.

use crate::{
    http::Answer,
    me::get_in,
    person::text,
    screens_sign_in::signed_in,
    sso_scene::{
        SUBJECT, Scene, account_of, connect, draft, link, link_in, parameters, session_of,
    },
    tab::Tab,
    upstream_provider::Provider,
};
use hyper::Method;
use porteiro::domain::connection::Draft;
use serde_json::{Value, json};

const ANA: &str = "ana@acme.test";
const BRUNO: &str = "bruno@acme.test";
const NOVA: &str = "nova@acme.test";

/// Signs in as the provider says now, and returns the id of the account.
async fn account(scene: &Scene) -> Result<String, (u16, String)> {
    let answer = scene.sign_on().await;
    if answer.status != 200 {
        return Err((answer.status.as_u16(), text(&answer.json()["code"]).to_owned()));
    }
    let me = get_in(&scene.server, &session_of(&answer), "/me").await.json();
    Ok(text(&me["sub"]).to_owned())
}

/// A person as the provider says.
fn says(scene: &Scene, subject: &str, email: &str) {
    scene.provider.claim("sub", json!(subject));
    scene.provider.claim("email", json!(email));
    scene.provider.claim("email_verified", json!(true));
}

fn refused(code: &str) -> Result<String, (u16, String)> {
    Err((403, code.to_owned()))
}

async fn identities(scene: &Scene, session: &str) -> usize {
    let listed = get_in(&scene.server, session, "/me/identities").await.json();
    listed["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_subject_that_a_provider_changes_leads_to_no_account_that_was_there() {
    let scene = Scene::proved().await;
    says(&scene, "nova", NOVA);
    let nova = account(&scene).await.unwrap();
    // The same address, and each likeness of the subject.
    for other in ["Nova", "nova ", " nova", "nova2", "nova nova", "nov"] {
        says(&scene, other, NOVA);
        assert_eq!(account(&scene).await, refused("identity_not_linked"), "{other}");
    }
    // A subject that holds what parts a name of ours.
    says(&scene, &format!("{} nova", scene.connection), "eva@acme.test");
    assert_ne!(account(&scene).await.as_ref(), Ok(&nova));
    says(&scene, "nova", NOVA);
    assert_eq!(account(&scene).await, Ok(nova));
}

#[tokio::test]
async fn an_address_that_a_provider_gives_to_another_person_brings_no_account_with_it() {
    let scene = Scene::proved().await;
    says(&scene, "nova", NOVA);
    let nova = account(&scene).await.unwrap();
    // Nova has left, and a person who is new there has the address now.
    says(&scene, "newcomer", NOVA);
    assert_eq!(account(&scene).await, refused("identity_not_linked"));
    // Nova has another address there, which is another person's here.
    says(&scene, "nova", ANA);
    assert_eq!(account(&scene).await, Ok(nova.clone()));
    assert_ne!(account_of(&scene.server, ANA).await, Some(nova.clone()));
    assert_eq!(
        account_of(&scene.server, NOVA).await,
        Some(nova),
        "what it says changes no address"
    );
}

#[tokio::test]
async fn an_address_that_is_not_verified_or_another_companys_brings_no_account() {
    let scene = Scene::proved().await;
    for (email, verified) in [
        (NOVA, json!(false)),
        (NOVA, json!("false")),
        (NOVA, json!(0)),
        (ANA, json!(false)),
        ("eve@other.test", json!(true)),
        ("eve@acme.test.evil.test", json!(true)),
        ("eve@evil.test\u{2024}acme.test", json!(true)),
        ("otto@other.test", json!(true)),
    ] {
        says(&scene, "mallory", email);
        scene.provider.claim("email_verified", verified.clone());
        assert_eq!(account(&scene).await, refused("account_not_vouched"), "{email} {verified}");
    }
    assert_eq!(account_of(&scene.server, NOVA).await, None);
}

#[tokio::test]
async fn a_subject_of_one_provider_leads_nowhere_at_another() {
    let scene = Scene::proved().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, ANA).await;
    // Another provider of the same organization, and the same one of another organization.
    let second = Provider::start(server.clock.clone()).await;
    let named = Some("Second".to_owned());
    let beside = connect(server, Draft { name: named, ..draft(&second.issuer) }, Some("s")).await;
    let theirs = Draft { organization: Some("other".to_owned()), ..draft(&scene.provider.issuer) };
    let theirs = connect(server, theirs, Some("s")).await;
    for (slug, connection, provider) in
        [("acme", &beside, &second), ("other", &theirs, &scene.provider)]
    {
        let wish = json!({ "kind": "sign_in", "organization": slug });
        let flow = server.post_json("/flows", &wish, &[]).await.json();
        let asked = json!({ "connection": connection });
        let left = server.step(&flow, "sso/options", asked).await.json();
        let query = provider.authorize(&parameters(text(&left["redirect_to"])));
        let callback = format!("{}/connect/sso/{connection}/callback?{query}", server.issuer());
        let answer = server.step(&flow, "sso", json!({ "callback": callback })).await;
        assert_eq!(answer.status, 403, "{slug}: {answer:?}");
    }
    // Where the person has linked it there, it counts there alone.
    link_in(server, ("other", &theirs), SUBJECT, BRUNO).await;
    assert_ne!(account(&scene).await.ok(), account_of(server, BRUNO).await);
}

/// Brings an answer to a browser by a link from another site.
async fn lured(scene: &Scene, tab: &mut Tab<'_>, query: &str) -> Answer {
    scene.come_back(tab, query).await
}

#[tokio::test]
async fn a_link_that_is_forced_on_a_browser_links_nothing() {
    let scene = Scene::open().await;
    let server = &scene.server;
    let victim = &mut Tab::new(server);
    signed_in(victim, ANA).await;
    let own = server.sign_in(ANA).await;
    // The attacker begins to link at their own account, and brings the answer to the victim's browser, who is signed in.
    let attacker = server.sign_in(BRUNO).await;
    let wish = json!({ "kind": "link", "connection": scene.connection });
    let flow = server.post_json("/flows", &wish, &[("x-session-token", &attacker)]).await.json();
    let query = scene.answer_to(&flow).await;
    assert_eq!(lured(&scene, victim, &query).await.status, 400);
    // The attacker begins to sign in by the provider, and has the victim's browser end it.
    let flow = scene.begin().await;
    let query = scene.answer_to(&flow).await;
    assert_eq!(lured(&scene, victim, &query).await.status, 400);
    // A page of another site begins a link in the victim's name.
    for headers in [
        &[("origin", "https://evil.test")][..],
        &[("sec-fetch-site", "cross-site")],
        &[("origin", "https://evil.test"), ("sec-fetch-site", "cross-site")],
    ] {
        let cookies = victim.cookies.join("; ");
        let headers = [headers, &[("cookie", &*cookies)]].concat();
        let forced = server.post_json("/flows", &wish, &headers).await;
        assert_eq!(forced.status, 403, "{forced:?}");
        let path = "/account/security";
        let form = "step=link&connection=".to_owned() + &scene.connection;
        let headers =
            [&headers[..], &[("content-type", "application/x-www-form-urlencoded")]].concat();
        let forced = victim.request((Method::POST, path), &headers, form).await;
        assert_eq!(forced.status, 403, "{forced:?}");
    }
    // A link to us that begins a sign-in at the provider links nothing either, whoever is signed in there.
    let page = victim.open(&format!("/sign-in?connection={}", scene.connection)).await;
    let asked = parameters(&crate::sso_scene::moves_on_to(&page));
    let query = scene.provider.authorize(&asked);
    let back = lured(&scene, victim, &query).await;
    assert!(back.header("location").unwrap().contains("problem=account_not_vouched"), "{back:?}");
    assert_eq!(identities(&scene, &own).await, 0);
    assert_eq!(identities(&scene, &attacker).await, 0);
}

#[tokio::test]
async fn a_provider_does_not_take_the_deletion_of_an_account_back() {
    let scene = Scene::open().await;
    let server = &scene.server;
    link(server, &scene.connection, SUBJECT, ANA).await;
    let own = server.sign_in(ANA).await;
    assert_eq!(crate::me::delete_in(server, &own, "/me").await.status, 202);
    scene.sign_on().await.problem(401, "sso_refused");
    let still: Vec<Value> = crate::me::records(server, "account.deletion_cancelled").await;
    assert!(still.is_empty());
    // Its person does.
    let own = server.sign_in(ANA).await;
    assert_eq!(get_in(server, &own, "/me").await.status, 200);
    session_of(&scene.sign_on().await);
}
