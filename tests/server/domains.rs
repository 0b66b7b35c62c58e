//! Domains of organizations: proved by a record in DNS, held by one organization, lost when the record is gone
//! (adr/0131).

use crate::{
    api_caller::{Api, DIRECTORY},
    http::Answer,
    person::text,
    shared::eventually,
    support::{TestOptions, TestServer},
    zone_server::{Zone, ZoneServer},
};
use hickory_resolver::proto::op::ResponseCode;
use hyper::Method;
use porteiro::{
    actors::{CommitError, JanitorOptions},
    domain::{
        Context, DomainName,
        domain_claim::DOMAINS,
        organization::{Command, GRACE_PERIOD, Organization},
    },
};
use serde_json::{Value, json};
use std::time::Duration;

pub const ACME: &str = "/api/organizations/acme/domains";
pub const OTHER: &str = "/api/organizations/other/domains";
pub const CHALLENGE: &str = "_porteiro-challenge.acme.test";
const SCOPE: &str = "domains:read domains:write audit:read";

/// Administrators of both organizations who may look after domains.
const KEEPERS: &str = r#"
[[organization]]
slug = "acme"
  [[organization.role]]
  name = "keeper"
  permissions = ["domains:*", "audit:read", "apikeys:*"]
  [[organization.role]]
  name = "reader"
  permissions = ["domains:read"]

[[organization]]
slug = "other"
  [[organization.role]]
  name = "keeper"
  permissions = ["domains:*", "audit:read"]

[[account]]
email = "rita@acme.test"
memberships = [{ organization = "acme", roles = ["keeper"] }]

[[account]]
email = "otto@other.test"
memberships = [{ organization = "other", roles = ["keeper"] }]
"#;

pub struct Scene {
    pub server: TestServer,
    pub zone: ZoneServer,
}

/// How servers of these tests are: they ask the zone, and look often for what is due.
pub fn options(zone: &ZoneServer) -> TestOptions {
    TestOptions {
        txt_resolver: zone.resolver(),
        domains_every: Duration::from_millis(20),
        ..TestOptions::default()
    }
}

pub async fn scene() -> Scene {
    let zone = ZoneServer::open().await;
    let server = TestServer::open_in(options(&zone)).await;
    server.apply(DIRECTORY).await;
    server.apply(KEEPERS).await;
    Scene { server, zone }
}

impl Scene {
    pub async fn rita(&self) -> Api<'_> {
        Api::of(&self.server, "rita@acme.test", SCOPE).await
    }

    pub async fn otto(&self) -> Api<'_> {
        Api::of(&self.server, "otto@other.test", SCOPE).await
    }

    /// Adds a domain, publishes its record, and has it verified.
    pub async fn prove(&self, api: &Api<'_>, list: &str, domain: &str) -> Value {
        let added = add(api, list, domain).await;
        self.publish(&added);
        let proved = verify(api, list, &added).await;
        assert_eq!(proved.status, 200, "{proved:?}");
        proved.json()
    }

    pub fn publish(&self, domain: &Value) {
        self.zone.put(text(&domain["record"]["name"]), Zone::txt(text(&domain["record"]["value"])));
    }

    /// Which organization vouches for addresses at a domain.
    pub async fn vouches(&self, domain: &str) -> Option<String> {
        let holders = self.server.running().system().domain_holders();
        let found = holders.of_domain(&DomainName::parse(domain).unwrap()).await.unwrap();
        found.map(|found| found.organization)
    }
}

pub async fn add(api: &Api<'_>, list: &str, domain: &str) -> Value {
    let added = api.post(list, &json!({ "domain": domain })).await;
    assert_eq!(added.status, 201, "{added:?}");
    added.json()
}

pub async fn verify(api: &Api<'_>, list: &str, domain: &Value) -> Answer {
    let path = format!("{list}/{}/verify", text(&domain["id"]));
    api.call(Method::POST, &path, None, &[]).await
}

