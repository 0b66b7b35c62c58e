//! What loading refuses: all of it at once, each by name.

use super::TestSources;
use crate::config::{Config, Setting, Sources};
use std::{ffi::OsString, fs, os::unix::ffi::OsStringExt};

#[test]
fn a_value_of_the_wrong_form_is_refused_by_name_and_origin() {
    #[rustfmt::skip]
    let cases = [
        ("listen", "8443", "\"8443\" is not an address like 127.0.0.1:8443"),
        ("listen", "localhost:1", "\"localhost:1\" is not an address like 127.0.0.1:8443"),
        ("issuer", "", "is empty: give a value, or leave it out"),
        ("issuer", "https://a\nb", "\"https://a\\nb\" must not hold control characters"),
        ("public_proxy", "yes", "\"yes\" is neither true nor false"),
        ("public_proxy", "", "is neither true nor false"),
        ("trusted_proxies", "::1,,::2", "\"::1,,::2\" is not a list of networks like 10.0.0.0/8"),
        ("store.url", "mysql://x", "is neither sqlite:///path nor postgres://user@host/database"),
        ("store.url", "postgres:x", "is neither sqlite:///path nor postgres://user@host/database"),
        ("mail.from", "a@b@c", "\"a@b@c\" is not a sender like Example ID <id@example.com>"),
        ("store.url", "sqlite://", "is neither sqlite:///path nor postgres://user@host/database"),
        ("keys.dir", "", "is empty: give a value, or leave it out"),
        ("screens.default_locale", "fr", "\"fr\" is neither en nor pt"),
        ("links.device", "/device", "\"/device\" is not a URL like https://example.com/path"),
        ("links.device", "data:,x", "\"data:,x\" is not a URL like https://example.com/path"),
        ("links.device", "https://u:p@a.example/", "\"https://***@a.example/\" must not hold credentials"),
        ("mail.transport", "sendmail", "is neither smtp://…, smtps://…, file:///folder nor log"),
        ("mail.transport", "smtp://user@host", "must hold both user and password"),
        ("mail.transport", "file://folder/mail", "is not a path like file:///var/lib/porteiro"),
        ("mail.from", "Example ID", "\"Example ID\" is not a sender like Example ID <id@example.com>"),
        ("sms.transport", "ftp://x", "is neither https://…, file:///folder nor log"),
        ("password.min_length", "+9", "\"+9\" is not a whole number"),
        ("password.breach_check", "on", "\"on\" is neither off, https://…/range/ nor file:///hashes.txt"),
        ("lifetimes.par", "1m", "\"1m\" is not a whole number of seconds"),
        ("lifetimes.par", "9999999999", "\"9999999999\" is more than ten years"),
    ];
    for (name, value, reason) in cases {
        let variable = Setting::named(name).unwrap().variable();
        let refused = TestSources::nothing().variable(&variable, value).refused();
        assert_eq!(refused, [format!("{name} ({variable}): {reason}")]);
    }
}

#[test]
fn an_unknown_variable_is_refused_with_what_may_have_been_meant() {
    for (variable, meant) in [
        ("PORTEIRO_STORE__ULR", Some("PORTEIRO_STORE__URL")),
        ("PORTEIRO_store__url", Some("PORTEIRO_STORE__URL")),
        ("PORTEIRO_LIFETIME__PAR", Some("PORTEIRO_LIFETIMES__PAR")),
        ("PORTEIRO_QQ__ZZ", None),
        ("PORTEIRO_ISUER", Some("PORTEIRO_ISSUER")),
        ("PORTEIRO_LISTENS", Some("PORTEIRO_LISTEN")),
        ("PORTEIRO_TRUSTED_PROXYS", Some("PORTEIRO_TRUSTED_PROXIES")),
        // One underscore for two.
        ("PORTEIRO_STORE_URL", Some("PORTEIRO_STORE__URL")),
        ("PORTEIRO_SIGN_UP_OPEN", Some("PORTEIRO_SIGN_UP__OPEN")),
    ] {
        let given = TestSources::nothing().variable(variable, "x");
        let expected = match meant {
            Some(meant) => format!("{variable}: names no setting, did you mean `{meant}`?"),
            None => format!("{variable}: names no setting"),
        };
        assert_eq!(given.refused(), [expected]);
    }
}

#[test]
fn a_variable_that_is_no_text_is_refused_by_name() {
    let junk = OsString::from_vec(vec![b'a', 0xff]);
    let refused = TestSources::nothing().variable("PORTEIRO_STORE__URL", junk.clone()).refused();
    assert_eq!(refused, ["store.url (PORTEIRO_STORE__URL): is not text in UTF-8"]);
    assert!(TestSources::nothing().variable("PORTEIRO_PORT", junk.clone()).load().is_ok());
    let name = OsString::from_vec(b"PORTEIRO_X__\xff\n".to_vec());
    let refused = TestSources::nothing().variable(name, junk).refused();
    assert_eq!(refused, ["PORTEIRO_X__\u{fffd}\\n: names no setting"]);
}

