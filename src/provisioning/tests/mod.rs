//! Reading provisioning files: what is taken, what is complained of, and on which line.

mod accounts;
mod hostile;

use super::File;
use crate::domain::{
    Fingerprint,
    client::{Bond, Profile},
};
use serde_json::json;

const SECRET: &str = "correct-horse-battery-staple-0123456789";

fn said(text: &str) -> Vec<String> {
    let complaints = File::parse(text).expect_err("the file must not be taken");
    complaints.iter().map(|c| format!("{}: {}", c.line, c.text)).collect()
}

const EXAMPLE: &str = r#"[[resource]]
identifier = "https://api.example.com/invoices"
name = "Invoices"
scopes = ["invoices:read", "invoices:write", "invoices:approve"]
[[resource.authorization_details]]
type = "payment_initiation"
schema = { type = "object", required = ["amount"] }
permission = "invoices:approve"

[[organization]]
slug = "acme"
name = "Acme Lda"
enabled = true
  [[organization.role]]
  name = "clerk"
  permissions = ["invoices:read"]
  [[organization.role]]
  name = "manager"
  permissions = ["invoices:*"]

[[account]]
email = "ana@acme.test"
email_verified = true
password = "correct horse battery staple"
totp_secret = "JBSWY3DPEHPK3PXP"
phone_number = "+351910000000"
given_name = "Ana"
memberships = [{ organization = "acme", roles = ["manager"] }]

[[client]]
client_id = "billing"
client_secret = "correct-horse-battery-staple-0123456789"
organization = "acme"
roles = ["clerk"]
trusted = true
require_profile = "fapi2"
introspects = ["https://api.example.com/invoices"]
grant_types = ["client_credentials"]
"client_name#pt" = "Cobrança"
default_max_age = 60
"#;

#[test]
fn an_empty_text_lifts_a_ceiling_and_a_profile() {
    let text = "[[client]]\nclient_id = \"c\"\nscope = \"\"\nrequire_profile = \"\"\n";
    let file = File::parse(text).unwrap();
    let draft = &file.clients[0].draft;
    assert_eq!(draft.metadata["scope"], json!(null));
    assert_eq!(draft.require_profile, Some(Bond::Free));
}

#[test]
fn every_table_becomes_a_draft() {
    let file = File::parse(EXAMPLE).unwrap();
    assert_eq!(file.len(), 4);
    let resource = &file.resources[0];
    assert_eq!(resource.draft.identifier, "https://api.example.com/invoices");
    assert_eq!(resource.draft.scopes.as_ref().unwrap().len(), 3);
    let detail = &resource.draft.authorization_details.as_ref().unwrap()[0];
    assert_eq!(detail.schema, json!({ "type": "object", "required": ["amount"] }));
    assert_eq!(detail.permission.as_ref().unwrap().as_str(), "invoices:approve");
    let organization = &file.organizations[0].draft;
    assert_eq!(
        (organization.name.as_deref(), organization.enabled),
        (Some("Acme Lda"), Some(true))
    );
    let roles = organization.roles.as_ref().unwrap();
    assert_eq!((roles[1].name.as_str(), roles[1].permissions.len()), ("manager", 1));
    let client = &file.clients[0];
    assert_eq!(client.draft.secret, Some(Fingerprint::of(SECRET.as_bytes())));
    assert_eq!(client.draft.require_profile, Some(Bond::To(Profile::Fapi2)));
    assert_eq!(client.draft.trusted, Some(true));
    assert_eq!(client.draft.metadata["default_max_age"], 60);
    assert_eq!(client.draft.metadata["client_name#pt"], "Cobrança");
    assert!(!client.draft.metadata.contains_key("client_secret"));
    assert_eq!((client.lines.own(), client.lines.of_field("grant_types")), (30, 38));
    assert_eq!(
        client.lines.of_field("redirect_uris"),
        30,
        "what is not there is missed in the table"
    );
    assert_eq!(client.lines.of_member("introspects", "https://api.example.com/invoices"), 37);
}

#[test]
fn what_is_not_given_is_left_alone_and_an_empty_list_is_given() {
    let file = File::parse(
        "[[resource]]\nidentifier = \"a:b\"\n[[organization]]\nslug = \"a\"\nrole = []\n\
         [[organization]]\nslug = \"b\"\n[[client]]\nclient_id = \"c\"\nintrospects = []\n",
    )
    .unwrap();
    let resource = &file.resources[0].draft;
    assert!(resource.name.is_none() && resource.scopes.is_none());
    assert!(resource.authorization_details.is_none());
    assert_eq!(file.organizations[0].draft.roles, Some(vec![]));
    assert_eq!(file.organizations[1].draft.roles, None);
    let client = &file.clients[0].draft;
    assert_eq!((client.introspects.as_ref(), client.roles.as_ref()), (Some(&vec![]), None));
    assert!(client.metadata.is_empty() && client.secret.is_none() && client.trusted.is_none());
    assert!(File::parse("").unwrap().is_empty());
}

