//! The commands by which an operator sees and changes organizations, clients, accounts and API keys.

use crate::{
    binary::{Installation, said},
    outside::Outside,
    person::{parameter, text},
    shared::eventually,
    support::ACME,
};
use serde_json::{Value, json};
use std::process::Output;
use url::Url;

/// Runs a command that succeeds and returns what it printed.
#[track_caller]
fn printed(installation: &Installation, arguments: &[&str]) -> String {
    let output = installation.run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn json(installation: &Installation, arguments: &[&str]) -> Value {
    let text = printed(installation, &[arguments, &["--json"]].concat());
    serde_json::from_str(&text).unwrap()
}

#[track_caller]
fn refused(installation: &Installation, arguments: &[&str], named: &str) -> Output {
    let output = installation.run(arguments);
    assert!(!output.status.success(), "{arguments:?}: {output:?}");
    assert!(said(&output).contains(named), "{arguments:?}: {}", said(&output));
    assert!(output.stdout.is_empty(), "{output:?}");
    output
}

fn members<'a>(listed: &'a Value, name: &str) -> Vec<&'a str> {
    listed.as_array().unwrap().iter().map(|one| text(&one[name])).collect()
}

#[tokio::test]
async fn the_first_administrator_of_a_fresh_installation_signs_up_by_the_link_of_a_command() {
    let installation = Installation::new().await;
    let made = printed(&installation, &["organization", "create", "acme", "--name", "Acme Lda"]);
    assert_eq!(made, "+ created organization acme\n");
    let listed = printed(&installation, &["account", "list", "--json"]);
    assert_eq!(listed.trim(), "[]", "none is there by default");
    let invited = json(
        &installation,
        &["account", "invite", "--administrator", "eva@acme.test", "--organization", "acme"],
    );
    let _serving = installation.serve();
    let node = Outside { address: installation.address };
    let link = Url::parse(text(&invited["link"])).unwrap();
    assert_eq!(link.path(), "/sign-up");
    let mut page = link.path().to_owned();
    page.push('?');
    page.push_str(link.query().unwrap());
    assert_eq!(node.get(&page).await.status, 200, "the link leads to a page");
    let token = parameter(&link, "token").unwrap();
    let begin = json!({ "kind": "invitation", "token": token });
    let flow = node.post_json("/flows", &begin, &[]).await;
    assert_eq!(flow.status, 201, "{flow:?}");
    let flow = flow.json();
    let profile = json!({ "email": "eva@acme.test", "given_name": "Eva" });
    node.step(&flow, "profile", profile).await;
    let password = json!({ "password": "a long enough new password" });
    let done = node.step(&flow, "new_password", password).await.json();
    assert_eq!(done["state"], "done", "{done}");
    let session = text(&done["result"]["session_token"]);
    let me = node
        .send(
            node.request(hyper::Method::GET, "/me")
                .header("x-session-token", session)
                .body(bytes::Bytes::new().into())
                .unwrap(),
        )
        .await;
    assert_eq!((me.status.as_u16(), me.json()["email"].clone()), (200, json!("eva@acme.test")));
    let eva = json(&installation, &["account", "show", "eva@acme.test"]);
    let membership = &eva["memberships"][0];
    assert_eq!(membership["organization"], "acme", "{eva}");
    assert_eq!(membership["roles"], json!(["administrator"]));
    assert_eq!((&eva["password"], &eva["totp"]), (&json!(true), &json!(false)));
}

