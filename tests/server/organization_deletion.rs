//! An organization is deleted by one of its administrators: suspended at once, erased after thirty days, and until then
//! taken back by the operator (adr/0136).

use crate::{
    api_caller::{Api, DIRECTORY, EVERYTHING},
    binary::porteiro,
    http::Answer,
    impersonation::sofia,
    me::{get_in, records},
    page_forms::{LANGUAGES, Visitor, open_in},
    person::{parameter, redirect, text},
    scim_caller::Scim,
    shared::eventually,
    step_up::code,
    support::{TestOptions, TestServer},
};
use hyper::Method;
use porteiro::{
    actors::{JanitorOptions, hydrate},
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
    },
    domain::{
        Clock as _, Context,
        account::EMAIL_ADDRESSES,
        client::ORGANIZATION_CLIENTS,
        connection::{self, CONNECTIONS, Connection},
        consent::CONSENTS,
        domain_claim::DOMAINS,
        external_identity::{self, ACCOUNT_IDENTITIES, Cause, ExternalIdentity, Linked},
        invitation::INVITATIONS,
        membership::{self, MEMBERS, Membership, pair},
        organization::{Command, LEASE, ORGANIZATION_DELETIONS, ORGANIZATIONS, Organization},
        upstream::Kind,
        webhook::WEBHOOKS,
    },
    provisioning::{OrganizationChange, OrganizationError, change_organization},
    system::Workbench,
};
use serde_json::{Value, json};
use std::{process::Output, sync::Arc, time::Duration};

const ACME: &str = "/api/organizations/acme";
const DAY: Duration = Duration::from_hours(24);

/// Sofia administers acme and has a second factor; Vera belongs to both organizations.
const MORE: &str = r#"
[[organization]]
slug = "acme"
impersonation = true
  [[organization.domain]]
  domain = "acme.test"

[[client]]
client_id = "agent"
client_secret = "a-secret-of-more-than-thirty-two-characters"
grant_types = ["token-exchange"]

[[account]]
email = "sofia@acme.test"
password = "correct horse battery staple"
totp_secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
memberships = [{ organization = "acme", roles = ["administrator", "clerk"] }]

[[account]]
email = "carla@acme.test"
password = "correct horse battery staple"
memberships = [{ organization = "acme", roles = ["clerk"] }]

[[account]]
email = "vera@acme.test"
password = "correct horse battery staple"
memberships = [
    { organization = "acme", roles = ["clerk"] },
    { organization = "other", roles = ["administrator"] },
]
"#;

fn options() -> TestOptions {
    let janitor = JanitorOptions {
        every: Duration::from_millis(10),
        anchor_every: Duration::from_mins(10),
        keep_log: None,
    };
    TestOptions { janitor, mailbox: true, ..TestOptions::default() }
}

async fn scene(options: TestOptions) -> TestServer {
    let server = TestServer::open_in(options).await;
    server.apply(DIRECTORY).await;
    server.apply(MORE).await;
    server
}

async fn delete(api: &Api<'_>, headers: &[(&str, &str)]) -> Answer {
    api.call(Method::DELETE, ACME, None, headers).await
}

const WHY: [(&str, &str); 1] = [("x-reason", "the company is closed")];

fn run(server: &TestServer, arguments: &[&str]) -> Output {
    let keys = server.keys();
    let mut command = porteiro(&keys, arguments);
    let command = command.env("PORTEIRO_STORE__URL", &server.url);
    command.env("PORTEIRO_KEYS__DIR", &keys).output().unwrap()
}

fn said(output: &Output) -> String {
    let texts = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    texts.concat()
}

async fn account(server: &TestServer, email: &str) -> String {
    let store = server.running().system().store();
    store.find(EMAIL_ADDRESSES, email).await.unwrap().expect("an account").1
}

async fn organization(server: &TestServer) -> Organization {
    hydrate::<Organization>(server.running().system().store(), "acme").await.unwrap().machine
}

/// Enables acme as the operator's command does, at the time of the server.
async fn enable(server: &TestServer) -> Result<bool, OrganizationError> {
    let folder = Folder::load(&server.keys(), DevKeys::Accepted).unwrap();
    let (clock, dice) = (server.clock.clone(), Arc::new(SystemDice));
    let workbench = Workbench::open(&server.url, &folder, clock, dice).await.unwrap();
    let done = change_organization(&workbench, "acme", OrganizationChange::Enable).await;
    workbench.close().await;
    done
}

