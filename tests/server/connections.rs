//! Connections of organizations: made, changed and deleted through `/api` and by a provisioning file.

use crate::{
    api_caller::{Api, DIRECTORY},
    binary::{Installation, said},
    http::Answer,
    me::records,
    person::{parameter, redirect, text},
    scim_caller::Scim,
    step_up::dora,
    support::TestServer,
};
use hyper::Method;
use serde_json::{Value, json};

pub const ACME: &str = "/api/organizations/acme/connections";
const OTHER: &str = "/api/organizations/other/connections";
const SCOPE: &str =
    "connections:read connections:write organizations:read audit:read apikeys:write";
const ISSUER: &str = "https://login.acme.test";
const SECRET: &str = "a secret of the provider's";

/// Dora looks after the connections of acme, and can prove two factors; so can Rita, who cannot.
const KEEPERS: &str = r#"
[[organization]]
slug = "acme"
  [[organization.role]]
  name = "keeper"
  permissions = ["connections:*", "audit:read", "apikeys:*", "organizations:*"]
  [[organization.role]]
  name = "manager"
  permissions = ["invoices:*"]

[[organization]]
slug = "other"
  [[organization.role]]
  name = "keeper"
  permissions = ["connections:*", "audit:read"]

[[account]]
email = "dora@acme.test"
memberships = [{ organization = "acme", roles = ["keeper"] }]

[[account]]
email = "rita@acme.test"
memberships = [{ organization = "acme", roles = ["keeper"] }]

[[account]]
email = "otto@other.test"
memberships = [{ organization = "other", roles = ["keeper"] }]
"#;

pub async fn scene() -> TestServer {
    with_keepers(TestServer::open().await).await
}

/// Makes a server know who looks after connections.
pub async fn with_keepers(server: TestServer) -> TestServer {
    server.apply(DIRECTORY).await;
    server.apply(KEEPERS).await;
    server
}

/// A keeper of acme who has proved two factors.
pub async fn keeper(server: &TestServer) -> Api<'_> {
    let session = dora(server).await;
    let answer = server.authorize_in(&session, "web", &[("scope", SCOPE)]).await;
    let code = parameter(&redirect(&answer), "code").unwrap();
    let tokens = server.redeem("web", &code).await.json();
    Api { server, token: text(&tokens["access_token"]).to_owned(), reason: None }
}

fn entra() -> Value {
    json!({ "name": "Acme Entra", "kind": "oidc", "issuer": ISSUER, "client_id": "porteiro",
        "client_secret": SECRET, "roles": [{ "claim": "groups", "value": "f", "role": "manager" }] })
}

/// Sends what is sent otherwise, with other members.
fn with(changes: &Value) -> Value {
    let mut body = entra();
    body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    body
}

