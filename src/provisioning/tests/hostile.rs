//! Hostile files, and secrets that must not be shown.

use super::{SECRET, said};
use crate::provisioning::{File, MOST_ENTITIES};

fn client(rest: &str) -> String {
    format!("[[client]]\nclient_id = \"c\"\n{rest}\n")
}

#[test]
fn secrets_are_counted_in_characters() {
    let with = |secret: &str| client(&format!("client_secret = \"{secret}\""));
    for fits in [32, 512] {
        assert!(File::parse(&with(&"ñ".repeat(fits))).is_ok(), "{fits}");
    }
    let short = "3: `client.client_secret` must have at least 32 characters";
    assert_eq!(said(&with(&"ñ".repeat(31))), [short]);
    assert_eq!(said(&with("")), [short]);
    let long = "3: `client.client_secret` must have at most 512 characters";
    assert_eq!(said(&with(&"s".repeat(513))), [long]);
    let control = "3: `client.client_secret` contains a control character";
    assert_eq!(said(&with(&format!("{SECRET}\\n"))), [control]);
}

#[test]
fn no_secret_is_ever_shown() {
    let file = File::parse(&client(&format!("client_secret = \"{SECRET}\""))).unwrap();
    let shown = format!("{file:?} {:?} {:#?}", file.clients[0].draft, file.clients[0]);
    assert!(!shown.contains(SECRET) && !shown.contains("correct"), "{shown}");
    let private = r#"jwks = { keys = [{ kty = "EC", d = "a-private-half" }] }"#;
    let file = File::parse(&client(private)).unwrap();
    assert!(!format!("{file:?}").contains("a-private-half"));
    for wrong in [
        format!("client_secret = [\"{SECRET}\"]"),
        format!("client_secret = {{ value = \"{SECRET}\" }}"),
        format!("client_secrets = \"{SECRET}\""),
        format!("client_secret = \"{SECRET}\"\nclient_secret = \"{SECRET}\""),
        format!("client_secret = \"{SECRET}"),
        format!("client_secret = {SECRET}"),
        format!("client_secret = \"{SECRET}\\u0000\""),
        format!("client_secret = \"{SECRET}\\u0007\""),
        format!("client_secret = \"{}\"", SECRET.repeat(20)),
        format!("[[account]]\npassword = \"{SECRET}\""),
    ] {
        let said = said(&client(&wrong)).join("\n");
        assert!(!said.contains("horse"), "{said}");
    }
}

#[test]
fn nul_and_numbers_beyond_reason_are_named_by_their_line() {
    let said_of = |rest: &str| said(&client(rest)).join("\n");
    assert_eq!(said_of("client_name = \"a\\u0000b\""), "3: a text must not hold the character NUL");
    assert_eq!(said_of("default_max_age = 99999999999999999999"), "3: a number is out of range");
    assert!(said_of("default_max_age = nan").starts_with("3: `client.default_max_age` must be"));
    // What fits JSON is the machine's to judge.
    assert!(File::parse(&client("default_max_age = -1")).is_ok());
    assert!(File::parse(&client("default_max_age = 9223372036854775807")).is_ok());
}

#[test]
fn an_organization_requires_what_can_be_proved_and_nothing_else() {
    let wrong = "3: `organization.required_acr` must be one of aal1, aal2, aal3, phr, phrh";
    for bad in ["aal9", "", "AAL2", "mfa"] {
        let file = format!("[[organization]]\nslug = \"o\"\nrequired_acr = \"{bad}\"\n");
        assert_eq!(said(&file), [wrong], "{bad}");
    }
    let number = "[[organization]]\nslug = \"o\"\nrequired_acr = 2\n";
    let wrong = "3: `organization.required_acr` must be a text in quotes, found a number";
    assert_eq!(said(number), [wrong]);
}

#[test]
fn wrong_nesting_is_complained_of_and_not_guessed_at() {
    assert_eq!(
        said("[client]\nclient_id = \"c\"\n"),
        ["1: `client` must be a list of tables, found a table"]
    );
    assert_eq!(
        said("client = [1]\n"),
        ["1: `client` must be a list of tables, found a number in it"]
    );
    assert_eq!(
        said("[[role]]\nname = \"r\"\n[[organization]]\nslug = \"o\"\n"),
        ["1: unknown key `role`"]
    );
    let inside = "[[organization]]\nslug = \"o\"\n[[organization.client]]\nclient_id = \"c\"\n";
    assert_eq!(said(inside), ["3: unknown key `organization.client`"]);
    let deep =
        format!("[[client]]\nclient_id = \"c\"\njwks = {}1{}\n", "[".repeat(64), "]".repeat(64));
    assert_eq!(said(&deep), ["3: is nested too deeply"]);
    let deeper = client(&format!("jwks{} = 1", ".a".repeat(100_000)));
    assert!(File::parse(&deeper).is_err());
}

#[test]
fn names_cannot_write_to_a_terminal_or_fill_it() {
    let evil = "a\\u001b[2J\\u202e";
    let text = format!("{0}{0}", client("").replace("\"c\"", &format!("\"{evil}\"")));
    let said_of = said(&text).join("");
    assert!(!said_of.contains(['\u{1b}', '\u{202e}']), "{said_of:?}");
    let long = "x".repeat(100_000);
    let text = client("").replace("\"c\"", &format!("\"{long}\""));
    assert!(said(&format!("{text}{text}")).join("").len() < 300);
}

#[test]
fn lists_tables_and_files_are_bounded() {
    let scopes: Vec<String> = (0..1_001).map(|n| format!("\"a:{n}\"")).collect();
    let text = format!("[[resource]]\nidentifier = \"a:b\"\nscopes = [{}]\n", scopes.join(","));
    assert_eq!(said(&text), ["3: `resource.scopes` holds more than 1000 entries"]);
    let roles = "[[organization.role]]\nname = \"r\"\n".repeat(1_001);
    let text = format!("[[organization]]\nslug = \"o\"\n{roles}");
    assert_eq!(said(&text), ["3: `organization.role` holds more than 1000 entries"]);
    let names: Vec<String> = (0..1_001).map(|n| format!("\"client_name#a-{n}\" = \"x\"")).collect();
    assert_eq!(said(&client(&names.join("\n"))), ["1: `client` has more than 1000 keys"]);

    let clients = |count: usize| {
        let client = |number| format!("[[client]]\nclient_id=\"c{number}\"\n");
        (0..count).map(client).collect::<Vec<_>>().concat()
    };
    assert_eq!(File::parse(&clients(MOST_ENTITIES)).unwrap().len(), MOST_ENTITIES);
    assert_eq!(said(&clients(MOST_ENTITIES + 1)), ["0: declares more than 100000 entities"]);
}
