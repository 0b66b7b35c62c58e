//! Names that became Porteiro's own after installations had begun (adr/0132).

use crate::{
    api_caller::{Api, DIRECTORY, directory},
    database::Database,
    person::{claims, parameter, redirect, text},
    support::{TestOptions, TestServer},
};
use porteiro::{
    clock::SystemClock,
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
    },
    domain::{
        organization::is_slug,
        reserved_names::{NAMES, ReservedNames},
    },
    http::router::{Extras, paths},
    provisioning::{CertificateSupport, Warning},
    system::Workbench,
};
use serde_json::json;
use std::{collections::BTreeSet, sync::Arc};

const ORDERS: &str = "https://api.example.com/orders";

/// An administrator as releases before made one.
const OLDER: &str = r#"
[[organization]]
slug = "older"
  [[organization.role]]
  name = "clerk"
  permissions = ["orders:read"]
  [[organization.role]]
  name = "administrator"
  permissions = [
    "accounts:read", "accounts:write", "organizations:read", "organizations:write",
    "memberships:read", "memberships:write", "roles:read", "roles:write",
    "clients:read", "clients:write", "apikeys:read", "apikeys:write",
    "scim:read", "scim:write", "audit:read", "audit:write",
  ]

[[account]]
email = "ines@older.test"
password = "correct horse battery staple"
memberships = [{ organization = "older", roles = ["administrator", "clerk"] }]
"#;

/// Makes the installation one that was never settled.
async fn unsettle(server: &TestServer) -> Database {
    let mut rows = Database::at(&server.url).await;
    rows.run(format!("DELETE FROM entities WHERE kind = 'reserved_names' AND id = '{NAMES}'"))
        .await
        .unwrap();
    rows
}

/// Has the API of orders own a scope under a name that is reserved now, as it could before.
async fn rename_orders(rows: &mut Database) {
    let renamed = "REPLACE(state, 'orders:read', 'domains:read'), version = version + 1";
    let of = "kind IN ('resource', 'organization', 'api_key')";
    rows.run(format!("UPDATE entities SET state = {renamed} WHERE {of}")).await.unwrap();
    let owner = "UPDATE names SET name = 'domains:read' \
                  WHERE space = 'scope' AND name = 'orders:read'";
    assert_eq!(rows.run(owner).await, Ok(1));
}

/// Opens what a command works with, and settles the names.
async fn settle(server: &TestServer) -> ReservedNames {
    let folder = Folder::load(&server.keys(), DevKeys::Accepted).unwrap();
    let (clock, dice) = (Arc::new(SystemClock), Arc::new(SystemDice));
    let workbench = Workbench::open(&server.url, &folder, clock, dice).await.unwrap();
    workbench.settle_names().await.unwrap();
    let names = workbench.multi_commit().look::<ReservedNames>(NAMES).await.unwrap().clone();
    workbench.close().await;
    names
}

async fn administrator(api: &Api<'_>) -> Vec<String> {
    let role = api.get("/api/organizations/older/roles/administrator").await.json();
    role["permissions"].as_array().unwrap().iter().map(|one| text(one).to_owned()).collect()
}

#[tokio::test]
async fn the_role_of_administrators_gains_what_was_reserved_since_once_and_the_trail_says_so() {
    let server = directory().await;
    server.apply(OLDER).await;
    unsettle(&server).await;
    let node = server.beside(TestOptions::default()).await;
    let api = Api::of(&node, "ines@older.test", "roles:read audit:read domains:write").await;
    let held = administrator(&api).await;
    assert_eq!(held.len(), 20);
    let gained = ["connections:read", "connections:write", "domains:read", "domains:write"];
    assert_eq!(held[16..], gained);
    let trail = "/api/organizations/older/audit?event=organization.role_widened";
    let rows = api.get(trail).await.json();
    assert_eq!(rows["items"].as_array().unwrap().len(), 1, "{rows}");
    assert_eq!(rows["items"][0]["detail"]["permissions"], gained.join(" "));
    // What an operator takes away afterwards stays away.
    server.apply(OLDER).await;
    assert_eq!(settle(&server).await, ReservedNames::all_open());
    let after = server.beside(TestOptions::default()).await;
    after.clock.expire_views();
    let api = Api::of(&after, "ines@older.test", "roles:read").await;
    assert_eq!(administrator(&api).await.len(), 16);
    node.stop().await;
    after.stop().await;
}

