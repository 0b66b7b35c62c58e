//! Domains in provisioning files, and what `porteiro doctor` says of them.

use crate::{
    binary::{Installation, said},
    database::Database,
    domains::{ACME, CHALLENGE, scene, state, verify},
    person::text,
    zone_server::{Zone, ZoneServer},
};
use hyper::Method;
use serde_json::json;

const FILE: &str = r#"
[[organization]]
slug = "acme"
  [[organization.domain]]
  domain = "acme.test"
  [[organization.domain]]
  domain = "Bücher.example"

[[organization]]
slug = "other"
  [[organization.domain]]
  domain = "acme.test"
"#;

#[tokio::test]
async fn a_file_adds_domains_once_and_proves_none() {
    let scene = scene().await;
    let plan = scene.server.apply(FILE).await;
    let lines: Vec<String> = plan.steps.iter().map(ToString::to_string).collect();
    let created = |name: &str| format!("+ created domain {name}");
    let expected = [created("acme.test"), created("xn--bcher-kva.example"), created("acme.test")];
    assert_eq!(lines[2..], expected, "two organizations may have it pending");
    let rita = scene.rita().await;
    let listed = rita.get(ACME).await.json();
    let first = listed["items"][0].clone();
    assert_eq!((&first["domain"], &first["state"]), (&json!("acme.test"), &json!("pending")));
    scene.publish(&first);
    let again = scene.server.apply(FILE).await;
    assert!(again.changes_nothing(), "{:?}", again.steps);
    assert_eq!(state(&rita, ACME, &first).await, "pending", "a file proves nothing");
    assert_eq!(verify(&rita, ACME, &first).await.status, 200);
    assert!(scene.server.apply(FILE).await.changes_nothing(), "nor does it take anything back");
    assert_eq!(state(&rita, ACME, &first).await, "verified");
    // What a file does not name stays.
    let fewer = "[[organization]]\nslug = \"acme\"\n";
    assert!(scene.server.apply(fewer).await.changes_nothing());
    assert_eq!(rita.get(ACME).await.json()["items"].as_array().unwrap().len(), 2);
    // What was removed is added again, with another record.
    let path = format!("{ACME}/{}", text(&first["id"]));
    assert_eq!(rita.change(Method::DELETE, &path, None).await.status, 204);
    scene.server.apply(FILE).await;
    let anew = rita.get(ACME).await.json()["items"][0].clone();
    assert_ne!(anew["record"]["value"], first["record"]["value"]);
}

#[tokio::test]
async fn a_file_with_a_domain_that_cannot_be_is_refused_as_a_whole_with_its_line() {
    let installation = Installation::new().await;
    let refused = |text: &str, line: usize, why: &str| {
        std::fs::write(installation.path().join("file.toml"), text).unwrap();
        let output = installation.run(&["apply", "file.toml"]);
        assert_eq!(output.status.code(), Some(78), "{text}: {}", said(&output));
        assert!(said(&output).contains(&format!("file.toml:{line}:")), "{line}: {}", said(&output));
        assert!(said(&output).contains(why), "{why}: {}", said(&output));
    };
    let file = |domain: &str| {
        format!(
            "[[organization]]\nslug = \"acme\"\n[[organization.domain]]\ndomain = \"{domain}\"\n"
        )
    };
    refused(&file("co.uk"), 4, "public suffix");
    refused(&file("acme"), 4, "one label");
    refused(&format!("{}state = \"verified\"\n", file("acme.test")), 5, "state");
    let twice = format!("{}[[organization.domain]]\ndomain = \"ACME.test.\"\n", file("acme.test"));
    refused(&twice, 6, "already");
    refused("[[organization]]\nslug = \"acme\"\n[[organization.domain]]\n", 3, "domain");
    let suspended = "[[organization]]\nslug = \"acme\"\nenabled = false\n";
    installation.apply(suspended);
    refused(&file("acme.test"), 4, "suspended");
    let enabled = file("acme.test").replace("\n[[", "\nenabled = true\n[[");
    assert!(installation.apply(&enabled).contains("+ created domain acme.test"));
    installation.apply(suspended);
    let unchanged = installation.apply(&file("acme.test"));
    assert!(unchanged.contains("= unchanged domain acme.test"), "{unchanged}");
}

