//! Exports of other servers: what is taken, what is refused, and under which number.

use super::*;
use crate::domain::Secret;
use serde_json::{Value, json};

const ARGON2: &str =
    "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";

fn realm(users: &Value) -> String {
    json!({ "realm": "acme", "users": users }).to_string()
}

fn refused(text: &str, format: Format) -> Vec<String> {
    let complaints = Import::parse(text, format).expect_err("the file must not be taken");
    complaints.iter().map(|one| format!("{}: {}", one.line, one.text)).collect()
}

/// A user of a realm with one password.
fn with_password(algorithm: &str, passes: u64, more: &Value) -> Value {
    let secret =
        json!({ "value": "nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4=", "salt": "c29tZXNhbHQ=" });
    let data =
        json!({ "hashIterations": passes, "algorithm": algorithm, "additionalParameters": more });
    json!({ "email": "ana@acme.test", "credentials": [{
        "type": "password",
        "secretData": secret.to_string(),
        "credentialData": data.to_string(),
    }] })
}

fn argon2(memory: &str) -> Value {
    json!({ "type": ["id"], "version": ["1.3"], "memory": [memory], "parallelism": ["1"],
        "hashLength": ["32"] })
}

fn hash_of(import: &Import) -> String {
    let person = &import.file.accounts[0].draft;
    let Some(PasswordEntry::Hashed(hash)) = &person.password else { panic!("no hash") };
    hash.expose().to_owned()
}

#[test]
fn the_hashes_of_a_realm_become_phc_strings() {
    let one = |user: Value| Import::parse(&realm(&json!([user])), Format::Keycloak).unwrap();
    assert_eq!(hash_of(&one(with_password("argon2", 2, &argon2("256")))), ARGON2);
    let sha256 = hash_of(&one(with_password("pbkdf2-sha256", 27_500, &json!({}))));
    let expected =
        "$pbkdf2-sha256$i=27500,l=32$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";
    assert_eq!(sha256, expected);
    let sha1 = hash_of(&one(with_password("pbkdf2", 20_000, &json!({}))));
    assert!(sha1.starts_with("$pbkdf2-sha1$i=20000,l=20$c29tZXNhbHQ$"), "{sha1}");
}

#[test]
fn hashes_of_absurd_cost_or_unknown_kind_are_refused_and_not_repeated() {
    for (user, why) in [
        (with_password("argon2", 2, &argon2("99999999")), "the cost is out of bounds"),
        (with_password("argon2", 2, &argon2("-1")), "cannot be read"),
        (with_password("argon2", 2, &json!({})), "cannot be read"),
        (with_password("pbkdf2-sha256", u64::MAX, &json!({})), "the cost is out of bounds"),
        (with_password("pbkdf2-sha256", 0, &json!({})), "the cost is out of bounds"),
        (with_password("md5", 1, &json!({})), "unknown algorithm `md5`"),
    ] {
        let said = refused(&realm(&json!([user])), Format::Keycloak).join("\n");
        assert!(said.starts_with("0: user 1: ") && said.contains(why), "{said}");
        assert!(!said.contains("nf65") && !said.contains("c29t"), "{said}");
    }
    for hash in ["$2b$31$abcdefghijklmnopqrstuu7EJV7kdjBBQxyb0HjTh9KS7.Lah/6CG", "nf65", ""] {
        let user = json!({ "email": "ana@acme.test", "passwordHash": hash }).to_string();
        let said = refused(&user, Format::Auth0).join("\n");
        assert!(said.starts_with("1: has a password hash that cannot be used: "), "{said}");
        assert!(!said.contains("abcdef") && !said.contains("nf65"), "{said}");
    }
    let custom = |custom: Value| {
        let user = json!({ "email": "ana@acme.test", "custom_password_hash": custom });
        refused(&user.to_string(), Format::Auth0).join("\n")
    };
    let hash = json!({ "value": "6e66363565666768696a6b6c6d6e6f70", "encoding": "hex" });
    for (given, why) in [
        (json!({ "algorithm": "md5", "hash": hash }), "algorithm `md5`"),
        (json!({ "algorithm": "scrypt", "hash": hash }), "algorithm `scrypt`"),
        (json!({ "algorithm": "bcrypt", "hash": hash, "salt": hash }), "a `salt` beside"),
        (json!({ "algorithm": "scrypt", "hash": hash, "salt": hash, "cost": 3 }), "cannot be read"),
        (json!({ "algorithm": "scrypt", "hash": hash, "salt": hash, "cost": 0 }), "cannot be read"),
        (
            json!({ "algorithm": "scrypt", "hash": hash, "salt": hash, "cost": 1_u64 << 40 }),
            "the cost is out of bounds",
        ),
        (
            json!({ "algorithm": "bcrypt", "hash": hash, "password": { "encoding": "utf16le" } }),
            "not in UTF-8",
        ),
    ] {
        let said = custom(given);
        assert!(said.contains(why) && !said.contains("6e66"), "{said}");
    }
}

