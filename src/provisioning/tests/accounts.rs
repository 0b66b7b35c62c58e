//! Reading accounts: what is taken, what is complained of, and what is never shown.

use super::{EXAMPLE, said};
use crate::{
    domain::{
        Secret, Timestamp,
        account::{PasswordHash, Profile},
        password::Password,
    },
    provisioning::{File, MembershipEntry, PasswordEntry, Person},
};
use serde_json::json;

const PHC: &str =
    "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";

fn account(rest: &str) -> String {
    format!("[[account]]\nemail = \"ana@acme.test\"\n{rest}\n")
}

fn clear(text: &str) -> PasswordEntry {
    PasswordEntry::Clear(Password::read(text).unwrap())
}

fn read(rest: &str) -> Person {
    let file = File::parse(&account(rest)).unwrap_or_else(|said| panic!("{said:?}"));
    file.accounts.into_iter().next().unwrap().draft
}

#[test]
fn an_account_becomes_a_draft_and_what_it_begins_with() {
    let file = File::parse(EXAMPLE).unwrap();
    let Person { address, draft, password, totp_secret, memberships, .. } = &file.accounts[0].draft;
    assert_eq!((address.as_str(), draft.email.as_str()), ("ana@acme.test", "ana@acme.test"));
    assert_eq!(draft.email_verified, Some(true));
    let claims = json!({ "phone_number": "+351910000000", "given_name": "Ana" });
    assert_eq!(json!(draft.claims), claims);
    assert_eq!(*password, Some(clear("correct horse battery staple")));
    assert_eq!(*totp_secret, Some(Secret::new(b"Hello!\xDE\xAD\xBE\xEF")));
    let place = MembershipEntry {
        organization: "acme".to_owned(),
        roles: vec!["manager".to_owned()],
        enabled: true,
    };
    assert_eq!(*memberships, Some(vec![place]));
    assert!(draft.id.is_empty() && draft.password.is_none() && draft.totp.is_none());
}

#[test]
fn what_is_not_given_is_left_alone_and_an_empty_list_is_given() {
    let silent = read("");
    assert!(silent.draft.claims.is_empty() && silent.draft.email_verified.is_none());
    assert!(silent.password.is_none() && silent.totp_secret.is_none());
    assert_eq!(silent.memberships, None);
    assert_eq!(read("memberships = []").memberships, Some(vec![]));
    let bare = read("memberships = [{ organization = \"acme\" }]").memberships.unwrap();
    assert!(bare[0].roles.is_empty());
}

#[test]
fn every_standard_claim_is_read_by_its_name() {
    let person = read(
        "name = \"Ana Sá\"\nfamily_name = \"Sá\"\nmiddle_name = \"M.\"\nnickname = \"An\"\n\
         preferred_username = \"ana\"\nprofile = \"https://a.example/\"\ngiven_name = \"Ana\"\n\
         picture = \"https://a.example/a.png\"\nwebsite = \"https://a.example/\"\n\
         gender = \"f\"\nbirthdate = \"1990-02-28\"\nzoneinfo = \"Europe/Lisbon\"\n\
         locale = \"pt-PT\"\nphone_number = \"+351910000000\"\nphone_number_verified = true\n\
         updated_at = 1700000000\n\"given_name#en\" = \"Anne\"\n\
         [account.address]\ncountry = \"PT\"\nformatted = \"Rua 1\\nLisboa\"\n",
    );
    for claim in Profile::known_claims().chain(["given_name#en"]) {
        assert!(person.draft.claims.contains_key(claim), "{claim}");
    }
    let address = json!({ "country": "PT", "formatted": "Rua 1\nLisboa" });
    assert_eq!(person.draft.claims["address"], address);
    assert_eq!(person.draft.updated_at, Some(Timestamp::from_millis(1_700_000_000_000)));
}

