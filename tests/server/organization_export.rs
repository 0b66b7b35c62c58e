//! An organization as a provisioning file: by `/api` and by the command, without a secret or anything of others.

use crate::{
    api_caller::{Api, DIRECTORY, EVERYTHING, directory},
    binary::{Installation, porteiro, said},
    person::text,
    scim_caller::Scim,
    support::{TestOptions, TestServer, apply},
};
use porteiro::{
    domain::{
        Context, Fingerprint,
        account::SealedSecret,
        connection::{ClientSecret, Command, Connection, Draft},
        upstream::{Kind, RoleMapping},
    },
    provisioning::File,
};
use serde_json::json;

const EXPORT: &str = "/api/organizations/acme/export";

/// What an export has to carry, and what it must not.
const MORE: &str = r##"
[[organization]]
slug = "acme"
name = "Acme \"Lda\" # [x]"
impersonation = true
  [[organization.domain]]
  domain = "acme.test"
  [[organization.connection]]
  name = "Acme ID"
  kind = "oidc"
  issuer = "https://id.acme.test"
  client_id = "porteiro"
  believe_acr = true
  roles = [{ claim = "groups", value = "finance", role = "clerk" }]
  [organization.brand]
  colour = "#336699"
  text = { en = "Hello", pt = "Olá" }

[[organization]]
slug = "other"
name = "Globex"
  [[organization.domain]]
  domain = "globex.test"
  [[organization.role]]
  name = "globex-only"
  permissions = ["orders:read"]
  [[organization.role]]
  name = "administrator"
  permissions = ["organizations:*"]

[[account]]
email = "vera@elsewhere.test"
email_verified = true
password = "correct horse battery staple"
phone_number = "+351910000001"
birthdate = "1990-05-17"
given_name = "Vera # [[client]] \\"
"given_name#pt" = "Conceição"
memberships = [
    { organization = "acme", roles = ["clerk"] },
    { organization = "other", roles = ["globex-only"] },
]

[[account]]
email = "ended@acme.test"
given_name = "Edda"
memberships = [{ organization = "acme", roles = ["clerk"], enabled = false }]

[[account]]
email = "closed@acme.test"
enabled = false
memberships = [{ organization = "acme", roles = ["manager"] }]

[[client]]
client_id = "kiosk"
client_name = "Kiosk"
"client_name#pt" = "Quiosque"
organization = "acme"
made_by = "organization"
redirect_uris = ["https://kiosk.test/cb"]
token_endpoint_auth_method = "none"
grant_types = ["authorization_code"]

[[client]]
client_id = "closed-app"
organization = "acme"
enabled = false
redirect_uris = ["https://closed.test/cb"]
token_endpoint_auth_method = "none"
grant_types = ["authorization_code"]

[[client]]
client_id = "globex-app"
organization = "other"
redirect_uris = ["https://globex.test/cb"]
token_endpoint_auth_method = "none"
grant_types = ["authorization_code"]
"##;

/// An organization with everything that a file can say of one. The role `temp` goes again, and leaves its name behind.
const FULL: &str = r##"
[[resource]]
identifier = "https://api.full.test"
scopes = ["orders:read"]
authorization_details = [{ type = "order", schema = { type = "object" } }]

[[organization]]
slug = "full"
name = "Full Lda"
required_acr = "aal2"
impersonation = true
  [[organization.role]]
  name = "clerk"
  permissions = ["orders:read", "connections:*"]
  [[organization.role]]
  name = "temp"
  permissions = ["orders:read"]
  [[organization.role]]
  name = "night-shift"
  made_by = "scim"
  [[organization.domain]]
  domain = "full.test"
  [[organization.domain]]
  domain = "bücher.example"
  [[organization.connection]]
  name = "Full ID"
  kind = "oidc"
  issuer = "https://id.full.test"
  client_id = "porteiro"
  required = true
  believe_acr = true
  scim_subject = true
  roles = [
      { claim = "groups", value = "all", role = "temp" },
      { claim = "groups", value = "finance", role = "clerk" },
  ]
  [[organization.connection]]
  name = "Google"
  kind = "oidc"
  issuer = "https://accounts.google.com"
  client_id = "ours"
  company = "full.test"
  [organization.brand]
  colour = "#336699"
  logo = "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9IjAgMCA5NiAyNCI+PC9zdmc+"
  text = { en = "Hello", pt = "Olá" }