#[test]
fn every_user_that_cannot_be_taken_is_named_by_its_number_in_one_pass() {
    let users = json!([
        { "email": "ana@acme.test" },
        "ana",
        { "email": 5 },
        { "email": "not an address" },
        { "username": "bia" },
        { "email": "Ana@ACME.test" },
        { "email": "rui@acme.test", "enabled": false },
        { "email": "eva@acme.test", "credentials": [{ "type": "password", "secretData": "x" }] },
        { "email": "gil@acme.test", "credentials": [{ "type": "password", "secretData": 7 }] },
        { "email": "ivo@acme.test", "attributes": { "locale": "pt" } },
    ]);
    let said = refused(&realm(&users), Format::Keycloak);
    let beginnings = [
        "0: user 2: is not an object",
        "0: user 3: `email` is of a wrong type",
        "0: user 4: `email` ",
        "0: user 5: has no e-mail address",
        "0: user 6: the address `ana@acme.test` is that of entry 1 too",
        "0: user 8: has a password whose `secretData`",
        "0: user 9: `credentials[0].secretData` is of a wrong type",
        "0: user 10: `attributes.locale` is of a wrong type",
    ];
    assert_eq!(said.len(), beginnings.len(), "{said:?}");
    for (said, beginning) in said.iter().zip(beginnings) {
        assert!(said.starts_with(beginning), "{said}");
    }
    let lines = "{\"email\":\"ana@acme.test\"}\n\nnope\n{\"email\":\"ANA@acme.test\"}\n{\"blocked\":true,\"email\":\"rui@acme.test\"}\n";
    let said = refused(lines, Format::Auth0);
    assert_eq!(said[0], "3: is not JSON");
    assert!(said[1].starts_with("4: the address") && said.len() == 2, "{said:?}");
}

#[test]
fn what_is_no_export_is_refused_as_a_whole() {
    let deep = format!("{{\"users\":{}", "[".repeat(100_000));
    for text in
        ["", "null", "[]", "{}", "{\"users\":null}", "{\"users\":{}}", "{\"users\":[", &deep]
    {
        let said = refused(text, Format::Keycloak);
        assert_eq!(said.len(), 1, "{said:?}");
    }
    assert_eq!(refused("{\"users\":[]}", Format::Keycloak), ["0: has no users"]);
    for text in ["", "\n\n", "[]", "[1", "[[[[", "\"x\""] {
        assert_eq!(refused(text, Format::Auth0).len(), 1, "{text}");
    }
    let more = "[[organization]]\nslug = \"acme\"\n[[account]]\nemail = \"ana@acme.test\"\n";
    assert!(refused(more, Format::Porteiro)[0].contains("`porteiro apply` takes it"));
    assert!(Import::parse("[[account]]\nemail = \"ana@acme.test\"\n", Format::Porteiro).is_ok());
}