#[tokio::test]
async fn organizations_are_made_suspended_enabled_and_listed() {
    let installation = Installation::new().await;
    assert_eq!(json(&installation, &["organization", "list"]), json!([]));
    assert_eq!(printed(&installation, &["organization", "list"]), "There is no organization.\n");
    let made = json(&installation, &["organization", "create", "acme", "--name", "Acme Lda"]);
    assert_eq!((&made["slug"], &made["enabled"]), (&json!("acme"), &json!(true)));
    printed(&installation, &["organization", "create", "zeta"]);
    let listed = json(&installation, &["organization", "list"]);
    assert_eq!(members(&listed, "slug"), ["acme", "zeta"]);
    assert_eq!(members(&listed, "name"), ["Acme Lda", "zeta"]);
    let lines = printed(&installation, &["organization", "list"]);
    assert_eq!(lines, "acme  enabled  Acme Lda\nzeta  enabled  zeta\n");

    let suspend = ["organization", "suspend", "acme"];
    assert_eq!(printed(&installation, &suspend), "~ suspended organization acme\n");
    assert_eq!(printed(&installation, &suspend), "= unchanged organization acme\n");
    assert_eq!(json(&installation, &["organization", "show", "acme"])["enabled"], false);
    let key = ["apikey", "create", "--organization", "acme", "--name", "K", "--permission", "a:b"];
    refused(&installation, &key, "suspended");
    let enable = ["organization", "enable", "acme"];
    assert_eq!(printed(&installation, &enable), "~ enabled organization acme\n");
    assert!(printed(&installation, &["organization", "show", "acme"]).contains("Acme Lda"));

    let again = refused(&installation, &["organization", "create", "acme"], "already");
    assert_eq!(again.status.code(), Some(1));
    for slug in ["Acme", "a_b", "", "-a", "a b", "\u{202e}"] {
        let refused = installation.run(&["organization", "create", "--", slug]);
        assert_eq!(refused.status.code(), Some(1), "{slug}: {refused:?}");
    }
    for name in ["", "a\nb", "\u{1b}[2J", &"x".repeat(201)] {
        refused(&installation, &["organization", "create", "new", "--name", name], "the name");
    }
    for verb in ["show", "suspend", "enable"] {
        refused(&installation, &["organization", verb, "nowhere"], "no organization `nowhere`");
    }
    assert_eq!(members(&json(&installation, &["organization", "list"]), "slug").len(), 2);
}

#[tokio::test]
async fn keys_made_and_revoked_by_commands_act_on_running_servers_at_once() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    let _serving = installation.serve();
    let node = Outside { address: installation.address };
    let create = [
        "apikey",
        "create",
        "--organization",
        "acme",
        "--name",
        "Payroll",
        "--permission",
        "invoices:*",
        "--permission",
        "scim:*",
    ];
    let made = json(&installation, &create);
    let (id, key) = (text(&made["id"]), text(&made["key"]));
    assert_eq!(made.as_object().unwrap().len(), 2, "{made}");
    assert!(key.starts_with("pak_") && key.len() == 75, "{key}");
    assert_eq!(node.introspect("invoices-api", key).await["active"], true);

    let people = printed(&installation, &create);
    assert!(people.lines().last().unwrap().starts_with("pak_"), "{people}");
    let listed = json(&installation, &["apikey", "list"]);
    assert_eq!(members(&listed, "name"), ["Payroll", "Payroll"]);
    assert_eq!(members(&listed, "state"), ["active", "active"]);
    assert!(!listed.to_string().contains("pak_"), "{listed}");
    let others = json(&installation, &["apikey", "list", "--organization", "other"]);
    assert_eq!(others, json!([]));
    let shown = json(&installation, &["apikey", "show", id]);
    assert_eq!(shown["permissions"], json!(["invoices:*", "scim:*"]));
    assert_eq!(shown["issuer"], json!({ "type": "operator" }));
    assert_eq!((&shown["organization"], &shown["expires_at"]), (&json!("acme"), &Value::Null));
    assert!(printed(&installation, &["apikey", "show", id]).contains("Payroll"));

    let next = json(&installation, &["apikey", "rotate", id, "--overlap-hours", "1"]);
    assert!(next["former_until"].is_string(), "{next}");
    let (id, second) = (text(&next["id"]).to_owned(), text(&next["key"]));
    for good in [key, second] {
        eventually("both are good", async || {
            node.introspect("invoices-api", good).await["active"] == true
        })
        .await;
    }
    let gone = printed(&installation, &["apikey", "revoke", &id]);
    assert_eq!(gone, format!("- revoked API key {id}\n"));
    for over in [key, second] {
        assert_eq!(node.introspect("invoices-api", over).await, json!({ "active": false }));
    }
    assert_eq!(json(&installation, &["apikey", "revoke", &id])["state"], "revoked");
    assert_eq!(json(&installation, &["apikey", "show", &id])["state"], "revoked");
    refused(&installation, &["apikey", "rotate", &id], "revoked");
}