// The zone answers while the command runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_names_domains_that_are_lost_or_soon_will_be_and_says_whether_dns_answers() {
    let zone = ZoneServer::open().await;
    let installation = Installation::new().await;
    let servers = |address: std::net::SocketAddr| format!("[dns]\nservers = [\"{address}\"]\n");
    installation.configure(&servers(zone.address));
    let doctor = || String::from_utf8(installation.run(&["doctor"]).stdout).unwrap();
    assert!(!doctor().contains("dns "), "there is no domain");
    installation.apply(FILE);
    let looked = doctor();
    assert!(looked.lines().any(|line| line.starts_with("ok    dns")), "{looked}");
    assert!(!looked.contains("domain "), "{looked}");

    // Some weeks later, as another process would find the rows.
    let mut rows = Database::at(installation.url()).await;
    let created = "'\"created_at\":1', '\"created_at\":'";
    let aged = format!(
        "UPDATE entities SET state = REPLACE(state, {created}), version = version + 1 \
          WHERE kind = 'organization_domain'"
    );
    rows.run(aged).await.unwrap();
    let pending = "\"standing\":\"Pending\"";
    let turn = async |rows: &mut Database, standing: &str, of: &str| {
        let set = format!("REPLACE(state, '{pending}', '\"standing\":{standing}')");
        let of = format!("kind = 'organization_domain' AND state LIKE '%{of}%'");
        let changed =
            format!("UPDATE entities SET state = {set}, version = version + 1 WHERE {of}");
        rows.run(changed).await.unwrap();
    };
    let looked = doctor();
    assert_eq!(looked.matches("never proved").count(), 3, "{looked}");
    let missing = r#"{"Verified":{"since":1,"check_at":1,"missing_since":1,"not_found_since":1}}"#;
    turn(&mut rows, missing, "bcher-kva").await;
    let lost = r#"{"Lost":{"at":1,"because":"Missing"}}"#;
    turn(&mut rows, lost, r#""organization":"other""#).await;
    let looked = doctor();
    let told =
        |what: &str| looked.lines().any(|line| line.starts_with("look") && line.contains(what));
    assert!(told("it is lost in 0 days") && told("was lost") && told("never proved"), "{looked}");
    let names = ["xn--bcher-kva.example of acme", "acme.test of other", "acme.test of acme"];
    assert!(names.into_iter().all(told), "{looked}");

    // What DNS says now, and no server has seen yet.
    let verified = r#"{"Verified":{"since":1,"check_at":1}}"#;
    turn(&mut rows, verified, r#""organization":"acme","domain":"acme.test""#).await;
    let looked = doctor();
    let gone =
        "acme.test of acme: is verified, and its record _porteiro-challenge.acme.test is not there";
    assert!(looked.lines().any(|line| line.starts_with("look") && line.contains(gone)), "{looked}");
    let tokens = "'\"token\":\"', '\"token\":\"known\",\"of\":\"'";
    let known = format!(
        "UPDATE entities SET state = REPLACE(state, {tokens}), version = version + 1 \
          WHERE kind = 'organization_domain'"
    );
    rows.run(known).await.unwrap();
    zone.put(CHALLENGE, Zone::txt("porteiro-domain-verification=known"));
    let looked = doctor();
    assert!(!looked.contains(gone), "{looked}");
    let back = "acme.test of other: was lost, and its record is there again: verify it";
    assert!(looked.lines().any(|line| line.starts_with("look") && line.contains(back)), "{looked}");
    // What is to be erased needs no mending.
    let deleted = "UPDATE entities SET state = REPLACE(state, '\"enabled\":true', \
        '\"enabled\":false,\"deletion\":{\"erase_at\":1}'), version = version + 1 \
        WHERE kind = 'organization' AND id = 'other'";
    rows.run(deleted).await.unwrap();
    let looked = doctor();
    assert!(!looked.contains("of other") && looked.contains("of acme"), "{looked}");

    let closed = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    installation.configure(&servers(closed));
    let looked = doctor();
    assert!(looked.lines().any(|line| line.starts_with("mend  dns")), "{looked}");
}
