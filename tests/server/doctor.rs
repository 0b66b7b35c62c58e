//! `porteiro doctor`, and what `serve` says of the same things.

use crate::{
    binary::{Installation, free_port, said},
    database::Database,
    support::ACME,
};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use std::os::unix::fs::PermissionsExt as _;

#[tokio::test]
async fn doctor_says_what_is_well_and_what_to_mend() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    let well = installation.run(&["doctor", "--json"]);
    let text = String::from_utf8(well.stdout.clone()).unwrap();
    assert!(well.status.success(), "{text}{}", said(&well));
    for check in ["configuration", "keys", "store", "security log", "clock", "issuer"] {
        let found = text.lines().any(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["check"] == check && line["verdict"] == "ok"
        });
        assert!(found, "{check}: {text}");
    }
    let port = free_port();
    installation.configure(&format!(
        "[mail]\ntransport = \"smtp://127.0.0.1:{port}\"\nfrom = \"a@b.test\"\n\
         [tls]\ncert = \"none.pem\"\nkey = \"none.pem\"\n"
    ));
    let ill = installation.run(&["doctor"]);
    assert_eq!(ill.status.code(), Some(1));
    let text = String::from_utf8(ill.stdout).unwrap();
    assert!(text.lines().any(|line| line.starts_with("mend  mail")), "{text}");
    assert!(text.lines().any(|line| line.starts_with("mend  certificate")), "{text}");
}

#[tokio::test]
async fn doctor_says_that_codes_by_sms_are_restricted() {
    let installation = Installation::new().await;
    let warns = || {
        let looked = String::from_utf8(installation.run(&["doctor"]).stdout).unwrap();
        looked.lines().any(|line| line.starts_with("look  sms") && line.contains("restricted"))
    };
    assert!(!warns(), "no SMS is sent");
    let folder = installation.path().join("sms");
    std::fs::create_dir(&folder).unwrap();
    installation.configure(&format!("[sms]\ntransport = \"file://{}\"\n", folder.display()));
    assert!(warns());
}

#[tokio::test]
async fn a_database_of_places_that_cannot_be_used_is_said_and_stops_nothing() {
    let installation = Installation::new().await;
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    for (file, why) in [(file, "is no database of places"), ("none.mmdb", "cannot be read")] {
        installation.configure(&format!("[geo]\ndatabase = \"{file}\"\n"));
        let serving = installation.serve();
        serving.signal("-TERM");
        let (code, log) = tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
        let told = |line: &String| line.contains("cannot be used") && line.contains(why);
        assert!(code == Some(0) && log.iter().any(told), "{log:?}");
        let looked = installation.run(&["doctor"]);
        assert_eq!(looked.status.code(), Some(0));
        let text = String::from_utf8(looked.stdout).unwrap();
        let found = |line: &str| line.starts_with("look  geo") && line.contains(why);
        assert!(text.lines().any(found), "{text}");
    }
    installation.configure("[mtls]\nlisten = \"127.0.0.1:0\"\n");
    let refused = installation.run(&["serve"]);
    assert_eq!(refused.status.code(), Some(78));
    assert!(said(&refused).contains("mtls.listen"), "{}", said(&refused));
}

