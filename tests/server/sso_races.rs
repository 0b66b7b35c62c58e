//! A new person comes by their provider while another request makes an account of the same address: there is one account
//! after it, and each caller has a clear answer.

use crate::{
    http::Answer,
    mails::{begin, mails, wait_for},
    scim_caller::{Scim, USER},
    sso_scene::{Scene, account_of, options, prove, session_of},
    support::{TestOptions, TestServer},
    zone_server::ZoneServer,
};
use porteiro::{
    domain::{external_identity::CONNECTION_IDENTITIES, membership::MEMBERS},
    http::SignUp,
};
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// How often it is raced: either may be first.
const ROUNDS: usize = 4;

async fn open() -> (Scene, TestServer) {
    let zone = ZoneServer::open().await;
    let sign_up = SignUp { open: true, proof_of_work_bits: 0 };
    let options_of_first = TestOptions { sign_up, ..options(&zone) };
    let scene = Scene::open_in(zone, options_of_first).await;
    prove(&scene.server, &scene.zone, ("acme", "acme.test")).await;
    let second = scene.server.beside(options(&scene.zone)).await;
    (scene, second)
}

impl Scene {
    /// A new person has signed in at the provider: the flow, and what the browser is sent back with.
    async fn arrives(&self, subject: &str, email: &str) -> (Value, String) {
        let flow = self.begin().await;
        let query = self.answer_to(&flow).await;
        self.provider.claim("sub", json!(subject));
        self.provider.claim("email", json!(email));
        (flow, query)
    }

    async fn count(&self, list: &'static str, owner: &str) -> usize {
        self.server.running().system().fresh_reads().count(list, owner, 100).await.unwrap()
    }
}

#[track_caller]
fn code(answer: &Answer) -> (u16, String) {
    let code = answer.json()["code"].as_str().unwrap_or_default().to_owned();
    (answer.status.as_u16(), code)
}

#[tokio::test]
async fn a_new_person_who_comes_twice_at_once_gets_one_account() {
    let (scene, second) = open().await;
    let before = scene.count(MEMBERS, "acme").await;
    let (subject, email) = ("nova", "nova@acme.test");
    let mut arrivals = Vec::new();
    for _ in 0..6 {
        arrivals.push(scene.arrives(subject, email).await);
    }
    let mut racers = JoinSet::new();
    for (number, (flow, query)) in arrivals.into_iter().enumerate() {
        let node = if number % 2 == 0 { *scene.server } else { *second };
        // In tests each node has an address of its own.
        let issuer = if number % 2 == 0 { scene.server.issuer() } else { second.issuer() };
        let callback = format!("{issuer}{}", scene.callback(&query));
        racers.spawn(async move { node.step(&flow, "sso", json!({ "callback": callback })).await });
    }
    let answers = racers.join_all().await;
    let codes: Vec<_> = answers.iter().map(code).collect();
    assert!(codes.iter().all(|(status, _)| *status == 200), "{codes:?}");
    for answer in &answers {
        session_of(answer);
    }
    assert!(account_of(&scene.server, email).await.is_some());
    assert_eq!(scene.count(CONNECTION_IDENTITIES, &scene.connection).await, 1);
    assert_eq!(scene.count(MEMBERS, "acme").await, before + 1);
}

#[tokio::test]
async fn a_new_person_and_their_directory_make_one_account() {
    let (scene, second) = open().await;
    let scim = Scim::by(*second, "acme", &Scim::of(&scene.server, "acme").await.key);
    let mut seen = Vec::new();
    for round in 0..ROUNDS {
        let (subject, email) = (format!("subject-{round}"), format!("nova{round}@acme.test"));
        let before = scene.count(MEMBERS, "acme").await;
        let (flow, query) = scene.arrives(&subject, &email).await;
        let user = json!({ "schemas": [USER], "userName": email });
        let (came, made) = tokio::join!(scene.bring(&flow, &query), scim.post("/Users", &user));
        let came = code(&came);
        assert!(
            [(200, ""), (403, "identity_not_linked")].contains(&(came.0, &*came.1)),
            "{came:?}"
        );
        assert!([201, 409].contains(&made.status.as_u16()), "{made:?}");
        assert!(account_of(&scene.server, &email).await.is_some(), "{round}");
        assert_eq!(scene.count(MEMBERS, "acme").await, before + 1, "{round}: {came:?} {made:?}");
        let accounts = scene.count(CONNECTION_IDENTITIES, &scene.connection).await;
        seen.push((came.0, accounts));
    }
    // Whoever was first, nothing is linked but what the provider itself has made.
    let came = seen.iter().filter(|(status, _)| *status == 200).count();
    assert_eq!(seen.last().map(|(_, linked)| *linked), Some(came), "{seen:?}");
}

#[tokio::test]
async fn a_new_person_and_one_who_signs_up_make_one_account() {
    let (scene, second) = open().await;
    let server = &scene.server;
    for round in 0..ROUNDS {
        let (subject, email) = (format!("subject-{round}"), format!("nova{round}@acme.test"));
        let sign_up = begin(server, "sign_up").await;
        server.step(&sign_up, "profile", json!({ "email": email })).await;
        let before = mails(server).await.len();
        assert_eq!(server.step(&sign_up, "email_code/send", json!({})).await.status, 200);
        let mail = wait_for(server, before + 1).await.swap_remove(0);
        let proof = json!({ "code": crate::mails::code(&mail) });
        let proved = server.step(&sign_up, "email_code", proof).await.json();
        assert_eq!(proved["state"], "credential", "{proved}");
        let (flow, query) = scene.arrives(&subject, &email).await;
        let path = format!("/flows/{}/skip", sign_up["id"].as_str().unwrap());
        let nothing = json!({});
        let (came, made) =
            tokio::join!(scene.bring(&flow, &query), second.post_json(&path, &nothing, &[]));
        let (came, made) = (code(&came), code(&made));
        let pair = ((came.0, &*came.1), (made.0, &*made.1));
        let clear = [((200, ""), (409, "email_taken")), ((403, "identity_not_linked"), (200, ""))];
        assert!(clear.contains(&pair), "{round}: {pair:?}");
        assert!(account_of(server, &email).await.is_some());
    }
}