#[tokio::test]
async fn two_nodes_that_start_at_once_widen_each_role_once() {
    let server = directory().await;
    let many: String = (0..120)
        .map(|n| OLDER.replace("older", &format!("older-{n:03}")))
        .map(|one| one.split("[[account]]").next().unwrap().to_owned())
        .collect();
    server.apply(&many).await;
    let mut rows = unsettle(&server).await;
    let settled = tokio::join!(settle(&server), settle(&server), settle(&server));
    for names in [settled.0, settled.1, settled.2] {
        assert_eq!(names, ReservedNames::all_open());
    }
    let recorded: Vec<[String; 1]> = rows
        .texts("SELECT organization FROM security_log WHERE event = 'organization.role_widened'")
        .await;
    let mut each: Vec<&str> = recorded.iter().map(|[slug]| slug.as_str()).collect();
    each.sort_unstable();
    each.dedup();
    assert_eq!((each.len(), recorded.len()), (120, 120));
}

#[tokio::test]
async fn an_api_keeps_a_scope_whose_name_was_reserved_and_that_name_opens_nothing_of_ours() {
    let server = directory().await;
    let older = DIRECTORY.replace(", \"domains:*\"", "");
    server.apply(&older).await;
    server.apply(OLDER).await;
    server.administers("olga@operator.test", true).await;
    let rita = Api::of(&server, "rita@acme.test", "apikeys:write").await;
    let body = json!({ "name": "k", "permissions": ["orders:read"] });
    let made = rita.post("/api/organizations/acme/apikeys", &body).await.json();
    rename_orders(&mut unsettle(&server).await).await;
    // Before a server of this release has run, `doctor` names the API all the same.
    let store = server.running().system().store();
    let warnings = Warning::of_installation(store, CertificateSupport::None, 100).await.unwrap();
    let of_api: Vec<_> = warnings.iter().filter(|one| one.kind == "resource").collect();
    assert_eq!((of_api.len(), of_api[0].id.as_str()), (1, ORDERS), "{warnings:?}");
    assert!(of_api[0].text.contains("its scope `domains:read` begins with a name"), "{of_api:?}");
    let node = server.beside(TestOptions::default()).await;
    node.clock.expire_views();

    let names = settle(&server).await;
    assert!(names.is_open("connections") && !names.is_open("domains"));
    let api = Api::of(&node, "ines@older.test", "roles:read").await;
    let held = administrator(&api).await;
    assert_eq!(held[16..], ["connections:read", "connections:write"], "not what the API has");
    let tokens = node.tokens("ines@older.test", "web", "domains:read").await;
    assert_eq!(claims(&tokens["access_token"])["aud"], ORDERS);

    // Neither a token for our API nor a key with that permission opens anything of it.
    let key = Api { server: &node, token: text(&made["key"]).to_owned(), reason: None };
    key.get("/api/organizations/acme/domains").await.problem(403, "permission_required");
    let domains = "/api/organizations/older/domains";
    api.get(domains).await.problem(403, "permission_required");
    let orders = text(&tokens["access_token"]).to_owned();
    let orders = Api { server: &node, token: orders, reason: None };
    orders.get(domains).await.problem(401, "invalid_token");

    // Who administers every organization holds nothing of that API.
    let session = node.sign_in("olga@operator.test").await;
    let asked = [("scope", "domains:read"), ("organization", "older")];
    let refused = redirect(&node.authorize_in(&session, "web", &asked).await);
    assert_eq!(parameter(&refused, "error").as_deref(), Some("invalid_scope"), "{refused}");

    // The file that declared it can be applied again; no other API gets such a scope.
    let same = format!("[[resource]]\nidentifier = \"{ORDERS}\"\nscopes = [\"domains:read\"]\n");
    let plan = server.apply(&same).await;
    assert!(plan.steps[0].to_string().starts_with('='), "{}", plan.steps[0]);

    let store = node.running().system().store();
    let warnings = Warning::of_installation(store, CertificateSupport::None, 100).await.unwrap();
    let about = |kind: &str| {
        warnings.iter().filter(|one| one.kind == kind && one.text.contains("domains:read")).count()
    };
    assert_eq!((about("resource"), about("api_key")), (1, 1), "{warnings:?}");
    assert_eq!(about("organization"), 2, "the clerks of acme and of older: {warnings:?}");

    // The name is free once API, roles and keys have another.
    server.apply(&same.replace("domains", "orders")).await;
    assert!(!settle(&server).await.is_open("domains"), "roles have it still");
    server.apply(&older).await;
    server.apply(OLDER).await;
    assert!(!settle(&server).await.is_open("domains"), "a key has it still");
    let rita = Api::of(&node, "rita@acme.test", "apikeys:write").await;
    let key = format!("/api/organizations/acme/apikeys/{}", text(&made["id"]));
    let revoked = rita.change(hyper::Method::DELETE, &key, None).await;
    assert_eq!(revoked.status, 204, "{revoked:?}");
    assert_eq!(settle(&server).await, ReservedNames::all_open());
    node.clock.expire_views();
    let api = Api::of(&node, "ines@older.test", "roles:read").await;
    assert_eq!(administrator(&api).await[16..], ["domains:read", "domains:write"]);
    let api = Api::of(&node, "ines@older.test", "domains:read").await;
    assert_eq!(api.get(domains).await.status, 200);
    node.stop().await;
}

