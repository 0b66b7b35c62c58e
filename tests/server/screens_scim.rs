//! The section "Directory" of `/organization`: where a directory connects, its keys, and what it did last.

use crate::{
    scim_caller::{Scim, USER, id, refused},
    screens_organization::{AT, RITA, directory, send, signed_in},
};
use serde_json::json;

/// A role that confers all that the others do.
const OWNER: &str = r#"
[[organization]]
slug = "acme"
  [[organization.role]]
  name = "clerk"
  permissions = ["invoices:read", "orders:read"]
  [[organization.role]]
  name = "keeper"
  permissions = ["apikeys:*", "audit:read"]
  [[organization.role]]
  name = "owner"
  permissions = ["apikeys:*", "audit:*", "scim:*", "invoices:*", "orders:read"]

[[account]]
email = "rita@acme.test"
memberships = [{ organization = "acme", roles = ["owner"] }]

[[account]]
email = "bruno@acme.test"
memberships = [{ organization = "acme", roles = ["keeper"] }]
"#;

#[tokio::test]
async fn an_administrator_connects_a_directory_and_sees_what_it_did_and_was_refused() {
    let server = directory().await;
    server.apply(OWNER).await;
    let mut visitor = signed_in(&server, "en", RITA, &format!("{AT}scim")).await;
    let address = format!("{}/scim/v2/acme", server.issuer());
    assert!(
        visitor.html().contains(&format!("id=\"scim-address\">{address}<")),
        "{}",
        visitor.html()
    );
    assert!(visitor.says("Nothing in the trail."), "{}", visitor.html());
    send(&mut visitor, "createApiKey", &[("name", "<i>Entra</i>")]).await;
    visitor.shows("Keep this key");
    let html = visitor.html();
    let key = html.split_once("id=\"key\">").unwrap().1.split('<').next().unwrap();
    assert!(!html.contains("<i>Entra"), "{html}");
    let scim = Scim::by(*server, "acme", key);
    let user = scim.user("eva@far.test").await;
    let body = json!({ "schemas": [USER], "userName": "EVA@far.test" });
    refused(&scim.post("/Users", &body).await, 409, Some("uniqueness"));
    assert_eq!(scim.delete(&user).await.status, 204);

    visitor.go(&visitor.link(&format!("{AT}scim"))).await;
    for told in ["membership.proposed", "membership.removed", "scimCreateUser", "uniqueness"] {
        assert!(visitor.says(told), "{told}: {}", visitor.html());
    }
    assert!(visitor.says(id(&user)) && !visitor.says(key), "{}", visitor.html());
    // What has nothing to do with it is elsewhere.
    assert!(
        !visitor.says("session.started") && !visitor.says("api_key.issued"),
        "{}",
        visitor.html()
    );
    send(&mut visitor, "revokeApiKey", &[]).await;
    assert!(visitor.says("Done.") && visitor.says("Revoked"), "{}", visitor.html());
    refused(&scim.get("/Users").await, 401, None);
    server.stop().await;
}

#[tokio::test]
async fn a_person_who_does_not_hold_everything_makes_no_key_for_a_directory() {
    let server = directory().await;
    server.apply(OWNER).await;
    let mut visitor = signed_in(&server, "pt", "bruno@acme.test", &format!("{AT}scim")).await;
    assert!(visitor.says("Endereço a colar no diretório"), "{}", visitor.html());
    send(&mut visitor, "createApiKey", &[("name", "x")]).await;
    assert!(!visitor.html().contains("id=\"key\""), "{}", visitor.html());
    visitor.go(&format!("{AT}scim")).await;
    assert!(!visitor.html().contains("revokeApiKey"), "no key was made: {}", visitor.html());
    // Without the permission to see keys the section is not there.
    let mut visitor = signed_in(&server, "en", "aldo@acme.test", &format!("{AT}scim")).await;
    assert_eq!(visitor.answer.status, 403);
    visitor.go("/organization").await;
    assert!(!visitor.html().contains("section=scim"), "{}", visitor.html());
    server.stop().await;
}