[[account]]
email = "both@full.test"
email_verified = true
password = "correct horse battery staple"
memberships = [{ organization = "full", roles = ["temp", "night-shift", "clerk"] }]

[[account]]
email = "none@full.test"
memberships = [{ organization = "full", roles = ["temp"] }]

[[account]]
email = "ended@full.test"
memberships = [{ organization = "full", roles = ["clerk", "temp"], enabled = false }]

[[account]]
email = "closed@full.test"
enabled = false
memberships = [{ organization = "full", roles = ["clerk"] }]

[[client]]
client_id = "kiosk"
organization = "full"
made_by = "organization"
redirect_uris = ["https://kiosk.full.test/cb"]
logo_uri = "https://kiosk.full.test/logo.png"
token_endpoint_auth_method = "none"
grant_types = ["authorization_code"]
scope = "openid accounts:read"

[[client]]
client_id = "courier"
organization = "full"
roles = ["temp", "clerk"]
jwks_uri = "https://courier.full.test/jwks"
token_endpoint_auth_method = "private_key_jwt"
grant_types = ["client_credentials"]
claims_in_id_token = true
[client.agent]
purpose = "Carries parcels"
expires_at = "2100-01-01T00:00:00Z"
[[client.agent.limit]]
type = "order"
member = "amount"
per_day = "500.5"

[[client]]
client_id = "gone"
organization = "full"
enabled = false
redirect_uris = ["https://gone.full.test/cb"]
token_endpoint_auth_method = "none"
grant_types = ["authorization_code"]

[[client]]
client_id = "secretive"
client_secret = "a-secret-of-more-than-thirty-two-characters"
organization = "full"
roles = ["temp"]

[[client]]
client_id = "till"
organization = "full"
redirect_uris = ["https://till.full.test/cb"]
token_endpoint_auth_method = "none"
grant_types = ["authorization_code"]
scope = "openid orders:read"

[[client]]
client_id = "gateway"
organization = "full"
jwks_uri = "https://gateway.full.test/jwks"
token_endpoint_auth_method = "private_key_jwt"
introspects = ["https://api.full.test"]

[[client]]
client_id = "payer"
organization = "full"
redirect_uris = ["https://payer.full.test/cb"]
token_endpoint_auth_method = "none"
grant_types = ["authorization_code"]
authorization_details_types = ["order"]
"##;