#[tokio::test]
async fn keys_that_cannot_be_are_refused_by_name() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    let create = |name: &str, permission: &str, more: &[&str]| {
        let fixed = ["apikey", "create", "--organization", "acme", "--name", name];
        installation.run(&[&fixed[..], &["--permission", permission], more].concat())
    };
    for wide in ["*", "*:*", "*:read", "inv*:read", "invoices", "", "a:b\n"] {
        let output = create("K", wide, &[]);
        assert_eq!(output.status.code(), Some(2), "{wide}: {output:?}");
        assert!(said(&output).contains("--permission"), "{}", said(&output));
    }
    let administer = create("K", "organizations:administer", &[]);
    assert_eq!(administer.status.code(), Some(1));
    assert!(said(&administer).contains("organizations:administer"), "{}", said(&administer));
    for name in ["", "a\nb", "\u{1b}[31m", "\u{200b}"] {
        let output = create(name, "scim:*", &[]);
        assert_eq!(output.status.code(), Some(1), "{name:?}");
        assert!(said(&output).contains("a name has"), "{}", said(&output));
    }
    for more in [["--expires-in-days", "0"], ["--expires-in-days", "99999999999999999999"]] {
        assert_eq!(create("K", "scim:*", &more).status.code(), Some(2), "{more:?}");
    }
    let nowhere =
        ["apikey", "create", "--organization", "no", "--name", "K", "--permission", "a:b"];
    refused(&installation, &nowhere, "no organization `no`");
    refused(&installation, &["apikey", "list", "--organization", "no"], "no organization `no`");
    for verb in ["show", "rotate", "revoke"] {
        for id in ["x", "00000000-0000-4000-8000-000000000000"] {
            refused(&installation, &["apikey", verb, id], "no API key");
        }
    }
    assert_eq!(json(&installation, &["apikey", "list"]), json!([]));
    let expiring = create("K", "scim:*", &["--expires-in-days", "30", "--json"]);
    assert!(expiring.status.success(), "{}", said(&expiring));
    assert!(json(&installation, &["apikey", "list"])[0]["expires_at"].is_string());
}

#[tokio::test]
async fn clients_and_accounts_are_listed_and_shown_without_their_secrets() {
    let installation = Installation::new().await;
    assert_eq!(json(&installation, &["client", "list"]), json!([]));
    assert_eq!(json(&installation, &["account", "list"]), json!([]));
    installation.apply(ACME);
    let listed = json(&installation, &["client", "list"]);
    let all = ["app", "billing", "boss", "invoices-api", "native", "nobody", "web"];
    assert_eq!(members(&listed, "client_id"), all);
    let of_acme = json(&installation, &["client", "list", "--organization", "acme"]);
    assert_eq!(members(&of_acme, "client_id"), ["billing", "boss"]);
    let boss = json(&installation, &["client", "show", "boss"]);
    assert_eq!(boss["roles"], json!(["clerk", "manager"]));
    assert_eq!(boss["token_endpoint_auth_method"], "client_secret_post");
    assert!(boss.get("secret").is_none() && boss.get("client_secret").is_none(), "{boss}");
    assert!(printed(&installation, &["client", "show", "web"]).contains("redirect_uris"));
    assert_eq!(printed(&installation, &["client", "list"]).lines().count(), 7);
    refused(&installation, &["client", "show", "nothing"], "no client `nothing`");
    refused(&installation, &["client", "list", "--organization", "no"], "no organization `no`");

    let listed = json(&installation, &["account", "list"]);
    let all = ["ana@acme.test", "bruno@acme.test", "clara@nowhere.test", "dora@acme.test"];
    assert_eq!(members(&listed, "email"), all);
    let bruno = json(&installation, &["account", "show", "Bruno@ACME.test"]);
    let homes: Vec<&str> = members(&bruno["memberships"], "organization");
    assert_eq!(homes, ["acme", "other"]);
    let dora = json(&installation, &["account", "show", "dora@acme.test"]);
    assert_eq!((&dora["password"], &dora["totp"]), (&json!(true), &json!(true)));
    assert!(!dora.to_string().contains("argon2"), "{dora}");
    assert!(printed(&installation, &["account", "show", "ana@acme.test"]).contains("given_name"));
    assert_eq!(printed(&installation, &["account", "list"]).lines().count(), 4);
    for email in ["eva@acme.test", "no address"] {
        refused(&installation, &["account", "show", email], "no account with this address");
    }
}

#[tokio::test]
async fn a_long_list_is_one_array_and_keeps_its_order() {
    let installation = Installation::new().await;
    let slugs: Vec<String> = (0..230).map(|n| format!("org-{n:03}")).collect();
    let table = |slug: &String| format!("[[organization]]\nslug = \"{slug}\"\n");
    let file = slugs.iter().map(table).collect::<Vec<_>>().concat();
    installation.apply(&file);
    assert_eq!(members(&json(&installation, &["organization", "list"]), "slug"), slugs);
    let lines = printed(&installation, &["organization", "list"]);
    let firsts: Vec<&str> = lines.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(firsts, slugs);
}