pub async fn state(api: &Api<'_>, list: &str, domain: &Value) -> String {
    let shown = api.get(&format!("{list}/{}", text(&domain["id"]))).await;
    text(&shown.json()["state"]).to_owned()
}

pub async fn events(api: &Api<'_>, organization: &str) -> Vec<String> {
    let trail = format!("/api/organizations/{organization}/audit?limit=100");
    let rows = api.get(&trail).await.json();
    let rows = rows["items"].as_array().unwrap_or_else(|| panic!("{rows}")).clone();
    let events = rows.iter().map(|row| text(&row["event"]).to_owned());
    events.filter(|event| event.starts_with("domain.")).collect()
}

#[tokio::test]
async fn a_domain_is_proved_by_its_record_and_listed_shown_and_removed() {
    let scene = scene().await;
    let rita = scene.rita().await;
    let added = add(&rita, ACME, "ACME.Test.").await;
    assert_eq!((&added["domain"], &added["state"]), (&json!("acme.test"), &json!("pending")));
    let record = &added["record"];
    assert_eq!((&record["name"], &record["type"]), (&json!(CHALLENGE), &json!("TXT")));
    let value = text(&record["value"]);
    let token = value.strip_prefix("porteiro-domain-verification=").unwrap();
    assert_eq!(token.len(), 27, "160 bits");
    assert_eq!(scene.vouches("acme.test").await, None);

    verify(&rita, ACME, &added).await.problem(409, "record_missing");
    scene.publish(&added);
    let proved = verify(&rita, ACME, &added).await;
    assert_eq!(proved.status, 200, "at once, though it was missing a moment ago: {proved:?}");
    let proved = proved.json();
    assert_eq!((&proved["state"], &proved["record"]), (&json!("verified"), record));
    assert!(proved["verified_at"].is_string());
    assert_eq!(scene.vouches("acme.test").await.as_deref(), Some("acme"));
    let holders = scene.server.running().system().domain_holders();
    assert!(holders.of_address("Ana@acme.test").await.unwrap().is_some());
    assert!(holders.of_address("acme.test").await.unwrap().is_none());

    add(&rita, ACME, "acme-pt.test").await;
    let page = rita.get(&format!("{ACME}?limit=1")).await.json();
    assert_eq!(page["items"][0]["domain"], "acme-pt.test", "by name");
    let next = rita.get(&format!("{ACME}?cursor={}", text(&page["next_cursor"]))).await.json();
    assert_eq!(next["items"].as_array().unwrap().len(), 1);
    assert_eq!(next["items"][0]["id"], added["id"]);

    let document = rita.get("/api/openapi.json").await.json();
    let described = &document["components"]["schemas"]["DomainRecord"]["properties"];
    assert!(described["type"].is_object(), "{described}");
    let path = format!("{ACME}/{}", text(&added["id"]));
    rita.call(Method::DELETE, &path, None, &[]).await.problem(428, "precondition_required");
    let stale = [("if-match", "\"1\"")];
    rita.call(Method::DELETE, &path, None, &stale).await.problem(412, "precondition_failed");
    assert_eq!(rita.change(Method::DELETE, &path, None).await.status, 204);
    rita.get(&path).await.problem(404, "not_found");
    verify(&rita, ACME, &added).await.problem(404, "not_found");
    assert_eq!(scene.vouches("acme.test").await, None);
    let mut said = events(&rita, "acme").await;
    said.sort();
    assert_eq!(said, ["domain.added", "domain.added", "domain.removed", "domain.verified"]);
    let again = add(&rita, ACME, "acme.test").await;
    assert_ne!(again["record"], added["record"], "a record that is left behind proves nothing");
    verify(&rita, ACME, &again).await.problem(409, "record_missing");
}