#[test]
fn everything_wrong_in_every_layer_is_named_at_once() {
    let file = "isuer = \"https://id.example.com\"\nlisten = 8443\n[stoer]\nurl = \"x\"\n[tls]\ncert = [\"x\"]\n\
                crt = 1\n[lifetimes]\npar = \"60\"\n[links]\ndevice = \"nowhere\"\n";
    let refused = TestSources::file(file)
        .variable("PORTEIRO_X__Y", "1")
        .variable("PORTEIRO_LIFETIMES__CIBA", "-1")
        .flag("mtls.listen", "--mtls", "everywhere")
        .refused();
    let expected = [
        "porteiro.toml:1: unknown key `isuer`, did you mean `issuer`?",
        "porteiro.toml:2: `listen` must be a text in quotes, found a number",
        "porteiro.toml:3: unknown key `stoer`, did you mean `store`?",
        "porteiro.toml:6: `tls.cert` must be a text in quotes, found a list",
        "porteiro.toml:7: unknown key `tls.crt`, did you mean `tls.cert`?",
        "porteiro.toml:9: `lifetimes.par` must be a whole number, 0 or more, found a text",
        "PORTEIRO_X__Y: names no setting",
        "mtls.listen (--mtls): \"everywhere\" is not an address like 127.0.0.1:8443",
        "links.device (porteiro.toml:11): \"nowhere\" is not a URL like https://example.com/path",
        "lifetimes.ciba (PORTEIRO_LIFETIMES__CIBA): \"-1\" is not a whole number of seconds",
    ];
    assert_eq!(refused, expected);
}

#[test]
fn a_section_that_is_no_table_is_refused() {
    let refused = TestSources::file("store = \"sqlite:///x\"\n[[tls]]\n").refused();
    let expected = [
        "porteiro.toml:1: `store` must be a table, found a text",
        "porteiro.toml:2: `tls` must be a table, found a list",
    ];
    assert_eq!(refused, expected);
}

#[test]
fn a_file_that_cannot_be_read_is_the_reason_and_not_what_is_missing_for_it() {
    let given = TestSources::nothing();
    let sources = Sources { file: Some(given.path()), ..Sources::default() };
    let survey = Config::load_for_production(sources);
    let said = super::said(&survey.refusals, given.folder.path());
    assert_eq!(said, ["porteiro.toml: there is no such file"]);

    fs::create_dir(given.path()).unwrap();
    let sources = Sources { file: Some(given.path()), ..Sources::default() };
    let refusals = Config::load(sources).unwrap_err();
    let said = super::said(&refusals, given.folder.path());
    assert_eq!(said, ["porteiro.toml: is a folder, not a file"]);

    let large = TestSources::file("#".repeat(10 << 20));
    assert_eq!(large.refused(), ["porteiro.toml: is larger than 1024 KiB"]);
    let foreign = TestSources::file(b"issuer = \"\xff\"\n");
    assert_eq!(foreign.refused(), ["porteiro.toml:1: is not text in UTF-8"]);
    let nul = TestSources::file("\nissuer = \"https://id\\u0000.example.com\"\n");
    assert_eq!(nul.unfit(), ["porteiro.toml:2: a text must not hold the character NUL"]);
    let binary: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    assert_eq!(TestSources::file(binary).refused().len(), 1);
    let deep = format!("a = {}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(!TestSources::file(deep).refused().is_empty());
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_no_obstacle() {
    let loaded =
        TestSources::file("\u{feff}issuer = \"a\"\r\n[sign_up]\r\nopen = true\r\n").load().unwrap();
    assert!(loaded.config.sign_up.open);
    let origin = loaded.origin("sign_up.open").unwrap().to_string();
    assert!(origin.ends_with("porteiro.toml:3"), "{origin}");
}

#[test]
fn a_bearer_secret_is_given_in_one_place() {
    let refused = TestSources::file(
        "[sms]\ntransport = \"https://hunter2@sms.example.com/\"\nsecret = \"x\"\n",
    )
    .refused();
    let expected =
        "sms.secret (porteiro.toml:3): is also given in the URL of sms.transport: keep one";
    assert_eq!(refused, [expected]);
}

#[test]
fn what_a_command_requires_is_named_with_the_way_to_give_it() {
    let loaded =
        TestSources::nothing().variable("PORTEIRO_STORE__URL", "sqlite:///x").load().unwrap();
    assert!(loaded.require(&["store.url"]).is_ok());
    let refusals = loaded.require(&["keys.dir", "store.url", "issuer"]).unwrap_err();
    let said: Vec<_> = refusals.iter().map(ToString::to_string).collect();
    let expected = [
        "issuer: is not set: give `issuer` in the file, or PORTEIRO_ISSUER",
        "keys.dir: is not set: give `dir` under [keys] in the file, or PORTEIRO_KEYS__DIR",
    ];
    assert_eq!(said, expected);
}