pub async fn made(api: &Api<'_>, body: &Value) -> Value {
    let answer = api.post(ACME, body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()
}

fn path(connection: &Value) -> String {
    format!("{ACME}/{}", text(&connection["id"]))
}

async fn patch(api: &Api<'_>, connection: &Value, body: Value) -> Answer {
    api.change(Method::PATCH, &path(connection), Some(&body)).await
}

#[tokio::test]
async fn a_connection_is_made_shown_changed_and_deleted_and_never_tells_its_secret() {
    let server = scene().await;
    let dora = keeper(&server).await;
    let connection = made(&dora, &entra()).await;
    let id = text(&connection["id"]);
    let issuer = server.issuer();
    assert_eq!(connection["redirect_uri"], format!("{issuer}/connect/sso/{id}/callback"));
    assert_eq!(connection["backchannel_logout_uri"], format!("{issuer}/connect/sso/{id}/logout"));
    assert_eq!(connection["initiate_login_uri"], format!("{issuer}/sign-in?connection={id}"));
    assert_eq!(
        (&connection["required"], &connection["believe_acr"]),
        (&json!(false), &json!(false))
    );
    assert_eq!(connection["authentication"], "client_secret");
    let shown = dora.get(&path(&connection)).await;
    assert!(!shown.text().contains(SECRET), "{shown:?}");
    assert_eq!(shown.json(), connection);
    let listed = dora.get(ACME).await.json();
    assert_eq!(listed["items"], json!([connection]));

    let changed =
        patch(&dora, &connection, json!({ "name": "Entra", "roles": [], "client_secret": null }))
            .await;
    let changed = changed.json();
    assert_eq!((&changed["name"], &changed["roles"]), (&json!("Entra"), &json!([])));
    assert_eq!(changed["authentication"], "private_key_jwt");
    assert_eq!(changed["jwks_uri"], format!("{issuer}/connect/jwks"));
    let stale = [("if-match", "\"1\"")];
    let refused = dora.call(Method::PATCH, &path(&connection), Some(&json!({})), &stale).await;
    refused.problem(412, "precondition_failed");
    dora.call(Method::DELETE, &path(&connection), None, &[])
        .await
        .problem(428, "precondition_required");
    assert_eq!(dora.change(Method::DELETE, &path(&connection), None).await.status, 204);
    dora.get(&path(&connection)).await.problem(404, "not_found");
    assert_eq!(dora.get(ACME).await.json()["items"], json!([]));
    // Its name and its issuer are free again; it is another one.
    assert_ne!(made(&dora, &entra()).await["id"], connection["id"]);
    let trail = dora.get("/api/organizations/acme/audit?limit=100").await;
    assert!(!trail.text().contains(SECRET));
    let events = trail.json();
    let mut events: Vec<&str> =
        events["items"].as_array().unwrap().iter().map(|row| text(&row["event"])).collect();
    events.retain(|event| event.starts_with("connection."));
    events.sort_unstable();
    let expected =
        ["connection.changed", "connection.created", "connection.created", "connection.removed"];
    assert_eq!(events, expected);
    server.stop().await;
}

#[tokio::test]
async fn what_a_connection_is_known_by_never_changes_and_is_there_once() {
    let server = scene().await;
    let dora = keeper(&server).await;
    let connection = made(&dora, &entra()).await;
    for other in [json!({ "issuer": "https://evil.test" }), json!({ "kind": "saml" })] {
        patch(&dora, &connection, other).await.problem(400, "immutable");
    }
    let same = patch(&dora, &connection, json!({ "issuer": ISSUER, "kind": "oidc" })).await;
    assert_eq!(same.status, 200, "{same:?}");
    dora.post(ACME, &with(&json!({ "name": "Second" }))).await.problem(409, "exists");
    let named = with(&json!({ "issuer": "https://second.acme.test" }));
    dora.post(ACME, &named).await.problem(409, "exists");
    // Another organization has its own.
    let otto = Api::of(&server, "otto@other.test", "connections:read connections:write").await;
    otto.get(&path(&connection)).await.problem(403, "other_organization");
    let theirs = format!("{OTHER}/{}", text(&connection["id"]));
    otto.get(&theirs).await.problem(404, "not_found");
    otto.call(Method::DELETE, &theirs, None, &[("if-match", "*")]).await.problem(404, "not_found");
    server.stop().await;
}

#[tokio::test]
async fn a_body_that_cannot_be_taken_is_refused_by_its_member() {
    let server = scene().await;
    let dora = keeper(&server).await;
    let google = "https://accounts.google.com";
    let common = "https://login.microsoftonline.com/common/v2.0";
    let long = "x".repeat(5_000);
    for (changes, pointer) in [
        (json!({ "name": "" }), "#/name"),
        (json!({ "issuer": null }), "#/issuer"),
        (json!({ "client_id": null }), "#/client_id"),
        (json!({ "client_id": "a\u{202e}b" }), "#/client_id"),
        (json!({ "client_secret": "" }), "#/client_secret"),
        (json!({ "client_secret": long }), "#/client_secret"),
        (json!({ "kind": "github" }), "#/kind"),
        (json!({ "kind": "ldap" }), "#/kind"),
        (json!({ "metadata": "<xml/>" }), "#/metadata"),
        (json!({ "metadata_url": "https://acme.test/m" }), "#/metadata_url"),
        (json!({ "issuer": "http://login.acme.test" }), "#/issuer"),
        (json!({ "issuer": google }), "#/company"),
        (json!({ "issuer": common, "company": "acme.test" }), "#/company"),
        (
            json!({ "roles": [{ "claim": "groups", "value": "f", "role": "owner" }] }),
            "#/roles/0/role",
        ),
        (json!({ "roles": [{ "claim": "iss", "value": "f", "role": "manager" }] }), "#/roles"),
        (json!({ "roles": [{ "claim": "groups" }] }), "#/roles/0/value"),
        (json!({ "organization": "other" }), "#/organization"),
    ] {
        let refused = dora.post(ACME, &with(&changes)).await;
        refused.problem(400, "invalid_request");
        assert_eq!(refused.json()["errors"][0]["pointer"], pointer, "{changes}: {refused:?}");
        assert!(!refused.text().contains("xxxx"));
    }
    let saml = json!({ "name": "Old", "kind": "saml", "metadata": "<xml/>" });
    dora.post(ACME, &saml).await.problem(400, "kind_unavailable");
    assert_eq!(dora.get(ACME).await.json()["items"], json!([]));
    server.stop().await;
}

#[tokio::test]
async fn what_a_connection_believes_a_person_changes_who_has_proved_two_factors() {
    let server = scene().await;
    let dora = keeper(&server).await;
    let connection = made(&dora, &entra()).await;
    let rita = Api::of(&server, "rita@acme.test", SCOPE).await;
    // A key of the operator's; a person who looks after all organizations.
    let key = Scim::with(&server, "acme", "connections:*").await.key;
    let key = Api { server: &server, token: key, reason: None };
    server.administers("olga@operator.test", true).await;
    let scope = "connections:read connections:write organizations:administer";
    let mut olga = Api::of_organization(&server, "olga@operator.test", scope, "acme").await;
    olga.reason = Some("looks after it");
    for (caller, code) in
        [(&rita, "step_up_required"), (&key, "person_required"), (&olga, "step_up_required")]
    {
        caller.post(ACME, &with(&json!({ "name": "Mine" }))).await.problem(403, code);
        for belief in [
            json!({ "client_id": "evil" }),
            json!({ "client_secret": "evil" }),
            json!({ "client_secret": null }),
            json!({ "believe_acr": true }),
            json!({ "scim_subject": true }),
            json!({ "company": "evil.test" }),
            json!({ "roles": [{ "claim": "groups", "value": "all", "role": "keeper" }] }),
        ] {
            patch(caller, &connection, belief).await.problem(403, code);
        }
        // What stays as it is, is no change; and what is not believed, is not asked for.
        let same = json!({ "client_id": "porteiro", "client_secret": SECRET, "required": false });
        assert_eq!(patch(caller, &connection, same).await.status, 200);
    }
    assert_eq!(patch(&rita, &connection, json!({ "name": "Login" })).await.status, 200);
    let changed = patch(&dora, &connection, json!({ "believe_acr": true })).await;
    assert_eq!(changed.json()["believe_acr"], true);
    // A mapping fills every role: who does not hold all that roles confer issues no key for it (contract §7).
    let keys = "/api/organizations/acme/apikeys";
    let asked = json!({ "name": "filler", "permissions": ["connections:write"] });
    dora.post(keys, &asked).await.problem(403, "permission_not_held");
    // The customer reads of each refusal, of one that repeats once a minute.
    let refusals = records(&server, "api.refused").await;
    for code in ["step_up_required", "person_required", "permission_not_held"] {
        assert!(refusals.iter().any(|detail| detail["code"] == code), "{code}: {refusals:?}");
    }
    let reads = json!({ "name": "reader", "permissions": ["connections:read"] });
    let rita = Api::of(&server, "rita@acme.test", &format!("{SCOPE} apikeys:read")).await;
    assert_eq!(rita.post(keys, &reads).await.status, 201);
    server.stop().await;
}

/// Says which connections an organization requires.
async fn required(server: &TestServer) -> Vec<String> {
    let system = server.running().system();
    let mut commit = system.multi_commit(&porteiro::domain::Context::operator());
    let home = commit.look::<porteiro::domain::organization::Organization>("acme").await.unwrap();
    home.known().unwrap().required_connections.clone()
}

#[tokio::test]
async fn an_organization_requires_what_its_connections_say_whoever_says_it() {
    let server = scene().await;
    let dora = keeper(&server).await;
    let connection = made(&dora, &with(&json!({ "required": true }))).await;
    let id = text(&connection["id"]).to_owned();
    assert_eq!(required(&server).await, std::slice::from_ref(&id));
    // Now a token without that sign-on is worth nothing there.
    dora.get(ACME).await.problem(401, "invalid_token");
    let file = "[[organization]]\nslug = \"acme\"\n[[organization.connection]]\n\
        name = \"Acme Entra\"\nkind = \"oidc\"\nrequired = false\n";
    server.apply(file).await;
    assert!(required(&server).await.is_empty());
    server.apply(&file.replace("false", "true")).await;
    assert_eq!(required(&server).await, [id]);
    // A key is no member, and is not asked how it signed in.
    let key = Scim::with(&server, "acme", "connections:*").await.key;
    let key = Api { server: &server, token: key, reason: None };
    let lifted = patch(&key, &connection, json!({ "required": false })).await;
    assert_eq!((lifted.status.as_u16(), required(&server).await.len()), (200, 0), "{lifted:?}");
    assert_eq!(patch(&key, &connection, json!({ "required": true })).await.status, 200);
    assert_eq!(key.change(Method::DELETE, &path(&connection), None).await.status, 204);
    assert!(required(&server).await.is_empty());
    server.stop().await;
}

const FILE: &str = r#"
[[organization]]
slug = "acme"
  [[organization.connection]]
  name = "Acme Entra"
  kind = "oidc"
  issuer = "https://login.acme.test"
  client_id = "porteiro"
  client_secret_file = "acme.secret"
  believe_acr = true
  roles = [{ claim = "groups", value = "finance", role = "manager" }]

[[connection]]
name = "GitHub"
kind = "github"
client_id = "ours"
client_secret_file = "acme.secret"
"#;

#[tokio::test]
async fn a_file_makes_connections_and_changes_what_it_names() {
    let server = scene().await;
    let secret = server.keys().parent().unwrap().join("acme.secret");
    std::fs::write(&secret, format!("{SECRET}\n")).unwrap();
    let plan = server.apply(FILE).await;
    let lines: Vec<String> = plan.steps.iter().map(ToString::to_string).collect();
    assert_eq!(lines[1..], ["+ created connection Acme Entra", "+ created connection GitHub"]);
    assert!(server.apply(FILE).await.changes_nothing(), "the same secret is no change");
    let dora = keeper(&server).await;
    let listed = dora.get(ACME).await.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "that of no organization is not ours");
    let connection = listed["items"][0].clone();
    assert_eq!(connection["believe_acr"], true);
    // Without the secret, the one that is there is kept; so is the rest that is not named.
    let less = "[[organization]]\nslug = \"acme\"\n[[organization.connection]]\n\
        name = \"Acme Entra\"\nkind = \"oidc\"\nbelieve_acr = false\n";
    let plan = server.apply(less).await;
    assert_eq!(plan.steps[1].to_string(), "~ changed connection Acme Entra (believe_acr)");
    let shown = dora.get(&path(&connection)).await.json();
    assert_eq!(shown["authentication"], "client_secret");
    assert_eq!(shown["roles"], connection["roles"]);
    std::fs::write(&secret, "another").unwrap();
    let plan = server.apply(FILE).await;
    let changed = "~ changed connection Acme Entra (client_secret, believe_acr)";
    assert_eq!(plan.steps[1].to_string(), changed);
    server.stop().await;
}

