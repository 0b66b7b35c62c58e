//! API keys: what they confer, at once and no longer, and what is not one.

use crate::{
    me::ask,
    person::text,
    security_log::records,
    shared::eventually,
    support::{INVOICES, SECRET, TestOptions, TestServer},
};
use hyper::Method;
use porteiro::{
    crypto::{
        SystemDice, draw_uuid,
        keys::{DevKeys, Folder},
        mint_api_key,
    },
    domain::{
        Context, Fingerprint, Machine as _,
        account::{Account, EMAIL_ADDRESSES},
        api_key::{ApiKey, Backing, Command, Issue, Refusal, USE_NOTED_EVERY},
        authority::{Grantor, Permission},
        client::Client,
        membership::{MEMBERSHIP_PAIRS, Membership, pair},
        organization::Organization,
    },
    provisioning::{
        ApiKeyError, IssuedApiKey, NewApiKey, api_key, create_api_key, revoke_api_key,
        rotate_api_key,
    },
    system::Workbench,
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const GUARD: &str = "invoices-api";
const HOUR: Duration = Duration::from_hours(1);
const CLERK: &str = "[[organization.role]]\nname = \"clerk\"\npermissions = [\"invoices:read\"]\n";

async fn workbench(server: &TestServer) -> Workbench {
    let folder = Folder::load(&server.keys(), DevKeys::Accepted).unwrap();
    let (clock, dice) = (server.clock.clone(), Arc::new(SystemDice));
    Workbench::open(&server.url, &folder, clock, dice).await.unwrap()
}

fn permissions(texts: &[&str]) -> Vec<Permission> {
    texts.iter().map(|text| Permission::parse(text).unwrap()).collect()
}

async fn try_creating(
    server: &TestServer,
    (organization, name): (&str, &str),
    held: &[&str],
    expires_in: Option<Duration>,
) -> Result<IssuedApiKey, ApiKeyError> {
    let workbench = workbench(server).await;
    let permissions = &permissions(held);
    let new = NewApiKey { organization, name, permissions, expires_in };
    let made = create_api_key(&workbench, &new).await;
    workbench.close().await;
    made
}

/// Makes a key as the operator's command does.
async fn created(server: &TestServer, held: &[&str]) -> IssuedApiKey {
    try_creating(server, ("acme", "Payroll"), held, None).await.unwrap()
}

async fn rotated(server: &TestServer, id: &str, overlap: Duration) -> IssuedApiKey {
    let workbench = workbench(server).await;
    let rotated = rotate_api_key(&workbench, id, overlap).await;
    workbench.close().await;
    rotated.unwrap()
}

async fn revoked(server: &TestServer, id: &str) -> Result<bool, ApiKeyError> {
    let workbench = workbench(server).await;
    let revoked = revoke_api_key(&workbench, id).await;
    workbench.close().await;
    revoked
}

async fn stored(server: &TestServer, id: &str) -> ApiKey {
    let workbench = workbench(server).await;
    let key = api_key(&workbench, id).await.unwrap();
    workbench.close().await;
    key
}

/// Who issues a key in a test.
enum By<'a> {
    Member(&'a str),
    Client(&'a str),
    Key(&'a str),
}

/// Issues a key as an endpoint would, and returns its text.
async fn issued(server: &TestServer, by: By<'_>, held: &[&str]) -> Result<String, Refusal> {
    let system = server.running().system();
    let mut commit = system.multi_commit(&Context::node());
    let home = commit.look::<Organization>("acme").await.unwrap().known().unwrap().clone();
    let (mut grantor, mut parents) = (None, Vec::new());
    let backing = match by {
        By::Member(email) => {
            let (_, account) = system.store().find(EMAIL_ADDRESSES, email).await.unwrap().unwrap();
            let name = pair(&account, "acme");
            let (_, id) = system.store().find(MEMBERSHIP_PAIRS, &name).await.unwrap().unwrap();
            let epoch = commit.look::<Account>(&account).await.unwrap().known().unwrap().epoch;
            let member = commit.look::<Membership>(&id).await.unwrap().known().unwrap();
            Backing::Membership { member: Box::new(member.clone()), account_epoch: epoch }
        }
        By::Client(id) => {
            let client = commit.look::<Client>(id).await.unwrap().known().unwrap();
            Backing::Client(Box::new(client.clone()))
        }
        By::Key(id) => {
            let key = commit.look::<ApiKey>(id).await.unwrap().known().unwrap();
            let held = key.permissions.iter().collect();
            (grantor, parents) = (Some(Grantor::of_all(held)), key.descent());
            Backing::Operator
        }
    };
    let id = draw_uuid(&SystemDice);
    let minted = mint_api_key(&id, &SystemDice).unwrap();
    let issue = Issue {
        id: id.clone(),
        name: "Payroll".to_owned(),
        permissions: permissions(held),
        expires_at: None,
        secret: minted.fingerprint,
        home,
        backing,
        grantor,
        parents,
    };
    commit.decide::<ApiKey>(&id, &Command::Issue(Box::new(issue))).await.unwrap()?;
    commit.commit().await.unwrap();
    Ok(minted.text.to_string())
}

async fn active(server: &TestServer, key: &str) -> bool {
    let seen = server.introspect(GUARD, key).await;
    if seen["active"] != true {
        assert_eq!(seen, json!({ "active": false }));
    }
    seen["active"] == true
}

async fn apply_acme(server: &TestServer, more: &str) {
    server.apply(&format!("[[organization]]\nslug = \"acme\"\n{more}")).await;
}

#[tokio::test]
async fn an_api_learns_what_a_key_may_do_there_and_nothing_else() {
    let server = TestServer::open().await;
    let key = created(&server, &["invoices:*", "orders:read", "scim:*"]).await;
    let seen = server.introspect(GUARD, &key.text).await;
    let expected = json!({
        "active": true,
        "token_type": "api_key",
        "iss": server.issuer(),
        "sub": key.id,
        "org": "acme",
        "scope": "invoices:read invoices:write invoices:approve",
    });
    assert_eq!(seen, expected, "no wildcard, and nothing of orders");
    for other in ["billing", "nobody"] {
        assert_eq!(server.introspect(other, &key.text).await, json!({ "active": false }));
    }
    let one = created(&server, &["invoices:read"]).await;
    assert_eq!(server.introspect(GUARD, &one.text).await["scope"], "invoices:read");
    for elsewhere in ["orders:read", "invoices:refund", "scim:*", "INVOICES:*"] {
        let key = created(&server, &[elsewhere]).await;
        assert!(!active(&server, &key.text).await, "{elsewhere}");
    }
    let scopes =
        format!("[[resource]]\nidentifier = \"{INVOICES}\"\nscopes = [\"invoices:pay\"]\n");
    server.apply(&scopes).await;
    assert_eq!(server.introspect(GUARD, &key.text).await["scope"], "invoices:pay");
    assert!(!active(&server, &one.text).await, "the API has no such scope any more");
    // Whoever does not prove to be a client learns nothing.
    let asked = [("token", key.text.as_str())];
    server.post("/connect/introspect", &asked).await.refused(401, "invalid_client");
    server.stop().await;
}

#[tokio::test]
async fn what_was_forged_cut_or_altered_is_no_key() {
    let server = TestServer::open().await;
    let key = created(&server, &["invoices:*"]).await;
    let text = key.text.as_str();
    assert!(active(&server, text).await);
    let other_secret = mint_api_key(&key.id, &SystemDice).unwrap().text;
    let other_key = mint_api_key(&draw_uuid(&SystemDice), &SystemDice).unwrap().text;
    let checksum = format!("{}000000", &text[..text.len() - 6]);
    let forged = [&*other_secret, &*other_key, &checksum, "pak_", "pak_€", &text.to_uppercase()];
    for forged in forged {
        assert!(!active(&server, forged).await, "{forged}");
    }
    for at in [5, 30, 70, text.len() - 1] {
        assert!(!active(&server, &text[..at]).await, "{at}");
        let mut altered = text.as_bytes().to_vec();
        altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
        assert!(!active(&server, std::str::from_utf8(&altered).unwrap()).await, "{at}");
    }
    assert!(active(&server, text).await);
    server.stop().await;
}

#[tokio::test]
async fn a_key_and_an_access_token_open_no_session() {
    let server = TestServer::open().await;
    let key = created(&server, &["invoices:*"]).await;
    assert!(active(&server, &key.text).await);
    let tokens = server.tokens("ana@acme.test", "web", "openid").await;
    for held in [&*key.text, text(&tokens["access_token"]), text(&tokens["refresh_token"])] {
        let (bearer, cookie) = (format!("Bearer {held}"), format!("porteiro={held}"));
        for header in [("x-session-token", held), ("authorization", &bearer), ("cookie", &cookie)] {
            let answer = ask(&server, Method::GET, "/me", &[header]).await;
            answer.problem(401, "session_required");
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_key_ends_when_it_expires_or_is_revoked_and_at_once() {
    let server = TestServer::open().await;
    let key = try_creating(&server, ("acme", "K"), &["invoices:*"], Some(HOUR)).await.unwrap();
    let lasting = created(&server, &["invoices:*"]).await;
    let end = 1_800_000_000 + 3_600;
    assert_eq!(server.introspect(GUARD, &key.text).await["exp"], end);
    server.clock.advance(Duration::from_secs(3_599));
    assert!(active(&server, &key.text).await);
    server.clock.advance(Duration::from_secs(1));
    assert!(!active(&server, &key.text).await, "expired");
    assert!(active(&server, &lasting.text).await);
    assert!(revoked(&server, &lasting.id).await.unwrap());
    assert!(!active(&server, &lasting.text).await, "revoked");
    assert!(!revoked(&server, &lasting.id).await.unwrap(), "once more changes nothing");
    assert!(stored(&server, &lasting.id).await.revoked_at().is_some(), "it is listed for a while");
    server.stop().await;
}

#[tokio::test]
async fn after_a_rotation_both_secrets_are_good_until_the_overlap_is_over() {
    let server = TestServer::open().await;
    let first = created(&server, &["invoices:*"]).await;
    let second = rotated(&server, &first.id, HOUR).await;
    assert_eq!(second.id, first.id);
    assert!(active(&server, &first.text).await && active(&server, &second.text).await);
    server.clock.advance(HOUR);
    assert!(!active(&server, &first.text).await, "rotated out");
    assert!(active(&server, &second.text).await);
    let third = rotated(&server, &first.id, Duration::ZERO).await;
    assert_eq!(third.former_until, None);
    assert!(!active(&server, &second.text).await && active(&server, &third.text).await);
    server.stop().await;
}

#[tokio::test]
async fn a_suspended_organization_has_no_keys_and_does_not_get_the_old_ones_back() {
    let server = TestServer::open().await;
    let key = created(&server, &["invoices:*"]).await;
    apply_acme(&server, "enabled = false\n").await;
    assert!(!active(&server, &key.text).await);
    let refused = try_creating(&server, ("acme", "K"), &["invoices:*"], None).await.unwrap_err();
    assert!(matches!(refused, ApiKeyError::Refused(Refusal::Suspended(_))), "{refused}");
    let refused = revoked(&server, &key.id).await.unwrap_err();
    assert!(matches!(refused, ApiKeyError::Refused(Refusal::Suspended(_))), "{refused}");
    apply_acme(&server, "enabled = true\n").await;
    assert!(!active(&server, &key.text).await, "enabling revives nothing");
    let next = rotated(&server, &key.id, HOUR).await;
    assert_eq!(next.former_until, None);
    assert!(active(&server, &next.text).await && !active(&server, &key.text).await);
    server.stop().await;
}

#[tokio::test]
async fn a_members_key_is_worth_what_the_membership_is_worth_now() {
    let server = TestServer::open().await;
    let key = issued(&server, By::Member("ana@acme.test"), &["invoices:*"]).await.unwrap();
    let seen = server.introspect(GUARD, &key).await;
    assert_eq!(seen["scope"], "invoices:read invoices:write invoices:approve");
    let (_, ana) = server
        .running()
        .system()
        .store()
        .find(EMAIL_ADDRESSES, "ana@acme.test")
        .await
        .unwrap()
        .unwrap();
    assert_eq!((&seen["sub"], &seen["org"]), (&json!(ana), &json!("acme")));
    let manager = "[[organization.role]]\nname = \"manager\"\npermissions = [\"invoices:*\"]\n";
    let less = "[[organization.role]]\nname = \"manager\"\npermissions = [\"invoices:read\"]\n";
    apply_acme(&server, &format!("{CLERK}{less}")).await;
    assert!(!active(&server, &key).await, "it is not trimmed to what is left");
    apply_acme(&server, CLERK).await;
    assert!(!active(&server, &key).await, "the role is gone");
    apply_acme(&server, &format!("{CLERK}{manager}")).await;
    assert!(active(&server, &key).await);
    let member =
        |roles: &str| format!("[[account]]\nemail = \"ana@acme.test\"\nmemberships = [{roles}]\n");
    server.apply(&member("{ organization = \"acme\", roles = [\"clerk\"] }")).await;
    assert!(!active(&server, &key).await, "the member has lost the role");
    server.apply(&member("{ organization = \"acme\", roles = [\"manager\"] }")).await;
    assert!(active(&server, &key).await);
    server.apply(&member("")).await;
    assert!(!active(&server, &key).await, "no member any more");
    server.apply(&member("{ organization = \"acme\", roles = [\"manager\"] }")).await;
    assert!(!active(&server, &key).await, "a membership that begins again revives nothing");
    server.stop().await;
}

#[tokio::test]
async fn a_clients_key_is_worth_what_the_client_is_worth_now() {
    let server = TestServer::open().await;
    let key = issued(&server, By::Client("billing"), &["invoices:read"]).await.unwrap();
    let seen = server.introspect(GUARD, &key).await;
    assert_eq!((&seen["sub"], &seen["scope"]), (&json!("billing"), &json!("invoices:read")));
    let billing = |more: &str| format!("[[client]]\nclient_id = \"billing\"\n{more}\n");
    for (taken, given) in [
        ("roles = []", "roles = [\"clerk\"]"),
        ("scope = \"orders:read\"", "scope = \"invoices:read\""),
        ("grant_types = []", "grant_types = [\"client_credentials\"]"),
    ] {
        server.apply(&billing(taken)).await;
        assert!(!active(&server, &key).await, "{taken}");
        server.apply(&billing(given)).await;
        assert!(active(&server, &key).await, "{given}");
    }
    let wide = issued(&server, By::Client("billing"), &["invoices:*"]).await;
    assert_eq!(wide, Err(Refusal::NotHeld("invoices:*".to_owned())));
    server.stop().await;
}

#[tokio::test]
async fn no_one_issues_what_they_do_not_hold_there() {
    let server = TestServer::open().await;
    for held in [["invoices:write"], ["invoices:*"], ["apikeys:write"], ["scim:provision"]] {
        let refused = issued(&server, By::Member("bruno@acme.test"), &held).await;
        assert_eq!(refused, Err(Refusal::NotHeld(held[0].to_owned())));
    }
    // What one is in another organization counts for nothing here.
    let roles = "[[organization.role]]\nname = \"boss\"\npermissions = [\"invoices:*\"]\n";
    let bruno = "[[account]]\nemail = \"bruno@acme.test\"\nmemberships = [\
                 { organization = \"acme\", roles = [\"clerk\"] }, \
                 { organization = \"other\", roles = [\"boss\"] }]\n";
    server.apply(&format!("[[organization]]\nslug = \"other\"\n{roles}{bruno}")).await;
    assert!(issued(&server, By::Member("bruno@acme.test"), &["invoices:write"]).await.is_err());
    server.stop().await;
}

#[tokio::test]
async fn what_was_made_with_a_key_ends_with_it_and_is_never_wider() {
    let server = TestServer::open().await;
    let parent = created(&server, &["invoices:read", "apikeys:write", "scim:*"]).await;
    let child = issued(&server, By::Key(&parent.id), &["invoices:read"]).await.unwrap();
    assert!(active(&server, &child).await);
    let wide = issued(&server, By::Key(&parent.id), &["invoices:write"]).await;
    assert_eq!(wide, Err(Refusal::NotHeld("invoices:write".to_owned())));
    let roles = issued(&server, By::Key(&parent.id), &["scim:*"]).await;
    assert!(matches!(roles, Err(Refusal::NotHeld(_))), "it would hand out roles: {roles:?}");
    assert!(revoked(&server, &parent.id).await.unwrap());
    assert!(!active(&server, &child).await);
    server.stop().await;
}

#[tokio::test]
async fn a_guard_whose_organization_is_suspended_learns_nothing_of_keys() {
    let server = TestServer::open().await;
    let key = created(&server, &["invoices:*"]).await;
    let guard = format!(
        "[[organization]]\nslug = \"guards\"\n[[client]]\nclient_id = \"guard\"\n\
         client_secret = \"{SECRET}\"\norganization = \"guards\"\nintrospects = [\"{INVOICES}\"]\n"
    );
    server.apply(&guard).await;
    assert_eq!(server.introspect("guard", &key.text).await["active"], true);
    server.apply("[[organization]]\nslug = \"guards\"\nenabled = false\n").await;
    assert_eq!(server.introspect("guard", &key.text).await, json!({ "active": false }));
    server.stop().await;
}

#[tokio::test]
async fn the_last_use_is_noted_once_in_a_while() {
    let server = TestServer::open_in(TestOptions {
        keys_every: Duration::from_hours(1),
        ..TestOptions::default()
    })
    .await;
    let key = created(&server, &["invoices:*"]).await;
    let noted = async || stored(&server, &key.id).await.known().unwrap().last_used_at;
    assert_eq!(noted().await, None);
    assert!(active(&server, &key.text).await);
    eventually("the use is noted", async || noted().await.is_some()).await;
    let first = noted().await;
    server.clock.advance(USE_NOTED_EVERY.checked_sub(Duration::from_secs(1)).unwrap());
    server.quiet().await;
    let commits = server.running().system().store().report().commits;
    for _ in 0..20 {
        assert!(active(&server, &key.text).await);
    }
    server.quiet().await;
    assert_eq!(
        server.running().system().store().report().commits,
        commits,
        "a use costs no commit"
    );
    assert_eq!(noted().await, first);
    server.clock.advance(Duration::from_secs(1));
    assert!(active(&server, &key.text).await);
    eventually("the next use is noted", async || noted().await > first).await;
    // What is refused is not a use.
    let unused = created(&server, &["invoices:*"]).await;
    let forged = mint_api_key(&unused.id, &SystemDice).unwrap().text;
    assert!(!active(&server, &forged).await);
    server.quiet().await;
    assert_eq!(stored(&server, &unused.id).await.known().unwrap().last_used_at, None);
    server.stop().await;
}

#[tokio::test]
async fn the_log_says_who_made_a_key_and_no_row_holds_it() {
    let server = TestServer::open().await;
    let key = try_creating(&server, ("acme", "Folha"), &["invoices:*"], None).await.unwrap();
    let second = rotated(&server, &key.id, HOUR).await;
    let of_ana = issued(&server, By::Member("ana@acme.test"), &["invoices:read"]).await.unwrap();
    revoked(&server, &key.id).await.unwrap();
    let created = records(&server, "apikey.created").await;
    let detail: Value =
        serde_json::from_str(created.iter().find(|detail| !detail.contains("account")).unwrap())
            .unwrap();
    assert_eq!(detail["context"]["actor"], json!({ "type": "operator" }));
    assert_eq!(detail["permissions"], "invoices:*");
    assert!(created.iter().any(|detail| detail.contains("\"account\":")), "{created:?}");
    let (rotations, revocations) =
        (records(&server, "apikey.rotated").await, records(&server, "apikey.revoked").await);
    assert_eq!((created.len(), rotations.len(), revocations.len()), (2, 1, 1));
    let state =
        server.running().system().store().load(ApiKey::KIND, &key.id).await.unwrap().unwrap();
    let all = format!("{created:?}{rotations:?}{revocations:?}{}", state.state);
    for text in [key.text.as_str(), second.text.as_str(), &of_ana] {
        let (id_and_prefix, random) = (&text[..26], &text[26..69]);
        assert!(!all.contains(random) && !all.contains(id_and_prefix));
        let hash = serde_json::to_string(&Fingerprint::of(random.as_bytes())).unwrap();
        assert!(!all.contains(hash.trim_matches('"')), "a revoked key keeps no hash either");
    }
    let rows: String = [&*created, &*rotations, &*revocations].concat().join(" ");
    assert!(!rows.contains("Folha"), "{rows}");
    assert!(!format!("{key:?} {second:?}").contains("pak_"));
    server.stop().await;
}

#[tokio::test]
async fn bad_names_permissions_and_places_are_refused() {
    let server = TestServer::open().await;
    for name in ["", " ", "a\nb", "\u{1b}]0;x\u{7}", "a\u{202e}b", &"x".repeat(101)] {
        let refused = try_creating(&server, ("acme", name), &["scim:*"], None).await.unwrap_err();
        assert!(matches!(refused, ApiKeyError::Refused(Refusal::Name)), "{name:?}: {refused}");
    }
    for wide in ["organizations:administer", "ORGANIZATIONS:administer"] {
        let refused = try_creating(&server, ("acme", "K"), &[wide], None).await.unwrap_err();
        assert!(matches!(refused, ApiKeyError::Refused(Refusal::Forbidden(_))), "{refused}");
    }
    let nowhere = try_creating(&server, ("nowhere", "K"), &["scim:*"], None).await.unwrap_err();
    assert!(matches!(nowhere, ApiKeyError::NoSuchOrganization(_)), "{nowhere}");
    for id in ["", "x", "00000000-0000-4000-8000-000000000000"] {
        assert!(matches!(revoked(&server, id).await, Err(ApiKeyError::NoSuchKey(_))), "{id}");
    }
    server.stop().await;
}