#[test]
fn unknown_keys_of_accounts_are_named_with_their_line_and_what_was_meant() {
    let text = account(
        "emial = \"x\"\ngivenname = \"Ana\"\nsub = \"x\"\npasswrd = \"hunter2hunter2\"\n\
         \"locale#pt\" = \"pt\"\nmembership = []\naddress = { city = \"x\", contry = \"PT\" }\n\
         memberships = [{ organization = \"acme\", role = [] }]",
    );
    let expected = [
        "3: unknown key `account.emial`, did you mean `account.email`?",
        "4: unknown key `account.givenname`, did you mean `account.given_name`?",
        "5: unknown key `account.sub`",
        "6: unknown key `account.passwrd`, did you mean `account.password`?",
        "7: unknown key `account.locale#pt`, did you mean `account.locale`?",
        "8: unknown key `account.membership`, did you mean `account.memberships`?",
        "9: unknown key `account.address.city`",
        "9: unknown key `account.address.contry`, did you mean `account.address.country`?",
        "10: unknown key `account.memberships.role`, did you mean `account.memberships.roles`?",
    ];
    assert_eq!(said(&text), expected);
}

#[test]
fn missing_keys_and_wrong_types_of_accounts_are_all_said_at_once() {
    let text = "[[account]]\nemail_verified = 1\npassword = 1\ntotp_secret = []\naddress = \"x\"\n\
                memberships = [{ roles = \"a\" },\n{ organization = 1 }]\nbirthdate = 1990-01-01\n\
                updated_at = -1\n[[account]]\nemail = \"a@b\"\nmemberships = 1\n\
                [[account]]\nemail = \"a@c\"\naddress = { country = 1 }\n";
    let expected = [
        "1: `account.email` is missing",
        "2: `account.email_verified` must be true or false, found a number",
        "3: `account.password` must be a text in quotes, found a number",
        "4: `account.totp_secret` must be a text in quotes, found a list",
        "5: `account.address` must be a table, found a text",
        "6: `account.memberships.organization` is missing",
        "6: `account.memberships.roles` must be a list of texts in quotes, found a text",
        "7: `account.memberships.organization` must be a text in quotes, found a number",
        "8: `account.birthdate` must be what JSON knows: write the date as a text in quotes, \
         found a date or time in it",
        "9: `account.updated_at` must be a whole number, 0 or more, found a negative number",
        "12: `account.memberships` must be a list of tables, found a number",
        "15: `account.address.country` must be a text in quotes, found a number",
    ];
    assert_eq!(said(text), expected);
}

#[test]
fn addresses_that_differ_in_case_alone_are_one_account() {
    let text = "[[account]]\nemail = \"Ana@Acme.test\"\n[[account]]\nemail = \" ana@ACME.test \"\n";
    assert_eq!(said(text), ["4: the account `ana@acme.test` is on line 2 already"]);
    let twice = account("memberships = [{ organization = \"a\" },\n{ organization = \"a\" }]");
    let expected = "4: `account.memberships.organization` is the organization of line 3 too";
    assert_eq!(said(&twice), [expected]);
}

#[test]
fn what_is_no_address_is_complained_of_by_its_line() {
    for bad in ["", "ana", "ana@", "@acme.test", "a b@c", "a@b@c", "Ana <a@b>", "a\\u202e@b"] {
        let said = said(&format!("[[account]]\nemail = \"{bad}\"\n"));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("2: `account.email` is no e-mail address: "), "{said:?}");
    }
}