#[tokio::test]
async fn a_file_with_a_connection_that_cannot_be_is_refused_as_a_whole_with_its_line() {
    let installation = Installation::new().await;
    installation.apply("[[organization]]\nslug = \"acme\"\n");
    std::fs::write(installation.path().join("acme.secret"), SECRET).unwrap();
    std::fs::write(installation.path().join("empty.secret"), "\n").unwrap();
    let good = "[[organization]]\nslug = \"acme\"\n[[organization.connection]]\nname = \"Entra\"\n\
        kind = \"oidc\"\nissuer = \"https://login.acme.test\"\nclient_id = \"porteiro\"\n";
    let refused = |text: &str, line: usize, why: &str| {
        std::fs::write(installation.path().join("file.toml"), text).unwrap();
        let output = installation.run(&["apply", "file.toml"]);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(78), "{text}");
        assert!(
            text.contains(&format!("file.toml:{line}:")) && text.contains(why),
            "{why}: {text}"
        );
        assert!(!text.contains(SECRET));
    };
    refused(&good.replace("oidc", "saml"), 5, "saml");
    refused(&good.replace("oidc", "github"), 5, "outside organizations");
    refused(&good.replace("login.acme.test", "login.microsoftonline.com/common/v2.0"), 3, "tenant");
    refused(&good.replace("https", "http"), 6, "issuer");
    refused(&format!("{good}client_secret = \"{SECRET}\"\n"), 8, "client_secret");
    refused(&format!("{good}client_secret_file = \"none.secret\"\n"), 8, "none.secret");
    refused(&format!("{good}client_secret_file = \"empty.secret\"\n"), 8, "empty");
    let mapping = "roles = [{ claim = \"g\", value = \"v\", role = \"owner\" }]\n";
    refused(&format!("{good}{mapping}"), 8, "owner");
    let (_, connection) = good.split_once("\"acme\"\n").unwrap();
    refused(&format!("{good}{connection}"), 9, "already");
    let second = connection.replace("Entra", "Second");
    refused(&format!("{good}{second}"), 11, "issuer");
    let outside = "[[connection]]\nname = \"Google\"\nkind = \"oidc\"\nissuer = \"https://accounts.google.com\"\n\
        client_id = \"ours\"\nrequired = true\n";
    refused(outside, 6, "of an organization");
    installation.apply(good);
    refused(&good.replace("login.acme.test", "evil.test"), 6, "never changes");
    let outside = "[[connection]]\nname = \"Octo\"\nkind = \"github\"\nclient_id = \"ours\"\n";
    installation.apply(outside);
    let other_kind = outside.replace("github\"", "oidc\"\nissuer = \"https://github.com\"");
    refused(&other_kind, 3, "kind never changes");
    // A suspended organization accepts no change of a connection, be it required or not.
    installation.apply("[[organization]]\nslug = \"acme\"\nenabled = false\n");
    refused(&good.replace("\"porteiro\"\n", "\"other\"\nrequired = true\n"), 3, "suspended");
    refused(&good.replace("\"porteiro\"", "\"other\""), 3, "suspended");
    refused(&good.replace("Entra", "Other").replace("login.", "id."), 3, "suspended");
    assert!(installation.apply(good).contains("= unchanged connection Entra"));
    let enabled = good.replace("\"acme\"\n", "\"acme\"\nenabled = true\n");
    let enabled = enabled.replace("\"porteiro\"", "\"other\"");
    assert!(installation.apply(&enabled).contains("~ changed connection Entra (client_id)"));
}