#[tokio::test]
async fn an_organization_may_be_called_like_any_word_of_a_path() {
    let server = directory().await;
    let words: BTreeSet<&str> = paths(Extras::ALL).flat_map(|path| path.split('/')).collect();
    let slugs: Vec<&str> = words.into_iter().filter(|word| is_slug(word)).collect();
    assert!(slugs.contains(&"export") && slugs.contains(&"v2") && slugs.contains(&"stop"));
    let role = "[[organization.role]]\nname = \"export\"\npermissions = [\"organizations:read\", \"roles:read\"]\n";
    let organization = |slug: &&str| format!("[[organization]]\nslug = \"{slug}\"\n{role}");
    let file = slugs.iter().map(organization).collect::<Vec<_>>().concat();
    let memberships: Vec<String> = slugs
        .iter()
        .map(|slug| format!("{{ organization = \"{slug}\", roles = [\"export\"] }}"))
        .collect();
    let person = format!(
        "[[account]]\nemail = \"wanda@words.test\"\npassword = \"correct horse battery staple\"\n\
         memberships = [{}]\n",
        memberships.join(", ")
    );
    server.apply(&format!("{file}{person}")).await;
    for slug in ["export", "organizations", "scim", "v2", "audit", "me", "stop", "roles"] {
        assert!(slugs.contains(&slug), "{slug}: {slugs:?}");
        let scope = "organizations:read roles:read";
        let api = Api::of_organization(&server, "wanda@words.test", scope, slug).await;
        let own = format!("/api/organizations/{slug}");
        assert_eq!(api.get(&own).await.json()["slug"], slug);
        assert_eq!(api.get(&format!("{own}/roles/export")).await.json()["name"], "export");
        let metadata = format!("/.well-known/oauth-protected-resource/scim/v2/{slug}");
        let metadata = api.get(&metadata).await.json();
        assert_eq!(metadata["resource"], format!("{}/scim/v2/{slug}", server.issuer()));
    }
    server.stop().await;
}

#[tokio::test]
async fn no_role_key_or_token_contains_a_permission_of_the_installation() {
    let server = directory().await;
    server.administers("olga@operator.test", true).await;
    let rita = Api::of(&server, "rita@acme.test", "roles:write apikeys:write").await;
    for text in ["installation:read", "installation:*", "Installation:write"] {
        let body = json!({ "permissions": [text] });
        let path = "/api/organizations/acme/roles/boss";
        let put = [("if-match", "*")];
        let put = rita.call(hyper::Method::PUT, path, Some(&body), &put).await;
        put.problem(403, "permission_not_held");
        let body = json!({ "name": "k", "permissions": [text] });
        let made = rita.post("/api/organizations/acme/apikeys", &body).await;
        assert!((400..404).contains(&made.status.as_u16()), "{text}: {made:?}");
    }
    let session = server.sign_in("olga@operator.test").await;
    for scope in ["installation:read", "installation:write"] {
        let asked = [("scope", scope), ("organization", "acme")];
        let refused = redirect(&server.authorize_in(&session, "web", &asked).await);
        assert_eq!(parameter(&refused, "error").as_deref(), Some("invalid_scope"), "{refused}");
    }
}