#[tokio::test]
async fn a_certificate_that_nobody_will_accept_is_named_and_served() {
    let installation = Installation::new().await;
    let mut params = CertificateParams::new(vec!["other.example.com".to_owned()]).unwrap();
    params.not_after = date_time_ymd(2020, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let file = |name: &str| installation.path().join(name);
    std::fs::write(file("cert.pem"), certificate.pem()).unwrap();
    std::fs::write(file("key.pem"), key.serialize_pem()).unwrap();
    std::fs::set_permissions(file("key.pem"), std::fs::Permissions::from_mode(0o644)).unwrap();
    installation.configure("[tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\n");
    let looked = installation.run(&["doctor"]);
    assert_eq!(looked.status.code(), Some(1));
    let looked = String::from_utf8(looked.stdout).unwrap();
    for (verdict, named) in [
        ("mend", "cert.pem has expired on"),
        ("mend", "cert.pem is not for localhost"),
        ("look", "key.pem can be read by every user"),
    ] {
        let found = looked.lines().any(|line| line.starts_with(verdict) && line.contains(named));
        assert!(found, "{named}: {looked}");
    }
    let serving = installation.serve();
    serving.signal("-TERM");
    let (code, log) = tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
    let told = |line: &String| line.contains("ERROR") && line.contains("has expired");
    assert!(code == Some(0) && log.iter().any(told), "{log:?}");
}

#[tokio::test]
async fn a_list_of_leaked_passwords_is_looked_at_before_it_is_relied_on() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    let list = installation.path().join("hashes.txt");
    let setting = format!("[password]\nbreach_check = \"file://{}\"\n", list.display());
    installation.configure(&setting);
    let (of_password, of_other) = (
        "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:9",
        "ABF7AAD6438836DBE526AA231ABDE2D0EEF74D42:1",
    );
    for (content, why) in [
        (None, "hashes.txt: there is no such file"),
        (Some(String::new()), "hashes.txt: it holds no hashes"),
        (Some("password\nletmein\n".to_owned()), "no SHA-1 hash"),
        (Some(format!("{of_other}\n{of_password}\n")), "not in order"),
    ] {
        if let Some(content) = content {
            std::fs::write(&list, content).unwrap();
        }
        let refused = installation.run(&["serve"]);
        assert_eq!(refused.status.code(), Some(78), "{why}");
        let text = said(&refused);
        assert!(text.contains("password.breach_check: ") && text.contains(why), "{why}: {text}");
        let looked = String::from_utf8(installation.run(&["doctor"]).stdout).unwrap();
        let found =
            looked.lines().any(|line| line.starts_with("mend  passwords") && line.contains(why));
        assert!(found, "{why}: {looked}");
    }
    for (content, verdict) in [
        (format!("{of_password}\r\n{of_other}\r\n"), "ok    passwords"),
        (of_other.to_owned(), "look  passwords"),
    ] {
        std::fs::write(&list, content).unwrap();
        let looked = String::from_utf8(installation.run(&["doctor"]).stdout).unwrap();
        assert!(looked.lines().any(|line| line.starts_with(verdict)), "{verdict}: {looked}");
    }
    let serving = installation.serve();
    serving.signal("-TERM");
    let (code, log) = tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
    assert_eq!(code, Some(0), "{log:?}");
    assert!(!log.iter().any(|line| line.contains("does not act on")), "{log:?}");
    // What a server of ours could not call is mended, too.
    let port = free_port();
    installation
        .configure(&format!("[password]\nbreach_check = \"http://127.0.0.1:{port}/range/\"\n"));
    let looked = String::from_utf8(installation.run(&["doctor"]).stdout).unwrap();
    let forbidden = "the address is not one that may be called";
    let found =
        looked.lines().any(|line| line.starts_with("mend  passwords") && line.contains(forbidden));
    assert!(found, "{looked}");
}

/// A file that can be applied; the clients `keyless`, `certified` and `shop` cannot authenticate, and
/// three permissions open nothing.
const WITH_WARNINGS: &str = r#"
[[resource]]
identifier = "https://api.example.com/stock"
scopes = ["stock:read"]
[[resource.authorization_details]]
type = "order"
schema = { type = "object" }
permission = "stock:order"

[[organization]]
slug = "shops"
  [[organization.role]]
  name = "keeper"
  permissions = ["stock:*", "stock:order", "accounts:read", "roles:*"]
  [[organization.role]]
  name = "dreamer"
  permissions = ["stok:read", "stok:*", "accounts:conjure"]

[[client]]
client_id = "shop"
redirect_uris = ["https://shop.example.com/cb"]

[[client]]
client_id = "keyless"
redirect_uris = ["https://shop.example.com/cb"]
token_endpoint_auth_method = "private_key_jwt"
jwks = { keys = [] }

[[client]]
client_id = "certified"
redirect_uris = ["https://shop.example.com/cb"]
token_endpoint_auth_method = "self_signed_tls_client_auth"
jwks = { keys = [] }

[[client]]
client_id = "partner"
redirect_uris = ["https://shop.example.com/cb"]
token_endpoint_auth_method = "tls_client_auth"
tls_client_auth_san_dns = "shop.example.com"

[[client]]
client_id = "page"
redirect_uris = ["https://shop.example.com/cb"]
token_endpoint_auth_method = "none"
"#;