#[tokio::test]
async fn the_log_is_listed_a_line_a_row_of_one_organization_or_of_all() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    printed(&installation, &["organization", "suspend", "other"]);
    let rows = |arguments: &[&str]| -> Vec<Value> {
        let text = printed(&installation, &[&["log", "list", "--json"], arguments].concat());
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let events = |rows: &[Value]| -> Vec<String> {
        rows.iter().map(|row| text(&row["event"]).to_owned()).collect()
    };
    let all = rows(&[]);
    assert!(events(&all).contains(&"log.lane_registered".to_owned()));
    assert!(events(&all).contains(&"client.created".to_owned()));
    assert_eq!(events(&all).last().map(String::as_str), Some("organization.suspended"));
    let times: Vec<&str> = all.iter().map(|row| text(&row["at"])).collect();
    assert!(times.is_sorted(), "{times:?}");
    let other = rows(&["--organization", "other"]);
    assert!(other.iter().all(|row| row["organization"] == "other"));
    let of_other = [
        "organization.created",
        "membership.created",
        "organization.changed",
        "organization.suspended",
    ];
    assert_eq!(events(&other), of_other);
    let last = other.last().unwrap();
    assert_eq!(last["detail"]["context"]["actor"]["type"], "operator", "{last}");
    assert_eq!((&last["kind"], &last["id"]), (&json!("organization"), &json!("other")));
    let suspended = rows(&["--event", "organization.suspended"]);
    assert_eq!(suspended.len(), 1);
    assert_eq!(rows(&["--since", "2100-01-01T00:00:00Z"]).len(), 0);
    assert_eq!(rows(&["--since", "2020-01-01T00:00:00+01:00"]).len(), all.len());
    let lines = printed(&installation, &["log", "list", "--organization", "other"]);
    assert_eq!(lines.lines().count(), other.len());
    refused(&installation, &["log", "list", "--organization", "no"], "no organization `no`");
    let wrong = refused(&installation, &["log", "list", "--since", "yesterday"], "--since");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(printed(&installation, &["log", "verify"]).contains("0 findings"));
}

#[tokio::test]
async fn a_suspended_client_gets_nothing_and_its_tokens_end_at_once_and_for_good() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    let _serving = installation.serve();
    let node = Outside { address: installation.address };
    let token = node.token("billing", "invoices:read").await;
    assert_eq!(node.introspect("invoices-api", &token).await["active"], true);
    let session = node.sign_in("ana@acme.test").await;
    let code = node.code(&session, "web", "openid invoices:read").await;
    let person = node.redeem("web", &code).await.json();
    let refresh = text(&person["refresh_token"]).to_owned();

    let suspend = ["client", "suspend", "billing", "--reason", "leaked"];
    let said = printed(&installation, &suspend);
    assert!(said.starts_with("~ suspended client billing: 0 token families end"), "{said}");
    assert_eq!(printed(&installation, &suspend), "= unchanged client billing\n");
    assert_eq!(node.introspect("invoices-api", &token).await, json!({ "active": false }));
    let refused_token =
        async || node.ask("billing", &[("scope", "invoices:read")]).await.status.as_u16() == 401;
    eventually("the refusal", async || refused_token().await).await;
    let shown = json(&installation, &["client", "show", "billing"]);
    assert_eq!((&shown["suspended"], &shown["client_id"]), (&json!(true), &json!("billing")));
    assert!(printed(&installation, &["client", "list"]).contains("suspended"));
    let rename = "[[client]]\nclient_id = \"billing\"\nclient_name = \"B\"\n";
    std::fs::write(installation.path().join("file.toml"), rename).unwrap();
    refused(&installation, &["apply", "file.toml"], "suspended");

    let said = json(&installation, &["client", "suspend", "web"]);
    let told = json!({ "client_id": "web", "state": "suspended", "changed": true,
        "families": 1, "api_keys": 0 });
    assert_eq!(said, told);
    let token_of_person = text(&person["access_token"]);
    let userinfo = node.userinfo(token_of_person).await;
    assert_eq!(userinfo.status, 401, "{userinfo:?}");
    eventually("no code", async || {
        let answer = node.authorize_in(&session, "web", &[]).await;
        answer.header("location").is_none_or(|to| !to.contains("code="))
    })
    .await;

    for client in ["billing", "web"] {
        printed(&installation, &["client", "enable", client]);
    }
    eventually("a token", async || !refused_token().await).await;
    assert_eq!(node.introspect("invoices-api", &token).await, json!({ "active": false }));
    eventually("the end", async || node.refresh("web", &refresh).await.status == 400).await;
    assert_eq!(node.userinfo(token_of_person).await.status, 401);
    let fresh = node.token("billing", "invoices:read").await;
    assert_eq!(node.introspect("invoices-api", &fresh).await["active"], true);

    let deleted = json(&installation, &["client", "delete", "billing"]);
    assert_eq!((&deleted["state"], &deleted["changed"]), (&json!("deleted"), &json!(true)));
    assert_eq!(node.introspect("invoices-api", &fresh).await, json!({ "active": false }));
    for verb in ["suspend", "enable", "delete"] {
        refused(&installation, &["client", verb, "billing"], "no client `billing`");
        refused(&installation, &["client", verb, "\u{202e}"], "no client");
    }
    let log = printed(&installation, &["log", "list", "--organization", "acme", "--json"]);
    for event in ["client.suspended", "client.enabled", "client.deleted", "leaked"] {
        assert!(log.contains(event), "{event}: {log}");
    }
    printed(&installation, &["organization", "suspend", "acme"]);
    refused(&installation, &["client", "suspend", "boss"], "suspended");
}