fn exported(installation: &Installation) -> String {
    let output = installation.run(&["export", "--organization", "full"]);
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn an_export_is_applied_where_there_is_nothing_whatever_the_organization_has() {
    let installation = Installation::new().await;
    installation.apply(FULL);
    let roles = "[[organization]]\nslug = \"full\"\n[[organization.role]]\nname = \"clerk\"\n\
        permissions = [\"orders:read\", \"connections:*\"]\n";
    let plan = installation.apply(roles);
    assert!(plan.contains("- removed role temp of full (held by 2 members, 2 clients)"), "{plan}");
    for (enabled, suspended) in [(true, 0), (false, 1)] {
        installation.apply(&format!("[[organization]]\nslug = \"full\"\nenabled = {enabled}\n"));
        let file = exported(&installation);
        assert!(!file.contains("temp\""), "a role that is gone: {file}");
        assert!(file.contains("logo = \"data:image/svg+xml;base64,PHN2"), "{file}");
        let read: toml::Table = toml::from_str(&file).unwrap();
        assert!(read.get("resource").is_none(), "an API is the installation's: {file}");
        let clients = read["client"].as_array().unwrap().iter();
        let ids: Vec<&str> = clients.map(|one| one["client_id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["courier", "gone", "kiosk"], "others are comments");
        for id in ["gateway", "payer", "secretive", "till"] {
            assert!(file.contains(&format!("# client_id = \"{id}\"")), "{id}: {file}");
        }

        let elsewhere = Installation::new().await;
        let plan = elsewhere.apply(&file);
        let created = plan.lines().filter(|line| line.starts_with("+ ")).count();
        assert_eq!(created, 12, "{plan}");
        let plan = elsewhere.apply(&file);
        assert!(plan.lines().all(|line| line.starts_with(['=', '!'])), "{plan}");
        let again = exported(&elsewhere);
        let real = |text: &str| {
            let rows = text.split("\n\n").map(|row| row.trim().to_owned());
            let mut rows: Vec<String> = rows.filter(|row| !row.starts_with("# Th")).collect();
            rows.sort();
            rows
        };
        assert_eq!(real(&again), real(&file));
        assert_eq!(file.matches("\nname = \"Full Lda\"\nenabled = false\n").count(), suspended);
        // The log tells of the organization what became of it.
        let listed = elsewhere.run(&["log", "list", "--organization", "full", "--json"]);
        let log = String::from_utf8(listed.stdout).unwrap();
        assert_eq!(log.matches("\"organization.suspended\"").count(), suspended, "{log}");
    }
}

fn command(server: &TestServer, slug: &str) -> std::process::Output {
    let keys = server.keys();
    let mut command = porteiro(&keys, &["export", "--organization", slug]);
    command.env("PORTEIRO_STORE__URL", &server.url).env("PORTEIRO_KEYS__DIR", &keys);
    command.output().unwrap()
}

#[tokio::test]
async fn an_export_is_applied_elsewhere_and_makes_the_same_organization() {
    let server = directory().await;
    server.apply(MORE).await;
    let scim = Scim::of(&server, "acme").await;
    scim.group("Night Shift", &[]).await;
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let answer = rita.get(EXPORT).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/toml"));
    let exported = answer.text();
    let printed = command(&server, "acme");
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), exported, "the same by the command");
    assert_eq!(rita.get(EXPORT).await.text(), exported, "and each time");

    // Where there is nothing yet.
    let elsewhere = Installation::new().await;
    elsewhere.apply(&exported);
    std::fs::write(elsewhere.path().join("file.toml"), &exported).unwrap();
    let plan = elsewhere.run(&["apply", "file.toml"]).stdout;
    let plan = String::from_utf8(plan).unwrap();
    // Warnings aside: there is no API yet.
    let steps: Vec<&str> = plan.lines().filter(|line| !line.starts_with('!')).collect();
    assert!(steps.len() > 8 && steps.iter().all(|line| line.starts_with('=')), "{plan}");
    let again = elsewhere.run(&["export", "--organization", "acme"]).stdout;
    let again = String::from_utf8(again).unwrap();
    let sorted = |text: &str| {
        let mut rows: Vec<String> = text.split("\n\n").map(|row| row.trim().to_owned()).collect();
        rows.sort();
        rows
    };
    // Clients with a secret are comments there, and were not made.
    let real = |text: &str| {
        sorted(text).into_iter().filter(|row| !row.starts_with("# The secret")).collect::<Vec<_>>()
    };
    assert_eq!(real(&again), real(&exported), "accounts are in the order of their ids");
    for (wanted, why) in [
        ("made_by = \"scim\"", "a role of a directory stays one"),
        ("made_by = \"organization\"", "a client of the organization stays one"),
        ("enabled = false }]", "an ended membership stays ended"),
        ("# client_secret", "a comment stands for a secret"),
        ("Conceição", "in all languages"),
    ] {
        assert!(exported.contains(wanted), "{why}: {exported}");
    }
    server.stop().await;
}

#[tokio::test]
async fn an_export_has_no_secret_and_nothing_of_another_organization() {
    let server = directory().await;
    server.apply(MORE).await;
    let system = server.running().system();
    let mut commit = system.multi_commit(&Context::node());
    for (id, slug) in [("c1", "acme"), ("c2", "other")] {
        let secret = ClientSecret {
            sealed: SealedSecret::new("sealed-text"),
            mark: Fingerprint::of(b"hunter2"),
        };
        let roles = vec![RoleMapping {
            claim: "groups".to_owned(),
            value: format!("finance of {slug}"),
            role: "clerk".to_owned(),
        }];
        let draft = Draft {
            id: id.to_owned(),
            organization: Some(slug.to_owned()),
            name: Some(format!("Entra of {slug}")),
            kind: Some(Kind::Oidc),
            issuer: Some(format!("https://login.{slug}.test")),
            client_id: Some("porteiro".to_owned()),
            secret: Some(Some(secret)),
            believe_acr: Some(true),
            roles: Some(roles),
            ..Draft::default()
        };
        let provision = Command::Provision(Box::new(draft));
        commit.decide::<Connection>(id, &provision).await.unwrap().unwrap();
    }
    commit.commit().await.unwrap();
    let rita = Api::of(&server, "rita@acme.test", EVERYTHING).await;
    let hook = json!({ "url": "https://hooks.acme.test/", "events": ["membership.*"] });
    let hook = rita.post("/api/organizations/acme/webhooks", &hook).await.json();
    let exported = rita.get(EXPORT).await.text();
    for secret in [
        "argon2",
        "correct horse",
        "a-secret-of-more",
        "sealed-text",
        "hunter2",
        serde_json::to_string(&Fingerprint::of(b"hunter2")).unwrap().trim_matches('"'),
        text(&hook["secret"]),
    ] {
        assert!(!exported.contains(secret), "{secret}: {exported}");
    }
    for foreign in ["lobex", "otto@", "other", "+351910000001", "1990-05-17", "Edda", "ana-of"] {
        assert!(!exported.contains(foreign), "{foreign}: {exported}");
    }
    let connection = "[[organization.connection]]\nname = \"Entra of acme\"\nkind = \"oidc\"\n\
        issuer = \"https://login.acme.test\"\nclient_id = \"porteiro\"\n# client_secret_file";
    assert!(exported.contains(connection), "{exported}");
    assert!(exported.contains(
        "roles = [{ claim = \"groups\", value = \"finance of acme\", role = \"clerk\" }]"
    ));
    // Who may not, gets nothing.
    let reader = Api::of(&server, "rita@acme.test", "organizations:read accounts:read").await;
    reader.get(EXPORT).await.problem(403, "permission_required");
    let otto = Api::of(&server, "otto@other.test", "organizations:write").await;
    otto.get(EXPORT).await.problem(403, "other_organization");
    assert_eq!(command(&server, "unknown").status.code(), Some(1));
    server.stop().await;
}

#[tokio::test]
async fn a_file_suspends_what_it_says_is_not_enabled_and_enables_it_again() {
    let server = TestServer::open_in(TestOptions::default()).await;
    server.apply(DIRECTORY).await;
    let file = |enabled: bool| {
        format!(
            "[[account]]\nemail = \"rita@acme.test\"\nenabled = {enabled}\n\
             [[client]]\nclient_id = \"robot\"\nenabled = {enabled}\n"
        )
    };
    for enabled in [false, true] {
        let plan = server.apply(&file(enabled)).await;
        assert!(!plan.changes_nothing(), "{:?}", plan.steps);
        assert!(server.apply(&file(enabled)).await.changes_nothing());
    }
    // A suspended organization that a file creates is filled by it; one that is there is not.
    let gone = "[[organization]]\nslug = \"gone\"\nenabled = false\n\
        [[organization.role]]\nname = \"clerk\"\npermissions = [\"invoices:read\"]\n\
        [[account]]\nemail = \"gina@gone.test\"\n\
        memberships = [{ organization = \"gone\", roles = [\"clerk\"] }]\n";
    server.apply(gone).await;
    let late =
        "[[account]]\nemail = \"late@gone.test\"\nmemberships = [{ organization = \"gone\" }]\n";
    assert!(apply(&server.url, &server.keys(), late).await.is_err());
    for wrong in ["made_by = \"me\"", "enabled = 1"] {
        let file = format!("[[client]]\nclient_id = \"x\"\n{wrong}\n");
        assert!(File::parse(&file).is_err(), "{wrong}");
    }
    server.stop().await;
}