#[tokio::test]
async fn clients_that_cannot_authenticate_and_permissions_of_no_api_are_said() {
    let installation = Installation::new().await;
    let quiet = installation.apply(ACME);
    assert!(!quiet.contains('!'), "{quiet}");
    std::fs::write(installation.path().join("warned.toml"), WITH_WARNINGS).unwrap();
    let begins = [
        "! organization shops: the role `dreamer` has the permission `stok:read`",
        "! organization shops: the role `dreamer` has the permission `stok:*`",
        "! organization shops: the role `dreamer` has the permission `accounts:conjure`",
        "! client shop: it has no `client_secret` and names no `token_endpoint_auth_method`",
        "! client keyless: it has neither a `jwks_uri` nor a key",
        "! client certified: it has neither a `jwks_uri` nor a key",
    ];
    let dry = installation.run(&["apply", "warned.toml", "--dry-run"]);
    let dry = String::from_utf8(dry.stdout).unwrap();
    for printed in [dry, installation.apply(WITH_WARNINGS)] {
        let warnings: Vec<&str> = printed.lines().filter(|line| line.starts_with('!')).collect();
        assert_eq!(warnings.len(), begins.len(), "{printed}");
        let mut pairs = warnings.iter().zip(begins);
        assert!(pairs.all(|(line, begin)| line.starts_with(begin)), "{printed}");
    }
    let json = installation.run(&["apply", "warned.toml", "--json"]);
    let json = String::from_utf8(json.stdout).unwrap();
    let objects = json.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let warned: Vec<serde_json::Value> =
        objects.filter(|object| object["warning"].is_string()).collect();
    assert_eq!(warned.len(), begins.len(), "{json}");
    assert_eq!((&warned[3]["kind"], &warned[3]["id"]), (&"client".into(), &"shop".into()));
    let looked = String::from_utf8(installation.run(&["doctor"]).stdout).unwrap();
    let named =
        |text: &str| looked.lines().any(|line| line.starts_with("look") && line.contains(text));
    for text in ["shop: it has no", "keyless: it has", "certified: it has", "`stok:read`"] {
        assert!(named(text), "{text}: {looked}");
    }
    assert!(!named("page") && !named("keeper"), "{looked}");
    assert!(named("partner: it needs the certificate of its connection"), "{looked}");
    let settings = "listen = \"127.0.0.1:0\"\nclient_ca = \"ca.pem\"\n";
    for (lines, warned) in [(1, true), (2, false)] {
        let settings: Vec<&str> = settings.lines().take(lines).collect();
        installation.configure(&format!("[mtls]\n{}\n", settings.join("\n")));
        let looked = String::from_utf8(installation.run(&["doctor"]).stdout).unwrap();
        let by_authority =
            looked.contains("partner: it authenticates by a certificate of an authority");
        assert_eq!(by_authority, warned, "{looked}");
        assert!(!looked.contains("partner: it needs"), "{looked}");
    }
}

#[tokio::test]
async fn doctor_names_connections_with_their_organization_and_says_what_to_mend() {
    let installation = Installation::new().await;
    // No name is resolved, and no provider on this machine is called.
    let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    installation.configure(&format!("[dns]\nservers = [\"{closed}\"]\n"));
    std::fs::write(installation.path().join("entra.secret"), "a-secret-of-entra").unwrap();
    let organization = |slug: &str| {
        format!(
            "[[organization]]\nslug = \"{slug}\"\n[[organization.role]]\nname = \"clerk\"\n\
             [[organization.connection]]\nname = \"Entra\"\nkind = \"oidc\"\n\
             issuer = \"https://login.{slug}.test\"\nclient_id = \"porteiro\"\n\
             client_secret_file = \"entra.secret\"\n\
             roles = [{{ claim = \"groups\", value = \"all\", role = \"clerk\" }}]\n"
        )
    };
    let google = "[[organization.connection]]\nname = \"Google\"\nkind = \"oidc\"\n\
        issuer = \"https://accounts.google.com\"\nclient_id = \"ours\"\ncompany = \"acme.test\"\n";
    installation.apply(&format!("{}{google}{}", organization("acme"), organization("globex")));
    installation.apply("[[organization]]\nslug = \"acme\"\nrole = []\n");
    let mut rows = Database::at(installation.url()).await;
    for (from, to) in [(",\"company\":\"acme.test\"", ""), ("\"sealed\":\"", "\"sealed\":\"AAAA")] {
        let change = format!(
            "UPDATE entities SET state = REPLACE(state, '{from}', '{to}'), version = version + 1 \
              WHERE kind = 'connection' AND state LIKE '%\"organization\":\"acme\"%'"
        );
        rows.run(change).await.unwrap();
    }
    let doctor = || String::from_utf8(installation.run(&["doctor"]).stdout).unwrap();
    let looked = doctor();
    for (subject, said) in [
        ("connection", "Entra of acme: has a secret that cannot be opened"),
        (
            "connection",
            "Entra of acme: maps to the role `clerk`, which `acme` has not: make the role",
        ),
        (
            "connection",
            "Google of acme: signs in no person as it is: this issuer serves every company",
        ),
        ("organization", "acme: has single sign-on and no verified domain"),
        ("organization", "globex: has single sign-on and no verified domain"),
        ("provider", "Entra of acme cannot be asked"),
        ("provider", "Entra of globex cannot be asked"),
    ] {
        let begins = format!("look  {subject:14} {said}");
        assert!(looked.lines().any(|line| line.starts_with(&begins)), "{begins}: {looked}");
    }
    assert!(!looked.contains("Entra of globex: "), "{looked}");
    assert!(!looked.contains("a-secret-of-entra"), "{looked}");
    // Of a suspended organization none signs in.
    installation.apply("[[organization]]\nslug = \"globex\"\nenabled = false\n");
    assert!(!doctor().contains("globex"));
}