#[tokio::test]
async fn names_that_no_organization_can_prove_are_refused_and_spelled_in_one_way() {
    let scene = scene().await;
    let rita = scene.rita().await;
    let long = format!("{}.test", vec!["a".repeat(60); 4].join("."));
    for bad in [
        "",
        ".",
        "acme",
        "com",
        "co.uk",
        "github.io",
        "*.acme.test",
        "127.0.0.1",
        "[::1]",
        "acme..test",
        "acme.test:53",
        "https://acme.test",
        "ana@acme.test",
        "_x.acme.test",
        "xn--a.test",
        "ac me.test",
        &long,
    ] {
        let refused = rita.post(ACME, &json!({ "domain": bad })).await;
        refused.problem(400, "invalid_request");
    }
    for body in
        [json!({}), json!({ "domain": 7 }), json!({ "domain": "a.test", "state": "verified" })]
    {
        rita.post(ACME, &body).await.problem(400, "invalid_request");
    }
    let added = add(&rita, ACME, "Bücher.example").await;
    assert_eq!(added["domain"], "xn--bcher-kva.example");
    assert_eq!(added["record"]["name"], "_porteiro-challenge.xn--bcher-kva.example");
    for same in ["xn--bcher-kva.example", "BÜCHER.example."] {
        rita.post(ACME, &json!({ "domain": same })).await.problem(409, "exists");
    }
    for suffixed in ["acme.github.io", "acme.co.uk"] {
        add(&rita, ACME, suffixed).await;
    }
}

#[tokio::test]
async fn a_record_of_one_organization_proves_nothing_for_another() {
    let scene = scene().await;
    let (rita, otto) = (scene.rita().await, scene.otto().await);
    let ours = add(&rita, ACME, "acme.test").await;
    let theirs = add(&otto, OTHER, "acme.test").await;
    scene.publish(&ours);
    verify(&otto, OTHER, &theirs).await.problem(409, "record_missing");
    // Nor is the claim of one a path of the other's.
    verify(&otto, OTHER, &ours).await.problem(404, "not_found");
    verify(&otto, ACME, &ours).await.problem(403, "other_organization");
    otto.get(&format!("{OTHER}/{}", text(&ours["id"]))).await.problem(404, "not_found");
    let path = format!("{OTHER}/{}", text(&ours["id"]));
    let removed = otto.call(Method::DELETE, &path, None, &[("if-match", "*")]).await;
    removed.problem(404, "not_found");
    assert_eq!(scene.vouches("acme.test").await, None);

    assert_eq!(verify(&rita, ACME, &ours).await.status, 200);
    // Who has not proved it is not told who holds it; who has is refused all the same.
    verify(&otto, OTHER, &theirs).await.problem(409, "record_missing");
    scene.publish(&theirs);
    verify(&otto, OTHER, &theirs).await.problem(409, "domain_held");
    assert_eq!(scene.vouches("acme.test").await.as_deref(), Some("acme"));
    assert_eq!(state(&otto, OTHER, &theirs).await, "pending");
    // It is free again once its holder has removed it.
    let path = format!("{ACME}/{}", text(&ours["id"]));
    assert_eq!(rita.change(Method::DELETE, &path, None).await.status, 204);
    assert_eq!(verify(&otto, OTHER, &theirs).await.status, 200);
    assert_eq!(scene.vouches("acme.test").await.as_deref(), Some("other"));
}