#[test]
fn unknown_keys_are_named_with_their_line_and_what_was_meant() {
    let text = "[[resource]]\nidentifier = \"a:b\"\nscope = []\n[[resource.authorization_details]]\n\
                type = \"t\"\nschema = {}\npermision = \"a:b\"\n[[organization]]\nslug = \"a\"\n\
                enable = true\n[[organization.role]]\nname = \"r\"\npermission = []\n[[client]]\n\
                client_id = \"c\"\nclient_secrte = \"x\"\nredirect_uri = []\nzzz = 1\n\
                \"scope#pt\" = \"x\"\n[[clients]]\nclient_id = \"c\"\n";
    let expected = [
        "3: unknown key `resource.scope`, did you mean `resource.scopes`?",
        "7: unknown key `resource.authorization_details.permision`, did you mean \
         `resource.authorization_details.permission`?",
        "10: unknown key `organization.enable`, did you mean `organization.enabled`?",
        "13: unknown key `organization.role.permission`, did you mean \
         `organization.role.permissions`?",
        "16: unknown key `client.client_secrte`, did you mean `client.client_secret`?",
        "17: unknown key `client.redirect_uri`, did you mean `client.redirect_uris`?",
        "18: unknown key `client.zzz`",
        "19: unknown key `client.scope#pt`, did you mean `client.scope`?",
        "20: unknown key `clients`, did you mean `client`?",
    ];
    assert_eq!(said(text), expected);
}

#[test]
fn missing_keys_and_wrong_types_are_all_said_at_once() {
    let text = "[[resource]]\nname = 1\nscopes = \"a:b\"\n[[resource.authorization_details]]\n\
                schema = 3\n[[organization]]\nenabled = \"yes\"\nrole = 1\n[[client]]\n\
                roles = [1]\ntrusted = 1\nintrospects = {}\norganization = []\nscope = 1979-05-27\n";
    let expected = [
        "1: `resource.identifier` is missing",
        "2: `resource.name` must be a text in quotes, found a number",
        "3: `resource.scopes` must be a list of texts in quotes, found a text",
        "4: `resource.authorization_details.type` is missing",
        "5: `resource.authorization_details.schema` must be a JSON Schema: a table, or true or false",
        "6: `organization.slug` is missing",
        "7: `organization.enabled` must be true or false, found a text",
        "8: `organization.role` must be a list of tables, found a number",
        "9: `client.client_id` is missing",
        "10: `client.roles` must be a list of texts in quotes, found a number in it",
        "11: `client.trusted` must be true or false, found a number",
        "12: `client.introspects` must be a list of texts in quotes, found a table",
        "13: `client.organization` must be a text in quotes, found a list",
        "14: `client.scope` must be what JSON knows: write the date as a text in quotes, found a \
         date or time in it",
    ];
    assert_eq!(said(text), expected);
}

#[test]
fn what_stands_twice_is_named_with_both_lines() {
    let text = "[[resource]]\nidentifier = \"a:b\"\nscopes = [\n  \"x:a\",\n  \"x:b\",\n  \"x:a\",\n]\n\
                [[resource.authorization_details]]\ntype = \"t\"\nschema = true\n[[resource]]\n\
                identifier = \"a:b\"\nscopes = [\"x:b\"]\n[[resource.authorization_details]]\n\
                schema = true\ntype = \"t\"\n[[organization]]\nslug = \"o\"\n\
                role = [{ name = \"r\" },\n  { name = \"r\" }]\n[[organization]]\nslug = \"o\"\n\
                role = [{ name = \"r\" }]\n[[client]]\nclient_id = \"c\"\n[[client]]\n\
                client_id = \"c\"\n";
    let expected = [
        "6: the scope `x:a` is on line 4 already",
        "12: the resource `a:b` is on line 2 already",
        "13: the scope `x:b` is on line 5 already",
        "16: the type of authorization_details `t` is on line 9 already",
        "20: `organization.role.name` is the name of the role on line 19 too",
        "22: the organization `o` is on line 18 already",
        "27: the client `c` is on line 25 already",
    ];
    assert_eq!(said(text), expected);
}

#[test]
fn permissions_names_and_profiles_have_their_form() {
    let long = "n".repeat(201);
    let text = format!(
        "[[resource]]\nidentifier = \"a:b\"\nname = \"{long}\"\nscopes = [\"ok:read\", \"read\",\n\
         \"*:*\"]\n[[resource.authorization_details]]\ntype = \" \"\nschema = {{}}\n\
         permission = \"x\"\n[[organization]]\nslug = \"o\"\nname = \"a\\u001b[2J\"\n\
         [[organization.role]]\nname = \"r\"\npermissions = [\"a b:c\"]\n[[client]]\n\
         client_id = \"c\"\nrequire_profile = \"fapi3\"\n",
    );
    let form = "a permission has the form resource:action, or resource:* for all its actions";
    let expected = [
        "3: `resource.name` holds more than 200 characters".to_owned(),
        format!("4: `resource.scopes` contains `read`: {form}"),
        "5: `resource.scopes` contains `*:*`: nothing wider than resource:* exists".to_owned(),
        "7: `resource.authorization_details.type` must not be empty".to_owned(),
        format!("9: `resource.authorization_details.permission` is `x`: {form}"),
        "12: `organization.name` contains a control character".to_owned(),
        format!("15: `organization.role.permissions` contains `a b:c`: {form}"),
        "18: `client.require_profile` must be one of fapi2, fapi2-message-signing, fapi-ciba"
            .to_owned(),
    ];
    assert_eq!(said(&text), expected);
    let fits = "ñ".repeat(200);
    let text = format!("[[organization]]\nslug = \"o\"\nname = \"{fits}\"\n");
    assert!(File::parse(&text).is_ok(), "characters are counted, not bytes");
}