#[test]
fn a_password_is_clear_and_not_too_long_or_a_hash_that_can_be_verified() {
    let with = |password: &str| account(&format!("password = \"{password}\""));
    // Whether it is long enough is for the rule of the installation to say.
    for text in ["12345678", "ññññññññ", "$100 for a horse", "$a$ horse", &"ñ".repeat(1_024)]
    {
        let read = read(&format!("password = \"{text}\"")).password;
        assert_eq!(read, Some(clear(text)), "{text}");
    }
    let hashed = read(&format!("password = \"{PHC}\"")).password;
    assert_eq!(hashed, Some(PasswordEntry::Hashed(PasswordHash::new(PHC))));
    assert_eq!(said(&with("")), ["3: `account.password` must not be empty"]);
    let long = "3: `account.password` must have at most 1024 characters";
    assert_eq!(said(&with(&"x".repeat(1_025))), [long]);
    for (hash, why) in [
        ("$argon2id$v=19$m=256,t=2,p=1$c29t!$nf65", "the hash is not a well-formed phc string"),
        ("$argon2id$v=18$m=256,t=2,p=1$c29tZXNhbHQ$nf65", "the hash has parameters that cannot be"),
        ("$argon2id$v=19$m=9999999,t=2,p=1$c29tZXNhbHQ$nf65", "the cost is out of bounds"),
        ("$argon2id$v=19$m=256,t=2,p=1$c29tZQ$nf65", "the salt is not of 8 to 64 bytes"),
        (
            "$argon2x$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65",
            "the hash is of no kind that can be verified",
        ),
        ("$2b$12$abcdefghijklmnopqrstuv", "the hash is not a well-formed phc string"),
        ("$scrypt$ln=17,r=8,p=1$c29tZQ$nf65", "the output is not of 16 to 64 bytes"),
    ] {
        let said = said(&with(hash)).join("\n");
        let expected =
            format!("3: `account.password` looks like a hash that cannot be used: {why}");
        assert!(said.starts_with(&expected), "{said}");
        assert!(!said.contains("c29t") && !said.contains("nf65") && !said.contains("abcd"));
    }
}

#[test]
fn the_secret_of_an_authenticator_is_base32_of_ten_to_sixty_four_bytes() {
    let with = |secret: &str| account(&format!("totp_secret = \"{secret}\""));
    for fits in ["JBSWY3DPEHPK3PXP", "jbswy3dpehpk3pxp", "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"] {
        assert!(File::parse(&with(fits)).is_ok(), "{fits}");
    }
    let length = "3: `account.totp_secret` must have 10 to 64 bytes once decoded";
    assert_eq!(said(&with("JBSWY3DP")), [length]);
    assert_eq!(said(&with(&"JBSWY3DP".repeat(13))), [length]);
    for bad in ["JBSWY3DPEHPK3PX1", "JBSW Y3DP EHPK 3PXP", "JBSWY3DPEHPK3PXPA"] {
        assert_eq!(said(&with(bad)), ["3: `account.totp_secret` must be base32: A-Z and 2-7"]);
    }
}

#[test]
fn no_credential_of_an_account_is_ever_shown() {
    let file = File::parse(EXAMPLE).unwrap();
    let shown = format!("{file:?} {:?} {:?}", file.accounts[0], file.accounts[0].draft);
    assert!(!shown.contains("horse") && !shown.contains("JBSW"), "{shown}");
    let hashed = read(&format!("password = \"{PHC}\""));
    assert!(!format!("{hashed:?}").contains("argon2"));
    for wrong in [
        "password = [\"a-horse-of-its-own\"]",
        "password = { clear = \"a-horse-of-its-own\" }",
        "passwords = \"a-horse-of-its-own\"",
        "password = \"a-horse-of-its-own\"\npassword = \"a-horse-of-its-own\"",
        "password = \"a-horse-of-its-own",
        "password = \"a-horse\\u0000\"",
        "password = \"$horse$horse$horse\"",
        "totp_secret = \"a-horse-of-its-own\"",
        "totp_secret = \"horse234\"",
    ] {
        let said = said(&account(wrong)).join("\n");
        assert!(!said.contains("horse"), "{said}");
    }
}

#[test]
fn accounts_are_bounded_in_what_they_hold() {
    let names: Vec<String> = (0..1_001).map(|n| format!("\"name#a-{n}\" = \"x\"")).collect();
    assert_eq!(said(&account(&names.join("\n"))), ["1: `account` has more than 1000 keys"]);
    let places = vec!["{ organization = \"a\" }"; 1_001].join(",");
    let expected = "3: `account.memberships` holds more than 1000 entries";
    assert_eq!(said(&account(&format!("memberships = [{places}]"))), [expected]);
    assert_eq!(
        said("[account]\nemail = \"a@b\"\n"),
        ["1: `account` must be a list of tables, found a table"]
    );
}