#[tokio::test]
async fn of_two_organizations_that_prove_a_domain_at_once_one_holds_it() {
    let scene = scene().await;
    let second = scene.server.beside(options(&scene.zone)).await;
    let rita = scene.rita().await;
    let otto = Api::of(&second, "otto@other.test", SCOPE).await;
    for round in 0..6 {
        let domain = format!("d{round}.test");
        let ours = add(&rita, ACME, &domain).await;
        let theirs = add(&otto, OTHER, &domain).await;
        let both = [&ours, &theirs].map(|one| vec![text(&one["record"]["value"]).to_owned()]);
        scene.zone.put(&format!("_porteiro-challenge.{domain}"), Zone::Txt(both.to_vec()));
        let (one, other) = tokio::join!(verify(&rita, ACME, &ours), verify(&otto, OTHER, &theirs));
        let mut statuses = [one.status.as_u16(), other.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{one:?} {other:?}");
        let (winner, loser) = if one.status == 200 { ("acme", other) } else { ("other", one) };
        loser.problem(409, "domain_held");
        assert_eq!(scene.vouches(&domain).await.as_deref(), Some(winner));
    }
    second.stop().await;
}

#[tokio::test]
async fn a_domain_vouches_for_neither_what_is_below_nor_what_is_above_it() {
    let scene = scene().await;
    let rita = scene.rita().await;
    scene.prove(&rita, ACME, "mail.acme.test").await;
    assert_eq!(scene.vouches("acme.test").await, None);
    assert_eq!(scene.vouches("x.mail.acme.test").await, None);
    assert_eq!(scene.vouches("mail.acme.test").await.as_deref(), Some("acme"));
    // Nor does its record prove another, wherever it lies.
    let parent = add(&rita, ACME, "acme.test").await;
    let value = text(&parent["record"]["value"]);
    for elsewhere in
        ["acme.test", "_porteiro-challenge.mail.acme.test", "x._porteiro-challenge.acme.test"]
    {
        scene.zone.put(elsewhere, Zone::txt(value));
    }
    verify(&rita, ACME, &parent).await.problem(409, "record_missing");
}

#[tokio::test]
async fn answers_that_prove_nothing_and_answers_that_do() {
    let scene = scene().await;
    let rita = scene.rita().await;
    let added = add(&rita, ACME, "acme.test").await;
    let value = text(&added["record"]["value"]).to_owned();
    let own = || vec![value.clone()];
    let filler = |n: usize| vec![format!("v=filler-{n:04} {}", "x".repeat(200))];
    scene.zone.put("target.evil.test", Zone::Txt(vec![own()]));
    let (head, tail) = value.split_at(40);
    let halves = Zone::Txt(vec![vec![head.to_owned()], vec![tail.to_owned()]]);
    let long = Zone::Txt(vec![vec![value.clone(), "x".repeat(255)]]);
    let late: Vec<Vec<String>> = (0..64).map(filler).chain([own()]).collect();
    let poison = vec![own()];
    for (zone, code) in [
        (Zone::Nothing, "record_missing"),
        (Zone::txt("v=spf1 -all"), "record_missing"),
        (Zone::txt(&value.to_uppercase()), "record_missing"),
        (Zone::txt(&format!(" {value}")), "record_missing"),
        (Zone::txt(""), "record_missing"),
        (halves, "record_missing"),
        (long, "record_missing"),
        // An alias proves nothing: one that is forgotten and registered by another least of all.
        (Zone::Alias("gone.evil.test".to_owned()), "record_missing"),
        (Zone::Alias("target.evil.test".to_owned()), "record_missing"),
        (Zone::Alias(CHALLENGE.to_owned()), "record_missing"),
        // More than is looked at.
        (Zone::Txt(late), "record_missing"),
        (Zone::Refusing(ResponseCode::ServFail), "dns_unanswered"),
        (Zone::Refusing(ResponseCode::Refused), "dns_unanswered"),
        (Zone::Garbage, "dns_unanswered"),
        (Zone::Poisoned(poison), "dns_unanswered"),
        (Zone::Spoofed(vec![own()]), "dns_unanswered"),
        (Zone::Silent, "dns_unanswered"),
    ] {
        scene.zone.put(CHALLENGE, zone.clone());
        let refused = verify(&rita, ACME, &added).await;
        let said = refused.json()["code"].clone();
        assert_eq!((refused.status.as_u16(), said), (409, json!(code)), "{zone:?}");
    }
    assert_eq!(state(&rita, ACME, &added).await, "pending");
    let strings = Zone::Txt(vec![vec![head.to_owned(), tail.to_owned()]]);
    let among = Zone::Txt(vec![vec!["v=spf1 -all".to_owned()], own(), filler(1)]);
    // Too much for a datagram: it is asked for again over TCP.
    let many = Zone::Txt((0..60).map(filler).chain([own()]).collect());
    for zone in [strings, among, many] {
        scene.zone.put(CHALLENGE, zone.clone());
        let proved = verify(&rita, ACME, &added).await;
        assert_eq!(proved.status, 200, "{zone:?}: {proved:?}");
    }
}

#[tokio::test]
async fn a_suspended_organization_changes_no_domain_and_vouches_for_none() {
    let scene = scene().await;
    let rita = scene.rita().await;
    let acme = scene.prove(&rita, ACME, "acme.test").await;
    let holders = scene.server.running().system().domain_holders();
    let vouching = holders.of_address("ana@acme.test").await.unwrap().unwrap();
    assert_eq!(vouching.requirements().len(), 2);
    scene.server.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n").await;
    assert_eq!(scene.vouches("acme.test").await, None);
    scene.server.clock.expire_views();
    let refused = verify(&rita, ACME, &acme).await;
    assert!([401, 403].contains(&refused.status.as_u16()), "{refused:?}");
    // The name is not free for that.
    let otto = scene.otto().await;
    let theirs = add(&otto, OTHER, "acme.test").await;
    scene.publish(&theirs);
    verify(&otto, OTHER, &theirs).await.problem(409, "domain_held");
    scene.server.apply("[[organization]]\nslug = \"acme\"\nenabled = true\n").await;
    assert_eq!(scene.vouches("acme.test").await.as_deref(), Some("acme"));
}

#[tokio::test]
async fn the_domain_of_a_deleted_organization_is_free_once_that_is_erased() {
    const MOMENT: Duration = Duration::from_millis(1);
    let scene = scene().await;
    let server = &scene.server;
    let janitor = JanitorOptions {
        every: Duration::from_millis(10),
        anchor_every: Duration::from_mins(10),
        keep_log: None,
    };
    let eraser = server.beside(TestOptions { janitor, ..options(&scene.zone) }).await;
    let acme = scene.prove(&scene.rita().await, ACME, "acme.test").await;
    let theirs = add(&scene.otto().await, OTHER, "acme.test").await;
    let both = [&acme, &theirs].map(|one| vec![text(&one["record"]["value"]).to_owned()]);
    scene.zone.put(CHALLENGE, Zone::Txt(both.to_vec()));
    let mut commit = server.running().system().multi_commit(&Context::node());
    let deleted = commit.decide::<Organization>("acme", &Command::RequestDeletion).await.unwrap();
    assert!(deleted.is_ok());
    commit.commit().await.unwrap();
    assert_eq!(scene.vouches("acme.test").await, None, "it vouches for nothing at once");
    verify(&scene.otto().await, OTHER, &theirs).await.problem(409, "domain_held");
    // Until the last moment its operator may take it back, and has the domain still.
    server.clock.advance(GRACE_PERIOD.checked_sub(MOMENT).unwrap());
    eraser.quiet().await;
    server.quiet().await;
    verify(&scene.otto().await, OTHER, &theirs).await.problem(409, "domain_held");
    server.clock.advance(MOMENT);
    eventually("the domain to be free", async || {
        let claims = server.running().system().fresh_reads();
        claims.count(DOMAINS, "acme", 9).await.unwrap() == 0
    })
    .await;
    assert_eq!(verify(&scene.otto().await, OTHER, &theirs).await.status, 200);
    assert_eq!(scene.vouches("acme.test").await.as_deref(), Some("other"));
    eraser.stop().await;
}

#[tokio::test]
async fn callers_have_dns_asked_so_often_and_an_organization_has_so_many_domains() {
    let scene = scene().await;
    let rita = scene.rita().await;
    let added = add(&rita, ACME, "acme.test").await;
    for _ in 0..30 {
        verify(&rita, ACME, &added).await.problem(409, "record_missing");
    }
    let asked = scene.zone.asked_for(CHALLENGE);
    let refused = verify(&rita, ACME, &added).await;
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    refused.problem(429, "too_many_requests");
    assert_eq!(scene.zone.asked_for(CHALLENGE), asked);
    // Another organization has an allowance of its own.
    let otto = scene.otto().await;
    let theirs = add(&otto, OTHER, "acme.test").await;
    verify(&otto, OTHER, &theirs).await.problem(409, "record_missing");
    for n in 1..100 {
        add(&rita, ACME, &format!("d{n}.acme.test")).await;
    }
    let more = rita.post(ACME, &json!({ "domain": "one-more.test" })).await;
    more.problem(409, "too_many_domains");
}

#[tokio::test]
async fn domains_added_at_once_are_all_there() {
    let scene = scene().await;
    let rita = scene.rita().await;
    let names: Vec<String> = (0..6).map(|n| format!("d{n}.test")).collect();
    let body = |n: usize| json!({ "domain": names[n] });
    let bodies: Vec<Value> = (0..6).map(body).collect();
    let answers = tokio::join!(
        rita.post(ACME, &bodies[0]),
        rita.post(ACME, &bodies[1]),
        rita.post(ACME, &bodies[2]),
        rita.post(ACME, &bodies[2]),
    );
    let statuses = [answers.0.status, answers.1.status, answers.2.status, answers.3.status]
        .map(|s| s.as_u16());
    assert_eq!(statuses[..2], [201, 201], "{statuses:?}");
    assert_eq!(statuses[2].min(statuses[3]), 201, "{statuses:?}");
    assert_eq!(statuses[2].max(statuses[3]), 409, "the same one once: {statuses:?}");
}

#[tokio::test]
async fn a_commit_that_rests_on_a_domain_does_not_happen_once_it_is_removed_or_its_holder_suspended()
 {
    let scene = scene().await;
    let rita = scene.rita().await;
    let acme = scene.prove(&rita, ACME, "acme.test").await;
    let system = scene.server.running().system();
    let vouching = system.domain_holders().of_address("ana@acme.test").await.unwrap().unwrap();
    let commits = async || {
        let mut commit = system.multi_commit(&Context::node());
        vouching.requirements().into_iter().for_each(|one| commit.require(one));
        commit.touch::<Organization>("other").await.unwrap();
        commit.commit().await
    };
    assert_eq!(commits().await, Ok(()));
    let switch =
        |enabled: bool| format!("[[organization]]\nslug = \"acme\"\nenabled = {enabled}\n");
    scene.server.apply(&switch(false)).await;
    assert!(matches!(commits().await, Err(CommitError::Unmet { .. })));
    scene.server.apply(&switch(true)).await;
    assert_eq!(commits().await, Ok(()));
    scene.server.clock.expire_views();
    let path = format!("{ACME}/{}", text(&acme["id"]));
    assert_eq!(scene.rita().await.change(Method::DELETE, &path, None).await.status, 204);
    assert!(matches!(commits().await, Err(CommitError::Unmet { .. })));
}

#[tokio::test]
async fn what_may_be_done_to_domains_is_what_was_granted() {
    let scene = scene().await;
    let reader = Api::of(&scene.server, "rita@acme.test", "domains:read").await;
    assert_eq!(reader.get(ACME).await.status, 200);
    reader.post(ACME, &json!({ "domain": "a.test" })).await.problem(403, "permission_required");
    let auditor = Api::of(&scene.server, "rita@acme.test", "audit:read").await;
    auditor.get(ACME).await.problem(403, "permission_required");
    // A key does it, as far as its permissions go.
    let rita =
        Api::of(&scene.server, "rita@acme.test", "apikeys:write domains:read domains:write").await;
    let key = json!({ "name": "k", "permissions": ["domains:read", "domains:write"] });
    let key = rita.post("/api/organizations/acme/apikeys", &key).await.json();
    let by_key = Api { server: &scene.server, token: text(&key["key"]).to_owned(), reason: None };
    let added = add(&by_key, ACME, "acme.test").await;
    scene.publish(&added);
    assert_eq!(verify(&by_key, ACME, &added).await.status, 200);
}