#[tokio::test]
async fn the_secret_of_a_client_is_rotated_with_a_day_of_overlap_or_at_once() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    let _serving = installation.serve();
    let node = Outside { address: installation.address };
    let good = async |secret: &str| {
        let request = node
            .request(hyper::Method::POST, "/connect/token")
            .header("authorization", crate::support::basic("billing", secret))
            .header("content-type", "application/x-www-form-urlencoded");
        let form = crate::support::form(&[("grant_type", "client_credentials")]);
        node.send(request.body(form).unwrap()).await.status == 200
    };
    let rotate = ["client", "rotate-secret", "billing"];
    let told = json(&installation, &rotate);
    assert_eq!(told["client_id"], "billing");
    assert!(told["former_until"].is_string(), "{told}");
    let second = text(&told["client_secret"]).to_owned();
    eventually("the second secret", async || good(&second).await).await;
    assert!(good(crate::support::SECRET).await, "the former is good yet");
    let at_once = json(&installation, &["client", "rotate-secret", "billing", "--at-once"]);
    assert!(at_once["former_until"].is_null(), "{at_once}");
    let third = text(&at_once["client_secret"]).to_owned();
    eventually("the third secret", async || good(&third).await).await;
    assert!(!good(&second).await && !good(crate::support::SECRET).await);
    let said = printed(&installation, &rotate);
    assert!(said.starts_with("~ rotated the secret of client billing: the former"), "{said}");
    assert!(said.lines().last().unwrap().starts_with("pcs_"), "{said}");
    refused(&installation, &["client", "rotate-secret", "app"], "without a secret");
    refused(&installation, &["client", "rotate-secret", "nobody2"], "no client `nobody2`");
    let log = printed(&installation, &["log", "list", "--organization", "acme", "--json"]);
    assert!(log.contains("client_secret") && !log.contains("pcs_"), "{log}");
    printed(&installation, &["client", "suspend", "billing"]);
    refused(&installation, &rotate, "suspended");
}

#[tokio::test]
async fn accounts_show_whether_they_can_be_used() {
    let installation = Installation::new().await;
    installation.apply(ACME);
    printed(&installation, &["account", "suspend", "ana@acme.test"]);
    let listed = json(&installation, &["account", "list"]);
    assert_eq!(members(&listed, "state"), ["suspended", "active", "active", "active"]);
    let ana = json(&installation, &["account", "show", "ana@acme.test"]);
    assert_eq!(ana["state"], "suspended");
    assert_eq!(json(&installation, &["account", "show", text(&ana["id"])]), ana);
    assert!(printed(&installation, &["account", "list"]).contains("suspended"));
    let _serving = installation.serve();
    let node = Outside { address: installation.address };
    let session = node.sign_in("clara@nowhere.test").await;
    let request = node.request(hyper::Method::DELETE, "/me").header("x-session-token", session);
    let asked = node.send(request.body(bytes::Bytes::new().into()).unwrap()).await;
    assert_eq!(asked.status, 202, "{asked:?}");
    let clara = json(&installation, &["account", "show", "clara@nowhere.test"]);
    assert_eq!(clara["state"], "deleting");
    assert!(clara["deleted_after"].is_string());
}