async fn members(server: &TestServer) -> usize {
    server.running().system().fresh_reads().count(MEMBERS, "acme", 1_000).await.unwrap()
}

async fn is_erased(server: &TestServer) -> bool {
    matches!(organization(server).await, Organization::Erased { .. })
}

/// Gives acme a key, a webhook, an invitation, a client, a consent, and a connection with an identity that has signed in.
async fn furnish(server: &TestServer, api: &Api<'_>) -> String {
    let carla = server.sign_in("carla@acme.test").await;
    let asked = [("scope", "openid invoices:read"), ("organization", "acme")];
    let flow = server.authorize_in(&carla, "app", &asked).await.json();
    if flow["state"] == "consent" {
        server.step_in(&carla, &flow, "consent", json!({ "decision": "allow" })).await;
    }
    for (path, body) in [
        ("webhooks", json!({ "url": "https://hooks.acme.test/", "events": ["membership.*"] })),
        ("invitations", json!({ "email": "new@acme.test", "roles": ["clerk"] })),
        ("clients", json!({ "client_name": "Shop", "redirect_uris": ["https://shop.test/cb"] })),
    ] {
        let made = api.post(&format!("{ACME}/{path}"), &body).await;
        assert_eq!(made.status, 201, "{path}: {made:?}");
    }
    let key = api
        .post(&format!("{ACME}/apikeys"), &json!({ "name": "k", "permissions": ["audit:read"] }))
        .await;
    let carla = account(server, "carla@acme.test").await;
    let mut commit = server.running().system().multi_commit(&Context::node());
    let draft = connection::Draft {
        id: "c1".to_owned(),
        organization: Some("acme".to_owned()),
        name: Some("Acme Entra".to_owned()),
        kind: Some(Kind::Oidc),
        issuer: Some("https://login.acme.test".to_owned()),
        client_id: Some("porteiro".to_owned()),
        ..connection::Draft::default()
    };
    let provision = connection::Command::Provision(Box::new(draft));
    commit.decide::<Connection>("c1", &provision).await.unwrap().unwrap();
    let linked = Linked {
        id: "i1".to_owned(),
        account: carla.clone(),
        organization: Some("acme".to_owned()),
        connection: "c1".to_owned(),
        subject: "carla-upstream".to_owned(),
        linked_at: server.clock.now(),
    };
    let link = external_identity::Command::Link { linked: Box::new(linked), cause: Cause::Person };
    commit.decide::<ExternalIdentity>("i1", &link).await.unwrap().unwrap();
    commit.commit().await.unwrap();
    text(&key.json()["key"]).to_owned()
}

/// Lists what is left in the lists of acme, and of Carla for acme.
async fn left(server: &TestServer, carla: &str) -> Vec<(&'static str, usize)> {
    let reads = server.running().system().fresh_reads();
    let mut left = Vec::new();
    let own = [MEMBERS, WEBHOOKS, INVITATIONS, ORGANIZATION_CLIENTS, DOMAINS, CONNECTIONS];
    for (list, owner) in own
        .map(|list| (list, "acme"))
        .into_iter()
        .chain([(ACCOUNT_IDENTITIES, carla), (CONSENTS, carla)])
    {
        let count = reads.count(list, owner, 100).await.unwrap();
        left.extend((count > 0).then_some((list, count)));
    }
    left
}

