//! An organization as a provisioning file: by `/api` and by the command, without a secret or anything of others.

use crate::{
    api_caller::{Api, DIRECTORY, EVERYTHING, directory},
    binary::{Installation, porteiro},
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
    let system = server.running.system();
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