#[test]
fn a_file_of_too_many_users_is_refused_and_the_rest_of_it_not_held() {
    let user = "{\"email\":\"a\"},".repeat(MOST_ENTITIES + 5);
    let text = format!("{{\"users\":[{user}1]}}");
    let said = refused(&text, Format::Keycloak);
    assert_eq!(said.len(), MOST_ENTITIES + 1);
    assert!(said[MOST_ENTITIES].ends_with("more than 100000 users"), "{}", said[MOST_ENTITIES]);
}

#[test]
fn what_is_left_out_is_said_and_service_accounts_are_no_people() {
    let otp = |period: u64| {
        let data = json!({ "subType": "totp", "digits": 6, "counter": 0, "period": period,
            "algorithm": "HmacSHA1" });
        json!({ "type": "otp", "secretData": "{\"value\":\"0123456789abcdefghij\"}",
            "credentialData": data.to_string() })
    };
    let users = json!([
        { "username": "service-account-x", "serviceAccountClientId": "x" },
        { "email": "ana@acme.test", "username": "ana", "attributes": { "nickname": ["An"] },
          "firstName": "An\u{202e}a", "credentials": [otp(30), otp(30)] },
        { "email": "rui@acme.test", "username": "rui@acme.test", "credentials": [otp(60)] },
    ]);
    let import = Import::parse(&realm(&users), Format::Keycloak).unwrap();
    let [ana, rui] = &*import.file.accounts else { panic!("two people") };
    assert_eq!(ana.draft.totp_secret, Some(Secret::new(*b"0123456789abcdefghij")));
    assert_eq!(ana.draft.draft.claims["preferred_username"], "ana");
    assert_eq!(ana.draft.draft.claims["nickname"], "An");
    assert!(!ana.draft.draft.claims.contains_key("given_name"));
    assert_eq!(rui.draft.totp_secret, None);
    assert!(!rui.draft.draft.claims.contains_key("preferred_username"));
    let said: Vec<&str> = import.left_out.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(
        said,
        [
            "user 2: a credential of type `otp` is left out",
            "user 2: `given_name` contains a character that is not seen, or that turns text around \
             and is left out",
            "user 3: its one-time codes are left out"
        ]
    );
}

#[test]
fn a_user_that_is_disabled_or_blocked_becomes_a_suspended_account() {
    let users = json!([
        { "email": "ana@acme.test", "enabled": true },
        { "email": "rui@acme.test", "enabled": false },
    ]);
    let suspended = |import: Import| -> Vec<bool> {
        import.file.accounts.iter().map(|one| one.draft.suspended).collect()
    };
    assert_eq!(suspended(Import::parse(&realm(&users), Format::Keycloak).unwrap()), [false, true]);
    let lines = "{\"email\":\"ana@acme.test\"}\n{\"email\":\"rui@acme.test\",\"blocked\":true}\n";
    assert_eq!(suspended(Import::parse(lines, Format::Auth0).unwrap()), [false, true]);
}

#[test]
fn a_member_that_is_repeated_is_refused_with_its_line() {
    let realm =
        "{\"users\": [\n{\"email\": \"ana@acme.test\",\n\"enabled\": false, \"enabled\": true}\n]}";
    assert_eq!(refused(realm, Format::Keycloak), ["3: a member of an object is repeated"]);
    let array = "[\n{\"email\": \"ana@acme.test\", \"blocked\": true, \"blocked\": false}\n]";
    assert_eq!(refused(array, Format::Auth0), ["2: a member of an object is repeated"]);
    let lines = "{\"email\":\"ana@acme.test\"}\n{\"email\":\"a@b.test\",\"email\":\"c@d.test\"}\n";
    assert_eq!(refused(lines, Format::Auth0), ["2: a member of an object is repeated"]);
    let secret = "{\"value\":\"AAAA\",\"value\":\"BBBB\",\"salt\":\"AAAA\"}";
    let data = "{\"hashIterations\":1000,\"algorithm\":\"pbkdf2-sha256\"}";
    let users = json!([{ "email": "eva@acme.test", "credentials": [
        { "type": "password", "secretData": secret, "credentialData": data }] }]);
    let said = refused(&self::realm(&users), Format::Keycloak);
    assert!(said[0].contains("`secretData`"), "{said:?}");
}