#[tokio::test]
async fn only_a_person_with_two_factors_and_a_reason_deletes_an_organization() {
    let server = scene(options()).await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    delete(&rita, &WHY).await.problem(403, "step_up_required");
    let otto = Api::of(&server, "otto@other.test", EVERYTHING).await;
    delete(&otto, &WHY).await.problem(403, "other_organization");
    let reader = Api::of(&server, "rita@acme.test", "organizations:read audit:read").await;
    delete(&reader, &WHY).await.problem(403, "permission_required");
    let (_, sofia) = sofia(&server).await;
    for wrong in [&[][..], &[("x-reason", "")], &[("x-reason", "ask ana@acme.test")]] {
        delete(&sofia, wrong).await.problem(400, "reason_required");
    }
    let body = json!({ "name": "k", "permissions": ["organizations:write"] });
    let key = sofia.post(&format!("{ACME}/apikeys"), &body).await.json();
    let key = Api { server: &server, token: text(&key["key"]).to_owned(), reason: None };
    delete(&key, &WHY).await.problem(403, "person_required");
    assert_eq!(key.get(&format!("{ACME}/export")).await.status, 200, "a key may read it");
    // A token that another party holds for the person deletes nothing, however the person has signed in.
    let held = server.exchanged("agent", &sofia.token, "organizations:write").await;
    let agent = Api { server: &server, token: held, reason: None };
    delete(&agent, &WHY).await.problem(403, "person_required");
    assert!(organization(&server).await.known().unwrap().enabled, "nothing has happened");
    server.stop().await;
}

#[tokio::test]
async fn a_deleted_organization_confers_nothing_from_the_next_request_on_and_can_be_taken_back() {
    let server = scene(options()).await;
    let other = server.beside(options()).await;
    let (session, api) = sofia(&server).await;
    let key = furnish(&server, &api).await;
    let scim = Scim::of(&server, "acme").await;
    let tokens = server.tokens("carla@acme.test", "web", "openid invoices:read").await;
    let half = server
        .post_json("/flows", &json!({ "kind": "sign_in", "organization": "acme" }), &[])
        .await
        .json();
    let answer = delete(&api, &WHY).await;
    assert_eq!(answer.status, 202, "{answer:?}");
    let erased_at = text(&answer.json()["erased_at"]).to_owned();
    // On this node and on another.
    for node in [&server, &other] {
        let by = |token: &str| Api { server: node, token: token.to_owned(), reason: None };
        by(&api.token).get(ACME).await.problem(401, "invalid_token");
        by(&key).get(&format!("{ACME}/audit")).await.problem(403, "organization_suspended");
    }
    delete(&api, &WHY).await.problem(401, "invalid_token");
    assert!(scim.get("/Users").await.status.as_u16() >= 401, "a directory is refused");
    let refreshed = server.refresh("web", text(&tokens["refresh_token"])).await;
    assert_eq!(refreshed.json()["error"], "invalid_grant", "{refreshed:?}");
    // The person is still one.
    assert_eq!(get_in(&server, &session, "/me").await.status, 200);
    server.step(&half, "identifier", json!({ "identifier": "carla@acme.test" })).await;
    let requested = records(&server, "organization.deletion_requested").await;
    assert_eq!(requested[0]["context"]["reason"], "the company is closed", "{requested:?}");
    // No file takes it back, nor changes it.
    for file in ["enabled = true\n", "name = \"Acme again\"\n"] {
        let file = format!("[[organization]]\nslug = \"acme\"\n{file}");
        let refused = crate::support::apply(&server.url, &server.keys(), &file).await;
        let why = format!("{:?}", refused.unwrap_err());
        assert!(why.contains("organization enable"), "{why}");
    }
    let shown: Value =
        serde_json::from_slice(&run(&server, &["organization", "show", "acme", "--json"]).stdout)
            .unwrap();
    assert_eq!((&shown["enabled"], &shown["erased_at"]), (&json!(false), &json!(erased_at)));
    // The last moment at which it can be.
    server.clock.advance((DAY * 30).checked_sub(Duration::from_millis(1)).unwrap());
    server.quiet().await;
    assert!(enable(&server).await.unwrap());
    server.clock.expire_views();
    server.clock.advance(DAY * 2);
    server.quiet().await;
    let known = organization(&server).await.known().cloned().unwrap();
    assert!(known.enabled && known.deletion.is_none());
    assert_eq!(records(&server, "organization.deletion_cancelled").await.len(), 1);
    let carla = Api::asked(&server, "carla@acme.test", "invoices:read", "acme").await;
    assert!(carla.is_some(), "members go on");
    let by_old_key = Api { server: &server, token: key, reason: None };
    assert!(
        by_old_key.get(&format!("{ACME}/audit")).await.status.as_u16() >= 401,
        "what was issued stays ended"
    );
    other.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn after_thirty_days_an_organization_is_erased_and_its_slug_is_not_used_again() {
    let server = scene(options()).await;
    let (_, api) = sofia(&server).await;
    let key = furnish(&server, &api).await;
    let carla = account(&server, "carla@acme.test").await;
    let vera = account(&server, "vera@acme.test").await;
    assert!(left(&server, &carla).await.len() >= 7, "{:?}", left(&server, &carla).await);
    let store = server.running().system().store();
    let found = store.find("membership_pairs", &pair(&carla, "acme")).await.unwrap();
    let membership = found.unwrap().1;
    let count = members(&server).await;
    assert_eq!(delete(&api, &WHY).await.status, 202);
    server.clock.advance(DAY * 30);
    assert!(enable(&server).await.is_err(), "it is too late");
    eventually("the organization to be erased", async || is_erased(&server).await).await;
    assert_eq!(left(&server, &carla).await, [], "nothing is left");
    let reads = server.running().system().fresh_reads();
    assert_eq!(reads.count(ORGANIZATION_DELETIONS, "", 9).await.unwrap(), 0);
    let removed = hydrate::<Membership>(store, &membership).await.unwrap().machine;
    assert!(matches!(removed, Membership::Removed { .. }), "{removed:?}");
    let row = store.load("organization", "acme").await.unwrap().unwrap();
    assert!(!row.state.contains("clerk"), "{}", row.state);
    let by_key = Api { server: &server, token: key, reason: None };
    by_key.get(&format!("{ACME}/audit")).await.problem(401, "invalid_token");
    // People and other organizations stay, and so does what the log says.
    let session = server.sign_in("carla@acme.test").await;
    assert_eq!(get_in(&server, &session, "/me/organizations").await.json()["items"], json!([]));
    let others = store.find("membership_pairs", &pair(&vera, "other")).await.unwrap();
    assert!(others.is_some(), "Vera still belongs to the other organization");
    for (event, count) in [("organization.deleted", 1), ("membership.removed", count)] {
        let found = records(&server, event).await;
        assert_eq!(found.len(), count, "{event}: {found:?}");
        assert_eq!(found[0]["context"]["actor"]["type"], "node");
    }
    let trail = run(&server, &["log", "list", "--organization", "acme", "--json"]);
    assert!(said(&trail).contains("organization.deletion_requested"), "{}", said(&trail));
    let listed = run(&server, &["organization", "list"]);
    assert!(!said(&listed).contains("acme"), "{}", said(&listed));
    assert_eq!(reads.count(ORGANIZATIONS, "", 9).await.unwrap(), 1, "the other one");
    // The slug is not used again, by whatever way.
    let file = "[[organization]]\nslug = \"acme\"\nenabled = true\n";
    let refused = crate::support::apply(&server.url, &server.keys(), file).await.unwrap_err();
    assert!(format!("{refused:?}").contains("never used again"), "{refused:?}");
    for arguments in [["organization", "create", "acme"], ["organization", "enable", "acme"]] {
        let refused = run(&server, &arguments);
        assert_eq!(refused.status.code(), Some(1), "{}", said(&refused));
        assert!(said(&refused).contains("never used again"), "{}", said(&refused));
    }
    server.administers("vera@acme.test", true).await;
    let scope = "organizations:administer organizations:read";
    let vera = Api::of_organization(&server, "vera@acme.test", scope, "other").await;
    let again = Api { reason: Some("again"), ..vera };
    let again = again.post("/api/organizations", &json!({ "slug": "acme" })).await;
    again.problem(409, "exists");
    // Nor does anything that may name an organization bring it back.
    let asked = [("scope", "openid"), ("organization", "acme")];
    let refused = redirect(&server.authorize_in(&session, "web", &asked).await);
    assert_eq!(parameter(&refused, "error").as_deref(), Some("access_denied"), "{refused}");
    for kind in ["sign_in", "sign_up"] {
        let flow = json!({ "kind": kind, "organization": "acme" });
        let _begun = server.post_json("/flows", &flow, &[]).await;
    }
    assert!(is_erased(&server).await);
    server.stop().await;
}

#[tokio::test]
async fn an_erasure_that_broke_off_is_finished_by_another_node_when_the_lease_is_over() {
    let asleep = JanitorOptions { every: Duration::from_hours(1), ..options().janitor };
    let server = scene(TestOptions { janitor: asleep, ..options() }).await;
    let (_, api) = sofia(&server).await;
    furnish(&server, &api).await;
    // More than one commit can end.
    let many: String = (0..130).fold(String::new(), |file, number| {
        let entry = "memberships = [{ organization = \"acme\", roles = [\"clerk\"] }]";
        format!("{file}[[account]]\nemail = \"m{number}@acme.test\"\n{entry}\n")
    });
    server.apply(&many).await;
    let carla = account(&server, "carla@acme.test").await;
    let store = server.running().system().store();
    let vera = account(&server, "vera@acme.test").await;
    let found = store.find("membership_pairs", &pair(&vera, "acme")).await.unwrap();
    let count = members(&server).await;
    assert!(count > 130);
    assert_eq!(delete(&api, &WHY).await.status, 202);
    server.clock.advance(DAY * 31);
    // A node takes the lease, ends a little of it, and dies.
    let mut commit = server.running().system().multi_commit(&Context::node());
    let begun = commit.decide::<Organization>("acme", &Command::BeginErasure).await.unwrap();
    assert!(begun.is_ok());
    let erase = membership::Command::Erase;
    let ended = commit.decide::<Membership>(&found.unwrap().1, &erase).await.unwrap();
    assert!(ended.is_ok());
    commit.commit().await.unwrap();
    let other = server.beside(options()).await;
    server.clock.advance(LEASE.checked_sub(Duration::from_secs(1)).unwrap());
    other.quiet().await;
    assert_eq!(members(&other).await, count - 1, "the lease holds");
    server.clock.advance(Duration::from_secs(1));
    eventually("the organization to be erased", async || is_erased(&other).await).await;
    assert_eq!(left(&other, &carla).await, []);
    other.stop().await;
    server.stop().await;
}

/// Sends the form of the deletion with what a person types into it.
async fn type_deletion(visitor: &mut Visitor<'_>, confirmation: &str, reason: &str) {
    let form = visitor.form("deleteOrganization");
    let typed = [("confirmation", confirmation), ("reason", reason)];
    let hidden = form.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let hidden = hidden.filter(|(name, _)| !["confirmation", "reason"].contains(name));
    let fields: Vec<(&str, &str)> = hidden.chain(typed).collect();
    visitor.submit(&form.action, &fields).await;
    visitor.follow().await;
}

#[tokio::test]
async fn a_person_downloads_and_deletes_an_organization_on_its_page() {
    const AT: &str = "/organization?organization=acme&section=data";
    for language in LANGUAGES {
        let server = open_in(options()).await;
        server.apply(DIRECTORY).await;
        server.apply(MORE).await;
        // With one factor it is refused, and the page says what is missing.
        let begin = ("/organization", AT);
        let mut rita = Visitor::signed_in(&server, language, "rita@acme.test", begin).await;
        type_deletion(&mut rita, "acme", "closed").await;
        let factors = rita.in_words("This needs two factors", "Isto exige dois fatores");
        assert!(rita.says(factors), "{}", rita.html());
        let mut sofia = Visitor::open(&server, language, AT).await;
        sofia.sign_in("sofia@acme.test").await;
        sofia.send("totp", &[("code", &code(server.clock.now()))]).await;
        sofia.go(AT).await;
        for (confirmation, reason, english, portuguese) in
            [("other", "closed", "Short name", "Nome curto"), ("acme", "", "Why", "Motivo")]
        {
            type_deletion(&mut sofia, confirmation, reason).await;
            assert!(sofia.says(sofia.in_words(english, portuguese)), "{}", sofia.html());
            assert!(organization(&server).await.known().unwrap().enabled);
        }
        let mut file = sofia.tab(AT).await;
        file.go(&file.link(&format!("{AT}&export="))).await;
        assert!(file.html().contains("slug = \"acme\""), "{}", file.html());
        type_deletion(&mut sofia, " acme ", "A empresa acabou: não há razão").await;
        assert!(organization(&server).await.known().unwrap().deletion.is_some());
        assert_eq!(sofia.answer.status, 200, "that it is suspended: {}", sofia.html());
        let requested = records(&server, "organization.deletion_requested").await;
        assert_eq!(requested[0]["context"]["reason"], "A empresa acabou: não há razão");
        server.stop().await;
    }
}
